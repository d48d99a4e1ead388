//! The metrics of a node. The thread that runs the node writes them with plain stores, to cache
//! lines that no other thread writes. Any thread can read them.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use horus_shm::internals::sync::Word;

/// Number of buckets of a [`Histogram`]. Bucket i counts the values from 2^(i-1) ns up to, but not
/// including, 2^i ns; the last bucket also counts all larger values.
pub const HISTOGRAM_BUCKETS: usize = 40;

/// The bit of [`LiveMetrics::busy_since_ns`] that is set while a panic hook is running.
const PANIC_HOOK_RUNNING_BIT: u64 = 1 << 63;
/// The longest time that a panic hook may take, in nanoseconds. After that, the node counts as
/// stuck, because the hook seems to be blocked.
const PANIC_HOOK_NS_MAX: u64 = 10_000_000_000;

/// The metrics of one node. The thread that runs the node updates them, and other threads read
/// them.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct LiveMetrics {
    ticks: AtomicU64,
    /// The time at which the present tick began; 0 while the node is not in a tick.
    tick_began_ns: AtomicU64,
    /// The [`UserCall`] that the node is in, as its index in `UserCall::ALL` plus one; 0 if it is
    /// in none.
    user_call: AtomicU64,
    /// The start of the last tick that has panicked, plus the time that its panic hooks have taken,
    /// in nanoseconds. While a hook runs: `PANIC_HOOK_RUNNING_BIT`, and the time for which the tick
    /// was busy before, in nanoseconds.
    busy_since_ns: AtomicU64,
    last_ns: AtomicU64,
    max_ns: AtomicU64,
    misses: AtomicU64,
    skipped_ticks: AtomicU64,
    failures: AtomicU64,
    panics: AtomicU64,
    /// The node's [`Health`], as its index in `Health::ALL`, combined with [`PAUSED_BIT`] and
    /// [`EMERGENCY_BIT`]; [`HEALTH_UNKNOWN`] until it is first set. WHY in one word: they change
    /// together.
    health: AtomicU64,
    /// 1 while the node has to be in its safe state and has not reached it, 0 otherwise.
    lacks_required_safe_state: AtomicU64,
    /// The longest time that a tick may take at the present rate; `u64::MAX` if the node has no
    /// budget.
    budget_ns: AtomicU64,
    /// The present period of the node; 0 if it has no rate.
    period_ns: AtomicU64,
    durations: [AtomicU64; HISTOGRAM_BUCKETS],
    lateness: [AtomicU64; HISTOGRAM_BUCKETS],
}

impl Default for LiveMetrics {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            ticks: zero(),
            tick_began_ns: zero(),
            user_call: zero(),
            busy_since_ns: zero(),
            last_ns: zero(),
            max_ns: zero(),
            misses: zero(),
            skipped_ticks: zero(),
            failures: zero(),
            panics: zero(),
            health: AtomicU64::new(HEALTH_UNKNOWN),
            lacks_required_safe_state: zero(),
            budget_ns: AtomicU64::new(u64::MAX),
            period_ns: zero(),
            durations: [const { AtomicU64::new(0) }; HISTOGRAM_BUCKETS],
            lateness: [const { AtomicU64::new(0) }; HISTOGRAM_BUCKETS],
        }
    }
}

/// The bit of [`LiveMetrics::health`] that is set while the node is paused by a command.
const PAUSED_BIT: u64 = 1 << 63;
/// The bit of [`LiveMetrics::health`] that is set while the node has applied an emergency stop.
const EMERGENCY_BIT: u64 = 1 << 62;

/// The value of [`LiveMetrics::health`] before the first call of [`LiveMetrics::set_health`].
const HEALTH_UNKNOWN: u64 = !(PAUSED_BIT | EMERGENCY_BIT);

/// The state of a node: whether it ticks and, if it does not, the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Health {
    /// The node ticks, or will soon tick for the first time.
    #[default]
    Active,
    /// A command has paused the node.
    Paused,
    /// The node does not tick for some time, because a tick failed or was late.
    BackingOff,
    /// The node is in its safe state, in which it does no harm.
    Safe,
    /// The node was shut down.
    Stopped,
}

impl Health {
    const ALL: [Self; 5] = [
        Self::Active,
        Self::Paused,
        Self::BackingOff,
        Self::Safe,
        Self::Stopped,
    ];
}

