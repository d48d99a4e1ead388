//! The check for programs that run on in a namespace that was removed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use horus_core::namespace::NamespaceConfig;

use super::Finding;
use super::peer::{OpenNamespace, open_namespaces_of};
use crate::failure::is_lack_of_resources;
use crate::output::format::visible;

const CHECK_NAME: &str = "removed namespace";

/// Returns a fault for each process that has a namespace of this directory open although it was
/// removed, or a fault if this process lacks the memory or the file descriptors to find them.
/// Processes of other users, whose open files cannot be read, are left out.
pub(super) fn check_removed_namespaces(config: &NamespaceConfig) -> Vec<Finding> {
    match find_removed_namespaces(config) {
        Ok(findings) => findings,
        Err(error) if is_lack_of_resources(&error) => {
            let text = format!("listing the open files of processes: {error}");
            vec![Finding::unknown(CHECK_NAME, text)]
        }
        // Without `/proc`, nothing is known of other processes.
        Err(_) => Vec::new(),
    }
}

fn find_removed_namespaces(config: &NamespaceConfig) -> io::Result<Vec<Finding>> {
    // WHY without symbolic links: the kernel shows the paths of open files without them.
    let dir = fs::canonicalize(config.dir())?;
    let device_number = fs::metadata(&dir)?.dev();
    let mut findings = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        match open_namespaces_of(pid) {
            Ok(open) => findings.extend(removed_namespace_faults(pid, &open, &dir, device_number)),
            Err(error) if is_lack_of_resources(&error) => return Err(error),
            // A process of another user, or one that has ended.
            Err(_) => {}
        }
    }
    Ok(findings)
}

/// Returns a fault for each namespace in `open`, those that the process has open, that was removed
/// from the directory `dir` on the device `device_number`.
fn removed_namespace_faults(
    pid: u32,
    open: &[OpenNamespace],
    dir: &Path,
    device_number: u64,
) -> Vec<Finding> {
    // WHY the device: the same path is another directory in a container.
    let is_removed_here = |path: &Path, (found_device, _): (u64, u64)| {
        path.parent() == Some(dir) && found_device == device_number
    };
    let removed = open
        .iter()
        .filter(|one| one.is_deleted && is_removed_here(&one.path, one.identity));
    removed
        .map(|one| {
            let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
            let name = String::from_utf8_lossy(&name);
            let found = format!(
                "process {pid} ({}) has {} open, which was removed",
                visible(name.trim_end()),
                one.path.display()
            );
            let advice = "restart that process: it reaches only those that have the removed one \
                          open, too";
            Finding::fault(CHECK_NAME, found, advice)
        })
        .collect()
}
