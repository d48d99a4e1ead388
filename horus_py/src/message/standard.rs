//! The Python classes of the standard messages, and the conversion of such messages to Python
//! objects.

use horus_core::message::{FRAMED_KINDS, Message, STANDARD, standard_default};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::message::class::make_class;
use crate::message::instance;
use crate::message::kind::{self, MessageKind};

/// Registers the classes of all standard messages in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let classes = PyDict::new(py);
    for schema in STANDARD.iter().copied() {
        let framed = FRAMED_KINDS
            .iter()
            .find(|kind| kind.schema().name == schema.name);
        let kind = match (framed, standard_default(schema.name)) {
            (Some(framed), _) => MessageKind::framed(framed, framed.default_header()),
            (None, Some(default)) => MessageKind::new(schema, default)?,
            (None, None) => continue,
        };
        let kind = Box::leak(Box::new(kind));
        let class = make_class(py, kind, "horus", schema.doc)?;
        classes.set_item(schema.name, class)?;
    }
    module.add("_STANDARD", classes)
}

/// Returns a Python object with a copy of the standard message `message`.
pub(crate) fn python_message_of<'py, T: Message>(
    py: Python<'py>,
    message: &T,
) -> PyResult<Bound<'py, PyAny>> {
    let class = py
        .import("horus._horus")?
        .getattr("_STANDARD")?
        .get_item(T::SCHEMA.name)?;
    let wanted = || PyRuntimeError::new_err(format!("no class for {}", T::SCHEMA.name));
    let kind = kind::kind_of_argument(&class).ok_or_else(wanted)?;
    // SAFETY: a message is plain data without padding, and lives as long as the reference.
    let bytes =
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(message).cast(), size_of::<T>()) };
    instance::message_from_bytes(py, kind, bytes)
}
