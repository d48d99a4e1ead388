//! Any bytes of a `.msg` file are declarations or an error: no panic, in bounded time.

use horus_testing as _;

mod noise;

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use horus_core::message::import::{Imported, Importer};
use horus_core::message::{FieldKind, Primitive, Schema};
use horus_core::topic::DynamicType;
use noise::{Case, rounds, seeds};

/// Words and characters of which `.msg` files are made.
const WORDS: &[&str] = &[
    "bool",
    "byte",
    "char",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "float32",
    "float64",
    "string",
    "wstring",
    "time",
    "duration",
    "Header",
    "std_msgs/Header",
    "builtin_interfaces/Time",
    "string<=8",
    "int8[]",
    "float64[]",
    "int16[3]",
    "uint8[<=4]",
    "string<=3[2]",
    "int64[99999999]",
    "float32[",
    "Leg",
    "a",
    "b",
    "class",
    "type",
    "header",
    "frame_id",
    "stamp",
    "NAME=1",
    "NAME = -1",
    "x_count",
    "3",
    "-4.5",
    "true",
    "[1, 2]",
    "[0.5]",
    "\"text\"",
    "'",
    "=",
    "<=",
    "/",
    "#",
    "# about [m]",
    "# one (rad/s) two",
    "\\",
    "\n",
    "\n",
    "\n\n",
    "\t",
    "\r\n",
    "\0",
    "ü",
    "\u{202e}",
    "*/",
    "```",
    "\"\"\"",
    "F0",
    "F1",
    "F2",
    "p/F1",
    "p/msg/F2",
];

fn soup(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.usize(..40) {
        text.push_str(WORDS[rng.usize(..WORDS.len())]);
        if rng.u8(..8) != 0 {
            text.push(' ');
        }
    }
    text
}

/// Returns lines that often are fields.
fn fields(rng: &mut Rng) -> String {
    let mut text = String::new();
    for index in 0..rng.usize(..12) {
        let kind = WORDS[rng.usize(..24)];
        let default = ["", "", "", " 3", " [1, 2]", "=7", " # [rad]"][rng.usize(..7)];
        text.push_str(&format!("{kind} f{index}{default}\n"));
    }
    text
}

/// Returns a real file with a few changed bytes.
fn mutated(rng: &mut Rng, files: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = files[rng.usize(..files.len())].clone();
    for _ in 0..rng.usize(..6) {
        let at = rng.usize(..=bytes.len());
        match rng.u8(..4) {
            0 => bytes.insert(at, rng.u8(..)),
            1 => bytes.truncate(at),
            2 => {
                let word = WORDS[rng.usize(..WORDS.len())].bytes();
                bytes.splice(at..at, word);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.u8(..8);
                }
            }
        }
    }
    bytes
}

fn any_text(rng: &mut Rng, files: &[Vec<u8>]) -> Vec<u8> {
    match rng.u8(..5) {
        0 => (0..rng.usize(..200)).map(|_| rng.u8(..)).collect(),
        1 => soup(rng).into_bytes(),
        2 => mutated(rng, files),
        _ => fields(rng).into_bytes(),
    }
}

/// Returns all files of `tests/msg`.
fn real_files() -> Vec<Vec<u8>> {
    fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, into);
            } else {
                into.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/msg"),
        &mut paths,
    );
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Checks what is promised of imported messages.
fn check(imported: &Imported) {
    for schema in imported.schemas() {
        let parsed = Schema::parse(&schema.text()).expect("a canonical text");
        assert_eq!(parsed.size, schema.size);
        let mut end = 0;
        for field in schema.fields {
            assert_eq!(
                field.offset, end,
                "a gap before {} of {}",
                field.name, schema.name
            );
            assert!(
                field.offset.is_multiple_of(align_of(field.kind)),
                "{}",
                field.name
            );
            end += field.kind.size() * field.count;
        }
        assert_eq!(end, schema.size, "a gap at the end of {}", schema.name);
        assert!(schema.size.is_multiple_of(schema.align));
        assert!(schema.tail.is_none() || schema.size.is_multiple_of(64));
        let dynamic = DynamicType::parse(&schema.text()).expect("a type of topics");
        assert_eq!(dynamic.has_variable_size(), schema.tail.is_some());
    }
    for text in [imported.rust(), imported.cpp("robot"), imported.python()] {
        assert!(
            !text
                .chars()
                .any(|letter| letter.is_control() && letter != '\n'),
            "{text:?}"
        );
    }
}

const fn align_of(kind: FieldKind) -> usize {
    match kind {
        FieldKind::Primitive(primitive) => primitive.size(),
        FieldKind::Text(_) => Primitive::Char.size(),
        FieldKind::Message(schema) => schema.align,
    }
}

#[test]
fn any_text_is_a_declaration_or_an_error() {
    let files = real_files();
    let importer = Importer::new();
    let (mut accepted, mut refused) = (0, 0);
    for seed in seeds(rounds(20_000, 1_000_000)) {
        let _case = Case(seed);
        let mut rng = Rng::with_seed(seed);
        let text = any_text(&mut rng, &files);
        match importer.parse("Leg", &String::from_utf8_lossy(&text)) {
            Ok(imported) => {
                check(&imported);
                accepted += 1;
            }
            Err(error) => {
                let error = error.to_string();
                assert!(!error.is_empty() && error.len() < 1000, "{error}");
                refused += 1;
            }
        }
    }
    println!("{accepted} accepted, {refused} refused");
}

/// Files that contain each other, in two packages.
#[test]
fn any_files_are_declarations_or_an_error() {
    let files = real_files();
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = dir.path().join("p/msg");
    fs::create_dir_all(&folder).unwrap();
    for seed in seeds(rounds(1000, 50_000)) {
        let _case = Case(seed);
        let mut rng = Rng::with_seed(seed);
        let paths: Vec<_> = (0..3)
            .map(|index| folder.join(format!("F{index}.msg")))
            .collect();
        for path in &paths {
            let mut text = any_text(&mut rng, &files);
            for _ in 0..rng.usize(..3) {
                let inner = rng.u8(..3);
                let array = ["", "[2]", "[<=3]", "[]"][rng.usize(..4)];
                let line = format!("\nF{inner}{array} inner{inner}\n");
                text.extend(line.into_bytes());
            }
            fs::write(path, text).unwrap();
        }
        match Importer::new().read(&paths) {
            Ok(imported) => check(&imported),
            Err(error) => assert!(error.to_string().len() < 1000, "{error}"),
        }
    }
}
