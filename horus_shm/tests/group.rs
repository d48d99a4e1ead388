//! Namespaces of a group: processes of several users meet in one, all others are kept out, and each
//! member can continue after the death of another.

use horus_testing as _;

mod common;
mod hostile;
#[path = "group/left_behind.rs"]
mod left_behind;
mod spawn;

use std::fmt::Display;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use horus_shm::{
    Namespace, NamespaceConfig, NamespaceError, NamespaceName, NamespaceRemoveError, OpenError,
    Owner, ReadMode, Segment, remove_topic, sweep, topic_names,
};

use common::{Child, eventually, say};
use hostile::{FILE_NAME, consumer, expect_usable, open_request, producer, request, topic};

/// The group, and users in it and outside, none of which the system's lists know.
const GROUP: u32 = 23_456;
const MEMBER: u32 = 12_345;
const OTHER_MEMBER: u32 = 12_346;
const OUTSIDER: u32 = 12_347;
const ROOT: u32 = 0;

/// The number of messages that a receiver waits for.
const MESSAGES: u64 = 200;

/// Makes a directory in which any user may make files, like `/dev/shm`, and returns a path in it
/// that does not exist.
fn place_for_all() -> (tempfile::TempDir, PathBuf) {
    let dir = spawn::shm_dir();
    set_mode(dir.path(), 0o1777);
    let base = dir.path().join("base");
    (dir, base)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns user, group and mode of a file.
fn rights(path: &Path) -> (u32, u32, u32) {
    let found = fs::symlink_metadata(path).unwrap();
    (found.uid(), found.gid(), found.mode() & 0o7777)
}

fn private_config(base: &Path) -> NamespaceConfig {
    NamespaceConfig::new(base, NamespaceName::default())
}

fn config(base: &Path) -> NamespaceConfig {
    private_config(base).with_group(&GROUP.to_string()).unwrap()
}

/// Returns the directories of a namespace in `base`.
fn directories(base: &Path) -> [PathBuf; 3] {
    [
        base.to_path_buf(),
        base.join("default"),
        base.join("default/topics"),
    ]
}

fn topic_path(base: &Path) -> PathBuf {
    base.join("default/topics").join(FILE_NAME)
}

/// Returns the path of the only lane file.
fn lane_path(base: &Path) -> PathBuf {
    let files = fs::read_dir(base.join("default/topics")).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    let is_lane_file = |path: &PathBuf| path.file_name().unwrap().as_encoded_bytes()[0] == b'.';
    paths.find(is_lane_file).unwrap()
}

/// Starts a process of the user `uid` that plays `part`, with the group's namespace in `base` as
/// that of its environment. Every user except [`OUTSIDER`] is in the group.
fn start(uid: u32, part: &str, base: &Path) -> Child {
    Child::spawn(&format!("{uid} {part}"), base)
}

/// Starts a process that plays `part`, and returns its answer.
#[track_caller]
fn answer(uid: u32, part: &str, base: &Path) -> String {
    start(uid, part, base).listen()
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    let (uid, part) = role.split_once(' ').unwrap();
    let uid = uid.parse().unwrap();
    let is_first_group = part == "enter a mapped user namespace";
    let groups = if uid == OUTSIDER { vec![] } else { vec![GROUP] };
    if uid != ROOT {
        spawn::become_user(uid, if is_first_group { GROUP } else { uid }, &groups);
    }
    spawn::die_with_parent();
    // SAFETY: the test harness runs this test alone. The harness's own thread waits for the end of
    // the test and reads no variable meanwhile.
    unsafe { std::env::set_var("HORUS_SHM_GROUP", GROUP.to_string()) };
    play(part);
}

fn play(part: &str) {
    match part {
        "enter a mapped user namespace" | "enter a user namespace" => {
            return enter_user_namespace();
        }
        "remove from outside" => {
            let removed = Namespace::remove_at(&NamespaceConfig::from_env().unwrap());
            return say_and_park(removed.map_or_else(|error| error_line(&error), |()| "ok".into()));
        }
        _ => {}
    }
    if let Some(umask) = part.strip_prefix("umask ") {
        // SAFETY: the call takes no pointer.
        unsafe { libc::umask(u32::from_str_radix(umask, 8).unwrap()) };
    }
    let namespace = match Namespace::current() {
        Ok(namespace) => namespace,
        Err(error) => return say_and_park(error_line(&error)),
    };
    let report = |result: Result<Arc<Segment>, OpenError>| match result {
        Ok(segment) => {
            expect_usable(&segment, part);
            "usable".to_owned()
        }
        Err(error) => error_line(&error),
    };
    match part {
        "enter" => say_and_park(namespace.registry().own_owner_word().to_bits()),
        "write" => write(&namespace),
        "read" => read(&namespace),
        "open" => say_and_park(report(Segment::open(&namespace, &topic(), &open_request()))),
        "create" => say_and_park(report(Segment::open_or_create(
            &namespace,
            &topic(),
            &request(),
        ))),
        "sweep" => say_and_park(format_args!("{:?}", sweep(&namespace).unwrap())),
        "remove topic" => say_and_park(match remove_topic(&namespace, &topic()) {
            Ok(is_gone) => is_gone.to_string(),
            Err(error) => error_line(&error),
        }),
        "remove" => say_and_park(match namespace.remove() {
            Ok(()) => "removed".to_owned(),
            Err(error) => error_line(&error),
        }),
        _ => {
            // A umask, or a life that ends by a kill.
            let segment = Segment::open_or_create(&namespace, &topic(), &request()).unwrap();
            expect_usable(&segment, part);
            say_and_park("here");
        }
    }
}

fn say_and_park(line: impl Display) {
    say(line.to_string().replace('\n', " "));
    common::park();
}

fn error_line(error: &(impl std::fmt::Debug + Display)) -> String {
    format!("{error:?} {error}")
}

/// Sends numbers without end.
fn write(namespace: &Arc<Namespace>) {
    let segment = Segment::open_or_create(namespace, &topic(), &request()).unwrap();
    let mut producer = producer(&segment).unwrap();
    say("ready");
    for number in 0.. {
        producer.send(number).unwrap();
        std::thread::yield_now();
    }
}

/// Receives messages in their order, and then says so.
fn read(namespace: &Arc<Namespace>) {
    let segment = Segment::open_or_create(namespace, &topic(), &request()).unwrap();
    let mut consumer = consumer(&segment, ReadMode::KeepLast).unwrap();
    say("ready");
    let mut next = 0;
    for _ in 0..MESSAGES {
        eventually("a message", || match consumer.recv() {
            Some(number) => {
                assert!(number >= next, "{number} after {next}");
                next = number + 1;
                true
            }
            None => false,
        });
    }
    say_and_park("received");
}

#[track_caller]
fn expect_parts(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "no '{part}' in: {said}");
    }
}

