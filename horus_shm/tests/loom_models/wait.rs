//! Waiting: no wake is lost, in any interleaving.

use std::rc::Rc;

use horus_shm::internals::sync::Word;
use horus_shm::internals::wait::{SLEEP_MAX, SleeperKind, has_sleepers, sleep_once, wake};
use loom::thread;

use crate::loom_memory::LoomWord;
use crate::loom_memory::mutation::explore;
use crate::loom_memory::sleepers::LoomEvent;

fn send(messages: &LoomWord, event: &LoomEvent) {
    // WHY Relaxed: only the eventcount's fences may order a sender's publication.
    messages.set(messages.get() + 1);
    if has_sleepers(event) {
        wake(event);
    }
}

fn wait_for(wanted: u64, messages: &LoomWord, event: &LoomEvent) {
    let look = || (messages.get() >= wanted).then_some(());
    while sleep_once(&[event], SLEEP_MAX, look)
        .or_else(look)
        .is_none()
    {}
}

/// A waiting reader continues once a message was sent: a lost wake is a deadlock.
pub(crate) fn no_wake_is_lost() {
    explore(3, || {
        let messages = Rc::new(LoomWord::new(0));
        let event = LoomEvent::new();
        let theirs = Rc::clone(&messages);
        let seen = event.seen_by(SleeperKind::Bit(3));
        let waiting = thread::spawn(move || wait_for(1, &theirs, &seen));
        send(&messages, &event);
        waiting.join().unwrap();
    });
}

/// The second wake is not lost either, while the sleeper of the first one returns.
pub(crate) fn no_wake_is_lost_in_a_stream() {
    explore(2, || {
        let messages = Rc::new(LoomWord::new(0));
        let event = LoomEvent::new();
        let theirs = Rc::clone(&messages);
        let seen = event.clone();
        let waiting = thread::spawn(move || {
            wait_for(1, &theirs, &seen);
            wait_for(2, &theirs, &seen);
        });
        send(&messages, &event);
        send(&messages, &event);
        waiting.join().unwrap();
    });
}

/// Every sleeper is woken, in whatever order they announce themselves.
pub(crate) fn every_sleeper_is_woken() {
    for sleepers in [
        [SleeperKind::Bit(0), SleeperKind::Bit(1)],
        [SleeperKind::Counted; 2],
    ] {
        explore(2, move || {
            let messages = Rc::new(LoomWord::new(0));
            let event = LoomEvent::new();
            let waiting = sleepers.map(|sleeper| {
                let theirs = Rc::clone(&messages);
                let seen = event.seen_by(sleeper);
                thread::spawn(move || wait_for(1, &theirs, &seen))
            });
            send(&messages, &event);
            for waiting in waiting {
                waiting.join().unwrap();
            }
        });
    }
}
