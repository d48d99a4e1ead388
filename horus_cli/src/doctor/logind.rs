//! The check for a login manager that removes the namespaces of a user at logout.
//!
//! With `RemoveIPC=yes`, which is the default, systemd-logind removes what a user has in
//! `/dev/shm` when the last session of that user ends, although programs may still use it. It
//! leaves out the files of system users, and of users who linger.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{self, Path, PathBuf};

use horus_core::namespace::NamespaceConfig;

use super::Finding;

/// The directory that logind searches for files of the user.
const SEARCHED_DIR: &str = "/dev/shm";

/// The smallest id of a user who is no system user.
const FIRST_UID: u32 = 1000;

/// A directory that exists while logind runs.
const LOGIND_DIR: &str = "run/systemd/seats";

/// The directory with an empty file for each user who lingers.
const LINGER_DIR: &str = "var/lib/systemd/linger";

/// The directories with the settings of logind. A file in one of them replaces those of the same
/// name in the directories before it.
const SETTINGS_DIRS: [&str; 4] = [
    "usr/lib/systemd",
    "usr/local/lib/systemd",
    "run/systemd",
    "etc/systemd",
];

/// The setting that lets logind remove files.
const SETTING: &str = "RemoveIPC";

/// Returns a note if logind removes the directory of the namespaces at the logout of this user.
pub(super) fn check_removal_at_logout(config: &NamespaceConfig) -> Option<Finding> {
    let uid = fs::metadata("/proc/self").ok()?.uid();
    check_removal_in(Path::new("/"), config.dir(), uid)
}

/// Returns a note if logind removes what the user `uid` has in `dir`. `root` is the directory in
/// which the files of the system are.
fn check_removal_in(root: &Path, dir: &Path, uid: u32) -> Option<Finding> {
    let dir = path::absolute(dir).ok()?;
    let is_removed = uid >= FIRST_UID
        && dir.starts_with(SEARCHED_DIR)
        && root.join(LOGIND_DIR).exists()
        && removes_files_at_logout(root);
    if !is_removed {
        return None;
    }
    let name = user_name(root, uid);
    let is_lingering = |name: &String| root.join(LINGER_DIR).join(name).exists();
    if name.as_ref().is_some_and(is_lingering) {
        return None;
    }
    let name = name.unwrap_or_else(|| uid.to_string());
    let found = format!(
        "when the last session of user {name} ends, logind removes the namespaces in {}, and \
         programs that use them lose each other",
        dir.display()
    );
    let advice = format!(
        "if programs run on then: loginctl enable-linger {name}, or {SETTING}=no in \
         /etc/systemd/logind.conf, or run them as a system user: docs/reliability.md"
    );
    Some(Finding::note("logout", found, advice))
}

/// Returns the name of the user `uid` in the file `etc/passwd`; `None` if it is not there.
fn user_name(root: &Path, uid: u32) -> Option<String> {
    let users = fs::read(root.join("etc/passwd")).ok()?;
    let users = String::from_utf8_lossy(&users);
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let is_of_user = fields.nth(1)?.parse() == Ok(uid);
        is_of_user.then(|| name.to_owned())
    })
}