#[test]
fn messages_pass_between_users_in_both_directions_and_start_orders() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let pairs = [(ROOT, MEMBER), (MEMBER, ROOT), (MEMBER, OTHER_MEMBER)];
    for (writer, reader) in pairs {
        for writer_is_first in [true, false] {
            let (_dir, base) = place_for_all();
            let roles = [(writer, "write"), (reader, "read")];
            let [first, second] = if writer_is_first {
                roles
            } else {
                [roles[1], roles[0]]
            };
            let mut first_child = start(first.0, first.1, &base);
            assert_eq!(first_child.listen(), "ready", "{first:?}");
            let mut second_child = start(second.0, second.1, &base);
            assert_eq!(second_child.listen(), "ready", "{second:?}");
            let reading = if writer_is_first {
                &mut second_child
            } else {
                &mut first_child
            };
            assert_eq!(reading.listen(), "received", "{roles:?}");
        }
    }
}

#[test]
fn modes_and_groups_are_exact_under_any_umask_for_every_member() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    for uid in [ROOT, MEMBER] {
        for umask in ["000", "022", "027", "077", "177", "777"] {
            let (dir, base) = place_for_all();
            let mut child = start(uid, &format!("umask {umask}"), &base);
            assert_eq!(child.listen(), "here");
            for dir in directories(&base) {
                let found = rights(&dir);
                assert_eq!(found, (uid, GROUP, 0o2770), "{umask}: {}", dir.display());
            }
            let lane_file = lane_path(&base);
            for file in [base.join("default/registry"), topic_path(&base), lane_file] {
                let found = rights(&file);
                assert_eq!(found, (uid, GROUP, 0o660), "{umask}: {}", file.display());
            }
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "left over");
            // Files of another member are made in the same directories.
            let other = start(OTHER_MEMBER, "umask 077", &base).listen();
            assert_eq!(other, "here");
        }
    }
}

