//! Commands to a node. Any thread can store them, under a lock. Before each tick, the node's thread
//! checks with one load whether there are commands.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread;
use std::time::Duration;

use horus_shm::internals::sync::Word;

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::plan::NodePlan;
use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::run::pending_swap::PendingSwap;

/// The commands to one node that the node's thread has not applied yet or has to remember.
#[derive(Default)]
pub(crate) struct Commands {
    /// Tells the node's thread whether it has to read `wanted` before each tick:
    /// [`PENDING_UNAPPLIED_COMMAND`] if a command is not applied yet, [`PENDING_TICKS_FORBIDDEN`]
    /// if the wanted state forbids ticks, 0 if it need not.
    pending: AtomicU64,
    wanted: Mutex<WantedState>,
    /// The listener that is notified of each command; empty if the node's executor checks for
    /// commands regularly.
    listener: OnceLock<Box<dyn CommandListener>>,
}

/// An executor that does not check regularly for commands to its node. It is notified of each
/// command.
pub(crate) trait CommandListener: Send + Sync {
    /// Applies the wanted state of the node immediately. Called while the commands are locked.
    fn apply_wanted_state(&self, _wanted: &WantedState) {}

    /// Wakes the thread that runs the node, because there is a new command.
    fn wake(&self);
}

/// The number of times that a thread yields its CPU to the holder of the lock before it sleeps.
const YIELDS_BEFORE_SLEEP_MAX: u32 = 16;
/// The time for which a thread sleeps before it tries to take the lock again.
const LOCK_RETRY_PERIOD: Duration = Duration::from_micros(50);

/// The value of `pending` while there is a command that the node's thread has not applied yet.
const PENDING_UNAPPLIED_COMMAND: u64 = 2;

/// The value of `pending` after the node's thread has applied the commands, as long as they prevent
/// the node from ticking.
const PENDING_TICKS_FORBIDDEN: u64 = 1;

/// The state into which commands want to bring a node.
#[derive(Debug, Default)]
pub(crate) struct WantedState {
    pub(crate) mode: NodeMode,
    /// True during an emergency stop: the node is in its safe state and does not tick.
    pub(crate) is_emergency: bool,
    /// The number of emergency stops that have begun.
    ///
    /// WHY: the node's thread may see neither the end of one nor the start of the next.
    emergency_stop_number: u64,
    /// The requested new rate; `None` if none was requested, or once the node's thread has taken
    /// it.
    pub(crate) tick_limits: Option<TickLimits>,
    /// The requested replacement of the node; `None` if none was requested, or once the node's
    /// thread has taken it.
    pub(crate) pending_swap: Option<PendingSwap>,
    /// True once the node was shut down or its run is over, so that nothing takes a swap any more.
    pub(crate) is_closed: bool,
}

impl WantedState {
    /// Returns the number of the emergency stop that is engaged; `None` if none is.
    pub(crate) fn engaged_emergency_stop_number(&self) -> Option<u64> {
        self.is_emergency.then_some(self.emergency_stop_number)
    }
}

/// The requested mode of a node: whether it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NodeMode {
    #[default]
    Run,
    Pause,
    Stop,
}

/// The rate of a node, and the times that depend on it. If the node has no budget or no deadline,
/// that field is `u64::MAX`. If it has no rate, the period is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TickLimits {
    pub(crate) rate: Option<Rate>,
    pub(crate) budget_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) period_ns: u64,
}

impl TickLimits {
    pub(crate) fn from_plan(plan: &NodePlan) -> Self {
        let or_never = |time: Option<Duration>| time.map_or(u64::MAX, saturating_nanos);
        Self {
            rate: plan.rate,
            budget_ns: or_never(plan.budget),
            deadline_ns: or_never(plan.deadline),
            period_ns: plan.rate.map_or(0, |rate| saturating_nanos(rate.period())),
        }
    }

    /// Stores the budget and the period in the metrics of the node, where other threads read them.
    pub(crate) fn publish_to(&self, metrics: &LiveMetrics) {
        metrics.set_budget_and_period(self.budget_ns, self.period_ns);
    }
}

impl Commands {
    /// Returns true if the node's thread has to read the wanted state before it ticks. Costs an
    /// atomic load.
    #[inline(always)]
    pub(crate) fn must_be_read_before_tick(&self) -> bool {
        // Relaxed: the commands themselves are under a lock.
        self.pending.get() != 0
    }

    /// Locks the wanted state of the node, and calls `change` to change it. Returns the result of
    /// `change`. WHY `try_lock` in a loop: with `lock`, this thread might sleep, and the node's
    /// thread would have to wake it with a system call.
    pub(crate) fn change_wanted_state<R>(&self, change: impl FnOnce(&mut WantedState) -> R) -> R {
        let mut wanted = self.lock();
        let was_emergency = wanted.is_emergency;
        let answer = change(&mut wanted);
        wanted.emergency_stop_number += u64::from(!was_emergency && wanted.is_emergency);
        // Relaxed: as in `must_be_read_before_tick`. Also set by a change back to normal, which the
        // node's thread does not know yet.
        self.pending.set(PENDING_UNAPPLIED_COMMAND);
        if let Some(listener) = self.listener.get() {
            listener.apply_wanted_state(&wanted);
        }
        drop(wanted);
        self.wake();
        answer
    }

