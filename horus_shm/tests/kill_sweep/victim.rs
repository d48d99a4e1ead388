//! The victim's process: opens a ring and makes one call, of which the sweep stops every step.

use std::hint::black_box;
use std::sync::Arc;

use horus_shm::{RawConsumer, ReadMode};

use super::{Call, DRAINED_MAX, SLEEPY, Small};
use crate::stream::{Account, Tagged};
use crate::tracer::ends::{CAPACITY, Kind, Ring};
use crate::tracer::survivors::{DRAIN_CALLS, VICTIM};
use crate::tracer::{be_traced, mark};

pub(crate) fn play<M: Tagged>(kind: Kind, call: Call, topic: &str) {
    let ring = Ring::<M>::open(kind, &crate::spawn::inherited_namespace(), topic);
    if call == Call::Join {
        join(&ring)
    } else if call.is_send() {
        send(&ring, call)
    } else {
        receive(&ring, call)
    }
}

/// Opens a receiver that never receives.
pub(crate) fn wait(kind: Kind, topic: &str) {
    crate::spawn::die_with_parent();
    let ring = Ring::<Small>::open(kind, &crate::spawn::inherited_namespace(), topic);
    let _receiver = ring.receiver().unwrap();
    crate::common::say("here");
    crate::common::park();
}

/// Opens a receiver that borrows a message and never gives it back.
pub(crate) fn hold<M: Tagged>(kind: Kind, topic: &str) {
    crate::spawn::die_with_parent();
    let ring = Ring::<M>::open(kind, &crate::spawn::inherited_namespace(), topic);
    let mut receiver = ring.receiver().unwrap();
    crate::common::say("here");
    let _sample = loop {
        if let Some(sample) = receiver.borrow() {
            break sample;
        }
    };
    crate::common::say("held");
    crate::common::park();
}

/// Opens a best-effort reader of a topic, and keeps it.
fn join<M: Tagged>(ring: &Ring<M>) {
    let segment = Arc::clone(ring.segment().unwrap());
    be_traced();
    mark();
    let _reader = black_box(RawConsumer::new(segment, ReadMode::KeepLast).unwrap());
    mark();
    crate::common::park();
}

/// Sends with a mark before the call, after the call, and so on; each round is one lap.
pub(crate) fn send<M: Tagged>(ring: &Ring<M>, call: Call) {
    let mut sender = ring.sender().unwrap();
    let mut numbers = 0..;
    let mut message = || M::new(VICTIM, numbers.next().unwrap());
    (0..call.warm()).for_each(|_| assert!(sender.send(&message())));
    be_traced();
    loop {
        let marked = message();
        mark();
        let sent = match call {
            Call::Lend => sender.lend(black_box(&marked)),
            Call::SendUntil => sender.send_until(SLEEPY, black_box(&marked)),
            _ => sender.send(black_box(&marked)),
        };
        mark();
        assert!(black_box(sent));
        (1..CAPACITY).for_each(|_| assert!(sender.send(&message())));
    }
}

/// Receives with marks at rest, before the call, after the call, and so on; prints what it has
/// received before each call.
pub(crate) fn receive<M: Tagged>(ring: &Ring<M>, call: Call) {
    let mut receiver = ring.receiver().unwrap();
    let mut account = Account::default();
    let mut drained = Vec::with_capacity(DRAINED_MAX);
    be_traced();
    loop {
        mark();
        for _ in 0..DRAIN_CALLS {
            let next = if call == Call::Latest {
                receiver.latest()
            } else {
                receiver.recv()
            };
            let Some(message) = next else { break };
            account.take(&message);
        }
        let stats = receiver.stats().unwrap_or_default();
        let sound = account.expect_sound(stats).and(match stats.waiting {
            0 => Ok(()),
            waiting => Err(format!("{waiting} left")),
        });
        let verdict = sound.err().unwrap_or_default();
        crate::common::say(format!(
            "{} {} {verdict}",
            stats.received,
            stats.lost + stats.skipped
        ));
        mark();
        let next = match call {
            Call::Latest => receiver.latest(),
            Call::Borrow => receiver.borrow().map(|sample| *sample),
            Call::Drain => {
                receiver.drain_into(black_box(&mut drained));
                None
            }
            Call::RecvUntil => receiver.recv_until(SLEEPY),
            _ => receiver.recv(),
        };
        mark();
        next.iter()
            .chain(&drained)
            .for_each(|message| account.take(message));
        drained.clear();
    }
}
