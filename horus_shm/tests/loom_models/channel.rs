//! Channels between threads: the ticket ring, and the last messages before a channel disconnects.

use std::rc::Rc;

use horus_shm::internals::endpoint_counts::{Disconnected, EndpointCounts};
use horus_shm::internals::lane::PollOutcome;
use loom::thread;

use crate::loom_memory::ends::{Consumer, Producer, messages};
use crate::loom_memory::mutation::explore;
use crate::loom_memory::tickets::LoomTickets;
use crate::loom_memory::{CopyOptions, LoomLane, LoomWord};

/// Slots and capacity: as many values as slots, and fewer.
const RINGS: [(u64, u64); 3] = [(1, 1), (2, 1), (2, 2)];

/// Receives as `try_recv` of a channel: a value, none yet, or an error if no more can come.
fn receive<R>(
    ends: &EndpointCounts<LoomWord>,
    mut look: impl FnMut() -> Option<R>,
) -> Result<Option<R>, Disconnected> {
    let found = look();
    if found.is_some() {
        Ok(found)
    } else {
        ends.recheck_before_disconnect(look)
    }
}

fn ends(senders: u64) -> Rc<EndpointCounts<LoomWord>> {
    Rc::new(EndpointCounts::new(
        LoomWord::new(senders),
        LoomWord::new(1),
    ))
}

/// Every accepted value is received once, whole, and in the order of its sender.
pub(crate) fn a_ticket_is_received_once() {
    for (slots, capacity) in RINGS {
        explore(2, move || {
            let ring = LoomTickets::new(slots, capacity);
            let sending = [10, 20].map(|first| {
                let ring = ring.clone();
                thread::spawn(move || {
                    let values = [first, first + 1];
                    values
                        .into_iter()
                        .filter(|&value| ring.push(value).is_ok())
                        .collect::<Vec<_>>()
                })
            });
            let mut received: Vec<_> = (0..2).filter_map(|_| ring.pop()).collect();
            let sent = sending.map(|sending| sending.join().unwrap());
            received.extend(std::iter::from_fn(|| ring.pop()));
            for (sent, first) in sent.iter().zip([10, 20]) {
                let theirs = received.iter().filter(|&&value| value / 10 * 10 == first);
                assert_eq!(&theirs.copied().collect::<Vec<_>>(), sent);
            }
            assert_eq!(received.len(), sent.iter().map(Vec::len).sum());
        });
    }
}

/// A full ring refuses, and accepts as many values again as were received.
pub(crate) fn a_ticket_ring_holds_its_capacity() {
    for (slots, capacity) in RINGS {
        explore(3, move || {
            let ring = LoomTickets::new(slots, capacity);
            for value in 0..capacity {
                assert_eq!(ring.push(value), Ok(()));
            }
            let theirs = ring.clone();
            let sending = thread::spawn(move || (0..2).filter(|_| theirs.push(9).is_ok()).count());
            let early = (0..2).filter_map(|_| ring.pop()).count();
            let sent = capacity as usize + sending.join().unwrap();
            assert!(sent <= capacity as usize + early, "more than fits");
            let late = std::iter::from_fn(|| ring.pop()).count();
            assert_eq!(early + late, sent);
            for value in 0..capacity {
                assert_eq!(ring.push(value), Ok(()));
            }
            assert_eq!(ring.push(9), Err(9));
        });
    }
}

/// Values received in runs come once and in order, and all of their slots are given back.
pub(crate) fn a_run_of_tickets_gives_its_slots_back() {
    for ((slots, capacity), step) in [((2, 1), 1), ((2, 2), 2), ((4, 3), 2)] {
        explore(2, move || {
            let ring = LoomTickets::new(slots, capacity);
            let theirs = ring.clone();
            let sending = thread::spawn(move || {
                (1..=3)
                    .filter(|&value| theirs.push(value).is_ok())
                    .collect::<Vec<_>>()
            });
            let mut received = ring.drain(step);
            received.extend(ring.drain(step));
            let sent = sending.join().unwrap();
            received.extend(ring.drain(step));
            assert_eq!(received, sent);
            for value in 0..capacity {
                assert_eq!(ring.push(value), Ok(()));
            }
            assert_eq!(ring.push(9), Err(9));
        });
    }
}

/// A receiver that finds that the last sender of a ring left has received all sent values.
pub(crate) fn a_disconnected_ring_is_empty() {
    explore(2, || {
        let ring = LoomTickets::new(2, 2);
        let ends = ends(2);
        let sending = [1, 2].map(|value| {
            let ring = ring.clone();
            let ends = Rc::clone(&ends);
            thread::spawn(move || {
                ring.push(value).unwrap();
                ends.remove_sender();
            })
        });
        let mut received = 0;
        for _ in 0..3 {
            match receive(&ends, || ring.pop()) {
                Ok(found) => received += found.map_or(0, |_| 1),
                Err(Disconnected) => assert_eq!(received, 2),
            }
        }
        sending
            .into_iter()
            .for_each(|sending| sending.join().unwrap());
        received += std::iter::from_fn(|| ring.pop()).count();
        assert_eq!(received, 2);
    });
}

/// A receiver that finds that the sender of a lane left has received all sent messages.
pub(crate) fn a_disconnected_lane_is_empty() {
    explore(3, || {
        let lane = LoomLane::new(2, 1, CopyOptions::Exclusive, 1);
        let ends = ends(1);
        let mut consumer = Consumer::join(&lane, 0);
        let mut producer = Producer::first(&lane, 1);
        let theirs = Rc::clone(&ends);
        let sending = thread::spawn(move || {
            producer.send_all(2);
            theirs.remove_sender();
        });
        for _ in 0..3 {
            let look = || (consumer.poll() == PollOutcome::Message).then_some(());
            if receive(&ends, look) == Err(Disconnected) {
                assert_eq!(consumer.delivered, messages(1, 0..2));
            }
        }
        sending.join().unwrap();
        consumer.finish(2);
    });
}

/// A sender made by another one keeps the channel connected when that one leaves.
pub(crate) fn a_channel_with_a_new_sender_is_not_disconnected() {
    explore(3, || {
        let ring = LoomTickets::new(1, 1);
        let ends = ends(1);
        let theirs = ring.clone();
        let seat = Rc::clone(&ends);
        let sending = thread::spawn(move || {
            seat.add_sender();
            seat.remove_sender();
            theirs.push(1).unwrap();
            seat.remove_sender();
        });
        let mut received = 0;
        for _ in 0..2 {
            match receive(&ends, || ring.pop()) {
                Ok(found) => received += found.map_or(0, |_| 1),
                Err(Disconnected) => assert_eq!(received, 1),
            }
        }
        sending.join().unwrap();
    });
}
