//! A child of a crew: it sends, receives, or comes and goes, until it is killed.

use std::marker::PhantomData;
use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use horus_shm::{OpenError, ReadStats, bytes_of, sweep};

use super::logbook::{Logbook, stamp};
use super::{PATIENCE, Phase, TOPIC, accuse, soon};
use crate::common::{park, say};
use crate::spawn::{die_with_parent, inherited_namespace};
use crate::stream::{Account, Stream, Tagged};
use crate::tracer::ends::{Kind, Receiver, Ring, Sender};

/// The pause between two polls of an idle child.
const NAP: Duration = Duration::from_micros(50);

/// A sender that publishes its progress in the logbook.
pub struct Source<M> {
    book: Arc<Logbook>,
    id: u32,
    next: Box<M>,
    number: u32,
    pub end: Sender<M>,
}

impl<M: Tagged> Source<M> {
    pub fn new(book: &Arc<Logbook>, id: u32, end: Sender<M>) -> Self {
        let next = Box::new(M::new(id, 0));
        Self {
            book: Arc::clone(book),
            id,
            next,
            number: 0,
            end,
        }
    }

    /// Sends the next message; returns false if the ring is full.
    pub fn step(&mut self) -> bool {
        let entry = self.book.entry(self.id);
        entry.attempted.set(u64::from(self.number) + 1);
        let sent = self.end.send(&self.next);
        if sent {
            self.number += 1;
            *self.next = M::new(self.id, self.number);
        }
        entry.confirmed.set(self.number.into());
        entry.attempted.set(self.number.into());
        sent
    }
}

/// A receiver that records in the logbook the messages that it received.
pub struct Sink<M> {
    book: Arc<Logbook>,
    id: u32,
    kind: Kind,
    /// It was there before the first message.
    complete: bool,
    latest: bool,
    account: Account,
    end: Receiver<M>,
    marker: PhantomData<M>,
}

impl<M: Tagged> Sink<M> {
    pub fn new(book: &Arc<Logbook>, id: u32, kind: Kind, end: Receiver<M>) -> Self {
        let latest = kind == Kind::Pod && id % 2 == 1;
        let book = Arc::clone(book);
        let account = Account::default();
        Self {
            book,
            id,
            kind,
            complete: false,
            latest,
            account,
            end,
            marker: PhantomData,
        }
    }

    /// Marks this receiver as one that was there before the first message.
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Receives the next message; returns false if there is none.
    pub fn step(&mut self) -> bool {
        let message = if self.latest {
            self.end.latest()
        } else {
            self.end.recv()
        };
        let Some(message) = message else { return false };
        self.account.take(&message);
        assert!(self.account.faults.is_empty(), "{:?}", self.account.faults);
        let entry = self.book.entry(self.id);
        entry.received.set(self.account.received);
        // WHY the first word: the account has just checked that all other words follow from it.
        let tag = u64::from_le_bytes(bytes_of(&message)[..8].try_into().unwrap());
        let sender = (tag >> 32) as u32;
        let number = tag as u32;
        entry.seen[sender as usize % 2].set(stamp(sender, number.into()));
        true
    }

    /// Receives the rest, and compares all messages with the logbook; to be called while senders
    /// rest.
    pub fn settle(&mut self) -> Result<ReadStats, String> {
        let stats = self.drain()?;
        self.account.expect_sound(stats)?;
        let mut least = 0;
        let mut most = 0;
        for (id, entry) in self.book.senders() {
            let confirmed = entry.confirmed.get();
            let attempted = entry.attempted.get();
            (least, most) = (least + confirmed, most + attempted);
            let rests = self.phase().is_after(entry.rested.get());
            if let Err(fault) = self.check(id, confirmed, attempted, rests) {
                let said = self.account.of(id);
                return Err(format!(
                    "of {id}: {fault}: {said:?}, {confirmed} to {attempted} sent"
                ));
            }
        }
        if self.complete && !(least..=most).contains(&stats.sent) {
            return Err(format!(
                "between {least} and {most} were sent, but {stats:?}"
            ));
        }
        let missed = stats.lost + stats.skipped + self.account.gaps;
        if self.kind.is_gated() && missed != 0 {
            return Err(format!("{missed} lost by a gated reader: {stats:?}"));
        }
        Ok(stats)
    }

    fn phase(&self) -> Phase {
        Phase(self.book.orders().phase.get())
    }

    fn drain(&mut self) -> Result<ReadStats, String> {
        let start = Instant::now();
        loop {
            while self.step() {}
            let stats = self.end.stats().unwrap_or_default();
            if stats.waiting == 0 {
                return Ok(stats);
            }
            if start.elapsed() > PATIENCE {
                return Err(format!(
                    "messages keep coming while senders rest: {stats:?}"
                ));
            }
        }
    }

