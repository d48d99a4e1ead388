//! A container may have a boot id of its own. In memory, it shares topics with its host
//! nevertheless, and neither of them removes a latched message of the other. On a disk, it is
//! refused, and so is a process without a boot id.

use horus_testing as _;

mod common;
mod spawn;

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::ptr::null;
use std::sync::Arc;

use horus_shm::{
    Consumer, Namespace, OnStalled, Producer, RawConsumer, RawProducer, ReadMode, Request, Segment,
    TopicName, TypeInfo,
};
use tempfile::TempDir;

use common::{Child, fork, join_fork, say};
use spawn::{inherited_namespace, namespace, shm_dir};

const BOOT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";
/// The number of tmpfs, as statfs(2) lists it.
const TMPFS: u64 = 0x0102_1994;

fn topic(namespace: &Arc<Namespace>) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.persists, request.history) = (Some(true), Some(1));
    let name = TopicName::new("topic").unwrap();
    Segment::open_or_create(namespace, &name, &request).unwrap()
}

/// Publishes a message that stays after this process has left the topic.
fn latch(namespace: &Arc<Namespace>, message: u64) {
    let producer = RawProducer::new(topic(namespace), OnStalled::Full).unwrap();
    Producer::<u64>::new(producer).send(message).unwrap();
}

/// Returns the message that a process has left.
fn latched(namespace: &Arc<Namespace>) -> Option<u64> {
    let consumer = RawConsumer::new(topic(namespace), ReadMode::KeepLast).unwrap();
    Consumer::<u64>::new(consumer).recv()
}

/// Gives this process the boot id in `file`, as LXC and systemd-nspawn do for a container. If there
/// is no such file, hides the boot id, as systemd does for a service with `ProcSubset=pid`.
fn replace_boot_id(file: &Path) -> io::Result<()> {
    spawn::make_private(Path::new("/proc"))?;
    let dir = Path::new(BOOT_ID_PATH).parent().unwrap();
    let (target, kind, flags) = if file.exists() {
        (Path::new(BOOT_ID_PATH), c"none", libc::MS_BIND)
    } else {
        (dir, c"tmpfs", 0)
    };
    let file = CString::new(file.as_os_str().as_encoded_bytes())?;
    let target = CString::new(target.as_os_str().as_encoded_bytes())?;
    let (from, to) = (file.as_ptr(), target.as_ptr());
    // SAFETY: all strings outlive the call; null data stands for none.
    if unsafe { libc::mount(from, to, kind.as_ptr(), flags, null()) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Not a test: entry point of the re-executed child process, which is a container.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let (part, boot_id_file) = role.split_once(' ').unwrap();
    // WHY: only a process of one thread can enter a user namespace, and a forked child is one.
    let container = fork(|| {
        spawn::die_with_parent();
        let entered = spawn::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWUSER)
            .and_then(|()| replace_boot_id(Path::new(boot_id_file)));
        if let Err(error) = entered {
            say(format_args!("SKIP {error}"));
            return spawn::is_refusal(&error);
        }
        match part {
            "latch" => {
                latch(&inherited_namespace(), 8);
                say("latched");
            }
            "show" => {
                let namespace = inherited_namespace();
                say(format_args!("{:?}", latched(&namespace)));
            }
            "refused" => say(Namespace::current().unwrap_err()),
            other => panic!("no part called '{other}'"),
        }
        true
    });
    assert!(join_fork(container), "the process of the container failed");
}

/// A container whose boot id is not that of its host.
struct Container {
    dir: TempDir,
}

impl Container {
    fn without_boot_id() -> Self {
        Self { dir: shm_dir() }
    }

    fn with_own_boot_id() -> Self {
        let container = Self::without_boot_id();
        let id = "01234567-89ab-4cde-8f01-23456789abcd\n";
        fs::write(container.boot_id_file(), id).unwrap();
        container
    }

    fn boot_id_file(&self) -> PathBuf {
        self.dir.path().join("boot_id")
    }

    /// Plays `part` in this container, and returns the line that it prints. Skips and returns
    /// `None` if there can be no such container.
    fn play(&self, part: &str, shm_dir: &Path) -> Option<String> {
        let file = self.boot_id_file();
        let mut child = Child::spawn(&format!("{part} {}", file.display()), shm_dir);
        let said = child.listen();
        assert!(child.wait().success(), "{part}: {said}");
        if let Some(reason) = said.strip_prefix("SKIP ") {
            spawn::skip_as_this_user(format_args!("no mount namespace of its own: {reason}"));
            return None;
        }
        Some(said)
    }
}

#[test]
fn a_latched_message_crosses_the_border_of_a_container_with_a_boot_id_of_its_own() {
    let (container, dir) = (Container::with_own_boot_id(), shm_dir());
    // Between two calls, no process is in the namespace.
    latch(&namespace(dir.path()), 7);
    let Some(shown) = container.play("show", dir.path()) else {
        return;
    };
    assert_eq!(shown, "Some(7)");
    assert_eq!(latched(&namespace(dir.path())), Some(7));
    assert_eq!(container.play("latch", dir.path()).unwrap(), "latched");
    assert_eq!(latched(&namespace(dir.path())), Some(8));
    // And while the host uses the topic.
    let host = namespace(dir.path());
    let _topic = topic(&host);
    assert_eq!(container.play("show", dir.path()).unwrap(), "Some(8)");
}

/// Expects that the container gets an error with these texts for a directory that is on a disk, and
/// leaves the files there.
fn expect_refused_on_disk(container: &Container, wanted: &[&str]) {
    let on_disk = tempfile::Builder::new()
        .permissions(PermissionsExt::from_mode(0o700))
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    if file_system(on_disk.path()) == TMPFS {
        return horus_testing::skip("the directory for tests is in memory");
    }
    latch(&namespace(on_disk.path()), 7);
    let Some(refused) = container.play("refused", on_disk.path()) else {
        return;
    };
    for text in wanted {
        assert!(refused.contains(text), "{refused}");
    }
    assert_eq!(latched(&namespace(on_disk.path())), Some(7));
}

#[test]
fn a_container_with_a_boot_id_of_its_own_is_refused_in_a_directory_on_a_disk() {
    let wanted = [BOOT_ID_PATH, "a boot id of its own", "/dev/shm"];
    expect_refused_on_disk(&Container::with_own_boot_id(), &wanted);
}

#[test]
fn a_missing_boot_id_is_an_error_only_in_a_directory_on_a_disk() {
    let (container, dir) = (Container::without_boot_id(), shm_dir());
    latch(&namespace(dir.path()), 7);
    let Some(shown) = container.play("show", dir.path()) else {
        return;
    };
    assert_eq!(shown, "Some(7)");
    expect_refused_on_disk(&container, &[BOOT_ID_PATH, "ProcSubset=pid", "/dev/shm"]);
}

fn file_system(dir: &Path) -> u64 {
    let dir = CString::new(dir.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: `statfs` is plain data, valid as zeros.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the string and the status outlive the call.
    assert_eq!(unsafe { libc::statfs(dir.as_ptr(), &raw mut status) }, 0);
    status.f_type as u64
}
