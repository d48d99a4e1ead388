//! Permissions: files are private whatever the umask is, a file that another user could own or
//! change is refused by an error that names its owner, and only readers that are declared to be
//! alone map messages writable.

use horus_testing as _;

mod common;
mod hostile;
mod spawn;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use horus_shm::internals::set_tuning;
use horus_shm::{
    FanoutShm, MpscShm, Namespace, NamespaceConfig, NamespaceError, NamespaceName, OpenError,
    RegistryError, RingOptions, Segment, SpscShm, sweep,
};

use common::{Child, fork, join_fork};
use hostile::{FILE_NAME, expect_usable, open_request, request, topic};
use spawn::STRANGER;

/// Returns true if this test cannot give files to [`STRANGER`], as root of a container of one user
/// cannot.
fn skips_without_strangers() -> bool {
    let dir = spawn::shm_dir();
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::geteuid() } == STRANGER {
        spawn::skip_as_this_user(format_args!(
            "this test runs as user {STRANGER}, so its files are not another user's"
        ));
        return true;
    }
    match std::os::unix::fs::chown(dir.path(), Some(STRANGER), Some(STRANGER)) {
        Ok(()) => false,
        Err(error) if spawn::is_refusal(&error) => {
            spawn::skip_as_this_user(format_args!(
                "no file can be given to user {STRANGER}: {error}; run it as root of the machine"
            ));
            true
        }
        Err(error) => panic!("{error}"),
    }
}

fn config(dir: &Path) -> NamespaceConfig {
    NamespaceConfig::new(dir, NamespaceName::default())
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns the directories of a namespace in `base`.
fn directories(base: &Path) -> [PathBuf; 3] {
    [
        base.to_path_buf(),
        base.join("default"),
        base.join("default/topics"),
    ]
}

/// Makes a directory that any user may pass through, and in it one for a namespace.
fn open_place() -> (tempfile::TempDir, PathBuf) {
    let dir = spawn::shm_dir();
    set_mode(dir.path(), 0o711);
    let base = dir.path().join("base");
    (dir, base)
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let dir = PathBuf::from(std::env::var_os("HORUS_SHM_DIR").unwrap());
    if let Some(umask) = role.strip_prefix("umask ") {
        // SAFETY: the call takes no pointer.
        unsafe { libc::umask(u32::from_str_radix(umask, 8).unwrap()) };
        let namespace = spawn::inherited_namespace();
        let segment = Segment::create(&namespace, &topic(), &request()).unwrap();
        expect_usable(&segment, umask);
        common::say("here");
        common::park();
        return;
    }
    become_stranger();
    match role.as_str() {
        "stranger opens" => match Namespace::open(&config(&dir)) {
            Ok(_) => common::say("opened"),
            Err(error) => common::say(
                format_args!("{error:?} {error}")
                    .to_string()
                    .replace('\n', " "),
            ),
        },
        "stranger lives" => {
            let namespace = spawn::inherited_namespace();
            let segment = Segment::create(&namespace, &topic(), &request()).unwrap();
            expect_usable(&segment, "as a stranger");
            sweep(&namespace).unwrap();
            common::say("here");
        }
        other => panic!("no part called '{other}'"),
    }
    common::park();
}

/// Drops the rights of root for good, as a daemon does.
fn become_stranger() {
    // SAFETY: no groups are read where their number is zero.
    assert_eq!(unsafe { libc::setgroups(0, std::ptr::null()) }, 0);
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::setgid(STRANGER) }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setuid(STRANGER) }, 0);
}

#[test]
fn modes_are_exact_under_any_umask() {
    for umask in ["000", "022", "027", "077", "177", "777"] {
        let (_dir, base) = open_place();
        let mut child = Child::spawn(&format!("umask {umask}"), &base);
        assert_eq!(child.listen(), "here");
        for dir in directories(&base) {
            assert_eq!(mode(&dir), 0o700, "umask {umask}: {}", dir.display());
        }
        for file in ["default/registry", "default/topics/arm+joint"] {
            let file = base.join(file);
            assert_eq!(mode(&file), 0o600, "umask {umask}: {}", file.display());
            let found = fs::metadata(&file).unwrap();
            // SAFETY: the call takes nothing and cannot fail.
            let me = unsafe { libc::geteuid() };
            assert_eq!((found.uid(), found.nlink()), (me, 1));
        }
        child.finish();
        assert_eq!(
            fs::read_dir(base.join("default/topics")).unwrap().count(),
            0
        );
    }
}

