//! Python classes for groups of actors.

use std::sync::Arc;

use horus_core::actor::{ActorCounters, Actors, Address, FindError, MailboxKind, RegisterError};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::actor::address::{PyAddress, check_batch_size};
use crate::actor::behaviour::{ActorSpec, GroupFailureReporting, PythonActor};
use crate::actor::burst::run_actor_burst;
use crate::actor::error::from_spawn_error;
use crate::actor::inbox::PyInbox;
use crate::actor::mail::Mail;
use crate::error::Error;
use crate::scheduler::error::PlanError;
use crate::scheduler::py_scheduler::PyScheduler;
use crate::scheduler::python_calls::{check_not_forked, fork_generation};
use crate::scheduler::run_exceptions::result_of_with_block_exit;
use crate::scheduler::settings::parse_failure_policy;

/// A group of actors that a scheduler runs: the scheduler whose method `actors` made the group. A
/// group that was made by `Actors(…)` has a scheduler of its own, which starts at once.
#[pyclass(frozen, name = "Actors", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyActors {
    inner: Actors,
    /// The fork generation of the process that made the group.
    generation: usize,
    /// The settings that all actors without a name, batch size and failure policy share.
    spec: Arc<ActorSpec>,
    /// The scheduler that was started for this group alone; `None` if a different scheduler runs
    /// the group.
    own: Option<Py<PyScheduler>>,
}

impl PyActors {
    fn new_in_scheduler(
        scheduler: &Bound<'_, PyScheduler>,
        name: &str,
        threads: usize,
        mailbox: MailboxKind,
        order: i32,
    ) -> PyResult<Self> {
        let this = scheduler.get();
        let actors = this.configure(scheduler.py(), |scheduler| {
            let group = scheduler.actors(name).threads(threads).mailbox(mailbox);
            let built = group.order(order).wrap_handlers(run_actor_burst).build();
            built.map_err(|error| PlanError::new_err(error.to_string()))
        })?;
        let group = GroupFailureReporting {
            name: name.to_owned(),
            run_exceptions: Arc::clone(this.run_exceptions()),
        };
        Ok(Self {
            inner: actors,
            generation: fork_generation(),
            spec: Arc::new(ActorSpec::unnamed(Arc::new(group))),
            own: None,
        })
    }

    /// Returns the group. Raises `ForkedError` in a child process that inherited the group through
    /// `fork`.
    fn group_unless_forked(&self) -> PyResult<&Actors> {
        check_not_forked(self.generation, "the group of actors")?;
        Ok(&self.inner)
    }
}

/// The arguments of a Python call that spawns an actor.
struct SpawnArguments<'a, 'py> {
    mailbox: Option<&'a Bound<'py, PyAny>>,
    batch: Option<usize>,
    name: Option<&'a Bound<'py, PyString>>,
    failure_policy: Option<&'a Bound<'py, PyAny>>,
}

impl PyActors {
    /// Spawns an actor. If `is_factory` is false, `handler` is the actor's handler. If it is true,
    /// `handler` is a callable that returns the actor's handler.
    fn spawn_actor(
        &self,
        handler: &Bound<'_, PyAny>,
        is_factory: bool,
        arguments: &SpawnArguments<'_, '_>,
    ) -> PyResult<PyAddress> {
        let py = handler.py();
        let actors = self.group_unless_forked()?;
        let name = arguments.name.map(|name| name.to_str()).transpose()?;
        // WHY first: the handler may start timers and use devices in `init`, and an actor whose
        // caller gets an error must not run.
        if let Some(name) = name {
            check_name_is_free(actors, name)?;
        }
        let policy = arguments
            .failure_policy
            .map(parse_failure_policy)
            .transpose()?;
        let spec = match (arguments.batch, arguments.name, policy) {
            (None, None, None) => Arc::clone(&self.spec),
            (batch, name, policy) => Arc::new(ActorSpec {
                group: Arc::clone(&self.spec.group),
                name: name.map(|name| name.clone().unbind()),
                batch: check_batch_size(batch)?,
                policy,
            }),
        };
        let mut options = actors.options();
        if let Some(mailbox) = arguments.mailbox {
            options = options.mailbox(parse_mailbox(mailbox)?);
        }
        if let Some(policy) = policy {
            options = options.on_failure(policy);
        }
        let spawned = if is_factory {
            let first = PythonActor::from_factory(handler, Arc::clone(&spec))?;
            let mut first = Some(first.report_init_exception_to_spawner());
            let (make, spec) = (handler.clone().unbind(), Arc::clone(&spec));
            options.spawn_with(move || {
                first
                    .take()
                    .unwrap_or_else(|| PythonActor::from_factory_or_failure(&make, &spec))
            })
        } else {
            options.spawn(
                PythonActor::new(handler, Arc::clone(&spec))?.report_init_exception_to_spawner(),
            )
        };
        let address = spawned.map_err(|error| from_spawn_error(py, &error))?;
        if let Some(name) = name
            && let Err(error) = actors.register(name, &address)
        {
            // Another thread, or `init`, has taken the name meanwhile.
            address.request_end();
            return Err(name_taken_error(&error));
        }
        Ok(PyAddress::new(address, spec))
    }
}

