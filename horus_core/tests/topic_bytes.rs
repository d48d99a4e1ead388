//! Byte endpoints: waiting for a borrowed message, lent slots, and refused messages.

use horus_testing as _;

mod private;

use std::time::{Duration, Instant};

use horus_core::LoanError;
use horus_core::message::{NavPath, Zeroable};
use horus_core::prelude::*;
use horus_core::topic::{DynamicSubscriber, DynamicType};
use private::Private;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_refused_message_counts_as_malformed() {
    let private = Private::new();
    let kind = DynamicType::of::<Value>();
    let builder = || kind.builder("any").namespace(private.namespace());
    let (mut publisher, mut subscriber) = builder().endpoints().unwrap();
    let mut values: Subscriber<Value> = private.subscriber("any", Qos::new());
    for message in [&b"\xc1"[..], b"\x07"] {
        publisher.send_bytes(message).unwrap();
    }
    let mut buffer = [0; 64];
    assert_eq!(subscriber.recv_into(&mut buffer), Some(1));
    subscriber.count_malformed();
    assert_eq!(subscriber.recv_into(&mut buffer), Some(1));
    assert_eq!(values.recv(), Some(Value::from(7)));
    // The typed endpoint, which decodes by itself, has the same counts.
    assert_eq!(subscriber.stats(), values.stats());
    let stats = subscriber.stats();
    assert_eq!((stats.received, stats.malformed, stats.sent), (1, 1, 2));
}

/// The first message that is longer than the slots so far.
#[test]
fn a_buffer_that_is_long_enough_receives_a_whole_message() {
    const BYTES: usize = 100_000;
    type Way = fn(&mut DynamicSubscriber, &mut [Vec<u8>; 2]) -> Option<usize>;
    let private = Private::new();
    let kind = DynamicType::of::<Value>();
    let builder = || kind.builder("any").namespace(private.namespace());
    let mut buffers = [vec![0; 1 << 20], vec![0; 1 << 20]];
    let ways: [Way; 3] = [
        |subscriber, [buffer, _]| subscriber.recv_into(buffer),
        |subscriber, [buffer, _]| subscriber.recv_into_timeout(buffer, LONG).ok(),
        |subscriber, [buffer, other]| Some(subscriber.latest_into([buffer, other])?.1),
    ];
    for (way, receive) in ways.into_iter().enumerate() {
        let (mut publisher, mut subscriber) = builder().endpoints().unwrap();
        assert!(subscriber.max_message_bytes() < BYTES, "way {way}");
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                // WHY: the call that waits has begun then.
                std::thread::sleep(Duration::from_millis(50));
                publisher.send_bytes(&[7; BYTES]).unwrap();
            });
            if way != 1 {
                sending.join().unwrap();
            }
            let received = receive(&mut subscriber, &mut buffers);
            assert_eq!(received, Some(BYTES), "way {way}");
        });
    }
}

#[test]
fn borrowing_waits_for_a_message() {
    let private = Private::new();
    let builder = || {
        DynamicType::of::<Value>()
            .builder("any")
            .namespace(private.namespace())
    };
    let (mut publisher, mut subscriber) = builder().endpoints().unwrap();
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
    let (mut publisher, mut subscriber) = builder().endpoints().unwrap();
    let max = publisher.slot_bytes();
    let lent = publisher.lend().unwrap();
    let _memory = publisher.lent_memory();
    assert_eq!(lent.len(), max);
    // SAFETY: no other code writes the lent slot, and `_memory` keeps it mapped.
    unsafe { lent.cast::<[u8; 2]>().write(*b"\xa1x") };
    let topic = publisher.label();
    let bytes = max as u64 + 1;
    let too_short = LoanError::SlotTooShort {
        topic,
        bytes,
        slot_bytes: max as u64,
    };
    assert_eq!(publisher.publish_lent(max + 1), Err(too_short.into()));
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

/// A tool that counts bytes learns the length of each message and copies none of it.
#[test]
fn lengths_are_received_without_the_messages() {
    let private = Private::new();
    let kind = DynamicType::of::<Value>();
    let builder = || kind.builder("any").namespace(private.namespace());
    let (mut publisher, mut subscriber) = builder().endpoints().unwrap();
    let mut tools = [
        builder().subscriber().unwrap(),
        builder().observer().unwrap(),
    ];
    let (mut buffer, mut sent) = ([0; 8], Vec::new());
    // The last one needs longer slots.
    for length in [1, 0, 7, 8, 300, 70_000, 200_000, 3] {
        publisher.send_bytes(&vec![1; length]).unwrap();
        for tool in &mut tools {
            assert_eq!(tool.recv_length(), Some(length));
            assert_eq!(tool.recv_length(), None);
        }
        sent.push(length);
        // A buffer that is too short gets the beginning.
        assert_eq!(subscriber.recv_into(&mut buffer), Some(length.min(8)));
    }
    let stats = tools[0].stats();
    assert_eq!((stats.received, stats.lost), (sent.len() as u64, 0));
    assert_eq!(stats, subscriber.stats());
    for message in 0..5000 {
        publisher.send_bytes(&vec![1; message % 50]).unwrap();
    }
    for tool in &mut tools {
        let lengths: Vec<_> = std::iter::from_fn(|| tool.recv_length()).collect();
        let kept = lengths.len();
        assert!(
            kept > 0
                && lengths
                    .iter()
                    .copied()
                    .eq((5000 - kept..5000).map(|m| m % 50))
        );
        let stats = tool.stats();
        assert_eq!(stats.received + stats.lost, stats.sent);
    }
}

/// Messages of a type with one size have that length, in place or not.
#[test]
fn messages_of_one_size_have_that_length() {
    let private = Private::new();
    let mut small = private.publisher::<CmdVel>("small", Qos::new());
    let mut large = private.publisher::<NavPath>("large", Qos::new());
    let observe = |name| DynamicSubscriber::observe(private.namespace(), name).unwrap();
    let mut tools = [observe("small"), observe("large")];
    for _ in 0..3 {
        small.send(CmdVel::default()).unwrap();
        large.send(&NavPath::zeroed()).unwrap();
        let lengths = tools.each_mut().map(DynamicSubscriber::recv_length);
        let sizes = [size_of::<CmdVel>(), size_of::<NavPath>()];
        assert_eq!(lengths, sizes.map(Some));
    }
    assert!(size_of::<NavPath>() >= 4096, "it is read in place");
    assert_eq!(tools[0].recv_length(), None);
    drop(small);
    assert_eq!(tools[0].stats().received, 3);
}
