//! What a topic carries: how Python objects become bytes in a slot, and come out of them.

use std::sync::LazyLock;

use horus_core::topic::PayloadType;
use horus_core::value::Value;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::message::kind::{self, Kind};
use crate::msgpack::keys::Keys;
use crate::msgpack::pack::{Unpacked, pack};
use crate::msgpack::unpack::{Unread, unpack};

/// What a topic carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Codec {
    /// Messages of one class.
    Message(&'static Kind),
    /// Messages of one class that end in data.
    Framed(&'static Kind),
    /// Any mixture of dicts, lists, numbers, text, bytes and arrays, as MessagePack.
    Anything,
}

impl Codec {
    /// What a caller's `Type` argument asks for.
    pub(crate) fn of_argument(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(argument) = argument.filter(|argument| !argument.is_none()) else {
            return Ok(Self::Anything);
        };
        let kind = kind::of_argument(argument);
        let wanted = || {
            let text = format!(
                "{argument} is not a class of messages: use one of horus's, or @horus.message, or \
                 no type at all for dicts and the like"
            );
            PyTypeError::new_err(text)
        };
        let kind = kind.ok_or_else(wanted)?;
        Ok(if kind.framed.is_some() { Self::Framed(kind) } else { Self::Message(kind) })
    }

    /// The type that the topic compares.
    pub(crate) fn payload(&self) -> &PayloadType {
        static ANYTHING: LazyLock<PayloadType> = LazyLock::new(PayloadType::of::<Value>);
        match self {
            Self::Message(kind) | Self::Framed(kind) => &kind.payload,
            Self::Anything => &ANYTHING,
        }
    }
}

/// The bytes that a topic of anything carries for an object: for tests and tools.
#[pyfunction]
#[pyo3(signature = (object, /))]
pub(crate) fn _pack<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = vec![0; 4096];
    loop {
        match pack(object, &mut bytes) {
            Ok(length) => return Ok(PyBytes::new(object.py(), &bytes[..length])),
            Err(Unpacked::Python(error)) => return Err(error),
            Err(Unpacked::TooLong(length)) => bytes.resize(usize::try_from(length)?, 0),
        }
    }
}

/// How many layouts of dicts one subscriber makes for these messages: for tests.
#[pyfunction]
#[pyo3(signature = (messages, /))]
pub(crate) fn _layouts_made(py: Python<'_>, messages: Vec<Vec<u8>>) -> usize {
    let mut keys = Keys::default();
    for message in messages {
        let _object = unpack(py, &message, &mut keys);
    }
    keys.layouts_made
}

/// The object that a topic of anything makes of these bytes, after it has made some of others:
/// what it remembers of them must not show.
#[pyfunction]
#[pyo3(signature = (data, /, *, after = Vec::new()))]
pub(crate) fn _unpack<'py>(
    py: Python<'py>,
    data: &[u8],
    after: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut keys = Keys::default();
    for earlier in after {
        let _object = unpack(py, &earlier, &mut keys);
    }
    unpack(py, data, &mut keys).map_err(|error| match error {
        Unread::Malformed => PyValueError::new_err("not the MessagePack of anything Python has"),
        Unread::Python(error) => error,
    })
}
