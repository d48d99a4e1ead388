//! The part of a worker's state that other threads read: its counter, and the activation that it
//! runs at present.

use std::sync::atomic::AtomicU64;

use horus_shm::internals::sync::Word;

/// The counter and the present activation of a worker. Only the worker writes them, and they have a
/// cache line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerActivity {
    /// Number of messages that the worker has handled so far.
    handled: AtomicU64,
    /// The time at which the worker began to run its present actor, in nanoseconds; 0 if it runs no
    /// actor.
    began_ns: AtomicU64,
    /// The id of the actor that the worker runs at present, or that it ran last.
    actor: AtomicU64,
}

/// An activation (one run of an actor) that has lasted longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongActivation {
    /// The index of the worker that runs the actor.
    pub(crate) index: usize,
    /// The time at which the activation began, in nanoseconds.
    pub(crate) began_ns: u64,
    /// The id of the actor that the worker runs.
    pub(crate) actor: usize,
}

impl WorkerActivity {
    /// Adds `messages` to the number of messages that the worker has handled. Only the worker calls
    /// this.
    #[inline]
    pub(crate) fn count_handled_messages(&self, messages: u64) {
        // Relaxed: a counter that one thread writes.
        self.handled.set(self.handled.get().wrapping_add(messages));
    }

    /// Returns the number of messages that the worker has handled.
    pub(super) fn handled_messages(&self) -> u64 {
        // Relaxed: a counter.
        self.handled.get()
    }

    /// Records that the worker begins to run an actor. Only the worker calls this.
    #[inline]
    pub(crate) fn record_activation_begin(&self, actor_id: usize, now_ns: u64) {
        // Relaxed, both: for a report.
        self.actor.set(actor_id as u64);
        self.began_ns.set(now_ns);
    }

    /// Returns true if the worker runs an actor.
    pub(super) fn is_running_actor(&self) -> bool {
        // Relaxed: the caller executes barriers before and after it.
        self.began_ns.get() != 0
    }

    /// Records that the worker has stopped running an actor. Only the worker calls this.
    #[inline]
    pub(crate) fn record_activation_end(&self) {
        // Relaxed: as above.
        self.began_ns.set(0);
    }
}

/// Returns those workers' activations (runs of an actor) that began before `began_before_ns` and
/// have not ended.
pub(super) fn long_activations(
    workers: &[WorkerActivity],
    began_before_ns: u64,
) -> Vec<LongActivation> {
    let turn = |(index, activity): (usize, &WorkerActivity)| LongActivation {
        index,
        began_ns: activity.began_ns.get(),
        actor: activity.actor.get() as usize,
    };
    let turns = workers.iter().enumerate().map(turn);
    let is_long = |turn: &LongActivation| (1..began_before_ns).contains(&turn.began_ns);
    turns.filter(is_long).collect()
}
