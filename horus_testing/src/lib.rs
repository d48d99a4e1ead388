//! Support that the test binaries of the workspace share: a time limit, a record of skipped tests,
//! and mutants of models.
//!
//! A test binary needs only the line `use horus_testing as _;`: the limit is armed before `main`. A
//! tidy test checks that every test binary has the line.

// WHY not with miri: it has no timers.
#[cfg(not(miri))]
mod limit;
pub mod mutation;
mod skips;

pub use skips::{record_skips_of_child, skip};
