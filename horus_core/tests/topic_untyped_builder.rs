//! Untyped endpoints whose type is known only at run time: created, lent, borrowed, waited for.

use horus_testing as _;

mod private;

use std::time::Duration;

use horus_core::message::Image;
use horus_core::prelude::*;
use horus_core::topic::{DynamicBuilder, DynamicType, Reason};
use horus_core::{LoanError, OpenError, PublishLentError, RecvTimeoutError};
use private::Private;

fn builder(private: &Private, topic: &str) -> DynamicBuilder {
    DynamicBuilder::for_existing_topic(topic).namespace(private.namespace())
}

fn is_not_found(error: &TopicError) -> bool {
    matches!(error.as_open_error(), Some(OpenError::NotFound { .. }))
}

#[test]
fn a_type_of_a_schema_is_that_of_the_rust_type() {
    assert_eq!(
        DynamicType::parse(&Imu::SCHEMA.text()).unwrap(),
        DynamicType::of::<Imu>()
    );
    let text = Image::<horus_core::message::Buffer>::SCHEMA.text();
    let image = DynamicType::parse(&text).unwrap();
    let private = Private::new();
    let _rust = private.builder::<Image>("image").topic().unwrap();
    assert!(
        image
            .builder("image")
            .namespace(private.namespace())
            .subscriber()
            .is_ok()
    );
    assert!(DynamicType::parse("horus schema 1\n").is_err());
}

#[test]
fn untyped_endpoints_create_a_topic_for_typed_ones() {
    let private = Private::new();
    let open = || builder(&private, "cmd_vel");
    assert!(is_not_found(&open().publisher().unwrap_err()));
    assert!(is_not_found(&open().subscriber().unwrap_err()));
    let cmd_vel = DynamicType::parse(&CmdVel::SCHEMA.text()).unwrap();
    let mut publisher = cmd_vel
        .builder("cmd_vel")
        .namespace(private.namespace())
        .publisher()
        .unwrap();
    let mut typed = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    let mut untyped = open().subscriber().unwrap();
    let message = CmdVel {
        timestamp_ns: 7,
        linear: 0.5,
        angular: 0.25,
    };
    publisher.send_bytes(bytemuck::bytes_of(&message)).unwrap();
    assert_eq!(typed.recv(), Some(message));
    let mut buffer = [0; 16];
    assert_eq!(untyped.recv_into(&mut buffer), Some(16));
    let error = DynamicType::of::<Imu>()
        .builder("cmd_vel")
        .namespace(private.namespace())
        .qos(Qos::new().strict(true))
        .publisher()
        .unwrap_err();
    assert!(
        matches!(error, TopicError::SchemaMismatch { .. }),
        "{error}"
    );
}

#[test]
fn the_newest_of_several_publishers_has_the_latest_time() {
    let private = Private::new();
    let mut old = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    let mut new = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    let mut untyped = builder(&private, "cmd_vel").subscriber().unwrap();
    for (publisher, timestamp_ns) in [(&mut new, 9), (&mut old, 5)] {
        publisher
            .send(CmdVel {
                timestamp_ns,
                linear: 0.0,
                angular: 0.0,
            })
            .unwrap();
    }
    assert_eq!(untyped.latest_bytes().unwrap()[..8], 9_u64.to_ne_bytes());
    assert_eq!(untyped.latest_bytes(), None);
}