#[test]
fn a_topic_belongs_to_the_group_even_if_its_directory_lost_the_bit_for_that() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (_dir, base) = place_for_all();
    let namespace = Namespace::open(&config(&base)).unwrap();
    set_mode(&base.join("default/topics"), 0o770);
    let segment = Segment::create(&namespace, &topic(), &request()).unwrap();
    expect_usable(&segment, "made in a directory of another mode");
    assert_eq!(rights(&topic_path(&base)), (ROOT, GROUP, 0o660));
}

#[test]
fn a_process_outside_the_group_gets_an_error_that_says_how_to_join() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (dir, base) = place_for_all();
    let group = GROUP.to_string();
    let base_text = base.display().to_string();
    let join = format!("usermod -aG {GROUP} $USER");
    let user = format!("user {OUTSIDER}");
    let parts = [&base_text, &group, &user, &join, "log in again"];
    // Before there is a directory, and after.
    for index in 0..2 {
        let said = answer(OUTSIDER, "enter", &base);
        assert!(said.starts_with("NotAMember"), "{said}");
        expect_parts(&said, &parts);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), index);
        if index == 0 {
            assert_eq!(answer(MEMBER, "life", &base), "here");
        }
    }
}

#[test]
fn a_group_that_does_not_exist_is_an_error() {
    let new = || NamespaceConfig::new("/dev/shm/horus-test-nothing", NamespaceName::default());
    for group in ["no such group", "", "-1", "4294967295", "99999999999999"] {
        let error = new().with_group(group).unwrap_err();
        assert!(
            matches!(&error, NamespaceError::UnknownGroup { group: found } if found == group),
            "{error:?}"
        );
        expect_parts(
            &error.to_string(),
            &[&format!("'{group}'"), "HORUS_SHM_GROUP"],
        );
    }
    assert_eq!(new().gid(), None);
    assert_eq!(new().with_group("root").unwrap().gid(), Some(0));
    let name = NamespaceName::new("lab").unwrap();
    let renamed = new().with_group("1234").unwrap().with_name(name.clone());
    assert_eq!((renamed.gid(), renamed.name()), (Some(1234), &name));
    assert_eq!(renamed.dir(), new().dir());
}

#[test]
fn directories_of_others_are_refused_and_left_as_they_are() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let bad_rights = [
        (GROUP, 0o2771),
        (GROUP, 0o2777),
        (GROUP, 0o3770),
        (GROUP, 0o770),
        (GROUP, 0o2750),
        (GROUP, 0o700),
        (GROUP + 1, 0o2770),
    ];
    for index in 0..3 {
        for (gid, mode) in bad_rights {
            let (_dir, base) = place_for_all();
            let mut child = start(MEMBER, "life", &base);
            assert_eq!(child.listen(), "here");
            let bad = &directories(&base)[index];
            chown(bad, None, Some(gid)).unwrap();
            set_mode(bad, mode);
            let error = Namespace::open(&config(&base)).unwrap_err();
            let NamespaceError::NotOfGroup {
                ref path,
                uid: MEMBER,
                gid: found_gid,
                mode: found_mode,
                wanted_gid: GROUP,
            } = error
            else {
                panic!("{gid} {mode:o}: {error:?}");
            };
            assert_eq!((path, found_gid, found_mode), (bad, gid, mode));
            let (text, gid_text) = (bad.display().to_string(), format!("gid {gid}"));
            let mode_text = format!("{mode:04o}");
            expect_parts(
                &error.to_string(),
                &[&text, &gid_text, &mode_text, &format!("gid {GROUP}")],
            );
            assert_eq!(rights(bad), (MEMBER, gid, mode), "it was changed");
        }
    }
}

