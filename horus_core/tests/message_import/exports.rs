//! All languages have the same default values, and headers compile together with others.

use std::fs;
use std::process::{Command, Stdio};

use horus_core::message::import::{Imported, Importer};
use horus_core::message::{Message, Zeroable as _};
use horus_core::topic::Qos;

use super::private::Private;
use super::{imported, messages, tests};

const CPP_FLAGS: &str = "-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror";

/// Compiles `files`, of which the first is the program, and returns what it prints.
fn output(compiler: &str, flags: &str, files: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let mut command = Command::new(compiler);
    command
        .args(flags.split(' '))
        .arg("-I")
        .arg(tests().join("../../horus_cpp/include"))
        .arg(files[0].0)
        .args(["-o", "program"])
        .env("LC_ALL", "C")
        .current_dir(dir.path());
    let compiled = command.stdin(Stdio::null()).output();
    let compiled = compiled.expect("this test needs C and C++ compilers as `cc` and `c++`");
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{compiler}: {errors}");
    let run = Command::new(dir.path().join("program")).output().unwrap();
    assert!(run.status.success(), "{}", run.status);
    String::from_utf8(run.stdout).unwrap()
}

/// Imports one message beside those of the tests.
fn import(name: &str, text: &str) -> Imported {
    let importer = Importer::new().directory(tests().join("msg"));
    importer.parse(name, text).unwrap()
}

/// Two headers that have a message in common, and the same messages in two namespaces.
#[test]
fn headers_for_cpp_can_be_used_together() {
    let arm = import("Arm", "geometry_msgs/Point elbow").cpp("robot");
    let main = "
        #include \"robot.hpp\"
        #include \"sim.hpp\"
        #include \"arm.hpp\"
        int main() {
            const robot::Leg leg{};
            const robot::Arm arm{leg.foot};
            return sim::Leg().steps == leg.steps && arm.elbow.x == 0.0 ? 0 : 1;
        }";
    let (robot, sim) = (imported().cpp("robot"), imported().cpp("sim"));
    let headers = [
        ("robot.hpp", &*robot),
        ("sim.hpp", &*sim),
        ("arm.hpp", &arm),
    ];
    let files = [("main.cpp", main), headers[0], headers[1], headers[2]];
    output("c++", CPP_FLAGS, &files);
}

/// The message as an old program has it, which does not know the fields with values.
mod old {
    use super::messages::{Point, Quaternion};

    horus_core::message! {
        pub struct Leg {
            pub timestamp_ns: u64,
            pub contact_time_ns: u64,
            pub phases_ns: [i64; 2],
            pub foot: Point,
            pub joints: [Quaternion; 2],
        }
    }
}

#[test]
fn an_old_publisher_s_missing_fields_have_the_values_of_the_file() {
    let leg = messages::Leg::default();
    assert_eq!(messages::Leg::defaults(), leg);
    assert_eq!(
        messages::SonarHeader::defaults(),
        messages::SonarHeader::default()
    );
    let topics = Private::new();
    let mut legs = topics.subscriber::<messages::Leg>("leg", Qos::default());
    let mut publisher = topics.publisher::<old::Leg>("leg", Qos::default());
    let old = old::Leg {
        timestamp_ns: 5,
        joints: leg.joints,
        ..old::Leg::zeroed()
    };
    publisher.send(old).unwrap();
    let wanted = messages::Leg {
        timestamp_ns: 5,
        ..leg
    };
    assert_eq!(legs.recv(), Some(wanted));
}
