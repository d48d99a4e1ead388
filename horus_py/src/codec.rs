//! What a topic carries: how Python objects become bytes in a slot, and come out of them.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use horus_core::topic::PayloadType;

use crate::kind::{self, Kind};

/// What a topic carries.
#[derive(Debug, Clone)]
pub(crate) enum Codec {
    /// Messages of one class.
    Message(&'static Kind),
}

impl Codec {
    /// What a caller's `Type` argument asks for.
    pub(crate) fn of_argument(argument: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kind = kind::of_argument(argument);
        let wanted = || {
            let text = format!(
                "{argument} is not a class of messages: use one of horus's, or @horus.message"
            );
            PyTypeError::new_err(text)
        };
        Ok(Self::Message(kind.ok_or_else(wanted)?))
    }

    /// The type that the topic compares.
    pub(crate) fn payload(&self) -> &PayloadType {
        match self {
            Self::Message(kind) => &kind.payload,
        }
    }
}
