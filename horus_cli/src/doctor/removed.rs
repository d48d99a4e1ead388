//! The check for programs that run on in a namespace that was removed.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{self, Path, PathBuf};

use horus_core::namespace::NamespaceConfig;

use super::Finding;
use super::peer::open_namespaces_of;
use crate::failure::is_lack_of_resources;
use crate::output::format::visible;

const CHECK_NAME: &str = "removed namespace";

/// A process that has a namespace open which was removed.
struct ProcessInRemovedNamespace {
    pid: u32,
    /// The name of the process, as the kernel has it.
    process_name: String,
    /// The path that the directory of the namespace had.
    path: PathBuf,
}

impl fmt::Display for ProcessInRemovedNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.pid, visible(&self.process_name))
    }
}

/// Returns a fault for each process that has a namespace of this directory open although it was
/// removed, or a fault if this process lacks the memory or the file descriptors to find them.
/// Processes of other users, whose open files cannot be read, are left out.
pub(super) fn check_removed_namespaces(config: &NamespaceConfig) -> Vec<Finding> {
    match find_removed_namespaces(config) {
        Ok(processes) => processes.iter().map(removed_namespace_fault).collect(),
        Err(error) if is_lack_of_resources(&error) => {
            let text = format!("listing the open files of processes: {error}");
            vec![Finding::unknown(CHECK_NAME, text)]
        }
        // Without `/proc`, nothing is known of other processes.
        Err(_) => Vec::new(),
    }
}

/// Returns sentences that name the processes which have a removed namespace of this directory open,
/// to be appended to another text. They begin with a space. Returns an empty text if there are no
/// such processes, or if they cannot be found.
pub(crate) fn removed_namespaces_text(config: &NamespaceConfig) -> String {
    processes_text(&find_removed_namespaces(config).unwrap_or_default())
}

/// Returns the same text about the removed namespaces that had the name of the present one; empty
/// if there is no process in them. If this process lacks the descriptors to find that out, the text
/// says so.
pub(crate) fn removed_namespaces_of_this_name_text(config: &NamespaceConfig) -> String {
    let mut processes = match find_removed_namespaces(config) {
        Ok(processes) => processes,
        Err(error) if is_lack_of_resources(&error) => {
            return format!(
                " It is not known whether programs run on in a removed namespace: {error}"
            );
        }
        // Without /proc, no process can be found.
        Err(_) => return String::new(),
    };
    let name = config.name().as_str();
    processes.retain(|process| process.path.file_name() == Some(name.as_ref()));
    processes_text(&processes)
}

fn processes_text(processes: &[ProcessInRemovedNamespace]) -> String {
    if processes.is_empty() {
        return String::new();
    }
    let processes = processes.iter().map(|process| {
        let namespace = process.path.file_name().unwrap_or_default();
        format!("{process} in '{}'", visible(&namespace.to_string_lossy()))
    });
    format!(
        " Processes run on in namespaces of this directory that were removed, and no command \
         reaches them: {}. Restart them",
        processes.collect::<Vec<_>>().join(", ")
    )
}

fn find_removed_namespaces(config: &NamespaceConfig) -> io::Result<Vec<ProcessInRemovedNamespace>> {
    let (dir, device_number) = locate_directory(config.dir())?;
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let open = match open_namespaces_of(pid) {
            Ok(open) => open,
            Err(error) if is_lack_of_resources(&error) => return Err(error),
            // A process of another user, or one that has ended.
            Err(_) => continue,
        };
        // WHY the device: the same path is another directory in a container.
        let removed = open.into_iter().filter(|one| {
            let (found_device, _) = one.identity;
            one.is_deleted && one.path.parent() == Some(&dir) && found_device == device_number
        });
        found.extend(removed.map(|one| {
            let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
            let name = String::from_utf8_lossy(&name);
            ProcessInRemovedNamespace {
                pid,
                process_name: name.trim_end().to_owned(),
                path: one.path,
            }
        }));
    }
    Ok(found)
}

/// Returns the path of the directory `dir` without symbolic links, as the kernel shows the paths of
/// open files, and the number of its device. If the directory was removed, both come from its
/// nearest ancestor that exists.
fn locate_directory(dir: &Path) -> io::Result<(PathBuf, u64)> {
    let dir = path::absolute(dir)?;
    for ancestor in dir.ancestors() {
        let existing = match fs::canonicalize(ancestor) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            existing => existing?,
        };
        let device_number = fs::metadata(&existing)?.dev();
        let removed = dir.strip_prefix(ancestor).unwrap_or(Path::new(""));
        return Ok((existing.join(removed), device_number));
    }
    Err(io::ErrorKind::NotFound.into())
}

fn removed_namespace_fault(process: &ProcessInRemovedNamespace) -> Finding {
    let found = format!(
        "process {process} has {} open, which was removed",
        process.path.display()
    );
    let advice = "restart that process: it reaches only those that have the removed one open, too. \
                  If nobody removed it, logind may have, at a logout: docs/reliability.md";
    Finding::fault(CHECK_NAME, found, advice)
}
