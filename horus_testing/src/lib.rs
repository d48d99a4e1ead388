//! Support code for all test binaries of the workspace: a time limit, a record of skipped tests,
//! and mutation tests of models.
//!
//! To have the time limit, a test binary needs only the line `use horus_testing as _;`, because the
//! limit is set before `main` runs. A tidy test checks that every test binary has this line.

// WHY not with miri: it has no timers.
#[cfg(not(miri))]
mod limit;
pub mod mutation;
mod skips;

pub use skips::{record_skips_of_child, skip};
