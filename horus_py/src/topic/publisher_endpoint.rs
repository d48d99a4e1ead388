//! The publishing endpoint of a Python `Publisher` or `Topic`.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use horus_core::topic::DynamicPublisher;
use horus_core::{LoanError, SendError};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::{self, BusyError};
use crate::message;
use crate::message::framed;
use crate::message::kind::MessageKind;
use crate::msgpack::pack::{PackError, pack};
use crate::topic::codec::Codec;
use crate::topic::endpoint::{Exclusive, ExclusiveGuard};
use crate::topic::endpoint_wait::{EndpointWaitFn, WaitArguments};
use crate::wait::gil::run_detached;
use crate::wait::timeout::WaitPolicy;

/// A publisher of a topic, with the codec that encodes its messages and the message that is on
/// loan.
#[derive(Debug)]
pub(crate) struct PublisherEndpoint {
    pub(crate) end: Exclusive<DynamicPublisher>,
    pub(crate) codec: Codec,
    pub(crate) topic: Arc<str>,
    /// The Python object of the message that is on loan, or null. This is not a counted reference.
    /// The message has a counted reference to the Python object of this endpoint, and clears this
    /// pointer when the message is destroyed.
    loan: AtomicPtr<ffi::PyObject>,
}

impl PublisherEndpoint {
    /// Makes an endpoint for the topic named `topic`. Its errors contain `name`, the name of the
    /// endpoint.
    pub(crate) fn new(end: DynamicPublisher, codec: Codec, topic: Arc<str>, name: String) -> Self {
        Self {
            end: Exclusive::new(name, end),
            codec,
            topic,
            loan: AtomicPtr::default(),
        }
    }

    /// Publishes a message. If a timeout is given and the topic is full, waits until a slot is
    /// free.
    #[inline]
    pub(crate) fn send(
        &self,
        message: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        match self.codec {
            Codec::Message(kind) => self.send_message(kind, message, timeout),
            Codec::Value => self.send_value(message, timeout),
            Codec::Framed(kind) => self.send_framed(kind, message, timeout),
        }
    }

    #[inline]
    fn send_message(
        &self,
        kind: &MessageKind,
        message: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if !kind.is_kind_of(message) {
            return Err(self.wrong_class_error(kind, message));
        }
        // WHY first: a wrong timeout is an error also while there is room.
        let wait_policy = timeout.map(WaitPolicy::from_timeout).transpose()?;
        let mut end = self.end.enter(message.py())?;
        let bytes = message::message_bytes(message);
        let sent = match wait_policy {
            None => end.get().send_bytes(bytes),
            Some(_) => end.get().send_bytes_uncounted(bytes, Duration::ZERO),
        };
        let Err(error) = sent else {
            return Ok(());
        };
        match wait_policy {
            Some(wait_policy) if error.is_full() => {
                drop(end);
                self.send_until(message, wait_policy)
            }
            _ => Err(error::from_publisher_send_error(end.get(), &error)),
        }
    }

    #[cold]
    fn send_until(&self, message: &Bound<'_, PyAny>, wait_policy: WaitPolicy) -> PyResult<()> {
        // WHY a copy: while this thread waits without the GIL, others may write the message.
        let bytes = message::message_bytes(message).to_vec();
        let mut end = self.end.enter(message.py())?;
        let end = end.get();
        let send = |slice| match end.send_bytes_uncounted(&bytes, slice) {
            Err(SendError::Full { .. }) => None,
            sent => Some(sent),
        };
        let sent = wait_policy.wait(message.py(), send, || self.end.check_open())?;
        match sent {
            Some(sent) => sent.map_err(|error| error::from_send_error(&error)),
            None => {
                end.count_refused_send();
                Err(error::topic_full_error(end))
            }
        }
    }

    /// Encodes an object as MessagePack, directly into a slot, and publishes it.
    fn send_value(
        &self,
        object: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut end = self.end.enter(object.py())?;
        let end = end.get();
        let wait_policy = timeout.map(WaitPolicy::from_timeout).transpose()?;
        let mut bytes = 0;
        loop {
            if let Some(wait_policy) = wait_policy {
                self.wait_for_room(object.py(), end, bytes, wait_policy)?;
            }
            reserve_slots(object.py(), end, bytes)?;
            let mut loan = match end.loan() {
                Ok(loan) => loan,
                Err(error) => return Err(error::from_publisher_loan_error(end, &error)),
            };
            match pack(object, loan.bytes_mut()) {
                Ok(bytes) => {
                    return loan
                        .publish(bytes)
                        .map_err(|error| error::from_send_error(&error));
                }
                Err(PackError::Python(error)) => {
                    return Err(error::add_topic_name_to_error(
                        object.py(),
                        &self.topic,
                        error,
                    ));
                }
                // The slots grow, or that is an error.
                Err(PackError::TooLong(needed)) => bytes = needed,
            }
        }
    }

