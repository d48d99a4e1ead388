//! Sets of inboxes, of which one thread waits for those that have mail.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use horus_core::actor::{ActorId, InboxSet};
use pyo3::prelude::*;

use crate::actor::inbox::{Held, PyInbox};
use crate::actor::mail::Mail;
use crate::error::Error;
use crate::topic::endpoint::End;
use crate::wait::timeout::WaitPolicy;

/// A set of any number of inboxes, for one thread that waits for all of them. The inboxes that have
/// no mail cost no time.
#[pyclass(frozen, name = "InboxSet", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyInboxSet {
    /// WHY shared: the inboxes need it, and objects of Python that keep each other would leak.
    set: Arc<End<InboxSet<Mail>>>,
    inboxes: Mutex<HashMap<ActorId, Py<PyInbox>>>,
}

impl PyInboxSet {
    fn inboxes(&self) -> MutexGuard<'_, HashMap<ActorId, Py<PyInbox>>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyInboxSet {
    #[new]
    fn new() -> Self {
        Self {
            set: Arc::new(End::new("the inbox set", InboxSet::new())),
            inboxes: Mutex::default(),
        }
    }

    /// Adds an inbox, with the mail that it has.
    fn add(&self, py: Python<'_>, inbox: &Bound<'_, PyInbox>) -> PyResult<()> {
        let mut set = self.set.enter(py)?;
        let mut entered = inbox.get().end.enter(py)?;
        let held = entered.get();
        match mem::replace(held, Held::Moving) {
            Held::Alone(own) => {
                let id = set.get().add(own);
                *held = Held::InSet(Arc::clone(&self.set), id);
                self.inboxes().insert(id, inbox.clone().unbind());
                Ok(())
            }
            other => {
                *held = other;
                Err(Error::new_err("the inbox is in an InboxSet already"))
            }
        }
    }

    /// Takes an inbox out of the set, with the mail that it has. Returns false if it is not in it.
    fn remove(&self, py: Python<'_>, inbox: &Bound<'_, PyInbox>) -> PyResult<bool> {
        let mut set = self.set.enter(py)?;
        let mut entered = inbox.get().end.enter(py)?;
        let held = entered.get();
        let id = match held {
            Held::InSet(other, id) if Arc::ptr_eq(other, &self.set) => *id,
            _ => return Ok(false),
        };
        let Some(own) = set.get().remove(id) else {
            return Ok(false);
        };
        *held = Held::Alone(own);
        let kept = self.inboxes().remove(&id);
        drop(kept);
        Ok(true)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.set.enter(py)?.get().len())
    }

    /// Waits at most `timeout` seconds until an inbox has mail, and returns all that have: none if
    /// the time is over. An inbox whose mail was not received is returned again by the next call;
    /// one that will get no mail any more is returned once.
    #[pyo3(signature = (timeout = None))]
    fn wait(
        &self,
        py: Python<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Py<PyInbox>>> {
        let wait_policy = timeout.map_or(Ok(WaitPolicy::unlimited()), WaitPolicy::from_timeout)?;
        let mut entered = self.set.enter(py)?;
        let set = entered.get();
        let wait = |slice| Some(set.wait(slice)).filter(|ready| !ready.is_empty());
        let ready = wait_policy.wait(py, wait, || self.set.expect_open())?;
        let inboxes = self.inboxes();
        let ready = ready.unwrap_or_default();
        let found = ready.iter().filter_map(|id| inboxes.get(id));
        Ok(found.map(|inbox| inbox.clone_ref(py)).collect())
    }
}
