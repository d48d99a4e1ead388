//! Messages whose every bit follows from their sequence number, so that each can be verified.

use std::hint::black_box;

/// Bits of the first word that hold the sequence number; the others hold a tag over it.
const SEQ_BITS: u32 = 40;

const SEQ_MASK: u64 = (1 << SEQ_BITS) - 1;

/// A message that is not what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("message {expected_seq} arrived corrupt or out of order (its first word says {found_seq})")]
pub struct Corrupt {
    /// The sequence number that was due.
    pub expected_seq: u64,
    /// The sequence number that the message has, if that can be trusted.
    pub found_seq: u64,
}

/// A message that is made from a sequence number and checked against one.
///
/// Sequence numbers start at 1 and stay below 2^40.
pub trait Payload: Copy {
    /// Bytes of one message.
    const BYTES: usize;

    /// The message number `seq`, with a stamp of 0.
    fn compose(seq: u64) -> Self;

    /// Puts `stamp` (ticks, or anything) into the message. No effect if there is no room for it.
    fn restamp(&mut self, stamp: u64);

    /// The stamp; 0 if there is no room for one.
    fn stamp(&self) -> u64;

    /// The sequence number, not verified.
    fn seq(&self) -> u64;

    /// True if every bit is as composed for its sequence number and stamp.
    fn is_intact(&self) -> bool;

    /// Verifies that this is message `expected_seq`, whole.
    #[inline]
    fn check(&self, expected_seq: u64) -> Result<(), Corrupt> {
        let found_seq = self.seq();
        if found_seq == expected_seq && self.is_intact() {
            return Ok(());
        }
        Err(Corrupt {
            expected_seq,
            found_seq,
        })
    }
}

/// `N` words: sequence number with a tag over it and the stamp, the stamp, then words that follow
/// from the sequence number. `[u64; 2]`, `[u64; 38]` and `[u64; 185]` have the sizes of `CmdVel`,
/// `Imu` and `LaserScan`: 16, 304 and 1480 bytes. `[u64; 1]` has no room for a stamp.
impl<const N: usize> Payload for [u64; N] {
    const BYTES: usize = N * size_of::<u64>();

    #[inline]
    fn compose(seq: u64) -> Self {
        const { assert!(N >= 1, "needs a word for the number") };
        let mut words = [0; N];
        for (index, word) in words.iter_mut().enumerate().skip(2) {
            *word = filler(seq, index);
        }
        words[0] = tagged(seq, 0);
        words
    }

    #[inline]
    fn restamp(&mut self, stamp: u64) {
        if let Some(word) = self.get_mut(1) {
            *word = stamp;
            self[0] = tagged(self.seq(), stamp);
        }
    }

    #[inline]
    fn stamp(&self) -> u64 {
        self.get(1).copied().unwrap_or(0)
    }

    #[inline]
    fn seq(&self) -> u64 {
        self[0] & SEQ_MASK
    }

    #[inline]
    fn is_intact(&self) -> bool {
        let seq = self.seq();
        let mut difference = self[0] ^ tagged(seq, self.stamp());
        for (index, word) in self.iter().enumerate().skip(2) {
            difference |= word ^ filler(seq, index);
        }
        // WHY: else each word becomes a branch, of five instructions in the loops of some of those
        // who are compared with each other, and of seven in those of others.
        if N > 2 {
            difference = black_box(difference);
        }
        difference == 0
    }
}

/// One word that is nothing but its number: what the floor sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seq(pub u64);

impl Payload for Seq {
    const BYTES: usize = size_of::<u64>();

    #[inline(always)]
    fn compose(seq: u64) -> Self {
        Seq(seq)
    }

    #[inline(always)]
    fn restamp(&mut self, _stamp: u64) {}

    #[inline(always)]
    fn stamp(&self) -> u64 {
        0
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

/// `16B`, `304B`, `64KB`: how a payload is named in ids.
pub fn size_label(bytes: usize) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) {
        format!("{}KB", bytes / 1024)
    } else {
        format!("{bytes}B")
    }
}

#[inline(always)]
fn filler(seq: u64, index: usize) -> u64 {
    seq.wrapping_add((index as u64) << 32) ^ 0x5bd1_e995_a5a5_c3c3
}

#[inline(always)]
fn tagged(seq: u64, stamp: u64) -> u64 {
    let mixed = (seq ^ stamp.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (seq & SEQ_MASK) | (mixed & !SEQ_MASK)
}
