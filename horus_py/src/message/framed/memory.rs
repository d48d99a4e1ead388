//! The memory that holds a message's data: buffers that the message owns, a received slot that is
//! pinned, or a slot on loan.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use horus_core::message::Buffer;
use horus_core::topic::{LoanMemory, RawSample};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::call::run_guarded_attached;

/// The owner of the memory that holds a message's data.
pub(crate) enum DataOwner {
    Own(OwnBuffers),
    /// A received slot. No process writes to it while the sample exists.
    Sample(#[expect(dead_code, reason = "holds the pin")] RawSample),
    /// A copy of a received message that could not be borrowed. It is read-only, as a received
    /// slot.
    Copy(#[expect(dead_code, reason = "keeps the memory")] Buffer),
    Loan(Loan),
}

/// The buffers that a message owns: the one that holds its data now, and those that held its data
/// before.
///
/// WHY the earlier buffers are kept: arrays that were made from the message may still use them, and
/// such an array keeps only the message alive.
pub(crate) struct OwnBuffers {
    current: Buffer,
    earlier: Vec<Buffer>,
}

impl OwnBuffers {
    /// Returns the number of bytes from `address`, which lies in the current buffer, to the end of
    /// that buffer.
    pub(super) fn bytes_to_end_of_buffer(&self, address: *const u8) -> usize {
        self.current.as_ref().as_ptr_range().end.addr() - address.addr()
    }

    /// Makes `buffer` the current buffer, and keeps the buffer that it replaces.
    pub(super) fn replace_current(&mut self, buffer: Buffer) {
        let before = std::mem::replace(&mut self.current, buffer);
        if !before.as_ref().is_empty() {
            self.earlier.push(before);
        }
    }
}

impl From<Buffer> for OwnBuffers {
    fn from(current: Buffer) -> Self {
        Self {
            current,
            earlier: Vec::new(),
        }
    }
}

/// The reason why a message is no longer on loan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LoanEndReason {
    Published,
    Discarded,
    /// The publisher was closed.
    Closed,
}

/// A slot that a publisher has loaned, or had loaned before, to a message.
pub(crate) struct Loan {
    /// The publisher that loaned the slot. After the end of the loan, the reason of that end: the
    /// slot then belongs to other messages, and this message no longer reads it.
    pub(crate) publisher: Result<Py<PyAny>, LoanEndReason>,
    pub(crate) slot: NonNull<[u8]>,
    /// Keeps the memory of the slot mapped, even after the publisher is closed.
    pub(crate) _memory: LoanMemory,
    /// A weak reference to the array through which the slot is written, or, without numpy, to a
    /// [`LoanKeepalive`](super::keepalive::LoanKeepalive). Every other object that can write to the
    /// slot, such as a slice or a `memoryview`, keeps that array alive.
    pub(crate) view: Option<Py<PyAny>>,
    /// The function that is called when the message is destroyed while it is on loan. It takes the
    /// publisher, which can then use the slot again. No message is published.
    pub(crate) discard_slot_of_destroyed_message: fn(&Bound<'_, PyAny>) -> PyResult<()>,
}

impl Loan {
    /// Ends the loan, and returns the publisher. Returns `None` if the loan has already ended.
    pub(super) fn end(&mut self, reason: LoanEndReason) -> Option<Py<PyAny>> {
        if self.publisher.is_err() {
            return None;
        }
        std::mem::replace(&mut self.publisher, Err(reason)).ok()
    }

    /// Ends the loan, unless it has already ended. Called when the message is destroyed.
    #[cold]
    pub(super) fn discard_unless_ended(&mut self) {
        let ended: c_int = run_guarded_attached(-1, |py| {
            drop(self.view.take());
            if let Some(publisher) = self.end(LoanEndReason::Discarded) {
                (self.discard_slot_of_destroyed_message)(publisher.bind(py))?;
            }
            Ok(0)
        });
        if ended != 0 {
            // SAFETY: the guard left an exception, which nobody could be told.
            unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
        }
    }
}
