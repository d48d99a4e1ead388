//! Large messages between two processes: copied in and out, or written and read where they lie,
//! beside a copy within one process.
//!
//! The near end sends, the far end answers with a small message as soon as it has the large one,
//! verifies every word of it, and says so with a second answer. The timed interval is from before
//! the send to after the first answer.

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use horus_core::TopicError;
use horus_core::message::{Bytes, BytesHeader};
use horus_core::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder};
use horus_shm::Namespace;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::measure::payload::{Corrupt, Payload, size_label};
use crate::measure::rounds::Rounds;
use crate::measure::stats::{Ratio, Samples};
use crate::measure::tsc::TickSource;
use crate::measure::wait::Watch;
use crate::report::goals::RATIOS;
use crate::report::rows::Row;
use crate::run::args::Args;
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::namespace::PrivateNamespace;
use crate::run::peer::{self, Peer};
use crate::run::progress::Progress;
use crate::run::session::Session;
use crate::scenario::entry::{self, Outcome, Role};
use crate::transport::packet::Packet16;

/// The role of the child process that receives.
const ROLE: Role = ("large", serve_child);

const ABOUT: &str = "Messages of 4 KiB to 8 MiB between two processes: copied in and out, or made \
and read where they lie, beside a copy of as many bytes within one process. Timed from before the \
send to after a small answer.";

/// Rounds, and bytes of the messages of each, for `--quick` and else.
const QUICK: (u32, u64) = (20, 16 << 20);
const FULL: (u32, u64) = (40, 64 << 20);

/// Messages of a round: at least, and at most.
const MESSAGES: (u64, u64) = (3, 1_000);

/// Messages that the topic holds.
const CAPACITY: u64 = 4;

/// Bytes of a message.
const SIZES: [usize; 8] =
    [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20];

/// How a message gets in and out: its name in ids, and how it is measured.
const MANNERS: [(Manner, &str, &str); 2] = [
    (Manner::Copy, "copy", "send, recv, answer of 16 bytes"),
    (Manner::Loan, "loan", "publish of a filled loan, borrow, answer of 16 bytes"),
];

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Manner {
    /// `send` copies it into the topic, `recv` copies it out.
    Copy,
    /// It is made in a loan, and read from a borrowed sample.
    Loan,
}

type AnyError = Box<dyn Error>;

/// Runs `large_message_benchmark`.
pub fn main() -> ExitCode {
    entry::main("large_message_benchmark", ABOUT, &[ROLE], run)
}

fn run(mut args: Args) -> Outcome {
    let (rounds, bytes) = if args.quick { QUICK } else { FULL };
    args.rounds.get_or_insert(rounds);
    let asked = args.samples;
    let mut session = Session::begin(args)?;
    session.report.set("capacity", CAPACITY);
    let private = PrivateNamespace::create()?;
    let mut pair = Pair::start(&session, &private)?;
    let progress = Progress::new(SIZES.len() as u64);
    for size in SIZES {
        progress.step();
        progress.label(&size_label(size));
        let fitting = (bytes / size as u64).clamp(MESSAGES.0, MESSAGES.1);
        measure(&mut session, &mut pair, size, asked.map_or(fitting, |asked| asked.min(fitting)))?;
    }
    progress.finish();
    drop(pair);
    Ok(session.finish()?)
}

