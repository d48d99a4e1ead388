//! The check for programs that run on in a namespace that was removed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use horus_core::namespace::NamespaceConfig;

use super::Finding;
use super::peer::open_namespaces_of;
use crate::output::format::visible;

/// Returns a fault for each process that has a namespace of this directory open although it was
/// removed. Processes of other users, whose open files cannot be read, are left out.
pub(super) fn check_removed_namespaces(config: &NamespaceConfig) -> Vec<Finding> {
    // WHY without symbolic links: the kernel shows the paths of open files without them.
    let (Ok(path), Ok(processes)) = (fs::canonicalize(config.dir()), fs::read_dir("/proc")) else {
        return Vec::new();
    };
    let Ok(dir) = fs::metadata(&path) else {
        return Vec::new();
    };
    let pids = processes.flatten().filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    pids.flat_map(|pid| find_removed_namespaces_of_process(pid, &path, dir.dev()))
        .collect()
}

/// Returns a fault for each removed namespace of the directory `dir`, on the device
/// `device_number`, that the process has open.
fn find_removed_namespaces_of_process(pid: u32, dir: &Path, device_number: u64) -> Vec<Finding> {
    let open = open_namespaces_of(pid).unwrap_or_default();
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
            Finding::fault("removed namespace", found, advice)
        })
        .collect()
}
