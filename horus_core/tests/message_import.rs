//! Imports `.msg` files: the declarations in Rust, C++ and Python have equal schemas, compile, and
//! carry messages; what cannot be a message is an error that names its place.
//!
//! Golden files are rewritten with `HORUS_WRITE_GOLDEN=1`.

use horus_testing as _;

#[path = "message_import/exports.rs"]
mod exports;
mod private;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use horus_core::message::import::{ImportError, Imported, Importer};
use horus_core::message::{Framed, Header, Message, Schema, Text};
use horus_core::topic::Qos;
use private::Private;

/// The declarations that `imported()` generates.
#[allow(dead_code, reason = "not every message is used")]
mod messages {
    include!("golden/imported/messages.inc");
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn msg(path: &str) -> PathBuf {
    tests().join("msg").join(path)
}

/// Imports messages of ROS, and two that use everything that the language has.
fn imported() -> Imported {
    let bounds = [
        ("LaserScan.intensities", 1081),
        ("JointState.name", 32),
        ("JointState.velocity", 32),
        ("JointState.effort", 32),
        ("PointField.name", 16),
        ("PointCloud2.fields", 16),
        ("Joy.buttons", 16),
    ];
    let importer = bounds.iter().fold(Importer::new(), |all, (field, bound)| {
        all.bound(field, *bound)
    });
    let files = [
        "std_msgs/msg/Header.msg",
        "std_msgs/msg/ColorRGBA.msg",
        "std_msgs/msg/Empty.msg",
        "nav_msgs/msg/Odometry.msg",
        "sensor_msgs/msg/Imu.msg",
        "sensor_msgs/msg/LaserScan.msg",
        "sensor_msgs/msg/JointState.msg",
        "sensor_msgs/msg/CameraInfo.msg",
        "sensor_msgs/msg/BatteryState.msg",
        "sensor_msgs/msg/PointCloud2.msg",
        "sensor_msgs/msg/Joy.msg",
        "robot_msgs/msg/Literal.msg",
        "robot_msgs/msg/Leg.msg",
        "robot_msgs/msg/Sonar.msg",
        "robot_msgs/msg/Keywords.msg",
    ];
    importer.read(&files.map(msg)).unwrap()
}

fn schema(imported: &Imported, name: &str) -> &'static Schema {
    let schemas = imported.schemas();
    let schema = schemas.iter().find(|schema| schema.name == name);
    schema.unwrap_or_else(|| panic!("no {name}"))
}

/// Compares a golden file with `text`, or rewrites it if the environment requests that.
fn check_file(name: &str, text: &str) {
    let path = tests().join("golden/imported").join(name);
    if std::env::var_os("HORUS_WRITE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(&path, text).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == text,
        "{} is not what is generated. If the change is meant, run HORUS_WRITE_GOLDEN=1 cargo test \
         -p horus_core --test message_import",
        path.display()
    );
}

#[test]
fn declarations_change_only_on_purpose() {
    let imported = imported();
    check_file("messages.inc", &imported.rust());
    check_file("messages.hpp", &imported.cpp("robot::msg"));
    check_file("messages.py", &imported.python());
    check_file("schemas.txt", &texts(&imported.schemas()));
}

/// Returns the schema texts, with an empty line after each.
fn texts(schemas: &[&Schema]) -> String {
    schemas.iter().map(|schema| schema.text() + "\n").collect()
}

#[test]
fn rust_has_the_imported_schemas() {
    use messages::*;
    let declared = [
        messages::Header::SCHEMA,
        ColorRGBA::SCHEMA,
        Empty::SCHEMA,
        Point::SCHEMA,
        Quaternion::SCHEMA,
        Pose::SCHEMA,
        PoseWithCovariance::SCHEMA,
        Vector3::SCHEMA,
        Twist::SCHEMA,
        TwistWithCovariance::SCHEMA,
        Odometry::SCHEMA,
        Imu::SCHEMA,
        LaserScan::SCHEMA,
        JointState::SCHEMA,
        RegionOfInterest::SCHEMA,
        CameraInfo::SCHEMA,
        BatteryState::SCHEMA,
        PointField::SCHEMA,
        PointCloud2::SCHEMA,
        Joy::SCHEMA,
        Literal::SCHEMA,
        Leg::SCHEMA,
        Sonar::SCHEMA,
        Keywords::SCHEMA,
    ];
    assert_eq!(texts(&declared.each_ref()), texts(&imported().schemas()));
}

