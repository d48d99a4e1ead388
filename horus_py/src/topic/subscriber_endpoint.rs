//! The receiving endpoint of a Python `Subscriber` or `Topic`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use horus_core::BorrowError;
use horus_core::message::Buffer;
use horus_core::topic::{DynamicSubscriber, RawSample};
use pyo3::prelude::*;

use crate::buffer::zeroed_buffer;
use crate::call;
use crate::error::{self, BusyError};
use crate::message;
use crate::message::framed::{self, memory::DataOwner};
use crate::message::kind::MessageKind;
use crate::msgpack::key_cache::KeyCache;
use crate::msgpack::result::UnpackError;
use crate::msgpack::unpack::unpack;
use crate::topic::codec::Codec;
use crate::topic::endpoint::Exclusive;
use crate::topic::endpoint_wait::{EndpointWaitFn, WaitArguments};
use crate::wait::timeout::WaitPolicy;
use crate::wait::wakeups::Wakeups;

/// Maximum number of consecutive malformed messages that a receive skips before it returns `None`.
const CONSECUTIVE_MALFORMED_MAX: u32 = 16;

/// A subscriber of a topic, with the codec that decodes its messages.
#[derive(Debug)]
pub(crate) struct SubscriberEndpoint {
    pub(crate) end: Exclusive<MessageReceiver>,
    pub(crate) codec: Codec,
    /// The waker of the asyncio task that waits for a message; `None` if no task waits.
    waker: Mutex<Option<Waker>>,
}

/// A subscriber, with the buffers and caches that are needed to decode its messages.
#[derive(Debug)]
pub(crate) struct MessageReceiver {
    end: DynamicSubscriber,
    /// Buffers to which messages are copied before they are decoded. They are allocated when they
    /// are first needed.
    ///
    /// WHY copies: any process that may write to the topic can change a message while it is being
    /// decoded.
    buffers: [Buffer; 2],
    keys: KeyCache,
}

/// The message that a call wants: the next one, the newest one, or, with `Within`, the next one
/// that arrives before a time limit. While it waits, `Within` calls its closure from time to time.
/// An error of the closure ends the wait.
#[derive(Clone, Copy)]
enum ReceiveMode<'a> {
    Next,
    Latest,
    Within(WaitPolicy, &'a dyn Fn() -> PyResult<()>),
}

type ReceivedObject<'py> = PyResult<Option<Bound<'py, PyAny>>>;

impl MessageReceiver {
    /// Checks that the subscriber receives from all of its publishers.
    ///
    /// # Errors
    ///
    /// Returns an error if the subscriber receives no messages, or not all messages.
    fn check_receives_all(&self) -> PyResult<()> {
        let checked = self.end.check();
        checked.map_err(|error| error::from_recv_error(&self.end, error))
    }

