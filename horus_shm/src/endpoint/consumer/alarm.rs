//! Alarms: an alarm wakes a task when its consumer has a message. Threads of this process serve the
//! alarms, each as many as one thread can sleep for. An alarm also wakes its task when the consumer
//! has an error instead of messages.
//!
//! The first task that finds no message starts the first thread. A thread sleeps until one of the
//! topics for which its tasks wait has a message, or the set of its alarms changes. It ends when it
//! has had no alarm for a second. A forked child has no such thread until one of its own tasks
//! waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use super::watch::{ConsumerProgress, Watch};
use crate::os;
use crate::process::fork::{ForkLocal, fork_epoch};
use crate::protocol::sync::Word;
use crate::wait::{EVENTCOUNTS_MAX, LocalEventcount, WaitPolicy};

/// Maximum number of threads that serve alarms, that is, wake tasks when messages arrive. If there
/// are more alarms than these threads can wait for, the last thread serves the rest, and polls
/// their topics every millisecond.
const ALARM_THREADS_MAX: usize = 32;

/// Maximum number of alarms of each thread except the last one. It is one less than the number of
/// events for which a thread can sleep, because each thread also waits for changes of its own list
/// of alarms.
const ALARMS_PER_THREAD: usize = EVENTCOUNTS_MAX - 1;

/// Time without waiting tasks after which a thread that serves alarms ends.
const IDLE_THREAD_TIMEOUT: Duration = Duration::from_secs(1);

static ALARM_THREADS: ForkLocal<AlarmThreads> = ForkLocal::new();

/// All alarms of this process, by the thread that serves them.
#[derive(Debug, Default)]
struct AlarmThreads {
    threads: [AlarmThread; ALARM_THREADS_MAX],
}

/// The alarms that one thread serves, and the means to wake this thread.
#[derive(Debug, Default)]
struct AlarmThread {
    state: Mutex<AlarmThreadState>,
    /// A counter that is incremented whenever the thread has to look at `state` again, for example
    /// because an alarm was added.
    version: AtomicU64,
    changed: LocalEventcount,
    /// Notified when the thread no longer uses the watches in [`AlarmThreadState::lent`], so that
    /// their consumers can be dropped.
    watches_dropped: Condvar,
}

#[derive(Debug, Default)]
struct AlarmThreadState {
    pending: Vec<PendingAlarm>,
    last_id: u64,
    /// True while the thread runs. If false, the next alarm starts it.
    has_thread: bool,
    /// The consumers that the thread watches while it sleeps; empty while it is awake. The pointers
    /// are compared, but never dereferenced.
    lent: Vec<*const ConsumerProgress>,
}

// SAFETY: the pointers are only compared, never dereferenced; all else is `Send`.
unsafe impl Send for AlarmThreadState {}

/// An alarm that has been set: the waker to call when the watched consumer may have a message.
#[derive(Debug)]
struct PendingAlarm {
    id: u64,
    watch: Watch,
    waker: Waker,
    /// True if the alarm goes off also because the topic's namespace was removed.
    reports_removal: bool,
}

impl PendingAlarm {
    fn is_due(&self) -> bool {
        is_alarm_due(&self.watch, self.reports_removal)
    }
}

/// An alarm that wakes a task when a consumer has a message, or an error instead of one: its memory
/// is lost, or its namespace was removed. Dropping the alarm cancels it.
///
/// The task has to poll for the message itself, and to set the alarm again if there is none. There
/// may be none if the message has already been received, or is not for this consumer.
#[derive(Debug)]
pub struct MessageAlarm {
    watch: Watch,
    epoch: u64,
    /// The index in [`AlarmThreads::threads`] of the thread that serves, or last served, the alarm.
    thread: usize,
    /// The number of the alarm in [`AlarmThreadState::pending`]; 0 before the alarm is set for the
    /// first time.
    id: u64,
    /// True if the topic's namespace was already removed when the alarm was last set. WHY: a wait
    /// set sets its alarms again and again, and must not get the same report each time.
    has_reported_removal: bool,
}

