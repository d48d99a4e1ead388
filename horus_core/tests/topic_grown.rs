//! Messages that grow: programs with an old version of a message and with a later one, which has
//! more fields, receive from each other.

use horus_testing as _;

mod private;

use horus_core::message::{
    BatteryState, CmdVel, ImageHeader, Message as _, Quaternion, Zeroable as _,
};
use horus_core::topic::{DynamicType, Publisher, Qos, Reliability, Subscriber};
use horus_core::{Mismatch, RecvError};
use private::Private;

mod v1 {
    horus_core::message! {
        /// A message of an old program.
        pub struct Status {
            pub timestamp_ns: u64,
            pub volts: f32,
            pub _reserved: [u8; 4],
        }
    }
}

mod v2 {
    horus_core::message! {
        /// The message with two fields more, one of them in place of padding.
        pub struct Status {
            pub timestamp_ns: u64,
            pub volts: f32,
            pub amperes: f32,
            pub gain: f64,
        }
    }
}

mod defaults {
    horus_core::message! {
        /// The second version in a program that says which values an old program has in mind.
        pub struct Status {
            pub timestamp_ns: u64 = 99,
            pub volts: f32,
            pub amperes: f32 = 1.5,
            pub gain: f64 = 1.0,
        }
    }
}

mod nested {
    use horus_core::message::Quaternion;

    horus_core::message! {
        pub struct Gains {
            pub p: f64 = 2.0,
            pub i: f64,
        }
    }

    horus_core::message! {
        pub struct Motor {
            pub gains: [Gains; 2],
            pub mount: Quaternion,
        }
    }

    horus_core::message! {
        /// A later version whose new fields are messages.
        pub struct Status {
            pub timestamp_ns: u64,
            pub volts: f32,
            pub amperes: f32 = 1.5,
            pub attitude: Quaternion,
            pub grid: [[Motor; 1]; 2],
            pub gains: Gains = Gains { p: 0.0, i: 4.0 },
        }
    }
}

mod v3 {
    horus_core::message! {
        /// The message with one more field, of more than 4 KiB: it is borrowed in its slot.
        pub struct Status {
            pub timestamp_ns: u64,
            pub volts: f32,
            pub amperes: f32,
            pub gain: f64,
            pub cells: [f64; 600],
        }
    }
}

mod other {
    horus_core::message! {
        /// The old message with another field behind it.
        pub struct Status {
            pub timestamp_ns: u64,
            pub volts: f32,
            pub ohms: f32,
        }
    }
}

fn old(number: u64) -> v1::Status {
    v1::Status {
        timestamp_ns: number,
        volts: 12.5,
        _reserved: [7; 4],
    }
}

fn new(number: u64) -> v2::Status {
    v2::Status {
        timestamp_ns: number,
        volts: 24.0,
        amperes: 3.0,
        gain: 0.5,
    }
}

fn newest(number: u64) -> v3::Status {
    v3::Status {
        timestamp_ns: number,
        volts: 48.0,
        amperes: 4.0,
        gain: 0.25,
        cells: [1.5; 600],
    }
}

/// A later version gets its defaults behind what came, and an old one gets the beginning.
#[test]
fn old_and_new_versions_receive_from_each_other() {
    let private = Private::new();
    let mut old_sub: Subscriber<v1::Status> = private.subscriber("t", Qos::new());
    let mut new_sub: Subscriber<v2::Status> = private.subscriber("t", Qos::new());
    let mut old_pub: Publisher<v1::Status> = private.publisher("t", Qos::new());
    let mut new_pub: Publisher<v2::Status> = private.publisher("t", Qos::new());
    for round in 1..=40 {
        old_pub.send(old(round)).unwrap();
        assert_eq!(old_sub.recv(), Some(old(round)));
        assert_eq!(old_sub.received_bytes(), 16);
        let filled = v2::Status {
            timestamp_ns: round,
            volts: 12.5,
            ..v2::Status::zeroed()
        };
        assert_eq!(new_sub.recv(), Some(filled));
        assert_eq!(new_sub.received_bytes(), 12, "to the end of `volts`");
        new_pub.send(new(round)).unwrap();
        let beginning = v1::Status {
            timestamp_ns: round,
            volts: 24.0,
            _reserved: [0; 4],
        };
        assert_eq!(old_sub.recv(), Some(beginning), "`amperes` is no padding");
        assert_eq!(old_sub.received_bytes(), 12);
        assert_eq!(new_sub.recv(), Some(new(round)));
        assert_eq!(new_sub.received_bytes(), 24);
    }
    for stats in [old_sub.stats(), new_sub.stats()] {
        assert_eq!((stats.received, stats.lost, stats.sent), (80, 0, 80));
    }
}

