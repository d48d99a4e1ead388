//! Large messages over a topic, copied in and out, or written and read in their slots.
//!
//! The far side answers with a small message as soon as it has received the large one, then
//! verifies every word of it and sends a second answer. The time is measured from before the send
//! until after the first answer.

use std::io;

use horus_core::message::{Bytes, BytesHeader};
use horus_core::topic::{Publisher, Qos, Subscriber, Topic};

use crate::measure::payload::{CorruptMessage, Payload, filler_word};
use crate::measure::workload::{WorkloadError, refused_call_error};
use crate::transport::carrier::{Carrier, Transport};
use crate::transport::driver::{self, Driver};
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::{OpenResult, Rendezvous};

/// Number of messages that the topic for large messages can hold.
pub const LARGE_TOPIC_CAPACITY: u64 = 4;

/// Fills a message with words that are computed from the sequence number `seq`.
pub fn fill_words(words: &mut [u64], seq: u64) {
    for (index, word) in words.iter_mut().enumerate() {
        *word = filler_word(seq, index);
    }
}

/// Checks that `words` are those that [`fill_words`] writes for the sequence number `seq`.
pub fn verify_words(words: &[u64], seq: u64) -> Result<(), CorruptMessage> {
    // No early exit, so that the loop becomes vector code.
    let differs = |difference, (index, word)| difference | (word ^ filler_word(seq, index));
    match words.iter().enumerate().fold(0, differs) {
        0 => Ok(()),
        _ => Err(CorruptMessage::new(
            seq,
            words.first().copied().unwrap_or(0),
        )),
    }
}

pub(super) fn open(transport: Transport, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let bytes = transport.size.bytes();
    let is_loaned = transport.carrier == Carrier::LargeLoan;
    let [out, back] = rendezvous.directions();
    let room = (size_of::<BytesHeader>() + bytes) as u64;
    let large = |name: &str| {
        let builder = Topic::<Bytes>::builder(name).namespace(rendezvous.namespace);
        builder
            .max_message_bytes(room)
            .qos(Qos::new().capacity(LARGE_TOPIC_CAPACITY))
    };
    let small = |name: &str| Topic::<Packet16>::builder(name).namespace(rendezvous.namespace);
    if rendezvous.is_near_end() {
        let out = large(&out.name).publisher()?;
        let answers = small(&back.name).subscriber()?;
        let buffer = Bytes::zeroed(BytesHeader::new(bytes as u64)).map_err(io::Error::other)?;
        return Ok(near_driver(out, answers, buffer, is_loaned));
    }
    let back = large(&back.name).subscriber()?;
    let answers = small(&out.name).publisher()?;
    Ok(far_end_driver(back, answers, is_loaned))
}

/// Returns a driver for the near side. Messages that are copied are composed in `buffer`.
fn near_driver(
    mut out: Publisher<Bytes>,
    mut answers: Subscriber<Packet16>,
    mut buffer: Bytes,
    is_loaned: bool,
) -> Driver {
    driver::message_driver(move |seq, timer| {
        let mut await_answer = |seq| -> Result<(), WorkloadError> {
            let answer = timer.watch.spin_until(|| answers.recv())?;
            Ok(answer.verify(seq)?)
        };
        let start = if is_loaned {
            let mut loan = out.loan(*buffer).map_err(refused_call_error)?;
            fill_words(loan.data_as_mut().map_err(refused_call_error)?, seq);
            let start = timer.source.read_at_start();
            loan.publish().map_err(refused_call_error)?;
            start
        } else {
            fill_words(buffer.data_as_mut().map_err(refused_call_error)?, seq);
            let start = timer.source.read_at_start();
            out.send(&buffer).map_err(refused_call_error)?;
            start
        };
        await_answer(2 * seq)?;
        let ticks = timer.source.read_at_end().since(start);
        await_answer(2 * seq + 1)?;
        Ok(Some(ticks))
    })
}

/// Returns a driver for the far side, which verifies the messages.
fn far_end_driver(
    mut back: Subscriber<Bytes>,
    mut answers: Publisher<Packet16>,
    is_loaned: bool,
) -> Driver {
    driver::message_driver(move |seq, timer| {
        let mut answer = |seq| {
            let sent = answers.send(Packet16::compose(seq));
            sent.map_err(refused_call_error)
        };
        if is_loaned {
            let message = timer.watch.spin_until(|| back.borrow().transpose())?;
            let message = message.map_err(refused_call_error)?;
            answer(2 * seq)?;
            verify_words(message.data_as().map_err(refused_call_error)?, seq)?;
        } else {
            let message = timer.watch.spin_until(|| back.recv())?;
            answer(2 * seq)?;
            verify_words(message.data_as().map_err(refused_call_error)?, seq)?;
        }
        answer(2 * seq + 1)?;
        Ok(None)
    })
}
