//! Cheap monotonic time. It is read from the processor's time stamp counter if that is reliable,
//! and otherwise from the kernel.

use std::time::Duration;

use crate::os::futex;

/// A clock that shows CLOCK_MONOTONIC in nanoseconds. It may compute the time from the processor's
/// time stamp counter.
///
/// A reading takes 8 to 25 ns with the counter, and 20 to 60 ns with the kernel (a vDSO call). The
/// counter drifts away from the kernel's clock; [`Clock::resync_and_read_ns`] reads the kernel's
/// time to correct this. The estimate of the counter's rate improves with the age of the clock.
/// If the last such call was more than 50 ms ago, or the machine has slept since, all readings come
/// from the kernel.
#[derive(Debug, Clone)]
pub struct Clock {
    state: SourceState,
}

/// The time source of a clock, and the state that is needed to read it.
#[derive(Debug, Clone)]
enum SourceState {
    Counter(CounterCalibration),
    Kernel,
    Simulated(u64),
}

/// Converts ticks of the CPU's time stamp counter to nanoseconds, by a straight line through two
/// readings.
#[derive(Debug, Clone, Copy)]
struct CounterCalibration {
    first: ClockReading,
    last: ClockReading,
    /// Length of one tick, in units of 2^-32 nanoseconds.
    scale: u64,
    /// The number of ticks after `last` for which the line is valid.
    ticks_max: u64,
}

/// A pair of readings at the same moment: the CPU's time stamp counter and the kernel's clock.
#[derive(Debug, Clone, Copy)]
struct ClockReading {
    ticks: u64,
    ns: u64,
}

/// The source from which a [`Clock`] takes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// The CPU's time stamp counter, synchronised with the kernel's clock. The cheapest source.
    Counter,
    /// The kernel's clock CLOCK_MONOTONIC. It is read by a kernel call each time.
    Kernel,
    /// A simulated time, which the program sets with [`Clock::set`].
    Simulated,
}

/// Time, in nanoseconds, for which a new clock observes the CPU's counter to estimate how fast it
/// counts.
const CALIBRATION_NS: u64 = 2_000_000;

/// The largest error of a reading, in nanoseconds, that a clock takes into account, for instance
/// because of an interrupt. It makes the slope of a line of 2 ms wrong by 5 %.
const CLOCK_READING_ERROR_NS_MAX: u64 = 100_000;
/// The kernel's clock may run faster or slower than the counter by the inverse of this number, for
/// instance because it is adjusted to the time of a server.
const CLOCK_DRIFT_DIVISOR: u64 = 1000;
/// The time after a reading of the kernel's clock, in nanoseconds, for which the counter is used.
/// WHY not for longer: the machine may have slept since then. If it slept for less than this time,
/// the clock is wrong by less than this time, until it is synchronised.
const COUNTER_USE_NS_MAX: u64 = 50_000_000;
/// The shortest sleep of the machine, in nanoseconds, that a clock takes into account.
const MACHINE_SLEEP_NS_MIN: u64 = 1_000_000;

impl Clock {
    /// Creates a clock that reads the cheapest reliable source. If that is the CPU's counter, the
    /// call takes some 2 ms, to measure how fast the counter counts.
    #[must_use]
    pub fn new() -> Self {
        if !is_counter_reliable() {
            return Self::kernel();
        }
        let first = ClockReading::now();
        let mut last = first;
        while last.ns - first.ns < CALIBRATION_NS {
            std::hint::spin_loop();
            last = ClockReading::now();
        }
        CounterCalibration::from_readings(first, last).map_or(Self::kernel(), |c| Self {
            state: SourceState::Counter(c),
        })
    }

    /// Creates a clock that reads CLOCK_MONOTONIC.
    #[must_use]
    pub const fn kernel() -> Self {
        Self {
            state: SourceState::Kernel,
        }
    }

    /// Creates a simulated clock whose time is `time_ns` nanoseconds. The time changes only when
    /// [`Self::set`] is called.
    #[must_use]
    pub const fn simulated(time_ns: u64) -> Self {
        Self {
            state: SourceState::Simulated(time_ns),
        }
    }

    /// Sets the time of a simulated clock to `time_ns` nanoseconds. Has no effect on other clocks.
    pub const fn set(&mut self, time_ns: u64) {
        if let SourceState::Simulated(now) = &mut self.state {
            *now = time_ns;
        }
    }

