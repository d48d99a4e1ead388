//! Namespaces: one per directory and process, private, and removed only when no process lives in
//! it.

mod common;
#[path = "namespace/removal.rs"]
mod removal;
mod spawn;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Child, eventually, fork, join_fork, park, private_dir, say};
use horus_shm::{
    FanoutShm, NameError, Namespace, NamespaceConfig, NamespaceError, NamespaceName,
    NamespaceRemoveError, RingOptions,
};
use horus_testing::is_torture;

fn config(dir: &Path) -> NamespaceConfig {
    NamespaceConfig::new(dir, NamespaceName::default())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Returns how often processes come and go.
fn visits() -> u32 {
    if is_torture() { 1000 } else { 100 }
}

#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    let dir = PathBuf::from(std::env::var_os("HORUS_SHM_DIR").unwrap());
    match role.as_str() {
        "open" => {
            let namespace = Namespace::current().unwrap();
            say(namespace.registry().own_owner_word().to_bits());
            park();
        }
        "environment" => environment(&dir),
        "remove with few descriptors" => removal::remove_with_few_descriptors(&dir),
        "hold" => {
            let namespace = Namespace::current().unwrap();
            let ring = FanoutShm::<u64>::create(&namespace, "held", &RingOptions::default());
            say("here");
            park();
            drop(ring);
        }
        "fork" => {
            let namespace = Namespace::current().unwrap();
            let child = fork(|| {
                assert!(namespace.registry().is_forked() && !namespace.is_current());
                let mine = Namespace::current().unwrap();
                assert!(
                    mine.is_current()
                        && mine.registry().own_owner_word()
                            != namespace.registry().own_owner_word()
                );
                assert!(
                    !mine
                        .registry()
                        .is_dead(namespace.registry().own_owner_word())
                );
                assert!(namespace.remove().is_err());
                drop((namespace, mine));
                Namespace::current().unwrap().is_current()
            });
            say(join_fork(child));
        }
        "come and go" => {
            for _ in 0..visits() {
                let namespace = Namespace::current().unwrap();
                match namespace.remove() {
                    Ok(()) => {}
                    Err(NamespaceRemoveError::InUse { .. }) => {}
                    // Between the two calls another process cannot have removed the namespace,
                    // since this process lives in it.
                    Err(other) => panic!("{other}"),
                }
            }
            say("ok");
        }
        "come and be gone" => {
            for _ in 0..visits() {
                // WHY again: the parent may be in the namespace at this moment.
                while let Err(error) = Namespace::current().unwrap().remove() {
                    let in_use = matches!(error, NamespaceRemoveError::InUse { .. });
                    assert!(in_use, "{error}");
                }
                for _ in 0..20 {
                    assert!(!dir.join("default").exists(), "it came back");
                    std::thread::yield_now();
                }
            }
            say("ok");
        }
        umask => {
            let umask = u32::from_str_radix(umask, 8).unwrap();
            // SAFETY: the call takes no pointer.
            unsafe { libc::umask(umask) };
            drop(Namespace::current().unwrap());
            say("ok");
        }
    }
}

/// Runs in a process of its own, because it changes the environment.
fn environment(dir: &Path) {
    let set = |name: &str, value: &str| {
        // SAFETY: the test harness runs this test alone. The harness's own thread waits for the end
        // of the test and reads no variable meanwhile.
        unsafe { std::env::set_var(name, value) };
    };
    let from_env = || NamespaceConfig::from_env().unwrap();
    assert_eq!(from_env(), config(dir));
    set("HORUS_NAMESPACE", "lab_2");
    assert_eq!(from_env().name().as_str(), "lab_2");
    set("HORUS_NAMESPACE", "lab/2");
    match Namespace::current() {
        Err(NamespaceError::Name(NameError::BadCharacter {
            character: '/',
            at: 3,
            ..
        })) => {}
        other => panic!("{other:?}"),
    }
    set("HORUS_NAMESPACE", "");
    set("HORUS_SHM_DIR", "");
    // SAFETY: the call takes nothing and cannot fail.
    let uid = unsafe { libc::geteuid() };
    assert_eq!(
        from_env(),
        config(Path::new(&format!("/dev/shm/horus-{uid}")))
    );
    let of_group = config(Path::new("/dev/shm/horus-g1234"));
    let of_group = of_group.with_group("1234").unwrap();
    assert_eq!(from_env().with_group("1234").unwrap(), of_group);
    set("HORUS_SHM_GROUP", "1234");
    assert_eq!(from_env(), of_group);
    set("HORUS_SHM_GROUP", "no such group");
    assert!(matches!(
        NamespaceConfig::from_env(),
        Err(NamespaceError::UnknownGroup { .. })
    ));
    set("HORUS_SHM_GROUP", "");

    std::env::set_current_dir(dir.parent().unwrap()).unwrap();
    set("HORUS_SHM_DIR", dir.file_name().unwrap().to_str().unwrap());
    let namespace = Namespace::current().unwrap();
    assert_eq!(namespace.path(), dir.join("default"), "absolute");
    for dir in ["/", "..", "a/.."] {
        set("HORUS_SHM_DIR", dir);
        let error = Namespace::current().unwrap_err();
        assert!(
            matches!(error, NamespaceError::BadDirectory { .. }),
            "{dir}: {error}"
        );
    }
    set("HORUS_SHM_DIR", "missing/dir");
    let error = Namespace::current().unwrap_err();
    assert!(matches!(error, NamespaceError::Io { .. }), "{error}");
    assert!(error.to_string().contains("/missing"), "{error}");
    say("ok");
}