impl MessageAlarm {
    /// Creates an alarm for the consumer that `watch` observes. The alarm wakes no task until
    /// [`Self::try_set`] is called.
    #[must_use]
    pub fn new(watch: Watch) -> Self {
        watch.progress().set_has_alarms();
        Self {
            watch,
            epoch: fork_epoch(),
            thread: 0,
            id: 0,
            has_reported_removal: false,
        }
    }

    /// Sets the alarm: it wakes the task of `waker` once, as soon as there is a message. If there
    /// is one already, wakes the task at once. Also wakes the task if the consumer's memory is
    /// lost. If its namespace was removed, wakes the task at most twice for that.
    ///
    /// Does not block for long: takes one or two locks, more if more than 127 alarms are set, and
    /// starts a thread that serves alarms if none has room. If the thread cannot be started, or in
    /// a forked child, wakes the task at once and returns false.
    pub fn try_set(&mut self, waker: &Waker) -> bool {
        if self.epoch != fork_epoch() {
            waker.wake_by_ref();
            return false;
        }
        self.watch.follow_consumer();
        self.watch.progress().set_has_alarms();
        let alarms = ALARM_THREADS.get();
        // WHY outside of the lock: cloning or dropping a waker runs unknown code.
        let copy = waker.clone();
        let mut state = alarms.threads[self.thread].lock();
        if let Some(alarm) = state.pending.iter_mut().find(|alarm| alarm.id == self.id) {
            let former = std::mem::replace(&mut alarm.waker, copy);
            drop(state);
            drop(former);
            return true;
        }
        drop(state);
        let (index, mut state) = alarms.lock_thread_with_room();
        let thread = &alarms.threads[index];
        if !state.has_thread && !thread.try_start() {
            drop(state);
            copy.wake();
            return false;
        }
        state.has_thread = true;
        let reports_removal = !self.has_reported_removal;
        self.has_reported_removal = self.watch.is_namespace_removed();
        state.last_id += 1;
        (self.thread, self.id) = (index, state.last_id);
        state.pending.push(PendingAlarm {
            id: self.id,
            watch: self.watch.clone(),
            waker: copy,
            reports_removal,
        });
        thread.version.fetch_add_one();
        drop(state);
        thread.changed.notify();
        true
    }

    /// Cancels the alarm if it is set, so that it does not wake its task any more.
    pub fn cancel(&mut self) {
        if self.id == 0 || self.epoch != fork_epoch() {
            return;
        }
        let thread = &ALARM_THREADS.get().threads[self.thread];
        let mut state = thread.lock();
        let at = state.pending.iter().position(|alarm| alarm.id == self.id);
        let Some(alarm) = at.map(|at| state.pending.swap_remove(at)) else {
            return;
        };
        // WHY without a wake: the thread finds out within a slice, which is soon enough.
        thread.version.fetch_add_one();
        drop(state);
        drop(alarm);
    }
}

impl Drop for MessageAlarm {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Removes all alarms of a consumer, and wakes their tasks. After the call, no thread that serves
/// alarms holds a reference to the consumer's topic.
///
/// WHY: a process may end right after it has dropped its last handle. The topic's file would then
/// not be removed if a thread still had a reference to the topic.
pub(super) fn remove_alarms_of(progress: &Arc<ConsumerProgress>) {
    for thread in &ALARM_THREADS.get().threads {
        thread.remove_alarms_of(progress);
    }
}

/// The watches of the alarms for which a thread sleeps.
#[derive(Debug, Default)]
struct AlarmWatches {
    watches: Vec<Watch>,
    /// [`PendingAlarm::reports_removal`] of the alarm of each watch.
    report_removal: Vec<bool>,
}

impl AlarmWatches {
    fn push(&mut self, alarm: &PendingAlarm) {
        self.watches.push(alarm.watch.clone());
        self.report_removal.push(alarm.reports_removal);
    }

    fn clear(&mut self) {
        self.watches.clear();
        self.report_removal.clear();
    }

