//! Timing, pinning, statistics and reports that every benchmark binary shares.
//!
//! A benchmark consists of a [`BenchmarkSession`](run::session::BenchmarkSession) (machine, clock,
//! pinned CPUs, report), one or more [`Peer`](run::peer::Peer)s (the other side: a thread, or a
//! child process of the same binary) and rounds of a [`workload`](measure::workload) over an
//! [`Endpoint`](measure::endpoint::Endpoint). Two sides meet at a
//! [`Rendezvous`](transport::rendezvous::Rendezvous). Rounds of the subject alternate with rounds
//! of the [`Floor`](run::floor::Floor), so that each latency is shown as a multiple of what the
//! memory bus did at the same moment.
//!
//! What the numbers promise:
//!
//! * percentiles are computed from all samples, including the maximum; percentiles after Tukey's
//!   outlier filter are shown beside them and labelled as such;
//! * every message's content is verified, and `sent == received + lost`;
//! * half of a round trip is labelled `RTT/2`; a one-way time measured with the time-stamp counters
//!   of both cores is labelled `TSC`;
//! * the timer's overhead is reported, never subtracted.
//!
//! Only the binaries of this crate use this library. Every error ends the run and is printed with
//! its cause.

#[cfg(test)]
use horus_testing as _;

pub mod measure;
pub mod report;
pub mod run;
pub mod scenario;
pub mod transport;
