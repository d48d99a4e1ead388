//! Finds a message type among the standard messages, in a topic, or in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::IntErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use horus_core::introspect::Inspector;
use horus_core::message::import::{ImportError, Imported, Importer};
use horus_core::message::{STANDARD, Schema};
use horus_core::namespace::Namespace;
use horus_core::{OpenError, TopicError};

use crate::context::Context;
use crate::failure::{Failure, error_chain_text};
use crate::output::nearest;
use crate::stop::Deadline;
use crate::topic::select::{topics_with_type, without_leading_slash};

/// Extension of a file that describes a ROS message.
const ROS_EXTENSION: &str = "msg";

/// The options with which `.msg` files of ROS are read.
#[derive(Debug, Args)]
pub(super) struct ImportOptions {
    /// Directory with more .msg files, as /opt/ros/jazzy/share; may be repeated
    #[arg(long, value_name = "DIR")]
    search: Vec<PathBuf>,
    /// Bound of an array or a text that has none in its .msg file, as
    /// LaserScan.intensities=1081; may be repeated
    #[arg(long, value_name = "FIELD=N", value_parser = parse_bound)]
    bound: Vec<(String, usize)>,
    /// Bytes of each text that has no bound in its .msg file [default: 64]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    text_bytes: Option<usize>,
}

/// Parses a bound, such as `LaserScan.intensities=1081`.
fn parse_bound(text: &str) -> Result<(String, usize), String> {
    let wanted = "write it as Message.field=N";
    let (field, count) = text.split_once('=').ok_or(wanted)?;
    if !field.contains('.') {
        return Err(wanted.to_owned());
    }
    Ok((field.to_owned(), parse_count(count)?))
}

fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err(format!("the number is too large: '{text}'"))
        }
        _ => Err(format!(
            "a whole number from 1 on is wanted, and not '{text}'"
        )),
    }
}

/// Opens the selected namespace, to look for message types in its topics. Returns `None` if it does
/// not exist.
fn open_namespace_if_exists(context: &Context) -> Result<Option<Arc<Namespace>>, Failure> {
    context.open_if_exists(&context.namespace_config()?)
}

/// Returns true if a topic could not be opened because there is none of this name.
fn is_missing_topic_error(error: &TopicError) -> bool {
    matches!(
        error.as_open_error(),
        Some(OpenError::NotFound { .. } | OpenError::Name(_))
    )
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

/// Finds the message types of one command. Knows which options for `.msg` files were of use.
pub(super) struct TypeFinder<'a> {
    options: &'a ImportOptions,
    deadline: Deadline,
    has_imported: bool,
    used_bounds: BTreeSet<String>,
}

impl<'a> TypeFinder<'a> {
    /// Returns a finder that reads files until `deadline`.
    pub(super) const fn new(options: &'a ImportOptions, deadline: Deadline) -> Self {
        Self {
            options,
            deadline,
            has_imported: false,
            used_bounds: BTreeSet::new(),
        }
    }

    /// Finds the message type that the user named as `wanted`. If `wanted` contains a dot or a
    /// slash and is the path of a file, reads that file. Otherwise looks for a standard message,
    /// and then for a topic, with that name.
    pub(super) fn find(&mut self, wanted: &str, context: &Context) -> Result<FoundType, Failure> {
        let path = Path::new(wanted);
        if wanted.contains(['.', '/']) && path.is_file() {
            return self.read(path);
        }
        if let Some(schema) = STANDARD.iter().find(|schema| schema.name == wanted) {
            return Ok(FoundType::Standard(schema));
        }
        let mut carriers = Vec::new();
        if let Some(namespace) = open_namespace_if_exists(context)? {
            let name = without_leading_slash(wanted);
            match Inspector::open_in(&namespace, name) {
                Ok(topic) => return Ok(FoundType::Text(topic.schema().to_owned())),
                // WHY no failure: it may be the name of a type.
                Err(error) if is_missing_topic_error(&error) => {}
                Err(error) => return Err(Failure::from_topic_error(&error)),
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
    pub(super) fn read(&mut self, path: &Path) -> Result<FoundType, Failure> {
        if path
            .extension()
            .is_some_and(|ending| ending == ROS_EXTENSION)
        {
            return self.import(path).map(FoundType::Imported);
        }
        let bytes = self.deadline.read_file(path)?;
        let text = io::read_to_string(&*bytes)
            .map_err(|error| Failure::unreadable_file(path.display(), &error))?;
        Schema::parse(&text)
            .map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))?;
        Ok(FoundType::Text(text))
    }

    fn import(&mut self, path: &Path) -> Result<Imported, Failure> {
        self.has_imported = true;
        let bounds = self.options.bound.iter().cloned();
        let mut bounds: BTreeMap<String, usize> = bounds.collect();
        loop {
            let importer = self.importer(&bounds);
            let owned = path.to_owned();
            let read = self
                .deadline
                .call_until_deadline(move || importer.read(&[owned]))?;
            let timeout =
                || Failure::timeout(format_args!("{} was not read to its end", path.display()));
            match read.ok_or_else(timeout)? {
                Ok(imported) => {
                    self.used_bounds.extend(bounds.into_keys());
                    return Ok(imported);
                }
                // WHY no failure: the other message type of the command may need it.
                Err(ImportError::UnusedBound { field }) if bounds.remove(&field).is_some() => {}
                Err(ImportError::Read { path, source }) => {
                    return Err(Failure::unreadable_file(path.display(), &source));
                }
                Err(error) => return Err(Failure::usage(error_chain_text(&error))),
            }
        }
    }

    fn importer(&self, bounds: &BTreeMap<String, usize>) -> Importer {
        let mut importer = Importer::new();
        for directory in &self.options.search {
            importer = importer.directory(directory);
        }
        for (field, bound) in bounds {
            importer = importer.bound(field, *bound);
        }
        match self.options.text_bytes {
            Some(bytes) => importer.text_bytes(bytes),
            None => importer,
        }
    }

    /// Returns a failure if an option for `.msg` files was of no use.
    pub(super) fn check_options_were_used(self) -> Result<(), Failure> {
        let ImportOptions {
            search,
            bound,
            text_bytes,
        } = self.options;
        let is_given = !search.is_empty() || !bound.is_empty() || text_bytes.is_some();
        if is_given && !self.has_imported {
            return Err(Failure::usage(
                "--search, --bound and --text-bytes are for .msg files, and none was read",
            ));
        }
        let mut bounds = bound.iter().map(|(field, _)| field);
        match bounds.find(|field| !self.used_bounds.contains(*field)) {
            None => Ok(()),
            Some(field) => {
                let field = field.clone();
                Err(Failure::usage(ImportError::UnusedBound { field }))
            }
        }
    }
}

impl FoundType {
    /// Returns the schema text of the message type.
    pub(super) fn schema_text(&self) -> String {
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
