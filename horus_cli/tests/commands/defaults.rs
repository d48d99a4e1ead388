//! The values of fields that `topic pub` is not given.

use horus_core::message::{Message as _, PidConfig};
use horus_core::topic::DynamicType;

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
        ("Tensor", "{data: [1, 2]}", "dtype", "1"),
        (
            "Tensor",
            "{dtype: 5, data: [1, 2]}",
            "data",
            r#"b"\x01\x02""#,
        ),
    ] {
        let topic = format!("{name}.{field}");
        let publish = ["topic", "pub", &topic, name, value, "--qos", "latched"];
        robot.run_with(&publish).succeeded();
        let echo = robot.answer(&format!("topic echo {topic} {field} --once"));
        assert_eq!(echo, format!("[0 #1] {expected}\n"));
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
