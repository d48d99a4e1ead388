//! Large messages between two processes: copied in and out, or written and read where they lie.
//!
//! The near end sends, the far end answers with a small message as soon as it has the large one,
//! verifies every word of it, and says so with a second answer. What is timed is from before the
//! send to after the first answer.

use std::fmt;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use horus_core::message::{Bytes, BytesHeader, HeaderError};
use horus_core::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder};
use horus_core::{LoanError, TopicError};
use horus_shm::{Namespace, NamespaceError};
use serde::{Deserialize, Serialize};

use crate::measure::payload::{Corrupt, Payload};
use crate::measure::pin::CpuPair;
use crate::measure::stats::Samples;
use crate::measure::tsc::TickSource;
use crate::measure::wait::{WaitError, Watch};
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::namespace::PrivateNamespace;
use crate::run::peer::{self, Peer, PeerError};
use crate::transport::packet::Packet16;

/// The role of the child process that receives; serve it with [`serve_child`].
pub const LARGE_ROLE: &str = "large";

/// Messages that the topic holds.
pub const CAPACITY: u64 = 4;

/// Bytes of a message.
pub const SIZES: [usize; 8] =
    [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20];

/// How a message gets in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Manner {
    /// `send` copies it into the topic, `recv` copies it out.
    Copy,
    /// It is made in a loan, and read from a borrowed sample.
    Loan,
}

impl Manner {
    /// As it is written in ids.
    pub const fn id(self) -> &'static str {
        match self {
            Manner::Copy => "copy",
            Manner::Loan => "loan",
        }
    }

    /// How it is measured.
    pub const fn basis(self) -> &'static str {
        match self {
            Manner::Copy => "send, recv, answer of 16 bytes",
            Manner::Loan => "publish of a filled loan, borrow, answer of 16 bytes",
        }
    }
}

/// Why a large message could not be measured. None is worth a retry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LargeError {
    /// There is no namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A topic could not be opened.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A slot was not lent.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// The header is not one of a message.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The far end failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// No answer came.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// An answer, or a message, is not what was sent.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A message was not sent, or not lent.
    #[error("{0}")]
    Refused(String),
}

/// What the far end is told.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Job {
    Open { bytes: usize, number: u64 },
    Receive { manner: Manner, first_seq: u64, messages: u64 },
}

/// Fills a message with words that follow from `seq`.
fn fill(words: &mut [u64], seq: u64) {
    for (index, word) in words.iter_mut().enumerate() {
        *word = word_of(seq, index);
    }
}

/// Whether a message is what [`fill`] makes of `seq`.
fn verify(words: &[u64], seq: u64) -> Result<(), Corrupt> {
    // No early exit, so that the loop becomes vector code.
    let differs = |difference, (index, word)| difference | (word ^ word_of(seq, index));
    match words.iter().enumerate().fold(0, differs) {
        0 => Ok(()),
        _ => Err(Corrupt { expected_seq: seq, found_seq: words.first().map_or(0, |word| *word) }),
    }
}

#[inline(always)]
fn word_of(seq: u64, index: usize) -> u64 {
    seq.wrapping_add((index as u64) << 32) ^ 0x5bd1_e995_a5a5_c3c3
}

fn refused(error: impl fmt::Display) -> LargeError {
    LargeError::Refused(error.to_string())
}

fn large(namespace: &Arc<Namespace>, bytes: usize, number: u64) -> TopicBuilder<Bytes> {
    let room = (size_of::<BytesHeader>() + bytes) as u64;
    let builder = Topic::<Bytes>::builder(&format!("large/{number}")).namespace(namespace);
    builder.max_message_bytes(room).qos(Qos::new().capacity(CAPACITY))
}

fn answers(namespace: &Arc<Namespace>, number: u64) -> TopicBuilder<Packet16> {
    Topic::<Packet16>::builder(&format!("answers/{number}")).namespace(namespace)
}

/// Both ends, for messages of one size at a time. The far end is a process.
pub struct LargePair {
    namespace: Arc<Namespace>,
    peer: Peer<Job, u64>,
    source: TickSource,
    near: Option<Near>,
    opened: u64,
}

/// The near end, and where it makes messages that are copied.
struct Near {
    out: Publisher<Bytes>,
    answers: Subscriber<Packet16>,
    buffer: Bytes,
    next_seq: u64,
}

impl fmt::Debug for LargePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LargePair").field("opened", &self.opened).finish_non_exhaustive()
    }
}

impl LargePair {
    /// Starts the far end, pinned to `cpus.far`. The caller is pinned to `cpus.near`.
    pub fn start(
        cpus: CpuPair,
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Result<LargePair, LargeError> {
        let env = &private.environment();
        let (role, cpu, share_cpu) = (LARGE_ROLE, cpus.far, cpus.oversubscribed());
        let peer = Peer::process(&ChildSpec { role, cpu, share_cpu, memory: None, env })?;
        Ok(LargePair { namespace: private.open()?, peer, source, near: None, opened: 0 })
    }

    /// Opens topics for messages of `bytes` bytes of data.
    pub fn open(&mut self, bytes: usize) -> Result<(), LargeError> {
        self.opened += 1;
        let number = self.opened;
        let out = large(&self.namespace, bytes, number).publisher()?;
        let answers = answers(&self.namespace, number).subscriber()?;
        let buffer = Bytes::zeroed(BytesHeader::new(bytes as u64))?;
        self.near = Some(Near { out, answers, buffer, next_seq: 1 });
        self.peer.call(Job::Open { bytes, number })?;
        Ok(())
    }

    /// Sends `warm_up` messages and then `samples`; the ticks of each of those.
    pub fn round(
        &mut self,
        manner: Manner,
        warm_up: u64,
        samples: u64,
    ) -> Result<Samples, LargeError> {
        let near = self.near.as_mut().ok_or_else(|| refused("no topic is open"))?;
        let (first_seq, messages) = (near.next_seq, warm_up + samples);
        near.next_seq += messages;
        self.peer.start(Job::Receive { manner, first_seq, messages })?;
        let sent = near.send_all(manner, first_seq..near.next_seq, &self.peer.watch(), self.source);
        // WHY first: where the near end only waited in vain, the far end knows why.
        let received = self.peer.finish()?;
        let ticks = sent?;
        if received != messages {
            return Err(refused(format!("{received} of {messages} messages arrived")));
        }
        let mut all = Samples::new();
        ticks.iter().skip(warm_up as usize).for_each(|&ticks| all.record(ticks));
        Ok(all)
    }
}

impl Near {
    fn send_all(
        &mut self,
        manner: Manner,
        numbers: std::ops::Range<u64>,
        watch: &Watch,
        source: TickSource,
    ) -> Result<Vec<u64>, LargeError> {
        numbers.map(|seq| self.send(manner, seq, watch, source)).collect()
    }

