//! The headers for C and C++ compile, alone and with others, and all languages have the same
//! default values.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use horus_core::message::import::{Imported, Importer};
use horus_core::message::{Message, Zeroable as _};
use horus_core::topic::Qos;

use super::private::Private;
use super::{imported, messages, tests};

const C_FLAGS: &str = "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror";
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

const MAIN_C: &str = r#"
#include <stdio.h>
#include "robot.h"
static void show(const void *message, size_t bytes) {
    for (size_t index = 0; index < bytes; ++index) {
        printf("%02x", ((const unsigned char *)message)[index]);
    }
    puts("");
}
_Static_assert(MESSAGES_LEG_SWING == -1, "");
_Static_assert(MESSAGES_LEG_MASK == UINT64_MAX, "");
_Static_assert(MESSAGES_LEG_LOWEST == INT64_MIN, "");
int main(void) {
"#;

/// Messages with the names of standard messages have defaults of their own, too.
#[test]
fn c_has_the_default_values_of_rust() {
    fn add<T: Message + Default>(name: &str, main: &mut String, expected: &mut String) {
        let upper = name.to_uppercase();
        let line = format!(
            "    static const messages_{name}_t {name} = MESSAGES_{upper}_INIT;\n    \
             show(&{name}, sizeof {name});\n"
        );
        main.push_str(&line);
        let message = T::default();
        for byte in bytemuck::bytes_of(&message) {
            write!(expected, "{byte:02x}").unwrap();
        }
        expected.push('\n');
    }
    let (mut main, mut expected) = (MAIN_C.to_owned(), String::new());
    add::<messages::Leg>("leg", &mut main, &mut expected);
    add::<messages::SonarHeader>("sonar_header", &mut main, &mut expected);
    add::<messages::Quaternion>("quaternion", &mut main, &mut expected);
    add::<messages::Odometry>("odometry", &mut main, &mut expected);
    add::<messages::BatteryStateHeader>("battery_state_header", &mut main, &mut expected);
    add::<messages::Imu>("imu", &mut main, &mut expected);
    main.push_str("    return 0;\n}\n");
    let shown = output(
        "cc",
        C_FLAGS,
        &[("main.c", &main), ("robot.h", &imported().c("messages"))],
    );
    assert_eq!(shown, expected);
}

/// The header also defines `INIT` and `SCHEMA` of each message.
#[test]
fn constants_of_c_are_not_replaced_by_macros() {
    let dir = tempfile::tempdir().unwrap();
    let constants = "uint8 RUN=1\nuint64 SCHEMA=4\nuint8 state\n";
    fs::write(dir.path().join("LegState.msg"), constants).unwrap();
    let importer = Importer::new().directory(dir.path());
    let text = "uint8 INIT=3\nuint8 STATE_INIT=5\nuint8 INIT_=6\nLegState state";
    let leg = importer.parse("Leg", text).unwrap();
    let main = "
        #include \"leg.h\"
        _Static_assert(MESSAGES_LEG_STATE_RUN == 1, \"\");
        _Static_assert(MESSAGES_LEG_INIT__ == 3, \"\");
        _Static_assert(MESSAGES_LEG_STATE_SCHEMA_ == 4, \"\");
        _Static_assert(MESSAGES_LEG_STATE_INIT_ == 5, \"\");
        _Static_assert(MESSAGES_LEG_INIT_ == 6, \"\");
        int main(void) {
            const messages_leg_state_t state = MESSAGES_LEG_STATE_INIT;
            const messages_leg_t leg = MESSAGES_LEG_INIT;
            return leg.state.state + state.state + (MESSAGES_LEG_SCHEMA[0] != 'h');
        }";
    output(
        "cc",
        C_FLAGS,
        &[("main.c", main), ("leg.h", &leg.c("messages"))],
    );
}

/// C has one space of names for the constants of all messages.
#[test]
fn constants_of_two_messages_have_different_names_in_c() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    file("LegState.msg", "uint8 RUN=1\nuint8 GO_NOW=2\nuint8 state");
    file("LegStateGo.msg", "uint8 NOW=3\nuint8 now");
    let importer = Importer::new().directory(dir.path());
    let text = "uint8 STATE_RUN=4\nuint8 STATE_GO_NOW=5\nLegState state\nLegStateGo go";
    let leg = importer.parse("Leg", text).unwrap().c("messages");
    // Another header with only two of the messages has the same names.
    let state = importer
        .parse("Pair", "LegStateGo go\nLegState state")
        .unwrap();
    let state = state.c("messages");
    let main = "
        #include \"leg.h\"
        #include \"pair.h\"
        _Static_assert(MESSAGES_LEG_STATE_RUN == 1, \"\");
        _Static_assert(MESSAGES_LEG_STATE_RUN_ == 4, \"\");
        _Static_assert(MESSAGES_LEG_STATE_GO_NOW == 3, \"\");
        _Static_assert(MESSAGES_LEG_STATE_GO_NOW_ == 2, \"\");
        _Static_assert(MESSAGES_LEG_STATE_GO_NOW__ == 5, \"\");
        int main(void) { return 0; }";
    let headers = [("leg.h", &*leg), ("pair.h", &*state)];
    output("cc", C_FLAGS, &[("main.c", main), headers[0], headers[1]]);
    let swapped = main.replacen("leg.h", "other.h", 1);
    let swapped = swapped.replacen("pair.h", "leg.h", 1);
    let swapped = swapped.replacen("other.h", "pair.h", 1);
    output(
        "cc",
        C_FLAGS,
        &[("main.c", &swapped), headers[0], headers[1]],
    );
}

/// The standard messages, and two headers that have a message in common.
#[test]
fn headers_for_c_can_be_used_together() {
    let arm = import(
        "Arm",
        "geometry_msgs/Point elbow\ngeometry_msgs/Quaternion hand",
    );
    let main = "
        #include <horus/messages.h>
        #include \"robot.h\"
        #include \"arm.h\"
        #include \"robot.h\"
        int main(void) {
            const messages_arm_t arm = MESSAGES_ARM_INIT;
            const messages_leg_t leg = MESSAGES_LEG_INIT;
            const horus_imu_t imu = HORUS_IMU_INIT;
            return arm.hand.w + leg.joints[0].w + imu.orientation[3] == 3.0 ? 0 : 1;
        }";
    let (robot, arm) = (imported().c("messages"), arm.c("messages"));
    let headers = [("robot.h", &*robot), ("arm.h", &*arm)];
    output("cc", C_FLAGS, &[("main.c", main), headers[0], headers[1]]);
    // In C++, the initialisers need C++20; the structs do not.
    let main = main.replace("= MESSAGES_ARM_INIT", "{{}, {0, 0, 0, 1}}");
    let main = main.replace("= MESSAGES_LEG_INIT", "{}");
    let main = main.replace("= HORUS_IMU_INIT", "{}").replace("3.0", "1.0");
    output(
        "c++",
        CPP_FLAGS,
        &[("main.cpp", &main), headers[0], headers[1]],
    );
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
