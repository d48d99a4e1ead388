//! Commands to a node: stored under a lock, polled by its thread with one load a turn.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use horus_shm::internals::sync::Word;

use crate::scheduler::api::plan::Plan;
use crate::scheduler::api::policy::nanos;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::run::exchange::Exchange;

/// The pending commands of one node.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// 1 while the node's thread has to look at `wanted`.
    attention: AtomicU64,
    wanted: Mutex<Wanted>,
}

/// The wanted state of a node.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) mode: Mode,
    /// True during an emergency stop: the node is in its safe state and does not tick.
    pub(crate) is_emergency: bool,
    /// A new rate, until the node's thread takes it.
    pub(crate) pace: Option<Pace>,
    /// A new node, until the node's thread takes it.
    pub(crate) exchange: Option<Exchange>,
}

/// The wanted mode of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Run,
    Pause,
    Stop,
}

/// The rate of a node, and the times that follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) rate: Option<Rate>,
    pub(crate) budget_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) period_ns: u64,
}

impl Pace {
    pub(crate) fn of(plan: &Plan) -> Self {
        let or_never = |time: Option<Duration>| time.map_or(u64::MAX, nanos);
        Self {
            rate: plan.rate,
            budget_ns: or_never(plan.budget),
            deadline_ns: or_never(plan.deadline),
            period_ns: plan.rate.map_or(0, |rate| nanos(rate.period())),
        }
    }
}

impl Commands {
    /// Returns true if the node's thread has to look at the commands. Costs a load.
    #[inline(always)]
    pub(crate) fn attention(&self) -> bool {
        // Relaxed: the commands themselves are under a lock.
        self.attention.get() != 0
    }

    /// Changes what is wanted. WHY by `try_lock` in a loop: the node's thread holds the lock for
    /// some nanoseconds, and would have to wake a thread that sleeps on it.
    pub(crate) fn want<R>(&self, change: impl FnOnce(&mut Wanted) -> R) -> R {
        let mut wanted = loop {
            match self.wanted.try_lock() {
                Ok(wanted) => break wanted,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => thread::yield_now(),
            }
        };
        let answer = change(&mut wanted);
        // Relaxed: as in `attention`. Also set if nothing is wanted any more: the thread does not
        // know that yet.
        self.attention.set(1);
        answer
    }

    /// Shows what is wanted to the node's thread. Returns `None` if another thread holds the lock:
    /// then the node's thread looks again in its next turn, so that it never waits.
    pub(crate) fn poll<R>(&self, look: impl FnOnce(&mut Wanted) -> R) -> Option<R> {
        let mut wanted: MutexGuard<'_, Wanted> = match self.wanted.try_lock() {
            Ok(wanted) => wanted,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let answer = look(&mut wanted);
        let is_plain = wanted.mode == Mode::Run && !wanted.is_emergency;
        let is_taken = wanted.pace.is_none() && wanted.exchange.is_none();
        // Relaxed: as in `attention`. Under the lock, so that the last change also sets it last.
        self.attention.set(u64::from(!(is_plain && is_taken)));
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_lasts_until_the_node_runs_and_all_commands_are_taken() {
        let commands = Commands::default();
        assert!(!commands.attention());
        let pace = Pace { rate: None, budget_ns: 1, deadline_ns: 2, period_ns: 3 };
        commands.want(|wanted| (wanted.mode, wanted.pace) = (Mode::Pause, Some(pace)));
        assert!(commands.attention());
        assert_eq!(commands.poll(|wanted| wanted.pace.take()), Some(Some(pace)));
        assert!(commands.attention(), "it is still paused");
        commands.want(|wanted| wanted.mode = Mode::Run);
        assert!(commands.attention(), "the thread has not seen that it is over");
        assert_eq!(commands.poll(|wanted| wanted.is_emergency), Some(false));
        assert!(!commands.attention());
        commands.want(|wanted| wanted.is_emergency = true);
        commands.poll(|_| ());
        assert!(commands.attention());
    }

    #[test]
    fn the_thread_of_a_node_never_waits_for_a_sender_of_commands() {
        let commands = Commands::default();
        commands.want(|_| assert!(commands.poll(|_| ()).is_none()));
    }
}
