//! Inboxes: mailboxes from which a thread receives messages itself.
//!
//! An inbox is an actor that no worker runs. The right to run it is its task. The sender that wakes
//! the inbox puts this task into the queue of the inbox's owner. The owner runs the inbox to take
//! messages out; a run that finds no more messages puts the inbox to sleep.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use horus_shm::WaitPolicy;
use horus_shm::internals::heap::{
    self, Activation, ActivationOutcome, ActorEndReport, Behaviour, ControlHandle, Event, Flow,
    Panic, PullQueue,
};

use crate::actor::address::Address;
use crate::actor::error::{RecvTimeoutError, TryRecvError};
use crate::actor::group::{ActorGroup, ControlMessage, Task};
use crate::actor::local;
use crate::actor::mailbox::MailboxKind;
use crate::actor::watch::{ActorId, ActorWatch, DownReason};
use crate::actor::worker_context::WorkerContext;

/// A mailbox from which a thread receives messages. After it is dropped, sends to its addresses
/// return an error.
///
/// [`Actors::inbox`](crate::actor::Actors::inbox) creates an inbox together with its first address.
pub struct Inbox<M> {
    group: Arc<ActorGroup>,
    handle: ControlHandle<ActorGroup>,
    pub(super) queue: Arc<PullQueue<Task>>,
    /// The right to run the inbox. `None` while the inbox sleeps or its task is in the queue.
    pub(super) task: Option<Task>,
    /// The messages that were taken out of the mailbox but have not been received yet. Usually
    /// there are none.
    taken: Option<Box<TakenMessages<M>>>,
    is_ended: bool,
    /// True if this inbox belongs to a set of inboxes. Then `queue` is the queue of the set.
    pub(super) is_in_set: bool,
    /// True once the set has reported that no more mail will arrive in this inbox.
    pub(super) is_end_known: bool,
}

/// The messages that were taken from the mailbox of an inbox in one batch, on their way to the
/// owner of the inbox; or an empty queue, which the owner gives back to be filled.
struct TakenMessages<M> {
    messages: VecDeque<M>,
    /// The queue into which a sender puts the task of the inbox when it wakes the inbox. The owner
    /// of the inbox takes the task out.
    queue: Arc<PullQueue<Task>>,
    /// True once the shared state of the inbox uses this queue ([`HostedInbox::queue`]).
    is_known: bool,
}

/// The state of an inbox in its cell, the memory that senders share.
struct HostedInbox<M> {
    /// The queue into which a sender puts the task of the inbox when it wakes the inbox. The owner
    /// of the inbox takes the task out.
    queue: Arc<PullQueue<Task>>,
    /// The number of the inbox in its group's list of members; `None` if the group had ended.
    number: Option<u64>,
    /// The actors that are notified when this inbox ends.
    watches: Vec<ActorWatch>,
    message: PhantomData<fn(M)>,
}

impl<M: Send + 'static> HostedInbox<M> {
    fn handle_control(
        &mut self,
        control: ControlMessage,
        turn: &Activation<'_, M, ActorGroup>,
    ) -> Flow {
        match control {
            ControlMessage::Init(handle) => self.number = turn.group().add_member(handle),
            ControlMessage::Watch(watch) => watch.add_or_replace_in(&mut self.watches),
            ControlMessage::End => return Flow::Stop,
            // WHY nothing: an inbox is not restarted or replaced, and starts no timer or watch. A
            // restart only wakes its owner.
            _ => {}
        }
        if self.number.is_some() {
            Flow::Continue
        } else {
            Flow::Stop
        }
    }
}

impl<M: Send + 'static> Behaviour<ActorGroup> for HostedInbox<M> {
    type Message = M;

    const HAS_PULL_QUEUE: bool = true;

    fn pull_queue(&self) -> Option<Arc<PullQueue<Task>>> {
        Some(Arc::clone(&self.queue))
    }

    fn handle(
        &mut self,
        event: Event<M, ControlMessage>,
        turn: &mut Activation<'_, M, ActorGroup>,
    ) -> Flow {
        let place = turn.worker().taken.as_mut();
        let Some(taken) = place.and_then(|any| any.downcast_mut::<TakenMessages<M>>()) else {
            return Flow::Stop;
        };
        if !taken.is_known {
            self.queue = Arc::clone(&taken.queue);
            taken.is_known = true;
        }
        match event {
            Event::Message(message) => {
                taken.messages.push_back(message);
                Flow::Continue
            }
            Event::Control(control) => self.handle_control(control, turn),
        }
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, M, ActorGroup>) -> Flow {
        Flow::Stop
    }

    fn handle_end(
        &mut self,
        end: &ActorEndReport,
        group: &ActorGroup,
        _: Option<&mut WorkerContext>,
    ) {
        group.record_drop_panics(end.panics);
        if let Some(number) = self.number {
            group.remove_member(number, end);
        }
        for watch in self.watches.drain(..) {
            watch.report_end(DownReason::Ended);
        }
    }
}

