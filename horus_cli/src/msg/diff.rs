//! The command `horus msg diff`: shows the first difference between two message types.

use clap::Args;
use horus_core::message::first_difference;

use super::source::FoundType;
use crate::context::Context;
use crate::failure::Failure;

/// Compare two message types
///
/// Prints the first difference, and exits with 1 if there is one. "Here" is the
/// first type, and "in the topic" the second.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of a standard message, of a topic, or of a file
    #[arg(value_name = "A")]
    one: String,
    /// The same
    #[arg(value_name = "B")]
    other: String,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let one = FoundType::find(&arguments.one, context)?.text();
    let other = FoundType::find(&arguments.other, context)?.text();
    let difference = (one != other).then(|| first_difference(&one, &other).to_string());
    if context.is_json() {
        let (a, b) = (&arguments.one, &arguments.other);
        context
            .out
            .json(serde_json::json!({ "a": a, "b": b, "difference": difference }))?;
    } else if let Some(difference) = &difference {
        context.out.line(difference)?;
        context.out.flush()?;
    } else {
        context.print_note("they are the same");
    }
    difference.map_or(Ok(()), |_| Err(Failure::check_answered_no()))
}
