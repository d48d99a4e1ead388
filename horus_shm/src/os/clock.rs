//! Monotonic time, cheap: the processor's counter where it can be trusted, else the kernel's clock.

use crate::os::futex;

/// Nanoseconds of CLOCK_MONOTONIC, some of them guessed from the processor's counter.
///
/// With the counter a reading costs what the counter costs, 8 to 25 ns, else a call of the vDSO,
/// 20 to 60 ns. The counter runs at a rate of its own; [`Clock::resync`] takes the kernel's time
/// again, and learns the rate the better the longer ago the clock was made.
#[derive(Debug, Clone)]
pub struct Clock {
    hand: Hand,
}

/// What shows the time.
#[derive(Debug, Clone)]
enum Hand {
    Counter(Counter),
    Kernel,
    Simulated(u64),
}

/// A line through two moments at which counter and kernel were asked.
#[derive(Debug, Clone, Copy)]
struct Counter {
    first: Moment,
    last: Moment,
    /// Nanoseconds for a tick, in 2^-32.
    scale: u64,
}

/// What counter and kernel said at once.
#[derive(Debug, Clone, Copy)]
struct Moment {
    ticks: u64,
    ns: u64,
}

/// What a [`Clock`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The processor's counter, resynchronised with the kernel's clock.
    Counter,
    /// CLOCK_MONOTONIC, by a call.
    Kernel,
    /// What it was set to.
    Simulated,
}

/// How long the counter is watched before its rate is believed.
const CALIBRATION_NS: u64 = 2_000_000;

impl Clock {
    /// The cheapest clock that can be trusted here. Takes some 2 ms if that is the counter.
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

    /// The kernel's clock.
    #[must_use]
    pub const fn kernel() -> Self {
        Self { hand: Hand::Kernel }
    }

    /// A clock that stands at this time until it is set to another.
    #[must_use]
    pub const fn simulated(ns: u64) -> Self {
        Self { hand: Hand::Simulated(ns) }
    }

    /// Sets a simulated clock; any other is left as it is.
    pub const fn set(&mut self, ns: u64) {
        if let Hand::Simulated(now) = &mut self.hand {
            *now = ns;
        }
    }

    /// What this clock reads.
    #[must_use]
    pub const fn source(&self) -> Source {
        match self.hand {
            Hand::Counter(_) => Source::Counter,
            Hand::Kernel => Source::Kernel,
            Hand::Simulated(_) => Source::Simulated,
        }
    }

    /// Nanoseconds since some moment before the process began.
    #[inline(always)]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        match &self.hand {
            Hand::Counter(counter) => counter.at(ticks()),
            Hand::Kernel => kernel_ns(),
            Hand::Simulated(ns) => *ns,
        }
    }

    /// Takes the kernel's time again, and returns it. The time that this clock shows may jump by
    /// what the counter had drifted, some 50 ns for a millisecond, backwards too.
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
    /// The line through two moments; none if the counter did not move.
    fn through(first: Moment, last: Moment) -> Option<Self> {
        let (ticks, ns) = (last.ticks.checked_sub(first.ticks)?, last.ns.checked_sub(first.ns)?);
        let scale = (u128::from(ns) << 32).checked_div(u128::from(ticks))?;
        Some(Self { first, last, scale: u64::try_from(scale).ok().filter(|scale| *scale > 0)? })
    }

    #[inline(always)]
    fn at(&self, ticks: u64) -> u64 {
        // WHY signed: another core's counter may be a little behind the one that was asked last.
        let since = ticks.wrapping_sub(self.last.ticks) as i64;
        let ns = (i128::from(since) * i128::from(self.scale)) >> 32;
        self.last.ns.wrapping_add(ns as u64)
    }
}

impl Moment {
    /// The kernel's time between two readings of the counter, the closest pair of a few.
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
    // SAFETY: every x86-64 has the instruction; a process may have it forbidden by prctl, which
    // nobody does to himself.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// Whether the counter runs at one rate, in sleep too, and alike on all cores: as the processor and
/// the kernel say.
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

/// Sleeps until this time of CLOCK_MONOTONIC, in nanoseconds; at once if it has passed. A signal
/// may end it early.
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
            // Within what the counter drifts in a moment, and what a reading of it may be off.
            assert!(before.saturating_sub(2000) <= shown && shown <= after + 2000);
        }
    }

    #[test]
    fn a_simulated_clock_shows_what_it_was_set_to() {
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
        // A day later, too.
        let day = 86_400 * 1_000_000_000_u64;
        let error = counter.at(last.ticks + day / 10 * 23).abs_diff(last.ns + day);
        assert!(error < 100_000, "{error}");
        assert!(Counter::through(last, last).is_none());
        assert!(Counter::through(last, first).is_none());
    }
}
