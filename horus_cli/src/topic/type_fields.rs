//! Finds the fields of message types, for error texts about fields that do not exist.

use horus_core::message::ParsedSchema;
use horus_core::topic::DynamicType;

use crate::failure::Failure;

/// Returns a failure which says that the messages have no field `name`, and lists `fields`, the
/// fields that they have. The messages are those of `topic` or, if it is `None`, of a type that the
/// user named.
pub(super) fn unknown_field_failure(
    topic: Option<&str>,
    kind: &DynamicType,
    name: &str,
    fields: &[&str],
) -> Failure {
    let which = if topic.is_some() { ", which" } else { "" };
    Failure::refused(format_args!(
        "{}{which} has no field '{name}': {}",
        carried_type_text(topic, kind),
        fields.join(", ")
    ))
}

/// Returns the beginning of an error text about the messages of a topic, such as `cmd_vel carries
/// CmdVel`. If `topic` is `None`, returns only the name of the type.
pub(super) fn carried_type_text(topic: Option<&str>, kind: &DynamicType) -> String {
    match topic {
        Some(topic) => format!("{topic} carries {}", kind.name()),
        None => kind.name().to_owned(),
    }
}

/// Returns the names of the fields of a message type. If `path` is not empty, returns those of the
/// message at `path` inside it.
pub(super) fn fields_within<'a>(schema: &'a ParsedSchema, path: &str) -> Vec<&'a str> {
    let tail = schema.tail.iter().map(|tail| tail.name.as_str());
    let paths = schema.fields.iter().map(|field| field.path.as_str());
    let mut names: Vec<&str> = Vec::new();
    for found in paths.chain(tail) {
        let rest = match path {
            "" => Some(found),
            path => found
                .strip_prefix(path)
                .and_then(|rest| rest.strip_prefix('.')),
        };
        let name = rest.and_then(|rest| rest.split('.').next());
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}
