//! The command `horus topic find`: lists the topics that carry one message type.

use std::collections::BTreeSet;

use clap::Args;
use horus_core::message::STANDARD;

use super::select::{is_internal_topic, topics_with_type};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::visible;
use crate::output::nearest;

/// Print the topics that carry a message type
///
/// The exit code is 1 if there is none.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the type, such as Imu
    #[arg(value_name = "TYPE")]
    message_type: String,
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut found = Vec::new();
    // The types of all topics but the library's own.
    let mut types = BTreeSet::new();
    if let Some(namespace) = context.open_existing_namespace()? {
        found = topics_with_type(&namespace, |topic, name| {
            if !is_internal_topic(topic) {
                types.insert(name.to_owned());
            }
            name == arguments.message_type
        })?;
    }
    if context.is_json() {
        let message_type = &arguments.message_type;
        let object = serde_json::json!({ "message_type": message_type, "topics": found });
        context.out.write_json(object)?;
        return if found.is_empty() {
            Err(Failure::answer_no())
        } else {
            Ok(())
        };
    }
    found
        .iter()
        .try_for_each(|name| context.out.write_line(name))?;
    if found.is_empty() {
        let message_type = visible(&arguments.message_type);
        let is_standard = |name: &str| STANDARD.iter().any(|schema| schema.name == name);
        // A standard type is not mistyped: there is just no topic of it.
        let near = if is_standard(&arguments.message_type) {
            String::new()
        } else {
            let types: Vec<String> = types.into_iter().collect();
            nearest::suggestion_text(&arguments.message_type, &types)
        };
        let stop = if near.is_empty() { "" } else { "." };
        return Err(Failure::answer_no_because(format_args!(
            "no topic has messages of type {message_type}{stop}{near}"
        )));
    }
    Ok(())
}