/// Compares the layout with one that was made by hand.
#[test]
fn fields_are_sorted_by_alignment_and_a_header_is_padded() {
    let imported = imported();
    let sonar = "\
horus schema 1
message Sonar
size 128
align 8
field timestamp_ns u64 0 1
field origin.x f64 8 1
field origin.y f64 16 1
field origin.z f64 24 1
field strengths_count u32 32 1
field speed f32 36 1
field frame_id char 40 32
field _reserved u8 72 56
tail strengths u16
";
    assert_eq!(schema(&imported, "Sonar").text(), sonar);
    let scan = schema(&imported, "LaserScan");
    assert_eq!(scan.size % 64, 0);
    let names: Vec<_> = scan.fields.iter().map(|field| field.name).collect();
    assert_eq!(names[..3], ["timestamp_ns", "angle_min", "angle_max"]);
    assert_eq!(schema(&imported, "Empty").size, 1);
}

#[test]
fn comments_become_doc_comments_with_units() {
    let imported = imported();
    let sonar = schema(&imported, "Sonar");
    let field = |name: &str| {
        sonar
            .fields
            .iter()
            .find(|field| field.name == name)
            .unwrap()
    };
    assert_eq!(sonar.doc_text().lines().next(), Some("Echoes of one ping."));
    assert_eq!(field("speed").meaning(), "Speed of sound in the air");
    assert_eq!(field("speed").unit(), "metres per second");
    assert_eq!(field("strengths_count").unit(), "count");
    assert!(
        field("strengths_count")
            .doc
            .contains("\n Sound pressure of each echo: pascals.\n")
    );
    assert_eq!(field("timestamp_ns").unit(), "nanoseconds");
    let leg = schema(&imported, "Leg");
    assert_eq!(leg.constants[0].name, "SWING");
    assert_eq!(leg.constants[0].doc, " Phase of the step\n");
    let leg = leg.doc_text();
    assert!(
        leg.contains("The constant `RATE` is 0.5. Of the gait: hertz."),
        "{leg}"
    );
}

