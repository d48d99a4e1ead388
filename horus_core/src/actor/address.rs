//! Addresses: the handles by which messages and questions are sent to an actor, and by which their
//! answers are received.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use horus_shm::WaitPolicy;
use horus_shm::internals::heap::{
    self, AnswerError, ControlHandle, Refusal, Reply, SendOutcome, WaitRefusal,
};

use crate::actor::behaviour::Actor;
use crate::actor::error::{
    AskError, SendTimeoutError, SwapError, TellAllError, TrySendError, to_send_error,
};
use crate::actor::group::{ActorGroup, ControlMessage};
use crate::actor::local;
use crate::actor::registry::{RegisteredAddress, message_type_name};
use crate::actor::swap::SwapRequest;
use crate::actor::watch::ActorId;
use crate::scheduler::run::pending_swap::Swap;

/// A handle by which messages of type `M` are sent to an actor. It has eight bytes. A clone is
/// another address of the same actor. An actor to which no address is left ends once it has handled
/// its messages.
pub struct Address<M>(heap::Address<M, ActorGroup>);

impl<M: Send + 'static> Address<M> {
    pub(super) const fn from_heap(address: heap::Address<M, ActorGroup>) -> Self {
        Self(address)
    }

    /// Sends `message`. Does not wait.
    ///
    /// # Errors
    ///
    /// [`TrySendError::Full`] if the mailbox is full, [`TrySendError::Disconnected`] if the actor
    /// has ended. The error contains the message.
    #[inline(always)]
    pub fn tell(&self, message: M) -> Result<(), TrySendError<M>> {
        self.0.send(message).map(drop).map_err(to_send_error)
    }

    /// Sends `message`, as [`Self::tell`] does. Returns true if the mailbox keeps only the latest
    /// message and has dropped an older one. This is for the bindings of other languages.
    #[doc(hidden)]
    #[inline]
    pub fn tell_replacing(&self, message: M) -> Result<bool, TrySendError<M>> {
        let sent = self.0.send(message).map_err(to_send_error)?;
        Ok(sent == SendOutcome::Replaced)
    }

    /// Sends `message`. If the mailbox is full, waits up to `timeout` for room.
    ///
    /// # Errors
    ///
    /// [`SendTimeoutError::Timeout`] if the mailbox stayed full, [`SendTimeoutError::Disconnected`]
    /// if the actor has ended, [`SendTimeoutError::InHandler`] if the mailbox is full and the
    /// caller is an actor, which must not wait. The error contains the message.
    ///
    /// If the calling thread also runs the actors of a group that has no threads, this call runs
    /// those actors while it waits, as [`Answer::wait`] does.
    pub fn tell_timeout(&self, message: M, timeout: Duration) -> Result<(), SendTimeoutError<M>> {
        let message = match self.0.send(message) {
            Ok(_) => return Ok(()),
            Err(Refusal::Full(message)) => message,
            Err(Refusal::Disconnected(message)) => {
                return Err(SendTimeoutError::Disconnected(message));
            }
        };
        // WHY: the thread that waits may be the one that has to make room.
        if local::is_worker() {
            return Err(SendTimeoutError::InHandler(message));
        }
        if !local::has_threadless_groups() {
            return self.send_waiting_for_room(message, timeout);
        }
        let mut unsent = Some(message);
        let sent = local::wait_and_run_actors(timeout, |time| {
            match self.send_waiting_for_room(unsent.take()?, time) {
                Err(SendTimeoutError::Timeout(message)) => {
                    unsent = Some(message);
                    None
                }
                sent => Some(sent),
            }
        });
        match (sent, unsent) {
            (Some(sent), _) => sent,
            (None, Some(message)) => Err(SendTimeoutError::Timeout(message)),
            (None, None) => unreachable!("a message that was not sent came back"),
        }
    }

    fn send_waiting_for_room(
        &self,
        message: M,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<M>> {
        let sent = self
            .0
            .send_waiting_for_room(message, WaitPolicy::with_timeout(timeout));
        sent.map(drop).map_err(|refusal| match refusal {
            WaitRefusal::Timeout(message) => SendTimeoutError::Timeout(message),
            WaitRefusal::Disconnected(message) => SendTimeoutError::Disconnected(message),
        })
    }

    /// Sends either all `messages` or none of them. They are sent in their order, with no other
    /// message between them. Does not wait.
    ///
    /// # Errors
    ///
    /// [`TellAllError`], which contains all messages.
    pub fn tell_all(&self, messages: impl IntoIterator<Item = M>) -> Result<(), TellAllError<M>> {
        self.0.send_all(messages).map_err(|refusal| match refusal {
            Refusal::Full(messages) => TellAllError::Full(messages),
            Refusal::Disconnected(messages) => TellAllError::Disconnected(messages),
        })
    }

    /// Sends a question: `make` turns a [`Reply`] into the message to send, and the actor answers
    /// through that [`Reply`]. Returns a handle that waits for the answer. Does not wait.
    ///
    /// # Errors
    ///
    /// [`AskError::Full`] if the mailbox is full, [`AskError::Disconnected`] if the actor has
    /// ended.
    pub fn ask<T: Send>(&self, make: impl FnOnce(Reply<T>) -> M) -> Result<Answer<T>, AskError> {
        let (reply, answer) = heap::answer_channel();
        self.send_question(make(reply))?;
        Ok(Answer(answer))
    }

    /// Sends the message of a question. WHY not inlined: the compiler would then assemble the
    /// result of [`Self::ask`] from parts of several registers, which made a question a third
    /// slower.
    #[inline(never)]
    fn send_question(&self, question: M) -> Result<(), AskError> {
        match self.0.send(question) {
            Ok(_) => Ok(()),
            Err(Refusal::Full(_)) => Err(AskError::Full),
            Err(Refusal::Disconnected(_)) => Err(AskError::Disconnected),
        }
    }

    /// Replaces the actor by `actor`, which must have the same type as the old one. The new actor
    /// handles all messages that are sent after this call. The request waits in the mailbox and
    /// counts as a message. Does not wait.
    ///
    /// The new actor is initialised first. If its `init` or one of its first ten messages fails,
    /// the old actor is restored. After ten messages, the old actor is shut down. [`Swap`] reports
    /// the outcome. If the actor fails later and restarts, the function given to `spawn_with`
    /// re-creates it; `actor` is not used again.
    ///
    /// Timers and children belong to the actor that started them. Those of the old actor end once
    /// the swap is final, and those of the new one if the old one is restored. While the new actor
    /// is on trial, messages of the old actor's timers wait.
    ///
    /// # Errors
    ///
    /// [`SwapError::Full`] if the mailbox is full, [`SwapError::Disconnected`] if the actor has
    /// ended.
    pub fn swap<A: Actor<Message = M>>(&self, actor: A) -> Result<Swap, SwapError> {
        let request = SwapRequest::new(actor);
        let swap = request.swap_handle();
        match self
            .0
            .control_handle()
            .send_counted_control(ControlMessage::Swap(request))
        {
            Ok(()) => Ok(swap),
            Err(Refusal::Full(_)) => Err(SwapError::Full),
            Err(Refusal::Disconnected(_)) => Err(SwapError::Disconnected),
        }
    }

    /// Returns the identity of the actor. It equals the identity in the
    /// [`Down`](crate::actor::Down) that reports the end of this actor.
    #[must_use]
    pub fn id(&self) -> ActorId {
        ActorId(self.0.id())
    }

    /// Requests the end of the actor, as its parent does. It is shut down, and its mail is dropped.
    /// This is for the bindings of other languages.
    #[doc(hidden)]
    pub fn request_end(&self) {
        // WHY ignored: it has ended already.
        drop(self.control_handle().send(ControlMessage::End));
    }

    pub(super) fn control_handle(&self) -> ControlHandle<ActorGroup> {
        self.0.control_handle()
    }

    /// Returns true if the actor has ended.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.0.is_disconnected()
    }

    /// Returns the number of messages in a bounded mailbox. The number may already be out of date
    /// when this returns, and may be too high by up to an eighth of the capacity.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.0.waiting_messages()
    }

    /// Returns a weak address of the same actor, which does not keep the actor alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakAddress<M> {
        WeakAddress(self.0.downgrade())
    }
}

