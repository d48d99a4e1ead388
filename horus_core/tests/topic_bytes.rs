//! Byte endpoints: waiting for a borrowed message, lent slots, and refused messages.

use horus_testing as _;

mod private;

use std::time::{Duration, Instant};

use horus_core::LoanError;
use horus_core::prelude::*;
use horus_core::topic::DynamicType;
use private::Private;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_refused_message_counts_as_malformed() {
    let private = Private::new();
    let kind = DynamicType::of::<Value>();
    let builder = || kind.builder("any").namespace(private.namespace());
    let (mut publisher, mut subscriber) = builder().ends().unwrap();
    let mut values: Subscriber<Value> = private.subscriber("any", Qos::new());
    for message in [&b"\xc1"[..], b"\x07"] {
        publisher.send_bytes(message).unwrap();
    }
    let mut buffer = [0; 64];
    assert_eq!(subscriber.recv_into(&mut buffer), Some(1));
    subscriber.refuse();
    assert_eq!(subscriber.recv_into(&mut buffer), Some(1));
    assert_eq!(values.recv(), Some(Value::from(7)));
    // The typed endpoint, which decodes by itself, has the same counts.
    assert_eq!(subscriber.stats(), values.stats());
    let stats = subscriber.stats();
    assert_eq!((stats.received, stats.malformed, stats.sent), (1, 1, 2));
}

#[test]
fn borrowing_waits_for_a_message() {
    let private = Private::new();
    let builder = || {
        DynamicType::of::<Value>()
            .builder("any")
            .namespace(private.namespace())
    };
    let (mut publisher, mut subscriber) = builder().ends().unwrap();
    let begin = Instant::now();
    let wait = Duration::from_millis(20);
    assert!(subscriber.borrow_timeout(wait).unwrap().is_none());
    assert!(begin.elapsed() >= wait);
    let thread = std::thread::spawn(move || {
        let sample = subscriber
            .borrow_timeout(LONG)
            .unwrap()
            .expect("a message is sent");
        (sample.bytes().to_vec(), sample.sequence())
    });
    publisher.send_bytes(b"\xa3now").unwrap();
    assert_eq!(thread.join().unwrap(), (b"\xa3now".to_vec(), 1));
}

#[test]
fn a_lent_slot_stays_mapped_and_is_published_once() {
    let private = Private::new();
    let builder = || {
        DynamicType::of::<Value>()
            .builder("any")
            .namespace(private.namespace())
    };
    let (mut publisher, mut subscriber) = builder().ends().unwrap();
    let max = publisher.slot_bytes();
    let lent = publisher.lend().unwrap();
    let _memory = publisher.lent_memory();
    assert_eq!(lent.len(), max);
    // SAFETY: no other code writes the lent slot, and `_memory` keeps it mapped.
    unsafe { lent.cast::<[u8; 2]>().write(*b"\xa1x") };
    let topic = publisher.label();
    let bytes = max as u64 + 1;
    let message = ();
    let too_long = SendError::TooLong {
        topic,
        message,
        bytes,
        max: max as u64,
    };
    assert_eq!(publisher.publish_lent(max + 1), Err(too_long.into()));
    publisher.publish_lent(2).unwrap();
    assert_eq!(
        publisher.publish_lent(2),
        Err(LoanError::Ended { topic }.into())
    );
    let sample = subscriber.borrow().unwrap().expect("it was published");
    assert_eq!(sample.bytes(), b"\xa1x");

    let second = publisher.lend().unwrap();
    assert_ne!(second, lent);
    assert!(publisher.discard_lent());
    publisher.send_bytes(b"\xc0").unwrap();
    assert_eq!(
        publisher.publish_lent(1),
        Err(LoanError::Ended { topic }.into())
    );
    drop((publisher, subscriber));
    // SAFETY: `sample` pins the message, and `_memory` keeps it mapped.
    assert_eq!(unsafe { lent.cast::<u8>().read() }, 0xa1);
}
