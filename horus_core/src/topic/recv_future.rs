//! Receiving in tasks: a future of the next message and a stream of all, for any executor.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use horus_shm::Alarm;

use super::{Payload, Subscriber};
use crate::topic::error::RecvError;

/// The next message of a subscriber; see [`Subscriber::recv_async`].
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
    /// The next message, for a task of any executor, which sleeps until it comes.
    ///
    /// Dropping the future loses nothing: the message is only taken when the future is ready. The
    /// first task that has to wait starts a thread, of which there is one in a process.
    ///
    /// # Errors
    ///
    /// Of the future: why there will be no message, [`RecvError::Forked`] or
    /// [`RecvError::RegionLost`].
    pub const fn recv_async(&mut self) -> RecvFuture<'_, T> {
        RecvFuture { subscriber: self }
    }

    /// [`Self::recv_async`] for those who write futures themselves: the next message, or has the
    /// task of `context` woken when there may be one.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        if let Some(message) = self.recv() {
            // WHY: a task that goes on must not be woken for what it has taken already.
            self.cancel_alarm();
            return Poll::Ready(Ok(message));
        }
        if let Err(error) = self.check() {
            return Poll::Ready(Err(error));
        }
        if self.alarm.is_none() {
            self.alarm = Some(Alarm::new(self.watch()));
        }
        if let Some(alarm) = &mut self.alarm {
            alarm.set(context.waker());
        }
        Poll::Pending
    }

    fn cancel_alarm(&mut self) {
        if let Some(alarm) = &mut self.alarm {
            alarm.cancel();
        }
    }
}

/// All messages as they come; ends only when none can come any more.
impl<T: Payload> Stream for Subscriber<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_recv(context).map(Result::ok)
    }
}
