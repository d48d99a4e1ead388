//! Checks what is generated from the table of fields: the document, C, C++, Python, and the hashes.
//!
//! Golden files are rewritten with `HORUS_WRITE_GOLDEN=1`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use horus_core::message::import::Importer;
use horus_core::message::{STANDARD, STANDARD_DOMAINS, export};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn golden(name: &str) -> PathBuf {
    root().join("tests/golden").join(name)
}

/// Returns the folder of the headers for C and C++ programs.
fn include() -> PathBuf {
    root().parent().unwrap().join("horus_cpp/include")
}

/// Compares the file with `text`, or rewrites it if the environment requests that.
fn check_file(path: &Path, text: &str) {
    if std::env::var_os("HORUS_WRITE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(path, text).unwrap();
    }
    let stored = fs::read_to_string(path).unwrap_or_default();
    let differing = stored
        .lines()
        .zip(text.lines())
        .position(|(stored, text)| stored != text);
    let line = differing.unwrap_or_else(|| stored.lines().count().min(text.lines().count()));
    assert!(
        stored == text,
        "{} is not what is generated, from line {}:\n  there:     {:?}\n  generated: {:?}\nIf the \
         change is meant, run HORUS_WRITE_GOLDEN=1 cargo test -p horus_core --test message_export",
        path.display(),
        line + 1,
        stored.lines().nth(line),
        text.lines().nth(line),
    );
}

#[test]
fn the_document_matches_the_generated_one() {
    let path = root().parent().unwrap().join("docs/messages.md");
    check_file(&path, &export::markdown(STANDARD_DOMAINS));
}

#[test]
fn no_message_changes_by_accident() {
    check_file(&golden("schemas.txt"), &export::hashes(STANDARD));
}

#[test]
fn the_header_compiles_and_its_assertions_hold() {
    let header = export::cpp(STANDARD);
    check_file(&include().join("horus/msg.hpp"), &header);
    let source = "#include <horus/msg.hpp>\nint main() { return 0; }\n";
    compile(CPP, source).expect("the header does not compile");
}

/// Names such as `OK` and `DEBUG` are macros of other headers, and of debug builds.
#[test]
fn macros_with_the_names_of_constants_do_not_disturb_the_header() {
    let constants = STANDARD.iter().flat_map(|schema| schema.constants);
    let names: BTreeSet<_> = constants.map(|constant| constant.name).collect();
    assert!(names.contains("OK") && names.contains("DEBUG"));
    let mut source = String::new();
    for name in &names {
        source += &format!("#define {name} 12345\n");
    }
    source += "#include <horus/msg.hpp>\n";
    for name in &names {
        source += &format!("static_assert({name} == 12345);\n");
    }
    source += "#undef OK\nint main() { return horus::DiagnosticStatus::OK; }\n";
    compile(CPP, &source).expect("the header does not compile");
}

#[test]
fn a_wrong_offset_fails_the_assertions_of_the_header() {
    let moved = "#include <horus/msg.hpp>\nstatic_assert(offsetof(horus::Imu, orientation) == 9);";
    let errors = compile(CPP, moved).expect_err("a wrong offset compiles");
    assert!(errors.contains("static assertion failed"), "{errors}");
}

/// Compiles the C header in both languages, alone and together with the C++ header.
#[test]
fn the_header_for_c_compiles_and_its_assertions_hold() {
    check_file(&include().join("horus/messages.h"), &export::c(STANDARD));
    let source = "#include <horus/messages.h>\nint main(void) { return 0; }\n";
    for language in [C, CPP] {
        compile(language, source).expect("the header does not compile");
    }
    let both = format!("#include <horus/msg.hpp>\n{source}");
    compile(CPP, &both).expect("the headers do not compile together");
}

/// Checks that a wrong struct is a compile error in both languages.
#[test]
fn a_wrong_struct_of_c_does_not_compile() {
    let header = export::c(STANDARD);
    let mistakes = [
        (
            "    float linear;\n",
            "    double linear;\n",
            "size of horus_cmd_vel_t",
        ),
        (
            "    float linear;\n",
            "    float linear_x;\n    float linear;\n",
            "horus_cmd_vel_t",
        ),
        (
            " horus_cmd_vel_t, linear, 8",
            " horus_cmd_vel_t, linear, 12",
            "offset of linear in",
        ),
    ];
    for (right, wrong, expected) in mistakes {
        let wrong = header.replacen(right.trim_start(), wrong.trim_start(), 1);
        assert_ne!(wrong, header, "{right:?} is not in the header");
        for language in [C, CPP] {
            let errors = compile(language, &wrong).expect_err("a wrong struct compiles");
            let is_found = errors.contains("static assertion failed") && errors.contains(expected);
            assert!(is_found, "{errors}");
        }
    }
}