#[test]
fn defaults_are_those_of_the_file() {
    let leg = messages::Leg::default();
    assert_eq!(leg.name, *"left #1");
    assert_eq!(leg.joints.map(|joint| joint.w), [1.0, 1.0]);
    assert_eq!(
        (leg.class_, leg.letter, leg.trim, leg.steps),
        (1, 65, -128, 127)
    );
    assert_eq!((leg.lowest, leg.highest), (i64::MIN, u64::MAX));
    assert_eq!(
        (leg.forces[..3].to_vec(), leg.forces_count),
        (vec![1.5, 2.0, 0.0], 2)
    );
    assert_eq!((leg.axis, leg.gain, leg.r#type), ([0.0, 0.0, 1.0], 1.5, 0));
    assert_eq!(messages::Leg::SWING, -1);
    assert_eq!(messages::Leg::MASK, u64::MAX);
    assert_eq!(messages::SonarHeader::default().speed, 343.0);
}

#[test]
fn imported_messages_travel() {
    let topics = Private::new();
    let mut legs = topics.subscriber::<messages::Leg>("leg", Qos::default());
    let mut publisher = topics.publisher::<messages::Leg>("leg", Qos::default());
    let leg = messages::Leg {
        frame_id: Text::literal("hip"),
        ..messages::Leg::default()
    };
    publisher.send(leg).unwrap();
    assert_eq!(legs.recv(), Some(leg));

    let mut echoes = topics.subscriber::<messages::Sonar>("sonar", Qos::default());
    let mut publisher = topics.publisher::<messages::Sonar>("sonar", Qos::default());
    let header = messages::SonarHeader {
        strengths_count: 3,
        ..messages::SonarHeader::default()
    };
    let sonar = Framed::from_elements(header, &[1_u16, 2, 3]).unwrap();
    publisher.send(&sonar).unwrap();
    let received = echoes.recv().unwrap();
    assert_eq!(received.data_as::<u16>().unwrap(), [1, 2, 3]);
    assert_eq!(received.speed, 343.0);
    assert_eq!(<messages::SonarHeader as Header>::NAME, "Sonar");
    let too_few = Framed::from_elements(header, &[1_u16])
        .unwrap_err()
        .to_string();
    assert!(
        too_few.contains("announces 6 bytes of data, but there are 2"),
        "{too_few}"
    );
}

/// Prints the schema text of each imported message, computed by the C++ compiler.
const MAIN_CPP: &str = r#"
#include <cstdio>
#include <cstring>
#define SWING 5
#include "messages.hpp"
static_assert(SWING == 5, "the macro of another header is as before");
#undef SWING
using namespace robot::msg;
template <class T> void print() { std::printf("%s\n", horus::schema_text<T>()); }
int main() {
PRINTS
    const Leg leg{};
    bool same = std::memcmp(leg.name, "left #1\0\0\0\0", 12) == 0 && leg.joints[1].w == 1.0;
    same = same && leg.class_ == 1 && leg.forces[1] == 2.0F && leg.forces[7] == 0.0F;
    same = same && leg.type == 0 && leg.steps == 127 && Leg::SWING == -1;
    return same ? 0 : 1;
}
"#;

#[test]
fn cpp_has_the_imported_schemas() {
    let imported = imported();
    let schemas = imported.schemas();
    let print = |schema: &&Schema| format!("    print<{}>();\n", schema.name);
    let prints: String = schemas.iter().map(print).collect();
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("main.cpp");
    let program = dir.path().join("main");
    fs::write(&source, MAIN_CPP.replace("PRINTS", &prints)).unwrap();
    fs::write(dir.path().join("messages.hpp"), imported.cpp("robot::msg")).unwrap();
    let flags = "-std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror";
    let mut compiler = Command::new("c++");
    compiler
        .args(flags.split(' '))
        .arg("-I")
        .arg(tests().join("../../horus_cpp/include"))
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .env("LC_ALL", "C");
    let output = compiler.stdin(Stdio::null()).output();
    let output = output.expect("this test needs a C++ compiler as `c++`; install g++ or clang");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "the defaults differ");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), texts(&schemas));
}

