//! Inboxes, from which Python threads and tasks receive messages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use horus_core::actor::{ActorId, Inbox, RecvTimeoutError, TryRecvError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::actor::address::PyAddress;
use crate::actor::error::from_recv_error;
use crate::actor::inbox_set::SharedInboxSet;
use crate::actor::mail::Mail;
use crate::error::{BusyError, ClosedError, Error};
use crate::topic::endpoint::Exclusive;
use crate::wait::timeout::WaitPolicy;
use crate::wait::wakeups::Wakeups;

/// The location of the inbox that belongs to a Python object: in the object itself, or in a set of
/// inboxes.
#[derive(Debug)]
pub(crate) enum InboxLocation {
    Alone(Inbox<Mail>),
    InSet(Arc<SharedInboxSet>, ActorId),
    /// The inbox is just being added to a set or removed from one. This state is temporary.
    Moving,
}

/// A mailbox out of which one thread at a time receives messages. An inbox also has the methods of
/// an address, which send messages to it.
#[pyclass(frozen, extends = PyAddress, name = "Inbox", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyInbox {
    pub(crate) end: Exclusive<InboxLocation>,
    /// The waker of the asyncio task that waits for a message; `None` if no task waits. WHY one:
    /// the inbox has room for one, and a second task would replace the waker of the first one.
    waker: Mutex<Option<Waker>>,
}

impl PyInbox {
    pub(crate) fn new(inbox: Inbox<Mail>) -> Self {
        Self {
            end: Exclusive::new("the inbox", InboxLocation::Alone(inbox)),
            waker: Mutex::new(None),
        }
    }

    /// Calls `act` with the inbox, which is either in this object or in a set of inboxes.
    fn with_inbox<R>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Inbox<Mail>) -> R,
    ) -> PyResult<R> {
        let mut entered = self.end.enter(py)?;
        match entered.get() {
            InboxLocation::Alone(inbox) => Ok(act(inbox)),
            InboxLocation::InSet(set, id) => {
                let mut set = set.end.enter(py)?;
                let inbox = set.get().get_mut(*id);
                inbox.map(act).ok_or_else(inbox_in_set_error)
            }
            InboxLocation::Moving => Err(inbox_in_set_error()),
        }
    }

    /// Waits until the time limit for the oldest message. The inner error says either that the time
    /// is over, or that nobody can send messages to the inbox any longer.
    fn wait_for_message<'py>(
        &self,
        py: Python<'py>,
        wait_policy: WaitPolicy,
    ) -> PyResult<Result<Bound<'py, PyAny>, RecvTimeoutError>> {
        let mut entered = self.end.enter(py)?;
        let InboxLocation::Alone(inbox) = entered.get() else {
            return Err(inbox_in_set_error());
        };
        let received = wait_policy.wait(
            py,
            |slice| match inbox.recv(slice) {
                Err(RecvTimeoutError::Timeout) => None,
                received => Some(received),
            },
            || self.end.check_open(),
        )?;
        let received = received.unwrap_or(Err(RecvTimeoutError::Timeout));
        Ok(received.map(|mail| mail.into_bound(py)))
    }

    /// Receives the oldest available message, without waiting.
    fn try_recv<'py>(&self, py: Python<'py>) -> PyResult<Result<Bound<'py, PyAny>, TryRecvError>> {
        let received = self.with_inbox(py, Inbox::try_recv)?;
        Ok(received.map(|mail| mail.into_bound(py)))
    }
}

#[cold]
fn inbox_in_set_error() -> PyErr {
    Error::new_err("the inbox is in an InboxSet: wait there, and call recv() without a timeout")
}

#[pymethods]
impl PyInbox {
    /// Returns the oldest message. If there is none, waits at most `timeout` seconds for one;
    /// without a `timeout`, does not wait. Returns `None` if no message came. Raises
    /// `DisconnectedError` after the last message, once the group has ended.
    #[pyo3(signature = (timeout = None))]
    fn recv<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // WHY first: a wrong timeout is an error also while there are messages.
        let wait_policy = timeout.map(WaitPolicy::from_timeout).transpose()?;
        match (self.try_recv(py)?, wait_policy) {
            (Ok(message), _) => Ok(Some(message)),
            (Err(TryRecvError::Disconnected), _) => {
                Err(from_recv_error(RecvTimeoutError::Disconnected))
            }
            (Err(_), None) => Ok(None),
            (Err(_), Some(wait_policy)) => match self.wait_for_message(py, wait_policy)? {
                Ok(message) => Ok(Some(message)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(error) => Err(from_recv_error(error)),
            },
        }
    }