#[test]
fn files_that_the_group_does_not_share_are_refused() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let bad_rights = [
        (GROUP, 0o666),
        (GROUP, 0o664),
        (GROUP, 0o661),
        (GROUP, 0o600),
        (GROUP, 0o640),
        (GROUP + 1, 0o660),
    ];
    let (_dir, base) = place_for_all();
    let mut child = start(MEMBER, "life", &base);
    assert_eq!(child.listen(), "here");
    let (registry, file) = (base.join("default/registry"), topic_path(&base));
    for (gid, mode) in bad_rights {
        for path in [&registry, &file] {
            chown(path, None, Some(gid)).unwrap();
            set_mode(path, mode);
        }
        // With and without the right to open any file.
        for uid in [ROOT, OTHER_MEMBER] {
            let said = answer(uid, "enter", &base);
            assert!(said.starts_with("Registry(NotOfGroup"), "{mode:o}: {said}");
            let mode = format!("{mode:04o}");
            expect_parts(
                &said,
                &[
                    &registry.display().to_string(),
                    &format!("gid {gid}"),
                    &mode,
                ],
            );
        }
        chown(&registry, None, Some(GROUP)).unwrap();
        set_mode(&registry, 0o660);
        for uid in [ROOT, OTHER_MEMBER] {
            let said = answer(uid, "open", &base);
            assert!(said.starts_with("NotATopic"), "{mode:o}: {said}");
            let found = if gid == GROUP {
                format!("{mode:04o}")
            } else {
                format!("group {gid}")
            };
            expect_parts(&said, &[&file.display().to_string(), &found]);
            assert!(answer(uid, "sweep", &base).contains("foreign: [\"arm+joint\"]"));
        }
        assert_eq!(rights(&file), (MEMBER, gid, mode));
        chown(&file, None, Some(GROUP)).unwrap();
        set_mode(&file, 0o660);
        assert_eq!(answer(OTHER_MEMBER, "open", &base), "usable");
    }
}

#[test]
fn a_namespace_of_one_user_is_not_opened_with_a_group_nor_the_reverse() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    for uid in [ROOT, MEMBER] {
        let (_dir, base) = place_for_all();
        assert_eq!(answer(uid, "life", &base), "here");
        let error = Namespace::open(&private_config(&base)).unwrap_err();
        assert!(
            matches!(error, NamespaceError::OfGroup { uid: owner, gid: GROUP, .. } if owner == uid),
            "{error:?}"
        );
        let text = base.display().to_string();
        let remedy = format!("HORUS_SHM_GROUP={GROUP}");
        expect_parts(
            &error.to_string(),
            &[&text, &remedy, "HORUS_SHM_DIR", "2770", "0700"],
        );
        let error = Namespace::remove_at(&private_config(&base)).unwrap_err();
        expect_parts(&error.to_string(), &[&remedy]);
    }

    let (_dir, base) = place_for_all();
    let namespace = Namespace::open(&private_config(&base)).unwrap();
    for uid in [ROOT, MEMBER] {
        let said = answer(uid, "enter", &base);
        assert!(said.starts_with("NotOfGroup"), "{said}");
        let text = base.display().to_string();
        expect_parts(
            &said,
            &[&text, "uid 0", "0700", "2770", "unset HORUS_SHM_GROUP"],
        );
    }
    assert!(namespace.is_current());
    assert_eq!(rights(&base).2, 0o700);
}

