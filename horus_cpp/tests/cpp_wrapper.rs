//! The C++ wrapper: its functions, code that must not compile, and the same messages as in Rust.

mod compiler;
#[path = "cpp_wrapper/echo.rs"]
mod echo;

use std::process::{Command, Stdio};

use compiler::{CPP_WARNINGS, Precompiled, Program, Spawned, cpp_refusal};
use horus_core::message::{
    Bytes, DiagnosticStatus, Header, Image, Message, NavPath, Primitive, STANDARD, Schema,
    TactileArray, Tail,
};
use horus_core::prelude::*;

/// The messages of `cpp/check.hpp`.
mod robot {
    use horus_core::message::{Point3, Text};

    horus_core::message! {
        #[derive(Default)]
        pub struct Pair {
            pub first: u64,
            pub second: u64,
        }
    }

    horus_core::message! {
        #[derive(Default)]
        pub struct Everything {
            pub u64: u64,
            pub i64: i64,
            pub f64: f64,
            pub pairs: [Pair; 3],
            pub corners: [[Point3; 2]; 2],
            pub vector: [f64; 3],
            pub matrix: [[f32; 3]; 2],
            pub u32: u32,
            pub i32: i32,
            pub u16: u16,
            pub i16: i16,
            pub names: [Text<16>; 2],
            pub name: Text<9>,
            pub u8: u8,
            pub i8: i8,
            pub mode: u8,
        }
    }

    horus_core::message! {
        pub struct Wheel {
            pub metres: f32,
        }
    }

    horus_core::message! {
        pub struct SonarHeader {
            pub timestamp_ns: u64,
            pub echoes: u64,
        }
    }
}
use self::robot::{Everything, Pair, SonarHeader, Wheel};

impl Header for SonarHeader {
    const NAME: &str = "Sonar";
    const TRAILING_DATA: Tail = Tail {
        name: "strengths",
        primitive: Primitive::F32,
    };
    const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

    fn data_bytes(&self) -> u64 {
        self.echoes.saturating_mul(4)
    }
}

#[test]
fn the_wrapper_does_what_it_says() {
    for standard in compiler::dialects(0) {
        Program::cpp("tests/cpp/wrapper.cpp", &[standard]).run(&[]);
    }
}

/// A plugin that is loaded while the program runs may have its own error category.
#[test]
fn an_error_of_a_plugin_equals_its_constant() {
    let dir = tempfile::tempdir().unwrap();
    let plugin = dir.path().join("plugin.so");
    for standard in compiler::dialects(0) {
        let mut compiler = compiler::cxx();
        compiler.args([standard, "-fPIC", "-shared", "-fvisibility=hidden"]);
        compiler.arg(compiler::root().join("tests/cpp/plugin.cpp"));
        let output = compiler.arg("-o").arg(&plugin).output();
        let output = output.expect("this test needs a C++ compiler as `c++`");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let flags = [standard, "-Wl,--no-as-needed", "-ldl"];
        let host = Program::cpp("tests/cpp/plugin_host.cpp", &flags);
        host.run(&[plugin.to_str().unwrap()]);
    }
}

/// A host that closes its plugins keeps its own handler of faults.
#[test]
fn a_host_may_close_the_library() {
    let flags = [
        "-std=c++17",
        "-Wl,--no-as-needed",
        "-ldl",
        "-Wl,--as-needed",
    ];
    Program::cpp("tests/cpp/unloaded.cpp", &flags).run(&[]);
}

/// Headers and programs compile with clang, if it is installed.
#[test]
fn clang_takes_the_headers_too() {
    let clang = std::process::Command::new("clang++")
        .arg("--version")
        .output();
    if clang.is_err() {
        horus_testing::skip("there is no clang++: apt-get install clang");
        return;
    }
    for standard in compiler::dialects(0) {
        Program::clang("tests/cpp/wrapper.cpp", &[standard]).run(&[]);
    }
}

#[test]
fn nothing_needs_exceptions() {
    let flags = ["-std=c++17", "-fno-exceptions", "-fno-rtti"];
    Program::cpp("tests/cpp/no_exceptions.cpp", &flags).run(&[]);
}

/// Each header compiles by itself, and all of them together and twice.
#[test]
fn each_header_compiles_alone_without_a_warning() {
    let headers = std::fs::read_dir(compiler::root().join("include/horus")).unwrap();
    let names = headers.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".hpp")).collect();
    names.sort();
    assert!(names.len() >= 9, "{names:?}");
    let include = |name: &String| format!("#include <horus/{name}>\n");
    let all: String = names.iter().map(include).collect();
    let sources = names.iter().map(include).chain([all.repeat(2)]);
    for (number, source) in sources.enumerate() {
        for standard in compiler::dialects(number) {
            let mut flags = vec![standard];
            flags.extend(CPP_WARNINGS);
            assert_eq!(cpp_refusal(&source, &flags), None, "{standard} {source}");
        }
    }
    for standard in compiler::dialects(0) {
        let flags = [standard, "-fno-exceptions"];
        assert_eq!(cpp_refusal(&all, &flags), None, "{flags:?}");
    }
}

