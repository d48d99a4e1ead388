//! Counters and latencies of a topic, which cost its publishers and readers almost nothing.
//!
//! Each counter is a word in a block that only one process writes, so counting is a plain store to
//! a cache line that this process already has. Latency is sampled: the publisher stores the time of
//! every [`MESSAGES_PER_SAMPLE`]th message in its lane's block, and a reader that receives the
//! message before the next sample is stored adds the time difference to a histogram in the reader's
//! block. Readers and writers of messages do not depend on this data.

use std::time::Duration;

use crate::protocol::layout::{LaneBlock, ReaderBlock};
use crate::protocol::sync::Word;

/// The latency is measured for one message out of this number of messages. WHY not for all: reading
/// the clock costs some 20 ns.
pub const MESSAGES_PER_SAMPLE: u64 = 256;

/// Number of low bits of a sample's word that hold the position divided by [`MESSAGES_PER_SAMPLE`].
/// The other bits hold the time in nanoseconds.
const SAMPLE_POSITION_BITS: u32 = 24;
const SAMPLE_TIME_MASK: u64 = u64::MAX >> SAMPLE_POSITION_BITS;
const SAMPLE_POSITION_MASK: u64 = (1 << SAMPLE_POSITION_BITS) - 1;

/// Number of buckets of a histogram. Their bounds are powers of two, and each 64-bit word holds the
/// counts of four buckets.
pub const LATENCY_BUCKETS: usize = 32;
const BUCKET_COUNT_BITS: u32 = 16;
const BUCKETS_PER_WORD: usize = 4;
const BUCKET_COUNT_MAX: u64 = (1 << BUCKET_COUNT_BITS) - 1;
/// Binary logarithm of the upper bound of the first bucket in nanoseconds. Bucket i counts
/// latencies below 2^(i + 5) ns that are not in an earlier bucket: the first one below 32 ns, the
/// last one all above half a minute.
const FIRST_BUCKET_BOUND_LOG2_NS: u32 = 5;

/// Returns true if the message at position `pos` is one of those whose latency is measured.
#[inline(always)]
pub(crate) const fn is_latency_sampled(pos: u64) -> bool {
    pos.is_multiple_of(MESSAGES_PER_SAMPLE)
}

/// Returns the number of messages from the one at position `pos` up to, and including, the next one
/// whose latency is measured.
pub(crate) const fn messages_until_sample(pos: u64) -> u64 {
    pos.wrapping_neg() % MESSAGES_PER_SAMPLE + 1
}

/// Returns the low 40 bits of a time of CLOCK_MONOTONIC in nanoseconds. These bits fit into a
/// sample's word, and wrap around after 18 minutes.
fn sample_time_ns(now: Duration) -> u64 {
    now.as_nanos() as u64 & SAMPLE_TIME_MASK
}

/// Stores the time `now` (CLOCK_MONOTONIC) in a lane's block, as the time at which the message at
/// `pos` is published. Readers compute the latency of the message from it.
#[cold]
pub(crate) fn record_publication_time<W: Word>(
    block: &LaneBlock<W>,
    pos: u64,
    now: impl FnOnce() -> Duration,
) {
    // Relaxed: a single word, which includes the position.
    block.sample.set(
        sample_time_ns(now()) << SAMPLE_POSITION_BITS
            | (pos / MESSAGES_PER_SAMPLE) & SAMPLE_POSITION_MASK,
    );
}

/// Adds the latency of the message at `pos` to a reader's histogram, unless the publisher has
/// already replaced the sample of that message.
#[cold]
pub(crate) fn record_latency_of_message<W: Word>(
    block: &LaneBlock<W>,
    pos: u64,
    now: impl FnOnce() -> Duration,
    reader: &ReaderBlock<W>,
) {
    // Relaxed: as above; the publisher's store came before the stamp that was seen.
    let sample = block.sample.get();
    if sample & SAMPLE_POSITION_MASK == (pos / MESSAGES_PER_SAMPLE) & SAMPLE_POSITION_MASK
        && sample != 0
    {
        let taken_ns =
            sample_time_ns(now()).wrapping_sub(sample >> SAMPLE_POSITION_BITS) & SAMPLE_TIME_MASK;
        add_sample(&reader.latency, taken_ns);
    }
}

