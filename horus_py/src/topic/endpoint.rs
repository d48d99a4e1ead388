//! An endpoint that Python threads share: used by one thread at a time, closed by any.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

use crate::error::{BusyError, ClosedError, ForkedError};

/// An end of type `T`, or none once it was closed.
///
/// WHY no lock: two threads at one end are a mistake, which is told to the second of them. It
/// would otherwise wait for as long as the first does, or forever.
#[derive(Debug)]
pub(crate) struct End<T> {
    /// The name that errors give it: `the publisher of topic 'imu'`.
    name: Box<str>,
    /// Accessed only by the thread that made `busy` true.
    end: UnsafeCell<Option<T>>,
    busy: AtomicBool,
    /// Asked for while somebody else used the end, who closes it then.
    closing: AtomicBool,
    process: u32,
}

// SAFETY: `end` is only touched by the one thread that made `busy` true, see `enter`.
unsafe impl<T: Send> Sync for End<T> {}

impl<T> End<T> {
    pub(crate) fn new(name: impl Into<Box<str>>, end: T) -> Self {
        Self {
            name: name.into(),
            end: UnsafeCell::new(Some(end)),
            busy: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            process: std::process::id(),
        }
    }

    /// Takes the end for the calling thread.
    ///
    /// # Errors
    ///
    /// It was closed, is used by another thread, or was in use in the parent when this process
    /// was forked.
    #[inline]
    pub(crate) fn enter(&self, _py: Python<'_>) -> PyResult<Entered<'_, T>> {
        // Relaxed, and no exchange: both are under the GIL, which this module insists on, and the
        // GIL orders what the threads do that held it one after the other.
        if self.busy.load(Ordering::Relaxed) {
            return Err(self.busy_error());
        }
        // SAFETY: nobody is in, and nobody can come in as long as the GIL is held.
        if unsafe { &*self.end.get() }.is_none() {
            return Err(self.closed());
        }
        self.busy.store(true, Ordering::Relaxed);
        Ok(Entered { of: self })
    }

    #[cold]
    fn busy_error(&self) -> PyErr {
        if let Err(forked) = self.expect_own() {
            return forked;
        }
        BusyError::new_err(format!("another thread uses {}: open one for each thread", self.name))
    }

    #[cold]
    fn closed(&self) -> PyErr {
        ClosedError::new_err(format!("{} was closed: open a new one", self.name))
    }

    /// # Errors
    ///
    /// It was inherited through `fork`.
    pub(crate) fn expect_own(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let text =
            format!("{} belongs to the parent process: open a new one after fork", self.name);
        Err(ForkedError::new_err(text))
    }

    /// Returns true if another thread has called for its close.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// # Errors
    ///
    /// `ClosedError` if another thread has called for its close.
    pub(crate) fn expect_open(&self) -> PyResult<()> {
        if self.is_closing() { Err(self.closed()) } else { Ok(()) }
    }

    /// Closes the end: at once, or if a thread waits with it, when that notices.
    pub(crate) fn close(&self, py: Python<'_>) {
        self.closing.store(true, Ordering::Relaxed);
        if let Ok(entered) = self.enter(py) {
            entered.close();
        }
    }

    /// Has the endpoint closed by the next caller, as if that had been using it already. Until then
    /// it is in use.
    pub(crate) fn close_later(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self, _py: Python<'_>) -> bool {
        // SAFETY: under the GIL, and only read if nobody is in.
        self.is_closing()
            || !self.busy.load(Ordering::Relaxed) && unsafe { &*self.end.get() }.is_none()
    }
}

/// The right to use an end; given back when dropped.
#[derive(Debug)]
pub(crate) struct Entered<'a, T> {
    of: &'a End<T>,
}

impl<T> Entered<'_, T> {
    /// Drops the end.
    pub(crate) fn close(self) {
        // SAFETY: this is the only one in.
        drop(unsafe { &mut *self.of.end.get() }.take());
    }

    /// The end.
    #[inline]
    pub(crate) fn get(&mut self) -> &mut T {
        // SAFETY: this is the only one in, and it was not closed when it came in.
        let end = unsafe { &mut *self.of.end.get() };
        // WHY no panic: only `close` empties it, which takes `self`.
        end.as_mut().expect("an end is there while somebody is in")
    }
}

impl<T> Drop for Entered<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.of.is_closing() {
            // SAFETY: this is the only one in.
            drop(unsafe { &mut *self.of.end.get() }.take());
        }
        self.of.busy.store(false, Ordering::Relaxed);
    }
}
