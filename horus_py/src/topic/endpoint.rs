//! An endpoint that Python threads share. One thread at a time can use it, and any thread can close
//! it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

use crate::error::{BusyError, ClosedError, ForkedError};

/// An endpoint, or another object of type `T`, that only one thread at a time can use. Closing it
/// drops the object.
///
/// WHY no lock: it is a mistake to use one endpoint in two threads, so the second thread gets an
/// error. With a lock, the second thread would wait for the first one, perhaps forever.
#[derive(Debug)]
pub(crate) struct Exclusive<T> {
    /// The name of the endpoint in error texts, such as `the publisher of topic 'imu'`.
    name: Box<str>,
    /// The endpoint; `None` once it was closed. Accessed only by the thread that set `busy` to
    /// true.
    end: UnsafeCell<Option<T>>,
    busy: AtomicBool,
    /// True once a thread has requested the close. If another thread uses the endpoint at that
    /// time, that other thread closes it when it is done.
    closing: AtomicBool,
    process: u32,
}

// SAFETY: `end` is only touched by the one thread that made `busy` true, see `enter`.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    pub(crate) fn new(name: impl Into<Box<str>>, end: T) -> Self {
        Self {
            name: name.into(),
            end: UnsafeCell::new(Some(end)),
            busy: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            process: std::process::id(),
        }
    }

    /// Gives the calling thread the exclusive use of the endpoint, until the returned guard is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoint was closed, if another thread uses it, or if it was in use
    /// in the parent when this process was forked.
    #[inline]
    pub(crate) fn enter(&self, _py: Python<'_>) -> PyResult<ExclusiveGuard<'_, T>> {
        // Relaxed, and no swap: both accesses happen with the GIL held, which this module requires,
        // and the GIL orders the accesses of different threads.
        if self.busy.load(Ordering::Relaxed) {
            return Err(self.busy_error());
        }
        // SAFETY: nobody is in, and nobody can come in as long as the GIL is held.
        if unsafe { &*self.end.get() }.is_none() {
            return Err(self.closed_error());
        }
        self.busy.store(true, Ordering::Relaxed);
        Ok(ExclusiveGuard { of: self })
    }

    #[cold]
    fn busy_error(&self) -> PyErr {
        if let Err(forked) = self.check_not_forked() {
            return forked;
        }
        BusyError::new_err(format!(
            "another thread uses {}: open one for each thread",
            self.name
        ))
    }

    #[cold]
    fn closed_error(&self) -> PyErr {
        ClosedError::new_err(format!("{} was closed: open a new one", self.name))
    }

    /// Checks that this process opened the endpoint, and is not a forked child of the process that
    /// did.
    pub(crate) fn check_not_forked(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let text = format!(
            "{} belongs to the parent process: open a new one after fork",
            self.name
        );
        Err(ForkedError::new_err(text))
    }

    /// Returns true if a thread has requested that the endpoint be closed.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Checks that no thread has requested that the endpoint be closed.
    pub(crate) fn check_open(&self) -> PyResult<()> {
        if self.is_closing() {
            Err(self.closed_error())
        } else {
            Ok(())
        }
    }

    /// Closes the endpoint: at once, or, if another thread uses it, as soon as that thread is done
    /// or notices the request.
    pub(crate) fn close(&self, py: Python<'_>) {
        self.closing.store(true, Ordering::Relaxed);
        if let Ok(entered) = self.enter(py) {
            entered.close();
        }
    }

    /// Requests the close but does not close the endpoint. It is closed when the next
    /// [`ExclusiveGuard`] for it is dropped.
    pub(crate) fn request_close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self, _py: Python<'_>) -> bool {
        // SAFETY: under the GIL, and only read if nobody is in.
        self.is_closing()
            || !self.busy.load(Ordering::Relaxed) && unsafe { &*self.end.get() }.is_none()
    }
}

/// A guard that gives one thread the exclusive right to use an endpoint, until it is dropped.
#[derive(Debug)]
pub(crate) struct ExclusiveGuard<'a, T> {
    of: &'a Exclusive<T>,
}

impl<T> ExclusiveGuard<'_, T> {
    /// Closes the endpoint that this guard protects, by dropping it.
    pub(crate) fn close(self) {
        // SAFETY: this is the only one in.
        drop(unsafe { &mut *self.of.end.get() }.take());
    }

    /// Returns the endpoint that this guard protects.
    #[inline]
    pub(crate) fn get(&mut self) -> &mut T {
        // SAFETY: this is the only one in, and it was not closed when it came in.
        let end = unsafe { &mut *self.of.end.get() };
        // WHY no panic: only `close` removes the endpoint, and that consumes `self`.
        end.as_mut().expect("an end is there while somebody is in")
    }
}

impl<T> Drop for ExclusiveGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.of.is_closing() {
            // SAFETY: this is the only one in.
            drop(unsafe { &mut *self.of.end.get() }.take());
        }
        self.of.busy.store(false, Ordering::Relaxed);
    }
}
