//! The memory of the data of a message: its own, a slot that a pin holds, or a slot on loan.

use std::ffi::c_int;
use std::ptr;

use horus_core::message::Buffer;
use horus_core::topic::{Lent, RawSample};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::call::guard_known;

/// The owner of the memory of a message.
pub(crate) enum Memory {
    Own(#[expect(dead_code, reason = "kept alive")] Buffer),
    /// Nobody writes it while this lives.
    Sample(#[expect(dead_code, reason = "holds the pin")] RawSample),
    Loan(Loan),
}

/// A slot on loan, or one that was.
pub(crate) struct Loan {
    /// `None` once it was published, discarded, or its publisher closed.
    pub(crate) publisher: Option<Py<PyAny>>,
    pub(crate) lent: Lent,
    /// A weak reference to the array through which it is written. Whatever else can write it, as
    /// a slice or a `memoryview`, keeps that array alive. Without numpy, to a
    /// [`Hold`](super::hold::Hold).
    pub(crate) view: Option<Py<PyAny>>,
    /// Gives the slot back to the publisher.
    pub(crate) return_slot: fn(&Bound<'_, PyAny>) -> PyResult<()>,
}

impl Loan {
    /// Ends the loan, if it has not ended, because its message is gone.
    #[cold]
    pub(super) fn give_back(&mut self) {
        let ended: c_int = guard_known(-1, |py| {
            drop(self.view.take());
            if let Some(publisher) = self.publisher.take() {
                (self.return_slot)(publisher.bind(py))?;
            }
            Ok(0)
        });
        if ended != 0 {
            // SAFETY: the guard left an exception, which nobody could be told.
            unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
        }
    }
}
