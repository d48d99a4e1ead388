//! The C structs for the report of a scheduler's run and for the metrics of a node.

use std::ffi::c_char;
use std::time::Duration;

use horus_core::scheduler::{
    HISTOGRAM_BUCKETS, Health, Histogram, Report, StopReason, TickMetrics,
};

use crate::ffi::SizePrefixedStruct;

/// Reason for the end of a run: the program requested a stop.
pub const HORUS_REASON_REQUESTED: i32 = 1;
/// Reason for the end of a run: the run has lasted for the duration that the program requested.
pub const HORUS_REASON_DURATION_ELAPSED: i32 = 2;
/// Reason for the end of a run: the process received a termination signal.
pub const HORUS_REASON_SIGNAL: i32 = 3;
/// Reason for the end of a run: a node failed or missed a deadline, and the policy of the node ends
/// the run.
pub const HORUS_REASON_NODE: i32 = 4;

/// State of a node: it ticks.
pub const HORUS_HEALTH_ACTIVE: i32 = 1;
/// State of a node: it was paused, and does not tick until it is resumed.
pub const HORUS_HEALTH_PAUSED: i32 = 2;
/// State of a node: it pauses after failures, and does not tick until the pause ends.
pub const HORUS_HEALTH_BACKING_OFF: i32 = 3;
/// State of a node: it is in its safe state.
pub const HORUS_HEALTH_SAFE: i32 = 4;
/// State of a node: it is shut down.
pub const HORUS_HEALTH_STOPPED: i32 = 5;

/// Size of a buffer for the name of a node, in bytes. It includes the terminating 0.
const NAME_BYTES: usize = 72;
/// Size of a buffer for an error text, in bytes. It includes the terminating 0.
const ERROR_TEXT_BYTES: usize = 512;

/// The C struct `horus_report_t`, as `scheduler.h` declares it: the report of a scheduler's run.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusReport {
    pub struct_bytes: u32,
    pub reason: i32,
    pub signal: i32,
    pub exit_code: i32,
    pub scheduler: [c_char; NAME_BYTES],
    pub node: [c_char; NAME_BYTES],
    pub error: [c_char; ERROR_TEXT_BYTES],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusReport {
    const FIRST_VERSION_BYTES: usize = 672;
}

impl HorusReport {
    pub(crate) fn new(report: &Report) -> Self {
        let mut this = Self {
            struct_bytes: 0,
            reason: HORUS_REASON_REQUESTED,
            signal: 0,
            exit_code: report.exit_code().into(),
            scheduler: [0; NAME_BYTES],
            node: [0; NAME_BYTES],
            error: [0; ERROR_TEXT_BYTES],
        };
        copy_text(&report.scheduler, &mut this.scheduler);
        match &report.reason {
            StopReason::DurationElapsed => this.reason = HORUS_REASON_DURATION_ELAPSED,
            StopReason::Signal(signal) => {
                (this.reason, this.signal) = (HORUS_REASON_SIGNAL, *signal);
            }
            StopReason::Node { name, error } => {
                this.reason = HORUS_REASON_NODE;
                copy_text(name, &mut this.node);
                copy_text(error, &mut this.error);
            }
            _ => {}
        }
        this
    }
}

/// Copies `text` to `to`, a buffer of zeros. Truncates the text so that at least one 0 remains at
/// the end of the buffer.
pub(crate) fn copy_text(text: &str, to: &mut [c_char]) {
    let mut end = text.len().min(to.len() - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (place, byte) in to.iter_mut().zip(text.as_bytes()[..end].iter()) {
        // WHY: a 0 would end the text for C.
        *place = if *byte == 0 { b'?' } else { *byte } as c_char;
    }
}

/// The C struct `horus_metrics_t`, as `scheduler.h` declares it: the metrics of a node.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusMetrics {
    pub struct_bytes: u32,
    pub health: i32,
    pub ticks: u64,
    pub last_ns: u64,
    pub max_ns: u64,
    pub misses: u64,
    pub skipped_ticks: u64,
    pub failures: u64,
    pub panics: u64,
    pub durations: [u64; HISTOGRAM_BUCKETS],
    pub lateness: [u64; HISTOGRAM_BUCKETS],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusMetrics {
    const FIRST_VERSION_BYTES: usize = 64 + 2 * 8 * 40;
}

impl HorusMetrics {
    pub(crate) fn new(metrics: &TickMetrics) -> Self {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let buckets = |histogram: &Histogram| *histogram.buckets();
        Self {
            struct_bytes: 0,
            health: match metrics.health {
                Health::Paused => HORUS_HEALTH_PAUSED,
                Health::BackingOff => HORUS_HEALTH_BACKING_OFF,
                Health::Safe => HORUS_HEALTH_SAFE,
                Health::Stopped => HORUS_HEALTH_STOPPED,
                _ => HORUS_HEALTH_ACTIVE,
            },
            ticks: metrics.ticks,
            last_ns: ns(metrics.last),
            max_ns: ns(metrics.max),
            misses: metrics.misses,
            skipped_ticks: metrics.skipped_ticks,
            failures: metrics.failures,
            panics: metrics.panics,
            durations: buckets(&metrics.durations),
            lateness: buckets(&metrics.lateness),
        }
    }
}

const _: () = {
    assert!(size_of::<HorusReport>() == HorusReport::FIRST_VERSION_BYTES);
    assert!(size_of::<HorusMetrics>() == HorusMetrics::FIRST_VERSION_BYTES);
    assert!(HISTOGRAM_BUCKETS == 40);
};
