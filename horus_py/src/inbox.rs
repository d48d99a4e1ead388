//! The receiving end as Python uses it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use horus_core::topic::BytesSubscriber;
use pyo3::prelude::*;

use crate::codec::Codec;
use crate::end::End;
use crate::error::{self, BusyError};
use crate::message;
use crate::waits::Patience;
use crate::wakeups::Wakeups;

/// A receiving end, and what it carries.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) end: End<BytesSubscriber>,
    pub(crate) codec: Codec,
    /// Of the task that waits for a message, if one does.
    awaiting: Mutex<Option<Waker>>,
}

type Received<'py> = PyResult<Option<Bound<'py, PyAny>>>;

impl Inbox {
    pub(crate) fn new(end: BytesSubscriber, codec: Codec) -> Self {
        Self { end: End::new(end), codec, awaiting: Mutex::new(None) }
    }

    /// The next message, or `None` if there is none, or none came in time.
    #[inline]
    pub(crate) fn recv<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> Received<'py> {
        let Codec::Message(kind) = self.codec;
        let mut entered = self.end.enter(py)?;
        let end = entered.get();
        let object = message::zeroed(py, kind)?;
        // SAFETY: nobody else knows the object.
        let buffer = unsafe { message::bytes_mut(&object) };
        if end.recv(buffer).is_some() {
            return Ok(Some(object));
        }
        end.check().map_err(error::of_recv)?;
        match timeout {
            None => Ok(None),
            Some(timeout) => {
                let patience = Patience::of(timeout)?;
                let received = self.wait(py, patience, end, buffer)?;
                Ok(received.map(|_| object))
            }
        }
    }

    /// The next message, however long it takes; `None` once the end was closed.
    pub(crate) fn next<'py>(&self, py: Python<'py>) -> Received<'py> {
        let Codec::Message(kind) = self.codec;
        if self.end.is_closed(py) {
            return Ok(None);
        }
        let mut entered = self.end.enter(py)?;
        let object = message::zeroed(py, kind)?;
        // SAFETY: nobody else knows the object.
        let buffer = unsafe { message::bytes_mut(&object) };
        if entered.get().recv(buffer).is_some() {
            return Ok(Some(object));
        }
        match self.wait(py, Patience::endless(), entered.get(), buffer) {
            Ok(received) => Ok(received.map(|_| object)),
            Err(_) if self.end.is_closing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn wait(
        &self,
        py: Python<'_>,
        patience: Patience,
        end: &mut BytesSubscriber,
        buffer: &mut [u8],
    ) -> PyResult<Option<usize>> {
        let wait = |slice| match end.recv_timeout(buffer, slice) {
            Some(bytes) => Some(Ok(bytes)),
            None => end.check().err().map(Err),
        };
        let received = patience.wait(py, wait, || self.end.expect_open())?;
        received.transpose().map_err(error::of_recv)
    }

    /// The newest message; older ones are passed over.
    pub(crate) fn latest<'py>(&self, py: Python<'py>) -> Received<'py> {
        let Codec::Message(kind) = self.codec;
        let mut entered = self.end.enter(py)?;
        let (first, second) = (message::zeroed(py, kind)?, message::zeroed(py, kind)?);
        // SAFETY: nobody else knows the object.
        let of_first = unsafe { message::bytes_mut(&first) };
        // SAFETY: as above.
        let of_second = unsafe { message::bytes_mut(&second) };
        match entered.get().latest([of_first, of_second], &kind.payload) {
            Some((0, _)) => Ok(Some(first)),
            Some(_) => Ok(Some(second)),
            None => entered.get().check().map(|()| None).map_err(error::of_recv),
        }
    }

    /// The next message, or `None` and a promise to wake the task `token` of a loop.
    pub(crate) fn poll<'py>(
        &self,
        py: Python<'py>,
        wakeups: &Wakeups,
        token: u64,
    ) -> Received<'py> {
        let Codec::Message(kind) = self.codec;
        if self.awaiting().is_some() {
            return Err(BusyError::new_err("another task waits at this end: open one for each"));
        }
        let mut entered = self.end.enter(py)?;
        let object = message::zeroed(py, kind)?;
        // SAFETY: nobody else knows the object.
        let buffer = unsafe { message::bytes_mut(&object) };
        let waker = wakeups.waker(token);
        match entered.get().poll_recv(buffer, &mut Context::from_waker(&waker)) {
            Poll::Ready(Ok(_)) => Ok(Some(object)),
            Poll::Ready(Err(error)) => Err(error::of_recv(error)),
            Poll::Pending => {
                *self.awaiting() = Some(waker);
                Ok(None)
            }
        }
    }

    /// After [`Self::poll`]: the task was woken, or waits no longer.
    pub(crate) fn polled(&self, py: Python<'_>) {
        drop(self.awaiting().take());
        if let Ok(mut end) = self.end.enter(py) {
            end.get().cancel_alarm();
        }
    }

    /// Closes the end; who waits for a message finds out.
    pub(crate) fn close(&self, py: Python<'_>) {
        self.end.close(py);
        let waker = self.awaiting().take();
        waker.into_iter().for_each(Waker::wake);
    }

    fn awaiting(&self) -> MutexGuard<'_, Option<Waker>> {
        self.awaiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the end for something.
    pub(crate) fn ask<T>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut BytesSubscriber) -> T,
    ) -> PyResult<T> {
        Ok(ask(self.end.enter(py)?.get()))
    }
}