#[test]
fn a_lent_slot_is_published_once_in_place() {
    let private = Private::new();
    let open = || {
        DynamicType::bytes()
            .builder("bytes")
            .namespace(private.namespace())
    };
    let mut publisher = open().max_message_bytes(1 << 20).publisher().unwrap();
    let mut subscriber = open().subscriber().unwrap();
    assert!(matches!(
        publisher.publish_lent(0),
        Err(PublishLentError::Loan(LoanError::Ended { .. }))
    ));
    let slot = publisher.lend().unwrap();
    assert_eq!(slot.len(), 1 << 20);
    assert!(matches!(
        publisher.publish_lent(slot.len() + 1),
        Err(PublishLentError::Send(_))
    ));
    publisher.publish_lent(3).unwrap();
    let sample = subscriber.borrow().unwrap().unwrap();
    assert_eq!((sample.bytes(), sample.bytes().len()), (&[0; 3][..], 3));
    assert!(matches!(
        publisher.publish_lent(3),
        Err(PublishLentError::Loan(LoanError::Ended { .. }))
    ));

    // Another send ends the loan, and so does the drop of the publisher.
    publisher.lend().unwrap();
    publisher.send_bytes(b"abc").unwrap();
    assert!(matches!(
        publisher.publish_lent(3),
        Err(PublishLentError::Loan(LoanError::Ended { .. }))
    ));
    publisher.lend().unwrap();
    assert!(publisher.discard_lent() && !publisher.discard_lent());
    assert!(matches!(
        publisher.publish_lent(3),
        Err(PublishLentError::Loan(LoanError::Ended { .. }))
    ));
    assert_eq!(subscriber.recv_bytes().unwrap(), b"abc");
    assert!(subscriber.borrow_latest().unwrap().is_none());
}

#[test]
fn untyped_endpoints_wait_as_typed_ones() {
    let private = Private::new();
    let open = || {
        DynamicType::bytes()
            .builder("bytes")
            .namespace(private.namespace())
    };
    let mut publisher = open().publisher().unwrap();
    let mut subscriber = open().subscriber().unwrap();
    let mut buffer = [0; 8];
    let waited = subscriber.recv_into_timeout(&mut buffer, Duration::ZERO);
    assert_eq!(
        waited,
        Err(RecvTimeoutError::Timeout {
            topic: subscriber.label(),
            has_publisher: true,
        })
    );
    let mut set = WaitSet::new();
    let key = set.add(&subscriber).unwrap();
    publisher
        .send_bytes_timeout(b"abc", Duration::ZERO)
        .unwrap();
    let ready = set.wait_blocking().unwrap();
    assert_eq!((ready[0].key, ready[0].reason), (key, Reason::Message));
    assert_eq!(horus_core::topic::Key::from_u64(key.to_u64()), key);
    let waited = subscriber.recv_into_timeout(&mut buffer, Duration::MAX);
    assert_eq!((waited, &buffer[..3]), (Ok(3), &b"abc"[..]));
}

#[test]
fn a_publisher_of_an_existing_topic_begins_with_the_slots_of_the_type() {
    let private = Private::new();
    for (topic, message_type) in [("raw", DynamicType::bytes()), ("camera", image_type())] {
        let open = || message_type.builder(topic).namespace(private.namespace());
        let mut first = open().publisher().unwrap();
        let before = first.slot_bytes();
        first.reserve(4 * before).unwrap();
        assert!(first.slot_bytes() >= 4 * before);
        let mut tool = builder(&private, topic).publisher().unwrap();
        assert_eq!(tool.slot_bytes(), before, "{topic}");
        tool.reserve(2 * before).unwrap();
        assert!(tool.slot_bytes() >= 2 * before);
    }
}

/// The type of the publishers is not the one with which the topic was created.
#[test]
fn a_publisher_of_another_type_than_the_first_begins_with_small_slots() {
    let private = Private::new();
    let open = |message_type: DynamicType| {
        let builder = message_type.builder("mixed");
        builder.namespace(private.namespace()).publisher().unwrap()
    };
    let first = open(image_type());
    let mut second = open(DynamicType::bytes());
    let before = second.slot_bytes();
    drop(first);
    second.reserve(4 * before).unwrap();
    let tool = builder(&private, "mixed").publisher().unwrap();
    assert_eq!(tool.slot_bytes(), before);
}

fn image_type() -> DynamicType {
    DynamicType::of::<Image>()
}
