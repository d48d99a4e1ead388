//! Decides how long before a due time a thread has to wake, because the kernel wakes threads late.
//! After each sleep, adapts to how late the wake was.

use horus_shm::clock::{Clock, sleep_until};

/// Number of test sleeps with which a thread measures, at the start, how late the kernel wakes it.
const TRIAL_SLEEPS: usize = 10;
/// The longest duration of a test sleep, in nanoseconds.
const TRIAL_SLEEP_NS_MAX: u64 = 1_000_000;
/// Number of test sleeps that are allowed to end later than the first spin time covers.
const LATE_TRIAL_SLEEPS_MAX: usize = 1;
/// The number of steps into which the longest spin time is divided. After a wake that was no later
/// than the spin time covers, the spin time shrinks by one step. After a wake that was later than
/// that, it grows by `STEPS_ADDED_AFTER_LATE_WAKE` steps. So it settles where it covers 499 of 500
/// wakes.
///
/// WHY it does not cover more wakes: if 99 of 100 ticks of a node must be in time, one late wake in
/// 500 is acceptable, and ticks can be late for other reasons, too.
const STEPS_IN_LONGEST_SPIN_TIME: u64 = 10_000;
/// Number of steps by which the spin time grows after a wake that was later than it covers.
const STEPS_ADDED_AFTER_LATE_WAKE: u64 = 499;
/// The longest spin time, in percent of the period.
const SPIN_PERCENT_OF_PERIOD_MAX: u64 = 8;
/// The longest spin time is [`SPIN_PERCENT_OF_PERIOD_MAX`] percent of the period, but never more
/// than this number of nanoseconds. That limits it in periods of more than 12.5 ms. WHY: in a long
/// period the kernel wakes a thread no later than in a short one, and a thread that spins applies
/// no commands.
const SPIN_NS_MAX_IN_LONG_PERIODS: u64 = 1_000_000;
/// The longest spin time is [`SPIN_PERCENT_OF_PERIOD_MAX`] percent of the period, but never less
/// than this number of nanoseconds. That raises it in periods of less than 1 ms. WHY: in a short
/// period the kernel wakes a thread as late as in a long one, and a thread that wakes after the
/// next due time misses a tick.
const SPIN_NS_MAX_IN_SHORT_PERIODS: u64 = 80_000;
/// The shortest time, in nanoseconds, for which a thread sleeps in each period. If a shorter time
/// would be left for sleeping, the thread may spin for the whole period.
const SLEEP_NS_MIN_PER_PERIOD: u64 = 50_000;
/// The largest allowed ratio of the time that a thread is awake to the time that it sleeps. It
/// applies to threads with a real-time priority.
///
/// WHY: Linux limits SCHED_FIFO threads to 95 % of a CPU. It takes the remaining 50 ms of each
/// second in one piece, during which a 10 kHz node misses 500 ticks. (The fair server of Linux 6.18
/// took 26 to 46 ms in a measurement.) A thread that sleeps for the same time in small pieces
/// misses hardly any tick.
const AWAKE_TO_ASLEEP_RATIO_MAX: u64 = 15;
/// The shortest sleep, in nanoseconds, that [`AWAKE_TO_ASLEEP_RATIO_MAX`] forces. WHY not shorter:
/// the sleep would end before another thread could run.
const FORCED_SLEEP_NS_MIN: u64 = 20_000;

/// The spin time: a thread wakes this long before a due time, and spins until then. It covers the
/// kernel's lateness in 499 of 500 wakes, up to [`longest_spin_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpinTime {
    ns: u64,
    max_ns: u64,
    period_ns: u64,
    /// True if the thread has a real-time priority, so that other threads cannot use its CPU while
    /// it spins.
    has_real_time_priority: bool,
    /// The start of the thread's last sleep, in nanoseconds.
    slept_ns: u64,
    /// The end of the thread's last sleep, in nanoseconds.
    woke_ns: u64,
    /// The time, in nanoseconds, until which a thread with a real-time priority may stay awake
    /// before it has to sleep again.
    awake_until_ns: u64,
}

impl SpinTime {
    /// Measures the first spin time with a few sleeps. Takes at most 10 ms, plus the kernel's
    /// lateness.
    ///
    /// `has_real_time_priority` is true if the thread has a SCHED_FIFO priority, so that it has to
    /// yield the CPU to other threads now and then.
    pub(crate) fn measure_first_spin_time(
        clock: &mut Clock,
        period_ns: u64,
        has_real_time_priority: bool,
    ) -> Self {
        // WHY as long as the later sleeps: in a longer sleep the CPU enters a deeper sleep state,
        // from which it wakes later.
        let trial_ns = period_ns.min(TRIAL_SLEEP_NS_MAX);
        let mut late: [u64; TRIAL_SLEEPS] = std::array::from_fn(|_| {
            let wake_ns = clock.resync_and_read_ns() + trial_ns;
            sleep_until(wake_ns);
            clock.resync_and_read_ns().saturating_sub(wake_ns)
        });
        late.sort_unstable();
        let ns = late[TRIAL_SLEEPS - 1 - LATE_TRIAL_SLEEPS_MAX];
        // The thread may stay awake until its first sleep.
        let awake_until_ns = u64::MAX;
        let mut spin = Self {
            ns,
            max_ns: 0,
            period_ns,
            has_real_time_priority,
            slept_ns: 0,
            woke_ns: 0,
            awake_until_ns,
        };
        let now_ns = clock.now_ns();
        spin.record_sleep_begin(now_ns.saturating_sub(trial_ns));
        spin.record_sleep_end(now_ns, 0);
        spin.with_period(period_ns)
    }

