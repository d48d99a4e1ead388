//! The environment of child processes: a directory in memory, and death with the parent.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{DirEntryExt as _, FileExt as _, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::ptr::null;
use std::sync::Arc;

use horus_shm::internals::layout::Header;
use horus_shm::{Namespace, NamespaceConfig, NamespaceError, NamespaceName};
use tempfile::TempDir;

/// A user that is neither root nor a user that runs tests.
pub const STRANGER: u32 = 65534;

/// Set where a test binary runs again, as [`STRANGER`].
const AGAIN_VARIABLE: &str = "HORUS_TEST_AGAIN";

/// Makes a directory in memory that can serve as a `$HORUS_SHM_DIR`; removed when dropped.
pub fn shm_dir() -> TempDir {
    let private = PermissionsExt::from_mode(0o700);
    let mut builder = tempfile::Builder::new();
    builder
        .prefix("horus-test-")
        .permissions(private)
        .tempdir_in("/dev/shm")
        .unwrap()
}

/// Opens the default namespace in `dir`.
pub fn namespace(dir: &Path) -> Arc<Namespace> {
    try_namespace(dir).unwrap()
}

/// Opens the default namespace in `dir`, or returns the error.
pub fn try_namespace(dir: &Path) -> Result<Arc<Namespace>, NamespaceError> {
    Namespace::open(&NamespaceConfig::new(dir, NamespaceName::default()))
}

/// Opens the namespace that the parent gave a child by its environment.
pub fn inherited_namespace() -> Arc<Namespace> {
    Namespace::current().unwrap()
}

/// Moves this process into new namespaces; in a user namespace it keeps its user and group.
pub fn unshare(flags: i32) -> io::Result<()> {
    unshare_as(flags, None)
}

/// Like [`unshare`]; in a user namespace the user has the number `user`, if one is given.
pub fn unshare_as(flags: i32, user: Option<u32>) -> io::Result<()> {
    // SAFETY: the call takes nothing and cannot fail.
    let uid = unsafe { libc::geteuid() };
    // SAFETY: the call takes nothing and cannot fail.
    let gid = unsafe { libc::getegid() };
    // SAFETY: the call takes no pointer.
    if unsafe { libc::unshare(flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if flags & libc::CLONE_NEWUSER != 0 {
        // Without rights outside, groups can only be mapped after `setgroups` was given up.
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write(
            "/proc/self/uid_map",
            format!("{} {uid} 1", user.unwrap_or(uid)),
        )?;
        // WHY: a file system in the namespace makes no file of a group without a number there.
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    Ok(())
}

/// Keeps mounts that this process makes at or below `path` in its own mount namespace.
pub fn make_private(path: &Path) -> io::Result<()> {
    let mut refused = None;
    // WHY not the root alone: in a chroot it may be no mount point, and only a mount point can be
    // made private. The nearest mount point above `path` decides.
    for target in path.ancestors() {
        let target = CString::new(target.as_os_str().as_encoded_bytes())?;
        let (none, flags) = (c"none".as_ptr(), libc::MS_REC | libc::MS_PRIVATE);
        // SAFETY: all strings outlive the call; null data stands for none.
        if unsafe { libc::mount(none, target.as_ptr(), none, flags, null()) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) {
            return Err(error);
        }
        refused = Some(error);
    }
    Err(refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

/// Returns true if `error` is the refusal of a container or a chroot to make namespaces, or mounts
/// in them. Any other error is a failure of the test.
pub fn is_refusal(error: &io::Error) -> bool {
    let refusals = [
        libc::EPERM,
        libc::EACCES,
        // There is no mount point above the path to be mounted.
        libc::EINVAL,
        libc::ENOSYS,
        // Limits on the number of namespaces.
        libc::ENOSPC,
        libc::EUSERS,
    ];
    error
        .raw_os_error()
        .is_some_and(|errno| refusals.contains(&errno))
}

/// Gives up the rights of root for those of the user `uid`, whose first group is `gid`, and who is
/// in `groups`.
pub fn become_user(uid: u32, gid: u32, groups: &[u32]) {
    // SAFETY: `groups` is readable for its length.
    let set = unsafe { libc::setgroups(groups.len(), groups.as_ptr()) };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::setgid(gid) }, 0);
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::setuid(uid) }, 0);
    // WHY: the kernel gives the files in /proc/self to root when a process changes its user.
    // SAFETY: the call takes no pointer.
    let set = unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
    assert_eq!(set, 0);
}

/// Returns true, and records the skip, if the calling test cannot start processes of other users,
/// like that of `uid`.
pub fn skips_without_users(uid: u32) -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        skip_as_this_user("this test starts processes of other users: run it as root");
        return true;
    }
    match std::os::unix::fs::chown(shm_dir().path(), Some(uid), Some(uid)) {
        Ok(()) => false,
        Err(error) if is_refusal(&error) => {
            skip_as_this_user(format_args!(
                "no file can be given to user {uid}: {error}; run it as root of the machine"
            ));
            true
        }
        Err(error) => panic!("{error}"),
    }
}

