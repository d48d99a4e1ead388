//! Topics as seen by a tool that does not know their types.

use horus_testing as _;

mod private;

use std::time::Duration;

use horus_core::SendError;
use horus_core::message::{
    Encoding, Image, ImageHeader, Message, NavPath, STANDARD, Schema, Tensor, Waypoint, Zeroable,
};
use horus_core::prelude::*;
use horus_core::topic::{DynamicPublisher, DynamicSchema, DynamicSubscriber, DynamicType};
use private::Private;

#[test]
fn a_tool_prints_and_edits_messages_it_never_saw() {
    let private = Private::new();
    let mut paths = private.builder::<NavPath>("path").topic().unwrap();
    let mut tool = DynamicSubscriber::open(private.namespace(), "path").unwrap();
    let mut editor = DynamicPublisher::open(private.namespace(), "path").unwrap();
    let mut path = NavPath {
        timestamp_ns: 7,
        count: 2,
        ..NavPath::zeroed()
    };
    path.waypoints[1] = Waypoint {
        position: [1.0, 2.0, 3.0],
        ..Waypoint::zeroed()
    };
    paths.send(&path).unwrap();

    let bytes = tool
        .recv_bytes_timeout(Duration::from_secs(9))
        .unwrap()
        .to_vec();
    assert_eq!(bytes, bytemuck::bytes_of(&path));
    let DynamicSchema::Plain { schema, layout } = tool.message_type().schema() else {
        panic!("{tool:?}")
    };
    assert_eq!(schema.name, "NavPath");
    let y = layout.get(&bytes, "waypoints[1].position[1]").unwrap();
    assert_eq!(y.as_f64(), Some(2.0));
    let mut edited = bytes.clone();
    layout
        .set(&mut edited, "waypoints[1].position[2]", &9.0.into())
        .unwrap();
    editor.send_bytes(&edited).unwrap();
    paths.recv().unwrap();
    assert_eq!(paths.recv().unwrap().waypoints[1].position, [1.0, 2.0, 9.0]);

    editor.send(&Value::from([("count", 300)])).unwrap();
    assert_eq!(paths.recv().unwrap().count, 300);
    for (field, text) in [("speed", "speed"), ("count", "-1")] {
        let wrong = Value::from([(field, Value::from(-1))]);
        let error = editor.send(&wrong).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    let error = editor.send_bytes(&edited[1..]).unwrap_err();
    assert!(matches!(error, SendError::Unencodable { .. }), "{error}");
    edited.push(0);
    let error = editor.send_bytes(&edited).unwrap_err();
    assert!(matches!(error, SendError::TooLong { .. }), "{error}");
}

#[test]
fn data_and_values_are_seen_too() {
    let private = Private::new();
    let mut camera = private.builder::<Image>("camera").publisher().unwrap();
    let mut tool = DynamicSubscriber::observe(private.namespace(), "camera").unwrap();
    let mut image = Image::zeroed(ImageHeader::new(2, 1, Encoding::MONO8)).unwrap();
    image.data_mut().copy_from_slice(&[5, 6]);
    camera.send(&image).unwrap();
    let seen = tool.recv().unwrap();
    assert_eq!(seen.get("width").and_then(Value::as_i64), Some(2));
    assert_eq!(seen.get("encoding").and_then(Value::as_str), Some("mono8"));
    assert_eq!(
        seen.get("data").and_then(Value::as_bytes),
        Some(&[5, 6][..])
    );

    let mut anything = private.builder::<Value>("anything").topic().unwrap();
    let mut tool = DynamicSubscriber::open(private.namespace(), "anything").unwrap();
    let mut editor = DynamicPublisher::open(private.namespace(), "anything").unwrap();
    let value = Value::from([("a", Value::from(1)), ("b", "two".into())]);
    editor.send(&value).unwrap();
    assert_eq!(
        (anything.recv(), tool.recv()),
        (Some(value.clone()), Some(value))
    );
    editor.send_bytes(&[0xc1]).unwrap();
    assert!(tool.recv().is_none() && anything.recv().is_none());
    let stats = tool.stats();
    assert_eq!(
        (stats.received, stats.malformed, stats.sent),
        (1, 1, 2),
        "{stats:?}"
    );
    assert!(DynamicSubscriber::open(private.namespace(), "nowhere").is_err());
}

/// A publisher whose messages are ignored takes what came before in its lane out of the ledger,
/// also the malformed messages.
#[test]
fn the_ledger_of_malformed_messages_survives_an_ignored_lane() {
    let private = Private::new();
    let anything = private.builder::<Value>("anything");
    let mut first = anything.publisher().unwrap();
    let mut tool = DynamicSubscriber::open(private.namespace(), "anything").unwrap();
    first.send(&Value::from(1)).unwrap();
    tool.recv_bytes_timeout(Duration::from_secs(9)).unwrap();
    tool.count_malformed();
    drop(first);
    let own = DynamicPublisher::open(private.namespace(), "anything").unwrap();
    tool.ignore(&own);
    let stats = tool.stats();
    assert!(stats.received <= 1, "{stats:?}");
}

/// A lane that is included again is that of any later publisher.
#[test]
fn a_publisher_behind_an_ignored_one_is_received_if_its_lane_was_included() {
    let private = Private::new();
    for includes in [true, false] {
        let name = format!("include_{includes}");
        let numbers = private.builder::<Value>(&name);
        let _first = numbers.clone().publisher().unwrap();
        let mut own = DynamicPublisher::open(private.namespace(), &name).unwrap();
        let mut tool = DynamicSubscriber::open(private.namespace(), &name).unwrap();
        tool.ignore(&own);
        own.send(&Value::from(1)).unwrap();
        assert_eq!(tool.recv(), None);
        if includes {
            tool.include(&own).unwrap();
            own.send(&Value::from(2)).unwrap();
            assert_eq!(tool.recv(), Some(Value::from(2)));
        }
        drop(own);
        numbers.publisher().unwrap().send(&Value::from(3)).unwrap();
        assert_eq!(tool.recv(), includes.then(|| Value::from(3)), "{includes}");
        assert_eq!(tool.lost(), 0);
    }
}

/// The schema text of every standard message is enough to decode and encode its bytes.
#[test]
fn every_standard_message_describes_itself() {
    for standard in STANDARD {
        let layout = Schema::parse(&standard.text()).unwrap().layout().unwrap();
        let bytes: Vec<_> = (0..standard.size)
            .map(|index| (index % 127) as u8)
            .collect();
        let value = layout.decode(&bytes).unwrap();
        assert_eq!(layout.encode(&value).unwrap(), bytes, "{}", standard.name);
    }
    assert_eq!(
        STANDARD
            .iter()
            .filter(|schema| schema.tail.is_some())
            .count(),
        14
    );
    assert_ne!(Tensor::SCHEMA.hash(), CmdVel::HASH);
}

/// A tool knows the lane and number of each message, whichever call received it.
#[test]
fn messages_have_a_lane_and_a_number() {
    let private = Private::new();
    let mut first = private.builder::<CmdVel>("c").publisher().unwrap();
    let mut second = private.builder::<CmdVel>("c").publisher().unwrap();
    let mut tools = [
        DynamicSubscriber::open(private.namespace(), "c").unwrap(),
        DynamicSubscriber::observe(private.namespace(), "c").unwrap(),
    ];
    let place = |tool: &DynamicSubscriber| {
        let last = tool.last_arrival().unwrap();
        (last.lane, last.number, last.claims)
    };
    let message = |time| CmdVel {
        timestamp_ns: time,
        ..CmdVel::default()
    };
    for tool in &tools {
        assert_eq!(tool.last_arrival(), None, "nothing received yet");
    }
    for time in 1..=2 {
        first.send(message(time)).unwrap();
    }
    second.send(message(9)).unwrap();
    for tool in &mut tools {
        let mut found: Vec<_> = (0..3)
            .map(|_| {
                let bytes = tool.recv_bytes().unwrap().to_vec();
                (bytes[0], place(tool))
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found, [(1, (0, 1, 1)), (2, (0, 2, 1)), (9, (1, 1, 1))]);
        let last = tool.last_arrival();
        assert_eq!(tool.recv(), None);
        assert_eq!(
            tool.last_arrival(),
            last,
            "nothing changes it but a message"
        );
    }
    // The next owner of a lane goes on counting.
    drop(first);
    let mut third = private.builder::<CmdVel>("c").publisher().unwrap();
    second.send(message(20)).unwrap();
    third.send(message(21)).unwrap();
    for tool in &mut tools {
        assert!(tool.latest_bytes().is_some());
        assert_eq!(place(tool), (0, 3, 2), "the newest message");
    }
    // A lane that is ignored has no last message.
    let mut own = DynamicPublisher::open(private.namespace(), "c").unwrap();
    let mut tool = DynamicSubscriber::open(private.namespace(), "c").unwrap();
    own.send_bytes(bytemuck::bytes_of(&message(30))).unwrap();
    assert!(tool.recv().is_some());
    assert_eq!(place(&tool), (2, 1, 1));
    tool.ignore(&own);
    assert_eq!(tool.last_arrival(), None);
    second.send(message(31)).unwrap();
    assert!(tool.recv().is_some());
    assert_eq!(place(&tool), (1, 3, 1));
}

/// In any order of creation, the text of a schema is the same type as the message in Rust.
#[test]
fn byte_endpoints_match_messages_with_data() {
    let private = Private::new();
    let kind = DynamicType::parse(&Image::SCHEMA.text()).unwrap();
    for (name, text_first) in [("text", true), ("rust", false)] {
        let images = || private.builder::<Image>(name).topic().unwrap();
        let opened = (!text_first).then(images);
        let builder = kind.builder(name).namespace(private.namespace());
        let mut publisher = builder.publisher().unwrap();
        let mut images = opened.unwrap_or_else(images);
        let header = ImageHeader::new(3, 2, Encoding::MONO8);
        let message = [bytemuck::bytes_of(&header), &[1, 2, 3, 4, 5, 6]].concat();
        publisher.send_bytes(&message).unwrap();
        let image = images.recv().unwrap();
        assert_eq!(
            (image.header(), image.data()),
            (&header, &[1, 2, 3, 4, 5, 6][..])
        );
    }
}
