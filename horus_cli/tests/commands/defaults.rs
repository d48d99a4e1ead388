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
