//! The timers of a group: sends the messages that are due, and ends the pauses of suspended actors.

use horus_shm::internals::sync::Word;

use super::{ActorGroup, Task};
use crate::actor::local;
use crate::actor::timer::PendingTimer;
use crate::actor::worker_activity::WorkerActivity;
use crate::scheduler::run::catch_panic::{catch_panic, drop_and_catch_panic};

/// Something that waits in a group's list of timers until a given time: a suspended actor, or a
/// timer of an actor.
#[derive(Debug)]
pub(crate) enum TimerEntry {
    /// An actor that is suspended after a failure. When the time is over, it is run again.
    Pause(Task),
    /// A timer of an actor, and the time at which its next message is due, in nanoseconds.
    Timer(PendingTimer, u64),
}

impl TimerEntry {
    /// Returns true if this is a timer that was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self, Self::Timer(timer, _) if timer.is_cancelled())
    }
}

impl ActorGroup {
    /// Starts a timer, whose first message is due at `due_ns`.
    pub(crate) fn start_timer(&self, due_ns: u64, timer: PendingTimer) {
        self.store_timer(due_ns, timer);
        // WHY: a worker would notice it before it sleeps; other threads have to wake one.
        if !local::is_worker() {
            self.queues.wake_all();
        }
    }

    fn store_timer(&self, due_ns: u64, timer: PendingTimer) {
        self.timers.add(due_ns, TimerEntry::Timer(timer, due_ns));
        // WHY after: if the group ends later, it finds the timer.
        if self.is_over.get() != 0 {
            self.end_orphaned_timers();
        }
    }

    /// Sends the messages of all timers that are due. If the pause of an actor is over, returns
    /// that actor, which the caller has to run. `activity` belongs to the worker of the calling
    /// thread.
    #[cold]
    pub(crate) fn run_due_timers(&self, now_ns: u64, activity: &WorkerActivity) -> Option<Task> {
        while let Some(due) = self.timers.take_due_entry(now_ns) {
            match due {
                TimerEntry::Pause(task) => return Some(task),
                TimerEntry::Timer(timer, due_ns) => {
                    // WHY: a timer's function may not return, or take long before the next timer.
                    activity.record_activation_begin(timer.actor_id(), self.clock().now_ns());
                    self.send_timer_message(timer, due_ns, now_ns);
                    activity.record_activation_end();
                }
            }
        }
        None
    }

    pub(super) fn send_timer_message(&self, mut timer: PendingTimer, due_ns: u64, now_ns: u64) {
        match catch_panic(|| timer.send_and_find_next_due_ns(due_ns, now_ns)) {
            Ok(Some(next_ns)) => self.store_timer(next_ns, timer),
            Ok(None) => self.drop_timer(timer),
            Err(panic) => {
                self.record_failure(true, &panic);
                self.drop_timer(timer);
            }
        }
    }

    /// Drops a timer. Records a panic if the drop of its message or of its function panics.
    pub(super) fn drop_timer(&self, timer: PendingTimer) {
        if let Some(panic) = drop_and_catch_panic(timer) {
            self.record_failure(true, &panic);
        }
    }

    /// Switches the group to simulated time, which begins at 0. Timers that already run start again
    /// from there.
    pub(crate) fn begin_simulated_time(&self) {
        self.simulated_ns.set(0);
        for timed in self.timers.take_all() {
            match timed {
                TimerEntry::Pause(task) => self.timers.add(0, TimerEntry::Pause(task)),
                TimerEntry::Timer(timer, _) => {
                    let due_ns = timer.delay_ns();
                    self.timers.add(due_ns, TimerEntry::Timer(timer, due_ns));
                }
            }
        }
    }

    /// Ends the pauses of all actors that are suspended after a failure, so that they run at once.
    /// WHY: an emergency stop and the end of the group have to reach these actors, too.
    pub(super) fn end_restart_pauses(&self) {
        for timed in self.timers.take_all() {
            match timed {
                TimerEntry::Pause(task) => self.inject(task),
                TimerEntry::Timer(timer, due_ns) => self.store_timer(due_ns, timer),
            }
        }
    }
}
