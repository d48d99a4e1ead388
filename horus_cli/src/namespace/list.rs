//! The command `horus namespace list`: lists the namespaces in the directory, with their topics and
//! processes.

use clap::Args;
use horus_core::introspect::{Inspector, topics};
use horus_core::namespace::{NamespaceConfig, NamespaceName};
use serde::Serialize;

use super::{has_registry, open_listed_namespace, other_processes, require_namespace_names};
use crate::context::{Context, namespace_path};
use crate::doctor::removed::removed_namespaces_text;
use crate::failure::Failure;
use crate::output::format::bytes;
use crate::output::{Cell, Column, Table, Tone};

/// List the namespaces, with the processes that have opened them
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

#[derive(Debug, Serialize)]
struct NamespaceList {
    shm_dir: String,
    namespaces: Vec<NamespaceRow>,
}

/// A row of the list: a namespace, or the error that occurred when the namespace was opened.
#[derive(Debug, Serialize)]
struct NamespaceRow {
    namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    seen: Option<NamespaceSummary>,
}

/// The number of topics in a namespace, the ids of its processes, and the size of its memory.
#[derive(Debug, Serialize)]
pub(crate) struct NamespaceSummary {
    topics: usize,
    /// The sorted ids of the processes that have opened the namespace, one for each process, even
    /// if several have the same id. The process of this command is not included.
    pub(crate) processes: Vec<u32>,
    allocated_bytes: u64,
}

impl NamespaceRow {
    /// Returns the row of the namespace `name`; `None` if it was removed before it could be opened.
    fn read(config: &NamespaceConfig, name: String) -> Option<Self> {
        let (seen, error) = match NamespaceSummary::read(config, &name) {
            Ok(seen) => (Some(seen?), None),
            Err(failure) => (None, Some(failure.text().to_owned())),
        };
        Some(Self {
            namespace: name,
            error,
            seen,
        })
    }
}

impl NamespaceSummary {
    /// Opens the namespace `name`, and reads what describes it. Returns `None` if the namespace
    /// does not exist.
    pub(crate) fn read(config: &NamespaceConfig, name: &str) -> Result<Option<Self>, Failure> {
        let name = NamespaceName::new(name).map_err(Failure::usage)?;
        let config = config.clone().with_name(name);
        let Some(namespace) = open_listed_namespace(&config)? else {
            let path = namespace_path(&config);
            if !has_registry(&path) {
                return Ok(None);
            }
            return Err(Failure::system(format_args!(
                "{} has a registry, and no directory of topics: horus namespace rm {} removes it, \
                 and the next program that opens it makes the directory again",
                path.display(),
                config.name()
            )));
        };
        let names = topics(&namespace).map_err(|error| Failure::from_open_error(&error))?;
        let mut processes: Vec<u32> = other_processes(&namespace)?
            .iter()
            .map(|one| one.key.pid)
            .collect();
        processes.sort_unstable();
        let mut summary = Self {
            topics: names.len(),
            processes,
            allocated_bytes: 0,
        };
        // A topic that cannot be opened was removed meanwhile, or is not one of this version.
        let open = |name: &String| Inspector::open_in(&namespace, name).ok();
        for topic in names.iter().filter_map(open) {
            summary.allocated_bytes += topic.file().map_or(0, |file| file.allocated_bytes);
        }
        Ok(Some(summary))
    }
}

pub(crate) fn run(_: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let config = context.existing_namespace_config()?;
    if !config.dir().is_dir() {
        let reason = match removed_namespaces_text(&config) {
            removed if removed.is_empty() => {
                " yet: no program runs, or HORUS_SHM_DIR differs".to_owned()
            }
            removed => format!(".{removed}"),
        };
        context.print_note(format_args!(
            "the directory {} does not exist{reason}",
            config.dir().display()
        ));
    }
    let names = require_namespace_names(&config)?;
    let rows = names.into_iter();
    let namespaces: Vec<_> = rows
        .filter_map(|name| NamespaceRow::read(&config, name))
        .collect();
    if context.is_json() {
        return context.out.write_json(NamespaceList {
            shm_dir: config.dir().display().to_string(),
            namespaces,
        });
    }
    let mut table = Table::new([
        Column::name("NAMESPACE"),
        Column::number("TOPICS"),
        Column::number("PROCESSES"),
        Column::number("MEMORY"),
    ]);
    for row in &namespaces {
        let name = row.namespace.as_str();
        match &row.seen {
            Some(seen) => table.add_row([
                name.into(),
                seen.topics.to_string().into(),
                seen.processes.len().to_string().into(),
                bytes(seen.allocated_bytes).into(),
            ]),
            None => {
                let unreadable = Cell::toned(Tone::Bad, "unreadable");
                table.add_row([name.into(), unreadable, "-".into(), "-".into()]);
                let error = row.error.as_deref().unwrap_or_default();
                context.print_note(format_args!("{name}: {error}"));
            }
        }
    }
    context.out.write_table(&table)
}
