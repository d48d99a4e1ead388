//! The command `horus topic type`: prints the name of a topic's message type.

use clap::Args;

use super::select::without_leading_slash;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::visible;

/// Print the message type of a topic
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the topic
    topic: String,
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = without_leading_slash(&arguments.topic);
    let namespace = context.open_namespace_of_topic(name)?;
    let topic = context.open_inspector(&namespace, name)?;
    let message_type = topic.message_type();
    if context.is_json() {
        let object = serde_json::json!({ "topic": name, "message_type": message_type });
        return context.out.write_json(object);
    }
    context.out.write_line(visible(message_type))
}
