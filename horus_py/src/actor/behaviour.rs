//! Actors whose handlers are Python objects.

use std::fmt;
use std::sync::Arc;

use horus_core::actor::{Actor, Context, Down, DownReason};
use horus_core::scheduler::{FailurePolicy, NodeError, NodeResult};
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString, PyType};

use crate::actor::burst::try_call_attached;
use crate::actor::context::{PyDown, call_handler};
use crate::actor::mail::Mail;
use crate::actor::question::PyQuestion;
use crate::call::check_no_coroutine_or_generator;
use crate::error::{self, Error};
use crate::scheduler::node::{describe_exception, interpreter_ended_error};
use crate::scheduler::own_calls::SchedulerCallGuard;
use crate::scheduler::run_exceptions::RunExceptions;

/// The bit in Python's `co_flags` that marks the code object of an `async def`.
const CO_COROUTINE: u32 = 0x80;

/// The bits in Python's `co_flags` that mark the code objects of generators and asynchronous
/// generators.
const CO_GENERATORS: u32 = 0x20 | 0x200;

/// A Python exception that a handler raised, as the error that an actor returns to the core
/// library.
#[derive(Debug)]
pub(crate) struct ActorFailure {
    text: String,
    pub(crate) error: PyErr,
}

impl fmt::Display for ActorFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ActorFailure {}

/// The data that is needed to report the failures of a group's actors: the name of the group, and
/// the object that passes a failure on to the caller of the run.
#[derive(Debug)]
pub(crate) struct GroupFailureReporting {
    pub(crate) name: String,
    pub(crate) run_exceptions: Arc<RunExceptions>,
}

impl GroupFailureReporting {
    /// Stops the run if `error` is `KeyboardInterrupt` or `SystemExit`, which concern the program
    /// and are no failures of an actor. Returns any other exception.
    #[cold]
    fn stop_run_if_program_ends(&self, py: Python<'_>, error: PyErr) -> Option<PyErr> {
        let is_end = error.is_instance_of::<PyKeyboardInterrupt>(py)
            || error.is_instance_of::<PySystemExit>(py);
        if !is_end {
            return Some(error);
        }
        self.run_exceptions.stop_run_with_exception(error);
        None
    }
}

/// The settings of an actor apart from its handler object, such as its name.
#[derive(Debug)]
pub(crate) struct ActorSpec {
    pub(crate) group: Arc<GroupFailureReporting>,
    pub(crate) name: Option<Py<PyString>>,
    /// The maximum number of messages that the handler gets at once, in a list. `None` if the
    /// handler gets single messages.
    pub(crate) batch: Option<usize>,
    /// The policy that decides what follows a failure of the actor; `None` if the caller set no
    /// policy.
    pub(crate) policy: Option<FailurePolicy>,
}

impl ActorSpec {
    /// Returns settings without a name, a batch size and a failure policy.
    pub(crate) const fn unnamed(group: Arc<GroupFailureReporting>) -> Self {
        Self {
            group,
            name: None,
            batch: None,
            policy: None,
        }
    }

    /// Returns settings with the name `name`, for an actor that was found by that name. They have
    /// no batch size and no failure policy.
    pub(crate) fn with_name(&self, name: &Bound<'_, PyString>) -> Self {
        Self {
            name: Some(name.clone().unbind()),
            ..ActorSpec::unnamed(Arc::clone(&self.group))
        }
    }

    /// Puts the name of the actor, and of its group, in front of the text of `error`.
    #[cold]
    pub(crate) fn add_actor_name_to_error(&self, py: Python<'_>, error: &PyErr) -> PyErr {
        let group = &self.group.name;
        let place = match &self.name {
            Some(name) => format!("actor '{}' of group '{group}'", name.bind(py)),
            None => format!("an actor without a name of group '{group}'"),
        };
        error::prefix_error_text(py, &place, error)
    }

    /// Returns a copy of these settings with a different `batch`, for a handler that replaces the
    /// present one.
    pub(crate) fn with_batch(&self, py: Python<'_>, batch: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            group: Arc::clone(&self.group),
            name: self.name.as_ref().map(|name| name.clone_ref(py)),
            batch,
            policy: self.policy,
        })
    }
}

/// An actor whose handler is a Python object. WHY boxed: the core stores an actor of this size
/// directly in its memory for the actor, without an allocation.
#[derive(Debug)]
pub(crate) struct PythonActor(Box<PythonActorState>);

