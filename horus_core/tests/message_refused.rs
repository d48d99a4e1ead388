//! Checks that `message!` and nodes with a wrong tick are refused with errors that say what to
//! write instead.
//!
//! One call of cargo compiles all programs below, in their own package. Only the sentences of this
//! crate are compared, because the other texts of the compiler change with its version.

use horus_testing as _;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const FIELDS: &str = "fields are u8 to u64, i8 to i64, f32, f64, `Text<N>`, `message!` structs";
const INSTEAD: &str =
    "write a flag or an enumeration as `u8`, a length as `u32` or `u64`, text as `Text<N>`";
const SHAPE: &str = "`message!` takes one struct with named fields and no generics";
const NO_ELEMENTS: &str = "a field of a message is an array without elements";

/// A name, the content of `message!`, and the expected errors; none if it compiles.
const REFUSED: &[(&str, &str, &[&str])] = &[
    (
        "control",
        "/// A.\n pub struct A { /// Volts.\n pub a: f32, pub b: Text<4> }",
        &[],
    ),
    (
        "constants",
        "struct A { a: u8 } /// One.\n pub const ONE: u8 = 1; const TWO: i64 = 2;",
        &[],
    ),
    (
        "float_constant",
        "struct A { a: u8 } const HALF: f32 = 0.5;",
        &[
            "`f32` cannot be the type of a constant",
            "constants are u8 to u64 or i8 to i64",
        ],
    ),
    (
        "gap",
        "struct Gap { ring: u16, range: f32 }",
        &[
            "implicit padding before field `range` of message `Gap`: put larger fields first, or \
           add an explicit `_reserved: [u8; N]` field before it",
        ],
    ),
    (
        "tail",
        "struct Tail { range: f32, ring: u16 }",
        &[
            "implicit padding at the end of message `Tail`: add an explicit `_reserved: [u8; N]` \
           field",
        ],
    ),
    (
        "over_aligned",
        "#[repr(align(16))] struct Wide { a: u64 }",
        &["implicit padding at the end of message `Wide`"],
    ),
    (
        "packed",
        "#[repr(packed)] struct Packed { ring: u16, range: f32 }",
        &["a message cannot be packed: put larger fields first"],
    ),
    (
        "flag",
        "struct A { armed: bool }",
        &["`bool` cannot be a field", FIELDS, INSTEAD],
    ),
    (
        "letter",
        "struct A { key: char }",
        &["`char` cannot be a field", FIELDS, INSTEAD],
    ),
    (
        "enumeration",
        "struct A { mode: Mode }",
        &["`Mode` cannot be a field", INSTEAD],
    ),
    (
        "fieldless",
        "struct A { mode: Byte }",
        &["`Byte` cannot be a field", INSTEAD],
    ),
    (
        "length",
        "struct A { length: usize }",
        &["`usize` cannot be a field", INSTEAD],
    ),
    (
        "difference",
        "struct A { by: isize }",
        &["`isize` cannot be a field", INSTEAD],
    ),
    (
        "too_wide",
        "struct A { id: u128 }",
        &["`u128` cannot be a field", FIELDS],
    ),
    (
        "string",
        "struct A { name: String }",
        &["String` cannot be a field", INSTEAD],
    ),
    (
        "str",
        "struct A { name: &'static str }",
        &["cannot be a field", "text as `Text<N>`"],
    ),
    (
        "reference",
        "struct A { of: &'static f32 }",
        &["`&'static f32` cannot be a field", FIELDS],
    ),
    (
        "pointer",
        "struct A { of: *const f32 }",
        &["`*const f32` cannot be a field", FIELDS],
    ),
    (
        "function",
        "struct A { of: fn() }",
        &["`fn()` cannot be a field", FIELDS],
    ),
    (
        "boxed",
        "struct A { of: Box<f32> }",
        &["`Box<f32>` cannot be a field", FIELDS],
    ),
    (
        "vector",
        "struct A { of: Vec<f32> }",
        &["`Vec<f32>` cannot be a field", FIELDS],
    ),
    (
        "option",
        "struct A { of: [Option<u8>; 2] }",
        &["`Option<u8>` cannot be a field", FIELDS],
    ),
    (
        "tuple_field",
        "struct A { of: (f32, f32) }",
        &["`(f32, f32)` cannot be a field", FIELDS],
    ),
    (
        "no_message",
        "struct A { of: Plain }",
        &["`Plain` cannot be a field", "`message!` structs"],
    ),
    ("no_fields", "struct A {}", &["message `A` has no fields"]),
    (
        "no_elements",
        "struct A { a: u32, b: [u32; 0] }",
        &[NO_ELEMENTS],
    ),
    ("no_text", "struct A { a: u32, b: Text<0> }", &[NO_ELEMENTS]),
    ("unnamed", "struct A(u32);", &[SHAPE]),
    ("generic", "struct A<T> { a: T }", &[SHAPE]),
    ("enum_message", "enum A { B }", &[SHAPE]),
    ("union", "union A { a: u32 }", &[SHAPE]),
    (
        "foreign_name",
        "struct Ä { a: u32 }",
        &["a message's name must be ASCII"],
    ),
    (
        "foreign_field",
        "struct A { größe: u32 }",
        &["a field's name must be ASCII"],
    ),
];

