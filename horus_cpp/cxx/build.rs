//! Generates and compiles the C++ half of the message tests. The C++ code covers every field that
//! `msg.hpp` declares for a message.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo says where to build");
    let include = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo says where this is"))
        .join("../include");
    let header = include.join("horus/msg.hpp");
    let text = fs::read_to_string(&header).expect("msg.hpp is there");
    fs::write(
        Path::new(&out).join("every_message.hpp"),
        every_message(&text),
    )
    .expect("the build directory can be written");
    cxx_build::bridge("tests/messages.rs")
        .file("tests/messages.cpp")
        .include(&include)
        .include(&out)
        .std("c++17")
        .flags(["-Wall", "-Wextra"])
        .compile("horus_cpp_messages");
    for path in [
        "tests/messages.rs",
        "tests/messages.cpp",
        "tests/messages.hpp",
        "../include",
    ] {
        println!("cargo:rerun-if-changed={path}");
    }
}

/// Returns the arguments of each call of the macro `name` in `text`. The arguments of a call are
/// separated by commas.
fn calls<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    text.split(name).skip(1).filter_map(|rest| {
        let arguments = rest.strip_prefix('(')?.split_once(");")?.0;
        Some(arguments.split(',').map(str::trim).collect())
    })
}

/// Generates C++ code from `text`, the content of `msg.hpp`: for each message, a function that
/// passes each field to a visitor; and a function that finds a message by its name.
fn every_message(text: &str) -> String {
    let mut fields = "#include <horus/msg.hpp>\n".to_owned();
    let mut finding =
        "template <class F>\nbool with_message(std::string_view name, F found) {\n".to_owned();
    for call in calls(text, "\nHORUS_MESSAGE") {
        let (message, names) = call.split_first().expect("a message has a name");
        let visits = names.iter().fold(String::new(), |mut visits, name| {
            let _ = writeln!(visits, "    visitor.field(\"{name}\", message.{name});");
            visits
        });
        for constant in ["", "const "] {
            let _ = writeln!(
                fields,
                "template <class V>\n\
                 void each_field({constant}horus::{message} &message, V &visitor) {{\n{visits}}}"
            );
        }
    }
    for name in ["\nHORUS_MESSAGE", "\nHORUS_FRAMED"] {
        for call in calls(text, name) {
            let message = call[0];
            let _ = writeln!(
                finding,
                "    if (name == \"{message}\") return found(Tag<horus::{message}>{{}}), true;"
            );
        }
    }
    fields
        + "template <class T>\nstruct Tag {\n    using Message = T;\n};\n"
        + &finding
        + "    return false;\n}\n"
}