#[derive(Debug)]
struct PythonActorState {
    /// The callable that handles messages; `None` if the handler could not be re-created.
    handle: Option<Py<PyAny>>,
    hooks: Option<Box<Hooks>>,
    spec: Arc<ActorSpec>,
    /// Messages that are collected for the next call of the handler, which gets them as a list.
    /// Empty if the actor has no batch size.
    waiting: Vec<Py<PyAny>>,
    /// The error that occurred when the handler was re-created after a failure; `init` returns it.
    /// `None` if there was no error, or an exception that ends the program.
    factory_error: Option<NodeError>,
    /// True if the caller of `spawn` gets the exception of `init`.
    is_init_exception_for_spawner: bool,
}

/// The optional methods of a handler. WHY a separate struct: few handlers have any of them.
#[derive(Debug)]
struct Hooks {
    init: Option<Py<PyAny>>,
    shutdown: Option<Py<PyAny>>,
    on_down: Option<Py<PyAny>>,
    on_error: Option<Py<PyAny>>,
}

impl Hooks {
    fn of_handler(handler: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = handler.py();
        let hook = |name: &Bound<'_, PyString>| {
            let Some(hook) = handler.getattr_opt(name)? else {
                return Ok(None);
            };
            check_is_plain_function(&hook, || format!("{name} of the handler"))?;
            PyResult::Ok(Some(hook.unbind()))
        };
        Ok(Self {
            init: hook(intern!(py, "init"))?,
            shutdown: hook(intern!(py, "shutdown"))?,
            on_down: hook(intern!(py, "on_down"))?,
            on_error: hook(intern!(py, "on_error"))?,
        })
    }
}

impl PythonActor {
    /// Makes an actor whose handler is a callable, or an object with a method `handle`.
    pub(crate) fn new(handler: &Bound<'_, PyAny>, spec: Arc<ActorSpec>) -> PyResult<Self> {
        // WHY: a look for an attribute that is not there costs as much as the rest.
        let method = if is_function(handler)? {
            None
        } else {
            handler.getattr_opt(intern!(handler.py(), "handle"))?
        };
        let hooks = match method {
            Some(_) => Some(Box::new(Hooks::of_handler(handler)?)),
            None => None,
        };
        let handle = method.unwrap_or_else(|| handler.clone());
        if !handle.is_callable() {
            let text = format!(
                "the handler is {}: give a callable of (message, context), or an object with \
                 handle(message, context)",
                handler.repr()?
            );
            return Err(PyTypeError::new_err(text));
        }
        check_is_plain_function(&handle, || "the handler".to_owned())?;
        Ok(Self(Box::new(PythonActorState {
            handle: Some(handle.unbind()),
            hooks,
            spec,
            waiting: Vec::new(),
            factory_error: None,
            is_init_exception_for_spawner: false,
        })))
    }

    /// Declares that the caller of `spawn` gets the exception of `init`.
    pub(crate) fn report_init_exception_to_spawner(mut self) -> Self {
        self.0.is_init_exception_for_spawner = true;
        self
    }

    /// Calls `make`, which is a class or another callable, and makes an actor with the handler that
    /// it returns.
    pub(crate) fn from_factory(make: &Bound<'_, PyAny>, spec: Arc<ActorSpec>) -> PyResult<Self> {
        Self::new(&make.call0()?, spec)
    }

    /// Makes an actor as [`Self::from_factory`] does. If that raises an exception, makes an actor
    /// whose `init` fails with this exception. `KeyboardInterrupt` and `SystemExit` are no
    /// failures: they stop the run, and the actor ends in its `init` without an error.
    pub(crate) fn from_factory_or_failure(make: &Py<PyAny>, spec: &Arc<ActorSpec>) -> Self {
        let made = try_call_attached(|py| {
            Self::from_factory(make.bind(py), Arc::clone(spec)).map_err(|error| {
                let error = spec.group.stop_run_if_program_ends(py, error)?;
                Some(actor_failure(py, error))
            })
        });
        let factory_error = match made {
            Some(Ok(made)) => return made,
            Some(Err(failure)) => failure.map(NodeError::from),
            None => Some(interpreter_ended_error()),
        };
        Self(Box::new(PythonActorState {
            handle: None,
            hooks: None,
            spec: Arc::clone(spec),
            waiting: Vec::new(),
            factory_error,
            is_init_exception_for_spawner: false,
        }))
    }
}

impl PythonActorState {
    fn hook(&self, choose: impl FnOnce(&Hooks) -> &Option<Py<PyAny>>) -> Option<&Py<PyAny>> {
        choose(self.hooks.as_deref()?).as_ref()
    }