impl<M: Send + 'static> Inbox<M> {
    /// Creates an inbox and its first address; returns `None` if the group has ended.
    pub(super) fn open(
        group: &Arc<ActorGroup>,
        mailbox: MailboxKind,
    ) -> Option<(Address<M>, Self)> {
        let queue = Arc::<PullQueue<Task>>::default();
        let hosted = HostedInbox::<M> {
            queue: Arc::clone(&queue),
            number: None,
            watches: Vec::new(),
            message: PhantomData,
        };
        let (address, handle) = heap::spawn_with_handle(Arc::clone(group), hosted, mailbox.limit());
        let mut inbox = Self {
            group: Arc::clone(group),
            handle: address.control_handle(),
            queue,
            task: None,
            taken: None,
            is_ended: false,
            is_in_set: false,
            is_end_known: false,
        };
        // WHY ignored: nobody else knows the inbox, so it has not ended.
        let _ = inbox.handle.send(ControlMessage::Init(handle));
        inbox.take_queued_task();
        inbox.refill_taken_messages(2);
        (!inbox.is_ended).then(|| (Address::from_heap(address), inbox))
    }

    /// Returns the identity of this inbox. Its addresses have the same identity.
    #[must_use]
    pub fn id(&self) -> ActorId {
        ActorId(self.handle.id())
    }

    /// Receives the oldest message, if there is one. Does not wait.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if there is no message now, [`TryRecvError::Disconnected`] if no
    /// message can arrive any more.
    pub fn try_recv(&mut self) -> Result<M, TryRecvError> {
        self.try_prepare_message();
        match self.pop_taken_message() {
            Some(message) => Ok(message),
            None if self.is_disconnected() => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Receives the oldest message. If there is none, waits up to `timeout`. Does not wait if the
    /// inbox is in an [`InboxSet`](crate::actor::InboxSet): there,
    /// [`InboxSet::wait`](crate::actor::InboxSet::wait) waits.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`] if no message arrived, [`RecvTimeoutError::Disconnected`] if
    /// no message can arrive any more, [`RecvTimeoutError::InHandler`] if the inbox is empty and
    /// the caller is an actor, which must not wait.
    ///
    /// If the calling thread also runs the actors of a group that has no threads, this call runs
    /// those actors while it waits, as [`Answer::wait`](crate::actor::Answer::wait) does.
    pub fn recv(&mut self, timeout: Duration) -> Result<M, RecvTimeoutError> {
        let (refusal, timeout) = match local::is_worker() {
            true => (RecvTimeoutError::InHandler, Duration::ZERO),
            false if self.is_in_set => (RecvTimeoutError::Timeout, Duration::ZERO),
            false => (RecvTimeoutError::Timeout, timeout),
        };
        let queue = Arc::clone(&self.queue);
        let mut receive = |timeout| {
            queue.wait_until(WaitPolicy::with_timeout(timeout), || {
                match self.try_recv() {
                    Ok(message) => Some(Ok(message)),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
                }
            })
        };
        let received = if timeout.is_zero() || !local::has_threadless_groups() {
            receive(timeout)
        } else {
            local::wait_and_run_actors(timeout, receive)
        };
        received.unwrap_or(Err(refusal))
    }

    /// Receives up to `max` messages that have already arrived, and calls `each` with each of them,
    /// oldest first. Returns the number of messages. Does not wait. Costs less for each message
    /// than [`Self::try_recv`].
    pub fn drain(&mut self, max: usize, mut each: impl FnMut(M)) -> usize {
        let mut count = 0;
        while count < max {
            if !self.has_taken_messages() {
                self.take_queued_task();
                self.refill_taken_messages(u32::try_from(max - count).unwrap_or(u32::MAX));
            }
            let Some(message) = self.pop_taken_message() else {
                break;
            };
            count += 1;
            each(message);
        }
        count
    }

    /// Receives the oldest message, for use in an async task. After [`Poll::Pending`], the waker is
    /// called once a message may have arrived. The waker is not called if the inbox is in an
    /// [`InboxSet`](crate::actor::InboxSet): there,
    /// [`InboxSet::wait`](crate::actor::InboxSet::wait) waits.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Result<M, TryRecvError>> {
        loop {
            match self.try_recv() {
                Err(TryRecvError::Empty) => {}
                received => {
                    self.remove_waker();
                    return Poll::Ready(received);
                }
            }
            // WHY: the queue of a set may have the tasks of others, which are not taken here.
            if self.is_in_set || self.queue.try_register_waker(context.waker()) {
                return Poll::Pending;
            }
        }
    }

    /// Removes the waker that [`Self::poll_recv`] has registered.
    pub fn stop_polling(&mut self) {
        self.remove_waker();
    }

    /// Returns true if all messages were received and no more can arrive.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        let is_over = self.is_ended || self.handle.is_disconnected();
        is_over && !self.has_taken_messages()
    }

    /// Takes a message out of the mailbox, unless one was already taken out. Returns true if there
    /// is a message to receive.
    pub(super) fn try_prepare_message(&mut self) -> bool {
        if !self.has_taken_messages() {
            self.take_queued_task();
            self.refill_taken_messages(1);
        }
        self.has_taken_messages()
    }

    fn pop_taken_message(&mut self) -> Option<M> {
        let taken = self.taken.as_mut();
        taken
            .filter(|_| !self.handle.belongs_to_parent_process())?
            .messages
            .pop_front()
    }

    /// If senders have woken the inbox, takes its task out of the queue. The owner can then take
    /// messages out of the mailbox.
    fn take_queued_task(&mut self) {
        // WHY: the task of another inbox could come out of the queue of a set.
        if !self.is_in_set && self.task.is_none() && !self.handle.belongs_to_parent_process() {
            let Self { queue, task, .. } = self;
            queue.take_all_entries(|found| *task = Some(found));
        }
    }

    /// Moves up to `messages_max` messages from the mailbox to `taken`. Moves none if the inbox
    /// sleeps or has ended.
    fn refill_taken_messages(&mut self, messages_max: u32) {
        if self.handle.belongs_to_parent_process() {
            return;
        }
        while let Some(task) = self.task.take() {
            self.run_task(task, messages_max);
            if self.has_taken_messages() {
                return;
            }
        }
    }

    fn run_task(&mut self, task: Task, messages_max: u32) {
        let mut context = WorkerContext::without_mail_wait(&self.group.clock());
        let taken = self.taken.take().unwrap_or_else(|| {
            Box::new(TakenMessages {
                messages: VecDeque::new(),
                queue: Arc::clone(&self.queue),
                is_known: false,
            })
        });
        context.taken = Some(taken);
        match task.run(&self.group, &mut context, messages_max) {
            ActivationOutcome::More(task) | ActivationOutcome::Suspended(task) => {
                self.task = Some(task)
            }
            ActivationOutcome::Slept => {}
            ActivationOutcome::Ended => self.is_ended = true,
        }
        self.taken = context.taken.and_then(|any| any.downcast().ok());
    }

    /// Makes another queue receive the task of the inbox. The caller has woken the inbox, and has
    /// its task.
    ///
    /// WHY the caller wakes the inbox: the shared state of the inbox switches to the new queue when
    /// the inbox handles its next event. The wake is such an event, so the inbox cannot sleep
    /// before its shared state has the new queue.
    pub(super) fn switch_to_queue(&mut self, queue: Arc<PullQueue<Task>>, is_queue_of_set: bool) {
        self.remove_waker();
        if let Some(taken) = &mut self.taken {
            taken.queue = Arc::clone(&queue);
            taken.is_known = false;
        }
        self.queue = queue;
        self.is_in_set = is_queue_of_set;
    }
}