#[test]
fn the_environment_chooses() {
    let dir = private_dir();
    assert_eq!(Child::spawn("environment", dir.path()).listen(), "ok");
}

#[test]
fn opening_twice_gives_the_same() {
    let dir = private_dir();
    let first = Namespace::open(&config(dir.path())).unwrap();
    let second = Namespace::open(&config(&dir.path().join("."))).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    let other = NamespaceConfig::new(dir.path(), NamespaceName::new("other").unwrap());
    let other = Namespace::open(&other).unwrap();
    assert!(!Arc::ptr_eq(&first, &other));
    assert_ne!(first.registry().id(), other.registry().id());

    let old = first.registry().own_owner_word();
    drop((first, second));
    let again = Namespace::open(&config(dir.path())).unwrap();
    assert_ne!(
        again.registry().own_owner_word(),
        old,
        "the last one to go left"
    );
}

#[test]
fn everything_is_private_whatever_the_umask() {
    for umask in ["000", "022", "077", "277", "777"] {
        let dir = private_dir();
        let base = dir.path().join("base");
        assert_eq!(Child::spawn(umask, &base).listen(), "ok", "umask {umask}");
        let namespace = base.join("default");
        for path in [&base, &namespace, &namespace.join("topics")] {
            assert_eq!(mode(path), 0o700, "umask {umask}: {}", path.display());
        }
        assert_eq!(mode(&namespace.join("registry")), 0o600, "umask {umask}");
        assert_eq!(fs::read_dir(&namespace).unwrap().count(), 2);
    }
}

/// Returns the directories of a namespace, each of which is checked.
fn directories(base: &Path) -> [PathBuf; 3] {
    [
        base.to_path_buf(),
        base.join("default"),
        base.join("default/topics"),
    ]
}

#[test]
fn a_directory_open_to_others_is_refused_and_left_alone() {
    for index in 0..3 {
        for bad_mode in [0o777, 0o755, 0o710, 0o701, 0o1777, 0o600] {
            let dir = private_dir();
            let base = dir.path().join("base");
            drop(Namespace::open(&config(&base)).unwrap());
            let bad = &directories(&base)[index];
            fs::write(bad.join("something"), "").unwrap();
            set_mode(bad, bad_mode);
            match Namespace::open(&config(&base)).unwrap_err() {
                NamespaceError::Refused {
                    path,
                    mode,
                    wanted_mode: 0o700,
                    ..
                } => {
                    assert_eq!((&path, mode), (bad, bad_mode & 0o777));
                }
                other => panic!("{}, mode {bad_mode:o}: {other}", bad.display()),
            }
            assert_eq!(mode(bad), bad_mode);
            // WHY: otherwise only root could remove it.
            set_mode(bad, 0o700);
        }
    }
}

/// Makes directories such as a process leaves that is killed while it makes the `directories`, and
/// returns their paths.
fn leave_unfinished(directories: &[PathBuf; 3]) -> [PathBuf; 3] {
    directories.each_ref().map(|dir| {
        let name = dir.file_name().unwrap().to_str().unwrap();
        let unfinished = dir.with_file_name(format!(".{name}.{:032x}", 0xab_u128 << 120));
        fs::create_dir(&unfinished).unwrap();
        unfinished
    })
}