    /// Calls `hook` with `argument`, if there is one, and the context. Returns the result of the
    /// hook, and `question` if the hook has not answered it.
    fn call_handler<'py>(
        &self,
        hook: &Bound<'py, PyAny>,
        argument: Option<&Bound<'py, PyAny>>,
        question: Option<Bound<'py, PyQuestion>>,
        context: &mut Context<'_, PythonActor>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyQuestion>>)> {
        let _own_call = SchedulerCallGuard::enter(&self.spec.group.run_exceptions);
        call_handler(hook, argument, question, &self.spec, context)
    }

    fn handle_message(
        &self,
        message: Py<PyAny>,
        context: &mut Context<'_, PythonActor>,
    ) -> NodeResult {
        let Some(handle) = &self.handle else {
            return Err(interpreter_ended_error());
        };
        let outcome = try_call_attached(|py| {
            let message = message.into_bound(py);
            let handled = match message.cast_exact::<PyQuestion>() {
                Err(_) => self.call_handler(handle.bind(py), Some(&message), None, context),
                Ok(question) => {
                    let asked = question.get().message.bind(py);
                    self.call_handler(
                        handle.bind(py),
                        Some(asked),
                        Some(question.clone()),
                        context,
                    )
                }
            };
            match handled {
                Ok((value, Some(question))) => {
                    // WHY ignored: another thread has answered, which the handler gave it to.
                    let _ = question.get().try_answer(value.unbind());
                    Ok(())
                }
                Ok(_) => Ok(()),
                Err(error) => self.handle_exception(py, error),
            }
        });
        outcome.unwrap_or_else(|| Err(interpreter_ended_error()))
    }

    /// Calls the handler with a list of all messages in `waiting`. Does nothing if there are none.
    fn handle_waiting_messages(&mut self, context: &mut Context<'_, PythonActor>) -> NodeResult {
        let waiting = std::mem::take(&mut self.waiting);
        let Some(handle) = self.handle.as_ref().filter(|_| !waiting.is_empty()) else {
            return Ok(());
        };
        let outcome = try_call_attached(|py| {
            let list = match PyList::new(py, waiting) {
                Ok(list) => list.into_any(),
                Err(error) => return self.handle_exception(py, error),
            };
            match self.call_handler(handle.bind(py), Some(&list), None, context) {
                Ok(_) => Ok(()),
                Err(error) => self.handle_exception(py, error),
            }
        });
        outcome.unwrap_or_else(|| Err(interpreter_ended_error()))
    }

    /// Converts an exception of a handler to an error of the actor. `KeyboardInterrupt` and
    /// `SystemExit` are not errors of the actor: they stop the run, and this returns success.
    #[cold]
    fn handle_exception(&self, py: Python<'_>, error: PyErr) -> NodeResult {
        let group = &self.spec.group;
        let Some(error) = group.stop_run_if_program_ends(py, error) else {
            return Ok(());
        };
        let failure = actor_failure(py, error);
        if self.spec.policy == Some(FailurePolicy::Fatal) {
            let kept = (failure.text.clone(), failure.error.clone_ref(py));
            group.run_exceptions.record_failure(&group.name, Some(kept));
        }
        Err(failure.into())
    }
}

fn actor_failure(py: Python<'_>, error: PyErr) -> ActorFailure {
    // WHY: before 3.12, the exception object gets its traceback only by `into_value`.
    let error = PyErr::from_value(error.into_value(py).into_bound(py).into_any());
    ActorFailure {
        text: describe_exception(py, &error),
        error,
    }
}

/// The Python classes `types.FunctionType` and `types.MethodType`, to which functions and bound
/// methods belong. They are looked up once and then kept.
static PYTHON_FUNCTION_CLASSES: PyOnceLock<[Py<PyType>; 2]> = PyOnceLock::new();

/// Returns true if `handler` is a Python function or a bound method.
fn is_function(handler: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = handler.py();
    let functions = PYTHON_FUNCTION_CLASSES.get_or_try_init(py, || {
        let types = py.import("types")?;
        let class = |name| PyResult::Ok(types.getattr(name)?.cast_into::<PyType>()?.unbind());
        PyResult::Ok([class("FunctionType")?, class("MethodType")?])
    })?;
    let class = handler.get_type();
    Ok(functions.iter().any(|function| class.is(function)))
}

