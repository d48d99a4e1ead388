//! Large messages over a topic: copied in and out, or written and read in their slots.
//!
//! The near side sends a large message. The far side answers with a small message as soon as it has
//! received the large one, then verifies every word of it and sends a second answer. The timed
//! interval is from before the send until after the first answer.

use std::io;

use horus_core::message::{Bytes, BytesHeader};
use horus_core::topic::{Publisher, Qos, Subscriber, Topic};

use crate::measure::payload::{Corrupt, Payload};
use crate::measure::stats::Samples;
use crate::measure::wait::Watch;
use crate::measure::workload::{Echo, Round, WorkloadError};
use crate::transport::carrier::{Carrier, Transport};
use crate::transport::driver::{Done, Driver, Task, Timer};
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::{ConnectionSide, Opened};

/// Number of messages that the topic can hold.
pub const CAPACITY: u64 = 4;

/// Fills a message with words that are computed from `seq`.
pub fn fill(words: &mut [u64], seq: u64) {
    for (index, word) in words.iter_mut().enumerate() {
        *word = word_of(seq, index);
    }
}

/// Verifies that a message has the words that [`fill`] computes from `seq`.
pub fn verify(words: &[u64], seq: u64) -> Result<(), Corrupt> {
    // No early exit, so that the loop becomes vector code.
    let differs = |difference, (index, word)| difference | (word ^ word_of(seq, index));
    match words.iter().enumerate().fold(0, differs) {
        0 => Ok(()),
        _ => Err(Corrupt {
            expected_seq: seq,
            found_seq: words.first().map_or(0, |word| *word),
        }),
    }
}

#[inline(always)]
fn word_of(seq: u64, index: usize) -> u64 {
    seq.wrapping_add((index as u64) << 32) ^ 0x5bd1_e995_a5a5_c3c3
}

pub(super) fn open(transport: Transport, place: &ConnectionSide<'_>) -> Opened {
    let bytes = transport.size.bytes();
    let is_lent = transport.carrier == Carrier::LargeLoan;
    let [out, back] = place.directions();
    let room = (size_of::<BytesHeader>() + bytes) as u64;
    let large = |name: &str| {
        let builder = Topic::<Bytes>::builder(name).namespace(place.namespace());
        builder
            .max_message_bytes(room)
            .qos(Qos::new().capacity(CAPACITY))
    };
    let small = |name: &str| Topic::<Packet16>::builder(name).namespace(place.namespace());
    if place.is_near() {
        let out = large(&out.name).publisher()?;
        let answers = small(&back.name).subscriber()?;
        let buffer = Bytes::zeroed(BytesHeader::new(bytes as u64)).map_err(io::Error::other)?;
        return Ok(Box::new(Near {
            out,
            answers,
            is_lent,
            buffer,
        }));
    }
    let back = large(&back.name).subscriber()?;
    let answers = small(&out.name).publisher()?;
    Ok(Box::new(Far {
        back,
        answers,
        is_lent,
    }))
}

struct Near {
    out: Publisher<Bytes>,
    answers: Subscriber<Packet16>,
    is_lent: bool,
    /// The buffer in which messages to be copied are composed.
    buffer: Bytes,
}

impl Driver for Near {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let Task::Ping(plan) = task else {
            return Err(WorkloadError::Unsuited);
        };
        let mut ticks = Samples::new();
        for number in 0..plan.messages() {
            let seq = plan.first_seq + number;
            let start = if self.is_lent {
                let mut loan = self.out.loan(*self.buffer).map_err(refused("a loan"))?;
                fill(loan.data_as_mut().map_err(refused("a header"))?, seq);
                let start = timer.source.start();
                loan.publish().map_err(refused("a loan's message"))?;
                start
            } else {
                fill(self.buffer.data_as_mut().map_err(refused("a header"))?, seq);
                let start = timer.source.start();
                self.out.send(&self.buffer).map_err(refused("a message"))?;
                start
            };
            self.answer(2 * seq, &timer.watch)?;
            let sample = timer.source.stop().since(start);
            self.answer(2 * seq + 1, &timer.watch)?;
            if number >= plan.warm_up {
                ticks.record(sample);
            }
        }
        Ok(Done::Round(Round::complete(plan, ticks)))
    }
}

impl Near {
    fn answer(&mut self, seq: u64, watch: &Watch) -> Result<(), WorkloadError> {
        Ok(watch.spin_until(|| self.answers.recv())?.check(seq)?)
    }
}

struct Far {
    back: Subscriber<Bytes>,
    answers: Publisher<Packet16>,
    is_lent: bool,
}

impl Driver for Far {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let Task::Echo(plan) = task else {
            return Err(WorkloadError::Unsuited);
        };
        for seq in plan.first_seq..plan.next_seq() {
            let answers = &mut self.answers;
            let mut answer = |seq| {
                answers
                    .send(Packet16::compose(seq))
                    .map_err(refused("an answer"))
            };
            if self.is_lent {
                let message = timer.watch.spin_until(|| self.back.borrow().transpose())?;
                let message = message.map_err(refused("a sample"))?;
                answer(2 * seq)?;
                verify(message.data_as().map_err(refused("a header"))?, seq)?;
            } else {
                let message = timer.watch.spin_until(|| self.back.recv())?;
                answer(2 * seq)?;
                verify(message.data_as().map_err(refused("a header"))?, seq)?;
            }
            answer(2 * seq + 1)?;
        }
        Ok(Done::Echo(Echo::complete(plan, Samples::new())))
    }
}

fn refused<E>(what: &'static str) -> impl Fn(E) -> WorkloadError {
    move |_| WorkloadError::Refused(what.to_owned())
}