    /// Sends message `seq`; the ticks until it was answered.
    fn send(
        &mut self,
        manner: Manner,
        seq: u64,
        watch: &Watch,
        source: TickSource,
    ) -> Result<u64, LargeError> {
        let start = match manner {
            Manner::Copy => {
                fill(self.buffer.data_as_mut().map_err(refused)?, seq);
                let start = source.start();
                self.out.send(&self.buffer).map_err(refused)?;
                start
            }
            Manner::Loan => {
                let mut loan = self.out.loan(*self.buffer)?;
                fill(loan.data_as_mut().map_err(refused)?, seq);
                let start = source.start();
                loan.publish().map_err(refused)?;
                start
            }
        };
        self.answer(2 * seq, watch)?;
        let ticks = source.stop().since(start);
        self.answer(2 * seq + 1, watch)?;
        Ok(ticks)
    }

    fn answer(&mut self, seq: u64, watch: &Watch) -> Result<(), LargeError> {
        Ok(watch.spin_until(|| self.answers.recv())?.check(seq)?)
    }
}

/// The far end.
struct Far {
    back: Subscriber<Bytes>,
    answers: Publisher<Packet16>,
}

impl Far {
    fn receive(&mut self, manner: Manner, seq: u64, watch: &Watch) -> Result<(), LargeError> {
        match manner {
            Manner::Copy => {
                let message = watch.spin_until(|| self.back.recv())?;
                self.answer(2 * seq)?;
                verify(message.data_as().map_err(refused)?, seq)?;
            }
            Manner::Loan => {
                let message = watch.spin_until(|| self.back.borrow().transpose())?;
                let message = message.map_err(refused)?;
                self.answer(2 * seq)?;
                verify(message.data_as().map_err(refused)?, seq)?;
            }
        }
        self.answer(2 * seq + 1)
    }

    fn answer(&mut self, seq: u64) -> Result<(), LargeError> {
        let sent = self.answers.send(Packet16::compose(seq));
        sent.map_err(|_| refused("an answer was not sent"))
    }
}

/// Serves [`LARGE_ROLE`] in a child process until the parent hangs up.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    peer::serve(context, || {
        let namespace = Namespace::current()?;
        let mut open: Option<Far> = None;
        Ok(move |job, watch: &Watch| match job {
            Job::Open { bytes, number } => {
                let topics = || -> Result<Far, TopicError> {
                    let back = large(&namespace, bytes, number).subscriber()?;
                    Ok(Far { back, answers: answers(&namespace, number).publisher()? })
                };
                open = Some(topics().map_err(|error| error.to_string())?);
                Ok(0)
            }
            Job::Receive { manner, first_seq, messages } => {
                let far = open.as_mut().ok_or("no topic is open")?;
                for seq in first_seq..first_seq + messages {
                    far.receive(manner, seq, watch).map_err(|error| error.to_string())?;
                }
                Ok(messages)
            }
        })
    })
}

/// Copies of a warm buffer to [`CAPACITY`] others in turn: what a copy costs within one process.
#[derive(Debug)]
pub struct Copies {
    from: Vec<u64>,
    to: Vec<Vec<u64>>,
    next_seq: u64,
}

impl Copies {
    /// Of `bytes` bytes each.
    pub fn new(bytes: usize) -> Copies {
        let from = vec![0; bytes / size_of::<u64>()];
        let to = vec![from.clone(); CAPACITY as usize];
        Copies { from, to, next_seq: 1 }
    }

    /// Copies once; the ticks that it took.
    pub fn copy(&mut self, source: TickSource) -> Result<u64, Corrupt> {
        let seq = self.next_seq;
        self.next_seq += 1;
        fill(&mut self.from, seq);
        let to = &mut self.to[(seq % CAPACITY) as usize];
        let start = source.start();
        black_box(to.as_mut_slice()).copy_from_slice(black_box(&self.from));
        let ticks = source.stop().since(start);
        verify(to, seq)?;
        Ok(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_large_message_is_verified() {
        let mut words = vec![0; 1000];
        fill(&mut words, 7);
        assert_eq!(verify(&words, 7), Ok(()));
        assert!(verify(&words, 8).is_err());
        words[999] ^= 1;
        assert!(verify(&words, 7).is_err());
    }

    #[test]
    fn a_copy_is_of_every_word() {
        let mut copies = Copies::new(4096);
        for _ in 0..10 {
            copies.copy(TickSource::detect()).unwrap();
        }
    }
}
