//! Time measured with the processor's time-stamp counter, if it can be trusted.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::measure::stats::Samples;

/// Number of pairs of consecutive readings from which the cost of one reading is measured.
const READING_OVERHEAD_SAMPLES: u64 = 100_000;

/// Number of delays that are timed to find the step in which the counter advances. Each is a
/// fraction of a nanosecond longer than the one before.
const RESOLUTION_DELAYS: u64 = 256;

/// Number of times that each of the [`RESOLUTION_DELAYS`] delays is timed.
const RESOLUTION_REPEATS: u32 = 32;

/// Minimum number of times that a duration must occur. Rarer ones may be caused by interrupts.
const RESOLUTION_OCCURRENCES_MIN: u32 = 8;

/// Number of attempts to read the counter and the kernel's clock at the same moment.
const CLOCK_PAIR_ATTEMPTS: u32 = 32;

/// A number of ticks of a [`TickSource`]. [`TscClock::to_ns`] converts it to nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Returns the ticks from `earlier` to `self`; `None` if the counter seems to have run
    /// backwards, which happens between cores whose counters differ.
    #[inline(always)]
    pub fn checked_since(self, earlier: Ticks) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }

    /// Returns the ticks from `earlier` to `self`, or 0 if the difference is negative.
    #[inline(always)]
    pub fn since(self, earlier: Ticks) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The source of ticks. All processes of a machine use the same source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TickSource {
    /// The invariant time-stamp counter of an x86-64 processor.
    Tsc,
    /// The kernel's `CLOCK_MONOTONIC_RAW`, in nanoseconds. It is the source on processors without
    /// an invariant time-stamp counter.
    Monotonic,
}

impl TickSource {
    /// Returns the time-stamp counter if it is invariant, otherwise the monotonic clock.
    pub fn detect() -> TickSource {
        match tsc_is_invariant() {
            true => TickSource::Tsc,
            false => TickSource::Monotonic,
        }
    }

    /// Reads the counter before the work to be timed, after all earlier instructions have
    /// completed. Takes about 10 to 30 ns.
    #[inline(always)]
    pub fn read_at_start(self) -> Ticks {
        #[cfg(target_arch = "x86_64")]
        if self == TickSource::Tsc {
            return read_counter_at_start();
        }
        Ticks(read_monotonic_raw_ns())
    }

    /// Reads the counter after the work to be timed. At that moment, the loads of that work are
    /// complete and no later instruction has begun. Its stores may not have reached the cache yet.
    /// Takes about 10 to 30 ns.
    #[inline(always)]
    pub fn read_at_end(self) -> Ticks {
        #[cfg(target_arch = "x86_64")]
        if self == TickSource::Tsc {
            return read_counter_at_end();
        }
        Ticks(read_monotonic_raw_ns())
    }
}

/// A [`TickSource`] whose rate was calibrated.
#[derive(Debug, Clone)]
pub struct TscClock {
    /// The source of the ticks.
    pub source: TickSource,
    /// The duration of one tick in nanoseconds.
    pub ns_per_tick: f64,
    /// Samples of the ticks between a start and a stop with no work in between. Every measured
    /// sample includes this overhead.
    pub reading_overhead: Samples,
    /// The step in which the counter advances, in ticks. On some CPUs it is much more than one
    /// tick, for example 10 ns on recent AMD CPUs.
    pub resolution_ticks: u64,
}

impl TscClock {
    /// Measures the rate of the counter while it sleeps for `window`, and the cost of a reading. A
    /// `window` of 50 ms gives an accuracy of about 2 parts per million.
    pub fn calibrate(window: Duration) -> TscClock {
        let source = TickSource::detect();
        let ns_per_tick = match source {
            TickSource::Monotonic => 1.0,
            TickSource::Tsc => {
                let (first_ns, first) = read_clock_and_counter(source);
                std::thread::sleep(window);
                let (last_ns, last) = read_clock_and_counter(source);
                (last_ns - first_ns) as f64 / last.since(first).max(1) as f64
            }
        };
        TscClock {
            source,
            ns_per_tick,
            resolution_ticks: measure_resolution(source),
            reading_overhead: measure_overhead(source),
        }
    }

    /// Returns the number of ticks per second.
    pub fn ticks_per_s(&self) -> f64 {
        1e9 / self.ns_per_tick
    }

    /// Converts a number of ticks to nanoseconds.
    pub fn to_ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }
}

