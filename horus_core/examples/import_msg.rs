//! Prints the declarations of `.msg` files in Rust, C++ or Python, or their schema texts.
//!
//! ```text
//! cargo run --example import_msg -- rust Leg.msg
//! cargo run --example import_msg -- cpp Leg.msg --namespace robot
//! cargo run --example import_msg -- python LaserScan.msg --search /opt/ros/jazzy/share \
//!     --bound LaserScan.intensities=1081 --text-bytes 32
//! ```

use std::error::Error;
use std::process::ExitCode;

use horus_core::message::import::Importer;

const USAGE: &str = "import_msg rust|cpp|python|schema FILE.msg… [--namespace NAME] \
                     [--search DIRECTORY] [--bound Message.field=COUNT] [--text-bytes COUNT]";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<String, Box<dyn Error>> {
    let language = arguments.next().ok_or(USAGE)?;
    let mut importer = Importer::new();
    let mut namespace = "robot".to_owned();
    let mut files = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match argument.as_str() {
            "--namespace" => namespace = value()?,
            "--search" => importer = importer.directory(value()?),
            "--text-bytes" => importer = importer.text_bytes(value()?.parse()?),
            "--bound" => {
                let bound = value()?;
                let (field, count) = bound.split_once('=').ok_or(USAGE)?;
                importer = importer.bound(field, count.parse()?);
            }
            _ => files.push(argument),
        }
    }
    if files.is_empty() {
        return Err(USAGE.into());
    }
    let messages = importer.read(&files)?;
    match language.as_str() {
        "rust" => Ok(messages.rust()),
        "cpp" => Ok(messages.cpp(&namespace)),
        "python" => Ok(messages.python()),
        "schema" => {
            let texts = messages.schemas().into_iter().map(|schema| schema.text());
            Ok(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => Err(USAGE.into()),
    }
}
