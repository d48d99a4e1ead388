//! The Python exceptions of actors, and the conversion of errors of `horus_core` to them.

use horus_core::actor::{
    AskError, RecvTimeoutError, SendTimeoutError, SpawnError, SwapError, TellAllError, TrySendError,
};
use pyo3::create_exception;
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;

use crate::actor::behaviour::ActorFailure;
use crate::error::{Error, ForkedError, FullError};

create_exception!(
    horus,
    DisconnectedError,
    Error,
    "The actor has ended, or nobody can send to the inbox any more."
);
create_exception!(
    horus,
    NoAnswerError,
    Error,
    "The question was dropped without an answer."
);
create_exception!(
    horus,
    InHandlerError,
    Error,
    "An actor must not wait: the one for which it waits may need its thread."
);

/// Registers the exceptions of this file in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("DisconnectedError", py.get_type::<DisconnectedError>())?;
    module.add("NoAnswerError", py.get_type::<NoAnswerError>())?;
    module.add("InHandlerError", py.get_type::<InHandlerError>())
}

/// Returns the Python exception for a message that was not sent.
#[cold]
pub(crate) fn from_tell_error<M>(error: &TrySendError<M>) -> PyErr {
    match error {
        TrySendError::Full(_) => FullError::new_err(error.to_string()),
        TrySendError::Disconnected(_) => DisconnectedError::new_err(error.to_string()),
    }
}

/// Returns the Python exception for a message that was not sent within its time limit.
#[cold]
pub(crate) fn from_tell_timeout_error<M>(error: &SendTimeoutError<M>) -> PyErr {
    let text = error.to_string();
    match error {
        SendTimeoutError::Disconnected(_) => DisconnectedError::new_err(text),
        SendTimeoutError::InHandler(_) => InHandlerError::new_err(text),
        _ => FullError::new_err(text),
    }
}

/// Returns the Python exception for a list of messages that was not sent.
#[cold]
pub(crate) fn from_tell_all_error<M>(error: &TellAllError<M>) -> PyErr {
    match error {
        TellAllError::Disconnected(_) => DisconnectedError::new_err(error.to_string()),
        _ => FullError::new_err(error.to_string()),
    }
}

/// Returns the Python exception for a question that was not answered.
#[cold]
pub(crate) fn from_ask_error(error: AskError) -> PyErr {
    let text = error.to_string();
    match error {
        AskError::Full => FullError::new_err(text),
        AskError::Disconnected => DisconnectedError::new_err(text),
        AskError::Timeout => PyTimeoutError::new_err(text),
        AskError::InHandler => InHandlerError::new_err(text),
        _ => NoAnswerError::new_err(text),
    }
}

/// Returns the Python exception for an inbox from which no message was received.
#[cold]
pub(crate) fn from_recv_error(error: RecvTimeoutError) -> PyErr {
    match error {
        RecvTimeoutError::InHandler => InHandlerError::new_err(error.to_string()),
        _ => DisconnectedError::new_err(error.to_string()),
    }
}

/// Returns the Python exception for a handler that was not replaced.
#[cold]
pub(crate) fn from_swap_error(error: SwapError) -> PyErr {
    match error {
        SwapError::Full => FullError::new_err(error.to_string()),
        _ => DisconnectedError::new_err(error.to_string()),
    }
}

/// Returns the Python exception for an actor that was not spawned. If the actor's `init` has raised
/// an exception, returns that exception.
#[cold]
pub(crate) fn from_spawn_error(py: Python<'_>, error: &SpawnError) -> PyErr {
    let text = error.to_string();
    match error {
        SpawnError::Init { cause, .. } => match cause.downcast_ref::<ActorFailure>() {
            Some(failure) => failure.error.clone_ref(py),
            None => Error::new_err(text),
        },
        SpawnError::Forked { .. } => ForkedError::new_err(text),
        _ => DisconnectedError::new_err(text),
    }
}