#[test]
fn unfinished_directories_of_killed_makers_are_removed() {
    let dir = private_dir();
    let base = dir.path().join("base");
    let (config, directories) = (config(&base), directories(&base));
    let namespace = Namespace::open(&config).unwrap();
    // A process that enters removes those of the namespace, and the maker of the first directory
    // those beside it.
    let [beside, first, second] = leave_unfinished(&directories);
    drop(namespace);
    let namespace = Namespace::open(&config).unwrap();
    assert!(!first.exists() && !second.exists());
    drop(namespace);
    fs::remove_dir_all(&base).unwrap();
    let namespace = Namespace::open(&config).unwrap();
    assert!(!beside.exists());
    // A removal removes them, too.
    let [beside, ..] = leave_unfinished(&directories);
    namespace.remove().unwrap();
    assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    fs::remove_dir(beside).unwrap();
    drop(Namespace::open(&config).unwrap());
    leave_unfinished(&directories);
    let other = base.join(".default.other");
    fs::create_dir(&other).unwrap();
    Namespace::remove_at(&config).unwrap();
    fs::remove_dir(other).unwrap();
    assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
}

/// Nor is it made again: its maker gave it its rights before its name.
#[test]
fn an_empty_directory_that_lacks_rights_of_its_owner_is_refused() {
    for bad_mode in [0, 0o600, 0o500, 0o300] {
        let dir = private_dir();
        let base = dir.path().join("base");
        drop(Namespace::open(&config(&base)).unwrap());
        let topics = &directories(&base)[2];
        set_mode(topics, bad_mode);
        let refused = Namespace::open(&config(&base)).unwrap_err();
        assert!(
            matches!(refused, NamespaceError::Refused { mode, .. } if mode == bad_mode),
            "{refused}"
        );
        assert_eq!(mode(topics), bad_mode);
    }
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let dir = private_dir();
    let base = dir.path().join("base");
    fs::create_dir(&base).unwrap();
    set_mode(&base, 0o700);
    // Only root can change the owner; other users test with root's own directories.
    let foreign = if chown(&base, Some(4711), None).is_ok() {
        &base
    } else {
        Path::new("/root")
    };
    let wanted = fs::metadata(foreign).unwrap().uid();
    if wanted == fs::metadata(dir.path()).unwrap().uid() {
        // This user is root of a container of one user.
        return horus_testing::skip("no directory can be given to another user, and none has one");
    }
    let error = Namespace::open(&config(foreign)).unwrap_err();
    assert!(
        matches!(error, NamespaceError::Refused { uid, .. } if uid == wanted),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("uid {wanted} with mode 0700")),
        "{error}"
    );
}

#[test]
fn a_path_that_is_no_directory_is_refused() {
    for index in 0..3 {
        for is_symlink in [true, false] {
            let dir = private_dir();
            let base = dir.path().join("base");
            let moved = dir.path().join("moved");
            drop(Namespace::open(&config(&base)).unwrap());
            let bad = &directories(&base)[index];
            fs::rename(bad, &moved).unwrap();
            if is_symlink {
                symlink(&moved, bad).unwrap();
            } else {
                fs::write(bad, "").unwrap();
            }
            match Namespace::open(&config(&base)).unwrap_err() {
                NamespaceError::NotADirectory { path } => assert_eq!(&path, bad),
                other => panic!("{}: {other}", bad.display()),
            }
        }
    }
}

/// A file system that has no new directories is no directory that others keep removing.
#[test]
fn a_directory_that_cannot_be_created_is_refused_with_the_reason() {
    let error = Namespace::open(&config(Path::new("/proc/nope"))).unwrap_err();
    assert!(
        matches!(
            &error,
            NamespaceError::Io {
                doing: "create",
                ..
            }
        ),
        "{error}"
    );
    let text = error.to_string();
    let expected = "cannot create the directory /proc/nope: ";
    assert!(
        text.starts_with(expected) && text.contains("os error"),
        "{text}"
    );
}

#[test]
fn a_namespace_that_a_user_removed_is_made_anew() {
    let removals: [fn(&Path); 4] = [
        |base| fs::remove_dir_all(base).unwrap(),
        |base| fs::remove_dir_all(base.join("default")).unwrap(),
        |base| fs::remove_dir_all(base.join("default/topics")).unwrap(),
        |base| fs::remove_file(base.join("default/registry")).unwrap(),
    ];
    for (index, remove) in removals.into_iter().enumerate() {
        let dir = private_dir();
        let base = dir.path().join("base");
        let old = Namespace::open(&config(&base)).unwrap();
        assert!(old.is_current());
        remove(&base);
        assert!(!old.is_current(), "removal {index}");
        let new = Namespace::open(&config(&base)).unwrap();
        assert!(
            new.is_current() && !Arc::ptr_eq(&old, &new),
            "removal {index}"
        );
        assert!(Arc::ptr_eq(&new, &Namespace::open(&config(&base)).unwrap()));
        assert!(matches!(old.remove(), Err(NamespaceRemoveError::Replaced { .. })) || index == 2);
    }
}

