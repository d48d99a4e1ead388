//! The options with which a C program opens an endpoint of a topic.

use std::ffi::c_char;

use horus_core::topic::{DynamicBuilder, DynamicSchema, DynamicType, Qos};

use crate::ffi::{self, NAME_BYTES_MAX, SizePrefixedStruct, TEXT_BYTES_MAX, invalid_argument};
use crate::namespace::{HorusNamespace, resolve_namespace};
use crate::qos::HorusQos;
use crate::status::Failure;

/// Kind of message type: the type that the topic has. The topic must exist.
pub const HORUS_TYPE_OF_TOPIC: i32 = 0;
/// Kind of message type: a message is any number of bytes, which the library does not interpret.
pub const HORUS_TYPE_BYTES: i32 = 1;
/// Kind of message type: the type that the text `schema` describes.
pub const HORUS_TYPE_SCHEMA: i32 = 2;

/// The C struct `horus_topic_options_t`, as `horus.h` declares it: the options for opening an
/// endpoint.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusTopicOptions {
    pub struct_bytes: u32,
    pub message_type: i32,
    pub schema: *const c_char,
    pub max_message_bytes: u64,
    pub name_space: HorusNamespace,
    pub qos: *const HorusQos,
    pub defaults: *const u8,
    pub latch_key: *const c_char,
}

// SAFETY: numbers and pointers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusTopicOptions {
    const FIRST_VERSION_BYTES: usize = 40;
}

/// Returns a builder for an endpoint of the topic. An error contains the name of the topic, unless
/// the name could not be read.
///
/// # Safety
///
/// The arguments are as `horus.h` requires for `horus_publisher_open`.
pub(crate) unsafe fn endpoint_builder(
    topic: *const c_char,
    options: *const HorusTopicOptions,
) -> Result<DynamicBuilder, Failure> {
    // SAFETY: the caller's contract: `topic` is null or a terminated text.
    let topic = unsafe { ffi::required_text(topic, "topic", NAME_BYTES_MAX) }?;
    // SAFETY: the caller's contract: `options` is as the header says.
    let builder = unsafe { apply_options(topic, options) };
    builder.map_err(|failure| failure.add_topic_name(topic))
}

/// Returns a builder for an endpoint of the topic `topic`, with `options` applied.
///
/// # Safety
///
/// `options` is null, or points to options that `horus.h` allows for `horus_publisher_open`.
unsafe fn apply_options(
    topic: &str,
    options: *const HorusTopicOptions,
) -> Result<DynamicBuilder, Failure> {
    // SAFETY: the caller's contract: `options` is null or readable for its `struct_bytes`.
    let Some(options) = (unsafe { HorusTopicOptions::read(options, "options") })? else {
        return Ok(DynamicBuilder::for_existing_topic(topic));
    };
    let builder = match options.message_type {
        HORUS_TYPE_OF_TOPIC => DynamicBuilder::for_existing_topic(topic),
        HORUS_TYPE_BYTES => DynamicType::bytes().builder(topic),
        HORUS_TYPE_SCHEMA => {
            // SAFETY: the caller's contract: `options.schema` is null or a terminated text.
            let text =
                unsafe { ffi::required_text(options.schema, "options->schema", TEXT_BYTES_MAX) }?;
            let message_type = DynamicType::parse(text)?;
            // SAFETY: the caller's contract: `options.defaults` is null, or has the fields of this
            // type.
            match unsafe { default_message(&message_type, options.defaults) } {
                Some(message) => message_type.builder(topic).defaults(message),
                None => message_type.builder(topic),
            }
        }
        other => {
            return Err(invalid_argument(format!(
                "options->message_type is {other}, not 0 to 2"
            )));
        }
    };
    // SAFETY: the caller's contract: `options.qos` is null or readable for its `struct_bytes`.
    let qos = match unsafe { HorusQos::read(options.qos, "options->qos") }? {
        Some(qos) => qos.to_qos()?,
        None => Qos::new(),
    };
    let key = "options->latch_key";
    // SAFETY: the caller's contract: `options.latch_key` is null or a terminated text.
    let key = unsafe { ffi::optional_text(options.latch_key, key, TEXT_BYTES_MAX) }?;
    let builder = builder.qos(key.map_or(qos, |key| qos.latch_key(key)));
    let builder = match ffi::count64_unless_default(options.max_message_bytes) {
        None => builder,
        Some(0) => {
            let text = "options->max_message_bytes is 0: wanted the length of a message";
            return Err(invalid_argument(text));
        }
        Some(bytes) => builder.max_message_bytes(bytes),
    };
    if options.name_space.id == 0 {
        return Ok(builder);
    }
    // SAFETY: the caller's contract: no other thread is in a call with the namespace.
    Ok(builder.namespace(&unsafe { resolve_namespace(options.name_space) }?))
}

/// Returns the message that holds the default values of the fields, which is the memory at
/// `defaults`. Returns `None` if `defaults` is null, or if the type has no fields.
///
/// # Safety
///
/// `defaults` is null or readable for the fields of `message_type`. The bytes do not change while
/// the returned slice is used.
unsafe fn default_message<'a>(message_type: &DynamicType, defaults: *const u8) -> Option<&'a [u8]> {
    match message_type.schema() {
        DynamicSchema::Plain { schema, .. } if !defaults.is_null() => {
            // SAFETY: readable for that many bytes by the contract.
            Some(unsafe { std::slice::from_raw_parts(defaults, schema.size) })
        }
        _ => None,
    }
}