/// Code of a node that runs outside of its ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserCall {
    Init,
    Shutdown,
    EnterSafeState,
    OnError,
    Swap,
    Drop,
}

impl UserCall {
    const ALL: [Self; 6] = [
        Self::Init,
        Self::Shutdown,
        Self::EnterSafeState,
        Self::OnError,
        Self::Swap,
        Self::Drop,
    ];

    /// Returns the name of the call for an error message.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Init => "its init",
            Self::Shutdown => "its shutdown",
            Self::EnterSafeState => "its enter_safe_state",
            Self::OnError => "its on_error",
            Self::Swap => "a function of its swap",
            Self::Drop => "a drop of its values",
        }
    }
}

/// Adds `increment` to a counter that only the calling thread writes.
#[inline(always)]
fn add_to_counter(counter: &AtomicU64, increment: u64) {
    // Relaxed: a counter.
    counter.set(counter.get().wrapping_add(increment));
}

#[inline(always)]
const fn bucket_index(ns: u64) -> usize {
    let bits = (u64::BITS - ns.leading_zeros()) as usize;
    if bits < HISTOGRAM_BUCKETS {
        bits
    } else {
        HISTOGRAM_BUCKETS - 1
    }
}

impl LiveMetrics {
    /// Records that a tick begins at `begin_ns`, and how late it is: it was due at `due_ns`.
    #[inline(always)]
    pub(crate) fn record_tick_begin(&self, due_ns: u64, begin_ns: u64) {
        // Relaxed: a counter, which the supervisor polls.
        self.tick_began_ns.set(begin_ns);
        add_to_counter(
            &self.lateness[bucket_index(begin_ns.saturating_sub(due_ns))],
            1,
        );
    }

    /// Records that an asynchronous tick continues after an `await`.
    #[cfg(feature = "async-io")]
    pub(crate) fn record_tick_await_end(&self, now_ns: u64) {
        // Relaxed: as in `record_tick_begin`.
        self.tick_began_ns.set(now_ns);
    }

    /// Records that an asynchronous tick waits in an `await`, so that it does not count as stuck
    /// meanwhile.
    #[cfg(feature = "async-io")]
    pub(crate) fn record_tick_await_begin(&self) {
        // Relaxed: as in `record_tick_begin`.
        self.tick_began_ns.set(0);
    }

    /// Records that the tick that began at `begin_ns` has ended at `end_ns`.
    #[inline(always)]
    pub(crate) fn record_tick_end(&self, begin_ns: u64, end_ns: u64) {
        let duration = end_ns.saturating_sub(begin_ns);
        add_to_counter(&self.ticks, 1);
        add_to_counter(&self.durations[bucket_index(duration)], 1);
        // Relaxed: counters.
        self.last_ns.set(duration);
        if duration > self.max_ns.get() {
            self.max_ns.set(duration);
        }
        self.tick_began_ns.set(0);
    }

    /// Runs `run`, which calls code of the node outside of a tick. `run` must not panic. Until it
    /// returns, [`Self::user_call`] returns `call`.
    pub(crate) fn run_as_user_call<R>(&self, call: UserCall, run: impl FnOnce() -> R) -> R {
        // Relaxed: only the thread that ends the run reads it, and only for a node that hangs.
        let before = self.user_call.get();
        self.user_call.set(call as u64 + 1);
        let result = run();
        self.user_call.set(before);
        result
    }

    /// Returns the call outside of a tick that the node is in; `None` if it is in none.
    pub(crate) fn user_call(&self) -> Option<UserCall> {
        // Relaxed: as above.
        let index = self.user_call.get().checked_sub(1)?;
        UserCall::ALL.get(index as usize).copied()
    }

    /// Sets the budget of a tick and the period of the node, which change with the rate.
    /// `u64::MAX` means that there is no budget, and 0 that there is no rate.
    pub(crate) fn set_budget_and_period(&self, budget_ns: u64, period_ns: u64) {
        // Relaxed: settings.
        self.budget_ns.set(budget_ns);
        self.period_ns.set(period_ns);
    }

    /// Returns the present period of the node, in nanoseconds; 0 if it has no rate.
    pub(crate) fn period_ns(&self) -> u64 {
        // Relaxed: as above.
        self.period_ns.get()
    }

