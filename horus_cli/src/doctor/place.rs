//! Checks of the directory of the namespaces: its space, its owner, and the settings that select
//! it.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use horus_core::namespace::NamespaceConfig;

use super::Finding;
use super::fix::Fix;
use super::logind::check_removal_at_logout;
use super::own_directory::{DirectoryKind, ModeChangeRefusal, OwnDirectory};
use crate::context::namespace_path;
use crate::namespace::list::NamespaceSummary;
use crate::namespace::namespace_names;
use crate::output::format::bytes;

/// Free space that a robot with cameras needs in the file system of the namespaces, in bytes. Less
/// free space is reported.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// The mode of directories that the members of a group share.
const GROUP_MODE: u32 = 0o2770;

/// Names of the environment variables that select a namespace.
const NAMESPACE_VARIABLES: [&str; 3] = ["HORUS_SHM_DIR", "HORUS_NAMESPACE", "HORUS_SHM_GROUP"];

/// Checks the directory of the namespaces, and returns the findings. Does not open a namespace.
pub(super) fn check_directory(config: &NamespaceConfig) -> Vec<Finding> {
    let mut findings = vec![report_namespace_variables(config)];
    findings.extend(check_free_space(config.dir()));
    findings.push(check_directory_owner(config));
    findings.extend(check_namespace_mode(config));
    findings.extend(check_container());
    findings.extend(check_removal_at_logout(config));
    findings
}

fn report_namespace_variables(config: &NamespaceConfig) -> Finding {
    let path = namespace_path(config);
    let set = NAMESPACE_VARIABLES.iter().filter_map(|name| {
        let value = env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(format!("{name}={value}"))
    });
    let set = set.collect::<Vec<_>>().join(", ");
    let set = if set.is_empty() {
        "no HORUS_ variable is set".to_owned()
    } else {
        set
    };
    Finding::ok("namespace", format!("{} ({set})", path.display()))
}

/// Checks that the file system that contains `dir` has enough free space. Returns `None` if the
/// space cannot be determined.
fn check_free_space(dir: &Path) -> Option<Finding> {
    const CHECK_NAME: &str = "memory for topics";
    let existing = dir.ancestors().find(|path| path.is_dir())?;
    let output = Command::new("df").arg("-Pk").arg(existing).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let cells: Vec<&str> = text.lines().nth(1)?.split_whitespace().collect();
    let kilobytes = |index: usize| cells.get(index)?.parse::<u64>().ok();
    let (size, free) = (kilobytes(1)? << 10, kilobytes(3)? << 10);
    let found = format!("{} of {} free", bytes(free), bytes(size));
    if free >= FREE_BYTES_MIN {
        return Some(Finding::ok(CHECK_NAME, found));
    }
    let advice = "enlarge it (mount -o remount,size=1G /dev/shm; docker run --shm-size), or \
                  remove what is no longer used: horus clean --all";
    Some(Finding::fault(CHECK_NAME, found, advice))
}

fn check_directory_owner(config: &NamespaceConfig) -> Finding {
    const CHECK_NAME: &str = "directory";
    let dir = config.dir().display();
    // WHY not the target of a symbolic link: no namespace can be opened through one.
    let metadata = match fs::symlink_metadata(config.dir()) {
        Ok(metadata) => metadata,
        Err(error) => return absent_directory_finding(CHECK_NAME, config.dir(), &error),
    };
    if !metadata.is_dir() {
        let kind = if metadata.is_symlink() {
            "a symbolic link"
        } else {
            "a file"
        };
        let advice = "remove it, or set HORUS_SHM_DIR to another directory";
        let found = format!("{dir} is {kind}, and not a directory");
        return Finding::fault(CHECK_NAME, found, advice);
    }
    let mode = metadata.permissions().mode() & 0o7777;
    let found = format!("{dir}, mode {mode:04o}, user {}", metadata.uid());
    let own = fs::metadata("/proc/self").map_or(metadata.uid(), |own| own.uid());
    let is_shared = config.gid().is_some();
    if metadata.uid() != own && !is_shared {
        let advice = "it belongs to another user: run as that user, or share a namespace with \
                      HORUS_SHM_GROUP";
        return Finding::fault(CHECK_NAME, found, advice);
    }
    if is_shared {
        return Finding::ok(CHECK_NAME, found);
    }
    let kind = DirectoryKind::Namespaces;
    check_directory_mode(CHECK_NAME, (config.dir(), kind), mode, found)
}

