//! Finds a message type among the standard messages, in a topic, or in a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use horus_core::introspect::Inspector;
use horus_core::message::import::{Imported, Importer};
use horus_core::message::{STANDARD, Schema};
use horus_core::namespace::Namespace;

use crate::context::{Context, namespace_path};
use crate::failure::{Failure, error_chain_text};
use crate::output::nearest;
use crate::topic::select::{topics_with_type, without_leading_slash};

/// Extension of a file that describes a ROS message.
const ROS_EXTENSION: &str = "msg";

/// Opens the selected namespace, to look for message types in its topics. Returns `None` if it does
/// not exist.
fn open_namespace_if_exists(context: &Context) -> Result<Option<Arc<Namespace>>, Failure> {
    let path = namespace_path(&context.namespace_config()?);
    path.is_dir().then(|| context.open_namespace()).transpose()
}

/// A message type, in the form in which it was found.
pub(super) enum FoundType {
    /// A standard message of the library.
    Standard(&'static Schema),
    /// The schema text of the message type, which comes from a topic or a file.
    Text(String),
    /// A ROS message from a `.msg` file, and the messages that are nested in it.
    Imported(Imported),
}

impl FoundType {
    /// Finds the message type that the user named as `wanted`. If `wanted` contains a dot or a
    /// slash and is the path of a file, reads that file. Otherwise looks for a standard message,
    /// and then for a topic, with that name.
    pub(super) fn find(wanted: &str, context: &Context) -> Result<Self, Failure> {
        let path = Path::new(wanted);
        if wanted.contains(['.', '/']) && path.is_file() {
            return Self::read(path);
        }
        if let Some(schema) = STANDARD.iter().find(|schema| schema.name == wanted) {
            return Ok(Self::Standard(schema));
        }
        let mut carriers = Vec::new();
        if let Some(namespace) = open_namespace_if_exists(context)? {
            let name = without_leading_slash(wanted);
            if let Ok(topic) = Inspector::open_in(&namespace, name) {
                return Ok(Self::Text(topic.schema().to_owned()));
            }
            carriers = topics_with_type(&namespace, |_, name| name == wanted)?;
        }
        if !carriers.is_empty() {
            return Err(Failure::not_found(format_args!(
                "no standard message, topic or file is called '{wanted}', but messages of \
                 this type are in the topics: {}. Name one of these",
                carriers.join(", ")
            )));
        }
        let names: Vec<String> = STANDARD
            .iter()
            .map(|schema| schema.name.to_owned())
            .collect();
        let near = nearest::suggestion_text(wanted, &names);
        Err(Failure::not_found(format_args!(
            "no standard message, topic or file is called '{wanted}'.{near}"
        )))
    }

    /// Reads the message type in the file at `path`, which contains a schema text or is a ROS
    /// `.msg` file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        if path
            .extension()
            .is_some_and(|ending| ending == ROS_EXTENSION)
        {
            let imported = Importer::new().read(&[path]);
            return imported
                .map(Self::Imported)
                .map_err(|error| Failure::usage(error_chain_text(&error)));
        }
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::not_found(format_args!("cannot read {}: {error}", path.display()))
        })?;
        Schema::parse(&text)
            .map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))?;
        Ok(Self::Text(text))
    }

    /// Returns the schema text of the message type.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Standard(schema) => schema.text(),
            Self::Text(text) => text.clone(),
            // The last one is the message of the file; those before are nested in it.
            Self::Imported(imported) => imported
                .schemas()
                .last()
                .map(|schema| schema.text())
                .unwrap_or_default(),
        }
    }
}
