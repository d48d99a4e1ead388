//! Values that only some rows have: figures of schedulers and of runs, beside percentiles and
//! rates.

use serde::{Deserialize, Serialize};

/// Further figures of a row, each in a field of the row's own. What does not apply is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The median round of a scheduler, by the number of its nodes (by 1 if it has none): the
    /// timer's overhead is part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_per_node: Option<f64>,
    /// Processor time of the thread that was measured, in percent of the time that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// Due times met or passed over, less those that there were by the kernel's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_ticks: Option<f64>,
    /// In how much of the time nobody could have begun within 20 microseconds, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_percent: Option<f64>,
    /// Nodes replaced in a second, median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swaps_per_s: Option<f64>,
    /// Standard deviation of all samples, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd_ns: Option<f64>,
    /// Standard deviation of the runs' means, by their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_cv: Option<f64>,
    /// Standard deviation of the runs' medians, by their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_cv_median: Option<f64>,
    /// Samples that took longer than their deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_misses: Option<u64>,
    /// The same as a part of all samples, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_miss_share: Option<f64>,
    /// One way by the counters of both cores, where these agree: median and 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsc_ns: Option<[f64; 2]>,
    /// Messages per second that there can be, by those that there are in a robot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<f64>,
    /// Messages a second for each of the threads or processes that took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msgs_per_s_per_member: Option<f64>,
    /// Messages a second by those of one publisher and one subscriber, and by the smaller of the
    /// numbers of publishers and subscribers: in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling_percent: Option<f64>,
    /// In a row `vs_<peer>/…`: our median, in nanoseconds, or in messages a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<f64>,
    /// Theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theirs: Option<f64>,
    /// Their time by ours, or our rate by theirs: median over rounds next to each other. Above 1,
    /// ours is ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its bootstrap 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_ci: Option<[f64; 2]>,
}
