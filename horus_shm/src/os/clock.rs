//! Cheap monotonic time: the processor's counter where it is reliable, else the kernel's clock.

use crate::os::futex;

/// A clock for nanoseconds of CLOCK_MONOTONIC, which may extrapolate from the processor's counter.
///
/// With the counter a reading costs as much as the counter, 8 to 25 ns, else a vDSO call, 20 to 60
/// ns. The counter runs at a rate of its own. [`Clock::resync`] reads the kernel's time again, and
/// its estimate of the rate improves with the age of the clock.
#[derive(Debug, Clone)]
pub struct Clock {
    hand: Hand,
}

/// The time source of a clock.
#[derive(Debug, Clone)]
enum Hand {
    Counter(Counter),
    Kernel,
    Simulated(u64),
}

/// A line through two moments at which both counter and kernel were read.
#[derive(Debug, Clone, Copy)]
struct Counter {
    first: Moment,
    last: Moment,
    /// Nanoseconds per tick, in units of 2^-32.
    scale: u64,
}

/// A simultaneous reading of counter and kernel.
#[derive(Debug, Clone, Copy)]
struct Moment {
    ticks: u64,
    ns: u64,
}

/// The source that a [`Clock`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The processor's counter, resynchronised with the kernel's clock.
    Counter,
    /// CLOCK_MONOTONIC, by a call.
    Kernel,
    /// A time that the program sets.
    Simulated,
}

/// The time for which the counter is observed to estimate its rate.
const CALIBRATION_NS: u64 = 2_000_000;

impl Clock {
    /// Creates the cheapest reliable clock. Takes some 2 ms if that is the counter.
    #[must_use]
    pub fn new() -> Self {
        if !is_trusted() {
            return Self::kernel();
        }
        let first = Moment::now();
        let mut last = first;
        while last.ns - first.ns < CALIBRATION_NS {
            std::hint::spin_loop();
            last = Moment::now();
        }
        Counter::through(first, last).map_or(Self::kernel(), |c| Self { hand: Hand::Counter(c) })
    }

    /// Creates a clock that reads the kernel's clock.
    #[must_use]
    pub const fn kernel() -> Self {
        Self { hand: Hand::Kernel }
    }

    /// Creates a clock that stands at this time until it is set to another.
    #[must_use]
    pub const fn simulated(ns: u64) -> Self {
        Self { hand: Hand::Simulated(ns) }
    }

    /// Sets a simulated clock; has no effect on others.
    pub const fn set(&mut self, ns: u64) {
        if let Hand::Simulated(now) = &mut self.hand {
            *now = ns;
        }
    }

    /// Returns the source that this clock reads.
    #[must_use]
    pub const fn source(&self) -> Source {
        match self.hand {
            Hand::Counter(_) => Source::Counter,
            Hand::Kernel => Source::Kernel,
            Hand::Simulated(_) => Source::Simulated,
        }
    }

    /// Returns the nanoseconds since some moment before the process began.
    #[inline(always)]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        match &self.hand {
            Hand::Counter(counter) => counter.at(ticks()),
            Hand::Kernel => kernel_ns(),
            Hand::Simulated(ns) => *ns,
        }
    }

    /// Reads the kernel's time again, and returns it. The time of this clock may jump, also
    /// backwards, by the drift of the counter: some 50 ns for a millisecond.
    pub fn resync(&mut self) -> u64 {
        let Hand::Counter(counter) = &mut self.hand else { return self.now_ns() };
        let now = Moment::now();
        match Counter::through(counter.first, now) {
            Some(better) => *counter = better,
            None => counter.last = now,
        }
        now.ns
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// Returns the line through two moments; `None` if the counter did not move.
    fn through(first: Moment, last: Moment) -> Option<Self> {
        let (ticks, ns) = (last.ticks.checked_sub(first.ticks)?, last.ns.checked_sub(first.ns)?);
        let scale = (u128::from(ns) << 32).checked_div(u128::from(ticks))?;
        Some(Self { first, last, scale: u64::try_from(scale).ok().filter(|scale| *scale > 0)? })
    }

    #[inline(always)]
    fn at(&self, ticks: u64) -> u64 {
        // WHY signed: another core's counter may be a little behind the one that was read last.
        let since = ticks.wrapping_sub(self.last.ticks) as i64;
        let ns = (i128::from(since) * i128::from(self.scale)) >> 32;
        self.last.ns.wrapping_add(ns as u64)
    }
}

impl Moment {
    /// Reads the kernel's time between two readings of the counter; returns the closest of three
    /// pairs.
    fn now() -> Self {
        let ask = || {
            let before = ticks();
            let ns = kernel_ns();
            let after = ticks();
            (after.wrapping_sub(before), Self { ticks: before.midpoint(after), ns })
        };
        let asked = [ask(), ask(), ask()];
        asked.into_iter().min_by_key(|(gap, _)| *gap).map_or(asked[0].1, |(_, moment)| moment)
    }
}

fn kernel_ns() -> u64 {
    futex::monotonic().as_nanos() as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: every x86-64 has the instruction. It traps only if the process itself has forbidden
    // it by prctl.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// Returns true if the counter runs at one constant rate, even in sleep, and in step on all cores,
/// according to the processor and the kernel.
#[cfg(target_arch = "x86_64")]
fn is_trusted() -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = flags.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag| flags.split_whitespace().any(|found| found == flag);
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(path).unwrap_or_default();
    has("constant_tsc") && has("nonstop_tsc") && ["tsc", "kvm-clock"].contains(&source.trim())
}

#[cfg(not(target_arch = "x86_64"))]
fn is_trusted() -> bool {
    false
}

/// Sleeps until this time of CLOCK_MONOTONIC, in nanoseconds; returns at once if it has passed. A
/// signal may end the sleep early.
pub fn sleep_until(ns: u64) {
    futex::sleep_until(ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_show_the_same_time() {
        let mut clock = Clock::new();
        for _ in 0..1000 {
            clock.resync();
            let before = kernel_ns();
            let shown = clock.now_ns();
            let after = kernel_ns();
            // WHY 2000: the counter's drift in that time, and the error of a reading.
            assert!(before.saturating_sub(2000) <= shown && shown <= after + 2000);
        }
    }

    #[test]
    fn a_simulated_clock_shows_the_time_it_was_set_to() {
        let mut clock = Clock::simulated(5);
        assert_eq!((clock.now_ns(), clock.resync(), clock.source()), (5, 5, Source::Simulated));
        clock.set(7);
        assert_eq!(clock.now_ns(), 7);
        let mut real = Clock::kernel();
        real.set(7);
        assert_ne!(real.now_ns(), 7);
    }

    #[test]
    fn a_line_hits_both_of_its_moments() {
        let first = Moment { ticks: 1000, ns: 5000 };
        let last = Moment { ticks: 1000 + 2_300_000, ns: 5000 + 1_000_000 };
        let counter = Counter::through(first, last).unwrap();
        assert_eq!(counter.at(last.ticks), last.ns);
        assert!(counter.at(first.ticks).abs_diff(first.ns) <= 1);
        assert!(counter.at(last.ticks + 2300).abs_diff(last.ns + 1000) <= 1);
        // The line still fits a day later.
        let day = 86_400 * 1_000_000_000_u64;
        let error = counter.at(last.ticks + day / 10 * 23).abs_diff(last.ns + day);
        assert!(error < 100_000, "{error}");
        assert!(Counter::through(last, last).is_none());
        assert!(Counter::through(last, first).is_none());
    }
}
