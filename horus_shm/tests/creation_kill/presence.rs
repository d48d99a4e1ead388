//! A thread that creates a topic file beside another one of the same process that sweeps. An orphan
//! lane file names the inode of the new file, as one of an earlier file with that inode would. The
//! sweep must not take away the lock by which the process is present at the new file.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use horus_shm::{Namespace, sweep};

use super::{Check, Point, Scene, open_or_create, request, sweep_stops};
use crate::common::{eventually, say};
use crate::hostile::Image;
use crate::spawn;
use crate::tracer::{Stop, Victim, be_traced, mark};

/// The files by which the parent starts a sweep, and by which it is told of the end.
const BEGIN: &str = "begin";
const END: &str = "end";

/// Creates a topic, while another thread sweeps as soon as the parent says so.
pub(super) fn create_beside_a_sweep() {
    let namespace = spawn::inherited_namespace();
    let (sender, receiver) = std::sync::mpsc::channel();
    let sweeping = Arc::clone(&namespace);
    thread::spawn(move || {
        // SAFETY: the call takes nothing and cannot fail.
        sender.send(unsafe { libc::gettid() }).unwrap();
        sweep_when_told(&sweeping);
    });
    let sweeper = receiver.recv().unwrap();
    be_traced();
    say(format_args!(
        "/proc/{}/task/{sweeper}/syscall",
        std::process::id()
    ));
    mark();
    let _segment = open_or_create(&namespace).unwrap();
    mark();
    loop {
        thread::park();
    }
}

fn sweep_when_told(namespace: &Arc<Namespace>) {
    let dir = namespace.path().parent().unwrap();
    while !dir.join(BEGIN).exists() {
        thread::sleep(Duration::from_millis(1));
    }
    sweep(namespace).unwrap();
    File::create(dir.join(END)).unwrap();
    loop {
        thread::park();
    }
}

/// Returns the inode of the file without a name in the directory `topics` that a process has open.
fn unnamed_file(process: &Path, topics: &Path) -> Option<u64> {
    let descriptors = fs::read_dir(process.join("fd")).unwrap().flatten();
    let is_unnamed = |path: &Path| {
        let target = fs::read_link(path).unwrap_or_default();
        target.starts_with(topics) && target.to_string_lossy().ends_with(" (deleted)")
    };
    let path = descriptors
        .map(|entry| entry.path())
        .find(|path| is_unnamed(path))?;
    Some(fs::metadata(path).unwrap().ino())
}

/// Makes a lane file of a topic file with the inode `inode`, which has no name.
fn plant_orphan(namespace: &Namespace, inode: u64) {
    let mut image = Image::valid_lane(namespace, &request());
    image.set("topic_inode", inode.into());
    image.fix_checksum();
    let path = namespace
        .topics_path()
        .join(format!(".{:032x}.{inode}.1.2", 7));
    let file = File::create(&path).unwrap();
    file.set_len(image.file_bytes).unwrap();
    file.write_all_at(&image.bytes, 0).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Stops the thread that creates at its `stop`-th system call, and sweeps in the other one.
fn sweep_at(point: &Point, stop: usize) -> Option<Check> {
    let namespace = point.namespace.as_ref().unwrap();
    let mut victim = Victim::spawn("create beside a sweep", point.dir.path());
    let system_call = victim.listen();
    let system_call = Path::new(&system_call);
    for _ in 0..=stop {
        if victim.run_to_system_call() == Stop::Mark {
            return None;
        }
    }
    let process = system_call.ancestors().nth(3).unwrap();
    let Some(inode) = unnamed_file(process, &namespace.topics_path()) else {
        return Some(Ok(()));
    };
    plant_orphan(namespace, inode);
    let (begin, end) = (point.dir.path().join(BEGIN), point.dir.path().join(END));
    File::create(begin).unwrap();
    let waits_for_a_lock = || {
        let call = fs::read_to_string(system_call).unwrap();
        call.split(' ').next() == Some(&libc::SYS_futex.to_string())
    };
    eventually("a sweep", || end.exists() || waits_for_a_lock());
    victim.run_to_mark();
    eventually("the end of the sweep", || end.exists());
    let is_present = namespace.registry().is_topic_file_used_by_others(inode);
    let fault = "the process is not present at its topic file";
    Some(if is_present {
        Ok(())
    } else {
        Err(fault.into())
    })
}

#[test]
fn a_topic_file_is_in_use_wherever_a_sweep_of_its_process_met_its_creation() {
    sweep_stops(Scene::Namespace, |point, stop| sweep_at(&point, stop));
}
