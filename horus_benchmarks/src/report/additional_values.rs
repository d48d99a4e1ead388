//! Values that only some rows of a report have, in addition to percentiles and rates. Examples are
//! values of schedulers and of repeated runs.

use serde::{Deserialize, Serialize};

/// Defines the struct with these fields, all of them optional and absent in the JSON if `None`.
macro_rules! additional_values {
    ($($(#[$doc:meta])+ $name:ident: $type:ty,)+) => {
        /// The additional values of a row, which are fields of the row's JSON.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
        pub struct AdditionalValues {
            $($(#[$doc])+
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $name: Option<$type>,)+
        }
    };
}

additional_values! {
    /// Median time of a scheduler's round divided by the number of its nodes (by 1 if it has none),
    /// in nanoseconds. It includes the cost of reading the timer.
    ns_per_node: f64,
    /// Processor time of the measured thread (in rows of actors, of the process), in percent of the
    /// time that passed.
    cpu_percent: f64,
    /// Number of due times that a scheduler met or skipped, minus the number of due times that
    /// should have passed according to the kernel's clock.
    drift_ticks: f64,
    /// Percentage of the time in which a thread that becomes due would start over 20 µs late.
    stalled_percent: f64,
    /// Time of the operation when a process executes the workload for the first time, in
    /// nanoseconds: median of the rounds. The process then still has to get new memory.
    first_ns: f64,
    /// Memory that each additional actor takes, in bytes: median of the rounds.
    bytes_each: f64,
    /// Largest resident memory of the process in MiB: median of the rounds.
    peak_mib: f64,
    /// Number of nodes replaced per second: median of the rounds.
    swaps_per_s: f64,
    /// Standard deviation of all samples, in nanoseconds.
    sd_ns: f64,
    /// Coefficient of variation (standard deviation by average) of the runs' means.
    run_cv: f64,
    /// Coefficient of variation of the runs' medians.
    run_cv_median: f64,
    /// Number of samples that took longer than their deadline.
    deadline_misses: u64,
    /// The fraction of all samples that took longer than their deadline, from 0 to 1.
    deadline_miss_share: f64,
    /// Median and 99th percentile of the one-way time in nanoseconds, measured with the counters of
    /// both cores. Absent if the counters do not agree.
    tsc_ns: [f64; 2],
    /// Possible number of messages per second, divided by the usual rate in a robot.
    headroom: f64,
    /// Number of messages per second, divided by the number of senders and receivers.
    msgs_per_s_per_member: f64,
    /// Scaling efficiency in percent: the rate of this row, divided by the rate with one publisher
    /// and one subscriber, and divided by the number of publishers or the number of subscribers,
    /// whichever is smaller.
    scaling_percent: f64,
    /// In a row `vs_<peer>/…`: our median time in nanoseconds, or our messages per second.
    ours: f64,
    /// In a row `vs_<peer>/…`: the peer's median time in nanoseconds, or its messages per second.
    theirs: f64,
    /// In a row `vs_<peer>/…`: the peer's time divided by ours, or our rate divided by the peer's.
    /// It is the median over adjacent rounds. A value above 1 means that ours is better.
    ratio: f64,
    /// The bootstrap 95 % interval of `ratio`, as its lower and its upper end. Absent if there are
    /// fewer than six rounds.
    ratio_ci: [f64; 2],
    /// Number of rounds without a ratio, because the value by which it divides was 0, such as the
    /// rate of a peer that received nothing.
    rounds_dropped: u64,
}
