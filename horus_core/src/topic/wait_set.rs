//! Wait sets: one thread waits for many topics, deadlines and timers.

mod due;
mod topic_alarm;

use std::sync::Arc;
use std::time::{Duration, Instant};

use horus_shm::Watch;
use horus_shm::internals::wait::{EVENTCOUNTS_MAX, LocalEventcount, POLL_INTERVAL, WaitPolicy};

use super::{DynamicSubscriber, Payload, Subscriber};
use crate::topic::error::{WaitError, WaitSetFull};
use due::{next_due_and_missed_count, saturating_add};
use topic_alarm::{AlarmCounter, TopicAlarm};

/// An additional eventcount that can end a wait, with a function that is called after each
/// notification of this eventcount. The wait ends if the function returns true.
pub(crate) type WakeCondition<'a> = (&'a LocalEventcount, &'a dyn Fn() -> bool);

/// The maximum number of topics in one wait set.
const TOPICS_MAX: usize = 4096;

/// The number of topics of a wait set for which the waiting thread sleeps itself: those that were
/// added first. Each other topic has an alarm: another thread of this process sleeps for the topic,
/// and wakes the waiting thread.
///
/// WHY two less than [`EVENTCOUNTS_MAX`], the number of eventcounts on which a thread can sleep at
/// once: the thread also sleeps for the alarms, and for a [`WakeCondition`].
const TOPICS_WITHOUT_ALARM_MAX: usize = EVENTCOUNTS_MAX - 2;

/// The counter of the alarms that have gone off in a wait set, and the value that it had before the
/// alarms were set. Any other value means that an alarm has gone off, because its topic has a
/// message.
type AlarmCounterAndStart = (Arc<AlarmCounter>, u64);

/// The maximum number of timers in one wait set.
const INTERVALS_MAX: usize = 1024;

/// The key of an entry of a [`WaitSet`]. It identifies the entry in the list of ready entries. A
/// key is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

impl Key {
    /// Returns the key as a number, which is unique in its set and never 0.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// Returns the key for a number that [`Self::to_u64`] returned. Any other number gives a key
    /// that is in no set.
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }
}

/// The reason why an entry of a wait set is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The topic has unread messages; if none is for this subscriber, its `recv` returns `None`. Or
    /// the topic is lost: if `check` returns `RegionLost`, remove the entry, which stays ready.
    Message,
    /// No message was published on the topic for the time that the deadline allows.
    DeadlineMissed {
        /// The time since the last message on the topic.
        silent: Duration,
    },
    /// The timer of the entry has fired.
    Timer {
        /// Number of earlier periods of the timer that ended without being reported.
        missed: u64,
    },
    /// The subscriber of the entry was dropped, so the entry was removed from the set.
    Closed,
}

/// A type that a wait set can wait for: subscribers of any kind.
pub trait Watchable: sealed::Watchable {}

impl<S: sealed::Watchable> Watchable for S {}

mod sealed {
    use horus_shm::{ConsumerHealthWatch, Watch};

    pub trait Watchable {
        fn watch(&self) -> Watch;

        /// Returns a watch that finds publishers whose memory this subscriber cannot map.
        fn health_watch(&self) -> ConsumerHealthWatch {
            self.watch().health_watch()
        }
    }

    impl<T: super::Payload> Watchable for super::Subscriber<T> {
        fn watch(&self) -> Watch {
            self.watch()
        }
    }

    impl Watchable for super::DynamicSubscriber {
        fn watch(&self) -> Watch {
            self.watch()
        }
    }
}

/// An entry of a wait set that is ready, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The key of the entry, which the set returned when the entry was added.
    pub key: Key,
    /// The reason why the entry is ready.
    pub reason: Reason,
}

