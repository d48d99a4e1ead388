//! Support that every test binary of the workspace links: a time limit, a record of skips, and
//! mutants of models.
//!
//! A test binary needs the line `use horus_testing as _;`, and no call: the limit is armed before
//! `main`. A tidy test checks that every test binary has the line.

// WHY: miri has no timers.
#[cfg(not(miri))]
mod limit;
pub mod mutation;
mod skips;

pub use skips::{repeat_skips, skip};
