//! The settings that suit the CPU: the routine of a copy, and the pauses of a reader that polls.
//!
//! Nothing here looks at the CPU. `os::cpu` chooses the settings once, before the process opens its
//! first topic, and every endpoint reads them from one word. Until then the defaults hold, which
//! work on every CPU.

use core::fmt;
use core::sync::atomic::AtomicU64;

use super::sync::Word;

/// The vector registers with which a message of more than 64 bytes is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vectors {
    /// 16 bytes each; every x86-64 has them. Other CPUs copy 64-bit words.
    #[default]
    Sse2,
    /// 32 bytes each.
    Avx,
    /// 64 bytes each: one store writes a whole cache line.
    Avx512,
}

/// The pauses of a reader between two empty polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pauses {
    /// The reader polls again at once.
    None,
    /// One PAUSE instruction.
    One,
    /// One or two, at random.
    #[default]
    OneOrTwo,
}

/// The settings of copies and polls in this process, which depend on its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// The registers of copies that are shorter than [`Self::string_copy_bytes_min`].
    pub vectors: Vectors,
    /// The pauses of a reader that follows one lane.
    pub pauses: Pauses,
    /// Minimum length in bytes of a copy into a slot that is one string instruction (`rep movsb`);
    /// [`Self::NO_STRING_COPY`] if none is.
    pub string_copy_bytes_min: u32,
    /// True if a writer moves the cache lines of a single message to a cache that the cores share,
    /// so that its reader finds them there. Messages of a stream are not moved.
    pub demotes_lines: bool,
}

/// The [`Tuning`] of this process, packed into a word. 0 stands for the default.
static CHOSEN_TUNING: AtomicU64 = AtomicU64::new(0);

impl Tuning {
    /// Value of [`Self::string_copy_bytes_min`] with which no copy is a string instruction.
    pub const NO_STRING_COPY: u32 = u32::MAX;

    /// Returns the settings that this process uses now. Costs one load.
    #[inline(always)]
    #[must_use]
    pub fn current() -> Self {
        // Relaxed: one word, and any settings are correct.
        Self::unpack(CHOSEN_TUNING.get())
    }

    /// Makes these the settings of the process. Copies that are under way go on as they began.
    pub(crate) fn set_current(self) {
        // Relaxed: as in `current`.
        CHOSEN_TUNING.set(self.pack());
    }

    const fn pack(self) -> u64 {
        // WHY inverted: then 0 stands for the default, which is no string copy.
        let bytes_min = !self.string_copy_bytes_min as u64;
        let pauses = match self.pauses {
            Pauses::OneOrTwo => 0,
            Pauses::One => 1,
            Pauses::None => 2,
        };
        bytes_min << 32 | (self.demotes_lines as u64) << 16 | pauses << 8 | self.vectors as u64
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
