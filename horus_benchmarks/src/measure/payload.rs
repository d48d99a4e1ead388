//! Messages in which every bit is computed from the sequence number, so that each can be verified.

use std::hint::black_box;

use bytemuck::{Pod, Zeroable};

/// Number of bits of a message's first word that hold the sequence number.
const SEQ_BITS: u32 = 40;

const SEQ_MASK: u64 = (1 << SEQ_BITS) - 1;

/// The error for a received message that differs from the message that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("message {expected_seq} arrived corrupt or out of order (its first word says {found_seq})")]
pub struct CorruptMessage {
    /// The sequence number that was expected.
    pub expected_seq: u64,
    /// The sequence number in the message. It may be corrupt as well.
    pub found_seq: u64,
}

impl CorruptMessage {
    pub(crate) const fn new(expected_seq: u64, found_seq: u64) -> CorruptMessage {
        CorruptMessage {
            expected_seq,
            found_seq,
        }
    }
}

/// A message made of words, whose content is computed from a sequence number and can be checked
/// against it.
///
/// The first word has the sequence number and a checksum of it and of the stamp. The second word is
/// the stamp, and the other words are computed from the sequence number. A message of one word is
/// too small to hold a stamp. Sequence numbers start at 1 and stay below 2^40.
pub trait Payload: Pod + Send + Sync {
    /// Size of the message in bytes.
    const BYTES: usize = size_of::<Self>();

    /// Creates the message with the sequence number `seq` and a stamp of 0.
    #[inline]
    fn compose(seq: u64) -> Self {
        let mut message = Self::zeroed();
        let words = as_words_mut(&mut message);
        for (index, word) in words.iter_mut().enumerate().skip(2) {
            *word = filler_word(seq, index);
        }
        words[0] = seq_and_checksum_word(seq, 0);
        message
    }

    /// Writes `stamp` into the message: the time of the send in ticks, or any other number. Does
    /// nothing if the message is too small to hold a stamp.
    #[inline]
    fn set_stamp(&mut self, stamp: u64) {
        let seq = self.seq();
        let words = as_words_mut(self);
        if words.len() > 1 {
            words[1] = stamp;
            words[0] = seq_and_checksum_word(seq, stamp);
        }
    }

    /// Returns the stamp of the message; 0 if the message is too small to hold one.
    #[inline]
    fn stamp(&self) -> u64 {
        as_words(self).get(1).copied().unwrap_or(0)
    }

    /// Returns the sequence number in the message's first word, without verifying it.
    #[inline]
    fn seq(&self) -> u64 {
        as_words(self)[0] & SEQ_MASK
    }

    /// Returns true if every bit has the value that follows from the message's sequence number and
    /// stamp.
    #[inline]
    fn is_intact(&self) -> bool {
        let words = as_words(self);
        let seq = self.seq();
        let mut difference = words[0] ^ seq_and_checksum_word(seq, self.stamp());
        for (index, word) in words.iter().enumerate().skip(2) {
            difference |= word ^ filler_word(seq, index);
        }
        // WHY: else each word becomes a branch, of five instructions in the loops of some of those
        // who are compared with each other, and of seven in those of others.
        if words.len() > 2 {
            difference = black_box(difference);
        }
        difference == 0
    }

    /// Verifies that this is the message `expected_seq`, and that it is intact.
    #[inline]
    fn verify(&self, expected_seq: u64) -> Result<(), CorruptMessage> {
        let found_seq = self.seq();
        if found_seq == expected_seq && self.is_intact() {
            return Ok(());
        }
        Err(CorruptMessage::new(expected_seq, found_seq))
    }
}

/// `[u64; 2]`, `[u64; 38]` and `[u64; 185]` have the sizes of `CmdVel`, `Imu` and `LaserScan`: 16,
/// 304 and 1480 bytes.
impl<const N: usize> Payload for [u64; N] {}

/// A message of one word, which is its sequence number. The floor sends such messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroable, Pod)]
#[repr(transparent)]
pub struct SeqMessage(pub u64);

impl Payload for SeqMessage {
    #[inline(always)]
    fn compose(seq: u64) -> Self {
        SeqMessage(seq)
    }

    #[inline(always)]
    fn seq(&self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn is_intact(&self) -> bool {
        true
    }
}

#[inline(always)]
fn as_words<P: Pod>(message: &P) -> &[u64] {
    bytemuck::cast_slice(std::slice::from_ref(message))
}

#[inline(always)]
fn as_words_mut<P: Pod>(message: &mut P) -> &mut [u64] {
    bytemuck::cast_slice_mut(std::slice::from_mut(message))
}

/// Returns the name of a message size in the ids of rows: `16B`, `304B`, `64KB`.
pub fn size_label(bytes: usize) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) {
        format!("{}KB", bytes / 1024)
    } else {
        format!("{bytes}B")
    }
}

/// Returns the word with this index, from 2 on, of the message `seq`.
#[inline(always)]
pub(crate) fn filler_word(seq: u64, index: usize) -> u64 {
    seq.wrapping_add((index as u64) << 32) ^ 0x5bd1_e995_a5a5_c3c3
}

#[inline(always)]
fn seq_and_checksum_word(seq: u64, stamp: u64) -> u64 {
    let mixed = (seq ^ stamp.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (seq & SEQ_MASK) | (mixed & !SEQ_MASK)
}