    /// Returns up to `max` messages in a list, oldest first. If none is there, waits at most
    /// `timeout` seconds for the first one.
    #[pyo3(signature = (max = 1024, timeout = None))]
    fn recv_many<'py>(
        &self,
        py: Python<'py>,
        max: usize,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        // WHY first: as in `recv`.
        timeout.map(WaitPolicy::from_timeout).transpose()?;
        let mut messages = self.drain(py, max)?;
        if messages.is_empty() && max > 0 {
            let first = self.recv(py, timeout)?;
            messages.extend(first);
            messages.append(&mut self.drain(py, max - messages.len())?);
        }
        PyList::new(py, messages)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Blocks until there is a message. The iteration ends when the inbox is closed, or when the
    /// group of the inbox ends.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.wait_for_message(py, WaitPolicy::unlimited()) {
            Ok(Ok(message)) => Ok(Some(message)),
            Ok(Err(RecvTimeoutError::Disconnected)) => Ok(None),
            Ok(Err(error)) => Err(from_recv_error(error)),
            Err(error) if error.is_instance_of::<ClosedError>(py) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Returns the next message as an awaitable of asyncio. The iteration ends when the group of
    /// the inbox ends.
    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("horus._asyncio")?
            .call_method1("following_mail", (slf,))
    }

    /// Returns the next message as an awaitable of asyncio. One task at a time may wait; a second
    /// one gets `BusyError`.
    fn recv_async<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("horus._asyncio")?
            .call_method1("answered", (slf,))
    }

    /// Drops the inbox with its mail: senders get `DisconnectedError`. A thread that waits for this
    /// inbox gets `ClosedError` within 50 ms, and a task at once; a `for` or `async for` over it
    /// ends. A thread that waits for a set removes the inbox from the set within that time.
    fn close(&self, py: Python<'_>) {
        if let Ok(mut entered) = self.end.enter(py)
            && let InboxLocation::InSet(set, id) = entered.get()
        {
            set.close_inbox(py, *id);
        }
        self.end.close(py);
        let waker = self.lock_waker().take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// True if the inbox was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.end.is_closed(py)
    }

    /// Returns the next message in a tuple. Without a message, returns `None`; the task `token` of
    /// the event loop is then woken once there is one. Raises `BusyError` if another task waits.
    fn _poll<'py>(
        &self,
        py: Python<'py>,
        wakeups: &Bound<'py, Wakeups>,
        token: u64,
    ) -> PyResult<Option<(Bound<'py, PyAny>,)>> {
        if self.lock_waker().is_some() {
            return Err(BusyError::new_err(
                "another task waits for the inbox: create an inbox for each task",
            ));
        }
        let mut entered = self.end.enter(py)?;
        let InboxLocation::Alone(inbox) = entered.get() else {
            return Err(inbox_in_set_error());
        };
        let waker = wakeups.get().waker(token);
        match inbox.poll_recv(&mut Context::from_waker(&waker)) {
            Poll::Ready(Ok(mail)) => Ok(Some((mail.into_bound(py),))),
            Poll::Ready(Err(_)) => Err(from_recv_error(RecvTimeoutError::Disconnected)),
            Poll::Pending => {
                *self.lock_waker() = Some(waker);
                Ok(None)
            }
        }
    }

    /// Forgets the waker of `_poll`. Only the task that waits may call it.
    fn _forget_waker(&self, py: Python<'_>) {
        drop(self.lock_waker().take());
        // WHY ignored: the inbox was closed.
        let _ = self.with_inbox(py, Inbox::stop_polling);
    }

    /// Does nothing, because a wait for a message has no question that could be cancelled.
    #[staticmethod]
    fn _cancel() {}
}

impl PyInbox {
    fn lock_waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drain<'py>(&self, py: Python<'py>, max: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut messages = Vec::new();
        self.with_inbox(py, |inbox| {
            inbox.drain(max, |mail| messages.push(mail.into_bound(py)))
        })?;
        Ok(messages)
    }
}
