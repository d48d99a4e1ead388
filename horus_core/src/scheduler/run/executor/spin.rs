//! The wake-up time before a turn: the kernel wakes late, and this learns by how much.

use horus_shm::clock::{Clock, sleep_until};

/// The number of sleeps that measure the kernel's lateness at first, and their longest duration.
const TRIALS: usize = 10;
const TRIAL_NS_MAX: u64 = 1_000_000;
/// The number of these wakes that may be later than the spin covers.
const WORSE: usize = 1;
/// The spin shrinks by this part of its maximum after a wake that it covered, and grows by this
/// many times that after one that was later. It settles where one wake in five hundred is later.
/// WHY no larger part: a node that needs 99 of 100 turns in time has other reasons to be late, too.
const DOWN_PARTS: u64 = 10_000;
const UP_TIMES: u64 = 499;
/// The part of a period that may be spun, in percent.
const SPIN_PERCENT: u64 = 8;
/// The time that may be spun even if the period is short. WHY: the kernel wakes no sooner for a
/// shorter period, and a node that wakes later than its next turn misses that.
const SPIN_NS: u64 = 80_000;
/// If less than this would be left to sleep, the whole period may be spun.
const SLEEP_NS_MIN: u64 = 50_000;
/// The ratio of time awake to time asleep that a thread may reach.
///
/// WHY: SCHED_FIFO may have 95 % of a CPU, and Linux takes the rest at once: for up to 50 ms of
/// each second, in which a 10 kHz node loses 500 turns (6.18, by the fair server: 26 to 46 ms were
/// measured). A thread that yields that time in small parts loses hardly any turn.
const AWAKE_TIMES: u64 = 15;
/// The shortest sleep of that kind. WHY not shorter: it would be over before another thread runs.
const FORCED_SLEEP_NS: u64 = 20_000;

/// The time before a turn at which a thread has to wake to be in time nearly always. It covers the
/// kernel's lateness in all except one of five hundred wakes, up to [`spin_max_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spin {
    ns: u64,
    max_ns: u64,
    period_ns: u64,
    /// True if its priority keeps other threads from its CPU.
    is_first: bool,
    /// The start of its last sleep, its last wake, and the time until which it may be awake now.
    slept_ns: u64,
    woke_ns: u64,
    awake_until_ns: u64,
}

impl Spin {
    /// Learns it from a few sleeps. Takes 10 ms at most, plus the kernel's lateness.
    ///
    /// `is_first`: the thread has a priority, and has to yield the CPU to other threads now and
    /// then.
    pub(crate) fn learn(clock: &mut Clock, period_ns: u64, is_first: bool) -> Self {
        // WHY no shorter than the later sleeps: the CPU wakes later from a deeper sleep.
        let trial_ns = period_ns.min(TRIAL_NS_MAX);
        let mut late: [u64; TRIALS] = std::array::from_fn(|_| {
            let wake_ns = clock.resync() + trial_ns;
            sleep_until(wake_ns);
            clock.resync().saturating_sub(wake_ns)
        });
        late.sort_unstable();
        let ns = late[TRIALS - 1 - WORSE];
        // It need not sleep before its first wake.
        let awake_until_ns = u64::MAX;
        let mut spin =
            Self { ns, max_ns: 0, period_ns, is_first, slept_ns: 0, woke_ns: 0, awake_until_ns };
        let now_ns = clock.now_ns();
        spin.begin_sleep(now_ns.saturating_sub(trial_ns));
        spin.end_sleep(now_ns, 0);
        spin.at_period(period_ns)
    }

    /// Returns the same for another period.
    pub(super) fn at_period(self, period_ns: u64) -> Self {
        let max_ns = spin_max_ns(period_ns);
        Self { ns: self.ns.min(max_ns), max_ns, period_ns, ..self }
    }

    /// Returns true if the whole period may be spun.
    const fn may_never_sleep(&self) -> bool {
        self.max_ns >= self.period_ns
    }

    /// Returns the wake-up time for a turn: the thread has to sleep until then, if that has not
    /// come yet.
    ///
    /// A thread that was awake for too long sleeps now, even at the cost of that turn. If it spins
    /// the whole period, it also yields a quarter of it from then on, until a wake is late.
    pub(super) fn wake_ns(&mut self, now_ns: u64, due_ns: u64) -> u64 {
        let was_awake = self.is_first && now_ns >= self.awake_until_ns;
        if was_awake && self.may_never_sleep() {
            self.ns = self.ns.min(self.max_ns / 4 * 3);
        }
        let wake_ns = due_ns.saturating_sub(self.ns);
        if !was_awake {
            return wake_ns;
        }
        let owed_ns = now_ns.saturating_sub(self.woke_ns) / AWAKE_TIMES;
        wake_ns.max(now_ns + owed_ns.min(self.period_ns / 4).max(FORCED_SLEEP_NS))
    }

    /// Notes that a sleep begins.
    pub(super) const fn begin_sleep(&mut self, now_ns: u64) {
        self.slept_ns = now_ns;
    }

