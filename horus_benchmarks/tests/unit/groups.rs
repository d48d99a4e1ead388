//! Several endpoints act as one.

use horus_benchmarks::measure::endpoint::Endpoint;
use horus_benchmarks::measure::payload::Payload;
use horus_benchmarks::transport::endpoints::LatestValueConsumer;
use horus_benchmarks::transport::groups::*;
use horus_benchmarks::transport::packet::Packet16;
use horus_shm::{FanoutShm, MpscShm, PodShm, RingOptions};

#[test]
fn ends_in_turn_use_every_lane_and_wait_for_a_full_one() {
    let ring = MpscShm::<Packet16>::heap(&RingOptions::capacity(4)).unwrap();
    let mut consumer = ring.consumer().unwrap();
    let mut out = AlternatingSenders::new([ring.producer().unwrap(), ring.producer().unwrap()]);
    let sent = (1..20)
        .take_while(|&seq| out.send(&Packet16::compose(seq)))
        .count();
    assert_eq!(sent, 8);
    let mut message = Packet16::compose(0);
    assert!(Endpoint::recv(&mut consumer, &mut message) && out.send(&message));
}

#[test]
fn a_message_has_arrived_when_both_ends_have_it_whole() {
    let ring = FanoutShm::<Packet16>::heap(&RingOptions::capacity(8)).unwrap();
    let mut both = BroadcastPair::new([ring.consumer().unwrap(), ring.consumer().unwrap()]);
    let mut out = ring.producer().unwrap();
    let mut message = Packet16::compose(0);
    assert!(!both.recv(&mut message));
    for seq in 1..20 {
        assert!(Endpoint::send(&mut out, &Packet16::compose(seq)));
        assert!(both.recv(&mut message) && !both.recv(&mut Packet16::compose(0)));
        assert_eq!(
            (message.verify(seq), both.verify_extra_copies(seq)),
            (Ok(()), Ok(()))
        );
    }
    let other = FanoutShm::<Packet16>::heap(&RingOptions::capacity(8)).unwrap();
    let mut both = BroadcastPair::new([other.consumer().unwrap(), ring.consumer().unwrap()]);
    let mut corrupt = Packet16::compose(20);
    corrupt.words[1] ^= 1;
    assert!(Endpoint::send(&mut other.producer().unwrap(), &corrupt));
    assert!(Endpoint::send(&mut out, &Packet16::compose(20)) && both.recv(&mut message));
    assert!(message.verify(20).is_ok() && both.verify_extra_copies(20).is_err());
}

#[test]
fn the_latest_message_passes_over_the_ones_before() {
    let ring = PodShm::<Packet16>::heap(&RingOptions::default()).unwrap();
    let mut out = ring.producer().unwrap();
    let mut back = LatestValueConsumer(ring.consumer().unwrap());
    for seq in 1..=3 {
        assert!(Endpoint::send(&mut out, &Packet16::compose(seq)));
    }
    let mut message = Packet16::compose(0);
    assert!(back.recv(&mut message) && !back.recv(&mut Packet16::compose(0)));
    assert_eq!((message.verify(3), back.lost_messages()), (Ok(()), 2));
}
