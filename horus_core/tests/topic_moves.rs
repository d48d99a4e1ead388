//! Topics whose file is removed or replaced while they are in use: all go on in the new file.

use horus_testing as _;

mod private;

use std::fs;
use std::path::PathBuf;

use horus_core::message::CmdVel;
use horus_core::topic::{Publisher, Qos, Subscriber};
use private::Private;

/// Removes the file of a topic, as `rm` does.
fn remove(private: &Private, topic: &str) {
    fs::remove_file(file_of(private, topic)).unwrap();
}

fn file_of(private: &Private, topic: &str) -> PathBuf {
    private.namespace().topics_path().join(topic)
}

fn message(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::new(0.5, 0.25)
    }
}

/// Receives until there is nothing more, and checks that the numbers follow each other from `next`
/// on. Returns the number after the last one.
fn receive(subscriber: &mut Subscriber<CmdVel>, mut next: u64) -> u64 {
    while let Some(message) = subscriber.recv() {
        assert_eq!(message.timestamp_ns, next);
        next += 1;
    }
    next
}

/// A publisher and a subscriber in this process, and the numbers of their next messages.
struct Pair<'a> {
    private: &'a Private,
    topic: &'static str,
    publisher: Publisher<CmdVel>,
    subscriber: Subscriber<CmdVel>,
    sent: u64,
    received: u64,
}

impl<'a> Pair<'a> {
    fn new(private: &'a Private, topic: &'static str, qos: Qos) -> Self {
        Self {
            private,
            topic,
            publisher: private.publisher(topic, qos),
            subscriber: private.subscriber(topic, qos),
            sent: 0,
            received: 0,
        }
    }

    fn send(&mut self) {
        self.publisher.send(message(self.sent)).unwrap();
        self.sent += 1;
    }

    fn receive(&mut self) {
        self.received = receive(&mut self.subscriber, self.received);
    }

    /// Removes the topic's file, and sends until the name leads to another one.
    fn replace(&mut self) {
        remove(self.private, self.topic);
        while !file_of(self.private, self.topic).exists() {
            self.send();
            self.receive();
            std::thread::yield_now();
        }
    }

    fn expect_all_received(&mut self) {
        self.receive();
        assert_eq!(self.received, self.sent);
        let stats = self.subscriber.stats();
        assert_eq!((stats.received, stats.sent), (self.sent, self.sent));
        assert_eq!((stats.lost, stats.waiting), (0, 0));
        assert_eq!(self.publisher.sequence(), self.sent);
        assert_eq!(self.subscriber.sequence(), self.sent);
    }
}

#[test]
fn endpoints_continue_in_a_new_file_without_a_gap() {
    let private = Private::new();
    let mut pair = Pair::new(&private, "moved", Qos::new());
    for _ in 0..3 {
        pair.send();
        pair.replace();
        pair.expect_all_received();
        let mut other: Subscriber<CmdVel> = private.subscriber("moved", Qos::new());
        pair.send();
        assert_eq!(other.recv().unwrap().timestamp_ns, pair.sent - 1);
        pair.expect_all_received();
    }
}
