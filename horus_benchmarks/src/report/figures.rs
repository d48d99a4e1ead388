//! Values that only some rows have: figures of schedulers and of runs, beside percentiles and
//! rates.

use serde::{Deserialize, Serialize};

/// Makes every field optional, and leaves out what does not apply.
macro_rules! figures {
    ($($(#[$doc:meta])+ $name:ident: $type:ty,)+) => {
        /// Further figures of a row, each in a field of the row's own. What does not apply is
        /// absent.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
        pub struct Figures {
            $($(#[$doc])+
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $name: Option<$type>,)+
        }
    };
}

figures! {
    /// The median round of a scheduler, by the number of its nodes (by 1 if it has none): the
    /// timer's overhead is part of it.
    ns_per_node: f64,
    /// Processor time of the thread that was measured, in percent of the time that passed.
    cpu_percent: f64,
    /// Due times met or passed over, less those that there were by the kernel's clock.
    drift_ticks: f64,
    /// In how much of the time nobody could have begun within 20 microseconds, in percent.
    stalled_percent: f64,
    /// Nodes replaced in a second, median of the rounds.
    swaps_per_s: f64,
    /// Standard deviation of all samples, in nanoseconds.
    sd_ns: f64,
    /// Standard deviation of the runs' means, by their mean.
    run_cv: f64,
    /// Standard deviation of the runs' medians, by their mean.
    run_cv_median: f64,
    /// Samples that took longer than their deadline.
    deadline_misses: u64,
    /// The same as a part of all samples, from 0 to 1.
    deadline_miss_share: f64,
    /// One way by the counters of both cores, where these agree: median and 99th percentile.
    tsc_ns: [f64; 2],
    /// Messages per second that there can be, by those that there are in a robot.
    headroom: f64,
    /// Messages a second for each of the threads or processes that took part.
    msgs_per_s_per_member: f64,
    /// Messages a second by those of one publisher and one subscriber, and by the smaller of the
    /// numbers of publishers and subscribers: in percent.
    scaling_percent: f64,
    /// In a row `vs_<peer>/…`: our median, in nanoseconds, or in messages a second.
    ours: f64,
    /// Theirs.
    theirs: f64,
    /// Their time by ours, or our rate by theirs: median over rounds next to each other. Above 1,
    /// ours is ahead.
    ratio: f64,
    /// Its bootstrap 95 % interval.
    ratio_ci: [f64; 2],
}