    /// Returns the budget of a tick, in nanoseconds; `u64::MAX` if the node has no budget.
    pub(crate) fn budget_ns(&self) -> u64 {
        // Relaxed: as above.
        self.budget_ns.get()
    }

    /// Sets the health of the node. `is_paused` is true if a command has paused it, whatever its
    /// health is, and `is_emergency` while it has applied an emergency stop.
    pub(crate) fn set_health(&self, health: Health, is_paused: bool, is_emergency: bool) {
        let paused = if is_paused { PAUSED_BIT } else { 0 };
        let emergency = if is_emergency { EMERGENCY_BIT } else { 0 };
        // Relaxed: a counter.
        self.health.set(health as u64 | paused | emergency);
    }

    /// Records whether the node has to be in its safe state and has not reached it.
    pub(crate) fn set_lacks_required_safe_state(&self, lacks_required_safe_state: bool) {
        // Relaxed: as in `set_health`.
        self.lacks_required_safe_state
            .set(lacks_required_safe_state.into());
    }

    /// Returns true if the node has to be in its safe state and has not reached it.
    pub(crate) fn lacks_required_safe_state(&self) -> bool {
        // Relaxed: as in `set_health`.
        self.lacks_required_safe_state.get() != 0
    }

    /// Returns the health of the node, and a bool that is true if a command has paused the node.
    pub(crate) fn health_and_is_paused(&self) -> (Health, bool) {
        self.published_health_and_is_paused().unwrap_or_default()
    }

    /// Returns the same as [`Self::health_and_is_paused`]; `None` if the health was never set,
    /// because the node was not initialised yet and has got no command.
    pub(crate) fn published_health_and_is_paused(&self) -> Option<(Health, bool)> {
        // Relaxed: a counter.
        let word = self.health.get();
        let index = word & !(PAUSED_BIT | EMERGENCY_BIT);
        let health = *Health::ALL.get(index as usize)?;
        Some((health, word & PAUSED_BIT != 0))
    }

    /// Returns true if the node had applied an emergency stop when its health was last set.
    pub(crate) fn has_applied_emergency_stop(&self) -> bool {
        // Relaxed: as in `set_health`.
        self.health.get() & EMERGENCY_BIT != 0
    }

    /// Returns the number of ticks that have ended; for a group of actors, see
    /// [`Self::set_group_counters`].
    pub(crate) fn ended_tick_count(&self) -> u64 {
        // Relaxed: a counter.
        self.ticks.get()
    }

    pub(crate) fn count_miss(&self) {
        add_to_counter(&self.misses, 1);
    }

    pub(crate) fn count_skipped_ticks(&self, ticks: u64) {
        add_to_counter(&self.skipped_ticks, ticks);
    }

    pub(crate) fn count_failure(&self, is_panic: bool) {
        add_to_counter(&self.failures, 1);
        add_to_counter(&self.panics, u64::from(is_panic));
    }

    /// Sets the counters, if these metrics belong to a group of actors and not to a node. For a
    /// group, `ticks` is the number of handled messages.
    pub(crate) fn set_group_counters(&self, ticks: u64, failures: u64, panics: u64) {
        // Relaxed: counters.
        self.ticks.set(ticks);
        self.failures.set(failures);
        self.panics.set(panics);
    }

    /// Returns the time at which the present tick began; 0 while the node is not in a tick.
    pub(crate) fn tick_began_ns(&self) -> u64 {
        // Relaxed: a counter.
        self.tick_began_ns.get()
    }

    /// Records that the present tick panics at `now_ns`, and that the panic hook is about to run.
    pub(crate) fn record_panic_begin(&self, now_ns: u64) {
        let busy_ns = self.busy_ns(now_ns).unwrap_or_default();
        // Relaxed: as in `record_tick_begin`.
        self.busy_since_ns
            .set(PANIC_HOOK_RUNNING_BIT | busy_ns.min(PANIC_HOOK_RUNNING_BIT - 1));
    }

    /// Records that the panic hook has returned. The tick will then end soon, unless the node
    /// itself catches its panics.
    pub(crate) fn record_panic_end(&self, now_ns: u64) {
        // Relaxed: as in `record_tick_begin`.
        let busy_ns = self.busy_since_ns.get() & !PANIC_HOOK_RUNNING_BIT;
        self.busy_since_ns.set(now_ns.saturating_sub(busy_ns));
    }