/// Checks the mode of the directory of the selected namespace. Returns `None` if there is no such
/// directory, or if it belongs to a group or to another user: opening the namespace reports these.
fn check_namespace_mode(config: &NamespaceConfig) -> Option<Finding> {
    const CHECK_NAME: &str = "namespace directory";
    let path = namespace_path(config);
    let metadata = fs::symlink_metadata(&path).ok()?;
    let own = fs::metadata("/proc/self").ok()?.uid();
    if !metadata.is_dir() || metadata.uid() != own || config.gid().is_some() {
        return None;
    }
    let mode = metadata.permissions().mode() & 0o7777;
    let found = format!("{}, mode {mode:04o}", path.display());
    let kind = DirectoryKind::Namespace;
    Some(check_directory_mode(CHECK_NAME, (&path, kind), mode, found))
}

/// Returns a fault if other users have access to the directory `dir`, which then cannot be opened.
fn check_directory_mode(
    check: &'static str,
    (dir, kind): (&Path, DirectoryKind),
    mode: u32,
    found: String,
) -> Finding {
    if mode == GROUP_MODE {
        let advice =
            "a group shares it: set HORUS_SHM_GROUP, or HORUS_SHM_DIR to another directory";
        return Finding::fault(check, found, advice);
    }
    if mode & 0o077 == 0 {
        return Finding::ok(check, found);
    }
    let access = if mode & 0o022 == 0 {
        "enter"
    } else {
        "write to"
    };
    // WHY: a directory that the user has named, such as /dev/shm, may be one that others need.
    let refusal = OwnDirectory::open(dir, kind).err();
    let shown = dir.display();
    match refusal {
        Some(error @ ModeChangeRefusal::Empty) => {
            let advice = format!(
                "others may {access} it, and it is not closed to them, because {error}: chmod 700 \
                 {shown}, if it is for namespaces alone"
            );
            return Finding::fault(check, found, advice);
        }
        Some(error) => {
            let advice = format!(
                "others may {access} it, and it is not closed to them, because {error}: set \
                 HORUS_SHM_DIR to a directory of its own, such as /dev/shm/robot"
            );
            return Finding::fault(check, found, advice);
        }
        None => {}
    }
    let advice = format!("others may {access} it: chmod 700 {shown}");
    let fix = Fix::CloseDirectory(dir.to_owned(), kind);
    Finding::fault(check, found, advice).with_fix(fix)
}

/// Returns the finding for a directory of namespaces whose status could not be read: `error` is the
/// reason.
fn absent_directory_finding(check: &'static str, dir: &Path, error: &io::Error) -> Finding {
    let shown = dir.display();
    match dir.parent() {
        _ if error.kind() != io::ErrorKind::NotFound => {
            let advice = "set HORUS_SHM_DIR to another directory";
            Finding::fault(check, format!("cannot examine {shown}: {error}"), advice)
        }
        // A relative path of one name has an empty parent, which is the working directory.
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            let parent = parent.display();
            let found = format!("{shown} cannot be created, because there is no {parent}");
            let advice = format!("mkdir -p {parent}, or set HORUS_SHM_DIR to another directory");
            Finding::fault(check, found, advice)
        }
        _ => Finding::ok(check, format!("{shown} does not exist yet")),
    }
}

/// Looks for other namespaces that are in use, and for those that cannot be opened. WHY: programs
/// in different namespaces do not see each other, and a user may not know that there are several.
pub(super) fn check_other_namespaces(config: &NamespaceConfig) -> Vec<Finding> {
    const CHECK_NAME: &str = "other namespaces";
    let own = config.name().as_str();
    let mut alive = Vec::new();
    let mut findings = Vec::new();
    let names = namespace_names(config.dir()).unwrap_or_else(|error| {
        let found = format!(
            "cannot read the directory {}: {error}",
            config.dir().display()
        );
        findings.push(Finding::fault(
            CHECK_NAME,
            found,
            "give this user its rights",
        ));
        Vec::new()
    });
    for name in names.iter().filter(|name| *name != own) {
        match NamespaceSummary::read(config, name) {
            Ok(Some(seen)) if !seen.processes.is_empty() => {
                alive.push(format!("{name} ({} processes)", seen.processes.len()));
            }
            Ok(_) => {}
            Err(failure) => {
                let found = format!("{name} cannot be opened: {}", failure.text());
                let advice = format!("if it is not needed: horus namespace rm {name}");
                findings.push(Finding::note(CHECK_NAME, found, advice));
            }
        }
    }
    let advice = "programs in different namespaces do not see each other: give them the same \
                  HORUS_NAMESPACE";
    findings.push(match alive.as_slice() {
        [] => Finding::ok(CHECK_NAME, "none is in use"),
        alive => Finding::note(CHECK_NAME, alive.join(", "), advice),
    });
    findings
}

/// Returns a finding if this command runs in a container, where processes of other containers may
/// not be visible; otherwise `None`.
fn check_container() -> Option<Finding> {
    let marks = ["/.dockerenv", "/run/.containerenv"];
    let mark = marks.iter().find(|path| Path::new(path).exists())?;
    let advice = "to share topics with other containers, share /dev/shm: docs/containers.md";
    Some(Finding::note("container", format!("{mark} exists"), advice))
}