/// Returns true if the settings of logind, or else its default, let it remove files.
fn removes_files_at_logout(root: &Path) -> bool {
    let (mut main_file, mut added_files) = (None, BTreeMap::<OsString, PathBuf>::new());
    for dir in SETTINGS_DIRS {
        let file = root.join(dir).join("logind.conf");
        if file.exists() {
            main_file = Some(file);
        }
        let added = fs::read_dir(root.join(dir).join("logind.conf.d"));
        for entry in added.into_iter().flatten().flatten() {
            added_files.insert(entry.file_name(), entry.path());
        }
    }
    added_files.retain(|name, _| Path::new(name).extension().is_some_and(|ext| ext == "conf"));
    let read = |file: &PathBuf| {
        let text = fs::read(file).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let main_text = main_file.as_ref().map(read).unwrap_or_default();
    let mut added = added_files.values().rev();
    let mut removes = added.find_map(|file| last_value(&read(file)));
    removes = removes.or_else(|| last_value(&main_text));
    // WHY also a comment: distributions show the default that they have compiled in by one.
    removes = removes.or_else(|| last_value(&main_text.replace('#', "")));
    removes.unwrap_or(true)
}

/// Returns the last value of the setting in `text`, the content of a file with settings of logind;
/// `None` if it has none.
fn last_value(text: &str) -> Option<bool> {
    text.lines().rev().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        if name.trim() != SETTING {
            return None;
        }
        match value.trim().to_ascii_lowercase().as_str() {
            "1" | "yes" | "y" | "true" | "t" | "on" => Some(true),
            "0" | "no" | "n" | "false" | "f" | "off" => Some(false),
            // logind ignores any other value.
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Returns a root with logind and a user 1000.
    fn root_with_logind() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(LOGIND_DIR)).unwrap();
        write(
            &root,
            "etc/passwd",
            "root:x:0:0::/root:/bin/sh\nrobot:x:1000:1000::/home/robot:/bin/sh\n",
        );
        root
    }

    fn write(root: &TempDir, file: &str, text: &str) {
        let file = root.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Returns the text of the finding for the default directory of a user.
    fn found(root: &TempDir, uid: u32) -> Option<String> {
        let dir = format!("/dev/shm/horus-{uid}");
        let finding = check_removal_in(root.path(), Path::new(&dir), uid)?;
        Some(format!("{} {}", finding.found, finding.advice.unwrap()))
    }

    #[test]
    fn the_logout_of_a_user_who_does_not_linger_is_a_note() {
        let root = root_with_logind();
        let text = found(&root, 1000).expect("a note");
        assert!(text.contains("user robot ends"), "{text}");
        assert!(text.contains("loginctl enable-linger robot,"), "{text}");
        let unknown = found(&root, 1001).expect("a note");
        assert!(unknown.contains("user 1001 ends"), "{unknown}");
        assert_eq!(found(&root, 0), None);
        assert_eq!(found(&root, 999), None);
        for dir in ["/tmp/robot", "/dev/shmem"] {
            let finding = check_removal_in(root.path(), Path::new(dir), 1000);
            assert!(finding.is_none(), "{dir}: {finding:?}");
        }
        write(&root, "var/lib/systemd/linger/robot", "");
        assert_eq!(found(&root, 1000), None);
        assert!(found(&root, 1001).is_some());
        fs::remove_dir(root.path().join(LOGIND_DIR)).unwrap();
        assert_eq!(found(&root, 1001), None);
    }

    #[test]
    fn the_settings_of_logind_decide() {
        let root = root_with_logind();
        let is_noted = || found(&root, 1000).is_some();
        let default_file = "usr/lib/systemd/logind.conf";
        write(&root, default_file, "[Login]\n#RemoveIPC=yes\n");
        assert!(is_noted());
        write(&root, default_file, "[Login]\n#RemoveIPC=no\n");
        assert!(!is_noted());
        write(&root, default_file, "[Login]\n#RemoveIPC=no\nRemoveIPC=yes");
        assert!(is_noted());
        // The file of the administrator replaces the former one.
        write(
            &root,
            "etc/systemd/logind.conf",
            "[Login]\n RemoveIPC = off\n",
        );
        assert!(!is_noted());
        write(
            &root,
            "usr/lib/systemd/logind.conf.d/50.conf",
            "RemoveIPC=yes",
        );
        assert!(is_noted());
        write(
            &root,
            "etc/systemd/logind.conf.d/60.conf",
            "RemoveIPC=false\n",
        );
        assert!(!is_noted());
        write(
            &root,
            "run/systemd/logind.conf.d/60.conf",
            "RemoveIPC=true\n",
        );
        assert!(!is_noted());
        write(
            &root,
            "run/systemd/logind.conf.d/70.conf",
            "RemoveIPC=true\n",
        );
        write(&root, "run/systemd/logind.conf.d/80.txt", "RemoveIPC=no\n");
        assert!(is_noted());
        write(&root, "etc/systemd/logind.conf.d/70.conf", "");
        assert!(!is_noted());
    }
}
