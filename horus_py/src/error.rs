//! The Python exceptions, and the conversion of errors of `horus_core` to them.

use horus_core::message::{SchemaDifference, first_difference};
use horus_core::topic::{DynamicPublisher, DynamicSubscriber, MismatchedPublisher};
use horus_core::value::MSGPACK_SCHEMA;
use horus_core::{
    EndpointError, EndpointWaitError, LoanError, Mismatch, OpenError, PublishLentError, RecvError,
    SendError, TopicError,
};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyTimeoutError, PyValueError};
use pyo3::prelude::*;

create_exception!(horus, Error, PyException, "Every error of horus itself.");
create_exception!(horus, OpenTopicError, Error, "A topic could not be opened.");
create_exception!(
    horus,
    SchemaMismatchError,
    OpenTopicError,
    "The topic was created with another message, and the endpoint is strict."
);
create_exception!(
    horus,
    NamespaceError,
    Error,
    "A namespace could not be opened or removed."
);
create_exception!(horus, SendFailedError, Error, "A message was not sent.");
create_exception!(
    horus,
    FullError,
    SendFailedError,
    "A reliable subscriber is a whole lane behind, or a mailbox is full. Try again later."
);
create_exception!(
    horus,
    ForkedError,
    Error,
    "The handle was inherited through fork. Open a new one in the child."
);
create_exception!(
    horus,
    RegionLostError,
    Error,
    "The topic's memory is lost. Open it again."
);
create_exception!(
    horus,
    LaneNotMappedError,
    Error,
    "There is no memory to map a publisher's messages. Each call tries again."
);
create_exception!(
    horus,
    IncompatibleError,
    Error,
    "No live publisher sends this message with the reliability that the subscriber requests."
);
create_exception!(horus, ClosedError, Error, "The handle was closed.");
create_exception!(
    horus,
    BusyError,
    Error,
    "Another thread is using this end of the topic. Open one for each thread."
);

/// Registers the exceptions of this file in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("OpenTopicError", py.get_type::<OpenTopicError>())?;
    module.add("SchemaMismatchError", py.get_type::<SchemaMismatchError>())?;
    module.add("NamespaceError", py.get_type::<NamespaceError>())?;
    module.add("SendFailedError", py.get_type::<SendFailedError>())?;
    module.add("FullError", py.get_type::<FullError>())?;
    module.add("ForkedError", py.get_type::<ForkedError>())?;
    module.add("RegionLostError", py.get_type::<RegionLostError>())?;
    module.add("LaneNotMappedError", py.get_type::<LaneNotMappedError>())?;
    module.add("IncompatibleError", py.get_type::<IncompatibleError>())?;
    module.add("ClosedError", py.get_type::<ClosedError>())?;
    module.add("BusyError", py.get_type::<BusyError>())
}

/// Returns the exception with `place` and a colon in front of its text. If an exception of this
/// class cannot be made from a text alone, returns the exception unchanged.
#[cold]
pub(crate) fn prefix_error_text(py: Python<'_>, place: &str, error: &PyErr) -> PyErr {
    let text = format!("{place}: {}", error.value(py));
    let Ok(named) = error.get_type(py).call1((text,)) else {
        return error.clone_ref(py);
    };
    let named = PyErr::from_value(named);
    named.set_traceback(py, error.traceback(py));
    named
}

/// Adds the name of the topic to the error of an object that cannot be sent. An exception that was
/// raised by the Python code of that object is returned unchanged.
#[cold]
pub(crate) fn add_topic_name_to_error(py: Python<'_>, topic: &str, error: PyErr) -> PyErr {
    match error.traceback(py) {
        Some(_) => error,
        None => prefix_error_text(py, &format!("topic '{topic}'"), &error),
    }
}

/// Returns the Python exception for a topic that could not be opened.
#[cold]
pub(crate) fn from_topic_error(error: &TopicError) -> PyErr {
    let text = error.to_string();
    match (error, error.as_open_error()) {
        (TopicError::SchemaMismatch { .. }, _) => SchemaMismatchError::new_err(text),
        (_, Some(OpenError::Namespace(_))) => NamespaceError::new_err(text),
        (_, Some(OpenError::Forked)) => ForkedError::new_err(text),
        (_, Some(OpenError::RegionLost { .. })) => RegionLostError::new_err(text),
        _ => OpenTopicError::new_err(text),
    }
}

/// Returns the Python exception for a message that was not sent.
#[cold]
pub(crate) fn from_send_error(error: &SendError<()>) -> PyErr {
    let text = error.to_string();
    match error {
        SendError::Full { .. } => FullError::new_err(text),
        SendError::Forked { .. } => ForkedError::new_err(text),
        SendError::RegionLost { .. } => RegionLostError::new_err(text),
        _ => SendFailedError::new_err(text),
    }
}