/// Moves this process into a user namespace that has numbers only for its user, who becomes root,
/// and for its first group.
///
/// WHY only these: without rights outside, a process can map no others.
fn enter_user_namespace() {
    // SAFETY: the call takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    // SAFETY: the call takes nothing and cannot fail.
    let group = unsafe { libc::getegid() };
    // WHY: only a process of one thread can enter a user namespace, and a forked child is one.
    let inhabitant = common::fork(|| {
        spawn::die_with_parent();
        // SAFETY: the call takes no pointer.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
            let error = io::Error::last_os_error();
            say(format_args!("SKIP {error}"));
            return spawn::is_refusal(&error);
        }
        fs::write("/proc/self/setgroups", "deny").unwrap();
        fs::write("/proc/self/uid_map", format!("0 {user} 1")).unwrap();
        fs::write("/proc/self/gid_map", format!("{group} {group} 1")).unwrap();
        match Namespace::current() {
            Ok(namespace) => read(&namespace),
            Err(error) => say_and_park(error_line(&error)),
        }
        true
    });
    assert!(common::join_fork(inhabitant));
}

#[test]
fn a_user_namespace_needs_the_group_in_its_map() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (_dir, base) = place_for_all();
    let mut writer = start(OTHER_MEMBER, "write", &base);
    assert_eq!(writer.listen(), "ready");
    let mut inside = start(MEMBER, "enter a mapped user namespace", &base);
    let said = inside.listen();
    if let Some(reason) = said.strip_prefix("SKIP ") {
        spawn::skip_as_this_user(format_args!("no user namespace of its own: {reason}"));
        return;
    }
    assert_eq!(said, "ready");
    assert_eq!(inside.listen(), "received");
    // Without a number for the group, the kernel shows the overflow number.
    let said = answer(MEMBER, "enter a user namespace", &base);
    assert!(said.starts_with("NotOfGroup"), "{said}");
    expect_parts(&said, &["gid 65534", &format!("gid {GROUP}")]);
}

#[test]
fn many_members_that_make_a_namespace_at_once_make_one() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    for _ in 0..hostile::rounds(4, 100) {
        let (dir, base) = place_for_all();
        let users = [ROOT, MEMBER, OTHER_MEMBER];
        let mut children: Vec<_> = (0..9)
            .map(|index| start(users[index % 3], "enter", &base))
            .collect();
        let owners: std::collections::BTreeSet<_> =
            children.iter_mut().map(Child::listen).collect();
        assert_eq!(owners.len(), children.len(), "two registries: {owners:?}");
        let namespace = Namespace::open(&config(&base)).unwrap();
        for owner in owners {
            let owner = Owner::from_bits(owner.parse().unwrap());
            assert!(!namespace.registry().is_dead(owner), "{owner:?}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "left over");
        assert_eq!(topic_names(&namespace).unwrap(), []);
        let error = namespace.remove().unwrap_err();
        assert!(
            matches!(error, NamespaceRemoveError::InUse { .. }),
            "{error}"
        );
    }
}

#[test]
fn without_a_group_another_user_stays_out_even_as_a_member() {
    if spawn::skips_without_users(MEMBER) {
        return;
    }
    let (_dir, base) = place_for_all();
    let namespace = Namespace::open(&private_config(&base)).unwrap();
    drop(Segment::create(&namespace, &topic(), &request()).unwrap());
    for dir in directories(&base) {
        assert_eq!(rights(&dir).2, 0o700);
    }
    assert_eq!(rights(&base.join("default/registry")).2, 0o600);
    chown(&base, None, Some(GROUP)).unwrap();
    set_mode(&base, 0o770);
    let error = Namespace::open(&private_config(&base)).unwrap_err();
    assert!(
        matches!(error, NamespaceError::Refused { mode: 0o770, .. }),
        "{error:?}"
    );
}
