//! Timing, pinning, statistics and reports that every benchmark binary shares.
//!
//! A benchmark is a [`session::Session`] (machine, clock, pinned CPUs, report), one or more
//! [`peer::Peer`]s (the far end: a thread, or a child process of the same binary) and rounds of a
//! [`workload`] over a [`workload::Link`]. Rounds of the subject alternate with rounds of the
//! [`floor::Floor`], so that each latency is shown as a multiple of what the memory bus did at
//! the same moment.
//!
//! What the numbers promise:
//!
//! * percentiles are of all samples, the maximum included; a Tukey-filtered view stands beside
//!   them, labelled;
//! * every message's content is verified, and `sent == received + lost`;
//! * a round trip halved is labelled `RTT/2`; one way by the TSC is labelled `TSC`;
//! * the timer's overhead is reported, never subtracted.

#[cfg(test)]
use horus_testing as _;

pub mod args;
pub mod bounce;
pub mod bracket;
pub mod channel_ends;
pub mod channels;
pub mod child;
pub mod contest;
pub mod determinism;
pub mod duplex;
pub mod ends;
pub mod entry;
pub mod figures;
pub mod floor;
pub mod goals;
pub mod histograms;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
pub mod large;
pub mod lateness;
pub mod loopback;
pub mod machine;
pub mod micro;
pub mod namespace;
pub mod packet;
pub mod pair;
pub mod path;
pub mod path_pair;
pub mod payload;
pub mod peer;
pub mod pin;
pub mod progress;
pub mod readme;
pub mod report;
pub mod research;
pub mod rivals;
pub mod robot;
pub mod scaling;
pub mod session;
pub mod side;
pub mod spread;
pub mod stalls;
pub mod stats;
pub mod steal;
pub mod stream;
pub mod survey;
pub mod swapping;
pub mod table;
pub mod ticking;
pub mod transports;
pub mod tsc;
pub mod versus;
pub mod wait;
pub mod wakeup;
pub mod workload;