/// Whole programs, in which the mistake is not inside `message!`.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    (
        "not_declared",
        "#[repr(C)] struct Plain { a: f32 }\nfn send<M: Message>() {}\n\
         fn main() { send::<Plain>() }",
        &[
            "`Plain` is not a message",
            "not declared with `message!`",
            "declare it as `horus_core::message! { pub struct Name { pub field: f64 } }`",
        ],
    ),
    (
        "not_repr_c",
        "#[derive(Clone, Copy)] struct Plain { a: u8, b: u64 }\nfn field<F: FieldType>() {}\n\
         fn main() { field::<Plain>() }",
        &["`Plain` cannot be a field of a message", FIELDS],
    ),
    (
        "too_long_a_literal",
        "const NAME: Text<2> = Text::literal(\"map\");\nfn main() { println!(\"{NAME}\") }",
        &["the text is longer than the field"],
    ),
];

const TICK: &str = "write `-> NodeResult`, which takes every error by `?`";

/// Nodes whose tick returns a wrong type. One error each.
const NODES: &[(&str, &str, &[&str])] = &[
    (
        "closure_with_odd_error",
        "struct Odd;\nfn main() { Scheduler::new().node(\"a\").build(\
         |_: &mut Context<'_>| -> std::result::Result<(), Odd> { Err(Odd) }).unwrap() }",
        &[
            "a tick returns `NodeResult`, and not `Result<(), Odd>`",
            TICK,
        ],
    ),
    (
        "closure_with_number",
        "fn main() { Scheduler::new().node(\"a\").build(|_: &mut Context<'_>| 5_u32).unwrap() }",
        &["a tick returns `NodeResult`, and not `u32`", TICK],
    ),
    (
        "macro_with_odd_error",
        "pub struct Odd;\nhorus_core::node! {\nstruct N {}\n\
         fn tick(&mut self) -> std::result::Result<(), Odd> { Err(Odd) }\n}\nfn main() {}",
        &[
            "a tick returns `NodeResult`, and not `Result<(), Odd>`",
            TICK,
        ],
    ),
    (
        "macro_with_tick_behind_another_function",
        "horus_core::node! {\nstruct N {}\nfn shutdown(&mut self) -> NodeResult { Ok(()) }\n\
         fn tick(&mut self) {}\n}\nfn main() {}",
        &["`tick` has to be the first function of a node, and it is `shutdown`"],
    ),
    (
        "macro_with_other_fields",
        "horus_core::node! {\nstruct N { count: u64 }\nfn tick(&mut self) {}\n}\nfn main() {}",
        &["write the fields of a node as `kind name: Type = value`"],
    ),
    (
        "type_with_other_error",
        "struct N;\nimpl Node for N {\n\
         fn tick(&mut self, _: &mut Context<'_>) -> Result<()> { Ok(()) }\n}\nfn main() {}",
        &[
            "method `tick` has an incompatible type for trait",
            "expected `NodeError`",
        ],
    ),
];