/// Returns an error if a call of `call` would only make a coroutine or generator, of which nothing
/// would ever run. `describe` returns the name of `call` for the error.
fn check_is_plain_function(
    call: &Bound<'_, PyAny>,
    describe: impl FnOnce() -> String,
) -> PyResult<()> {
    let py = call.py();
    let (is_async, is_generator) = match call.getattr_opt(intern!(py, "__code__"))? {
        Some(code) => {
            let flags: u32 = code.getattr(intern!(py, "co_flags"))?.extract()?;
            (flags & CO_COROUTINE != 0, flags & CO_GENERATORS != 0)
        }
        None => {
            let module = py.import("horus._node")?;
            let is = |check| module.getattr(check)?.call1((call,))?.is_truthy();
            (is("_is_async")?, is("_is_generator")?)
        }
    };
    let reason = if is_async {
        "asynchronous: an actor must not wait"
    } else if is_generator {
        "a generator function, whose body would never run: remove its yield"
    } else {
        return Ok(());
    };
    Err(PyTypeError::new_err(format!("{} is {reason}", describe())))
}

impl Actor for PythonActor {
    type Message = Mail;

    const IMPLEMENTS_END_BATCH: bool = true;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        let handlers = &mut *self.0;
        if handlers.handle.is_none() {
            return match handlers.factory_error.take() {
                Some(error) => Err(error),
                None => {
                    context.stop();
                    Ok(())
                }
            };
        }
        let Some(init) = handlers.hook(|hooks| &hooks.init) else {
            return Ok(());
        };
        let outcome = try_call_attached(|py| {
            let Err(error) = handlers.call_handler(init.bind(py), None, None, context) else {
                return Ok(());
            };
            let error = if handlers.is_init_exception_for_spawner {
                Some(error)
            } else {
                handlers.spec.group.stop_run_if_program_ends(py, error)
            };
            match error {
                Some(error) => Err(actor_failure(py, error).into()),
                None => {
                    context.stop();
                    Ok(())
                }
            }
        });
        outcome.unwrap_or_else(|| Err(interpreter_ended_error()))
    }

    #[inline]
    fn handle(&mut self, mail: Mail, context: &mut Context<'_, Self>) -> NodeResult {
        let handlers = &mut *self.0;
        let Some(message) = mail.into_message() else {
            return Ok(());
        };
        let Some(most) = handlers.spec.batch else {
            return handlers.handle_message(message, context);
        };
        handlers.waiting.push(message);
        if handlers.waiting.len() < most {
            return Ok(());
        }
        handlers.handle_waiting_messages(context)
    }

    #[inline]
    fn end_batch(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        if self.0.waiting.is_empty() {
            return Ok(());
        }
        self.0.handle_waiting_messages(context)
    }

    fn on_down(&mut self, down: &Down, context: &mut Context<'_, Self>) -> NodeResult {
        let handlers = &*self.0;
        let Some(on_down) = handlers.hook(|hooks| &hooks.on_down) else {
            return Ok(());
        };
        let outcome = try_call_attached(|py| {
            let error = match down.reason() {
                DownReason::Failed(error) => Some(error.clone()),
                _ => None,
            };
            let down = Bound::new(py, PyDown::new(down.id(), error));
            let called = down.and_then(|down| {
                handlers.call_handler(on_down.bind(py), Some(&down.into_any()), None, context)
            });
            match called {
                Ok(_) => Ok(()),
                Err(error) => handlers.handle_exception(py, error),
            }
        });
        outcome.unwrap_or_else(|| Err(interpreter_ended_error()))
    }

    fn shutdown(&mut self) -> NodeResult {
        let Some(shutdown) = self.0.hook(|hooks| &hooks.shutdown) else {
            return Ok(());
        };
        let group = &self.0.spec.group;
        let outcome = try_call_attached(|py| {
            let result = shutdown.bind(py).call0();
            let failed = result
                .and_then(|result| check_no_coroutine_or_generator(&result))
                .err();
            match failed.and_then(|error| group.stop_run_if_program_ends(py, error)) {
                Some(error) => Err(actor_failure(py, error).into()),
                None => Ok(()),
            }
        });
        outcome.unwrap_or_else(|| Err(interpreter_ended_error()))
    }

    fn on_error(&mut self, error: &NodeError) {
        let Some(on_error) = self.0.hook(|hooks| &hooks.on_error) else {
            return;
        };
        // WHY ignored: the interpreter has ended.
        let _ = try_call_attached(|py| {
            let failure = error.downcast_ref::<ActorFailure>();
            let error = failure.map_or_else(
                || Error::new_err(error.to_string()).into_value(py),
                |failure| failure.error.value(py).clone().unbind(),
            );
            let result = on_error.bind(py).call1((error,));
            if let Err(error) = result.and_then(|result| check_no_coroutine_or_generator(&result)) {
                error.write_unraisable(py, Some(on_error.bind(py)));
            }
        });
    }
}