impl<M: Send + 'static> RegisteredAddress for Address<M> {
    fn message_type(&self) -> &'static str {
        message_type_name::<M>()
    }

    fn has_ended(&self) -> bool {
        self.is_disconnected()
    }

    fn actor_number(&self) -> usize {
        self.0.id()
    }
}

impl<M> Clone for Address<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> PartialEq for Address<M> {
    /// Returns true if both are addresses of the same actor.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<M> Eq for Address<M> {}

impl<M> fmt::Debug for Address<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// An address that does not keep the actor alive.
pub struct WeakAddress<M>(heap::WeakAddress<M, ActorGroup>);

impl<M: Send + 'static> WeakAddress<M> {
    /// Returns an ordinary address, which keeps the actor alive; `None` if the actor has ended.
    #[must_use]
    pub fn upgrade(&self) -> Option<Address<M>> {
        self.0.upgrade().map(Address)
    }
}

impl<M> Clone for WeakAddress<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> fmt::Debug for WeakAddress<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A handle by which a thread or a task waits for the answer to a question. If the handle is
/// dropped, the question is cancelled, which the actor can see.
#[must_use = "a question whose answer is dropped is cancelled"]
pub struct Answer<T>(heap::Answer<T>);

impl<T: Send> Answer<T> {
    /// Waits for the answer, up to `timeout`.
    ///
    /// # Errors
    ///
    /// [`AskError::NoAnswer`] if the actor dropped the question, [`AskError::Timeout`] if the
    /// answer did not come in time. If the caller is an actor, [`AskError::InHandler`] at once.
    ///
    /// If the calling thread also runs the actors of a group that has no threads, this call runs
    /// those actors while it waits. It may then return late: after the handler that is running, or
    /// by about a millisecond.
    pub fn wait(mut self, timeout: Duration) -> Result<T, AskError> {
        self.try_wait(timeout)
    }