/// Waits for messages on many topics, for topics that stay silent, and for timers.
///
/// A set does not own its subscribers, but only watches them. Use the subscribers as usual between
/// two waits. A set is level-triggered: as long as a topic has unread messages, every wait returns
/// at once and reports the topic as ready.
///
/// Threads named `horus-alarms` wait for the topics from the 127th on, each for up to 127 topics.
/// They start with the first wait that has to sleep. A message of such a topic ends a wait a thread
/// switch later than one of the first 126. These threads have no real-time priority: add the topics
/// first for which a real-time thread waits.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use std::time::Duration;
///
/// use horus_core::prelude::*;
/// use horus_core::topic::Reason;
///
/// let mut commands: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
/// let mut imu: Subscriber<Imu> = Subscriber::new("imu")?;
/// let mut set = WaitSet::new();
/// let on_command = set.add(&commands)?;
/// let on_imu = set.add_with_deadline(&imu, Duration::from_millis(20))?;
/// let on_tick = set.add_interval(Duration::from_millis(10))?;
///
/// # let mut publisher: Publisher<CmdVel> = Publisher::new("cmd_vel")?;
/// # publisher.send(CmdVel::new(0.5, 0.1))?;
/// let mut commanded = 0;
/// while commanded == 0 {
///     for ready in set.wait_blocking()? {
///         match ready.reason {
///             Reason::Message if ready.key == on_command => {
///                 commanded += commands.try_iter().count();
///             }
///             Reason::Message if ready.key == on_imu => drop(imu.latest()),
///             Reason::DeadlineMissed { silent } => eprintln!("no imu for {silent:?}"),
///             Reason::Timer { missed } if ready.key == on_tick => println!("{missed} missed"),
///             _ => {}
///         }
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct WaitSet {
    /// The watches of `topics`, which find new messages, in the same order.
    watches: Vec<Watch>,
    topics: Vec<WatchedSubscriber>,
    intervals: Vec<Interval>,
    ready: Vec<Ready>,
    last_key: u64,
    spin: Duration,
    /// The number of alarms of `topics` that have gone off, because there was a message; `None`
    /// until the first alarm is set.
    alarm_counter: Option<Arc<AlarmCounter>>,
}

/// A subscriber in the set, with its key, its deadline and the alarm that wakes the waiting thread
/// for it.
#[derive(Debug)]
struct WatchedSubscriber {
    key: Key,
    deadline: Option<SilenceDeadline>,
    /// Wakes the waiting thread when the topic has a message. `None` if the thread can sleep for
    /// the topic itself, or has not slept yet.
    alarm: Option<TopicAlarm>,
}

/// The longest time for which a topic may have no message, and when it last had one.
#[derive(Debug)]
struct SilenceDeadline {
    allowed: Duration,
    /// The number of messages that the topic's watch had counted at the last check.
    arrivals: u64,
    /// The time of the last check that found new messages.
    heard: Instant,
    due: Instant,
}

impl SilenceDeadline {
    /// Checks whether the topic had a message since the last check. Returns the time since the last
    /// message if the deadline was missed: if the topic was silent for the allowed time, and again
    /// after each further such time. Otherwise returns `None`.
    fn check_silence(&mut self, watch: &Watch, now: Instant) -> Option<Duration> {
        let arrivals = watch.publication_count();
        if arrivals != self.arrivals {
            (self.arrivals, self.heard) = (arrivals, now);
            self.due = saturating_add(now, self.allowed);
        }
        if now < self.due {
            return None;
        }
        self.due = next_due_and_missed_count(self.due, self.allowed, now).0;
        Some(now - self.heard)
    }
}

#[derive(Debug)]
struct Interval {
    key: Key,
    period: Duration,
    due: Instant,
}

