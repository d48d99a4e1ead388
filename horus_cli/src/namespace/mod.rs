//! The command `horus namespace`: lists and removes namespaces.

pub(crate) mod list;
pub(crate) mod live;
mod rm;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use clap::Subcommand;
use horus_core::introspect;
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName, SweepReport};

use crate::context::{Context, namespace_failure};
use crate::failure::Failure;
use crate::process::LiveProcess;

/// Name of a file that the directory of every namespace contains. A directory without it is not a
/// namespace.
const REGISTRY_FILE: &str = "registry";

/// The commands of `horus namespace`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Rm(rm::Arguments),
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => list::run(&arguments, context),
            Self::Rm(arguments) => rm::run(&arguments, context),
        }
    }
}

/// Returns the live processes that have opened the namespace. The process of this command is not
/// included.
pub(crate) fn other_processes(namespace: &Namespace) -> Result<Vec<LiveProcess>, Failure> {
    let own = namespace.registry().own_owner_word().to_bits();
    let all = introspect::processes(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let others = all.into_iter().filter(|process| process.owner_id != own);
    Ok(others.filter_map(LiveProcess::of).collect())
}

/// Returns the sorted names of the namespaces in a directory, which need not exist. Includes those
/// of which this user may not see whether they have a registry.
///
/// # Errors
///
/// The error of reading the directory, if it exists.
///
/// WHY only directories with a registry: opening any other directory would turn it into a
/// namespace. WHY only valid names: no program can open another one, and it may contain characters
/// on which a terminal acts.
pub(crate) fn namespace_names(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let namespaces = entries
        .flatten()
        .filter(|entry| has_registry(&entry.path()));
    let mut names: Vec<String> = namespaces
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| NamespaceName::new(name).is_ok())
        .collect();
    names.sort();
    Ok(names)
}

/// Returns the sorted names of the namespaces in the directory that `config` selects, as
/// [`namespace_names`] does. Fails if the directory cannot be read.
fn require_namespace_names(config: &NamespaceConfig) -> Result<Vec<String>, Failure> {
    namespace_names(config.dir()).map_err(|error| {
        let dir = config.dir().display();
        Failure::system(format_args!("cannot read the directory {dir}: {error}"))
    })
}

/// Returns true if the directory of a namespace, `path`, has a registry, or may have one that this
/// user may not see.
pub(crate) fn has_registry(path: &Path) -> bool {
    match fs::metadata(path.join(REGISTRY_FILE)) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// Opens the namespace that `config` selects, such as one that [`namespace_names`] has found.
/// Returns `None` if it does not exist, is incomplete, or was removed since.
pub(crate) fn open_listed_namespace(
    config: &NamespaceConfig,
) -> Result<Option<Arc<Namespace>>, Failure> {
    let found = open_listed_namespace_with_report(config)?;
    Ok(found.map(|(namespace, _)| namespace))
}

/// Returns the namespace that has the name of `namespace` now, if programs have removed that one
/// and created it again; otherwise `None`. Makes some system calls.
pub(crate) fn find_replacement_namespace(
    namespace: &Arc<Namespace>,
) -> Result<Option<Arc<Namespace>>, Failure> {
    if namespace.is_current() {
        return Ok(None);
    }
    open_listed_namespace(namespace.config())
}

/// Returns a note for a command that goes on in the namespace that [`find_replacement_namespace`]
/// has returned.
pub(crate) fn replacement_namespace_note(namespace: &Namespace) -> String {
    format!(
        "the namespace {} was removed: this command goes on in the new one",
        namespace.config().name()
    )
}

/// Opens a namespace, as [`open_listed_namespace`] does. Also returns what this process found when
/// it removed the topics that dead processes had left there.
pub(crate) fn open_listed_namespace_with_report(
    config: &NamespaceConfig,
) -> Result<Option<(Arc<Namespace>, SweepReport)>, Failure> {
    // WHY not `open`: that would create the namespace again.
    Namespace::open_existing_with_report(config).map_err(|error| namespace_failure(&error))
}