    /// Returns a message as a Python object. Returns `None` if there is no message, or if none was
    /// published in time.
    #[inline]
    fn recv_object<'py>(
        &mut self,
        py: Python<'py>,
        codec: Codec,
        mode: ReceiveMode<'_>,
    ) -> ReceivedObject<'py> {
        match codec {
            Codec::Message(kind) => self.recv_message(py, kind, mode),
            Codec::Value => self.recv_value(py, mode),
            Codec::Framed(kind) => self.recv_framed(py, kind, mode),
        }
    }

    #[inline]
    fn recv_message<'py>(
        &mut self,
        py: Python<'py>,
        kind: &'static MessageKind,
        mode: ReceiveMode<'_>,
    ) -> ReceivedObject<'py> {
        let object = message::zeroed_message(py, kind)?;
        // SAFETY: nobody else knows the object.
        let buffer = unsafe { message::message_bytes_mut(&object) };
        let found = match mode {
            ReceiveMode::Next => self.end.recv_into(buffer).is_some(),
            ReceiveMode::Within(wait_policy, check) => {
                recv_into_buffer(py, wait_policy, &mut self.end, buffer, check)?.is_some()
            }
            ReceiveMode::Latest => {
                let second = message::zeroed_message(py, kind)?;
                // SAFETY: nobody else knows the object.
                let of_second = unsafe { message::message_bytes_mut(&second) };
                match self.end.latest_into([buffer, of_second]) {
                    Some((1, _)) => return Ok(Some(second)),
                    found => found.is_some(),
                }
            }
        };
        Ok(found.then_some(object))
    }

    /// Returns a message whose data stay in shared memory, or a copy if the message cannot be
    /// borrowed: an observer cannot pin messages, and all subscribers together may hold only as
    /// many as leave the publisher a free slot.
    ///
    /// WHY a copy, and not an error: `image = sub.recv()` in a loop holds two messages for a
    /// moment, because Python drops the old one last. So how many of these loops run at the same
    /// time must not decide whether they work.
    fn recv_framed<'py>(
        &mut self,
        py: Python<'py>,
        kind: &'static MessageKind,
        mode: ReceiveMode<'_>,
    ) -> ReceivedObject<'py> {
        for _ in 0..CONSECUTIVE_MALFORMED_MAX {
            let borrowed = match self.borrow(py, mode)? {
                Ok(Some(sample)) => framed::message_from_sample(py, kind, sample)?,
                Ok(None) => return Ok(None),
                Err(error) => match self.copy_message(py, mode)? {
                    Some(copied) => {
                        framed::message_from_buffer(py, kind, copied, |buffer| match error {
                            BorrowError::Observer { .. } => DataOwner::Own(buffer.into()),
                            _ => DataOwner::Copy(buffer),
                        })?
                    }
                    None => return Ok(None),
                },
            };
            match borrowed {
                Some(object) => return Ok(Some(object)),
                None => self.end.count_malformed(),
            }
        }
        Ok(None)
    }

    fn borrow(
        &mut self,
        py: Python<'_>,
        mode: ReceiveMode<'_>,
    ) -> PyResult<Result<Option<RawSample>, BorrowError>> {
        let end = &mut self.end;
        let (wait_policy, check) = match mode {
            ReceiveMode::Next => return Ok(end.borrow()),
            ReceiveMode::Latest => return Ok(end.borrow_latest()),
            ReceiveMode::Within(wait_policy, check) => (wait_policy, check),
        };
        let (spin, began) = (end.spin(), Instant::now());
        let wait = |slice| {
            // WHY less: the whole wait spins once, and not each of its slices.
            end.set_spin(spin.saturating_sub(began.elapsed()));
            match end.borrow_timeout(slice) {
                Ok(None) => end.check().err().map(Err),
                found => Some(Ok(found)),
            }
        };
        let found = wait_policy.wait(py, wait, check);
        end.set_spin(spin);
        let found = found?.transpose();
        let found = found.map_err(|error| error::from_recv_error(end, error))?;
        Ok(found.unwrap_or(Ok(None)))
    }

    fn copy_message(
        &mut self,
        py: Python<'_>,
        mode: ReceiveMode<'_>,
    ) -> PyResult<Option<(Buffer, usize)>> {
        loop {
            let room = self.end.max_message_bytes();
            let mut buffer = zeroed_buffer(room)?;
            let bytes = match mode {
                ReceiveMode::Next => self.end.recv_into(buffer.as_mut()),
                ReceiveMode::Within(wait_policy, check) => {
                    recv_into_buffer(py, wait_policy, &mut self.end, buffer.as_mut(), check)?
                }
                ReceiveMode::Latest => {
                    let mut second = zeroed_buffer(room)?;
                    let both = [buffer.as_mut(), second.as_mut()];
                    let newest = self.end.latest_into(both);
                    if let Some((1, _)) = newest {
                        buffer = second;
                    }
                    newest.map(|(_, bytes)| bytes)
                }
            };
            if bytes.is_some() || self.end.max_message_bytes() <= room {
                return Ok(bytes.map(|bytes| (buffer, bytes)));
            }
        }
    }

    /// Copies a message to one of the two buffers. Returns the index of that buffer, and the length
    /// of the message in bytes.
    #[inline]
    fn copy_to_buffer(
        &mut self,
        py: Python<'_>,
        mode: ReceiveMode<'_>,
    ) -> PyResult<Option<(usize, usize)>> {
        let Self { end, buffers, .. } = self;
        let [first, second] = buffers;
        loop {
            let room = end.max_message_bytes();
            grow_buffer(first, room)?;
            let found = match mode {
                ReceiveMode::Next => end.recv_into(first.as_mut()).map(|bytes| (0, bytes)),
                ReceiveMode::Within(wait_policy, check) => {
                    let found = recv_into_buffer(py, wait_policy, end, first.as_mut(), check)?;
                    found.map(|bytes| (0, bytes))
                }
                ReceiveMode::Latest => {
                    grow_buffer(second, room)?;
                    end.latest_into([first.as_mut(), second.as_mut()])
                }
            };
            // WHY again: a publisher began to send longer messages meanwhile.
            if found.is_some() || end.max_message_bytes() <= room {
                return Ok(found);
            }
        }
    }

    fn recv_value<'py>(&mut self, py: Python<'py>, mode: ReceiveMode<'_>) -> ReceivedObject<'py> {
        for _ in 0..CONSECUTIVE_MALFORMED_MAX {
            let Some((which, bytes)) = self.copy_to_buffer(py, mode)? else {
                return Ok(None);
            };
            let message = &self.buffers[which].as_ref()[..bytes];
            match unpack(py, message, &mut self.keys) {
                Ok(object) => return Ok(Some(object)),
                Err(UnpackError::Python(error)) => return Err(error),
                Err(UnpackError::Malformed) => {
                    self.end.count_malformed();
                    call::release_deferred_objects();
                }
            }
        }
        Ok(None)
    }
}