    /// Returns the source from which this clock takes the time.
    #[must_use]
    pub const fn source(&self) -> ClockSource {
        match self.state {
            SourceState::Counter(_) => ClockSource::Counter,
            SourceState::Kernel => ClockSource::Kernel,
            SourceState::Simulated(_) => ClockSource::Simulated,
        }
    }

    /// Returns the time, in nanoseconds since an unspecified moment before the process began.
    ///
    /// The first reading later than 50 ms after [`Self::resync_and_read_ns`] comes from the kernel,
    /// and may jump forwards or backwards, as that of `resync_and_read_ns` may.
    #[inline(always)]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        match &self.state {
            SourceState::Counter(counter) => counter
                .ns_if_valid_at(read_counter())
                .unwrap_or_else(kernel_ns),
            SourceState::Kernel => kernel_ns(),
            SourceState::Simulated(ns) => *ns,
        }
    }

    /// Returns the same time as [`Self::now_ns`]. If the counter must not be used any more, adjusts
    /// this clock to the kernel's clock, as [`Self::resync_and_read_ns`] does. For threads that may
    /// be busy for long.
    #[inline]
    pub fn resync_if_due_and_read_ns(&mut self) -> u64 {
        if let SourceState::Counter(counter) = &self.state
            && let Some(ns) = counter.ns_if_valid_at(read_counter())
        {
            return ns;
        }
        self.resync_and_read_ns()
    }

    /// Reads the kernel's clock, adjusts this clock to it, and returns the time. The time may jump,
    /// forwards or backwards, by what the counter has drifted: some 50 ns for each millisecond
    /// since the last call. After a sleep of the machine (suspend), in which the counter goes on or
    /// begins again and the kernel's clock stands still, the clock is right from this call on.
    pub fn resync_and_read_ns(&mut self) -> u64 {
        let SourceState::Counter(counter) = &mut self.state else {
            return self.now_ns();
        };
        let now = ClockReading::now();
        counter.resync(now);
        now.ns
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl CounterCalibration {
    /// Returns the straight line through two readings; `None` if the counter did not advance
    /// between them.
    fn from_readings(first: ClockReading, last: ClockReading) -> Option<Self> {
        let ticks = last.ticks.checked_sub(first.ticks)?;
        let ns = last.ns.checked_sub(first.ns)?;
        let scale = (u128::from(ns) << 32).checked_div(u128::from(ticks))?;
        let scale = u64::try_from(scale).ok().filter(|scale| *scale > 0)?;
        Some(Self {
            first,
            last,
            scale,
            ticks_max: (COUNTER_USE_NS_MAX << 32) / scale,
        })
    }

    /// Moves the end of the line to the reading `now`, and corrects the slope.
    ///
    /// If `now` is too far from the line, begins a new line there, which keeps the present slope
    /// until the next call. WHY: while the machine slept, the kernel's clock stood still, and the
    /// counter has counted on or was set back. A line across that time has a wrong slope.
    fn resync(&mut self, now: ClockReading) {
        if self.ns_at(now.ticks).abs_diff(now.ns) > self.deviation_ns_max(now) {
            (self.first, self.last) = (now, now);
        } else if now.ns.saturating_sub(self.first.ns) < CALIBRATION_NS {
            self.last = now;
        } else {
            match Self::from_readings(self.first, now) {
                Some(better) => *self = better,
                None => (self.first, self.last) = (now, now),
            }
        }
    }

    /// Returns the largest time, in nanoseconds, by which the line may miss the reading `now` if
    /// the machine has not slept. There is no limit for a line that has just begun, because its
    /// slope may be wrong.
    fn deviation_ns_max(&self, now: ClockReading) -> u64 {
        let passed_ns = now.ns.saturating_sub(self.last.ns);
        let observed_ns = self.last.ns.saturating_sub(self.first.ns);
        let error_ns = passed_ns.saturating_mul(CLOCK_READING_ERROR_NS_MAX);
        let error_ns = error_ns.checked_div(observed_ns).unwrap_or(u64::MAX);
        MACHINE_SLEEP_NS_MIN
            .saturating_add(passed_ns / CLOCK_DRIFT_DIVISOR)
            .saturating_add(error_ns)
    }

    /// Returns the time, in nanoseconds, at which the counter shows `ticks`. Returns `None` if the
    /// line is not valid there: if too much time has passed since its last reading, if the machine
    /// has slept, or if the counter shows less than in the last reading.
    #[inline(always)]
    fn ns_if_valid_at(&self, ticks: u64) -> Option<u64> {
        let since = ticks.wrapping_sub(self.last.ticks);
        if since > self.ticks_max {
            return None;
        }
        let ns = (u128::from(since) * u128::from(self.scale)) >> 32;
        Some(self.last.ns.wrapping_add(ns as u64))
    }

    fn ns_at(&self, ticks: u64) -> u64 {
        // WHY signed: another core's counter may be a little behind the one that was read last.
        let since = ticks.wrapping_sub(self.last.ticks) as i64;
        let ns = (i128::from(since) * i128::from(self.scale)) >> 32;
        self.last.ns.wrapping_add(ns as u64)
    }
}

impl ClockReading {
    /// Reads the kernel's time between two readings of the counter. Does this three times, and
    /// returns the result for which the two readings of the counter were closest together.
    fn now() -> Self {
        let read = || {
            let before = read_counter();
            let ns = kernel_ns();
            let after = read_counter();
            (
                after.wrapping_sub(before),
                Self {
                    ticks: before.midpoint(after),
                    ns,
                },
            )
        };
        let readings = [read(), read(), read()];
        readings
            .into_iter()
            .min_by_key(|(gap, _)| *gap)
            .map_or(readings[0].1, |(_, reading)| reading)
    }
}

#[cold]
fn kernel_ns() -> u64 {
    futex::monotonic_time().as_nanos() as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_counter() -> u64 {
    // SAFETY: every x86-64 has the instruction. It traps only if the process itself has forbidden
    // it by prctl.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_counter() -> u64 {
    0
}

/// Returns true if the processor and the kernel report that the counter runs at one constant rate,
/// even in sleep states, and shows the same value on all cores.
#[cfg(target_arch = "x86_64")]
fn is_counter_reliable() -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = flags
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or_default();
    let has = |flag| flags.split_whitespace().any(|found| found == flag);
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(path).unwrap_or_default();
    has("constant_tsc") && has("nonstop_tsc") && ["tsc", "kvm-clock"].contains(&source.trim())
}

#[cfg(not(target_arch = "x86_64"))]
fn is_counter_reliable() -> bool {
    false
}

/// Returns the time of CLOCK_MONOTONIC at the last tick of the kernel's timer, which was some
/// milliseconds ago at most. Takes about 5 ns, for callers that compare it often.
pub(crate) fn coarse_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for the write. The clock always exists, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Sleeps until CLOCK_MONOTONIC reaches `deadline_ns` nanoseconds; returns at once if it already
/// has. A signal may end the sleep early.
pub fn sleep_until(deadline_ns: u64) {
    futex::sleep_until(deadline_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_show_the_same_time() {
        let mut clock = Clock::new();
        let (mut comparisons, mut interruptions) = (0, 0);
        while comparisons < 1000 {
            let begin = kernel_ns();
            clock.resync_and_read_ns();
            let before = kernel_ns();
            let shown = clock.now_ns();
            let after = kernel_ns();
            // WHY: after an interruption, the clock shows the drift of all that time.
            if after - begin > 1_000_000 {
                interruptions += 1;
                assert!(interruptions < 100_000, "{comparisons} comparisons");
                continue;
            }
            // WHY 2000: the counter's drift in that time, and the error of a reading.
            assert!(before.saturating_sub(2000) <= shown && shown <= after + 2000);
            comparisons += 1;
        }
    }

    #[test]
    fn a_simulated_clock_shows_the_time_it_was_set_to() {
        let mut clock = Clock::simulated(5);
        assert_eq!(
            (clock.now_ns(), clock.resync_and_read_ns(), clock.source()),
            (5, 5, ClockSource::Simulated)
        );
        clock.set(7);
        assert_eq!(clock.now_ns(), 7);
        let mut real = Clock::kernel();
        real.set(7);
        assert_ne!(real.now_ns(), 7);
    }

    #[test]
    fn a_line_hits_both_of_its_moments() {
        let first = ClockReading {
            ticks: 1000,
            ns: 5000,
        };
        let last = ClockReading {
            ticks: 1000 + 2_300_000,
            ns: 5000 + 1_000_000,
        };
        let counter = CounterCalibration::from_readings(first, last).unwrap();
        assert_eq!(counter.ns_at(last.ticks), last.ns);
        assert!(counter.ns_at(first.ticks).abs_diff(first.ns) <= 1);
        assert!(counter.ns_at(last.ticks + 2300).abs_diff(last.ns + 1000) <= 1);
        // The line still fits a day later.
        let day = 86_400 * 1_000_000_000_u64;
        let error = counter
            .ns_at(last.ticks + day / 10 * 23)
            .abs_diff(last.ns + day);
        assert!(error < 100_000, "{error}");
        assert!(CounterCalibration::from_readings(last, last).is_none());
        assert!(CounterCalibration::from_readings(last, first).is_none());
    }

    /// A machine that sleeps stops CLOCK_MONOTONIC. The counter goes on, or begins again at 0.
    #[test]
    fn a_clock_keeps_its_rate_when_the_machine_has_slept() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let first = ClockReading {
            ticks: 1_000_000_000_000_000,
            ns: 5000,
        };
        // A tick lasts 10/23 ns.
        let after = |reading: ClockReading, ns: u64| ClockReading {
            ticks: reading.ticks + ns / 10 * 23,
            ns: reading.ns + ns,
        };
        let awake = after(first, HOUR_NS);
        let counted_on = ClockReading {
            ticks: after(awake, 8 * HOUR_NS).ticks,
            ns: awake.ns + 1_000_000,
        };
        let began_again = ClockReading {
            ticks: 1000,
            ns: awake.ns + 1_000_000,
        };
        for woken in [counted_on, began_again] {
            let mut line = CounterCalibration::from_readings(first, awake).unwrap();
            line.resync(woken);
            // Also much later, when the counter may have passed its first value again.
            for ns in [1_000_000, 20_000_000, HOUR_NS, 200 * HOUR_NS] {
                let now = after(woken, ns);
                let shown_ns = line.ns_at(after(line.last, 1_000_000).ticks) - line.last.ns;
                assert!(shown_ns.abs_diff(1_000_000) < 1000, "{shown_ns} ns at {ns}");
                line.resync(now);
                assert_eq!(line.ns_at(now.ticks), now.ns);
            }
        }
    }

    /// Nothing has read the kernel's clock since the machine slept.
    #[test]
    fn the_counter_is_not_used_after_a_sleep_of_the_machine() {
        let first = ClockReading {
            ticks: 1_000_000_000_000_000,
            ns: 5000,
        };
        let last = ClockReading {
            ticks: first.ticks + 23_000_000,
            ns: first.ns + 10_000_000,
        };
        let line = CounterCalibration::from_readings(first, last).unwrap();
        let after = |ns: u64| last.ticks + ns / 10 * 23;
        assert_eq!(line.ns_if_valid_at(last.ticks), Some(last.ns));
        let valid_ns = line.ns_if_valid_at(after(COUNTER_USE_NS_MAX - 1000));
        let valid_ns = valid_ns.unwrap() - last.ns;
        assert!(
            valid_ns.abs_diff(COUNTER_USE_NS_MAX - 1000) < 10,
            "{valid_ns}"
        );
        const SECOND_NS: u64 = 1_000_000_000;
        for ticks in [
            after(COUNTER_USE_NS_MAX + 1000),
            after(SECOND_NS),
            after(1_000_000 * SECOND_NS),
            // The counter has begun again.
            1000,
            last.ticks - 1,
        ] {
            assert_eq!(line.ns_if_valid_at(ticks), None, "{ticks}");
        }
    }

    #[test]
    fn a_clock_that_is_read_often_goes_on_to_use_the_counter() {
        let mut clock = Clock::new();
        let SourceState::Counter(counter) = &mut clock.state else {
            return horus_testing::skip("the kernel does not trust the counter of this CPU");
        };
        let before = counter.last;
        counter.ticks_max = 0;
        let shown_ns = clock.resync_if_due_and_read_ns();
        let SourceState::Counter(counter) = &clock.state else {
            panic!("{clock:?}");
        };
        assert!(counter.last.ns > before.ns && counter.last.ns == shown_ns);
    }

    /// A new clock has observed the counter for 2 ms only, and an interrupt may have hit one of its
    /// readings.
    #[test]
    fn the_rate_of_a_new_clock_improves() {
        let first = ClockReading { ticks: 0, ns: 0 };
        // 20 µs too late: an error of 1 %.
        let last = ClockReading {
            ticks: 4_600_000,
            ns: 2_020_000,
        };
        let mut line = CounterCalibration::from_readings(first, last).unwrap();
        for second in 1..100 {
            line.resync(ClockReading {
                ticks: second * 2_300_000_000,
                ns: second * 1_000_000_000,
            });
        }
        let shown_ns = line.ns_at(line.last.ticks + 2_300_000) - line.last.ns;
        assert!(shown_ns.abs_diff(1_000_000) < 10, "{shown_ns}");
    }
}
