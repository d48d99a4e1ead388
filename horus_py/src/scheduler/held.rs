//! The Python objects that a scheduler holds before it runs, as the garbage collector of Python has
//! to know them: it frees a reference cycle only if it sees all references in it.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::scheduler::context::PyContext;

/// The Python functions of a node, and the context with which they are called.
#[derive(Debug)]
pub(crate) struct NodeCalls {
    pub(super) tick: Py<PyAny>,
    /// The arguments for the calls of Python functions: a tuple that contains only the context. WHY
    /// kept: a tick then needs no allocation.
    pub(super) arguments: Py<PyTuple>,
    pub(super) context: Py<PyContext>,
    pub(super) init: Option<Py<PyAny>>,
    pub(super) shutdown: Option<Py<PyAny>>,
    pub(super) enter_safe_state: Option<Py<PyAny>>,
    pub(super) is_safe_state: Option<Py<PyAny>>,
    pub(super) on_error: Option<Py<PyAny>>,
}

/// References to Python objects that a node of the scheduler owns together with the list of them.
///
/// WHY shared: the collector compares the number of references that it sees with the reference
/// count of an object, so each counted reference must be seen once.
#[derive(Debug, Clone)]
pub(crate) enum GcVisitedObject {
    Calls(Arc<NodeCalls>),
    Object(Arc<Py<PyAny>>),
}

impl GcVisitedObject {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let calls = match self {
            Self::Object(object) => return visit.call(&**object),
            Self::Calls(calls) => calls,
        };
        visit.call(&calls.tick)?;
        visit.call(&calls.arguments)?;
        visit.call(&calls.context)?;
        for hook in [
            &calls.init,
            &calls.shutdown,
            &calls.enter_safe_state,
            &calls.is_safe_state,
            &calls.on_error,
        ] {
            visit.call(hook)?;
        }
        Ok(())
    }
}

/// The Python objects of the nodes of a scheduler that has not been started, which Python's garbage
/// collector visits. The start empties this list, because from then on the threads of the scheduler
/// use the objects, and the collector must not clear them.
#[derive(Debug, Default)]
pub(crate) struct GcVisitedObjects(Mutex<Vec<GcVisitedObject>>);

impl GcVisitedObjects {
    pub(super) fn add(&self, objects: Vec<GcVisitedObject>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend(objects);
    }

    /// Empties the list. The objects then belong to the nodes alone, and Python's garbage collector
    /// no longer visits them.
    pub(super) fn clear(&self) {
        let held = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // WHY after the lock is released: the drop may run Python code.
        drop(held);
    }

    /// Shows the objects to the garbage collector. WHY without waiting for the lock: an object that
    /// is not seen is only kept.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(held) = self.0.try_lock() else {
            return Ok(());
        };
        held.iter().try_for_each(|object| object.traverse(visit))
    }
}