const NODE_HEAD: &str = "#![allow(unused)]\nuse horus_core::prelude::*;\n";

const HEAD: &str = "\
#![allow(unused)]
use horus_core::message::{FieldType, Message, Text};
";

const AROUND: &str = "
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode { Idle, Drive(f32) }
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Byte { Idle = 0, Drive = 1 }
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plain(f32);
fn main() {}
";

#[test]
fn invalid_messages_are_refused_with_advice() {
    let in_macro = REFUSED.iter().map(|(name, body, wanted)| {
        (
            *name,
            format!("{HEAD}horus_core::message! {{ {body} }}{AROUND}"),
            *wanted,
        )
    });
    let whole = PROGRAMS
        .iter()
        .map(|(name, text, wanted)| (*name, format!("{HEAD}{text}"), *wanted));
    let nodes = NODES
        .iter()
        .map(|(name, text, said)| (*name, format!("{NODE_HEAD}{text}"), *said));
    let programs: Vec<_> = in_macro.chain(whole).chain(nodes).collect();
    let said = check(
        programs
            .iter()
            .map(|(name, text, _)| (*name, text.as_str())),
    );

    let mut wrong = String::new();
    for (name, _, wanted) in programs {
        let said = said.get(name).map_or("", String::as_str);
        let missing: Vec<_> = wanted
            .iter()
            .filter(|wanted| !said.contains(**wanted))
            .collect();
        if wanted.is_empty() != said.is_empty() || !missing.is_empty() {
            let _ = write!(wrong, "\n{name}: not said: {missing:?}, but:\n{said}\n");
        }
    }
    for (name, ..) in NODES {
        let errors = said[*name].lines().filter(|line| line.starts_with("error"));
        if errors.count() != 1 {
            let _ = write!(wrong, "\n{name}: not one error, but:\n{}\n", said[*name]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the errors of the compiler for each program.
fn check<'a>(programs: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("message_refused");
    let bin = folder.join("src/bin");
    let _ = fs::remove_dir_all(&bin);
    fs::create_dir_all(&bin).unwrap();
    for (name, text) in programs {
        fs::write(bin.join(name).with_extension("rs"), text).unwrap();
    }
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = format!(
        "[package]\nname = \"message_refused\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [workspace]\n[dependencies.horus_core]\npath = {core:?}\ndefault-features = false\n\
         [profile.dev]\ndebug = false\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // WHY: the versions that the tests were built with, so that cargo downloads nothing.
    fs::copy(core.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();

    let mut cargo = Command::new(env!("CARGO"));
    // WHY not only a check, which finds the same errors: `message_import` builds these dependencies
    // anyway, and a check would compile them once more.
    cargo.args([
        "build",
        "--offline",
        "--bins",
        "--keep-going",
        "--message-format=json",
    ]);
    cargo
        .current_dir(&folder)
        // The same directory as that of `message_import`, with parts that both need.
        .env("CARGO_TARGET_DIR", folder.with_file_name("dependents"));
    cargo
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.stdin(Stdio::null()).output().unwrap();
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["message"]["level"] == "error" {
            let name = line["target"]["name"].as_str().unwrap().to_owned();
            *said.entry(name).or_default() += line["message"]["rendered"].as_str().unwrap();
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!said.is_empty(), "cargo refused nothing:\n{errors}");
    assert!(!said.contains_key("horus_core"), "{errors}");
    said
}
