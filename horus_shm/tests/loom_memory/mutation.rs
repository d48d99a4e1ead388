//! Mutants of the lane protocol: a weakened edge, or a step that is left out.

use std::sync::atomic::Ordering;

use horus_shm::internals::sync::Edge;
use horus_testing::mutation;

pub(crate) use horus_testing::mutation::is_step_left_out;

/// Returns the ordering of an edge in the running model.
#[track_caller]
pub(crate) fn ordering(edge: Edge) -> Ordering {
    mutation::mutated_ordering(edge.label, edge.ordering)
}

/// Explores `execution`, with loom with at most `preemptions` involuntary switches.
pub(crate) fn explore(preemptions: usize, execution: impl Fn() + Send + Sync + 'static) {
    crate::checker::explore(preemptions, move || {
        mutation::count_execution();
        super::spare_all();
        execution();
    });
}