#[test]
fn the_compiler_makes_the_schemas_that_rust_makes() {
    let program = Program::cpp("tests/cpp/schemas.cpp", &["-std=c++17"]);
    let schemas = [
        Pair::SCHEMA,
        Everything::SCHEMA,
        Wheel::SCHEMA,
        SonarHeader::SCHEMA.framed(SonarHeader::NAME, SonarHeader::TRAILING_DATA),
        CmdVel::SCHEMA,
        NavPath::SCHEMA,
        TactileArray::SCHEMA,
        DiagnosticStatus::SCHEMA,
        Image::SCHEMA,
        Bytes::SCHEMA,
    ];
    let expected = |schema: &Schema| {
        format!(
            "{:032x} {}\n{}",
            schema.hash(),
            schema.text_bytes(),
            schema.text()
        )
    };
    assert_eq!(
        program.run(&[]),
        schemas.iter().map(expected).collect::<String>()
    );
}

/// The check uses the hash that Rust wrote into the header.
#[test]
fn the_compiler_makes_the_hash_of_every_standard_message() {
    let mut source = "#include <horus/msg.hpp>\n".to_owned();
    for schema in STANDARD {
        let name = schema.name;
        let hash = schema.hash();
        let high = (hash >> 64) as u64;
        let low = hash as u64;
        source += &format!(
            "static_assert(horus::schema_hash<horus::{name}>() == \
             horus::SchemaHash{{0x{high:x}u, 0x{low:x}u}});\n"
        );
    }
    assert_eq!(cpp_refusal(&source, &["-std=c++17"]), None);
    let wrong = source.replacen("SchemaHash{0x", "SchemaHash{0x1", 1);
    assert!(cpp_refusal(&wrong, &["-std=c++17"]).is_some());
}

#[test]
fn a_type_that_is_not_a_message_does_not_compile_and_the_error_says_why() {
    let cases = [
        (
            "",
            "int main() { horus::Publisher<int> p(\"x\"); }",
            "this type is not a message",
        ),
        (
            "struct A { int a; };",
            "horus::Topic<A> t(\"x\");",
            "Write HORUS_MESSAGE",
        ),
        (
            "struct A { bool a; }; HORUS_MESSAGE(A, a);",
            "",
            "cannot be a field of a message",
        ),
        (
            "struct A { A *a; }; HORUS_MESSAGE(A, a);",
            "",
            "cannot be a field of a message",
        ),
        (
            "struct A { char8_t a; }; HORUS_MESSAGE(A, a);",
            "",
            "cannot be a field of a message",
        ),
        (
            "enum E { e }; struct A { E a; }; HORUS_MESSAGE(A, a);",
            "",
            "cannot be a field",
        ),
        (
            "struct A { std::string a; }; HORUS_MESSAGE(A, a);",
            "",
            "a message is plain data",
        ),
        (
            "struct A { virtual void f(); int a; }; HORUS_MESSAGE(A, a);",
            "",
            "plain data",
        ),
        (
            "struct A { int a, b; }; HORUS_MESSAGE(A, a);",
            "",
            "must name all fields, and one is missing",
        ),
        (
            "struct A { int a, b; }; HORUS_MESSAGE(A, b, a);",
            "",
            "in their order in the struct, and each of them once",
        ),
        (
            "struct A { int a, b; }; HORUS_MESSAGE(A, a, a);",
            "",
            "each of them once",
        ),
        (
            "struct A { int a, b, c; }; HORUS_MESSAGE(A, a, c);",
            "",
            "must name all fields, and one is missing",
        ),
        (
            "struct A { char a; int b; }; HORUS_MESSAGE(A, a, b);",
            "",
            "there must be no padding",
        ),
        (
            "struct A { int b; char a; }; HORUS_MESSAGE(A, b, a);",
            "",
            "there must be no padding",
        ),
        (
            "struct __attribute__((packed)) A { char a; int b; }; HORUS_MESSAGE(A, a, b);",
            "",
            "a message cannot be packed",
        ),
        (
            "struct A { int a; static constexpr horus::SchemaHash schema_hash{1, 2}; }; \
             HORUS_MESSAGE(A, a);",
            "horus::Subscriber<A> s(\"x\");",
            "do not match its schema_hash",
        ),
        (
            "struct A {}; HORUS_FRAMED(A, data);",
            "",
            "HORUS_FRAMED is for structs derived from horus::Framed",
        ),
        (
            "struct H { int a; }; HORUS_MESSAGE(H, a); \
             struct A : horus::Framed<H, float> {}; HORUS_FRAMED(A, a);",
            "horus::Subscriber<A> s(\"x\");",
            "must not have the name of a field of the header",
        ),
        (
            "void f(horus::Publisher<horus::Image> &p, horus::Image i) { p.send(i); }",
            "",
            "send a header with data by loan()",
        ),
        (
            "void f(horus::Subscriber<horus::Wrench> &s) { horus::Subscriber t = s; }",
            "",
            "use of deleted function",
        ),
    ];
    let headers = Precompiled::new(
        "#include <horus/horus.hpp>\n#include <horus/msg.hpp>\n#include <string>\n",
    );
    // The headers are not the reason for a refusal.
    assert_eq!(
        headers.refusal("struct A { int a; }; HORUS_MESSAGE(A, a);\n"),
        None
    );
    for (before, line, expected) in cases {
        let source = format!("{before}\n{line}\n");
        let errors = headers.refusal(&source).unwrap_or_default();
        // Another compiler prints "call to deleted", or wraps its lines differently.
        let expected = expected.strip_prefix("use of ").unwrap_or(expected);
        let found = errors.contains(expected.trim_end_matches(" function"));
        assert!(
            found,
            "{source}\nis refused without {expected:?}:\n{errors}"
        );
    }
}