    fn lock(&self) -> MutexGuard<'_, WantedState> {
        let mut yields = 0;
        loop {
            match self.wanted.try_lock() {
                Ok(wanted) => return wanted,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if yields < YIELDS_BEFORE_SLEEP_MAX => {
                    yields += 1;
                    thread::yield_now();
                }
                // WHY: if this thread has a real-time priority, it yields to no thread without one,
                // and such a thread may hold the lock on the same core.
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_PERIOD),
            }
        }
    }

    /// Returns the number of the emergency stop that is engaged; `None` if none is. Takes the lock.
    pub(crate) fn engaged_emergency_stop_number(&self) -> Option<u64> {
        self.lock().engaged_emergency_stop_number()
    }

    /// Records that nothing takes a swap of the node any more. Returns the swap that was not taken,
    /// which the caller has to drop, so that it is abandoned.
    pub(crate) fn refuse_further_swaps(&self) -> Option<PendingSwap> {
        let mut wanted = self.lock();
        wanted.is_closed = true;
        wanted.pending_swap.take()
    }

    /// Wakes the thread that runs the node, through the listener. Has no effect if there is no
    /// listener.
    pub(crate) fn wake(&self) {
        if let Some(listener) = self.listener.get() {
            listener.wake();
        }
    }

    /// Notifies `listener` of each command from now on. Only the first call has an effect.
    pub(crate) fn set_listener(&self, listener: impl CommandListener + 'static) {
        // WHY ignored: a node is run in one way.
        let _ = self.listener.set(Box::new(listener));
    }

    /// Returns true if there is a command that the node's thread has not applied yet. Costs an
    /// atomic load.
    pub(crate) fn has_unapplied_command(&self) -> bool {
        // Relaxed: as in `must_be_read_before_tick`.
        self.pending.get() == PENDING_UNAPPLIED_COMMAND
    }

    /// Calls `act` with the node's wanted state and returns the result of `act`. Only the node's
    /// thread calls this function. Returns `None` if another thread holds the lock: the node's
    /// thread never waits, but tries again before its next tick.
    pub(crate) fn try_with_wanted_state<R>(
        &self,
        act: impl FnOnce(&mut WantedState) -> R,
    ) -> Option<R> {
        let mut wanted: MutexGuard<'_, WantedState> = match self.wanted.try_lock() {
            Ok(wanted) => wanted,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let answer = act(&mut wanted);
        let is_plain = wanted.mode == NodeMode::Run && !wanted.is_emergency;
        let is_taken = wanted.tick_limits.is_none() && wanted.pending_swap.is_none();
        // Relaxed: as in `must_be_read_before_tick`. Set under the lock, so that a later change is
        // not overwritten.
        self.pending.set(if is_plain && is_taken {
            0
        } else {
            PENDING_TICKS_FORBIDDEN
        });
        Some(answer)
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands")
            .field("pending", &self.pending)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_lasts_until_the_node_runs_and_all_commands_are_taken() {
        let commands = Commands::default();
        assert!(!commands.must_be_read_before_tick());
        let tick_limits = TickLimits {
            rate: None,
            budget_ns: 1,
            deadline_ns: 2,
            period_ns: 3,
        };
        commands.change_wanted_state(|wanted| {
            (wanted.mode, wanted.tick_limits) = (NodeMode::Pause, Some(tick_limits))
        });
        assert!(commands.must_be_read_before_tick());
        assert_eq!(
            commands.try_with_wanted_state(|wanted| wanted.tick_limits.take()),
            Some(Some(tick_limits))
        );
        assert!(commands.must_be_read_before_tick(), "it is still paused");
        commands.change_wanted_state(|wanted| wanted.mode = NodeMode::Run);
        assert!(
            commands.must_be_read_before_tick(),
            "the thread has not seen that it is over"
        );
        assert_eq!(
            commands.try_with_wanted_state(|wanted| wanted.is_emergency),
            Some(false)
        );
        assert!(!commands.must_be_read_before_tick());
        commands.change_wanted_state(|wanted| wanted.is_emergency = true);
        commands.try_with_wanted_state(|_| ());
        assert!(commands.must_be_read_before_tick());
    }

    /// Returns how often the thread with this id has given up its CPU because it had to wait.
    fn waits_of(thread: u32) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
        let is_meant = |line: &&str| line.starts_with("voluntary_ctxt_switches:");
        let line = status.lines().find(is_meant).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The holder of the lock may need the CPU of a sender with a real-time priority, which would
    /// get it back at once if it only yielded.
    #[test]
    fn a_sender_that_waits_for_another_one_sleeps() {
        let commands = Commands::default();
        let wanted = commands.lock();
        thread::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            let commands = &commands;
            scope.spawn(move || {
                tell.send(horus_shm::internals::thread::id()).unwrap();
                commands.change_wanted_state(|_| ());
            });
            let sender = told.recv().unwrap();
            let before = waits_of(sender);
            let end = std::time::Instant::now() + Duration::from_secs(60);
            let mut waits = 0;
            while waits < 20 && std::time::Instant::now() < end {
                thread::sleep(Duration::from_millis(1));
                waits = waits_of(sender) - before;
            }
            drop(wanted);
            assert_eq!(waits.min(20), 20, "it yields, and does not sleep");
        });
    }

    #[test]
    fn the_thread_of_a_node_never_waits_for_a_sender_of_commands() {
        let commands = Commands::default();
        commands.change_wanted_state(|_| assert!(commands.try_with_wanted_state(|_| ()).is_none()));
    }
}
