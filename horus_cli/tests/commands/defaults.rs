//! The values of fields that `topic pub` is not given.

use horus_core::message::{Image, Message as _, PidConfig};
use horus_core::topic::{DynamicType, Qos, Topic};

use crate::common::Robot;

#[test]
fn messages_with_data_have_the_defaults_of_their_type() {
    let robot = Robot::new();
    for (name, value, field, expected) in [
        (
            "OccupancyGrid",
            "{}",
            "info.origin_orientation",
            "[0.0, 0.0, 0.0, 1.0]",
        ),
        ("Tensor", "{}", "dtype", "1"),
        (
            "Tensor",
            "{dtype: 5, dimensions: 1, shape: [1, 0, 0, 0, 0, 0, 0, 0], data: [1, 2, 0, 0]}",
            "data",
            r#"b"\x01\x02\x00\x00""#,
        ),
    ] {
        let topic = format!("{name}.{field}");
        let publish = ["topic", "pub", &topic, name, value, "--qos", "latched"];
        robot.run_with(&publish).succeeded();
        let echo = robot.answer(&format!("topic echo {topic} {field} --once"));
        assert_eq!(echo, format!("[0 #1] {expected}\n"));
    }
}

/// Fields that follow from others may be left out. No subscriber could receive what is refused.
#[test]
fn headers_of_messages_with_data_are_completed_or_refused() {
    let robot = Robot::new();
    let image = "{width: 2, height: 1, encoding: \"rgb8\", data: [1,2,3,4,5,6]}";
    for (name, value, field, expected) in [
        ("Image", image, "step", "6"),
        ("Bytes", "{data: [1, 2, 3]}", "bytes", "3"),
        ("LidarScan", "{data: [1, 2]}", "count", "2"),
    ] {
        let topic = format!("{name}.{field}");
        let publish = ["topic", "pub", &topic, name, value, "--qos", "latched"];
        robot.run_with(&publish).succeeded();
        let echo = robot.answer(&format!("topic echo {topic} {field} --once"));
        assert_eq!(echo, format!("[0 #1] {expected}\n"));
    }
    let mut images = Topic::<Image>::builder("Image.step")
        .namespace(robot.namespace())
        .qos(Qos::latched())
        .subscriber()
        .unwrap();
    assert!(images.recv().is_some(), "{:?}", images.stats());
    for (name, value, reason) in [
        (
            "Image",
            "{width: 2, height: 1, encoding: \"rgb8\", data: [1, 2]}",
            "announces 6 bytes of data, but there are 2",
        ),
        (
            "Image",
            "{width: 2, height: 1, encoding: \"rgb8\", step: 1, data: [1]}",
            "rows are 1 bytes apart",
        ),
        (
            "OccupancyGrid",
            "{info: {width: 2, height: 2}, data: [0]}",
            "announces 4 bytes of data, but there are 1",
        ),
        (
            "PointCloud",
            "{width: 5, height: 1, data: [1, 2, 3]}",
            "announces 0 bytes of data, but there are 3",
        ),
    ] {
        let ran = robot.run_with(&["topic", "pub", "refused", name, value]);
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.stderr.contains(reason), "{ran:?}");
    }
}

/// A type with the name and the size of a standard one has zeros where nothing is given.
#[test]
fn a_type_has_no_defaults_of_another_one_with_its_name() {
    let robot = Robot::new();
    assert_eq!(PidConfig::SCHEMA.size, 88);
    assert!(PidConfig::default().i_max.is_infinite());
    let text = "horus schema 1\nmessage PidConfig\nsize 88\nalign 8\nfield gains f64 0 11\n";
    let own = DynamicType::parse(text).unwrap();
    let builder = own.builder("pid").namespace(robot.namespace());
    let mut subscriber = builder.subscriber().unwrap();
    robot.run_with(&["topic", "pub", "pid", "{}"]).succeeded();
    assert_eq!(subscriber.recv_bytes(), Some(&[0; 88][..]));
}

/// A mistake in the name of the field would send messages without a time.
#[test]
fn now_names_a_field_that_holds_a_time() {
    let robot = Robot::new();
    let publish = |arguments: &[&str]| {
        let publish = ["topic", "pub", "--qos", "latched"];
        robot.run_with(&[&publish[..], arguments].concat())
    };
    for (kind, field, reason) in [
        ("Odometry", "timestam_ns", "no field 'timestam_ns'"),
        ("CmdVel", "linear", "'linear' of --now is no u64"),
        ("value", "stamp", "'stamp'"),
    ] {
        let ran = publish(&["refused", kind, "{}", "--now", field]);
        assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{ran:?}");
        assert!(ran.stderr.contains(reason), "{reason}: {ran:?}");
    }
    // Without the option, a type needs no time.
    publish(&["any", "value", "{a: 1}"]).succeeded();
}

#[test]
fn now_sets_only_what_the_value_does_not_name() {
    let robot = Robot::new();
    let text = "horus schema 1\nmessage Own\nsize 24\nalign 8\nfield header.stamp u64 0 1\n\
                field x u64 8 1\nfield monotonic_ns u64 16 1\n";
    let own = DynamicType::parse(text).unwrap();
    let builder = own.builder("own").namespace(robot.namespace());
    let mut subscriber = builder.subscriber().unwrap();
    let mut fields = |value: &str, options: &[&str]| {
        let arguments = [&["topic", "pub", "own", value], options].concat();
        robot.run_with(&arguments).succeeded();
        let bytes = subscriber.recv_bytes().unwrap().to_vec();
        let field = |begin: usize| {
            let bytes = bytes[begin..begin + 8].try_into().unwrap();
            u64::from_ne_bytes(bytes)
        };
        [field(0), field(8), field(16)]
    };
    let now = ["--now", "header.stamp"];
    let [stamp, x, monotonic_ns] = fields("{header: {stamp: 5}, x: 1}", &now);
    assert_eq!((stamp, x), (5, 1));
    assert!(monotonic_ns > 0);
    let [stamp, _, monotonic_ns] = fields("{x: 1}", &now);
    assert!(stamp > 0 && monotonic_ns > 0);
    let [stamp, _, monotonic_ns] = fields("{monotonic_ns: 7}", &now);
    assert!(stamp > 0 && monotonic_ns == 7);
}

#[test]
fn a_value_that_is_empty_or_no_object_is_named() {
    let robot = Robot::new();
    for (value, code, reason) in [
        ("", 2, "the value is empty"),
        ("[1, 2]", 4, "CmdVel: the value is "),
    ] {
        let ran = robot.run_with(&["topic", "pub", "refused", "CmdVel", value]);
        ran.failed(code, &[reason]);
    }
}
