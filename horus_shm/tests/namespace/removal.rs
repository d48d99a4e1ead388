//! Removals from outside: of a namespace that the remover has not joined.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use horus_shm::{Namespace, NamespaceRemoveError};

use super::{config, set_mode};
use crate::common::{Child, eventually, prevent_child_starts, private_dir, say};

/// Puts another file in the place of a registry.
type Plant = fn(&Path);

#[test]
fn a_namespace_that_cannot_be_opened_can_be_removed() {
    let plants: [(&str, Plant); 6] = [
        ("none", |_| ()),
        ("damaged", |path| fs::write(path, [0x5a; 200]).unwrap()),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a symbolic link", |path| {
            symlink("/dev/null", path).unwrap()
        }),
        ("another registry", |path| {
            fs::copy(path.with_file_name("other"), path)
                .map(drop)
                .unwrap()
        }),
        ("open to others", |path| {
            fs::write(path, "").unwrap();
            set_mode(path, 0o666);
        }),
    ];
    // WHY: the removal finds out whether another process has one of the files open.
    let _guard = prevent_child_starts();
    for (what, plant) in plants {
        let dir = private_dir();
        let config = config(dir.path());
        let namespace = Namespace::open(&config).unwrap();
        let registry = namespace.path().join("registry");
        fs::write(namespace.topics_path().join("a+b"), "").unwrap();
        fs::create_dir(namespace.topics_path().join("directory")).unwrap();
        drop(namespace);
        fs::rename(&registry, registry.with_file_name("other")).unwrap();
        plant(&registry);
        fs::remove_file(registry.with_file_name("other")).unwrap();
        Namespace::remove_at(&config).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{what}");
        Namespace::remove_at(&config).unwrap();
        assert!(Namespace::open(&config).unwrap().is_current(), "{what}");
    }
}

#[test]
fn a_removal_that_leaves_the_files_of_others_is_an_error() {
    let dir = private_dir();
    let config = config(dir.path());
    let path = Namespace::open(&config).unwrap().path().to_path_buf();
    fs::write(path.join("notes"), "").unwrap();
    let error = Namespace::remove_at(&config).unwrap_err();
    assert!(matches!(error, NamespaceRemoveError::Io { .. }), "{error}");
    fs::remove_file(path.join("notes")).unwrap();
    Namespace::remove_at(&config).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_namespace_in_use_is_not_removed_from_outside() {
    let dir = private_dir();
    let config = config(dir.path());
    let namespace = Namespace::open(&config).unwrap();
    let expect_in_use = |pid: u32| match Namespace::remove_at(&config).unwrap_err() {
        NamespaceRemoveError::InUse {
            process: Some(process),
            ..
        } => {
            assert_eq!(process.pid, pid);
        }
        other => panic!("{other}"),
    };
    expect_in_use(std::process::id());
    drop(namespace);
    let mut child = Child::spawn("hold", dir.path());
    assert_eq!(child.listen(), "here");
    expect_in_use(child.pid());
    // Its lock has no effect any more, but its open topic does.
    fs::remove_file(dir.path().join("default/registry")).unwrap();
    expect_in_use(child.pid());
    child.kill();
    eventually("the child is gone", || {
        Namespace::remove_at(&config).is_ok()
    });
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Removes a namespace in a process that may not have as many open files as it has topics.
pub(super) fn remove_with_few_descriptors(dir: &Path) {
    let few = libc::rlimit {
        rlim_cur: 64,
        rlim_max: 64,
    };
    // SAFETY: the structure outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &few) }, 0);
    Namespace::remove_at(&config(dir)).unwrap();
    say("removed");
}

#[test]
fn a_namespace_of_more_topics_than_descriptors_can_be_removed() {
    let dir = private_dir();
    let namespace = Namespace::open(&config(dir.path())).unwrap();
    // WHY: no child of another test must keep one open.
    let guard = prevent_child_starts();
    for topic in 0..200 {
        fs::write(namespace.topics_path().join(format!("t{topic}")), "").unwrap();
    }
    drop((namespace, guard));
    let mut child = Child::spawn("remove with few descriptors", dir.path());
    assert_eq!(child.listen(), "removed");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