    /// Waits for the answer, up to `timeout`. After a timeout, the caller may call this again.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::wait`].
    pub fn try_wait(&mut self, timeout: Duration) -> Result<T, AskError> {
        if local::is_worker() {
            return Err(AskError::InHandler);
        }
        let answered = match local::run_threadless_groups() {
            None => self.0.wait(WaitPolicy::with_timeout(timeout)),
            // WHY a look: most questions are answered by now.
            Some(_) => match self.0.try_take() {
                Some(taken) => taken.map_err(AnswerError::from),
                None => self.run_actors_until_answered(timeout),
            },
        };
        answered.map_err(|error| match error {
            AnswerError::NoAnswer => AskError::NoAnswer,
            AnswerError::Timeout => AskError::Timeout,
        })
    }

    /// While the answer has not arrived, runs those actors that the calling thread is responsible
    /// for. Returns the answer.
    fn run_actors_until_answered(&mut self, timeout: Duration) -> Result<T, AnswerError> {
        let answered = local::wait_and_run_actors(timeout, |time| {
            match self.0.wait(WaitPolicy::with_timeout(time)) {
                Err(AnswerError::Timeout) => None,
                found => Some(found),
            }
        });
        answered.unwrap_or(Err(AnswerError::Timeout))
    }

    /// Returns the answer if it has arrived, or an error if it will never arrive; `None` while
    /// neither is known. Does not wait.
    ///
    /// # Errors
    ///
    /// [`AskError::NoAnswer`] if the answer will never arrive.
    pub fn try_take(&mut self) -> Option<Result<T, AskError>> {
        let taken = self.0.try_take()?;
        Some(taken.map_err(|_| AskError::NoAnswer))
    }
}

impl<T: Send> Future for Answer<T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.0).poll(context);
        polled.map(|taken| taken.map_err(|_| AskError::NoAnswer))
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}