    /// Returns true while the panic hook runs for a panic in a tick of the node.
    pub(crate) fn is_panic_hook_running(&self) -> bool {
        // Relaxed: a counter.
        self.busy_since_ns.get() & PANIC_HOOK_RUNNING_BIT != 0
    }

    /// Returns how long the present tick has lasted at `now_ns`, including the time of a panic
    /// hook. Returns 0 if the node is not in a tick.
    pub(crate) fn time_in_tick_ns(&self, now_ns: u64) -> u64 {
        match self.tick_began_ns() {
            0 => 0,
            tick_began_ns => now_ns.saturating_sub(tick_began_ns),
        }
    }

    /// Returns how long the node has been busy with its present tick at `now_ns`: the time since
    /// the tick began, without the time that panic hooks have taken since. If the tick has already
    /// lasted `PANIC_HOOK_NS_MAX`, the time of a hook that still runs counts, too. `None` if the
    /// node is not in a tick.
    pub(crate) fn busy_time(&self, now_ns: u64) -> Option<Duration> {
        self.busy_ns(now_ns).map(Duration::from_nanos)
    }

    fn busy_ns(&self, now_ns: u64) -> Option<u64> {
        let began_ns = self.tick_began_ns();
        if began_ns == 0 {
            return None;
        }
        let lasted_ns = now_ns.saturating_sub(began_ns);
        // Relaxed: a counter.
        let busy_since_ns = self.busy_since_ns.get();
        Some(if busy_since_ns & PANIC_HOOK_RUNNING_BIT == 0 {
            // WHY the later time: the last panic may have been in an earlier tick.
            now_ns.saturating_sub(busy_since_ns.max(began_ns))
        } else if lasted_ns < PANIC_HOOK_NS_MAX {
            busy_since_ns & !PANIC_HOOK_RUNNING_BIT
        } else {
            lasted_ns
        })
    }

    /// Returns a copy of all metrics. They may have been read at slightly different moments,
    /// because the node may run at the same time.
    pub(crate) fn snapshot(&self) -> TickMetrics {
        // Relaxed: counters.
        let all = |words: &[AtomicU64; HISTOGRAM_BUCKETS]| {
            std::array::from_fn(|index| words[index].get())
        };
        let durations = all(&self.durations);
        // WHY after the durations: it is the bound of their quantiles.
        let max_ns = self.max_ns.get();
        TickMetrics {
            ticks: self.ticks.get(),
            last: Duration::from_nanos(self.last_ns.get()),
            max: Duration::from_nanos(max_ns),
            misses: self.misses.get(),
            skipped_ticks: self.skipped_ticks.get(),
            failures: self.failures.get(),
            panics: self.panics.get(),
            health: self.health_and_is_paused().0,
            durations: Histogram {
                buckets: durations,
                max_ns,
            },
            lateness: Histogram {
                buckets: all(&self.lateness),
                max_ns: u64::MAX,
            },
        }
    }
}

/// The metrics of a node since the start of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickMetrics {
    /// Number of ticks of the node that have ended.
    pub ticks: u64,
    /// The duration of the last tick that has ended.
    pub last: Duration,
    /// The duration of the longest tick.
    pub max: Duration,
    /// Number of misses: ticks that ended after their deadline, exceeded their budget, began too
    /// soon or passed their checkpoints in a wrong order, and checks that found an input older than
    /// its timeout.
    pub misses: u64,
    /// Number of due times at which the node did not tick because it was still in a tick, or
    /// because its [`MissPolicy`](crate::scheduler::MissPolicy) or
    /// [`FailurePolicy::Skip`](crate::scheduler::FailurePolicy::Skip) skipped them.
    pub skipped_ticks: u64,
    /// Number of failures: calls of the node's methods that panicked, and calls of `tick` and
    /// `init` that returned an error.
    pub failures: u64,
    /// Number of calls of the node's methods that panicked.
    pub panics: u64,
    /// The health of the node: whether it ticks, and if not, why.
    pub health: Health,
    /// The histogram of the durations of all ticks.
    pub durations: Histogram,
    /// The histogram of the lateness of all ticks: the time from when a tick was due to its start.
    pub lateness: Histogram,
}

/// A histogram of durations. The bounds of its buckets are powers of two, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; HISTOGRAM_BUCKETS],
    /// The largest value in nanoseconds; `u64::MAX` if it is not known.
    max_ns: u64,
}