/// If the buffer is shorter than `bytes`, replaces it by a buffer of this length. Raises
/// `MemoryError` if there is no memory for it.
fn grow_buffer(buffer: &mut Buffer, bytes: usize) -> PyResult<()> {
    if buffer.as_ref().len() < bytes {
        *buffer = zeroed_buffer(bytes)?;
    }
    Ok(())
}

/// Copies the next message into `buffer`, and returns the length of the message. Waits for the
/// message without the GIL. Returns `None` if the time is over. Returns `None` earlier if messages
/// have become longer than the buffer.
fn recv_into_buffer(
    py: Python<'_>,
    wait_policy: WaitPolicy,
    end: &mut DynamicSubscriber,
    buffer: &mut [u8],
    check: &dyn Fn() -> PyResult<()>,
) -> PyResult<Option<usize>> {
    let (spin, began) = (end.spin(), Instant::now());
    let wait = |slice| {
        // WHY less: as in `MessageReceiver::borrow`.
        end.set_spin(spin.saturating_sub(began.elapsed()));
        match end.recv_into_timeout(buffer, slice) {
            Ok(bytes) => Some(Ok(Some(bytes))),
            Err(_) if buffer.len() < end.max_message_bytes() => Some(Ok(None)),
            Err(_) => end.check().err().map(Err),
        }
    };
    let received = wait_policy.wait(py, wait, check);
    end.set_spin(spin);
    let received = received?.unwrap_or(Ok(None));
    received.map_err(|error| error::from_recv_error(end, error))
}

impl SubscriberEndpoint {
    /// Makes an endpoint. Its errors contain `name`, the name of the endpoint.
    pub(crate) fn new(mut end: DynamicSubscriber, codec: Codec, name: String) -> Self {
        end.never_truncate();
        let buffers = Default::default();
        let receiver = MessageReceiver {
            end,
            buffers,
            keys: KeyCache::default(),
        };
        Self {
            end: Exclusive::new(name, receiver),
            codec,
            waker: Mutex::new(None),
        }
    }