#[test]
fn a_program_does_not_outlive_a_test_that_fails() {
    // WHY without streams: if the process outlives the test, no pipe stays open.
    let mut sleep = Command::new("sleep");
    let null = Stdio::null;
    let other = Spawned::new(
        sleep
            .arg("1000")
            .stdin(null())
            .stdout(null())
            .stderr(null()),
    );
    let path = std::path::PathBuf::from(format!("/proc/{}", other.id()));
    assert!(path.exists());
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _other = other;
        panic!("on purpose");
    }));
    assert!(failed.is_err() && !path.exists());
}

/// The Rust code of `docs/cpp.md`.
mod document {
    use horus_core::message::Text;

    horus_core::message! {
        pub struct Wheels {
            pub timestamp_ns: u64,
            pub turns: [f64; 4],
            pub name: Text<16>,
        }
    }
}

/// The document names each default of `msg.hpp` that is neither 0 nor what its rules say.
#[test]
fn the_document_names_the_defaults_that_are_not_zero() {
    let header = compiler::root().join("include/horus/msg.hpp");
    let header = std::fs::read_to_string(header).unwrap();
    let document = read_document("docs/cpp.md");
    let mut structure = "";
    let mut named = 0;
    for line in header.lines() {
        if let Some(begun) = line.strip_prefix("struct ") {
            structure = begun
                .trim_end_matches(" {")
                .split_whitespace()
                .last()
                .unwrap();
        }
        let is_member = line.starts_with("    ") && line.ends_with(';');
        let Some((member, default)) = line.split_once(" = ").filter(|_| is_member) else {
            continue;
        };
        let is_by_rule = default.contains("quiet_NaN")
            || default == "{0.0, 0.0, 0.0, 1.0};"
            || member.ends_with(" w");
        if is_by_rule || member.contains("constexpr") {
            continue;
        }
        let member = member
            .split_whitespace()
            .last()
            .unwrap()
            .split('[')
            .next()
            .unwrap();
        let is_named = |row: &str| row.contains(&format!("`{structure}`")) && row.contains(member);
        assert!(document.lines().any(is_named), "{structure}: {line}");
        named += 1;
    }
    assert!(named >= 10, "{named}");
}

/// A result whose meaning is unclear: 0.5 would be cut to 0, and the true of a proxy be a failure.
#[test]
fn a_tick_returns_nothing_a_bool_or_an_integer() {
    let program = |result: &str| {
        format!(
            "#include <horus/horus.hpp>\n#include <vector>\n\
             void add(horus::Scheduler &scheduler, std::vector<bool> &all);\n\
             void add(horus::Scheduler &scheduler, std::vector<bool> &all) {{\n    \
             scheduler.node(\"a\").build([&](horus::Context &) {{ (void)all; {result} }});\n}}\n"
        )
    };
    let flags = ["-std=c++17"];
    for result in [
        "",
        "return bool(all[0]);",
        "return all.size();",
        "enum { fine } result = fine; return result;",
    ] {
        assert_eq!(cpp_refusal(&program(result), &flags), None, "{result}");
    }
    for result in ["return 0.5;", "return all[0];"] {
        let refusal = cpp_refusal(&program(result), &flags).unwrap_or_default();
        let text = "a tick returns nothing, a bool or an integer";
        assert!(refusal.contains(text), "{result}: {refusal}");
    }
}