    /// Checks the messages of one sender; `rests` is true if the sender is alive.
    fn check(&self, id: u32, confirmed: u64, attempted: u64, rests: bool) -> Result<(), String> {
        let gated = self.kind.is_gated();
        let Some(Stream { first, next, count }) = self.account.of(id) else {
            // The reader was overrun, or joined after the first message.
            let owed = self.complete && gated && confirmed > 0;
            return if owed {
                Err("nothing came".into())
            } else {
                Ok(())
            };
        };
        if u64::from(next) > attempted {
            return Err("more than was sent".into());
        }
        if (gated || rests) && u64::from(next) < confirmed {
            return Err("the last messages are missing".into());
        }
        if gated && count != u64::from(next - first) {
            return Err("messages in between are missing".into());
        }
        if gated && self.complete && first != 0 {
            return Err("the first messages are missing".into());
        }
        Ok(())
    }
}

/// Plays the role of a child of a crew; does not return.
pub fn play(role: &str) -> ! {
    die_with_parent();
    let dir = PathBuf::from(std::env::var("HORUS_SHM_DIR").unwrap());
    let book = Arc::new(Logbook::open(&dir));
    let witness = Arc::clone(&book);
    panic::set_hook(Box::new(move |info| {
        accuse(&info.to_string());
        witness.orders().faults.count();
    }));
    let role: Vec<_> = role.split(' ').collect();
    let [job, kind, words, id, complete, touched_mib] = role[..] else {
        panic!("{role:?}")
    };
    let mate = Mate {
        book,
        kind: Kind::parse(kind),
        id: id.parse().unwrap(),
        complete: complete == "true",
        touched: vec![1; touched_mib.parse::<usize>().unwrap() << 20],
    };
    match words {
        "8" => mate.work::<[u64; 8]>(job),
        "128" => mate.work::<[u64; 128]>(job),
        _ => mate.work::<[u64; 8192]>(job),
    }
}

struct Mate {
    book: Arc<Logbook>,
    kind: Kind,
    id: u32,
    complete: bool,
    /// Memory that the kernel has to release when this process dies.
    touched: Vec<u8>,
}

impl Mate {
    fn work<M: Tagged>(self, job: &str) -> ! {
        say("parked");
        park();
        std::hint::black_box(&self.touched);
        match job {
            "Produce" => self.produce::<M>(),
            "Consume" => self.consume::<M>(),
            _ => self.visit::<M>(),
        }
    }

    fn phase(&self) -> Phase {
        Phase(self.book.orders().phase.get())
    }

    /// Opens an endpoint as soon as the kernel has released the place of its dead predecessor.
    fn board<M: Tagged, E>(&self, open: impl Fn(&Ring<M>) -> Result<E, OpenError>) -> E {
        let namespace = inherited_namespace();
        let ring = Ring::<M>::open(self.kind, &namespace, TOPIC);
        let end = soon(|| unless_taken(open(&ring)));
        self.book
            .entry(self.id)
            .owner
            .set(namespace.registry().own_owner_word().to_bits());
        end
    }

    fn rest(&self, phase: Phase) {
        self.book.entry(self.id).rested.set(phase.0);
        thread::sleep(NAP);
    }

    fn produce<M: Tagged>(&self) -> ! {
        let mut source = Source::new(&self.book, self.id, self.board(Ring::<M>::sender));
        loop {
            let phase = self.phase();
            if !phase.is_stream() {
                self.rest(phase);
            } else if !source.step() {
                thread::yield_now();
            }
        }
    }

    fn consume<M: Tagged>(&self) -> ! {
        let end = self.board(Ring::<M>::receiver);
        let sink = Sink::new(&self.book, self.id, self.kind, end);
        let mut sink = if self.complete { sink.complete() } else { sink };
        loop {
            let phase = self.phase();
            if phase.is_settle() {
                if self.book.entry(self.id).rested.get() != phase.0 {
                    sink.settle().unwrap();
                }
                self.rest(phase);
            } else if !sink.step() {
                thread::yield_now();
            }
        }
    }

    /// Enters the namespace, opens the free endpoints of the ring, and leaves, again and again.
    fn visit<M: Tagged>(&self) -> ! {
        loop {
            let namespace = inherited_namespace();
            let ring = Ring::<M>::open(self.kind, &namespace, TOPIC);
            let _sender = unless_taken(ring.sender());
            let mut receiver = unless_taken(ring.receiver());
            if let Some(message) = receiver.as_mut().and_then(Receiver::recv) {
                assert!(message.tag().is_some(), "a torn message");
            }
            let report = sweep(&namespace).unwrap();
            assert!(
                report.removed.is_empty() && report.foreign.is_empty(),
                "{report:?}"
            );
            let entry = self.book.entry(self.id);
            entry
                .owner
                .set(namespace.registry().own_owner_word().to_bits());
            entry.received.count();
        }
    }
}

/// Returns `None` if all places are taken; panics for any other error.
fn unless_taken<E>(end: Result<E, OpenError>) -> Option<E> {
    match end {
        Ok(end) => Some(end),
        Err(OpenError::TooManyPublishers { .. } | OpenError::TooManySubscribers { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}