/// Returns the exception for a message that `end` did not send. If no slot is free, it names the
/// process whose subscriber is slowest.
#[cold]
pub(crate) fn from_publisher_send_error(end: &DynamicPublisher, error: &SendError<()>) -> PyErr {
    match error {
        SendError::Full { .. } => topic_full_error(end),
        error => from_send_error(error),
    }
}

/// Returns the exception for a slot that `end` did not loan. If no slot is free, it names the
/// process whose subscriber is slowest.
#[cold]
pub(crate) fn from_publisher_loan_error(end: &DynamicPublisher, error: &LoanError) -> PyErr {
    match error {
        LoanError::Full { .. } => topic_full_error(end),
        error => from_loan_error(error),
    }
}

/// Returns the exception for a message that was not sent because no slot is free. It names the
/// process whose subscriber is slowest.
#[cold]
pub(crate) fn topic_full_error(end: &DynamicPublisher) -> PyErr {
    let topic = end.label();
    match end.slowest_subscriber().and_then(|reader| reader.process) {
        Some(process) => FullError::new_err(format!(
            "{topic}: {process} reads reliably and is a whole lane behind: try again, or detach \
             stalled readers"
        )),
        None => from_send_error(&SendError::Full { topic, message: () }),
    }
}

/// Returns the Python exception for a slot that could not be loaned.
#[cold]
pub(crate) fn from_loan_error(error: &LoanError) -> PyErr {
    let text = error.to_string();
    match error {
        LoanError::Full { .. } => FullError::new_err(text),
        LoanError::Forked { .. } => ForkedError::new_err(text),
        LoanError::RegionLost { .. } => RegionLostError::new_err(text),
        _ => SendFailedError::new_err(text),
    }
}

/// Returns the Python exception for a message on loan that could not be published.
#[cold]
pub(crate) fn from_publish_error(error: &PublishLentError) -> PyErr {
    match error {
        PublishLentError::Send(error) => from_send_error(error),
        PublishLentError::Loan(error) => from_loan_error(error),
        error => SendFailedError::new_err(error.to_string()),
    }
}

/// Converts the error of a subscriber that cannot receive from all of its publishers to a Python
/// exception. If the publishers do not match the subscriber, adds the process of one of them, and
/// the message types of both sides.
#[cold]
pub(crate) fn from_recv_error(end: &DynamicSubscriber, error: RecvError) -> PyErr {
    let text = match end.mismatched_publisher() {
        Some(found) => format!("{error} ({})", mismatch_text(&found)),
        None => error.to_string(),
    };
    match error {
        RecvError::RegionLost { .. } => RegionLostError::new_err(text),
        RecvError::LaneNotMapped { .. } => LaneNotMappedError::new_err(text),
        RecvError::Incompatible { .. } => IncompatibleError::new_err(text),
        RecvError::NamespaceRemoved { .. } => NamespaceError::new_err(text),
        RecvError::NameLost { .. } => OpenTopicError::new_err(text),
        _ => ForkedError::new_err(text),
    }
}

/// Returns a text that says what a publisher offers that does not match its subscriber.
fn mismatch_text(found: &MismatchedPublisher) -> String {
    let publisher = found.publisher.as_ref();
    let process = publisher.and_then(|publisher| publisher.process.as_ref());
    let process = process.map_or_else(|| "a publisher".to_owned(), ToString::to_string);
    let (offered, wanted) = (&found.offered, &found.wanted);
    if found.cause == Mismatch::Reliability {
        return format!("{process} offers best effort");
    }
    let class = |name: &str, schema: &str| match schema {
        MSGPACK_SCHEMA => "values of any kind, because it has no message class".to_owned(),
        _ => format!("'{name}'"),
    };
    let sends = class(&offered.name, &offered.schema);
    let reads = class(&wanted.name, &wanted.schema);
    let types = format!("{process} sends {sends}, this subscriber reads {reads}");
    match first_difference(&wanted.schema, &offered.schema) {
        SchemaDifference::Name { .. } => types,
        difference => format!("{types}: {difference}"),
    }
}

/// Returns the Python exception for a wait for publishers or subscribers that failed.
#[cold]
pub(crate) fn from_endpoint_wait_error(error: &EndpointWaitError) -> PyErr {
    let text = error.to_string();
    match error {
        EndpointWaitError::Timeout { .. } => PyTimeoutError::new_err(text),
        EndpointWaitError::TooMany { .. } => PyValueError::new_err(text),
        EndpointWaitError::Endpoint(EndpointError::RegionLost { .. }) => {
            RegionLostError::new_err(text)
        }
        _ => ForkedError::new_err(text),
    }
}