    /// Returns the spin time for a node with the period `period_ns`. Keeps what was learned about
    /// the kernel's lateness.
    pub(super) fn with_period(self, period_ns: u64) -> Self {
        let max_ns = longest_spin_ns(period_ns);
        Self {
            ns: self.ns.min(max_ns),
            max_ns,
            period_ns,
            ..self
        }
    }

    /// Returns true if the thread may spin for the whole period, without sleeping.
    const fn may_spin_whole_period(&self) -> bool {
        self.max_ns >= self.period_ns
    }

    /// Returns the time until which the thread has to sleep before the tick that is due at
    /// `due_ns`. If the returned time is not after `now_ns`, the thread must not sleep.
    ///
    /// A thread with a real-time priority that was awake for too long has to sleep first, even if
    /// it then misses the tick. If it may spin for whole periods, its spin time is reduced to three
    /// quarters of a period, so that it sleeps in each period. The next wake that is too late for
    /// this spin time raises it again.
    pub(super) fn sleep_until_ns(&mut self, now_ns: u64, due_ns: u64) -> u64 {
        let was_awake = self.has_real_time_priority && now_ns >= self.awake_until_ns;
        if was_awake && self.may_spin_whole_period() {
            self.ns = self.ns.min(self.max_ns / 4 * 3);
        }
        let wake_ns = due_ns.saturating_sub(self.ns);
        if !was_awake {
            return wake_ns;
        }
        let owed_ns = now_ns.saturating_sub(self.woke_ns) / AWAKE_TO_ASLEEP_RATIO_MAX;
        wake_ns.max(now_ns + owed_ns.min(self.period_ns / 4).max(FORCED_SLEEP_NS_MIN))
    }

    /// Records that the thread begins to sleep at `now_ns`.
    pub(super) const fn record_sleep_begin(&mut self, now_ns: u64) {
        self.slept_ns = now_ns;
    }

    /// Records that the sleep has ended at `now_ns`, `late_ns` later than wanted, and adapts the
    /// spin time to this lateness.
    pub(super) fn record_sleep_end(&mut self, now_ns: u64, late_ns: u64) {
        let slept_ns = now_ns.saturating_sub(self.slept_ns);
        // WHY at most a period: after one slow tick, the thread must not have to sleep for long.
        let owed_ns = self
            .slept_ns
            .saturating_sub(self.awake_until_ns)
            .min(self.period_ns);
        let until_ns = now_ns.saturating_add(slept_ns.saturating_mul(AWAKE_TO_ASLEEP_RATIO_MAX));
        self.awake_until_ns = until_ns.saturating_sub(owed_ns);
        self.woke_ns = now_ns;
        self.adapt_to_lateness(late_ns);
    }

    /// Adapts the spin time to a sleep that has ended `late_ns` later than wanted.
    fn adapt_to_lateness(&mut self, late_ns: u64) {
        let down_ns = (self.max_ns / STEPS_IN_LONGEST_SPIN_TIME).max(1);
        self.ns = if late_ns <= self.ns {
            self.ns.saturating_sub(down_ns)
        } else if self.may_spin_whole_period() {
            self.max_ns
        } else {
            (self.ns + down_ns * STEPS_ADDED_AFTER_LATE_WAKE).min(self.max_ns)
        };
    }
}