#[test]
fn a_directory_that_became_open_to_others_is_refused_to_newcomers_and_left_as_it_is() {
    for index in 0..3 {
        for bad_mode in [0o755, 0o770, 0o707, 0o740, 0o711, 0o1777, 0o500] {
            let (_dir, base) = open_place();
            let mut child = Child::spawn("umask 077", &base);
            assert_eq!(child.listen(), "here");
            let bad = &directories(&base)[index];
            set_mode(bad, bad_mode);
            let error = Namespace::open(&config(&base)).unwrap_err();
            let told = error.to_string();
            match error {
                NamespaceError::Refused {
                    path,
                    mode,
                    uid,
                    wanted_uid,
                    wanted_mode: 0o700,
                } => {
                    assert_eq!(
                        (&path, mode, uid),
                        (bad, bad_mode & 0o777, wanted_uid),
                        "{told}"
                    );
                }
                other => panic!("{bad_mode:o}: {other:?}"),
            }
            for part in [
                bad.display().to_string(),
                format!("{:04o}", bad_mode & 0o777),
            ] {
                assert!(told.contains(&part), "no '{part}' in: {told}");
            }
            assert_eq!(mode(bad), bad_mode, "the mode was changed");
            set_mode(bad, 0o700);
            let namespace = Namespace::open(&config(&base)).unwrap();
            let segment = Segment::open(&namespace, &topic(), &open_request()).unwrap();
            expect_usable(&segment, "closed again");
        }
    }
}

#[test]
fn a_registry_that_became_open_to_others_is_refused() {
    for bad_mode in [0o666, 0o640, 0o604, 0o777] {
        let (_dir, base) = open_place();
        drop(Namespace::open(&config(&base)).unwrap());
        let registry = base.join("default/registry");
        set_mode(&registry, bad_mode);
        match Namespace::open(&config(&base)).unwrap_err() {
            NamespaceError::Registry(RegistryError::Refused {
                path,
                mode,
                links: 1,
                ..
            }) => {
                assert_eq!((path, mode), (registry.clone(), bad_mode));
            }
            other => panic!("{bad_mode:o}: {other:?}"),
        }
        assert_eq!(mode(&registry), bad_mode);
    }
}

#[test]
fn a_place_for_everybody_is_no_directory_of_ours() {
    let shared = spawn::shm_dir();
    set_mode(shared.path(), 0o1777);
    for dir in [shared.path(), Path::new("/dev/shm")] {
        let name = NamespaceName::new("horus-test-nobody").unwrap();
        let error = Namespace::open(&NamespaceConfig::new(dir, name.clone())).unwrap_err();
        assert!(
            matches!(error, NamespaceError::Refused { mode: 0o777, .. }),
            "{error:?}"
        );
        assert!(!dir.join(name.as_str()).exists());
    }
}