/// Adds a latency of `taken_ns` nanoseconds to the histogram in `words`. Only the owner of the
/// histogram may call this function.
fn add_sample<W: Word>(words: &[W; LATENCY_BUCKETS / BUCKETS_PER_WORD], taken_ns: u64) {
    let bucket = (u64::BITS - taken_ns.leading_zeros()).saturating_sub(FIRST_BUCKET_BOUND_LOG2_NS);
    let bucket = (bucket as usize).min(LATENCY_BUCKETS - 1);
    let (word, shift) = bucket_word_and_shift(bucket);
    if words[word].get() >> shift & BUCKET_COUNT_MAX == BUCKET_COUNT_MAX {
        // WHY: when one count is full, all are halved: old samples fade, and the shares stay the
        // same.
        let halved = u64::MAX / BUCKET_COUNT_MAX * (BUCKET_COUNT_MAX >> 1);
        words
            .iter()
            .for_each(|word| word.set(word.get() >> 1 & halved));
    }
    // WHY wrapping: a misbehaving process may have written here since.
    words[word].set(words[word].get().wrapping_add(1 << shift));
}

const fn bucket_word_and_shift(bucket: usize) -> (usize, u32) {
    (
        bucket / BUCKETS_PER_WORD,
        (bucket % BUCKETS_PER_WORD) as u32 * BUCKET_COUNT_BITS,
    )
}

/// A histogram of the latencies of sampled messages, from the call of `send` to the return from
/// `recv`. The bounds of its buckets are powers of two.
///
/// Latencies are known modulo 2^40 ns: if a message has waited for more than 18 minutes and 19
/// seconds, that time is subtracted from its latency, once or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latencies {
    counts: [u16; LATENCY_BUCKETS],
}

impl Latencies {
    /// Returns a copy of the histogram in the block of a reader.
    pub(crate) fn of_reader<W: Word>(reader: &ReaderBlock<W>) -> Self {
        let counts = std::array::from_fn(|bucket| {
            let (word, shift) = bucket_word_and_shift(bucket);
            // Relaxed: counters for people.
            (reader.latency[word].get() >> shift & BUCKET_COUNT_MAX) as u16
        });
        Self { counts }
    }

    /// Returns for each bucket the number of latencies in it, and the upper bound of these
    /// latencies. The last bucket also counts all longer latencies.
    pub fn buckets(&self) -> impl Iterator<Item = (u16, Duration)> {
        let bound =
            |bucket| Duration::from_nanos(1_u64 << (FIRST_BUCKET_BOUND_LOG2_NS as usize + bucket));
        self.counts
            .into_iter()
            .enumerate()
            .map(move |(bucket, count)| (count, bound(bucket)))
    }

    /// Returns the number of samples. In a long run, old samples are gradually removed from the
    /// histogram, and not counted here.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Returns an upper bound of the latency that the fraction `share` (0 to 1) of the samples does
    /// not exceed. The bound is at most twice the exact value for latencies from 16 ns to a minute.
    /// Returns `None` if there are no samples.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let wanted = (share.clamp(0.0, 1.0) * self.samples() as f64)
            .ceil()
            .max(1.0) as u64;
        let mut seen = 0;
        self.buckets().find_map(|(count, bound)| {
            seen += u64::from(count);
            (seen >= wanted).then_some(bound)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn a_histogram_counts_by_powers_of_two_and_fades() {
        let reader = ReaderBlock::<AtomicU64>::default();
        for (taken_ns, below_ns) in [(0, 32), (31, 32), (32, 64), (1000, 1024), (1024, 2048)] {
            reader.latency.iter().for_each(|word| word.set(0));
            add_sample(&reader.latency, taken_ns);
            let bound = Latencies::of_reader(&reader).percentile(0.5);
            assert_eq!(bound, Some(Duration::from_nanos(below_ns)), "{taken_ns}");
        }
        add_sample(&reader.latency, u64::MAX);
        for _ in 0..200_000 {
            add_sample(&reader.latency, 100);
        }
        let latencies = Latencies::of_reader(&reader);
        assert!(latencies.samples() > 30_000, "{latencies:?}");
        assert_eq!(latencies.percentile(1.0), Some(Duration::from_nanos(128)));
        assert_eq!(
            Latencies::of_reader(&ReaderBlock::<AtomicU64>::default()).percentile(0.5),
            None
        );
    }

    #[test]
    fn a_sample_counts_only_for_its_own_message() {
        let lane = LaneBlock::<AtomicU64>::default();
        let reader = ReaderBlock::default();
        let at = |ns| move || Duration::from_nanos(ns);
        record_latency_of_message(&lane, 0, at(50), &reader);
        record_publication_time(&lane, MESSAGES_PER_SAMPLE, at(100));
        record_latency_of_message(&lane, 2 * MESSAGES_PER_SAMPLE, at(200), &reader);
        assert_eq!(Latencies::of_reader(&reader).samples(), 0);
        record_latency_of_message(&lane, MESSAGES_PER_SAMPLE, at(200), &reader);
        assert_eq!(
            Latencies::of_reader(&reader).percentile(1.0),
            Some(Duration::from_nanos(128))
        );
    }
}