/// Records that the calling test cannot run as this user. In a run as [`STRANGER`] that is no skip:
/// root has just run the same test.
pub fn skip_as_this_user(reason: impl std::fmt::Display) {
    if std::env::var_os(AGAIN_VARIABLE).is_none() {
        horus_testing::skip(reason);
    }
}

/// Runs all tests of this binary again as a user who is not root, except the one called `except`.
/// Skips with the reason where that is not possible.
pub fn test_again_as_stranger(except: &str) {
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let binary = std::env::current_exe().unwrap();
    let mut tests = Command::new(&binary);
    tests.env(AGAIN_VARIABLE, "1");
    tests
        .args(["--skip", except, "--nocapture"])
        .uid(STRANGER)
        .gid(STRANGER)
        .current_dir("/");
    match tests.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let cried = String::from_utf8_lossy(&output.stderr);
            print!("as user {STRANGER}: {said}");
            horus_testing::record_skips_of_child(&said);
            assert!(output.status.success(), "as user {STRANGER}: {said}{cried}");
        }
        Err(error) => horus_testing::skip(format_args!(
            "user {STRANGER} cannot execute {}: {error}; give others the right to enter its \
             directories",
            binary.display()
        )),
    }
}

/// Makes the kernel kill this process when the thread that started it ends.
pub fn die_with_parent() {
    // SAFETY: the call takes no pointer.
    let set = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    assert_eq!(set, 0);
}

/// Counts the descriptors that this process has open of files in `dir`, named or not.
pub fn open_descriptors(dir: &Path) -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.starts_with(dir)).count()
}

/// Returns the names of the topic files in a namespace, and of the lane files that belong to none
/// of them.
pub fn topic_files(namespace: &Namespace) -> Vec<String> {
    topic_files_in(&namespace.topics_path())
}

/// Does the same as [`topic_files`] for a directory of topics.
pub fn topic_files_in(dir: &Path) -> Vec<String> {
    let files = files_with_inodes(dir);
    let topics: Vec<_> = files.iter().map(|(_, inode)| *inode).collect();
    let topic_of = |name: &str| topic_inode(&dir.join(name));
    let belongs = |name: &str| topic_of(name).is_some_and(|topic| topics.contains(&topic));
    let names = files.into_iter().map(|(name, _)| name);
    names.filter(|name| !belongs(name)).collect()
}

/// Returns the names of all lane files in a namespace, in order.
pub fn lane_files(namespace: &Namespace) -> Vec<String> {
    let files = files_with_inodes(&namespace.topics_path()).into_iter();
    let mut names: Vec<_> = files.map(|(name, _)| name).collect();
    names.retain(|name| name.starts_with('.'));
    names.sort();
    names
}

fn files_with_inodes(dir: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.ino(),
            )
        })
        .collect()
}

/// Returns the inode of the topic file to which the lane file at `path` belongs.
fn topic_inode(path: &Path) -> Option<u64> {
    let is_lane_file = path.file_name()?.as_encoded_bytes().starts_with(b".");
    let mut inode = [0; 8];
    let offset = offset_of!(Header, topic_inode) as u64;
    let file = is_lane_file.then(|| File::open(path).ok())??;
    file.read_exact_at(&mut inode, offset).ok()?;
    Some(u64::from_le_bytes(inode))
}
