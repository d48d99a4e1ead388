//! The times that `horus topic pub` writes into messages: into the field that the option `--now`
//! names, and into a field for the time of CLOCK_MONOTONIC.

use horus_core::message::{Layout, Primitive, monotonic_now_ns, timestamp_now_ns};
use horus_core::topic::{DynamicSchema, DynamicType};
use horus_core::value::Value;

use super::field::FieldPath;
use super::type_fields::{carried_type_text, fields_within, unknown_field_failure};
use crate::failure::Failure;

/// Name of the message field that gets the time of the send by CLOCK_REALTIME, unless the argument
/// VALUE sets the field or the option `--now` names another one.
const TIME_FIELD: &str = "timestamp_ns";

/// Name of the message field that gets the time of the send by CLOCK_MONOTONIC, unless the argument
/// VALUE sets the field.
const MONOTONIC_FIELD: &str = "monotonic_ns";

/// A clock that gives the time of a message.
#[derive(Debug, Clone, Copy)]
enum FieldClock {
    /// CLOCK_REALTIME: nanoseconds since 1970.
    Realtime,
    /// CLOCK_MONOTONIC.
    Monotonic,
}

impl FieldClock {
    fn now_ns(self) -> u64 {
        match self {
            Self::Realtime => timestamp_now_ns(),
            Self::Monotonic => monotonic_now_ns(),
        }
    }
}

/// The fields of messages that get the time of each message, and the clock of that time.
#[derive(Debug)]
pub(super) struct TimeFields(Vec<(String, FieldClock)>);

impl TimeFields {
    /// Returns the fields that get the time in messages of the type `kind` with the content
    /// `value`: those that `value` does not name. `now` is the field that the user named; `topic`
    /// is the topic of the messages, or `None` if the user named the type.
    ///
    /// # Errors
    ///
    /// The messages have no field `now` that holds a time.
    pub(super) fn new(
        now: Option<&FieldPath>,
        (topic, kind): (Option<&str>, &DynamicType),
        value: &Value,
    ) -> Result<Self, Failure> {
        if let Some(now) = now {
            check_time_field(topic, kind, now.text())?;
        }
        let named = now.map_or(TIME_FIELD, FieldPath::text);
        let stamps = [
            (named, FieldClock::Realtime),
            (MONOTONIC_FIELD, FieldClock::Monotonic),
        ];
        let is_stamped = |(field, _): &(&str, FieldClock)| {
            let path = FieldPath::parse(field);
            has_time_field(kind, field) && path.is_ok_and(|path| path.get(value).is_none())
        };
        let stamps = stamps.into_iter().filter(is_stamped);
        let stamps = stamps.map(|(field, clock)| (field.to_owned(), clock));
        Ok(Self(stamps.collect()))
    }

    /// Writes the current time into the fields of `message`, which has this layout.
    pub(super) fn write_current_time(&self, layout: &Layout, message: &mut [u8]) {
        for (field, clock) in &self.0 {
            // Cannot fail, as the field is there, and holds a number of 64 bits.
            let _ = layout.set(message, field, &clock.now_ns().into());
        }
    }
}

/// Returns true if messages of the type `kind` have a field at this path that is a single integer
/// of 64 bits.
fn has_time_field(kind: &DynamicType, path: &str) -> bool {
    let DynamicSchema::Plain { schema, .. } = kind.schema() else {
        return false;
    };
    let mut fields = schema.fields.iter();
    fields.any(|field| {
        let shape = &field.shape;
        let is_single = shape.count == 1 && shape.arrays.is_empty();
        let is_integer = matches!(shape.primitive, Primitive::U64 | Primitive::I64);
        field.path == path && is_integer && is_single
    })
}

/// Returns a failure if messages of the type `kind` have no field at this path that holds a time.
/// `topic` is the topic of the messages, or `None` if the user named the type.
fn check_time_field(topic: Option<&str>, kind: &DynamicType, path: &str) -> Result<(), Failure> {
    if has_time_field(kind, path) {
        return Ok(());
    }
    let what = carried_type_text(topic, kind);
    let which = if topic.is_some() { ", which" } else { "" };
    let DynamicSchema::Plain { schema, .. } = kind.schema() else {
        return Err(Failure::refused(format_args!(
            "{what}{which} has no fixed fields: write the time '{path}' into VALUE, without --now"
        )));
    };
    if schema.fields.iter().any(|field| field.path == path) {
        return Err(Failure::refused(format_args!(
            "{what}: the field '{path}' of --now is no u64 or i64, as a time in nanoseconds is"
        )));
    }
    let outer = path.rsplit_once('.').map_or("", |(outer, _)| outer);
    let names = fields_within(schema, outer);
    Err(unknown_field_failure(topic, kind, path, &names))
}
