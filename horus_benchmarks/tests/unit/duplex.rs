//! One ring serves both directions, and each side verifies its own messages, too.

use std::thread;

use horus_benchmarks::measure::endpoint::Endpoint;
use horus_benchmarks::measure::payload::Payload;
use horus_benchmarks::measure::stream::StreamPlan;
use horus_benchmarks::measure::tsc::TickSource;
use horus_benchmarks::measure::wait::OtherEndWatch;
use horus_benchmarks::transport::duplex::*;
use horus_benchmarks::transport::packet::Packet16;
use horus_shm::{Consumer, FanoutShm, Producer, RingOptions};

type Sharing = DuplexEnd<Producer<Packet16>, Consumer<Packet16>, Packet16>;

/// Returns two sides that use the same ring.
fn sides() -> [Sharing; 2] {
    let ring = FanoutShm::<Packet16>::heap(&RingOptions::capacity(64)).unwrap();
    [true, false]
        .map(|first| DuplexEnd::new((ring.producer().unwrap(), ring.consumer().unwrap()), first))
}

#[test]
fn a_side_gets_the_others_messages_and_verifies_its_own() {
    let [mut near, mut far] = sides();
    let mut message = Packet16::compose(0);
    for seq in 1..10 {
        assert!(near.send(&Packet16::compose(seq)));
        assert!(!near.recv(&mut message), "that was its own");
        assert!(far.recv(&mut message) && far.send(&message));
        assert_eq!(
            (message.verify(seq), far.verify_extra_copies(seq)),
            (Ok(()), Ok(()))
        );
        assert!((0..2).any(|_| near.recv(&mut message)));
        assert_eq!(
            (message.verify(seq), near.verify_extra_copies(seq)),
            (Ok(()), Ok(()))
        );
    }
    assert!(near.verify_extra_copies(10).is_err(), "nothing was sent");
}

#[test]
fn both_sides_receive_what_both_sides_send() {
    let plan = StreamPlan {
        messages: 2000,
        first_seq: 1,
        producers: 2,
    };
    let watch = || OtherEndWatch::new(true, || false);
    let source = TickSource::detect();
    let [mut near, mut far] = sides();
    let far = thread::spawn(move || exchange_streams(&mut far, &plan, source, &watch()));
    let near = exchange_streams(&mut near, &plan, source, &watch()).unwrap();
    let far = far.join().unwrap().unwrap();
    assert_eq!((near.sent_messages(), far.sent_messages()), (2000, 2000));
}