/// Compiler, name of the source and flags of a language.
type Language = (&'static str, &'static str, &'static [&'static str]);

const C: Language = ("cc", "main.c", &["-std=c11", "-Wdouble-promotion"]);
const CPP: Language = ("c++", "main.cpp", &["-std=c++17"]);

/// Checks a source.
fn compile((compiler, name, flags): Language, source: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    fs::write(&file, source).unwrap();
    let output = Command::new(compiler)
        .args(flags)
        .args("-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I".split(' '))
        .arg(include())
        .arg(&file)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .expect("this test needs C and C++ compilers as `cc` and `c++`; install g++ or clang");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(errors)
    }
}

#[test]
fn the_python_stubs_match_the_table() {
    let stubs = root().join("../horus_py/python/horus/_messages.pyi");
    check_file(&stubs, &export::python(STANDARD));
}

/// Computes the layout of every message by `ctypes` and, if it is installed, by numpy.
const CHECK_PY: &str = r#"
import ctypes, sys
sys.dont_write_bytecode = True
import messages
NUMBERS = {f"<{letter}{size}": getattr(ctypes, f"c_{name}") for letter, size, name in [
    ("u", 1, "uint8"), ("u", 2, "uint16"), ("u", 4, "uint32"), ("u", 8, "uint64"),
    ("i", 1, "int8"), ("i", 2, "int16"), ("i", 4, "int32"), ("i", 8, "int64"),
    ("f", 4, "float"), ("f", 8, "double")]}
structs = {}
for name, layout in messages.LAYOUTS.items():
    fields = []
    for field, (kind, shape) in zip(layout["names"], layout["formats"], strict=True):
        if kind in structs: one = structs[kind]
        elif kind[0] == "S": one = ctypes.c_char * int(kind[1:])
        else: one = NUMBERS[kind]
        for length in reversed(shape): one = one * length
        fields.append((field, one))
    structs[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    assert ctypes.sizeof(structs[name]) == layout["itemsize"], name
    for field, offset in zip(layout["names"], layout["offsets"], strict=True):
        assert getattr(structs[name], field).offset == offset, (name, field)
assert structs.keys() == messages.HASHES.keys()
print("CTYPES", len(structs))
try:
    import numpy
except ImportError:
    print("SKIP message_export: python3 has no numpy: apt-get install python3-numpy")
else:
    for name, layout in messages.LAYOUTS.items():
        dtype = messages.dtype(name)
        assert dtype.itemsize == layout["itemsize"], name
        assert [dtype.fields[field][1] for field in dtype.names] == layout["offsets"], name
        used = sum(dtype.fields[field][0].itemsize for field in dtype.names)
        assert used == dtype.itemsize, name
    print("NUMPY", len(messages.LAYOUTS))
"#;

#[test]
fn the_python_module_has_the_same_layouts() {
    check_file(&golden("messages.py"), &export::numpy(STANDARD));
    let mut python = Command::new("python3");
    python
        .args(["-c", CHECK_PY])
        .env("PYTHONPATH", root().join("tests/golden"));
    let output = python
        .stdin(Stdio::null())
        .output()
        .expect("this test needs `python3`");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    horus_testing::record_skips_of_child(&said);
    assert!(output.status.success(), "{errors}");
    assert!(
        said.contains(&format!("CTYPES {}\n", STANDARD.len())),
        "{said}"
    );
}

/// Of a message with data of any length, C has only the header.
#[test]
fn the_comment_of_an_imported_header_names_the_parts_of_a_message_with_data() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Leg.msg");
    fs::write(&file, "float32[] samples\n").unwrap();
    let header = Importer::new().read(&[&file]).unwrap().c("robot");
    for part in ["robot_leg_header_t;", "define ROBOT_LEG_HEADER_INIT"] {
        assert!(header.contains(part), "{header}");
    }
    let (comment, _) = header.split_once("*/").unwrap();
    let names = "robot_leg_header_t and ROBOT_LEG_HEADER_INIT, but ROBOT_LEG_SCHEMA";
    assert!(comment.contains(names), "{comment}");
}