/// A program whose build script imports a message, as a user's program does.
#[test]
fn a_build_script_declares_messages() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("message_import");
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dependency = format!("horus_core = {{ path = {core:?}, default-features = false }}\n");
    let manifest = format!(
        "[package]\nname = \"message_import\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [workspace]\n[dependencies]\n{dependency}[build-dependencies]\n{dependency}\
         [profile.dev]\ndebug = false\n"
    );
    let build = format!(
        "fn main() -> Result<(), horus_core::message::import::ImportError> {{\n    \
         horus_core::message::import::Importer::new().build(&[{:?}])?;\n    Ok(())\n}}\n",
        msg("robot_msgs/msg/Leg.msg")
    );
    let main = "
        #![deny(warnings)]
        mod messages {
            include!(concat!(env!(\"OUT_DIR\"), \"/messages.rs\"));
        }
        use horus_core::message::Message;
        fn main() {
            let leg = messages::Leg::default();
            assert_eq!(leg.foot, messages::Point { x: 0.0, y: 0.0, z: 0.0 });
            print!(\"{}\", messages::Leg::SCHEMA.text());
        }
    ";
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("build.rs"), build).unwrap();
    fs::write(folder.join("src/main.rs"), main).unwrap();
    // WHY: the versions that the tests were built with, so that cargo downloads nothing.
    fs::copy(core.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["run", "--quiet", "--offline"])
        .current_dir(&folder)
        // The same directory as that of `message_refused`, with parts that both need.
        .env("CARGO_TARGET_DIR", folder.with_file_name("dependents"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = schema(&imported(), "Leg").text();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
}

/// The name of a file, its text, and what the error says.
const REFUSED: &[(&str, &str, &[&str])] = &[
    (
        "A",
        "int32 a\nwstring b",
        &["A.msg:2: 'b': a wstring is UTF-16", "use string<=N"],
    ),
    ("A", "int32", &["A.msg:1: 'int32': a line is `type name`"]),
    (
        "A",
        "\n\nint a",
        &["A.msg:3: 'a': int is no type: use bool, int8"],
    ),
    ("A", "int32 1a", &["A.msg:1: 'int32 1a': a line is"]),
    ("A", "int32 a-1", &["A.msg:1: 'int32 a-1': a line is"]),
    (
        "A",
        "int32[0] a",
        &["'a': the length of int32[0] is not [], [N] or [<=N]"],
    ),
    ("A", "int32[ a", &["'a': the length of int32[ is not"]),
    ("A", "int32<=3 a", &["'a': int32 has no bound"]),
    (
        "A",
        "uint8 A_B=256",
        &["'A_B': 256 is no integer of 0 to 255"],
    ),
    (
        "A",
        "int32 a 1.5",
        &["'a': 1.5 is no integer of -2147483648 to 2147483647"],
    ),
    (
        "A",
        "string<=2 a \"abc\"",
        &["'a': the default abc has 3 bytes, and the field 2"],
    ),
    (
        "A",
        "int32[2] a [1]",
        &["'a': its default has 1 elements: give as many as it has"],
    ),
    (
        "A",
        "int32[] a [1]",
        &["'a': an array without a bound has no default: remove it"],
    ),
    (
        "A",
        "int32[3] A=1",
        &["'A': an array cannot be a constant: make it a field"],
    ),
    (
        "A",
        "time A=1",
        &["'A': a constant is a number or a string: make it a field"],
    ),
    (
        "A",
        "int32[] a\nint32[] b",
        &[
            "A.msg:2: 'b': one array can have any length, and 'a' has",
            "as --bound A.b=16",
        ],
    ),
    (
        "A",
        "string[] a",
        &["'a': only an array of numbers can have any length", "A.a"],
    ),
    (
        "A",
        "int32 a\nint8 a",
        &["A.msg:2: 'a': the message has another field or constant 'a'"],
    ),
    (
        "A",
        "int32[] a\nint32 a_count",
        &["'a_count': the message has another field"],
    ),
    (
        "A",
        "Header header\nstring frame_id",
        &["A.msg:2: 'frame_id': the message has another"],
    ),
    (
        "A",
        "Header[2] headers",
        &["'headers': a Header is one field"],
    ),
    (
        "A",
        "Other a",
        &[
            "'a': there is no Other.msg beside A.msg",
            "add the directory",
        ],
    ),
    (
        "A",
        "pkg/Other a",
        &["'a': there is no pkg/Other.msg beside A.msg"],
    ),
    ("A", "../Other a", &["'a': ../Other is no type"]),
    (
        "A",
        "uint8 A",
        &["'A' is both a type and a field or constant of it: rename one"],
    ),
    (
        "A",
        "float64[99999999] a",
        &[
            "A.msg: message 'A': it is longer than 67108864 bytes",
            "'a' alone has 99999999 elements of 8 bytes: ",
        ],
    ),
    (
        "A",
        "float64[18446744073709551615] a",
        &["it is longer than 67108864 bytes"],
    ),
    // More than the field with the number of elements in use can count.
    (
        "A",
        "uint8 b\nint8[<=4294967296] a",
        &[
            "message 'A': it is longer than 67108864 bytes",
            "'a' alone has 4294967296 elements of 1 bytes: ",
            "smaller bounds",
        ],
    ),
    (
        "A",
        "string<=67108864 a",
        &["'a' alone has 67108864 bytes: "],
    ),
    (
        "lower",
        "uint8 a",
        &["lower.msg: message 'lower': the name of the file"],
    ),
    ("None", "uint8 a", &["message 'None': the name of the file"]),
];

#[test]
fn refusals_name_the_place_and_say_what_to_do() {
    for (name, text, wanted) in REFUSED {
        let error = Importer::new().parse(name, text).unwrap_err().to_string();
        for wanted in *wanted {
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }
    let many: String = (0..65).map(|index| format!("uint8 a{index}\n")).collect();
    let error = Importer::new().parse("A", &many).unwrap_err().to_string();
    assert!(
        error.contains("it has 65 fields with counts and padding, and at most 64"),
        "{error}"
    );
    let unused = Importer::new().bound("A.b", 3).parse("A", "uint8 a");
    let unused = unused.unwrap_err().to_string();
    assert!(
        unused.contains("the bound of 'A.b' was not used"),
        "{unused}"
    );
    let missing = Importer::new().directory("/nosuch").parse("A", "uint8 a");
    let missing = missing.unwrap_err().to_string();
    assert!(
        missing.starts_with("the directory /nosuch in which to look for messages does not exist"),
        "{missing}"
    );
}

#[test]
fn messages_inside_messages_are_found_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let read = |path: &PathBuf| Importer::new().read(&[path]);
    let said = |path: &PathBuf| read(path).unwrap_err().to_string();

    write("B.msg", "A a");
    let error = said(&write("A.msg", "B b"));
    assert!(error.contains("message 'A': it contains itself"), "{error}");
    write("C.msg", "float32[] xs");
    let error = said(&write("D.msg", "C[2] c"));
    assert!(
        error.contains("a C has any length, because 'xs' has no bound"),
        "{error}"
    );
    write("p/msg/E.msg", "uint8 a");
    write("q/E.msg", "uint16 a");
    let error = said(&write("q/F.msg", "E a\np/E b"));
    assert!(
        error.contains("message 'E': another imported message declares"),
        "{error}"
    );
    write("q/GHeader.msg", "uint16 a");
    let error = said(&write("q/G.msg", "GHeader a\nfloat32[] xs"));
    assert!(
        error.contains("message 'GHeader': another imported message"),
        "{error}"
    );
    for depth in 0..40 {
        write(&format!("L{depth}.msg"), &format!("L{} next", depth + 1));
    }
    write("L40.msg", "uint8 a");
    let error = said(&dir.path().join("L0.msg"));
    assert!(
        error.contains("more than 32 messages are nested"),
        "{error}"
    );
}

#[test]
fn messages_are_found_beside_and_in_other_directories() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Step.msg");
    fs::write(
        &file,
        "geometry_msgs/Point at\nsensor_msgs/msg/RegionOfInterest in_view",
    )
    .unwrap();
    let missing = Importer::new().read(&[&file]).unwrap_err();
    assert!(
        matches!(missing, ImportError::Line { line: 1, .. }),
        "{missing}"
    );
    let found = Importer::new()
        .directory(tests().join("msg"))
        .read(&[&file])
        .unwrap();
    let names: Vec<_> = found.schemas().iter().map(|schema| schema.name).collect();
    assert_eq!(names, ["Point", "RegionOfInterest", "Step"]);
    assert_eq!(found.files().len(), 3);

    let missing = Importer::new()
        .read(&[dir.path().join("None.msg")])
        .unwrap_err();
    assert!(matches!(missing, ImportError::Read { .. }), "{missing}");
    fs::write(&file, [0xff, 0xfe]).unwrap();
    let binary = Importer::new().read(&[&file]).unwrap_err();
    assert!(binary.to_string().contains("valid UTF-8"), "{binary}");
}
