//! The command `horus msg show`: prints a message type as text or as source code.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use horus_core::message::{FieldKind, Schema, export};

use super::source::{FoundType, ImportOptions, TypeFinder};
use crate::context::Context;
use crate::failure::Failure;

/// C++ namespace that contains the generated declarations of imported messages.
const CPP_NAMESPACE: &str = "messages";

/// Show a message type: its fields, or its declaration in a language
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of a standard message, of a topic, or of a file
    #[arg(
        value_name = "TYPE",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    message_type: Option<String>,
    /// Language: c, cpp, python, rust, or the text that topics carry
    #[arg(
        long = "as",
        value_name = "LANGUAGE",
        default_value = "text",
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
    Text,
    C,
    Cpp,
    Python,
    Rust,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut finder = TypeFinder::new(&arguments.import);
    let found = match (&arguments.file, &arguments.message_type) {
        (Some(file), _) => finder.read(file)?,
        (None, wanted) => finder.find(wanted.as_deref().unwrap_or_default(), context)?,
    };
    finder.finish()?;
    let text = declaration_text(&found, arguments.language)?;
    if context.is_json() {
        let schema = found.text();
        let name = Schema::parse(&schema)
            .map(|schema| schema.name)
            .unwrap_or_default();
        return context.out.write_json(serde_json::json!({
            "message_type": name, "schema": schema, "declaration": text,
        }));
    }
    context.out.write_bytes(text.as_bytes())
}

fn declaration_text(found: &FoundType, language: Language) -> Result<String, Failure> {
    if language == Language::Text {
        return Ok(found.text());
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
            Ok(export::python(&with_nested_messages(schema)))
        }
        (FoundType::Standard(schema), _) => Err(Failure::usage(format_args!(
            "horus_core::message::{} is declared in the library: use it from there",
            schema.name
        ))),
        (FoundType::Imported(imported), Language::C) => Ok(export::c(&imported.schemas())),
        (FoundType::Imported(imported), Language::Cpp) => Ok(imported.cpp(CPP_NAMESPACE)),
        (FoundType::Imported(imported), Language::Python) => Ok(imported.python()),
        (FoundType::Imported(imported), _) => Ok(imported.rust()),
        (FoundType::Text(_), _) => Err(cannot("a schema text")),
    }
}

/// Returns `schema` and all messages that are nested in it. Each message comes after the messages
/// that are nested in it.
fn with_nested_messages(schema: &'static Schema) -> Vec<&'static Schema> {
    let mut all: Vec<&'static Schema> = Vec::new();
    for field in schema.fields {
        if let FieldKind::Message(inner) = field.kind {
            for one in with_nested_messages(inner) {
                if !all.iter().any(|known| known.name == one.name) {
                    all.push(one);
                }
            }
        }
    }
    all.push(schema);
    all
}
