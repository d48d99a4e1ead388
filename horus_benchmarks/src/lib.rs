//! The library of the benchmark binaries: timing, pinning of threads, statistics and reports.
//!
//! A benchmark consists of a [`BenchmarkSession`](run::session::BenchmarkSession), one or more
//! [`FarEndHandle`](run::far_end::FarEndHandle)s and rounds of a [`workload`](measure::workload)
//! over an [`Endpoint`](measure::endpoint::Endpoint). The session holds the machine, the clock, the
//! pinned CPUs and the report. A far end is the other side: a thread, or a child process of the
//! same binary. The two sides find each other by a
//! [`Rendezvous`](transport::rendezvous::Rendezvous). Rounds of the measured transport alternate
//! with rounds of the [`Floor`](run::floor::Floor), so that each latency is shown as a multiple of
//! the time that the memory bus needed at the same moment.
//!
//! Properties of all reported numbers:
//!
//! * percentiles are computed from all samples, including the maximum; percentiles after Tukey's
//!   outlier filter are shown beside them and labelled as such;
//! * every message's content is verified, and `sent == received + lost`;
//! * half of a round trip is labelled `RTT/2`; a one-way time measured with the time-stamp counters
//!   of both cores is labelled `TSC`;
//! * the timer's overhead is reported, never subtracted.
//!
//! Only the binaries of this crate use this library. An error ends the benchmark and is printed
//! with its cause.

use std::error::Error;

#[cfg(test)]
use horus_testing as _;

pub mod measure;
pub mod report;
pub mod run;
pub mod scenario;
pub mod transport;

/// The result of a benchmark, or of a part of it.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;
