//! Messages that contain their sender and number, and the account of the received ones.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::collections::BTreeMap;

use horus_shm::{Pod, ReadStats};

/// A message whose every word follows from its sender and its number.
pub trait Tagged: Pod {
    fn new(sender: u32, number: u32) -> Self;

    /// Returns the sender and the number, or `None` if the words do not match.
    fn tag(&self) -> Option<(u32, u32)>;
}

impl<const N: usize> Tagged for [u64; N]
where
    Self: Pod,
{
    fn new(sender: u32, number: u32) -> Self {
        let tag = u64::from(sender) << 32 | u64::from(number);
        let mut words = [0; N];
        for (index, word) in words.iter_mut().enumerate() {
            *word = tag.wrapping_add((index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        words
    }

    fn tag(&self) -> Option<(u32, u32)> {
        let sender = (self[0] >> 32) as u32;
        let number = self[0] as u32;
        (*self == Self::new(sender, number)).then_some((sender, number))
    }
}

/// The messages of one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    pub first: u32,
    pub next: u32,
    pub count: u64,
}

/// The messages of one receiver, checked against the order of every sender.
#[derive(Debug, Clone, Default)]
pub struct Account {
    streams: BTreeMap<u32, Stream>,
    pub received: u64,
    /// Numbers that were skipped.
    pub gaps: u64,
    pub faults: Vec<String>,
}

impl Account {
    pub fn take<M: Tagged>(&mut self, message: &M) {
        self.received += 1;
        let Some((sender, number)) = message.tag() else {
            return self.faults.push("a torn message".into());
        };
        let fresh = Stream {
            first: number,
            next: number,
            count: 0,
        };
        let stream = self.streams.entry(sender).or_insert(fresh);
        if number < stream.next {
            let next = stream.next;
            self.faults.push(format!(
                "{number} of {sender} again, or late: wanted {next}"
            ));
            return;
        }
        self.gaps += u64::from(number - stream.next);
        stream.next = number + 1;
        stream.count += 1;
    }

    /// Returns how many numbers are missing before later ones; the first number of a sender is 0.
    pub fn missing(&self) -> u64 {
        self.streams
            .values()
            .map(|stream| u64::from(stream.first))
            .sum::<u64>()
            + self.gaps
    }

    pub fn of(&self, sender: u32) -> Option<Stream> {
        self.streams.get(&sender).copied()
    }

    /// Expects every message of `sender` from `first` to before `end`, once each and in order.
    pub fn expect_all(&self, sender: u32, first: u32, end: u32) -> Result<(), String> {
        let wanted = Stream {
            first,
            next: end,
            count: u64::from(end - first),
        };
        match self.of(sender) {
            None if first == end => Ok(()),
            Some(found) if found == wanted => Ok(()),
            found => Err(format!("of sender {sender}: {found:?}, wanted {wanted:?}")),
        }
    }

    /// Expects that no message is torn, repeated or out of order, and that the ring's statistics
    /// agree.
    pub fn expect_sound(&self, stats: ReadStats) -> Result<(), String> {
        if let Some(fault) = self.faults.first() {
            return Err(fault.clone());
        }
        let ReadStats {
            received,
            lost,
            skipped,
            waiting,
            sent,
            ..
        } = stats;
        if received != self.received || received + lost + skipped + waiting != sent {
            return Err(format!("ledger: took {}, but {stats:?}", self.received));
        }
        Ok(())
    }
}
