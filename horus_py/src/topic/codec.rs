//! The codec of a topic: how Python objects are stored in its slots.

use std::sync::LazyLock;

use horus_core::topic::DynamicType;
use horus_core::value::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::message::kind::{self, MessageKind};

/// The way in which messages of a topic are converted from and to Python objects.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Codec {
    /// Messages of one Python class, without trailing data.
    Message(&'static MessageKind),
    /// Messages of one Python class with trailing data, such as images.
    Framed(&'static MessageKind),
    /// Values of any types: dicts, lists, numbers, text, bytes and arrays, encoded as MessagePack.
    Value,
}

impl Codec {
    /// Returns the codec that is selected by the argument `type` of a Python call.
    pub(crate) fn from_argument(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(argument) = argument.filter(|argument| !argument.is_none()) else {
            return Ok(Self::Value);
        };
        let kind = kind::kind_of_argument(argument);
        let wanted = || {
            let text = format!(
                "{argument} is not a class of messages: use one of horus's, or @horus.message, or \
                 no type at all for dicts and the like"
            );
            PyTypeError::new_err(text)
        };
        let kind = kind.ok_or_else(wanted)?;
        Ok(if kind.framed.is_some() {
            Self::Framed(kind)
        } else {
            Self::Message(kind)
        })
    }

    /// Returns the type of the topic's content. It must be the same for all publishers and
    /// subscribers of the topic.
    pub(crate) fn message_type(&self) -> &DynamicType {
        static VALUE_TYPE: LazyLock<DynamicType> = LazyLock::new(DynamicType::of::<Value>);
        match self {
            Self::Message(kind) | Self::Framed(kind) => &kind.payload,
            Self::Value => &VALUE_TYPE,
        }
    }
}