    /// Returns true if one of the alarms is due.
    fn is_any_due(&self) -> bool {
        let mut all = self.watches.iter().zip(&self.report_removal);
        all.any(|(watch, reports_removal)| is_alarm_due(watch, *reports_removal))
    }
}

/// The next step of a thread that serves alarms: wake tasks, sleep, or end.
enum AlarmThreadStep {
    Wake(Vec<Waker>),
    /// Sleep until [`AlarmThread::version`] differs from this value, or until one of the alarms is
    /// due.
    Sleep(u64),
    End,
}

impl AlarmThreads {
    /// Finds the first thread that can serve another alarm, and locks its alarms. Returns the index
    /// of the thread, and the locked alarms.
    fn lock_thread_with_room(&self) -> (usize, MutexGuard<'_, AlarmThreadState>) {
        let last = ALARM_THREADS_MAX - 1;
        for (index, thread) in self.threads[..last].iter().enumerate() {
            let state = thread.lock();
            if state.pending.len() < ALARMS_PER_THREAD {
                return (index, state);
            }
        }
        (last, self.threads[last].lock())
    }
}

impl AlarmThread {
    fn lock(&self) -> MutexGuard<'_, AlarmThreadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread. Returns false if the system could not create it.
    fn try_start(&'static self) -> bool {
        let thread = thread::Builder::new().name("horus-alarms".into());
        thread.spawn(|| self.run()).is_ok()
    }

    fn remove_alarms_of(&self, progress: &Arc<ConsumerProgress>) {
        let name = Arc::as_ptr(progress);
        let mut state = self.lock();
        let of_it = |alarm: &mut PendingAlarm| Arc::as_ptr(alarm.watch.progress()) == name;
        let gone: Vec<PendingAlarm> = state.pending.extract_if(.., of_it).collect();
        if state.lent.contains(&name) {
            self.version.fetch_add_one();
            drop(state);
            self.changed.notify();
            state = self.lock();
            while state.lent.contains(&name) {
                state = self
                    .watches_dropped
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
        drop(state);
        gone.into_iter()
            .for_each(|alarm| wake_catching_panic(alarm.waker));
    }

    fn run(&self) {
        os::thread::become_library_thread();
        let mut watches = AlarmWatches::default();
        let mut is_idle = false;
        loop {
            match self.next_step(&mut watches, is_idle) {
                AlarmThreadStep::Wake(wakers) => wakers.into_iter().for_each(wake_catching_panic),
                AlarmThreadStep::Sleep(version) => {
                    is_idle = self.sleep(version, &watches).is_none();
                    watches.clear();
                }
                AlarmThreadStep::End => return,
            }
        }
    }

    fn next_step(&self, watches: &mut AlarmWatches, is_idle: bool) -> AlarmThreadStep {
        let mut state = self.lock();
        state.lent.clear();
        self.watches_dropped.notify_all();
        let wakers: Vec<_> = state
            .pending
            .extract_if(.., |alarm| alarm.is_due())
            .map(|alarm| alarm.waker)
            .collect();
        if !wakers.is_empty() {
            return AlarmThreadStep::Wake(wakers);
        }
        if state.pending.is_empty() && is_idle {
            state.has_thread = false;
            return AlarmThreadStep::End;
        }
        state.pending.iter().for_each(|alarm| watches.push(alarm));
        let watched = watches.watches.iter();
        state
            .lent
            .extend(watched.map(|watch| Arc::as_ptr(watch.progress())));
        // Relaxed: only changed under the lock.
        AlarmThreadStep::Sleep(self.version.get())
    }

    /// Sleeps until the version differs from `seen_version`, or the alarm of one of `watches` is
    /// due. Returns `None` if there are no watches and the version has not changed for
    /// [`IDLE_THREAD_TIMEOUT`].
    fn sleep(&self, seen_version: u64, watches: &AlarmWatches) -> Option<()> {
        let wait_policy = if watches.watches.is_empty() {
            WaitPolicy::with_timeout(IDLE_THREAD_TIMEOUT)
        } else {
            WaitPolicy::endless()
        };
        let wait_policy = wait_policy.with_spin(Duration::ZERO);
        let look = || (self.version.get() != seen_version || watches.is_any_due()).then_some(());
        Watch::wait_any_or_notified(&[&self.changed], &watches.watches, wait_policy, look)
    }
}

fn is_alarm_due(watch: &Watch, reports_removal: bool) -> bool {
    watch.is_due() || (reports_removal && watch.is_namespace_removed())
}

/// Wakes a task, and catches a panic of the waker. WHY: a panic must not prevent the other tasks
/// from being woken.
fn wake_catching_panic(waker: Waker) {
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}
