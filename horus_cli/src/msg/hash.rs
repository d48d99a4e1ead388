//! The command `horus msg hash`: prints the hash of a message type, by which programs compare
//! types.

use clap::Args;
use horus_core::message::fnv1a_128;

use super::source::{ImportOptions, TypeFinder};
use crate::context::Context;
use crate::failure::Failure;

/// Print the hash by which programs compare a message type
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of a standard message, of a topic, or of a file
    #[arg(value_name = "TYPE")]
    message_type: String,
    #[command(flatten)]
    import: ImportOptions,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut finder = TypeFinder::new(&arguments.import, context.deadline());
    let text = finder.find(&arguments.message_type, context)?.schema_text();
    finder.check_options_were_used()?;
    let hash = format!("{:032x}", fnv1a_128(text.as_bytes()));
    if context.is_json() {
        let message_type = &arguments.message_type;
        let object = serde_json::json!({ "message_type": message_type, "schema_hash": hash });
        return context.out.write_json(object);
    }
    context.out.write_line(hash)
}
