//! Support that every test binary of the workspace links: a time limit, and a record of skips.
//!
//! A test binary needs the line `use horus_testing as _;`, and no call: the limit is armed before
//! `main`. A tidy test checks that every test binary has the line.

// WHY: miri has no timers.
#[cfg(not(miri))]
mod limit;
mod skips;

pub use skips::{repeat_skips, skip};
