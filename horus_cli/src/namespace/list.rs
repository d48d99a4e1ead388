//! The command `horus namespace list`: lists the namespaces in the directory, with their topics and
//! processes.

use std::collections::BTreeSet;

use clap::Args;
use horus_core::introspect::{Inspector, topics};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use serde::Serialize;

use super::{namespace_names, other_processes};
use crate::context::{Context, namespace_failure};
use crate::failure::Failure;
use crate::output::format::bytes;
use crate::output::{Column, Table};

/// List the namespaces, with the processes that have opened them
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

#[derive(Debug, Serialize)]
struct NamespaceList {
    shm_dir: String,
    namespaces: Vec<NamespaceRow>,
}

/// A row in the list of namespaces: a namespace, the number of its topics, the ids of its
/// processes, and the size of its memory.
#[derive(Debug, Serialize)]
pub(crate) struct NamespaceRow {
    pub(crate) namespace: String,
    pub(crate) topics: usize,
    /// The ids of the processes that have opened the namespace. The process of this command is not
    /// included.
    pub(crate) processes: BTreeSet<u32>,
    allocated_bytes: u64,
}

impl NamespaceRow {
    /// Opens the namespace `name`, and reads the row that describes it.
    pub(crate) fn read(config: &NamespaceConfig, name: &str) -> Result<Self, Failure> {
        let name = NamespaceName::new(name).map_err(Failure::usage)?;
        let config = config.clone().with_name(name.clone());
        let namespace = Namespace::open(&config).map_err(|error| namespace_failure(&error))?;
        let names = topics(&namespace).map_err(|error| Failure::from_open_error(&error))?;
        let mut row = Self {
            namespace: name.to_string(),
            topics: names.len(),
            processes: other_processes(&namespace)?
                .iter()
                .map(|one| one.pid)
                .collect(),
            allocated_bytes: 0,
        };
        // A topic that cannot be opened was removed meanwhile, or is not one of this version.
        let open = |name: &String| Inspector::open_in(&namespace, name).ok();
        for topic in names.iter().filter_map(open) {
            row.allocated_bytes += topic.file().map_or(0, |file| file.allocated_bytes);
        }
        Ok(row)
    }
}

pub(crate) fn run(_: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let config = context.existing_config()?;
    let names = namespace_names(config.dir());
    let rows = names.iter().map(|name| NamespaceRow::read(&config, name));
    let namespaces = rows.collect::<Result<Vec<_>, _>>()?;
    if context.is_json() {
        return context.out.json(NamespaceList {
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
        table.row([
            row.namespace.as_str().into(),
            row.topics.to_string().into(),
            row.processes.len().to_string().into(),
            bytes(row.allocated_bytes).into(),
        ]);
    }
    context.out.table(&table)
}