/// Times work whose length grows slowly, and returns the step in which the measured times grow.
fn measure_resolution(source: TickSource) -> u64 {
    let mut seen = BTreeMap::new();
    for delay in 0..RESOLUTION_DELAYS {
        for _ in 0..RESOLUTION_REPEATS {
            let start = source.read_at_start();
            for step in 0..delay {
                black_box(step);
            }
            *seen.entry(source.read_at_end().since(start)).or_insert(0) += 1;
        }
    }
    seen.retain(|_, count| *count >= RESOLUTION_OCCURRENCES_MIN);
    usual_step_between(seen.into_keys())
}

/// Returns the usual distance between neighbours in `values`, which are in ascending order; 1 if
/// there is none. Neighbours with a distance of 1 count as one value, rounded differently.
pub fn usual_step_between(values: impl Iterator<Item = u64>) -> u64 {
    let values: Vec<u64> = values.collect();
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]);
    let mut gaps: Vec<u64> = gaps.filter(|&gap| gap > 1).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(1)
}

/// The result of checking whether the counters of two cores agree, so that one-way times can be
/// measured with both. Compares the median message times in the two directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CounterOffsetCheck {
    /// Median one-way time from the near core to the far core in nanoseconds.
    pub forward_p50_ns: f64,
    /// Median one-way time from the far core to the near core in nanoseconds.
    pub backward_p50_ns: f64,
    /// Number of messages that, according to the counters, arrived before they were sent.
    pub backwards: u64,
    /// Estimated lead of the far core's counter in nanoseconds, which is the error of one-way
    /// times. The estimate assumes that both directions take equally long.
    pub offset_ns: f64,
    /// True if the counters agree: no message arrived before it was sent, and the offset is at most
    /// half of the one-way time.
    pub sane: bool,
}

impl CounterOffsetCheck {
    /// Compares the median times of both directions.
    pub fn new(
        forward_p50_ns: f64,
        backward_p50_ns: f64,
        early_arrivals: u64,
    ) -> CounterOffsetCheck {
        let offset_ns = (forward_p50_ns - backward_p50_ns) / 2.0;
        let one_way_ns = (forward_p50_ns + backward_p50_ns) / 2.0;
        let sane = early_arrivals == 0 && offset_ns.abs() * 2.0 <= one_way_ns;
        CounterOffsetCheck {
            forward_p50_ns,
            backward_p50_ns,
            backwards: early_arrivals,
            offset_ns,
            sane,
        }
    }
}

/// Returns true if the time-stamp counter has a constant rate, never stops and can be read in
/// order, according to the flags that the kernel shows for the first CPU.
pub fn tsc_is_invariant() -> bool {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cfg!(target_arch = "x86_64") && has_invariant_tsc_flags(&cpuinfo)
}

/// Returns true if the flags in the text of `/proc/cpuinfo` promise that.
pub fn has_invariant_tsc_flags(cpuinfo: &str) -> bool {
    let flags = cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or_default();
    ["constant_tsc", "nonstop_tsc", "rdtscp"]
        .iter()
        .all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_counter_at_start() -> Ticks {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 CPU has SSE2, which LFENCE is part of.
    unsafe { _mm_lfence() };
    // SAFETY: every x86-64 CPU has RDTSC, and Linux leaves it open to user code.
    Ticks(unsafe { _rdtsc() })
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_counter_at_end() -> Ticks {
    use std::arch::x86_64::{__rdtscp, _mm_lfence};
    let mut cpu = 0;
    // SAFETY: CPUs with an invariant TSC have RDTSCP, and only those get here; `cpu` is ours.
    let ticks = Ticks(unsafe { __rdtscp(&mut cpu) });
    // SAFETY: every x86-64 CPU has SSE2, which LFENCE is part of.
    unsafe { _mm_lfence() };
    ticks
}

/// Reads `CLOCK_MONOTONIC_RAW` in nanoseconds, which NTP does not adjust.
fn read_monotonic_raw_ns() -> u64 {
    read_clock_ns(ClockId::MonotonicRaw)
}

/// Reads a clock of the kernel in nanoseconds.
pub fn read_clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Reads the kernel's clock and the counter at the same moment: the attempt with the shortest time
/// between the two readings counts.
pub fn read_clock_and_counter(source: TickSource) -> (u64, Ticks) {
    let mut best = (u64::MAX, 0, Ticks(0));
    for _ in 0..CLOCK_PAIR_ATTEMPTS {
        let before = source.read_at_start();
        let ns = read_monotonic_raw_ns();
        let spread = source.read_at_end().since(before);
        if spread < best.0 {
            best = (spread, ns, Ticks(before.0 + spread / 2));
        }
    }
    (best.1, best.2)
}

fn measure_overhead(source: TickSource) -> Samples {
    let mut samples = Samples::new();
    for _ in 0..READING_OVERHEAD_SAMPLES {
        let start = source.read_at_start();
        let stop = source.read_at_end();
        samples.record(stop.since(start));
    }
    samples
}
