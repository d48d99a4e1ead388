//! The command `horus man`: writes the manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;

/// Print the manual page, or write those of all commands to a directory
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Directory for the pages of all commands, such as share/man/man1
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let Some(dir) = &arguments.dir else {
        let mut page = Vec::new();
        let rendered = Man::new(Cli::command()).render(&mut page);
        rendered.map_err(Failure::system)?;
        return context.out.write_bytes(&page);
    };
    let written =
        fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    written.map_err(|error| {
        Failure::system(format_args!("cannot write to {}: {error}", dir.display()))
    })
}