    /// Notes that the sleep is over, `late_ns` late.
    pub(super) fn end_sleep(&mut self, now_ns: u64, late_ns: u64) {
        let slept_ns = now_ns.saturating_sub(self.slept_ns);
        // WHY at most a period: one slow turn must not cost sleep for long.
        let owed_ns = self.slept_ns.saturating_sub(self.awake_until_ns).min(self.period_ns);
        let until_ns = now_ns.saturating_add(slept_ns.saturating_mul(AWAKE_TIMES));
        self.awake_until_ns = until_ns.saturating_sub(owed_ns);
        self.woke_ns = now_ns;
        self.note(late_ns);
    }

    /// Learns from a wake that was `late_ns` late.
    fn note(&mut self, late_ns: u64) {
        let down_ns = (self.max_ns / DOWN_PARTS).max(1);
        self.ns = if late_ns <= self.ns {
            self.ns.saturating_sub(down_ns)
        } else if self.may_never_sleep() {
            self.max_ns
        } else {
            (self.ns + down_ns * UP_TIMES).min(self.max_ns)
        };
    }
}

/// Returns the time that may be spun before each turn: 8 % of a period; below 1 ms as much as at 1
/// ms, or the whole period if that leaves almost no time to sleep.
fn spin_max_ns(period_ns: u64) -> u64 {
    let ns = (period_ns / 100 * SPIN_PERCENT).max(SPIN_NS);
    if period_ns < ns + SLEEP_NS_MIN { period_ns } else { ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_period_may_spin_as_long_as_one_of_a_millisecond() {
        let most = [10_000_000, 1_000_000, 500_000, 100_000, 50_000].map(spin_max_ns);
        assert_eq!(most, [800_000, 80_000, 80_000, 100_000, 50_000]);
    }

    /// Makes the spin of a thread with a priority that was awake for long.
    fn spin(ns: u64, period_ns: u64) -> Spin {
        let max_ns = spin_max_ns(period_ns);
        Spin { ns, max_ns, period_ns, is_first: true, slept_ns: 0, woke_ns: 0, awake_until_ns: 0 }
    }

    #[test]
    fn the_spin_settles_where_one_wake_in_five_hundred_is_later() {
        let mut spin = spin(0, 1_000_000);
        let mut state = 1_u64;
        let mut later = 0;
        for index in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let late_ns = (state >> 33) % 40_000;
            later += u64::from(index >= 100_000 && late_ns > spin.ns);
            spin.note(late_ns);
            assert!(spin.ns <= spin.max_ns);
        }
        assert!((100..300).contains(&later), "{later} of 100000");
        assert!((39_000..44_000).contains(&spin.ns), "{} ns", spin.ns);
        (0..1_000_000).for_each(|_| spin.note(0));
        assert_eq!(spin.ns, 0);
        (0..1000).for_each(|_| spin.note(u64::MAX));
        assert_eq!(spin.ns, spin.max_ns);
    }

    #[test]
    fn a_thread_with_a_priority_yields_the_cpu_for_a_twentieth_of_the_time() {
        for period_ns in [20_000, 50_000, 100_000, 150_000, 1_000_000] {
            for (tick_percent, late_ns) in [(0, 0), (30, 80_000), (90, 5_000), (200, 200_000)] {
                let mut spin = spin(spin_max_ns(period_ns), period_ns);
                let (mut now_ns, mut due_ns, mut asleep_ns) = (0, 0, 0);
                while now_ns < 1_000_000_000 {
                    let wake_ns = spin.wake_ns(now_ns, due_ns);
                    if now_ns < wake_ns {
                        spin.begin_sleep(now_ns);
                        asleep_ns += wake_ns + late_ns - now_ns;
                        now_ns = wake_ns + late_ns;
                        spin.end_sleep(now_ns, late_ns);
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
        assert_eq!(spin.wake_ns(1_000, 100_000), 25_000);
        spin.begin_sleep(1_000);
        spin.end_sleep(25_000, 0);
        assert!((125_000..126_000).contains(&spin.wake_ns(101_000, 200_000)));
        spin.begin_sleep(101_000);
        spin.end_sleep(205_000, 80_000);
        assert_eq!(spin.wake_ns(206_000, 300_000), 200_000);
        // A thread without a priority keeps no thread from the CPU.
        let mut usual = Spin { is_first: false, awake_until_ns: 0, ..spin };
        assert_eq!(usual.wake_ns(206_000, 300_000), 200_000);
        // A thread that sleeps anyway keeps what it learned, however long a tick took.
        let mut spin = Spin { ns: 10_000, ..spin.at_period(1_000_000) };
        assert_eq!(spin.wake_ns(900_000_000, 0), 900_000_000 + 250_000);
        assert_eq!(spin.ns, 10_000);
    }

    #[test]
    fn a_new_rate_bounds_the_spin_anew() {
        let spin = spin(700_000, 10_000_000);
        let faster = spin.at_period(100_000);
        assert_eq!((faster.ns, faster.max_ns, faster.may_never_sleep()), (100_000, 100_000, true));
        assert_eq!(faster.at_period(1_000_000).ns, 80_000);
    }
}