impl WaitSet {
    /// Returns a wait set without topics and timers.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            watches: Vec::new(),
            topics: Vec::new(),
            intervals: Vec::new(),
            ready: Vec::new(),
            last_key: 0,
            spin: WaitPolicy::SPIN,
            alarm_counter: None,
        }
    }

    /// Adds the topic of `subscriber` to the set. The entry is ready when `subscriber` has
    /// something to receive. Returns the key of the entry.
    ///
    /// # Errors
    ///
    /// Returns [`WaitSetFull`] if the set already has 4096 topics.
    pub fn add(&mut self, subscriber: &impl Watchable) -> Result<Key, WaitSetFull> {
        self.add_watch(subscriber.watch(), None)
    }

    /// Adds a topic as [`Self::add`] does. The entry is also ready when no message was published
    /// for `allowed`.
    ///
    /// The time counts from this call, or from the wait that noticed the last message. A deadline
    /// is reported once for every `allowed` that passes without a message.
    ///
    /// # Errors
    ///
    /// Returns [`WaitSetFull`] if the set already has 4096 topics.
    ///
    /// # Panics
    ///
    /// Panics if `allowed` is zero.
    pub fn add_with_deadline(
        &mut self,
        subscriber: &impl Watchable,
        allowed: Duration,
    ) -> Result<Key, WaitSetFull> {
        assert!(
            !allowed.is_zero(),
            "the deadline is zero: wanted a positive duration"
        );
        let watch = subscriber.watch();
        let now = Instant::now();
        let arrivals = watch.publication_count();
        let due = saturating_add(now, allowed);
        self.add_watch(
            watch,
            Some(SilenceDeadline {
                allowed,
                arrivals,
                heard: now,
                due,
            }),
        )
    }

    fn add_watch(
        &mut self,
        watch: Watch,
        deadline: Option<SilenceDeadline>,
    ) -> Result<Key, WaitSetFull> {
        if self.watches.len() == TOPICS_MAX {
            return Err(WaitSetFull {
                kind: "topics",
                limit: TOPICS_MAX,
            });
        }
        let key = self.next_key();
        self.watches.push(watch);
        self.topics.push(WatchedSubscriber {
            key,
            deadline,
            alarm: None,
        });
        Ok(key)
    }

    /// Adds a timer, an entry that is ready every `period` from now on. Returns the key of the
    /// entry.
    ///
    /// A late wait does not shift the phase of the timer; the periods that it missed are counted.
    ///
    /// # Errors
    ///
    /// Returns [`WaitSetFull`] if the set already has 1024 timers.
    ///
    /// # Panics
    ///
    /// Panics if `period` is zero.
    pub fn add_interval(&mut self, period: Duration) -> Result<Key, WaitSetFull> {
        assert!(
            !period.is_zero(),
            "the period is zero: wanted a positive duration"
        );
        if self.intervals.len() == INTERVALS_MAX {
            return Err(WaitSetFull {
                kind: "intervals",
                limit: INTERVALS_MAX,
            });
        }
        let key = self.next_key();
        let due = saturating_add(Instant::now(), period);
        self.intervals.push(Interval { key, period, due });
        Ok(key)
    }

    fn next_key(&mut self) -> Key {
        self.last_key += 1;
        Key(self.last_key)
    }

    /// Removes a topic or a timer from the set. Returns false if the set has no entry with this
    /// key.
    pub fn remove(&mut self, key: Key) -> bool {
        let before = self.len();
        self.intervals.retain(|interval| interval.key != key);
        if let Some(at) = self.topics.iter().position(|topic| topic.key == key) {
            self.topics.remove(at);
            self.watches.remove(at);
        }
        self.len() < before
    }

    /// Removes the topics whose memory is lost, because they would always be ready.
    pub(crate) fn remove_lost_topics(&mut self) {
        while let Some(at) = self.watches.iter().position(Watch::is_memory_lost) {
            self.topics.remove(at);
            self.watches.remove(at);
        }
    }

    /// Returns the number of topics and timers in the set.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.topics.len() + self.intervals.len()
    }

    /// Returns true if the set has neither topics nor timers.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets how long a wait spins before it sleeps, as [`Subscriber::set_spin`] does. With more
    /// than 126 topics, a wait does not spin.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Waits until an entry is ready, for up to `timeout`, and returns all ready entries: topics
    /// first, in the order in which they were added. The result is empty after a timeout.
    ///
    /// Blocks: spins briefly, then sleeps in slices of 50 ms. It polls every millisecond if one of
    /// the first 126 subscribers is an observer or the kernel has no `futex_waitv` (Linux before
    /// 5.16).
    ///
    /// # Errors
    ///
    /// Returns [`WaitError::Forked`] if a subscriber was inherited through `fork`.
    pub fn wait(&mut self, timeout: Duration) -> Result<&[Ready], WaitError> {
        self.wait_for_ready(Some(timeout), None)
    }

    /// Waits as [`Self::wait`] does, but does not wake up every 50 ms to poll. It also returns if
    /// `wake_event` is notified and its function returns true. In this case, the result is empty.
    ///
    /// Another thread has to check [`Self::watches`] repeatedly, and notify the event if one
    /// of the topics has messages.
    pub(crate) fn wait_without_polling(
        &mut self,
        timeout: Duration,
        wake_event: WakeCondition<'_>,
    ) -> Result<&[Ready], WaitError> {
        self.wait_for_ready(Some(timeout), Some(wake_event))
    }

    /// Returns the watches of the topics in the set, which find new messages.
    pub(crate) fn watches(&self) -> &[Watch] {
        &self.watches
    }

    /// Waits as [`Self::wait`] does, without a timeout: the result is never empty.
    ///
    /// # Errors
    ///
    /// Returns [`WaitError::Empty`] if the set has no entries, and [`WaitError::Forked`] if a
    /// subscriber was inherited through `fork`.
    pub fn wait_blocking(&mut self) -> Result<&[Ready], WaitError> {
        if self.is_empty() {
            return Err(WaitError::Empty);
        }
        self.wait_for_ready(None, None)
    }

    fn wait_for_ready(
        &mut self,
        timeout: Option<Duration>,
        wake_event: Option<WakeCondition<'_>>,
    ) -> Result<&[Ready], WaitError> {
        let must_end_wait = || wake_event.is_some_and(|(_, must_end_wait)| must_end_wait());
        self.watches.iter_mut().for_each(Watch::follow_consumer);
        let mut end = None;
        loop {
            if self.watches.iter().any(Watch::is_forked) {
                return Err(WaitError::Forked);
            }
            let mut clock = None;
            self.collect_ready_entries(&mut clock);
            if !self.ready.is_empty() {
                return Ok(&self.ready);
            }
            // WHY only now: a wait that finds a message at once does not read the clock.
            let now = *clock.get_or_insert_with(Instant::now);
            let end = *end.get_or_insert_with(|| timeout.and_then(|time| now.checked_add(time)));
            if end.is_some_and(|end| end <= now) || must_end_wait() {
                return Ok(&self.ready);
            }
            let deadline = self.next_due_time().into_iter().chain(end).min();
            let wait_policy = WaitPolicy {
                deadline,
                spin: self.spin,
            };
            self.sleep(wait_policy, wake_event);
        }
    }

    /// Sleeps until a topic is due, an alarm goes off, or `wake_event` is notified and its function
    /// returns true; but not beyond the deadline of `wait_policy`.
    fn sleep(&mut self, wait_policy: WaitPolicy, wake_event: Option<WakeCondition<'_>>) {
        let (alarms, wait_policy) = self.set_topic_alarms(wait_policy);
        let alarms = alarms.as_ref().map(|(counter, count)| (&**counter, *count));
        let look = || {
            let is_due = self.watches.iter().any(Watch::is_due)
                || alarms.is_some_and(|(counter, count)| counter.count() != count)
                || wake_event.is_some_and(|(_, must_end_wait)| must_end_wait());
            is_due.then_some(())
        };
        let own = wake_event.iter().map(|(own, _)| *own);
        let own: Vec<_> = own
            .chain(alarms.iter().map(|(counter, _)| counter.wake_event()))
            .collect();
        let watches = &self.watches[..self.watches.len().min(TOPICS_WITHOUT_ALARM_MAX)];
        match wake_event {
            None => Watch::wait_any_or_notified(&own, watches, wait_policy, look),
            Some(_) => Watch::wait_any_without_polling(&own, watches, wait_policy, look),
        };
    }

    /// Sets the alarms of the topics for which this thread cannot sleep itself, so that another
    /// thread wakes it when they have messages. Returns `None` if there are no such topics. Also
    /// returns `wait_policy`, with a shorter spin and deadline if these topics require it.
    fn set_topic_alarms(
        &mut self,
        mut wait_policy: WaitPolicy,
    ) -> (Option<AlarmCounterAndStart>, WaitPolicy) {
        if self.topics.len() <= TOPICS_WITHOUT_ALARM_MAX {
            return (None, wait_policy);
        }
        // WHY: one poll of so many topics takes longer than a spin should.
        wait_policy.spin = Duration::ZERO;
        let counter = Arc::clone(self.alarm_counter.get_or_insert_default());
        let mut count = counter.count();
        let topics = self.watches.iter().zip(&mut self.topics);
        for (watch, topic) in topics.skip(TOPICS_WITHOUT_ALARM_MAX) {
            let new = || TopicAlarm::new(watch, &counter);
            if !topic.alarm.get_or_insert_with(new).try_set() {
                // WHY: without a thread that serves the alarms, this one has to poll.
                let next = Instant::now() + POLL_INTERVAL;
                wait_policy.deadline = wait_policy.deadline.into_iter().chain([next]).min();
                count = counter.count();
                break;
            }
        }
        (Some((counter, count)), wait_policy)
    }

    /// Collects all ready entries in the list of results, and removes the closed entries from the
    /// set.
    ///
    /// `now_if_read` is the present time, or `None` if the caller has not read the clock yet. Reads
    /// the clock only if the set has deadlines or timers.
    fn collect_ready_entries(&mut self, now_if_read: &mut Option<Instant>) {
        let Self {
            watches,
            topics,
            intervals,
            ready,
            ..
        } = self;
        ready.clear();
        for (watch, topic) in watches.iter().zip(topics.iter_mut()) {
            let mut add = |reason| {
                ready.push(Ready {
                    key: topic.key,
                    reason,
                })
            };
            if watch.is_closed() {
                add(Reason::Closed);
                continue;
            }
            if watch.has_message() {
                add(Reason::Message);
            }
            let Some(deadline) = &mut topic.deadline else {
                continue;
            };
            let now = *now_if_read.get_or_insert_with(Instant::now);
            if let Some(silent) = deadline.check_silence(watch, now) {
                add(Reason::DeadlineMissed { silent });
            }
        }
        for interval in intervals.iter_mut() {
            let now = *now_if_read.get_or_insert_with(Instant::now);
            if interval.due > now {
                continue;
            }
            let missed;
            (interval.due, missed) = next_due_and_missed_count(interval.due, interval.period, now);
            ready.push(Ready {
                key: interval.key,
                reason: Reason::Timer { missed },
            });
        }
        self.remove_closed_topics();
    }

    /// Removes the entries that the list of results reports as closed.
    fn remove_closed_topics(&mut self) {
        let is_closed = |ready: &&Ready| ready.reason == Reason::Closed;
        let closed = self.ready.iter().filter(is_closed).map(|ready| ready.key);
        if closed.clone().next().is_none() {
            return;
        }
        // WHY one pass: thousands of topics may close at once. The results are in the order of the
        // topics.
        let mut remaining = closed.clone().peekable();
        let mut topics = self.topics.iter();
        self.watches.retain(|_| {
            let topic = topics.next();
            topic.is_none_or(|topic| remaining.next_if_eq(&topic.key).is_none())
        });
        let mut remaining = closed.peekable();
        self.topics
            .retain(|topic| remaining.next_if_eq(&topic.key).is_none());
    }

    /// Returns the time at which the next timer fires or the next deadline is missed, whichever is
    /// earlier. Returns `None` if the set has neither.
    fn next_due_time(&self) -> Option<Instant> {
        let deadlines = self
            .topics
            .iter()
            .filter_map(|topic| Some(topic.deadline.as_ref()?.due));
        self.intervals
            .iter()
            .map(|interval| interval.due)
            .chain(deadlines)
            .min()
    }
}

impl Default for WaitSet {
    fn default() -> Self {
        Self::new()
    }
}