    /// Returns the next message as a Python object. Returns `None` if there is no message, or if
    /// none was published in time.
    #[inline]
    pub(crate) fn recv<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> ReceivedObject<'py> {
        // WHY first: a wrong timeout is an error also while there are messages.
        let wait_policy = timeout.map(WaitPolicy::from_timeout).transpose()?;
        let mut entered = self.end.enter(py)?;
        let receiver = entered.get();
        if let Some(object) = receiver.recv_object(py, self.codec, ReceiveMode::Next)? {
            return Ok(Some(object));
        }
        receiver.check_receives_all()?;
        match wait_policy {
            None => Ok(None),
            Some(wait_policy) => self.recv_until(py, receiver, wait_policy),
        }
    }

    /// Waits for the next message without a limit; `None` once the endpoint was closed.
    pub(crate) fn next<'py>(&self, py: Python<'py>) -> ReceivedObject<'py> {
        if self.end.is_closed(py) {
            return Ok(None);
        }
        let mut entered = self.end.enter(py)?;
        let receiver = entered.get();
        if let Some(object) = receiver.recv_object(py, self.codec, ReceiveMode::Next)? {
            return Ok(Some(object));
        }
        match self.recv_until(py, receiver, WaitPolicy::unlimited()) {
            Err(_) if self.end.is_closing() => Ok(None),
            received => received,
        }
    }

    fn recv_until<'py>(
        &self,
        py: Python<'py>,
        receiver: &mut MessageReceiver,
        wait_policy: WaitPolicy,
    ) -> ReceivedObject<'py> {
        let check = || self.end.check_open();
        let mode = ReceiveMode::Within(wait_policy, &check);
        loop {
            let received = receiver.recv_object(py, self.codec, mode)?;
            if received.is_some() || wait_policy.is_over() {
                return Ok(received);
            }
            // WHY again: it gave up after some malformed messages.
            py.check_signals()?;
            check()?;
        }
    }

    /// Returns the newest message, and skips older ones.
    pub(crate) fn latest<'py>(&self, py: Python<'py>) -> ReceivedObject<'py> {
        let mut entered = self.end.enter(py)?;
        let receiver = entered.get();
        match receiver.recv_object(py, self.codec, ReceiveMode::Latest)? {
            Some(object) => Ok(Some(object)),
            None => receiver.check_receives_all().map(|()| None),
        }
    }

    /// Returns the next message. If there is none, returns `None`, and wakes the task `token` of
    /// the asyncio event loop once there is a message.
    pub(crate) fn poll<'py>(
        &self,
        py: Python<'py>,
        wakeups: &Wakeups,
        token: u64,
    ) -> ReceivedObject<'py> {
        if self.lock_waker().is_some() {
            return Err(BusyError::new_err(
                "another task waits at this end: open one for each",
            ));
        }
        let mut entered = self.end.enter(py)?;
        let receiver = entered.get();
        if let Some(object) = receiver.recv_object(py, self.codec, ReceiveMode::Next)? {
            receiver.end.cancel_alarm();
            return Ok(Some(object));
        }
        receiver.check_receives_all()?;
        let waker = wakeups.waker(token);
        receiver.end.set_alarm(&Context::from_waker(&waker));
        *self.lock_waker() = Some(waker);
        Ok(None)
    }

    /// Drops the waker that [`Self::poll`] has stored, because its task was woken or no longer
    /// waits.
    pub(crate) fn forget_waker(&self, py: Python<'_>) {
        drop(self.lock_waker().take());
        if let Ok(mut end) = self.end.enter(py) {
            end.get().end.cancel_alarm();
        }
    }

    /// Closes the endpoint, and wakes a task that waits for a message.
    pub(crate) fn close(&self, py: Python<'_>) {
        self.end.close(py);
        let waker = self.lock_waker().take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Waits until the topic has enough publishers, and returns their number. `wait` is the
    /// function that waits.
    pub(crate) fn wait_for_publishers(
        &self,
        py: Python<'_>,
        wanted: WaitArguments,
        wait: EndpointWaitFn<DynamicSubscriber>,
    ) -> PyResult<usize> {
        self.end.check_not_forked()?;
        let mut entered = self.end.enter(py)?;
        let end = &mut entered.get().end;
        wanted.wait(py, end, wait, || self.end.check_open())
    }

    fn lock_waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `ask` with the subscriber, while no other thread uses it. Returns the result of `ask`.
    pub(crate) fn with_endpoint<T>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut DynamicSubscriber) -> T,
    ) -> PyResult<T> {
        self.end.check_not_forked()?;
        Ok(ask(&mut self.end.enter(py)?.get().end))
    }
}