impl Histogram {
    /// Returns the number of values in each bucket. The upper bounds of the buckets are 1, 2, 4, …
    /// nanoseconds. The last bucket also contains all larger values.
    #[must_use]
    pub const fn buckets(&self) -> &[u64; HISTOGRAM_BUCKETS] {
        &self.buckets
    }

    /// Returns the number of values that the histogram contains, in all its buckets.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets
            .iter()
            .fold(0, |sum, count| sum.wrapping_add(*count))
    }

    /// Returns a duration that the fraction `share` (0 to 1) of the values does not exceed. The
    /// result is the upper bound of a bucket, so it is at most twice the exact quantile, unless
    /// that lies above the bound of the last bucket. A quantile of `TickMetrics::durations` is
    /// never above `TickMetrics::max`. Returns zero if there are no values.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count() as f64 * share.clamp(0.0, 1.0)).ceil() as u64;
        let mut seen = 0_u64;
        for (index, count) in self.buckets.iter().enumerate() {
            seen = seen.wrapping_add(*count);
            if *count > 0 && seen >= wanted {
                return Duration::from_nanos(self.max_ns.min(1 << index));
            }
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_counted_with_their_times() {
        let metrics = LiveMetrics::default();
        for (due, begin, end) in [(100, 100, 1100), (2000, 2500, 2600), (3000, 3001, 13_001)] {
            metrics.record_tick_begin(due, begin);
            assert_eq!(metrics.busy_time(begin + 7), Some(Duration::from_nanos(7)));
            metrics.record_tick_end(begin, end);
            assert_eq!(metrics.busy_time(end), None);
        }
        let snapshot = metrics.snapshot();
        assert_eq!((snapshot.ticks, snapshot.durations.count()), (3, 3));
        assert_eq!(
            (snapshot.last.as_nanos(), snapshot.max.as_nanos()),
            (10_000, 10_000)
        );
        assert_eq!(snapshot.lateness.quantile(0.3), Duration::from_nanos(1));
        assert_eq!(snapshot.lateness.quantile(1.0), Duration::from_nanos(512));
        assert_eq!(snapshot.durations.quantile(0.5), Duration::from_nanos(1024));
        // The bound of its bucket is 16,384 ns.
        assert_eq!(snapshot.durations.quantile(0.99), snapshot.max);
    }

    #[test]
    fn no_time_is_too_long_for_a_bucket() {
        let metrics = LiveMetrics::default();
        metrics.record_tick_begin(0, u64::MAX);
        metrics.record_tick_end(0, u64::MAX);
        let snapshot = metrics.snapshot();
        assert_eq!(
            snapshot.durations.quantile(0.5),
            Duration::from_nanos(1 << 39)
        );
        assert_eq!(
            Histogram {
                buckets: [0; HISTOGRAM_BUCKETS],
                max_ns: u64::MAX,
            }
            .quantile(0.5),
            Duration::ZERO
        );
    }

    #[test]
    fn the_time_of_a_panic_hook_does_not_count_as_time_of_the_tick() {
        const MS: u64 = 1_000_000;
        let metrics = LiveMetrics::default();
        let busy_ms = |now_ms| metrics.busy_time(now_ms * MS).map(|busy| busy.as_millis());
        metrics.record_tick_begin(100 * MS, 100 * MS);
        metrics.record_panic_begin(100 * MS);
        assert_eq!([busy_ms(100), busy_ms(2000), busy_ms(10_099)], [Some(0); 3]);
        // A hook that does not end makes the tick hang.
        assert_eq!(busy_ms(10_100), Some(10_000));
        metrics.record_panic_end(2000 * MS);
        // The node has caught its panic itself, and goes on.
        assert_eq!([busy_ms(2000), busy_ms(2050)], [Some(0), Some(50)]);
        metrics.record_panic_begin(2060 * MS);
        assert_eq!(busy_ms(2090), Some(60));
        metrics.record_panic_end(2095 * MS);
        assert_eq!([busy_ms(2095), busy_ms(2100)], [Some(60), Some(65)]);
        metrics.record_tick_end(100 * MS, 2100 * MS);
        assert_eq!(busy_ms(2200), None);
        // The panic does not count for the next tick.
        metrics.record_tick_begin(3000 * MS, 3000 * MS);
        assert_eq!(busy_ms(3007), Some(7));
    }
}
