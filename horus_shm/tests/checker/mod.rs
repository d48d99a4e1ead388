//! The checker loom: the types of which the memory of the models is made.

pub(crate) use std::rc::Rc as Shared;

pub(crate) use loom::{cell, sync, thread};

/// Does nothing: a dead thread runs on, without a store.
pub(crate) fn perish() {}

/// Explores every execution with at most `preemptions` involuntary switches, or with as many as
/// `LOOM_MAX_PREEMPTIONS` says.
pub(crate) fn explore(preemptions: usize, execution: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 20_000;
    builder.check(execution);
}
