//! The command `horus msg diff`: shows the first difference between two message types.

use clap::Args;
use horus_core::message::{SchemaDifference, first_difference};

use super::source::{ImportOptions, TypeFinder};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::visible;

/// Compare two message types
///
/// Prints the first difference, and exits with 1 if there is one.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of a standard message, of a topic, or of a file
    #[arg(value_name = "A")]
    one: String,
    /// Name of the message to compare with, of a topic, or of a file
    #[arg(value_name = "B")]
    other: String,
    #[command(flatten)]
    import: ImportOptions,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut finder = TypeFinder::new(&arguments.import, context.deadline());
    let one = finder.find(&arguments.one, context)?.schema_text();
    let other = finder.find(&arguments.other, context)?.schema_text();
    finder.check_options_were_used()?;
    let difference = (one != other).then(|| {
        let names = [&arguments.one, &arguments.other].map(|name| visible(name));
        difference_text(&first_difference(&one, &other), &names)
    });
    if context.is_json() {
        let (a, b) = (&arguments.one, &arguments.other);
        context
            .out
            .write_json(serde_json::json!({ "a": a, "b": b, "difference": difference }))?;
    } else if let Some(difference) = &difference {
        context.out.write_line(difference)?;
        context.out.flush()?;
    } else {
        context.print_note("they are the same");
    }
    difference.map_or(Ok(()), |_| Err(Failure::answer_no()))
}

/// Returns a text about a difference between two message types with the names `one` and `other`.
/// WHY not the `Display` text of the difference: it calls the types "here" and "in the topic".
fn difference_text(difference: &SchemaDifference, [one, other]: &[String; 2]) -> String {
    match difference {
        SchemaDifference::UnreadableHere(error) => format!("in {one}: {error}"),
        SchemaDifference::UnreadableInTopic(error) => format!("in {other}: {error}"),
        SchemaDifference::Name { here, in_topic } => {
            format!("message '{here}' in {one}, '{in_topic}' in {other}")
        }
        SchemaDifference::Field {
            path,
            here,
            in_topic,
        } => format!("field '{path}': {here} in {one}, {in_topic} in {other}"),
        SchemaDifference::Renamed {
            here,
            in_topic,
            shape,
        } => format!("field '{here}' in {one} is '{in_topic}' in {other}, both {shape}"),
        SchemaDifference::MissingInTopic { path, here } => {
            format!("field '{path}': {here} in {one}, missing in {other}")
        }
        SchemaDifference::MissingHere { path, in_topic } => {
            format!("field '{path}': missing in {one}, {in_topic} in {other}")
        }
        SchemaDifference::Size { here, in_topic } => {
            format!("size: {here} bytes in {one}, {in_topic} in {other}")
        }
        SchemaDifference::Tail { here, in_topic } => {
            format!("after the fields: {here} in {one}, {in_topic} in {other}")
        }
        SchemaDifference::Align { here, in_topic } => {
            format!("alignment: {here} bytes in {one}, {in_topic} in {other}")
        }
        other => other.to_string(),
    }
}
