//! The command `horus msg show`: prints a message type as text or as source code.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use horus_core::message::{Schema, export};

use super::fields::{MessageFields, with_nested_messages};
use super::source::{FoundType, ImportOptions, TypeFinder};
use crate::context::Context;
use crate::failure::Failure;

/// Namespace in C++ that contains the generated declarations of imported messages, and prefix of
/// their names in C.
const IMPORTED_MESSAGES_NAMESPACE: &str = "messages";

/// Show a message type: its fields, or its declaration in a language
///
/// The fields have units and meanings if the type is a standard message, or comes
/// from a .msg file.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of a standard message, of a topic, or of a file
    #[arg(
        value_name = "TYPE",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    message_type: Option<String>,
    /// Language: c, cpp, python, rust, or text, which topics carry
    #[arg(
        long = "as",
        value_name = "LANGUAGE",
        default_value = "fields",
        hide_possible_values = true
    )]
    language: Language,
    /// File with a schema text, or a .msg file of ROS
    #[arg(long, value_name = "F")]
    file: Option<PathBuf>,
    #[command(flatten)]
    import: ImportOptions,
}

/// The forms in which a message type can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    Fields,
    Text,
    C,
    Cpp,
    Python,
    Rust,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut finder = TypeFinder::new(&arguments.import, context.deadline());
    let found = match (&arguments.file, &arguments.message_type) {
        (Some(file), _) => finder.read(file)?,
        (None, wanted) => finder.find(wanted.as_deref().unwrap_or_default(), context)?,
    };
    finder.check_options_were_used()?;
    let text = declaration_text(&found, arguments.language)?;
    if context.is_json() {
        let schema = found.schema_text();
        let name = Schema::parse(&schema)
            .map(|schema| schema.name)
            .unwrap_or_default();
        return context.out.write_json(serde_json::json!({
            "message_type": name, "schema": schema, "declaration": text,
            "messages": MessageFields::of(&found),
        }));
    }
    if arguments.language == Language::Fields {
        for (index, message) in MessageFields::of(&found).iter().enumerate() {
            if index > 0 {
                context.out.write_line("")?;
            }
            message.print(&mut context.out)?;
        }
        return Ok(());
    }
    context.out.write_bytes(text.as_bytes())
}

fn declaration_text(found: &FoundType, language: Language) -> Result<String, Failure> {
    // WHY also for the fields: in JSON, they are not the declaration.
    if matches!(language, Language::Fields | Language::Text) {
        return Ok(found.schema_text());
    }
    let cannot = |what: &str| {
        Failure::usage(format_args!(
            "{what} cannot be shown in this language: only standard messages and .msg files can"
        ))
    };
    match (found, language) {
        (FoundType::Standard(schema), Language::C) => Ok(export::c(&with_nested_messages(schema))),
        (FoundType::Standard(schema), Language::Cpp) => {
            Ok(export::cpp(&with_nested_messages(schema)))
        }
        (FoundType::Standard(schema), Language::Python) => {
            let name = schema.name;
            let stub = export::python(&with_nested_messages(schema));
            Ok(format!(
                "# Programs use horus.{name}, which this stub describes.\n{stub}"
            ))
        }
        (FoundType::Standard(schema), _) => Ok(export::rust_structs(&with_nested_messages(schema))),
        (FoundType::Imported(imported), Language::C) => Ok(imported.c(IMPORTED_MESSAGES_NAMESPACE)),
        (FoundType::Imported(imported), Language::Cpp) => {
            Ok(imported.cpp(IMPORTED_MESSAGES_NAMESPACE))
        }
        (FoundType::Imported(imported), Language::Python) => Ok(imported.python()),
        (FoundType::Imported(imported), _) => Ok(imported.rust()),
        (FoundType::Text(_), _) => Err(cannot("a schema text")),
    }
}