#[test]
fn files_of_another_user_are_refused_even_to_root() {
    if skips_without_strangers() {
        return;
    }
    let (_dir, base) = open_place();
    drop(Namespace::open(&config(&base)).unwrap());
    for dir in directories(&base) {
        chown(&dir, Some(STRANGER), Some(STRANGER)).unwrap();
        let error = Namespace::open(&config(&base)).unwrap_err();
        let told = error.to_string();
        match error {
            NamespaceError::Refused {
                path,
                uid: STRANGER,
                mode: 0o700,
                wanted_uid: 0,
                ..
            } => {
                assert_eq!(path, dir);
            }
            other => panic!("{other:?}"),
        }
        for part in [
            dir.display().to_string(),
            format!("uid {STRANGER}"),
            "0700".into(),
        ] {
            assert!(told.contains(&part), "no '{part}' in: {told}");
        }
        chown(&dir, Some(0), Some(0)).unwrap();
    }
    let registry = base.join("default/registry");
    chown(&registry, Some(STRANGER), None).unwrap();
    match Namespace::open(&config(&base)).unwrap_err() {
        NamespaceError::Registry(RegistryError::Refused {
            path,
            uid: STRANGER,
            ..
        }) => {
            assert_eq!(path, registry);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_topic_file_of_another_user_is_not_a_topic() {
    if skips_without_strangers() {
        return;
    }
    let scene = hostile::Scene::new();
    scene.plant(&scene.image());
    chown(scene.path(), Some(STRANGER), Some(STRANGER)).unwrap();
    for answer in [
        scene.open(),
        scene.open_or_create(),
        scene.create(),
        scene.inspect(),
    ] {
        let error = answer.unwrap_err();
        assert!(matches!(error, OpenError::NotATopic { .. }), "{error:?}");
        hostile::expect_actionable(&error, &scene.path(), "another user's");
        for uid in [STRANGER, 0] {
            assert!(error.to_string().contains(&format!(" {uid}")), "{error}");
        }
    }
    assert_eq!(sweep(&scene.namespace).unwrap().foreign, [FILE_NAME]);
    assert!(scene.path().exists());
}

#[test]
fn a_stranger_is_refused_the_namespace_of_root_by_an_error_that_names_its_owner() {
    if skips_without_strangers() {
        return;
    }
    for base_mode in [0o700, 0o711, 0o755, 0o777] {
        let (_dir, base) = open_place();
        let namespace = Namespace::open(&config(&base)).unwrap();
        let segment = Segment::create(&namespace, &topic(), &request()).unwrap();
        set_mode(&base, base_mode);
        let mut child = Child::spawn("stranger opens", &base);
        let said = child.listen();
        assert!(said.starts_with("Refused"), "{base_mode:o}: {said}");
        let mode = format!("{base_mode:04o}");
        let parts = [
            &base.display().to_string(),
            "uid 0",
            &mode,
            &format!("uid {STRANGER}"),
        ];
        for part in parts {
            assert!(said.contains(part), "no '{part}' in: {said}");
        }
        expect_usable(&segment, "after the refused open of a stranger");
        assert_eq!(fs::read_dir(&base).unwrap().count(), 1);
    }
}

#[test]
fn without_a_place_the_error_names_the_path_and_nothing_is_made_elsewhere() {
    if skips_without_strangers() {
        return;
    }
    let (dir, base) = open_place();
    let mut child = Child::spawn("stranger opens", &base);
    let said = child.listen();
    assert!(
        said.starts_with("Io") && said.contains("PermissionDenied"),
        "{said}"
    );
    assert!(said.contains(&base.display().to_string()), "{said}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    set_mode(dir.path(), 0o700);
    let said = Child::spawn("stranger opens", &base).listen();
    assert!(
        said.starts_with("Io") && said.contains(&base.display().to_string()),
        "{said}"
    );
}

#[test]
fn a_process_that_gave_up_root_lives_in_a_directory_of_its_own() {
    if skips_without_strangers() {
        return;
    }
    let (_dir, base) = open_place();
    fs::create_dir(&base).unwrap();
    set_mode(&base, 0o700);
    chown(&base, Some(STRANGER), Some(STRANGER)).unwrap();
    let mut child = Child::spawn("stranger lives", &base);
    assert_eq!(child.listen(), "here");
    let registry = fs::metadata(base.join("default/registry")).unwrap();
    assert_eq!(
        (registry.uid(), registry.mode() & 0o7777),
        (STRANGER, 0o600)
    );
    // Root does not enter either.
    let error = Namespace::open(&config(&base)).unwrap_err();
    assert!(
        matches!(error, NamespaceError::Refused { uid: STRANGER, .. }),
        "{error:?}"
    );
    child.finish();
}

#[test]
fn all_of_this_holds_for_a_user_who_is_not_root() {
    spawn::test_again_as_stranger("all_of_this_holds");
}

/// Returns the permissions, such as `r--s`, of the mappings that this process has of lane files in
/// `dir` for reading. (The writer maps a lane file before the file has a name.)
fn reader_mappings(dir: &Path) -> Vec<String> {
    let lane_files = format!("{}/default/topics/.", dir.display());
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let lines = maps.lines().filter(|line| line.contains(&lane_files));
    lines
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect()
}

/// Sends a message through a ring, and returns the permissions with which the consumer maps the
/// slots. Checks that a forked child cannot write to them, and that no writable mapping is left
/// when the consumer is dropped.
macro_rules! consumer_permissions {
    ($ring:ident, $consumers:expr) => {
        consumer_permissions!($ring, $consumers, 8)
    };
    ($ring:ident, $consumers:expr, $slots:expr) => {{
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let options = RingOptions {
            consumers: $consumers,
            ..RingOptions::capacity($slots)
        };
        let ring = $ring::<u64>::create(&namespace, "topic", &options).unwrap();
        let (mut producer, mut consumer) = (ring.producer().unwrap(), ring.consumer().unwrap());
        producer.send(7).unwrap();
        assert_eq!(consumer.recv(), Some(7));
        let child = fork(|| reader_mappings(dir.path()) == ["r--s"]);
        assert!(join_fork(child), "a child can write to shared slots");
        let mut found = reader_mappings(dir.path());
        assert_eq!(found.len(), 1, "{found:?}");
        drop(consumer);
        let is_writable = |permissions: &String| permissions.contains('w');
        let left = reader_mappings(dir.path());
        assert!(!left.iter().any(is_writable), "still mapped: {left:?}");
        found.remove(0)
    }};
}

#[test]
fn only_a_reader_that_is_declared_the_only_one_maps_slots_writable() {
    for (setting, alone) in [("slots=read-only", "r--s"), ("slots=writable", "rw-s")] {
        set_tuning(setting).unwrap();
        assert_eq!(consumer_permissions!(SpscShm, None), alone, "{setting}");
        assert_eq!(consumer_permissions!(MpscShm, None), alone, "{setting}");
        assert_eq!(
            consumer_permissions!(FanoutShm, Some(1)),
            alone,
            "{setting}"
        );
        assert_eq!(
            consumer_permissions!(SpscShm, None, 256),
            alone,
            "{setting}: 16 KiB"
        );
        assert_eq!(
            consumer_permissions!(SpscShm, None, 512),
            "r--s",
            "{setting}: 32 KiB"
        );
        for consumers in [None, Some(2)] {
            assert_eq!(
                consumer_permissions!(FanoutShm, consumers),
                "r--s",
                "{setting}"
            );
        }
    }
}