    /// Copies the header and the data of a message into a slot, and publishes it.
    fn send_framed(
        &self,
        kind: &MessageKind,
        message: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if !kind.is_kind_of(message) {
            return Err(self.wrong_class_error(kind, message));
        }
        framed::check_data_size(message)?;
        let mut end = self.enter(message.py())?;
        let end = end.get();
        if let Some(timeout) = timeout {
            let (header, data) = framed::header_and_data(message)?;
            let bytes = (header.len() + data.len()) as u64;
            let wait_policy = WaitPolicy::from_timeout(timeout)?;
            self.wait_for_room(message.py(), end, bytes, wait_policy)?;
            // WHY again: other threads may have changed the header meanwhile.
            framed::check_data_size(message)?;
        }
        let (header, data) = loop {
            let (header, data) = framed::header_and_data(message)?;
            let bytes = header.len() + data.len();
            if bytes <= end.slot_bytes() {
                break (header, data);
            }
            reserve_slots(message.py(), end, bytes as u64)?;
            // WHY again: other threads may have changed the message meanwhile.
            framed::check_data_size(message)?;
        };
        let bytes = header.len() + data.len();
        let mut loan = match end.loan() {
            Ok(loan) => loan,
            Err(error) => return Err(error::from_publisher_loan_error(end, &error)),
        };
        let slot = &mut loan.bytes_mut()[..bytes];
        slot[..header.len()].copy_from_slice(header);
        slot[header.len()..].copy_from_slice(data);
        loan.publish(bytes)
            .map_err(|error| error::from_send_error(&error))
    }

    /// Makes sure that messages of `bytes` bytes fit the slots: reserves longer slots if necessary.
    pub(crate) fn reserve(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        reserve_slots(py, self.enter(py)?.get(), bytes)
    }

    /// Gives the calling thread the exclusive use of the endpoint. Fails if a slot of the endpoint
    /// is on loan.
    pub(crate) fn enter<'a>(
        &'a self,
        py: Python<'a>,
    ) -> PyResult<ExclusiveGuard<'a, DynamicPublisher>> {
        // Relaxed: under the GIL.
        if !self.loan.load(Ordering::Relaxed).is_null() {
            self.end.check_open()?;
            let topic = &self.topic;
            let text =
                format!("a message of topic '{topic}' is on loan: publish() or discard() it first");
            return Err(BusyError::new_err(text));
        }
        self.end.enter(py)
    }

    /// Sets the message that is on loan; null if no message is on loan.
    pub(crate) fn set_loan(&self, loan: *mut ffi::PyObject) {
        // Relaxed: under the GIL.
        self.loan.store(loan, Ordering::Relaxed);
    }

    /// Returns the loaned slot to the publisher without publishing it. No message is on loan
    /// afterwards.
    pub(crate) fn discard_loan(&self, py: Python<'_>) {
        self.set_loan(ptr::null_mut());
        if let Ok(mut end) = self.end.enter(py) {
            end.get().discard_lent();
        }
    }

    /// Waits until a slot of `bytes` bytes is free. Fails if none is free in time.
    #[cold]
    fn wait_for_room(
        &self,
        py: Python<'_>,
        end: &mut DynamicPublisher,
        bytes: u64,
        wait_policy: WaitPolicy,
    ) -> PyResult<()> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let room = |slice| match end.wait_for_slot_uncounted(bytes, slice) {
            Err(LoanError::Full { .. }) => None,
            // Other errors are reported by the call that follows.
            _ => Some(()),
        };
        let room = wait_policy.wait(py, room, || self.end.check_open())?;
        if room.is_none() {
            end.count_refused_send();
            return Err(error::topic_full_error(end));
        }
        Ok(())
    }

    /// Waits until the topic has enough subscribers, and returns their number. `wait` is the
    /// function that waits.
    pub(crate) fn wait_for_subscribers(
        &self,
        py: Python<'_>,
        wanted: WaitArguments,
        wait: EndpointWaitFn<DynamicPublisher>,
    ) -> PyResult<usize> {
        self.end.check_not_forked()?;
        // WHY not with a slot on loan: a close in the meantime would have to wait until Python code
        // can no longer write the slot, and the end of this call would not.
        let mut end = self.enter(py)?;
        wanted.wait(py, end.get(), wait, || self.end.check_open())
    }

    /// Closes the endpoint at once. If Python code can write to a message on loan, closes it as
    /// soon as that is no longer possible.
    pub(crate) fn close(&self, py: Python<'_>) {
        let loan = self.loan.load(Ordering::Relaxed);
        if !loan.is_null() {
            // SAFETY: it takes itself out before it ends, so it lives.
            let loan = unsafe { Bound::from_borrowed_ptr(py, loan) };
            if !matches!(framed::live_loan_view(&loan), Ok(None)) {
                // WHY not now: Python code can write the slot, and would write into another
                // publisher's message. The message on loan closes the endpoint when it is
                // destroyed.
                self.end.request_close();
                return;
            }
            self.set_loan(ptr::null_mut());
            drop(framed::end_loan(
                &loan,
                framed::memory::LoanEndReason::Closed,
            ));
        }
        self.end.close(py);
    }

    /// Calls `ask` with the publisher, while no other thread uses it. Returns the result of `ask`.
    pub(crate) fn with_endpoint<T>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut DynamicPublisher) -> T,
    ) -> PyResult<T> {
        self.end.check_not_forked()?;
        self.end.check_open()?;
        Ok(ask(self.end.enter(py)?.get()))
    }

    #[cold]
    fn wrong_class_error(&self, kind: &MessageKind, object: &Bound<'_, PyAny>) -> PyErr {
        let found = object.get_type();
        let found = found
            .name()
            .map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let topic = &self.topic;
        let name = kind.schema.name;
        PyTypeError::new_err(format!("topic '{topic}' carries {name}, not {found}"))
    }
}

/// Makes sure that messages of `bytes` bytes fit the slots of `end`: reserves longer slots if
/// necessary. That takes milliseconds, during which other threads have the GIL.
#[inline]
pub(crate) fn reserve_slots(
    py: Python<'_>,
    end: &mut DynamicPublisher,
    bytes: u64,
) -> PyResult<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if bytes <= end.slot_bytes() {
        return Ok(());
    }
    run_detached(py, || end.reserve(bytes))
        .map_err(|error| error::from_publisher_send_error(end, &error))
}
