//! Sets of inboxes. One thread waits for all inboxes of a set, and gets those that have messages.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use horus_core::actor::{ActorId, InboxSet, RecvTimeoutError, is_worker};
use pyo3::prelude::*;

use crate::actor::error::from_recv_error;
use crate::actor::inbox::{InboxLocation, PyInbox};
use crate::actor::mail::Mail;
use crate::error::Error;
use crate::topic::endpoint::{Exclusive, ExclusiveGuard};
use crate::wait::timeout::WaitPolicy;

/// A set of any number of inboxes, for one thread that waits for all of them. The inboxes that have
/// no mail cost no time.
#[pyclass(frozen, name = "InboxSet", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyInboxSet {
    /// The set. WHY shared, and not a Python object: its inboxes refer to it as well, and Python
    /// objects that refer to each other would never be freed.
    set: Arc<SharedInboxSet>,
    inboxes: Mutex<HashMap<ActorId, Py<PyInbox>>>,
}

impl PyInboxSet {
    fn inboxes(&self) -> MutexGuard<'_, HashMap<ActorId, Py<PyInbox>>> {
        lock(&self.inboxes)
    }

    /// Gives the calling thread the exclusive use of the set, and drops those of its inboxes that
    /// were closed.
    fn enter(&self, py: Python<'_>) -> PyResult<ExclusiveGuard<'_, InboxSet<Mail>>> {
        let mut entered = self.set.end.enter(py)?;
        self.set.drop_closed_inboxes(entered.get());
        self.drop_objects_of_closed_inboxes();
        Ok(entered)
    }

    /// Drops the Python objects of inboxes that were closed and have been removed from the set.
    fn drop_objects_of_closed_inboxes(&self) {
        let dropped = mem::take(&mut *lock(&self.set.dropped));
        // WHY the lock is released first: the drop may run Python code.
        let take = |id| self.inboxes().remove(id);
        let kept: Vec<_> = dropped.iter().filter_map(take).collect();
        drop(kept);
    }
}

/// The part of a set of inboxes that its inboxes refer to. Through it, an inbox that is closed
/// leaves the set.
#[derive(Debug)]
pub(crate) struct SharedInboxSet {
    pub(crate) end: Exclusive<InboxSet<Mail>>,
    /// The inboxes that were closed but are still in the set.
    closed: Mutex<Vec<ActorId>>,
    /// The inboxes that were closed and have been removed from the set. The set still has
    /// references to their Python objects.
    dropped: Mutex<Vec<ActorId>>,
}

impl SharedInboxSet {
    /// Removes a closed inbox from the set: at once or, if a thread is waiting for the set, as soon
    /// as that thread notices.
    pub(crate) fn close_inbox(&self, py: Python<'_>, id: ActorId) {
        lock(&self.closed).push(id);
        // WHY ignored: another thread uses the set and drops the inbox, or the set has gone.
        if let Ok(mut entered) = self.end.enter(py) {
            self.drop_closed_inboxes(entered.get());
        }
    }

    /// Drops those inboxes in `set` that were closed. Does not need the GIL.
    fn drop_closed_inboxes(&self, set: &mut InboxSet<Mail>) {
        let mut closed = mem::take(&mut *lock(&self.closed));
        for id in &closed {
            drop(set.remove(*id));
        }
        lock(&self.dropped).append(&mut closed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl PyInboxSet {
    #[new]
    fn new() -> Self {
        Self {
            set: Arc::new(SharedInboxSet {
                end: Exclusive::new("the inbox set", InboxSet::new()),
                closed: Mutex::default(),
                dropped: Mutex::default(),
            }),
            inboxes: Mutex::default(),
        }
    }

    /// Adds an inbox, with the mail that it has.
    fn add(&self, py: Python<'_>, inbox: &Bound<'_, PyInbox>) -> PyResult<()> {
        let mut set = self.enter(py)?;
        let mut entered = inbox.get().end.enter(py)?;
        let held = entered.get();
        match mem::replace(held, InboxLocation::Moving) {
            InboxLocation::Alone(own) => {
                let id = set.get().add(own);
                *held = InboxLocation::InSet(Arc::clone(&self.set), id);
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
        let mut set = self.enter(py)?;
        let mut entered = inbox.get().end.enter(py)?;
        let held = entered.get();
        let id = match held {
            InboxLocation::InSet(other, id) if Arc::ptr_eq(other, &self.set) => *id,
            _ => return Ok(false),
        };
        let Some(own) = set.get().remove(id) else {
            return Ok(false);
        };
        *held = InboxLocation::Alone(own);
        let kept = self.inboxes().remove(&id);
        drop(kept);
        Ok(true)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.enter(py)?.get().len())
    }

    /// Returns all inboxes that have mail. If none has, waits at most `timeout` seconds for one,
    /// and returns an empty list after that time. An inbox whose mail was not received is returned
    /// again by the next call; an inbox that will get no more mail is returned once. Raises
    /// `InHandlerError` if it would have to wait in a handler.
    #[pyo3(signature = (timeout = None))]
    fn wait(
        &self,
        py: Python<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Py<PyInbox>>> {
        let wait_policy = timeout.map_or(Ok(WaitPolicy::unlimited()), WaitPolicy::from_timeout)?;
        let must_not_wait = is_worker() && !wait_policy.is_over();
        let mut entered = self.enter(py)?;
        let set = entered.get();
        let wait = |slice| {
            self.set.drop_closed_inboxes(set);
            Some(set.wait(slice)).filter(|ready| !ready.is_empty())
        };
        let ready = wait_policy.wait(py, wait, || {
            self.drop_objects_of_closed_inboxes();
            // WHY: the set does not wait there, so this would go on at once.
            if must_not_wait {
                return Err(from_recv_error(RecvTimeoutError::InHandler));
            }
            self.set.end.check_open()
        })?;
        let inboxes = self.inboxes();
        let ready = ready.unwrap_or_default();
        let found = ready.iter().filter_map(|id| inboxes.get(id));
        Ok(found.map(|inbox| inbox.clone_ref(py)).collect())
    }
}
