//! A removal from outside that is stopped while another process enters the namespace: the removal
//! is refused, or the process is in a namespace that was made afterwards.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use horus_shm::{Namespace, NamespaceConfig, NamespaceRemoveError};
use horus_testing::PointSample;

use super::{STOPS_MAX, STRIDE, open_or_create, said};
use crate::common::{park, say};
use crate::spawn;
use crate::tracer::{Stop, Victim, be_traced, mark};

/// Removes the namespace from outside, and reports the result.
pub(super) fn remove() {
    be_traced();
    mark();
    let removed = Namespace::remove_at(&NamespaceConfig::from_env().unwrap());
    mark();
    say(match removed {
        Ok(()) => "removed".to_owned(),
        Err(NamespaceRemoveError::InUse { .. }) => "in use".to_owned(),
        Err(error) => error.to_string().replace('\n', " "),
    });
    mark();
    park();
}

/// The namespace that the removal finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    /// No process is in it. Another process enters it, removes it, and makes a new one.
    Unused,
    /// Its registry is damaged.
    Damaged,
    /// It has no registry and no topics.
    Empty,
}

impl Scene {
    fn prepare(self, dir: &Path) {
        let namespace = spawn::namespace(dir);
        let path = namespace.path().to_path_buf();
        drop(namespace);
        match self {
            Self::Unused => {}
            Self::Damaged => fs::write(path.join("registry"), "nonsense").unwrap(),
            Self::Empty => {
                fs::remove_file(path.join("registry")).unwrap();
                fs::remove_dir(path.join("topics")).unwrap();
            }
        }
    }

    fn enter(self, dir: &Path) -> Arc<Namespace> {
        if self == Self::Unused {
            spawn::namespace(dir).remove().unwrap();
        }
        spawn::namespace(dir)
    }

    /// Stops a removal at its `stop`-th system call, enters the namespace, and lets the removal
    /// continue. Returns `None` if it has fewer system calls.
    fn stop_at(self, stop: usize) -> Option<Result<(), String>> {
        let dir = spawn::shm_dir();
        self.prepare(dir.path());
        let mut victim = Victim::spawn("remove from outside", dir.path());
        for _ in 0..=stop {
            if victim.run_to_system_call() == Stop::Mark {
                return None;
            }
        }
        // Nobody can enter while the removal holds the lock.
        if is_locked(&dir.path().join("default/registry")) {
            return Some(Ok(()));
        }
        let namespace = self.enter(dir.path());
        victim.run_to_mark();
        victim.run_to_mark();
        let report = victim.listen();
        let is_current = namespace.is_current();
        let topic = open_or_create(&namespace).map_err(said).err();
        let is_well = is_current && topic.is_none() && ["removed", "in use"].contains(&&*report);
        let fault = format!("{report}, current: {is_current}, error of a topic: {topic:?}");
        Some(if is_well { Ok(()) } else { Err(fault) })
    }
}

/// Returns true if another process has a lock on the file at `path`, which may be missing.
fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    // SAFETY: the structure has only integers, for which zero is valid.
    let mut found: libc::flock = unsafe { std::mem::zeroed() };
    found.l_type = libc::F_WRLCK as _;
    // SAFETY: `found` is valid for the writes of the call.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut found) };
    assert_eq!(done, 0);
    found.l_type != libc::F_UNLCK as i16
}

#[test]
fn a_process_that_enters_stays_in_its_namespace_wherever_a_removal_was_stopped() {
    for scene in [Scene::Unused, Scene::Damaged, Scene::Empty] {
        let (mut stops, mut faults) = (0, Vec::new());
        for stop in PointSample::every(STRIDE).points() {
            let Some(outcome) = scene.stop_at(stop) else {
                break;
            };
            faults.extend(outcome.err().map(|fault| format!("|   at {stop}: {fault}")));
            stops = stop + 1;
            assert!(stops < STOPS_MAX, "{stops} stops");
        }
        println!(
            "| removal of {scene:?} | {stops} stops at system calls | {} faults |",
            faults.len()
        );
        faults.iter().for_each(|fault| println!("{fault}"));
        assert!(stops > 20, "{stops} stops");
        assert!(faults.is_empty(), "{} faults", faults.len());
    }
}
