//! Micro-benchmarks in one thread: a store and a load, a copy, a shared mapping, and a reading of
//! the timer.
//!
//! Each operation takes less time than reading the timer, so operations are timed in batches. A
//! sample is the time of one batch, so percentiles are percentiles of the means of batches.

use std::hint::black_box;
use std::sync::atomic::{self, AtomicU64};

use serde::{Deserialize, Serialize};

use crate::measure::lines::SharedCacheLines;
use crate::measure::stats::Samples;
use crate::measure::tsc::TickSource;

/// Number of operations in a batch, for operations that take about a nanosecond.
pub const WORD_OPERATIONS_PER_BATCH: u64 = 1024;

/// The result of a micro-benchmark: the times of its batches, and the number of operations.
#[derive(Debug, Serialize, Deserialize)]
pub struct BatchResult {
    /// The time of each batch, in ticks.
    pub batches: Samples,
    /// Number of operations in one batch.
    pub operations_per_batch: u64,
    /// Number of operations that were performed.
    pub operations: u64,
    /// Number of operations whose effect was verified and found correct.
    pub verified: u64,
}

impl BatchResult {
    /// Adds the result of another run. Panics if its batches have another length.
    pub fn merge(&mut self, other: &BatchResult) {
        assert_eq!(
            self.operations_per_batch, other.operations_per_batch,
            "batches of two lengths do not mix"
        );
        self.batches.merge(&other.batches);
        self.operations += other.operations;
        self.verified += other.verified;
    }
}

/// The plan of a micro-benchmark.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BatchPlan {
    pub source: TickSource,
    /// Number of warm-up batches, which are not part of the result.
    pub warm_up: u64,
    pub batches: u64,
}

impl BatchPlan {
    /// Creates a plan with `batches` timed batches, at least one, and a tenth of that as warm-up.
    pub fn new(source: TickSource, batches: u64) -> BatchPlan {
        let batches = batches.max(1);
        BatchPlan {
            source,
            warm_up: batches.div_ceil(10),
            batches,
        }
    }
}

/// Repeatedly stores a word (Release) and loads it back (Acquire). Each store depends on the load
/// before it. Measures the latency of forwarding a store to a load on one core. CPUs that can
/// predict that the load returns the stored word take one cycle for both.
pub fn measure_store_load(plan: &BatchPlan) -> BatchResult {
    let word = AtomicU64::new(0);
    let word = black_box(&word);
    increment_shared_word(plan, word, word)
}

/// Stores a word through one mapping of a file and loads it through another mapping of the same
/// page.
pub fn measure_mmap_write_read(
    plan: &BatchPlan,
    written_mapping: &SharedCacheLines,
    read_mapping: &SharedCacheLines,
) -> BatchResult {
    increment_shared_word(
        plan,
        &written_mapping.line(0).words[0],
        &read_mapping.line(0).words[0],
    )
}

/// Copies `N` bytes between two buffers in the cache, `copies_per_batch` times for each sample.
/// Compares the copy with its source after each batch.
pub fn measure_memcpy<const N: usize>(plan: &BatchPlan, copies_per_batch: u64) -> BatchResult {
    let mut from = Box::new([0; N]);
    let mut to = Box::new([0; N]);
    run_batches(plan, copies_per_batch, |number| {
        // Each batch copies other bytes, so that a copy not done would be found out.
        from[number as usize % N] = number as u8 ^ 0x5a;
        let start = plan.source.read_at_start();
        for _ in 0..copies_per_batch {
            let to: &mut [u8; N] = black_box(&mut to);
            to.copy_from_slice(black_box(from.as_slice()));
        }
        let ticks = plan.source.read_at_end().since(start);
        (ticks, from == to)
    })
}

/// Repeatedly loads a number from `read_word` and stores that number plus 1 to `written_word`,
/// which is the same word, through one mapping or through two.
fn increment_shared_word(
    plan: &BatchPlan,
    written_word: &AtomicU64,
    read_word: &AtomicU64,
) -> BatchResult {
    run_batches(plan, WORD_OPERATIONS_PER_BATCH, |number| {
        let start = plan.source.read_at_start();
        for _ in 0..WORD_OPERATIONS_PER_BATCH {
            // ORDERING(micro): Acquire. Pairs with the Release below, as the two ends of a ring
            // would.
            let value = read_word.load(atomic::Ordering::Acquire);
            // ORDERING(micro): Release. Pairs with the Acquire above.
            written_word.store(value + 1, atomic::Ordering::Release);
        }
        let ticks = plan.source.read_at_end().since(start);
        // Relaxed: one thread.
        (
            ticks,
            read_word.load(atomic::Ordering::Relaxed) == (number + 1) * WORD_OPERATIONS_PER_BATCH,
        )
    })
}

/// Calls `run_batch` with the number of each batch of `plan`. It returns the ticks that the batch
/// took, and true if the result of the batch was correct.
pub(crate) fn run_batches(
    plan: &BatchPlan,
    operations_per_batch: u64,
    mut run_batch: impl FnMut(u64) -> (u64, bool),
) -> BatchResult {
    let mut micro = BatchResult {
        batches: Samples::new(),
        operations_per_batch,
        operations: 0,
        verified: 0,
    };
    for number in 0..plan.warm_up + plan.batches {
        let (ticks, right) = run_batch(number);
        if number < plan.warm_up {
            continue;
        }
        micro.batches.record(ticks);
        micro.operations += operations_per_batch;
        micro.verified += if right { operations_per_batch } else { 0 };
    }
    micro
}
