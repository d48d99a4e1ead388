//! Checks of another process. They find out why that process does not share topics with programs
//! that are started in this shell.
//!
//! The module `process` reads information about the process from `/proc`, and the module `topics`
//! reads information about it from the namespace. The files that the process has open show which
//! namespace it uses. Its environment variables are only used for the advice, because a program can
//! select another namespace by itself.

mod process;
mod topics;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use horus_core::namespace::NamespaceConfig;

use super::Finding;
use crate::context::{Context, namespace_path};
use crate::failure::Failure;
use process::{Credentials, PeerProcess};
pub(super) use process::{OpenNamespace, open_namespaces_of};

/// Compares the process `pid` with this command. The command represents any program that the user
/// starts in the same shell.
pub(super) fn check_peer(pid: u32, context: &Context) -> Result<Vec<Finding>, Failure> {
    let config = context.namespace_config()?;
    let peer = PeerProcess::read(pid)?;
    let own = Credentials::read("self").unwrap_or_default();
    let mut findings = vec![
        Finding::ok("process", peer.to_string()),
        compare_users(&peer, &own, &config),
        compare_pid_namespaces(&peer),
    ];
    findings.push(compare_mounts(&peer, &config));
    let (finding, meets) = find_if_namespace_is_shared(&peer, &config);
    findings.push(finding);
    if meets {
        findings.extend(topics::check_topics(&peer, context)?);
    }
    Ok(findings)
}

fn compare_users(peer: &PeerProcess, own: &Credentials, config: &NamespaceConfig) -> Finding {
    const CHECK_NAME: &str = "user";
    let theirs = &peer.credentials;
    if let Some(gid) = config.gid() {
        let lacks = |who: &str, one: &Credentials| {
            (!one.groups.contains(&gid)).then(|| format!("{who} is no member of group {gid}"))
        };
        let found = lacks("it", theirs).or_else(|| lacks("this command", own));
        return match found {
            None => Finding::ok(CHECK_NAME, format!("both are members of group {gid}")),
            Some(found) => {
                let advice = format!("add the user to the group: usermod -aG {gid} USER");
                Finding::fault(CHECK_NAME, found, advice)
            }
        };
    }
    let found = format!("it has user {}, this command {}", theirs.uid, own.uid);
    if theirs.uid == own.uid {
        return Finding::ok(CHECK_NAME, found);
    }
    let advice = "run both as one user, or share the namespace among the members of a group: \
                  HORUS_SHM_GROUP for both";
    Finding::fault(CHECK_NAME, found, advice)
}

fn compare_pid_namespaces(peer: &PeerProcess) -> Finding {
    const CHECK_NAME: &str = "pid namespace";
    match peer.inner_namespace_pid {
        None => Finding::ok(CHECK_NAME, "the same"),
        // It does not matter: locks show which processes live.
        Some(inner) => Finding::ok(
            CHECK_NAME,
            format!("another one, in which it is process {inner}"),
        ),
    }
}

/// Checks that the process and this command have the same directory of the namespaces. In a
/// container or mount namespace, the same path can lead to another directory.
fn compare_mounts(peer: &PeerProcess, config: &NamespaceConfig) -> Finding {
    const CHECK_NAME: &str = "mount";
    let dir = config.dir();
    let existing = dir.ancestors().find(|path| path.is_dir());
    let existing = existing.unwrap_or(Path::new("/"));
    let shown = existing.display();
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    let (theirs, own) = (identity(&peer.path_in_root(existing)), identity(existing));
    match (theirs, own) {
        (Ok(theirs), Ok(own)) if theirs == own => Finding::ok(
            CHECK_NAME,
            format!("{shown} is the same directory for both"),
        ),
        (Err(error), _) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let advice = "run this command as the user of that process, or as root";
            Finding::note(
                CHECK_NAME,
                format!("its root cannot be read: {error}"),
                advice,
            )
        }
        (Err(error), _) => {
            let advice = "share the directory with its container: docs/containers.md";
            let found = format!("it does not see {shown}: {error}");
            Finding::fault(CHECK_NAME, found, advice)
        }
        _ => {
            let advice = "it runs in a container or mount namespace with memory of its own: share \
                          the directory, docs/containers.md";
            Finding::fault(
                CHECK_NAME,
                format!("its {shown} is another directory"),
                advice,
            )
        }
    }
}

/// Compares the namespaces that the process has open with the namespace of this command. The
/// returned bool is true if the process has the namespace of this command open.
fn find_if_namespace_is_shared(peer: &PeerProcess, config: &NamespaceConfig) -> (Finding, bool) {
    const CHECK_NAME: &str = "namespace";
    let path = namespace_path(config);
    let own = OpenNamespace::registry_device_and_inode(&path);
    let open = match &peer.namespaces {
        Ok(open) => open,
        Err(error) => {
            let found = format!("its open files cannot be read: {error}");
            let advice = "run this command as the user of that process, or as root";
            return (Finding::note(CHECK_NAME, found, advice), false);
        }
    };
    let is_same = |one: &&OpenNamespace| Some(one.identity) == own;
    if let Some(same) = open.iter().find(is_same) {
        let found = format!("the same: {}", same.path.display());
        return (Finding::ok(CHECK_NAME, found), true);
    }
    let shown = path.display();
    let Some(other) = open.first() else {
        let found = "it has opened no namespace";
        let advice = match peer.expected_namespace() {
            Some(expected) if expected == path => {
                "it has made no topic yet, or is no program of this library; its variables select \
                 the namespace of this command"
                    .to_owned()
            }
            Some(expected) => format!(
                "by its variables it would open {}, and this command opens {shown}: give both the \
                 same {}",
                expected.display(),
                differing_environment_variables(&expected, &path)
            ),
            None => format!("this command opens {shown}"),
        };
        return (Finding::fault(CHECK_NAME, found, advice), false);
    };
    let theirs = other.path.display();
    let (found, advice) = if other.is_deleted {
        (
            format!("{theirs} was removed while it had it open"),
            "restart that process: it is alone in what was removed".to_owned(),
        )
    } else if other.path == path {
        (
            format!("it has {theirs} open, which is another file there"),
            "share the directory between both: docs/containers.md".to_owned(),
        )
    } else {
        (
            format!("it has {theirs} open, and this command opens {shown}"),
            format!(
                "give both the same {}",
                differing_environment_variables(&other.path, &path)
            ),
        )
    };
    (Finding::fault(CHECK_NAME, found, advice), false)
}

/// Returns the names of the environment variables whose values make the paths of two namespaces
/// differ.
fn differing_environment_variables(one_namespace: &Path, other_namespace: &Path) -> &'static str {
    match (
        one_namespace.parent() == other_namespace.parent(),
        one_namespace.file_name() == other_namespace.file_name(),
    ) {
        (true, _) => "HORUS_NAMESPACE",
        (false, true) => "HORUS_SHM_DIR (or HORUS_SHM_GROUP)",
        (false, false) => "HORUS_SHM_DIR and HORUS_NAMESPACE",
    }
}