/// Measures all rows of one size, in rounds that alternate.
fn measure(session: &mut Session, pair: &mut Pair, bytes: usize, samples: u64) -> Outcome {
    let size = size_label(bytes);
    let mut rows = vec![(format!("memcpy/{size}"), "one process, warm source", Rounds::default())];
    rows.extend(MANNERS.map(|(_, name, basis)| {
        (format!("large/cross_process/{name}/{size}"), basis, Rounds::default())
    }));
    if !rows.iter().any(|(id, ..)| session.args.wants(id)) {
        return Ok(());
    }
    let (clock, warm_up) = (&session.clock, samples.div_ceil(4).max(CAPACITY));
    let mut copies = Copies::new(bytes);
    pair.open(bytes)?;
    for _ in 0..session.effort.rounds {
        let mut all = vec![copies.round(clock.source(), warm_up, samples)?];
        for (manner, ..) in MANNERS {
            all.push(pair.round(manner, warm_up, samples)?);
        }
        for ((_, _, rounds), round) in rows.iter_mut().zip(&all) {
            rounds.add(round, clock.resolution_ticks());
        }
    }
    let (memcpy_id, _, memcpy) = &rows[0];
    for (id, basis, rounds) in &rows {
        let row = Row::samples(id, &rounds.samples, session.clock.ns_per_tick());
        let gb_per_s = bytes as f64 / row.ns.map_or(f64::NAN, |ns| ns.p50);
        session.report.push(row, &format!("{basis}; {gb_per_s:.1} GB/s"));
    }
    for (id, _, rounds) in &rows[1..] {
        if let Some(Ratio { median, low, high }) = rounds.ratio_to(memcpy) {
            let note = json!({ memcpy_id.as_str(): [median, low, high] });
            session.report.note(RATIOS, id, note);
        }
    }
    Ok(())
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

/// Verifies that a message is what [`fill`] makes of `seq`.
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

fn large(namespace: &Arc<Namespace>, bytes: usize, number: u64) -> TopicBuilder<Bytes> {
    let room = (size_of::<BytesHeader>() + bytes) as u64;
    let builder = Topic::<Bytes>::builder(&format!("large/{number}")).namespace(namespace);
    builder.max_message_bytes(room).qos(Qos::new().capacity(CAPACITY))
}

fn answers(namespace: &Arc<Namespace>, number: u64) -> TopicBuilder<Packet16> {
    Topic::<Packet16>::builder(&format!("answers/{number}")).namespace(namespace)
}

/// Both ends, for messages of one size at a time. The far end is a process.
struct Pair {
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

impl Pair {
    /// Starts the far end, pinned to the far CPU.
    fn start(session: &Session, private: &PrivateNamespace) -> Result<Pair, AnyError> {
        let (cpus, env) = (session.cpus, &private.environment());
        let (role, cpu, share_cpu) = (ROLE.0, cpus.far, cpus.oversubscribed());
        let peer = Peer::process(&ChildSpec { role, cpu, share_cpu, memory: None, env })?;
        let (namespace, source) = (private.open()?, session.clock.source());
        Ok(Pair { namespace, peer, source, near: None, opened: 0 })
    }

    /// Opens topics for messages of `bytes` bytes of data.
    fn open(&mut self, bytes: usize) -> Outcome {
        self.opened += 1;
        let number = self.opened;
        let out = large(&self.namespace, bytes, number).publisher()?;
        let answers = answers(&self.namespace, number).subscriber()?;
        let buffer = Bytes::zeroed(BytesHeader::new(bytes as u64))?;
        self.near = Some(Near { out, answers, buffer, next_seq: 1 });
        self.peer.call(Job::Open { bytes, number })?;
        Ok(())
    }

    /// Sends `warm_up` messages and then `samples`; returns the ticks of each of those.
    fn round(&mut self, manner: Manner, warm_up: u64, samples: u64) -> Result<Samples, AnyError> {
        let near = self.near.as_mut().ok_or("no topic is open")?;
        let (first_seq, messages) = (near.next_seq, warm_up + samples);
        near.next_seq += messages;
        self.peer.start(Job::Receive { manner, first_seq, messages })?;
        let (watch, source) = (self.peer.watch(), self.source);
        let sent: Result<Vec<u64>, AnyError> =
            (first_seq..near.next_seq).map(|seq| near.send(manner, seq, &watch, source)).collect();
        // WHY first: where the near end only waited in vain, the far end knows why.
        let received = self.peer.finish()?;
        let ticks = sent?;
        if received != messages {
            return Err(format!("{received} of {messages} messages arrived").into());
        }
        let mut all = Samples::new();
        ticks.iter().skip(warm_up as usize).for_each(|&ticks| all.record(ticks));
        Ok(all)
    }
}

impl Near {
    /// Sends message `seq`; returns the ticks until it was answered.
    fn send(
        &mut self,
        manner: Manner,
        seq: u64,
        watch: &Watch,
        source: TickSource,
    ) -> Result<u64, AnyError> {
        let start = match manner {
            Manner::Copy => {
                fill(self.buffer.data_as_mut()?, seq);
                let start = source.start();
                self.out.send(&self.buffer).map_err(|error| error.to_string())?;
                start
            }
            Manner::Loan => {
                let mut loan = self.out.loan(*self.buffer)?;
                fill(loan.data_as_mut()?, seq);
                let start = source.start();
                loan.publish()?;
                start
            }
        };
        self.answer(2 * seq, watch)?;
        let ticks = source.stop().since(start);
        self.answer(2 * seq + 1, watch)?;
        Ok(ticks)
    }

    fn answer(&mut self, seq: u64, watch: &Watch) -> Outcome {
        Ok(watch.spin_until(|| self.answers.recv())?.check(seq)?)
    }
}

/// The far end.
struct Far {
    back: Subscriber<Bytes>,
    answers: Publisher<Packet16>,
}

impl Far {
    fn receive(&mut self, manner: Manner, seq: u64, watch: &Watch) -> Outcome {
        match manner {
            Manner::Copy => {
                let message = watch.spin_until(|| self.back.recv())?;
                self.answers.send(Packet16::compose(2 * seq))?;
                verify(message.data_as()?, seq)?;
            }
            Manner::Loan => {
                let message = watch.spin_until(|| self.back.borrow().transpose())??;
                self.answers.send(Packet16::compose(2 * seq))?;
                verify(message.data_as()?, seq)?;
            }
        }
        Ok(self.answers.send(Packet16::compose(2 * seq + 1))?)
    }
}

/// Serves [`ROLE`] in a child process until the parent hangs up.
fn serve_child(context: &ChildContext) -> ExitCode {
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

/// Copies of a warm buffer to [`CAPACITY`] others in turn: the cost of a copy within one process.
struct Copies {
    from: Vec<u64>,
    to: Vec<Vec<u64>>,
    next_seq: u64,
}

impl Copies {
    fn new(bytes: usize) -> Copies {
        let from = vec![0; bytes / size_of::<u64>()];
        let to = vec![from.clone(); CAPACITY as usize];
        Copies { from, to, next_seq: 1 }
    }

    fn round(
        &mut self,
        source: TickSource,
        warm_up: u64,
        samples: u64,
    ) -> Result<Samples, Corrupt> {
        let mut copied = Samples::new();
        for number in 0..warm_up + samples {
            let ticks = self.copy(source)?;
            if number >= warm_up {
                copied.record(ticks);
            }
        }
        Ok(copied)
    }

    /// Copies once, and verifies the copy; returns the ticks that it took.
    fn copy(&mut self, source: TickSource) -> Result<u64, Corrupt> {
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
    fn every_word_of_a_large_message_and_of_a_copy_is_verified() {
        let mut words = vec![0; 1000];
        fill(&mut words, 7);
        assert_eq!(verify(&words, 7), Ok(()));
        assert!(verify(&words, 8).is_err());
        words[999] ^= 1;
        assert!(verify(&words, 7).is_err());
        let copied = Copies::new(4096).round(TickSource::detect(), 2, 10).unwrap();
        assert_eq!(copied.count(), 10);
    }
}