/// Returns the longest spin time before a tick, in nanoseconds. It is 8 % of the period, but at
/// least 80 µs and at most 1 ms. If less than 50 µs of the period would be left to sleep, it is the
/// whole period.
fn longest_spin_ns(period_ns: u64) -> u64 {
    let ns = period_ns / 100 * SPIN_PERCENT_OF_PERIOD_MAX;
    let ns = ns.clamp(SPIN_NS_MAX_IN_SHORT_PERIODS, SPIN_NS_MAX_IN_LONG_PERIODS);
    if period_ns < ns + SLEEP_NS_MIN_PER_PERIOD {
        period_ns
    } else {
        ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_period_may_spin_as_long_as_one_of_a_millisecond() {
        let most = [10_000_000, 1_000_000, 500_000, 100_000, 50_000].map(longest_spin_ns);
        assert_eq!(most, [800_000, 80_000, 80_000, 100_000, 50_000]);
    }

    /// Returns the state of a thread with a real-time priority that has been awake for long.
    fn spin(ns: u64, period_ns: u64) -> SpinTime {
        let max_ns = longest_spin_ns(period_ns);
        SpinTime {
            ns,
            max_ns,
            period_ns,
            has_real_time_priority: true,
            slept_ns: 0,
            woke_ns: 0,
            awake_until_ns: 0,
        }
    }

    #[test]
    fn the_spin_settles_where_one_wake_in_five_hundred_is_later() {
        let mut spin = spin(0, 1_000_000);
        let mut state = 1_u64;
        let mut later = 0;
        for index in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let late_ns = (state >> 33) % 40_000;
            later += u64::from(index >= 100_000 && late_ns > spin.ns);
            spin.adapt_to_lateness(late_ns);
            assert!(spin.ns <= spin.max_ns);
        }
        assert!((100..300).contains(&later), "{later} of 100000");
        assert!((39_000..44_000).contains(&spin.ns), "{} ns", spin.ns);
        (0..1_000_000).for_each(|_| spin.adapt_to_lateness(0));
        assert_eq!(spin.ns, 0);
        (0..1000).for_each(|_| spin.adapt_to_lateness(u64::MAX));
        assert_eq!(spin.ns, spin.max_ns);
    }

    #[test]
    fn a_thread_with_a_priority_yields_the_cpu_for_a_twentieth_of_the_time() {
        for period_ns in [20_000, 50_000, 100_000, 150_000, 1_000_000] {
            for (tick_percent, late_ns) in [(0, 0), (30, 80_000), (90, 5_000), (200, 200_000)] {
                let mut spin = spin(longest_spin_ns(period_ns), period_ns);
                let mut now_ns = 0;
                let mut due_ns = 0;
                let mut asleep_ns = 0;
                while now_ns < 1_000_000_000 {
                    let wake_ns = spin.sleep_until_ns(now_ns, due_ns);
                    if now_ns < wake_ns {
                        spin.record_sleep_begin(now_ns);
                        asleep_ns += wake_ns + late_ns - now_ns;
                        now_ns = wake_ns + late_ns;
                        spin.record_sleep_end(now_ns, late_ns);
                        continue;
                    }
                    now_ns = now_ns.max(due_ns) + period_ns * tick_percent / 100;
                    due_ns = (now_ns / period_ns + 1) * period_ns;
                }
                let what = format!("{period_ns} ns, {tick_percent} %: asleep for {asleep_ns} ns");
                assert!(asleep_ns > 50_000_000, "{what}");
            }
        }
    }

    #[test]
    fn a_thread_that_spins_all_sleeps_in_every_period_while_wakes_are_in_time() {
        let mut spin = spin(100_000, 100_000);
        assert_eq!(spin.sleep_until_ns(1_000, 100_000), 25_000);
        spin.record_sleep_begin(1_000);
        spin.record_sleep_end(25_000, 0);
        assert!((125_000..126_000).contains(&spin.sleep_until_ns(101_000, 200_000)));
        spin.record_sleep_begin(101_000);
        spin.record_sleep_end(205_000, 80_000);
        assert_eq!(spin.sleep_until_ns(206_000, 300_000), 200_000);
        // A thread without a priority keeps no thread from the CPU.
        let mut usual = SpinTime {
            has_real_time_priority: false,
            awake_until_ns: 0,
            ..spin
        };
        assert_eq!(usual.sleep_until_ns(206_000, 300_000), 200_000);
        // A thread that sleeps anyway keeps what it learned, however long a tick took.
        let mut spin = SpinTime {
            ns: 10_000,
            ..spin.with_period(1_000_000)
        };
        assert_eq!(spin.sleep_until_ns(900_000_000, 0), 900_000_000 + 250_000);
        assert_eq!(spin.ns, 10_000);
    }

    #[test]
    fn a_new_rate_bounds_the_spin_anew() {
        let spin = spin(700_000, 10_000_000);
        let faster = spin.with_period(100_000);
        assert_eq!(
            (faster.ns, faster.max_ns, faster.may_spin_whole_period()),
            (100_000, 100_000, true)
        );
        assert_eq!(faster.with_period(1_000_000).ns, 80_000);
    }

    /// A thread looks at commands and at the end of the run only while it does not spin. It sleeps
    /// for 20 ms at most, and each sleep lasts some time too long.
    #[test]
    fn a_thread_whose_node_ticks_once_an_hour_spins_no_longer_than_others() {
        let period_ns = 3_600_000_000_000;
        let mut spin = SpinTime {
            has_real_time_priority: false,
            ..spin(60_000, period_ns)
        };
        let (mut now_ns, mut sleeps) = (0, 0);
        while now_ns < spin.sleep_until_ns(now_ns, period_ns) {
            let wake_ns = spin
                .sleep_until_ns(now_ns, period_ns)
                .min(now_ns + 20_000_000);
            let late_ns = 60_000 + sleeps % 7 * 10_000;
            sleeps += 1;
            spin.record_sleep_begin(now_ns);
            now_ns = wake_ns + late_ns;
            spin.record_sleep_end(now_ns, late_ns);
        }
        let spin_ns = period_ns.saturating_sub(now_ns);
        assert!(spin_ns <= 1_000_000, "it spins for {spin_ns} ns");
    }
}
