//! Support code for all test binaries of the workspace: a time limit, a record of skipped tests,
//! and mutation tests of models.
//!
//! To set the time limit, a test binary needs only the line `use horus_testing as _;`: the library
//! sets the limit before `main` runs. A tidy test checks that every test binary has this line.

// WHY not with miri: it has no timers.
#[cfg(not(miri))]
mod limit;
pub mod mutation;
mod skips;

pub use skips::{record_skips_of_child, skip};
