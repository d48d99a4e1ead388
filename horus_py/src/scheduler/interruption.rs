//! The exception that ends a run, noted by a node and raised to the caller of the run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use horus_core::scheduler::Handle;
use pyo3::prelude::*;

/// The exception that the caller of a run gets: `SystemExit` or `KeyboardInterrupt`, which ended
/// it from within a node, or the exception by which a node failed.
#[derive(Debug)]
pub(crate) struct Interruption {
    /// `None` once there is nothing to stop. WHY: a node that waits to be swapped in is held by
    /// what this holds, and holds this.
    handle: Mutex<Option<Handle>>,
    error: Mutex<Option<PyErr>>,
    /// By the name of the node: the exception of which it may not recover, and its text.
    failures: Mutex<HashMap<String, (String, PyErr)>>,
}

impl Interruption {
    pub(crate) fn new(handle: Handle) -> Arc<Self> {
        let handle = Mutex::new(Some(handle));
        Arc::new(Self { handle, error: Mutex::default(), failures: Mutex::default() })
    }

    /// Stops everything because of this; the first one counts.
    pub(super) fn raise(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        // WHY: what is not needed is dropped when the lock is not held; it may run Python.
        let spare = if first.is_none() { first.replace(error) } else { Some(error) };
        drop(first);
        drop(spare);
        if let Some(handle) = &*self.handle.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.stop();
        }
    }

    /// The run is over: lets go of it.
    pub(crate) fn release(&self) {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(handle);
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes why a node failed, or with `None` that it is over that.
    ///
    /// WHY not longer than needed: an exception keeps everything that its tick used.
    pub(super) fn note(&self, node: &str, failure: Option<(String, PyErr)>) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match failure {
            Some(failure) => failures.insert(node.to_owned(), failure),
            None => failures.remove(node),
        };
        drop(failures);
        // WHY behind the lock: it may run Python.
        drop(before);
    }

    /// The exception of this text. Forgets all others.
    pub(crate) fn failure(&self, text: &str) -> Option<PyErr> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = std::mem::take(&mut *failures);
        failures.into_values().find(|failure| failure.0 == text).map(|failure| failure.1)
    }
}
