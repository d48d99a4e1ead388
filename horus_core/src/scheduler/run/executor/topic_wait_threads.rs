//! Threads that wait for the topics of many nodes. When a topic gets a message, its thread wakes
//! the actor that runs the node.

use std::io;
use std::sync::Arc;

use horus_shm::Watch;
use horus_shm::internals::wait::{EVENTCOUNTS_MAX, LocalEventcount};

use crate::actor::Address;
use crate::scheduler::run::run_state::RunState;

use super::thread::{RunEndTimeLimit, RunThread, spawn_thread};

/// Largest number of topics for which one sleeping thread can wait. It is one less than the number
/// of events for which a thread can wait, because the thread also waits for the end of the run.
const TOPICS_PER_THREAD_MAX: usize = EVENTCOUNTS_MAX - 1;

/// Largest number of threads of one group that wait for topics. If the last thread has more than
/// [`TOPICS_PER_THREAD_MAX`] topics, it checks them every millisecond instead of sleeping until a
/// message arrives.
const WAIT_THREADS_MAX: usize = 8;

/// The threads that wait for messages of topics, on behalf of one group, and wake the actors of
/// these topics.
#[derive(Debug)]
pub(crate) struct TopicWaitThreads {
    wake_event: Arc<LocalEventcount>,
    threads: Vec<RunThread<()>>,
}

/// A topic, and the actor that has to be woken when a message arrives on the topic.
pub(crate) struct WakingTopic {
    watch: Watch,
    actor: Address<()>,
    /// The value of [`Watch::publication_count`] of the topic when the actor was last woken; 0 if
    /// the actor has not been woken yet.
    arrivals: u64,
}

impl WakingTopic {
    pub(crate) const fn new(watch: Watch, actor: Address<()>) -> Self {
        Self {
            watch,
            actor,
            arrivals: 0,
        }
    }
}

/// Returns the number of threads that are needed to wait for `topics` topics.
pub(crate) fn wait_thread_count(topics: usize) -> usize {
    topics.div_ceil(TOPICS_PER_THREAD_MAX).min(WAIT_THREADS_MAX)
}

impl TopicWaitThreads {
    /// Starts the threads that wait for `topics`.
    ///
    /// # Errors
    ///
    /// If the system cannot create a thread, returns the error and the threads that were already
    /// started.
    pub(crate) fn start(
        group: &str,
        topics: Vec<WakingTopic>,
        shared: &Arc<RunState>,
    ) -> Result<Self, (io::Error, Self)> {
        let mut started = Self {
            wake_event: Arc::new(LocalEventcount::with_fences()),
            threads: Vec::new(),
        };
        let mut topics = topics.into_iter();
        for number in 1..=wait_thread_count(topics.len()) {
            let count = if number == WAIT_THREADS_MAX {
                topics.len()
            } else {
                TOPICS_PER_THREAD_MAX
            };
            let mut waiter = TopicWaiter::new(topics.by_ref().take(count));
            let (wake_event, shared) = (Arc::clone(&started.wake_event), Arc::clone(shared));
            let run = move || {
                shared.wait_until_all_threads_started();
                waiter.run(&wake_event, &shared);
            };
            match spawn_thread(&format!("{group} topics {number}"), run) {
                Ok(thread) => started.threads.push(thread),
                Err(error) => return Err((error, started)),
            }
        }
        Ok(started)
    }

    /// Wakes the threads that wait for topics, so that they see that the run stops.
    pub(crate) fn wake(&self) {
        self.wake_event.notify();
    }

    /// Waits until the threads that wait for topics have ended, or until `time` is over.
    pub(crate) fn end(self, time: &mut RunEndTimeLimit) {
        for thread in self.threads {
            // WHY ignored: the threads run no code of users.
            let _ = thread.join(time);
        }
    }
}

/// The state of a thread that waits for messages of its topics and wakes the actors of these
/// topics.
struct TopicWaiter {
    /// The topics for which the thread waits. The actor of each topic has the same index in
    /// `actors`.
    watches: Vec<Watch>,
    actors: Vec<(Address<()>, u64)>,
}

impl TopicWaiter {
    fn new(topics: impl Iterator<Item = WakingTopic>) -> Self {
        let topics = topics.map(|topic| (topic.watch, (topic.actor, topic.arrivals)));
        let (watches, actors) = topics.unzip();
        Self { watches, actors }
    }

    fn run(&mut self, wake_event: &LocalEventcount, shared: &RunState) {
        while !shared.is_stopping() {
            self.watches.iter_mut().for_each(Watch::follow_consumer);
            let Self { watches, actors } = self;
            Watch::sleep_without_polling(wake_event, watches, || {
                wake_actors_with_messages(watches, actors);
                shared.is_stopping().then_some(())
            });
            wake_actors_with_messages(watches, actors);
        }
    }
}

/// Wakes the actor of each topic that has received messages since the last call.
///
/// WHY only those: an actor handles all messages that have arrived before it sleeps, so one wake
/// after the last message is enough. If an actor may not run and its messages stay in the topic,
/// this thread can still sleep. Nor does an actor have to notify this thread when the actor goes to
/// sleep.
fn wake_actors_with_messages(watches: &[Watch], actors: &mut [(Address<()>, u64)]) {
    for (watch, (actor, last_arrivals)) in watches.iter().zip(actors) {
        let arrivals = watch.publication_count();
        if arrivals != *last_arrivals {
            *last_arrivals = arrivals;
            // WHY ignored: the actor keeps one wake, or the node is stopped.
            let _ = actor.tell(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_waits_for_127_topics_and_there_are_eight_at_most() {
        let counts = [0, 1, 127, 128, 1000, 1016, 1017, 100_000].map(wait_thread_count);
        assert_eq!(counts, [0, 1, 1, 2, 8, 8, 8, 8]);
    }
}
