//! C++ programs that are killed at any moment: publishers, subscribers, lenders and borrowers. The
//! other processes continue, and every message is accounted for.

use horus_testing as _;

mod compiler;

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use compiler::Program;
use horus_core::message::Message;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::prelude::*;

/// The number of kills of each kind of victim. T5 of the torture requires 100 in all.
const KILLS: u64 = 25;
/// The limit for events that must happen, on a busy machine too.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const SIGKILL: i32 = 9;
/// Slots of each publisher.
const CAPACITY: u64 = 16;
/// The number of the sender that is not killed.
const SURVIVOR: u64 = 0;

/// The messages of `cpp/victim.cpp`.
mod tagged {
    horus_core::message! {
        pub struct Small {
            pub sender: u64,
            pub number: u64,
            pub words: [u64; 6],
        }
    }

    horus_core::message! {
        pub struct Large {
            pub sender: u64,
            pub number: u64,
            pub words: [u64; 8190],
        }
    }
}
use tagged::{Large, Small};

trait Tagged: Message {
    fn parts(&self) -> (u64, u64, &[u64]);
    fn parts_mut(&mut self) -> (&mut u64, &mut u64, &mut [u64]);
}

macro_rules! tagged {
    ($($message:ty)+) => {$(
        impl Tagged for $message {
            fn parts(&self) -> (u64, u64, &[u64]) {
                (self.sender, self.number, &self.words)
            }

            fn parts_mut(&mut self) -> (&mut u64, &mut u64, &mut [u64]) {
                (&mut self.sender, &mut self.number, &mut self.words)
            }
        }
    )+};
}
tagged!(Small Large);

fn word(sender: u64, number: u64, index: usize) -> u64 {
    (sender << 32 ^ number)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(index as u64)
}

/// The endpoints that are not killed.
struct Survivors<M: Tagged> {
    publisher: Publisher<M>,
    subscriber: Subscriber<M>,
    message: Box<M>,
    sent: u64,
    /// By sender: the number of messages received.
    received: HashMap<u64, u64>,
}

impl<M: Tagged> Survivors<M> {
    fn join(namespace: &Arc<Namespace>, topic: &str) -> Self {
        let qos = Qos::reliable().capacity(CAPACITY);
        let builder = || Topic::<M>::builder(topic).namespace(namespace).qos(qos);
        let subscriber = builder().subscriber().unwrap();
        let publisher = builder().publisher().unwrap();
        let message = Box::new(M::zeroed());
        Self {
            publisher,
            subscriber,
            message,
            sent: 0,
            received: HashMap::new(),
        }
    }

    /// Receives all messages and checks them: whole, without a gap, in order for each sender.
    fn drain(&mut self) {
        while let Some(message) = self.subscriber.recv() {
            let (sender, number, words) = message.parts();
            let expected = self.received.entry(sender).or_default();
            assert_eq!(number, *expected, "sender {sender}");
            *expected += 1;
            let is_whole = |(index, found): (usize, &u64)| *found == word(sender, number, index);
            assert!(
                words.iter().enumerate().all(is_whole),
                "message {number} of {sender} is torn"
            );
        }
    }

    /// Sends one more message, as soon as the slowest live subscriber has a free slot.
    fn send(&mut self) {
        let (sender, number, words) = self.message.parts_mut();
        (*sender, *number) = (SURVIVOR, self.sent);
        words
            .iter_mut()
            .enumerate()
            .for_each(|(at, one)| *one = word(SURVIVOR, self.sent, at));
        let begin = Instant::now();
        while self.publisher.send(&*self.message).is_err() {
            self.drain();
            assert!(
                begin.elapsed() < TIME_LIMIT,
                "no process can send after {} messages",
                self.sent
            );
        }
        self.sent += 1;
        self.drain();
    }

    /// Kills a victim while all processes stream, and continues. Returns the time until the next
    /// message.
    fn lose(&mut self, mut victim: Child, stream: Duration) -> Duration {
        let mut said = BufReader::new(victim.stdout.take().unwrap());
        let ready = std::thread::spawn(move || {
            let mut line = String::new();
            said.read_line(&mut line).map(|_| line)
        });
        while !ready.is_finished() {
            self.send();
        }
        let line = ready.join().unwrap().unwrap();
        assert_eq!(line, "ready\n", "{:?}", victim.wait());
        let begin = Instant::now();
        while begin.elapsed() < stream {
            self.send();
        }
        victim.kill().unwrap();
        let blow = Instant::now();
        self.send();
        let recovery = blow.elapsed();
        assert_eq!(
            victim.wait().unwrap().signal(),
            Some(SIGKILL),
            "it ended by itself"
        );
        // More than the number of slots: the slot that the dead process held is free again.
        (0..3 * CAPACITY).for_each(|_| self.send());
        recovery
    }

    /// Checks that nothing is left of the dead processes, and that the counts balance.
    fn settle(mut self, victims: u64) {
        self.send();
        let stats = self.subscriber.stats();
        let received: u64 = self.received.values().sum();
        assert_eq!(self.received[&SURVIVOR], self.sent);
        assert_eq!(
            (stats.received, stats.sent),
            (received, received),
            "{stats:?}"
        );
        let not_received = stats.lost + stats.skipped + stats.malformed + stats.waiting;
        assert_eq!(not_received, 0, "{stats:?}");
        assert_eq!(self.publisher.subscriber_count(), 1);
        assert_eq!(self.subscriber.publisher_count(), 1);
        let senders = self.received.len();
        println!("{victims} killed, {received} messages of {senders} senders received");
    }
}

fn survive<M: Tagged>(topic: &str, roles: [&str; 2]) {
    let program = Program::cpp("tests/cpp/victim.cpp", &["-std=c++17"]);
    let config = NamespaceConfig::new(program.shm_dir(), NamespaceName::default());
    let namespace = Namespace::open(&config).unwrap();
    let mut survivors = Survivors::<M>::join(&namespace, topic);
    let mut recoveries = Vec::new();
    for sender in 1..=2 * KILLS {
        let mut victim = program.command();
        let victim = victim.args([roles[(sender % 2) as usize], &sender.to_string()]);
        let victim = victim
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stream = Duration::from_micros(sender * 7919 % 3000);
        recoveries.push(survivors.lose(victim, stream));
    }
    recoveries.sort_unstable();
    println!("from the blow to the next message: {recoveries:.1?}");
    survivors.settle(2 * KILLS);
}

#[test]
fn a_killed_publisher_or_subscriber_loses_no_message_of_others() {
    survive::<Small>("small", ["publish", "receive"]);
}

#[test]
fn a_killed_lender_or_borrower_loses_no_message_of_others() {
    survive::<Large>("large", ["lend", "borrow"]);
}
