//! The end of a group: ends its actors when no thread will run them any more.

use std::collections::HashMap;

use horus_shm::internals::heap::{ControlHandle, Worker};
use horus_shm::internals::sync::Word;

use super::timers::TimerEntry;
use super::{ActorGroup, ControlMessage, Task, lock};
use crate::actor::local;

impl ActorGroup {
    /// Ends all actors, in the reverse order of their spawning.
    ///
    /// While threads run the actors, each actor ends on one of these threads, after it has handled
    /// the messages in its mailbox, and stays a member until then: a second call, when the threads
    /// have ended, ends those that are left. Otherwise the actors end on the calling thread, and
    /// their messages are dropped. An actor whose handler has not returned is left to its thread,
    /// which ends it later.
    pub(crate) fn end(&self) {
        match self.handler_wrapper() {
            Some(wrap_handlers) => wrap_handlers(&mut || self.end_all_actors()),
            None => self.end_all_actors(),
        }
        self.record_left_out_failure_counts();
    }

    fn end_all_actors(&self) {
        let are_threads_running = self.are_threads_running();
        let handles: Vec<_> = {
            let mut roll = lock(&self.roll);
            roll.is_closed = true;
            if are_threads_running {
                roll.members.clone_all_reversed()
            } else {
                roll.members.take_all_reversed().collect()
            }
        };
        self.registry.clear();
        if are_threads_running {
            self.request_end_of_actors(handles);
        } else {
            self.end_actors_on_this_thread(handles);
        }
    }

    /// Asks actors to end, each on a thread of the group.
    fn request_end_of_actors(&self, handles: Vec<ControlHandle<Self>>) {
        for handle in handles {
            // WHY ignored: it has ended meanwhile.
            let _ = handle.send(ControlMessage::End);
        }
        // WHY: the request would wait until the pauses are over.
        self.end_restart_pauses();
    }

    fn end_actors_on_this_thread(&self, handles: Vec<ControlHandle<Self>>) {
        // WHY: what a `shutdown` waits for would have to be done by this thread.
        let _marked = local::mark_thread_in_handler();
        let mut workers = {
            let mut workers = lock(&self.workers);
            // Relaxed: loaded under a lock that is taken after this, of the workers or the timers.
            self.is_over.set(1);
            std::mem::take(&mut *workers)
        };
        // WHY: an actor that is woken below would wait for a thread that hangs.
        self.waiting.reopen();
        let mut tasks = HashMap::new();
        for timed in self.timers.take_all() {
            match timed {
                TimerEntry::Pause(task) => _ = tasks.insert(task.id(), task),
                TimerEntry::Timer(timer, _) => self.drop_timer(timer),
            }
        }
        let held = self.emergency_stop.release_held_tasks().into_iter();
        let held = held.chain(self.waiting.take_all());
        tasks.extend(held.map(|task| (task.id(), task)));
        let is_running = |index| self.worker_activity(index).is_running_actor();
        self.queues
            .close(is_running, |task| _ = tasks.insert(task.id(), task));
        collect_waiting_tasks(&mut workers, &mut tasks);
        for handle in handles {
            // WHY ignored: it has ended meanwhile.
            let _ = handle.send(ControlMessage::End);
            collect_waiting_tasks(&mut workers, &mut tasks);
            let woken = self.waiting.take_all().into_iter();
            tasks.extend(woken.map(|task| (task.id(), task)));
            drop(tasks.remove(&handle.id()));
        }
        // WHY: nobody takes what comes later.
        drop((tasks, self.waiting.close_for_good()));
        lock(&self.workers).append(&mut workers);
    }

    /// Makes the actors enter their safe state because the run has failed, while the threads of the
    /// group still visit them. It has no effect on actors that are in that state.
    pub(crate) fn enter_safe_states_after_failure(&self) {
        self.emergency_stop.set_run_failed();
        self.begin_emergency_stop();
    }

    /// Engages the emergency stop in which a failed run ends, when no thread of the group runs
    /// actors any more. Returns the actors that wait in the queues of these threads, and those that
    /// the stop has woken. The caller has to visit them.
    pub(crate) fn begin_last_emergency_stop(&self) -> Vec<Task> {
        self.begin_emergency_stop();
        let mut workers = std::mem::take(&mut *lock(&self.workers));
        let mut tasks = HashMap::new();
        collect_waiting_tasks(&mut workers, &mut tasks);
        lock(&self.workers).append(&mut workers);
        tasks.into_values().collect()
    }

