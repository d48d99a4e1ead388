//! Every operation is counted and verified.

use horus_benchmarks::measure::lines::SharedCacheLines;
use horus_benchmarks::measure::micro::*;
use horus_benchmarks::measure::tsc::TickSource;

fn plan() -> BatchPlan {
    BatchPlan {
        source: TickSource::detect(),
        warm_up: 3,
        batches: 20,
    }
}

fn all_verified(micro: &BatchResult, batch: u64) {
    assert_eq!(micro.batches.count(), 20);
    assert_eq!(
        (micro.operations_per_batch, micro.operations, micro.verified),
        (batch, 20 * batch, 20 * batch)
    );
}

#[test]
fn every_operation_is_counted_and_verified() {
    all_verified(&measure_store_load(&plan()), WORD_OPERATIONS_PER_BATCH);
    all_verified(&measure_memcpy::<8>(&plan(), 64), 64);
    all_verified(&measure_memcpy::<1024>(&plan(), 1), 1);
    let first = SharedCacheLines::create().unwrap();
    let second = first.map_again().unwrap();
    all_verified(
        &measure_mmap_write_read(&plan(), &first, &second),
        WORD_OPERATIONS_PER_BATCH,
    );
}

#[test]
fn two_memories_are_not_taken_for_one() {
    let one = SharedCacheLines::create().unwrap();
    let other = SharedCacheLines::create().unwrap();
    assert_eq!(measure_mmap_write_read(&plan(), &one, &other).verified, 0);
}