#[test]
fn a_send_or_wait_whose_result_is_ignored_is_a_warning() {
    let program = |call: &str| {
        format!(
            "#include <horus/horus.hpp>\n#include <horus/msg.hpp>\n\
             void f(horus::Publisher<horus::CmdVel> &publisher);\n\
             void f(horus::Publisher<horus::CmdVel> &publisher) {{ {call}; }}\n"
        )
    };
    let flags = ["-std=c++17"];
    for call in [
        "publisher.send({})",
        "publisher.wait_for_subscribers(1, horus::forever)",
    ] {
        assert_eq!(
            cpp_refusal(&program(&format!("(void){call}")), &flags),
            None
        );
        let refusal = cpp_refusal(&program(call), &flags).unwrap_or_default();
        assert!(refusal.contains("nodiscard"), "{refusal}");
    }
}

/// Returns the text of a document of the repository.
fn read_document(name: &str) -> String {
    let path = compiler::root().parent().unwrap().join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Returns the C++ code in a document, block by block.
fn blocks_of(document: &str) -> impl Iterator<Item = &str> {
    let blocks = document.split("```cpp\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap())
}

/// Runs the programs of `docs/own-messages.md`.
#[test]
fn the_programs_about_own_messages_run() {
    let text = read_document("docs/own-messages.md");
    let programs: Vec<&str> = blocks_of(&text).collect();
    assert!(programs.len() >= 2, "{} programs", programs.len());
    let dir = tempfile::tempdir().unwrap();
    for (number, program) in programs.iter().enumerate() {
        let source = dir.path().join(format!("own{number}.cpp"));
        std::fs::write(&source, program).unwrap();
        Program::cpp(source.to_str().unwrap(), &["-std=c++17"]).run(&[]);
    }
}

/// Compiles the code of `docs/cpp.md` and of the README, with the declarations that they omit.
#[test]
fn the_code_of_the_documents_compiles() {
    let [text, readme] = ["docs/cpp.md", "README.md"].map(read_document);
    let blocks: Vec<&str> = blocks_of(&text).chain(blocks_of(&readme)).collect();
    assert!(blocks_of(&text).count() >= 5 && blocks_of(&readme).count() >= 1);
    let mut source = "#include <cstdio>\n#include <horus/horus.hpp>\n#include <horus/msg.hpp>\n\
        using namespace std::chrono_literals;\n\
        inline void drive(float) {}\ninline void control() {}\ninline void stop() {}\n\
        inline void fill(horus::Span<std::uint8_t>) {}\n\
        inline void show(const horus::ImageHeader &, horus::Span<const std::uint8_t>) {}\n\
        inline void plot(const float *, const float *, std::size_t) {}\n\
        inline void draw(const horus::Joint *, std::uint32_t) {}\n"
        .to_owned();
    for (number, block) in blocks.iter().enumerate() {
        if block.starts_with("namespace") {
            source += block;
            continue;
        }
        // A whole program.
        if block.contains("\nint main()") {
            assert_eq!(cpp_refusal(block, &["-std=c++17"]), None, "{block}");
            continue;
        }
        let (includes, code): (Vec<&str>, Vec<&str>) =
            block.lines().partition(|line| line.starts_with("#include"));
        let includes = includes.join("\n");
        let code = code.join("\n");
        source += &format!(
            "{includes}\n[[maybe_unused]] static void block{number}(\
             const horus::ImageHeader &header, std::optional<horus::CmdVel> command, \
             horus::Subscriber<horus::CmdVel> &subscriber) {{\n\
             (void)header; (void)command; (void)subscriber;\n{{\n{code}\n}}\n}}\n"
        );
    }
    // The message in both languages is the same, and this file has the code of the document.
    let hash = document::Wheels::SCHEMA.hash();
    let high = (hash >> 64) as u64;
    let low = hash as u64;
    source += &format!(
        "static_assert(horus::schema_hash<robot::Wheels>() == \
         horus::SchemaHash{{0x{high:x}u, 0x{low:x}u}});\n"
    );
    let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = text
        .split("```rust\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert!(
        bare(include_str!("cpp_wrapper.rs")).contains(&bare(shown)),
        "{shown}"
    );
    assert_eq!(cpp_refusal(&source, &["-std=c++17"]), None, "{source}");
}