/// The defaults are those of the subscriber's message.
#[test]
fn a_message_says_the_values_of_missing_fields() {
    let private = Private::new();
    let mut subscriber: Subscriber<defaults::Status> = private.subscriber("t", Qos::new());
    let mut publisher: Publisher<v1::Status> = private.publisher("t", Qos::new());
    let filled = |number| defaults::Status {
        timestamp_ns: number,
        volts: 12.5,
        amperes: 1.5,
        gain: 1.0,
    };
    publisher.send(old(1)).unwrap();
    assert_eq!(subscriber.recv(), Some(filled(1)));
    for number in 2..=6 {
        publisher.send(old(number)).unwrap();
    }
    let mut into = filled(0);
    assert!(subscriber.recv_into(&mut into));
    assert_eq!(into, filled(2));
    let mut drained = Vec::new();
    assert_eq!(subscriber.drain(|message| drained.push(message)), 4);
    assert_eq!(drained, [3, 4, 5, 6].map(filled));
    publisher.send(old(7)).unwrap();
    publisher.send(old(8)).unwrap();
    assert_eq!(subscriber.latest(), Some(filled(8)));
}

/// Fields that are messages have the defaults of these, unless the outer message says others.
#[test]
fn missing_fields_that_are_messages_have_their_own_defaults() {
    let private = Private::new();
    let mut subscriber: Subscriber<nested::Status> = private.subscriber("t", Qos::new());
    let mut publisher: Publisher<v1::Status> = private.publisher("t", Qos::new());
    publisher.send(old(1)).unwrap();
    let gains = nested::Gains { p: 2.0, i: 0.0 };
    let motor = nested::Motor {
        gains: [gains; 2],
        mount: Quaternion::default(),
    };
    let wanted = nested::Status {
        timestamp_ns: 1,
        volts: 12.5,
        amperes: 1.5,
        attitude: Quaternion::default(),
        grid: [[motor]; 2],
        gains: nested::Gains { p: 0.0, i: 4.0 },
    };
    assert_eq!(wanted.attitude.w, 1.0);
    assert_eq!(subscriber.recv(), Some(wanted));
    assert_eq!(ImageHeader::defaults(), ImageHeader::default());
    assert_eq!(
        BatteryState::defaults().voltage.to_bits(),
        f32::NAN.to_bits()
    );
    assert_eq!(v2::Status::default_bytes(), None, "zeros take no memory");
    assert_eq!(CmdVel::default_bytes(), None, "zeros take no memory");
}

/// Shorter messages are borrowed as private copies, whether their lanes can be pinned or not.
#[test]
fn shorter_messages_can_be_borrowed() {
    for pinnable in [false, true] {
        let private = Private::new();
        let mut subscriber: Subscriber<v3::Status> = private.subscriber("t", Qos::new());
        let qos = Qos::new().pinnable(pinnable).capacity(64);
        let mut publisher: Publisher<v2::Status> = private.publisher("t", qos);
        let mut same: Publisher<v3::Status> = private.publisher("t", Qos::new().capacity(64));
        let filled = |number| v3::Status {
            timestamp_ns: number,
            volts: 24.0,
            amperes: 3.0,
            gain: 0.5,
            ..v3::Status::zeroed()
        };
        let mut samples = Vec::new();
        for number in 1..=3 {
            publisher.send(new(number)).unwrap();
            same.send(newest(number)).unwrap();
            samples.push(subscriber.borrow().unwrap().expect("a message"));
            samples.push(subscriber.borrow().unwrap().expect("a message"));
        }
        publisher.send(new(4)).unwrap();
        publisher.send(new(5)).unwrap();
        samples.push(subscriber.borrow_latest().unwrap().expect("a message"));
        publisher.send(new(6)).unwrap();
        assert!(subscriber.borrow().is_err(), "seven are held");
        // The slots are overwritten, the borrowed messages stay.
        for _ in 0..200 {
            publisher.send(new(0)).unwrap();
        }
        let mut numbers = Vec::new();
        for sample in &samples {
            let number = sample.timestamp_ns;
            numbers.push(number);
            assert!(**sample == filled(number) || **sample == newest(number));
        }
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 1, 2, 2, 3, 3, 5]);
        samples.remove(0);
        assert!(subscriber.borrow().unwrap().is_some());
        drop(subscriber);
        assert!(samples.iter().all(|sample| sample.volts > 0.0));
    }
}

/// A reliable publisher of one version waits for subscribers of another one.
#[test]
fn reliable_publishers_wait_for_other_versions() {
    let private = Private::new();
    let few = Qos::reliable().capacity(4);
    let mut old_pub: Publisher<v1::Status> = private.publisher("old", few);
    let mut new_sub: Subscriber<v2::Status> = private.subscriber("old", Qos::reliable());
    let mut new_pub: Publisher<v2::Status> = private.publisher("new", few);
    let mut old_sub: Subscriber<v1::Status> = private.subscriber("new", Qos::reliable());
    let sent = |sends: &mut dyn FnMut(u64) -> bool| (1..100).take_while(|n| sends(*n)).count();
    assert_eq!(sent(&mut |n| old_pub.send(old(n)).is_ok()), 4);
    assert_eq!(sent(&mut |n| new_pub.send(new(n)).is_ok()), 4);
    assert_eq!(new_sub.drain(|_| {}), 4);
    assert_eq!(old_sub.drain(|_| {}), 4);
    assert!(old_pub.send(old(5)).is_ok() && new_pub.send(new(5)).is_ok());
}

