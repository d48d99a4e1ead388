//! A set of inboxes: one thread waits until any of them has mail.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use horus_shm::WaitPolicy;
use horus_shm::internals::heap::PullQueue;

use crate::actor::group::Task;
use crate::actor::inbox::Inbox;
use crate::actor::local;
use crate::actor::watch::ActorId;

/// A set of any number of inboxes: one thread waits for all of them at once. Inboxes without mail
/// cost nothing.
///
/// ```
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use std::time::{Duration, Instant};
///
/// use horus_core::actor::{InboxSet, MailboxKind};
/// use horus_core::scheduler::Scheduler;
///
/// let mut scheduler = Scheduler::new();
/// let actors = scheduler.actors("fleet").build()?;
/// let mut set = InboxSet::new();
/// let mut addresses = Vec::new();
/// for _ in 0..100 {
///     let (address, inbox) = actors.inbox::<u32>(MailboxKind::bounded(8))?;
///     set.add(inbox);
///     addresses.push(address);
/// }
/// addresses[42].tell(7)?;
/// let ready = set.wait(Duration::from_secs(1));
/// assert_eq!(ready, [addresses[42].id()]);
/// for id in ready {
///     let inbox = set.get_mut(id).expect("it is in the set");
///     assert_eq!(inbox.drain(8, |message| assert_eq!(message, 7)), 1);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InboxSet<M> {
    queue: Arc<PullQueue<Task>>,
    inboxes: HashMap<usize, Inbox<M>>,
    /// The inboxes that may have mail, so that the next wait checks them first: those that the last
    /// wait returned, and those whose tasks have arrived since.
    returned: Vec<ActorId>,
}

impl<M> Default for InboxSet<M> {
    fn default() -> Self {
        Self {
            queue: Arc::default(),
            inboxes: HashMap::new(),
            returned: Vec::new(),
        }
    }
}

impl<M: Send + 'static> InboxSet<M> {
    /// Returns a set without inboxes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an inbox, together with the mail that it has. Returns the identity by which
    /// [`Self::wait`] reports that this inbox has mail.
    pub fn add(&mut self, mut inbox: Inbox<M>) -> ActorId {
        let id = inbox.id();
        if inbox.wake_unless_ended() {
            if inbox.task.is_none() {
                inbox.wait_for_task();
            }
            inbox.switch_to_queue(Arc::clone(&self.queue), true);
        }
        inbox.is_in_set = true;
        self.returned.push(id);
        self.inboxes.insert(id.0, inbox);
        id
    }

    /// Removes an inbox from the set, and returns it with the mail that it has; `None` if it is not
    /// in the set.
    pub fn remove(&mut self, id: ActorId) -> Option<Inbox<M>> {
        let is_awake = self.inboxes.get(&id.0)?.wake_unless_ended();
        let has_task = |set: &Self| set.inboxes[&id.0].task.is_some();
        while is_awake && !has_task(self) {
            let woken = self.wait_for_inboxes(WaitPolicy::endless());
            // WHY: an inbox that has its task is not pushed again, so the next wait looks at it.
            let known: HashSet<_> = self.returned.iter().copied().collect();
            let new = woken.into_iter().filter(|id| !known.contains(id));
            self.returned.extend(new);
        }
        let mut inbox = self.inboxes.remove(&id.0)?;
        self.returned.retain(|returned| *returned != id);
        inbox.switch_to_queue(Arc::default(), false);
        Some(inbox)
    }

    /// Returns an inbox of the set, from which the caller can receive mail; `None` if it is not in
    /// the set.
    pub fn get_mut(&mut self, id: ActorId) -> Option<&mut Inbox<M>> {
        self.inboxes.get_mut(&id.0)
    }

    /// Returns the number of inboxes in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inboxes.len()
    }

    /// Returns true if the set has no inbox.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inboxes.is_empty()
    }

    /// Waits up to `timeout` until an inbox has mail or can get no more mail. Returns the
    /// identities of all such inboxes, or an empty list after a timeout. Does not wait if the
    /// caller is an actor.
    ///
    /// If the mail of an inbox is not received, the next call returns that inbox again. An inbox
    /// that can get no more mail is returned only once.
    ///
    /// If the calling thread also runs the actors of a group that has no threads, this call runs
    /// those actors while it waits, as [`Answer::wait`](crate::actor::Answer::wait) does.
    pub fn wait(&mut self, timeout: Duration) -> Vec<ActorId> {
        let timeout = if local::is_worker() {
            Duration::ZERO
        } else {
            timeout
        };
        // WHY one deadline: messages without mail, such as those of a watch, end the waits below.
        let deadline = Instant::now().checked_add(timeout);
        let mut ready = std::mem::take(&mut self.returned);
        ready.retain(|id| self.has_mail(*id));
        loop {
            let timeout = match deadline {
                _ if !ready.is_empty() => Duration::ZERO,
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
                None => Duration::MAX,
            };
            let woken = self.wait_and_run_actors(timeout);
            let is_over = woken.is_empty();
            ready.extend(woken.into_iter().filter(|id| self.has_mail(*id)));
            if is_over || !ready.is_empty() {
                break;
            }
        }
        self.returned.clone_from(&ready);
        ready
    }

    /// Returns true if an inbox has mail, or if it can get no more mail and that has not been
    /// reported yet. To check, takes a message out of the mailbox.
    fn has_mail(&mut self, id: ActorId) -> bool {
        let Some(inbox) = self.inboxes.get_mut(&id.0) else {
            return false;
        };
        inbox.try_prepare_message()
            || (inbox.is_disconnected() && !std::mem::replace(&mut inbox.is_end_known, true))
    }
}

impl<M> InboxSet<M> {
    /// Waits up to `timeout` until at least one inbox is awake, and returns these inboxes, as
    /// [`Self::wait_for_inboxes`] does. Meanwhile, runs those actors that the calling thread is
    /// responsible for.
    fn wait_and_run_actors(&mut self, timeout: Duration) -> Vec<ActorId> {
        let mut wait = |timeout| {
            let woken = self.wait_for_inboxes(WaitPolicy::with_timeout(timeout));
            (!woken.is_empty()).then_some(woken)
        };
        let woken = if timeout.is_zero() || !local::has_threadless_groups() {
            wait(timeout)
        } else {
            local::wait_and_run_actors(timeout, wait)
        };
        woken.unwrap_or_default()
    }

    /// Waits until at least one inbox is awake, and gives each such inbox its task. Returns these
    /// inboxes.
    fn wait_for_inboxes(&mut self, wait_policy: WaitPolicy) -> Vec<ActorId> {
        let mut woken = Vec::new();
        let Self { queue, inboxes, .. } = self;
        queue.wait_until(wait_policy, || {
            queue.take_all_entries(|task| {
                let id = task.id();
                if let Some(inbox) = inboxes.get_mut(&id) {
                    inbox.task = Some(task);
                    woken.push(ActorId(id));
                }
            });
            (!woken.is_empty()).then_some(())
        });
        woken
    }
}

impl<M> Drop for InboxSet<M> {
    fn drop(&mut self) {
        let asleep = |inbox: &&Inbox<M>| inbox.task.is_none();
        let woken = self.inboxes.values().filter(asleep);
        let mut left = woken.filter(|inbox| inbox.wake_unless_ended()).count();
        while left > 0 {
            left -= self.wait_for_inboxes(WaitPolicy::endless()).len();
        }
    }
}

impl<M> fmt::Debug for InboxSet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxSet")
            .field("inboxes", &self.inboxes.len())
            .finish_non_exhaustive()
    }
}