#[test]
fn only_an_unattended_namespace_is_removed() {
    let dir = private_dir();
    let namespace = Namespace::open(&config(dir.path())).unwrap();
    let topic = namespace.topics_path().join("a+b");
    fs::write(&topic, "").unwrap();

    let mut child = Child::spawn("open", dir.path());
    let owner = horus_shm::Owner::from_bits(child.listen_u64());
    match namespace.remove().unwrap_err() {
        NamespaceRemoveError::InUse {
            process: Some(process),
            ..
        } => {
            assert_eq!(process.pid, child.pid());
        }
        other => panic!("{other}"),
    }
    assert!(topic.exists() && namespace.is_current());
    child.kill();
    eventually("the child is dead", || namespace.registry().is_dead(owner));
    namespace.remove().unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(matches!(
        namespace.remove(),
        Err(NamespaceRemoveError::Replaced { .. })
    ));
    assert!(Namespace::open(&config(dir.path())).unwrap().is_current());
}

#[test]
fn a_failed_removal_lets_other_processes_in_again() {
    let dir = private_dir();
    let namespace = Namespace::open(&config(dir.path())).unwrap();
    let stranger = namespace.topics_path().join("directory");
    fs::create_dir(&stranger).unwrap();
    fs::write(stranger.join("file"), "").unwrap();
    assert!(matches!(
        namespace.remove(),
        Err(NamespaceRemoveError::Io { .. })
    ));
    let mut child = Child::spawn("open", dir.path());
    let owner = horus_shm::Owner::from_bits(child.listen_u64());
    assert!(!namespace.registry().is_dead(owner));
    child.kill();
    eventually("the child is dead", || namespace.registry().is_dead(owner));
    fs::remove_dir_all(&stranger).unwrap();
    namespace.remove().unwrap();
}

#[test]
fn a_forked_child_opens_its_own() {
    let dir = private_dir();
    assert_eq!(Child::spawn("fork", dir.path()).listen(), "true");
}

#[test]
fn processes_come_and_go_without_an_error() {
    let dir = private_dir();
    let mut children: Vec<_> = (0..4)
        .map(|_| Child::spawn("come and go", dir.path()))
        .collect();
    for child in &mut children {
        assert_eq!(child.listen(), "ok");
    }
}

#[test]
fn opening_an_existing_namespace_creates_nothing() {
    let dir = private_dir();
    let base = dir.path().join("base");
    let config = config(&base);
    let expect_none = || assert!(Namespace::open_existing(&config).unwrap().is_none());
    expect_none();
    assert!(!base.exists());
    let [base, namespace, topics] = directories(&base);
    for made in [&base, &namespace, &topics] {
        fs::create_dir(made).unwrap();
        set_mode(made, 0o700);
        expect_none();
    }
    let found = fs::read_dir(&namespace).unwrap().count();
    assert_eq!(found, 1, "no registry was made");
    // A registry alone is no namespace either.
    drop(Namespace::open(&config).unwrap());
    fs::remove_dir(&topics).unwrap();
    expect_none();
    assert!(!topics.exists());
    let open = Namespace::open(&config).unwrap();
    let found = Namespace::open_existing(&config).unwrap().unwrap();
    assert!(Arc::ptr_eq(&open, &found));
    set_mode(&namespace, 0o755);
    let refused = Namespace::open_existing(&config);
    assert!(
        matches!(refused, Err(NamespaceError::Refused { .. })),
        "{refused:?}"
    );
}

/// A namespace that is removed at the same moment stays removed.
#[test]
fn opening_an_existing_namespace_brings_none_back() {
    let dir = private_dir();
    let config = config(dir.path());
    let mut child = Child::spawn("come and be gone", dir.path());
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ended = common::Raised(&has_ended);
            assert_eq!(child.listen(), "ok");
        });
        while !has_ended.load(Ordering::Relaxed) {
            drop(Namespace::open_existing(&config).unwrap());
        }
    });
}

#[test]
fn all_of_this_holds_for_a_user_who_is_not_root() {
    spawn::test_again_as_stranger("all_of_this_holds");
}
