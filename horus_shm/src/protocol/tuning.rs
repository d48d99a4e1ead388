//! The settings that depend on the CPU: how messages are copied, how long a polling reader pauses
//! between polls, how channels publish small messages, and how a reader maps slots.
//!
//! This module does not examine the CPU. `os::cpu` chooses the settings once, before the process
//! opens its first topic, or creates its first channel that depends on them. Until then the
//! defaults are used, which work on every CPU. Every endpoint reads the settings from one word.

use core::fmt;
use core::sync::atomic::AtomicU64;

use super::sync::Word;

/// The vector registers by which messages of more than 64 bytes are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vectors {
    /// SSE2 registers of 16 bytes, which every x86-64 CPU has. On CPUs of other architectures,
    /// messages are copied in 64-bit words instead.
    #[default]
    Sse2,
    /// AVX registers, which have 32 bytes.
    Avx,
    /// AVX-512 registers, which have 64 bytes, so that one store writes a whole cache line.
    Avx512,
}

/// The pauses that a reader makes between two polls that find no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pauses {
    /// The reader polls again without a pause.
    None,
    /// The reader executes one PAUSE instruction between two polls.
    One,
    /// The reader executes one or two PAUSE instructions between two polls, chosen at random.
    #[default]
    OneOrTwo,
}

/// The settings of copies and polls in this process, which were chosen for its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// The registers by which messages shorter than [`Self::string_copy_bytes_min`] are copied.
    pub vectors: Vectors,
    /// The pauses of a reader that reads only one lane.
    pub pauses: Pauses,
    /// Minimum length in bytes of the messages that are copied into a slot by one string
    /// instruction (`rep movsb`); [`Self::NO_STRING_COPY`] if no message is copied in that way.
    pub string_copy_bytes_min: u32,
    /// True if a writer moves the cache lines of a single message to a cache that the cores share,
    /// so that its reader finds them there. This is not done for messages that follow each other
    /// quickly.
    pub demotes_lines: bool,
    /// True if the sender of an `spsc` channel publishes messages of 1 to 8 and of 64 bytes by the
    /// channel's head. They then follow each other in memory without gaps. False if it publishes
    /// them by a stamp in each message's slot, as it publishes messages of other lengths.
    pub publishes_by_head: bool,
    /// True if a reader whose user has declared that the topic has no other reader maps the slots
    /// writable, though it never stores to them.
    pub maps_slots_writable: bool,
}

/// The [`Tuning`] of this process, encoded in one word. 0 means that none was chosen, so that the
/// default is used.
static CHOSEN_TUNING: AtomicU64 = AtomicU64::new(0);

impl Tuning {
    /// The value of [`Self::string_copy_bytes_min`] that means that no copy uses a string
    /// instruction.
    pub const NO_STRING_COPY: u32 = u32::MAX;

    /// Returns the settings that this process uses at the moment. Costs one load.
    #[inline(always)]
    #[must_use]
    pub fn current() -> Self {
        // Relaxed: one word, and any settings are correct.
        Self::unpack(CHOSEN_TUNING.get())
    }

    /// Makes `self` the settings of this process. Copies that have already begun are not affected.
    pub(crate) fn set_current(self) {
        // Relaxed: as in `current`.
        CHOSEN_TUNING.set(self.pack());
    }

    /// Makes `self` the settings of this process unless some were chosen before. Returns the
    /// settings that this process uses.
    pub(crate) fn get_or_set_current(self) -> Self {
        // Relaxed: as in `current`.
        CHOSEN_TUNING.compare_exchange_relaxed(0, self.pack());
        Self::current()
    }

    const fn pack(self) -> u64 {
        // WHY inverted: then 0 stands for the default, which is no string copy.
        let bytes_min = !self.string_copy_bytes_min as u64;
        let pauses = match self.pauses {
            Pauses::OneOrTwo => 0,
            Pauses::One => 1,
            Pauses::None => 2,
        };
        let flags = (self.maps_slots_writable as u64) << 2
            | (self.publishes_by_head as u64) << 1
            | self.demotes_lines as u64;
        bytes_min << 32 | flags << 16 | pauses << 8 | self.vectors as u64
    }

    #[inline(always)]
    const fn unpack(word: u64) -> Self {
        Self {
            vectors: match word as u8 {
                0 => Vectors::Sse2,
                1 => Vectors::Avx,
                _ => Vectors::Avx512,
            },
            pauses: match (word >> 8) as u8 {
                0 => Pauses::OneOrTwo,
                1 => Pauses::One,
                _ => Pauses::None,
            },
            string_copy_bytes_min: !((word >> 32) as u32),
            demotes_lines: word >> 16 & 1 == 1,
            publishes_by_head: word >> 17 & 1 == 1,
            maps_slots_writable: word >> 18 & 1 == 1,
        }
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vectors = match self.vectors {
            Vectors::Sse2 => "words and SSE2",
            Vectors::Avx => "AVX",
            Vectors::Avx512 => "AVX-512",
        };
        write!(f, "copies by {vectors}")?;
        if self.string_copy_bytes_min != Self::NO_STRING_COPY {
            let from = self.string_copy_bytes_min;
            write!(f, ", from {from} B on into slots by `rep movsb`")?;
        }
        let pauses = match self.pauses {
            Pauses::None => "no pause",
            Pauses::One => "one pause",
            Pauses::OneOrTwo => "one or two pauses",
        };
        write!(f, "; {pauses} between empty polls")?;
        if self.demotes_lines {
            write!(f, "; lines handed over")?;
        }
        if self.publishes_by_head {
            write!(
                f,
                "; spsc messages of 1 to 8 and of 64 B published by the head"
            )?;
        }
        if self.maps_slots_writable {
            write!(f, "; slots mapped writable by a topic's only subscriber")?;
        }
        Ok(())
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::unpack(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_word() {
        for vectors in [Vectors::Sse2, Vectors::Avx, Vectors::Avx512] {
            for pauses in [Pauses::None, Pauses::One, Pauses::OneOrTwo] {
                for string_copy_bytes_min in [0, 65, 2048, Tuning::NO_STRING_COPY] {
                    let tuning = Tuning {
                        vectors,
                        pauses,
                        string_copy_bytes_min,
                        demotes_lines: true,
                        publishes_by_head: pauses == Pauses::One,
                        maps_slots_writable: pauses == Pauses::None,
                    };
                    assert_eq!(Tuning::unpack(tuning.pack()), tuning);
                }
            }
        }
    }

    #[test]
    fn the_default_works_on_every_cpu() {
        let default = Tuning::default();
        assert_eq!(default.vectors, Vectors::Sse2);
        assert_eq!(default.string_copy_bytes_min, Tuning::NO_STRING_COPY);
    }
}