/// Returns an error if a living actor or inbox of the group has the name.
fn check_name_is_free(actors: &Actors, name: &str) -> PyResult<()> {
    let found: Result<Address<Mail>, _> = actors.find(name);
    if found.is_err() {
        return Ok(());
    }
    let name = name.to_owned();
    Err(name_taken_error(&RegisterError { name }))
}

#[cold]
fn name_taken_error(error: &RegisterError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Converts the Python argument `mailbox`: a number, `'unbounded'` or `'latest'`.
fn parse_mailbox(mailbox: &Bound<'_, PyAny>) -> PyResult<MailboxKind> {
    if let Ok(text) = mailbox.cast::<PyString>() {
        return match text.to_str()? {
            "unbounded" => Ok(MailboxKind::unbounded()),
            "latest" => Ok(MailboxKind::latest()),
            other => {
                let text = format!("mailbox='{other}': give a number, 'unbounded' or 'latest'");
                Err(PyValueError::new_err(text))
            }
        };
    }
    let Ok(capacity) = mailbox.extract::<i64>() else {
        let found = mailbox.repr()?;
        let text = format!("mailbox={found}: give a number, 'unbounded' or 'latest'");
        return Err(PyTypeError::new_err(text));
    };
    match u16::try_from(capacity) {
        Ok(capacity) if (1..=MailboxKind::CAPACITY_MAX).contains(&capacity) => {
            Ok(MailboxKind::bounded(capacity))
        }
        _ => {
            let most = MailboxKind::CAPACITY_MAX;
            let text = format!("mailbox={capacity}: give 1 to {most}, or 'unbounded'");
            Err(PyValueError::new_err(text))
        }
    }
}

fn mailbox_or_default(mailbox: Option<&Bound<'_, PyAny>>) -> PyResult<MailboxKind> {
    mailbox.map_or_else(|| Ok(MailboxKind::default()), parse_mailbox)
}

#[pymethods]
impl PyActors {
    #[new]
    #[pyo3(signature = (name = "actors", *, threads = 1, mailbox = None))]
    fn new(
        py: Python<'_>,
        name: &str,
        threads: usize,
        mailbox: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if threads == 0 {
            let text = "threads=0: give at least 1, or use the actors of a Scheduler that you run";
            return Err(PyValueError::new_err(text));
        }
        let mailbox = mailbox_or_default(mailbox)?;
        let scheduler = PyScheduler::new(py, Some(name.to_owned()), None, None, None, false, None)?;
        let scheduler = Bound::new(py, scheduler)?;
        let actors = Self::new_in_scheduler(&scheduler, name, threads, mailbox, 0)?;
        PyScheduler::start(&scheduler)?;
        Ok(Self {
            own: Some(scheduler.unbind()),
            ..actors
        })
    }

    /// The name of the group.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Spawns an actor, and returns its address. Its handler is a callable of `(message, context)`,
    /// or an object with a method `handle(message, context)`, which may also have `init(context)`,
    /// `shutdown()`, `on_down(down, context)` and `on_error(exception)`. If `handler` is a class,
    /// it is called to make the handler, as `make` of `spawn_with`.
    ///
    /// With `batch`, the handler gets lists of up to `batch` messages. With `name`, the actor is
    /// also registered under that name; if another one has it, raises `ValueError`, and no actor
    /// is left. Without a `failure_policy`, an actor that fails ends.
    #[pyo3(signature = (
        handler, *, mailbox = None, batch = None, name = None, failure_policy = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn spawn(
        &self,
        handler: &Bound<'_, PyAny>,
        mailbox: Option<&Bound<'_, PyAny>>,
        batch: Option<usize>,
        name: Option<&Bound<'_, PyString>>,
        failure_policy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyAddress> {
        let arguments = SpawnArguments {
            mailbox,
            batch,
            name,
            failure_policy,
        };
        self.spawn_actor(handler, handler.is_instance_of::<PyType>(), &arguments)
    }

    /// Calls `make`, and spawns an actor with the handler that it returns; the other arguments are
    /// as for `spawn`. After a failure, calls `make` for a new handler: at most five times in a
    /// row, 100 ms after the first failure, and after twice the time each further time. Meanwhile
    /// messages wait in the mailbox.
    #[pyo3(signature = (
        make, *, mailbox = None, batch = None, name = None, failure_policy = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn spawn_with(
        &self,
        make: &Bound<'_, PyAny>,
        mailbox: Option<&Bound<'_, PyAny>>,
        batch: Option<usize>,
        name: Option<&Bound<'_, PyString>>,
        failure_policy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyAddress> {
        let arguments = SpawnArguments {
            mailbox,
            batch,
            name,
            failure_policy,
        };
        self.spawn_actor(make, true, &arguments)
    }

    /// Makes an inbox: messages that are sent to it wait for a thread that receives them. With
    /// `name`, the inbox is also registered under that name.
    #[pyo3(signature = (name = None, *, mailbox = None))]
    fn inbox(
        &self,
        py: Python<'_>,
        name: Option<&Bound<'_, PyString>>,
        mailbox: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyInbox>> {
        let actors = self.group_unless_forked()?;
        let (address, inbox) = actors
            .inbox(mailbox_or_default(mailbox)?)
            .map_err(|error| from_spawn_error(py, &error))?;
        let spec = match name {
            None => Arc::clone(&self.spec),
            Some(name) => {
                let registered = actors.register(name.to_str()?, &address);
                registered.map_err(|error| name_taken_error(&error))?;
                Arc::new(self.spec.with_name(name))
            }
        };
        let base = PyClassInitializer::from(PyAddress::new(address, spec));
        Py::new(py, base.add_subclass(PyInbox::new(inbox)))
    }

    /// Registers an actor or inbox under a name, and keeps it alive as long as it is registered.
    /// Raises `ValueError` if another actor or inbox has the name.
    fn register(&self, name: &str, address: &Bound<'_, PyAddress>) -> PyResult<()> {
        let registered = self
            .group_unless_forked()?
            .register(name, &address.get().address);
        registered.map_err(|error| name_taken_error(&error))
    }

    /// Removes a registered name; returns false if no actor or inbox had it.
    fn unregister(&self, name: &str) -> PyResult<bool> {
        Ok(self.group_unless_forked()?.unregister(name))
    }

    /// Returns the address of the actor or inbox that has this name. Raises `KeyError` if there is
    /// none.
    fn find(&self, name: &Bound<'_, PyString>) -> PyResult<PyAddress> {
        let found = self.group_unless_forked()?.find(name.to_str()?);
        let address = found.map_err(|error| match error {
            FindError::Unknown { .. } => PyKeyError::new_err(error.to_string()),
            _ => Error::new_err(error.to_string()),
        })?;
        Ok(PyAddress::new(address, Arc::new(self.spec.with_name(name))))
    }

    /// Returns the names that begin with `prefix`, sorted.
    #[pyo3(signature = (prefix = ""))]
    fn names(&self, prefix: &str) -> PyResult<Vec<String>> {
        Ok(self.group_unless_forked()?.names(prefix))
    }

    /// Returns the counters of the group.
    fn counters(&self) -> PyActorCounters {
        PyActorCounters(self.inner.counters())
    }

    /// Ends a group that has a scheduler of its own: its actors shut down, and mail that waits is
    /// dropped. Raises the error that made the run fail, if there is one. Other groups end with
    /// their scheduler. Does nothing in a child process that inherited the group through `fork`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end_own_scheduler(py, true)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let is_error = !exception.iter().all(|part| part.is_none());
        result_of_with_block_exit(py, exception, self.end_own_scheduler(py, !is_error))
    }

    fn __repr__(&self) -> String {
        let alive = self.inner.counters().alive;
        format!("<horus.Actors '{}' of {alive} actors>", self.inner.name())
    }
}

impl PyActors {
    /// Ends a group that has a scheduler of its own. Raises the failure of an actor only if
    /// `raise_failure` is true.
    fn end_own_scheduler(&self, py: Python<'_>, raise_failure: bool) -> PyResult<()> {
        match &self.own {
            Some(scheduler) => scheduler.get().end_run_of_with_block(py, raise_failure),
            None => Ok(()),
        }
    }
}

#[pymethods]
impl PyScheduler {
    /// Adds a group of actors whose handlers are Python objects. `threads` is the number of threads
    /// that run them; more than one helps only if handlers release the GIL. `mailbox` is the
    /// capacity of the mailboxes, `'unbounded'` or `'latest'`; by default it is 1024.
    #[pyo3(signature = (name, *, threads = 1, mailbox = None, order = 0))]
    fn actors(
        slf: &Bound<'_, Self>,
        name: &str,
        threads: usize,
        mailbox: Option<&Bound<'_, PyAny>>,
        order: i32,
    ) -> PyResult<PyActors> {
        PyActors::new_in_scheduler(slf, name, threads, mailbox_or_default(mailbox)?, order)
    }
}

/// Counters of a group of actors.
#[pyclass(frozen, name = "ActorCounters", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyActorCounters(ActorCounters);

#[pymethods]
impl PyActorCounters {
    /// Number of actors and inboxes that exist.
    #[getter]
    const fn alive(&self) -> u64 {
        self.0.alive
    }

    /// Number of messages that were handled, also those whose handler failed.
    #[getter]
    const fn handled(&self) -> u64 {
        self.0.handled
    }

    /// Number of calls of actors' handlers and hooks that failed.
    #[getter]
    const fn failures(&self) -> u64 {
        self.0.failures
    }

    /// Number of messages that were accepted, and dropped at the end of their actor.
    #[getter]
    const fn undelivered(&self) -> u64 {
        self.0.undelivered
    }

    fn __repr__(&self) -> String {
        let ActorCounters {
            alive,
            handled,
            failures,
            undelivered,
            ..
        } = self.0;
        format!(
            "<horus.ActorCounters alive={alive} handled={handled} failures={failures} \
             undelivered={undelivered}>"
        )
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyActors>()?;
    module.add_class::<PyActorCounters>()
}
