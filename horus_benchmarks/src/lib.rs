//! Timing, pinning, statistics and reports that every benchmark binary shares.
//!
//! A benchmark is a [`BenchmarkSession`](run::session::BenchmarkSession) (machine, clock, pinned
//! CPUs, report), one or more [`Peer`](run::peer::Peer)s (the far end: a thread, or a child process
//! of the same binary) and rounds of a [`workload`](measure::workload) over an
//! [`Endpoint`](measure::endpoint::Endpoint). Two sides meet at a
//! [`Rendezvous`](transport::rendezvous::Rendezvous). Rounds of the subject alternate with rounds
//! of the [`Floor`](run::floor::Floor), so that each latency is shown as a multiple of what the
//! memory bus did at the same moment.
//!
//! What the numbers promise:
//!
//! * percentiles are of all samples, the maximum included; a Tukey-filtered view stands beside
//!   them, labelled;
//! * every message's content is verified, and `sent == received + lost`;
//! * a round trip halved is labelled `RTT/2`; one way by the TSC is labelled `TSC`;
//! * the timer's overhead is reported, never subtracted.
//!
//! The only callers are the binaries of this crate. An error ends the run and is printed with its
//! cause; the error types say which there are.

#[cfg(test)]
use horus_testing as _;

pub mod measure;
pub mod report;
pub mod run;
pub mod scenario;
pub mod transport;