/// `strict_schema` of either endpoint demands the same version.
#[test]
fn a_strict_schema_demands_the_same_version() {
    for strict in [[false, true], [true, false], [true, true]] {
        let private = Private::new();
        let [at_pub, at_sub] = strict.map(|strict| Qos::new().strict_schema(strict));
        let mut old_sub: Subscriber<v1::Status> = private.subscriber("t", at_sub);
        let mut new_sub: Subscriber<v2::Status> = private.subscriber("t", at_sub);
        let mut publisher: Publisher<v1::Status> = private.publisher("t", at_pub);
        publisher.send(old(1)).unwrap();
        assert_eq!(old_sub.recv(), Some(old(1)));
        assert_eq!(new_sub.recv(), None);
        let verdict = new_sub.check();
        let Err(RecvError::Incompatible { cause, .. }) = verdict else {
            panic!("{strict:?}: {verdict:?}")
        };
        assert_eq!(cause, Mismatch::Type);
    }
}

/// Two versions that both match a third one need not match each other.
#[test]
fn versions_that_grew_apart_match_only_their_common_beginning() {
    let private = Private::new();
    let mut one: Subscriber<v2::Status> = private.subscriber("t", Qos::new());
    let mut other: Subscriber<other::Status> = private.subscriber("t", Qos::new());
    let mut publisher: Publisher<v2::Status> = private.publisher("t", Qos::new());
    publisher.send(new(1)).unwrap();
    assert_eq!(one.recv(), Some(new(1)));
    assert_eq!(other.recv(), None);
    assert!(other.check().is_err());
    let difference = other.schema_difference().expect("a difference");
    assert!(difference.to_string().contains("'ohms'"), "{difference}");
    let mut publisher: Publisher<v1::Status> = private.publisher("t", Qos::new());
    publisher.send(old(2)).unwrap();
    assert_eq!(one.recv().map(|status| status.timestamp_ns), Some(2));
    assert_eq!(other.recv().map(|status| status.timestamp_ns), Some(2));
    assert_eq!(other.check(), Ok(()));
}

/// A publisher of a later version takes over the lane of a former one, and what that left.
#[test]
fn a_later_version_takes_over_the_history_of_an_old_one() {
    let private = Private::new();
    let mut publisher: Publisher<v1::Status> = private.publisher("t", Qos::latched());
    publisher.send(old(1)).unwrap();
    drop(publisher);
    let mut subscriber: Subscriber<v2::Status> = private.subscriber("t", Qos::new());
    let received = subscriber.recv().expect("the history");
    assert_eq!((received.timestamp_ns, received.gain), (1, 0.0));
    let mut publisher: Publisher<v2::Status> = private.publisher("t", Qos::latched());
    publisher.send(new(2)).unwrap();
    assert_eq!(subscriber.recv(), Some(new(2)));
    let mut late: Subscriber<v1::Status> = private.subscriber("t", Qos::new());
    assert_eq!(late.recv().map(|status| status.volts), Some(24.0));
}

/// Endpoints whose type is known only at run time, as bindings have them, do the same.
#[test]
fn endpoints_without_a_rust_type_grow_too() {
    let private = Private::new();
    let dynamic = DynamicType::of::<v2::Status>();
    let parsed = DynamicType::parse(dynamic.schema_text()).unwrap();
    assert_eq!(parsed, dynamic, "the same versions");
    let builder = parsed.builder("t").namespace(private.namespace());
    let mut subscriber = builder.clone().subscriber().unwrap();
    let mut filled = builder.defaults(bytemuck::bytes_of(&new(0)));
    filled = filled.qos(Qos::new().reliability(Reliability::BestEffort));
    let mut filled = filled.subscriber().unwrap();
    let mut publisher: Publisher<v1::Status> = private.publisher("t", Qos::new());
    publisher.send(old(1)).unwrap();
    publisher.send(old(2)).unwrap();
    assert_eq!(subscriber.recv_bytes().map(<[u8]>::len), Some(24));
    assert_eq!(subscriber.received_bytes(), 12);
    let value = subscriber.recv().expect("a message").to_string();
    assert_eq!(
        value,
        r#"{"timestamp_ns": 2, "volts": 12.5, "amperes": 0.0, "gain": 0.0}"#
    );
    let mut buffer = [0xff; 20];
    assert_eq!(filled.recv_into(&mut buffer), Some(20), "it is cut");
    assert_eq!(filled.recv_length(), Some(24));
    assert_eq!(buffer[8..12], 12.5_f32.to_le_bytes());
    assert_eq!(buffer[12..16], 3.0_f32.to_le_bytes());
    assert_eq!(buffer[16..], 0.5_f64.to_le_bytes()[..4]);
}