    /// Ends pauses and drops timers that were added after the group had ended, by handlers that
    /// returned late.
    #[cold]
    pub(super) fn end_orphaned_timers(&self) {
        let _marked = local::mark_thread_in_handler();
        for timed in self.timers.take_all() {
            match timed {
                TimerEntry::Pause(task) => self.inject(task),
                TimerEntry::Timer(timer, _) => self.drop_timer(timer),
            }
        }
    }

    /// Ends an actor that arrives too late: its sender woke it before the threads ended, but put it
    /// into their queue afterwards.
    #[cold]
    pub(super) fn end_orphaned_task(&self, task: Task) {
        // WHY: as long as the group is being ended, its actors end in their order. After that, the
        // task comes back, and is dropped, which ends the actor.
        let _marked = local::mark_thread_in_handler();
        drop(self.waiting.push_under_lock(task));
    }

    /// Returns a worker to the group when its thread ends. If the group has already ended, because
    /// the thread was stuck in a handler, ends the actors that are left in the worker's queue.
    pub(crate) fn give_back_worker(&self, worker: Worker<Task>) {
        let mut workers = lock(&self.workers);
        workers.push(worker);
        let is_late = self.is_over.get() != 0;
        let mut late = if is_late {
            std::mem::take(&mut *workers)
        } else {
            Vec::new()
        };
        drop(workers);
        let _marked = local::mark_thread_in_handler();
        let mut tasks = HashMap::new();
        collect_waiting_tasks(&mut late, &mut tasks);
    }
}

/// Takes all waiting actors out of the queues of `workers`, and adds them to `tasks`.
fn collect_waiting_tasks(workers: &mut [Worker<Task>], tasks: &mut HashMap<usize, Task>) {
    for worker in workers {
        let next = || {
            let own = worker.pop_lifo_entry().or_else(|| worker.pop());
            let own = own.or_else(|| worker.pop_injected_entry());
            own.or_else(|| worker.steal())
                // WHY two: the first one only begins to measure for how long a thread has hung.
                .or_else(|| worker.steal_stalled_entry(0))
                .or_else(|| worker.steal_stalled_entry(u64::MAX))
        };
        tasks.extend(std::iter::from_fn(next).map(|task| (task.id(), task)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::actor::group_settings::GroupSettings;
    use crate::actor::timer::PendingTimer;
    use crate::actor::{Actor, Actors, Context};
    use crate::scheduler::api::node::NodeResult;

    struct Silent;

    impl Actor for Silent {
        type Message = u32;

        fn handle(&mut self, _: u32, _: &mut Context<'_, Self>) -> NodeResult {
            Ok(())
        }
    }

    /// If a handler that outlives the end of its group starts a timer, the timer is dropped.
    #[test]
    fn a_timer_that_starts_after_the_end_is_dropped() {
        let group = ActorGroup::new("fleet", 1, GroupSettings::default());
        let held = Arc::new(());
        let timer = |period_ns| {
            let held = Arc::clone(&held);
            let send = move |_| Arc::strong_count(&held) > 0;
            PendingTimer::new((1, period_ns), Box::new(send))
        };
        group.start_timer(7, timer(0));
        group.end();
        assert_eq!(Arc::strong_count(&held), 1, "dropped by the end");
        group.start_timer(7, timer(0));
        assert_eq!(Arc::strong_count(&held), 1, "dropped at once");
        group.send_timer_message(timer(5), 7, 7);
        assert_eq!(Arc::strong_count(&held), 1, "dropped after its message");
    }

    /// If a sender wakes an actor, and is then interrupted until the group has ended before it can
    /// queue the actor, the actor still ends.
    #[test]
    fn an_actor_that_is_sent_to_ended_threads_ends() {
        for late in [1, 3] {
            let group = ActorGroup::new("fleet", 2, GroupSettings::default());
            let actors = Actors::from_group(group.clone());
            let spawned = (0..late).map(|_| actors.spawn(Silent).unwrap());
            let spawned: Vec<_> = spawned.collect();
            spawned.iter().for_each(|address| address.tell(7).unwrap());
            // The threads have begun, and the senders have seen that.
            let tasks = group.waiting.close_while_threads_run();
            assert_eq!(tasks.len(), late);
            group.end();
            assert!(spawned.iter().all(|address| !address.is_disconnected()));
            for task in tasks {
                group.send_to_actor_thread(task);
            }
            assert!(spawned.iter().all(|address| address.is_disconnected()));
            let counters = actors.counters();
            assert_eq!((counters.alive, counters.undelivered), (0, late as u64));
        }
    }
}
