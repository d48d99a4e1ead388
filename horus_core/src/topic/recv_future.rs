//! Asynchronous receives, for any executor: a future of the next message, and a stream of all
//! messages.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use horus_shm::MessageAlarm;

use super::{Payload, Subscriber};
use crate::topic::error::RecvError;

/// A future of a subscriber's next message, which [`Subscriber::recv_async`] returns.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct RecvFuture<'a, T: Payload> {
    subscriber: &'a mut Subscriber<T>,
}

impl<T: Payload> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.subscriber.poll_recv(context)
    }
}

impl<T: Payload> Drop for RecvFuture<'_, T> {
    fn drop(&mut self) {
        self.subscriber.cancel_alarm();
    }
}

impl<T: Payload> Subscriber<T> {
    /// Returns a future of the next message, for any executor. The task that awaits it sleeps until
    /// the message comes.
    ///
    /// Dropping the future loses nothing: the message is only taken when the future is ready. The
    /// first task that has to wait starts a thread that wakes tasks. A process has one such thread
    /// for up to 127 waiting tasks, and at most 32 of these threads.
    ///
    /// # Errors
    ///
    /// If there is no message, and [`Self::check`] returns an error, the future returns that error.
    /// After [`RecvError::Forked`] or [`RecvError::RegionLost`] no message can come. After
    /// [`RecvError::NamespaceRemoved`], which is permanent too, messages come only from publishers
    /// that have the topic open already: open the namespace and the topic again. After any other
    /// error, messages may come later, for example from a publisher that matches: await another
    /// future then.
    pub const fn recv_async(&mut self) -> RecvFuture<'_, T> {
        RecvFuture { subscriber: self }
    }

    /// Receives the next message, or arranges that the task of `context` is woken when there may be
    /// one. This method is for the `poll` of a hand-written future; other programs call
    /// [`Self::recv_async`].
    ///
    /// # Errors
    ///
    /// Returns the errors of the future that [`Self::recv_async`] returns.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        if let Some(message) = self.recv() {
            // WHY: a task that continues must not be woken for a message that it has already taken.
            self.cancel_alarm();
            return Poll::Ready(Ok(message));
        }
        if let Err(error) = self.check() {
            return Poll::Ready(Err(error));
        }
        self.set_alarm(context);
        Poll::Pending
    }

    /// Arranges that the task of `context` is woken when this subscriber should be polled again.
    fn set_alarm(&mut self, context: &Context<'_>) {
        if self.alarm.is_none() {
            self.alarm = Some(MessageAlarm::new(self.watch()));
        }
        if let Some(alarm) = &mut self.alarm {
            alarm.try_set(context.waker());
        }
    }

    fn cancel_alarm(&mut self) {
        if let Some(alarm) = &mut self.alarm {
            alarm.cancel();
        }
    }
}

/// A stream of all messages, as they come. It ends only when no more messages can come: in a forked
/// child, and if the topic's memory is lost. During any other error of [`Subscriber::check`] it
/// waits until the error is over. While messages wait in a lane that cannot be mapped, the task is
/// woken again and again.
impl<T: Payload> Stream for Subscriber<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        match self.poll_recv(context) {
            Poll::Ready(Ok(message)) => Poll::Ready(Some(message)),
            Poll::Ready(Err(RecvError::Forked { .. } | RecvError::RegionLost { .. })) => {
                Poll::Ready(None)
            }
            Poll::Ready(Err(_)) => {
                self.set_alarm(context);
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