impl<M> Inbox<M> {
    fn has_taken_messages(&self) -> bool {
        let taken = self.taken.as_ref();
        taken.is_some_and(|taken| !taken.messages.is_empty())
            && !self.handle.belongs_to_parent_process()
    }

    /// Removes the waker that a poll has registered. Has no effect in a forked child. WHY: a thread
    /// of the parent may have held the lock when the child was forked.
    fn remove_waker(&self) {
        if !self.handle.belongs_to_parent_process() {
            self.queue.remove_waker();
        }
    }

    /// Wakes the inbox, unless it is awake, so that its task gets into the queue. Returns false if
    /// the inbox has ended, so that there will be no task.
    pub(super) fn wake_unless_ended(&self) -> bool {
        let is_over = self.is_ended || self.handle.send(ControlMessage::Restart).is_err();
        !is_over
    }

    /// Waits until the queue has the task of this inbox, which was woken and is not in a set.
    pub(super) fn wait_for_task(&mut self) {
        // WHY no limit: the task is there, or the sender that has woken the inbox is about to push
        // it.
        let queue = Arc::clone(&self.queue);
        queue.wait_until(WaitPolicy::endless(), || {
            queue.take_all_entries(|found| self.task = Some(found));
            self.task.is_some().then_some(())
        });
    }
}

impl<M> Drop for Inbox<M> {
    fn drop(&mut self) {
        // WHY: in a forked child, a thread of its parent may have held a lock.
        if self.handle.belongs_to_parent_process() {
            return;
        }
        self.remove_waker();
        let left = self.taken.as_ref().map_or(0, |taken| taken.messages.len());
        if left > 0 {
            self.group.count_undelivered_messages(left as u64);
        }
        if self.task.is_none() && !self.is_in_set && self.wake_unless_ended() {
            self.wait_for_task();
        }
        // WHY: an actor whose task is dropped ends.
        drop(self.task.take());
    }
}

impl<M> fmt::Debug for Inbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("id", &self.handle.id())
            .finish_non_exhaustive()
    }
}
