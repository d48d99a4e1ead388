//! Alarms for the last topics of a large wait set. The kernel lets a thread sleep only for a
//! limited number of topics. For each further topic, an *alarm* has another thread of this process
//! wake the waiting thread when there is a message.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use horus_shm::internals::wait::LocalEventcount;
use horus_shm::{MessageAlarm, Watch};

/// The number of alarms of a wait set that have gone off, with the eventcount at which the waiting
/// thread sleeps. An alarm goes off when its topic has a message.
#[derive(Debug, Default)]
pub(super) struct AlarmCounter {
    count: AtomicU64,
    event: LocalEventcount,
}

impl AlarmCounter {
    /// Returns the number of alarms that have gone off, that is, found a message.
    pub(super) fn count(&self) -> u64 {
        // Relaxed: the lock of `AlarmState::is_set` orders it.
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the eventcount that is notified after each change of [`Self::count`].
    pub(super) const fn wake_event(&self) -> &LocalEventcount {
        &self.event
    }
}

/// The alarm of one topic. It goes off once, when the topic has a message, and is then set again by
/// the thread that waits.
#[derive(Debug)]
pub(super) struct TopicAlarm {
    alarm: MessageAlarm,
    state: Arc<AlarmState>,
    waker: Waker,
}

#[derive(Debug)]
struct AlarmState {
    /// False before the alarm is set, and after it has gone off.
    is_set: Mutex<bool>,
    counter: Arc<AlarmCounter>,
}

impl TopicAlarm {
    pub(super) fn new(watch: &Watch, counter: &Arc<AlarmCounter>) -> Self {
        let state = Arc::new(AlarmState {
            is_set: Mutex::new(false),
            counter: Arc::clone(counter),
        });
        Self {
            alarm: MessageAlarm::new(watch.clone()),
            waker: Waker::from(Arc::clone(&state)),
            state,
        }
    }

    /// Sets the alarm, unless it is set. Returns false if it cannot be set, because the system
    /// refuses to start a thread.
    ///
    /// The caller has to read [`AlarmCounter::count`] before this call, and then wait until the
    /// count changes: it also changes if the alarm goes off during this call.
    pub(super) fn try_set(&mut self) -> bool {
        self.state.replace_is_set(true) || self.alarm.try_set(&self.waker)
    }
}

impl AlarmState {
    fn replace_is_set(&self, is_set: bool) -> bool {
        let mut state = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, is_set)
    }
}

impl Wake for AlarmState {
    fn wake(self: Arc<Self>) {
        self.replace_is_set(false);
        // WHY after it: a waiter that reads the new count must not find the alarm set.
        self.counter.count.fetch_add(1, Ordering::Relaxed);
        self.counter.event.notify();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use crate::namespace::{Namespace, NamespaceConfig, NamespaceName};

    use super::super::{Reason, WaitSet};
    use super::*;
    use crate::message::CmdVel;
    use crate::topic::{Publisher, Qos, Subscriber, Topic};

    const CAPACITY: u64 = 2;

    fn endpoints(
        name: &str,
        namespace: &Arc<Namespace>,
    ) -> (Publisher<CmdVel>, Subscriber<CmdVel>) {
        let topic = || {
            let builder = Topic::<CmdVel>::builder(name).namespace(namespace);
            builder.qos(Qos::new().capacity(CAPACITY))
        };
        (topic().publisher().unwrap(), topic().subscriber().unwrap())
    }

    /// A guarded wait polls only once an hour, so each of these waits needs a wake to end.
    #[test]
    fn a_topic_for_which_the_thread_cannot_sleep_wakes_it() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let config = NamespaceConfig::new(dir.path().join("horus"), NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        let (_publisher, idle) = endpoints("idle", &namespace);
        let (mut publisher, mut far) = endpoints("far", &namespace);
        let (wake_event, never) = (LocalEventcount::new(), || false);
        for others in [125, 126, 252, 253, 600] {
            let mut set = WaitSet::new();
            for _ in 0..others {
                set.add(&idle).unwrap();
            }
            let key = set.add(&far).unwrap();
            for _ in 0..3 {
                thread::scope(|scope| {
                    scope.spawn(|| {
                        thread::sleep(Duration::from_millis(5));
                        publisher.send(CmdVel::new(0.5, 0.1)).unwrap();
                    });
                    let ready = set
                        .wait_without_polling(Duration::MAX, (&wake_event, &never))
                        .unwrap();
                    assert_eq!(ready.len(), 1, "{ready:?}");
                    assert_eq!((ready[0].key, ready[0].reason), (key, Reason::Message));
                });
                assert_eq!(far.try_iter().count(), 1);
            }
            thread::scope(|scope| {
                let (_publisher, last) = endpoints("last", &namespace);
                set.add(&last).unwrap();
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(5));
                    drop(last);
                });
                let ready = set
                    .wait_without_polling(Duration::MAX, (&wake_event, &never))
                    .unwrap();
                assert_eq!(ready[0].reason, Reason::Closed);
            });
        }
    }
}
