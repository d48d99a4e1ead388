//! The command `horus topic find`: lists the topics that carry one message type.

use clap::Args;
use horus_core::introspect::{Inspector, topics};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::visible;

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
    if let Some(namespace) = context.open_existing_namespace()? {
        for name in topics(&namespace).map_err(|error| Failure::from_open_error(&error))? {
            // A topic that cannot be opened was removed meanwhile, or its type is unknown.
            let topic = Inspector::open_in(&namespace, &name);
            if topic.is_ok_and(|topic| topic.message_type() == arguments.message_type) {
                found.push(name);
            }
        }
    }
    if context.is_json() {
        let message_type = &arguments.message_type;
        let object = serde_json::json!({ "message_type": message_type, "topics": found });
        context.out.json(object)?;
        return if found.is_empty() {
            Err(Failure::check_answered_no())
        } else {
            Ok(())
        };
    }
    found.iter().try_for_each(|name| context.out.line(name))?;
    if found.is_empty() {
        let message_type = visible(&arguments.message_type);
        return Err(Failure::answer_no_because(format_args!(
            "no topic has messages of type {message_type}"
        )));
    }
    Ok(())
}
