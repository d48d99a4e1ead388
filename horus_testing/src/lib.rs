//! Support code for all test binaries of the workspace: a time limit, default actions of signals, a
//! record of skipped tests, samples of the points of a sweep, mutation tests of models, programs to
//! execute, and the CPU time of a thread.
//!
//! To set the time limit and the actions, a test binary needs only the line `use horus_testing as
//! _;`: the library sets them before `main` runs. A tidy test checks that every test binary has
//! this line.

mod cpu_time;
// WHY not with miri: it has no timers.
#[cfg(not(miri))]
mod limit;
pub mod mutation;
mod points;
mod programs;
// WHY not with miri: it has no signals.
#[cfg(not(miri))]
mod signals;
mod skips;

pub use cpu_time::thread_cpu_time;
pub use points::{PointSample, is_torture, visits_all_points};
pub use programs::write_program;
pub use skips::{record_skips_of_child, skip};
