//! `doctor --peer` and `doctor --fix`: among processes that do and do not meet.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use horus_core::message::Imu;
use horus_core::topic::{DynamicType, Topic};
use horus_core::value::Value;
use horus_testing::skip;

use crate::common::{Ran, Robot, until};
use crate::golden::{check_json_except, check_text};

/// A process that is killed when dropped.
pub(crate) struct Peer(Child);

impl Peer {
    fn spawn(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Compares a process with the command until the output has this part.
fn until_found(robot: &Robot, pid: u32, part: &str) -> Ran {
    robot.until(&format!("doctor --peer {pid}"), |found| {
        found.contains(part)
    });
    robot.run(&format!("doctor --peer {pid}"))
}

#[test]
fn a_peer_in_the_same_namespace_is_shown_with_its_topics() {
    let robot = Robot::new();
    let (mut peer, mut other) = (robot.program(), robot.program());
    peer.tell("publish best_effort cmd_vel");
    peer.tell("subscribe best_effort odm");
    other.tell("subscribe best_effort cmd_vel");
    other.tell("publish best_effort odom");
    let ran = robot.run(&format!("doctor --peer {}", peer.id()));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let (pid, name, dir) = (
        peer.id().to_string(),
        peer.name(),
        robot.dir().display().to_string(),
    );
    // SAFETY: the call takes no pointer.
    let uid = unsafe { libc::geteuid() }.to_string();
    let user = format!("user {uid}, this command {uid}");
    check_text("doctor_peer", &ran.stdout, &[&user, &dir, &name, &pid]);
    let json = robot.answer(&format!("doctor --json --peer {}", peer.id()));
    check_json_except("doctor_peer", &json, &["found"]);
    // A publisher that does not offer what a subscriber requests.
    other.tell("subscribe reliable cmd_vel");
    let ran = robot.run(&format!("doctor --peer {}", peer.id()));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("FAULT  reliability: cmd_vel: "),
        "{ran:?}"
    );
    // A subscriber that reads another message, which `topic info` shows, too.
    let imu = Topic::<Imu>::builder("cmd_vel").namespace(robot.namespace());
    let _imu = imu.subscriber().unwrap();
    let ran = robot.run(&format!("doctor --peer {}", peer.id()));
    assert!(ran.stdout.contains("FAULT  message: cmd_vel: "), "{ran:?}");
    let ran = robot.run("topic info cmd_vel");
    let own = std::process::id();
    let line = ran
        .stdout
        .lines()
        .find(|line| line.ends_with("different messages"));
    let line = line.expect("a line names the pair");
    assert!(line.contains(&format!("from process {pid} ")), "{ran:?}");
    assert!(line.contains(&format!("to process {own} ")), "{ran:?}");
    let json = robot.answer("topic info cmd_vel --json");
    assert!(json.contains(r#""cause":"type""#), "{json}");
    assert!(json.contains(r#""cause":"reliability""#), "{json}");
}

/// Such a program sends on, without an error, to those that have the removed namespace open, too.
#[test]
fn a_program_whose_namespace_was_removed_is_a_fault() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish best_effort cmd_vel");
    assert_eq!(robot.run("doctor").code, 0);
    robot.remove_namespace("default");
    let ran = robot.run("doctor");
    let (pid, path) = (program.id(), robot.namespace().path());
    let found = format!(
        "FAULT  removed namespace: process {pid} ({}) has {} open, which was removed",
        program.name(),
        path.display()
    );
    assert!(ran.stdout.contains(&found), "{ran:?}");
    assert_eq!(ran.code, 1, "{ran:?}");
    // The kernel names the directory without the links in its path, such as /var/run.
    let link = tempfile::tempdir().unwrap();
    let link = link.path().join("run");
    symlink(robot.dir().parent().unwrap(), &link).unwrap();
    let dir = link.join(robot.dir().file_name().unwrap());
    let ran = robot.run(&format!("--shm-dir {} doctor", dir.display()));
    assert!(ran.stdout.contains(&found), "{ran:?}");
}

/// Otherwise the tools say that all has arrived, while the program gets nothing.
#[test]
fn messages_that_a_subscriber_cannot_read_are_a_fault() {
    let robot = Robot::new();
    let kind = DynamicType::of::<Value>();
    let builder = || kind.builder("any").namespace(robot.namespace());
    let mut publisher = builder().publisher().unwrap();
    let typed = Topic::<Value>::builder("any").namespace(robot.namespace());
    let mut values = typed.subscriber().unwrap();
    publisher.send_bytes(b"\x07").unwrap();
    assert_eq!(values.recv(), Some(Value::from(7)));
    let answers = || (robot.answer("topic info any"), robot.run("doctor"));
    let (info, ran) = answers();
    assert!(!info.contains("could not read"), "{info}");
    assert_eq!(ran.code, 0, "{ran:?}");
    for _ in 0..3 {
        publisher.send_bytes(b"\xc1").unwrap();
    }
    assert_eq!(values.recv(), None);
    let (info, ran) = answers();
    assert!(info.contains(") could not read 3 messages: "), "{info}");
    let found = "FAULT  malformed: any: subscribers could not read 3 messages";
    assert!(ran.stdout.contains(found), "{ran:?}");
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn each_pair_between_which_no_message_passes_is_a_fault() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish best_effort cmd_vel");
    program.tell("subscribe best_effort cmd_vel");
    program.tell("publish best_effort tilt");
    program.tell("subscribe best_effort tlit");
    let ran = robot.run("doctor");
    assert_eq!(ran.code, 0, "{ran:?}");
    let advice = "→ a similar name is published: tilt. ";
    assert!(ran.stdout.contains("silent topic: tlit: "), "{ran:?}");
    assert!(ran.stdout.contains(advice), "{ran:?}");
    let mut other = robot.program();
    other.tell("subscribe reliable cmd_vel");
    other.tell("publish imu cmd_vel");
    let ran = robot.run("doctor");
    assert_eq!(ran.code, 1, "{ran:?}");
    let [program, other] = [&program, &other].map(|one| format!("{} ({})", one.id(), one.name()));
    let pairs = [
        format!("FAULT  reliability: cmd_vel: no message passes from process {program} in lane"),
        format!("FAULT  message: cmd_vel: no message passes from process {other} in lane"),
    ];
    for pair in pairs {
        assert!(ran.stdout.contains(&pair), "no '{pair}' in {}", ran.stdout);
    }
    let to_other = format!("to process {other} in slot ");
    assert_eq!(ran.stdout.matches(&to_other).count(), 2, "{ran:?}");
    assert_eq!(
        ran.stdout.matches("no message passes").count(),
        3,
        "{ran:?}"
    );
    let info = robot.answer("topic info cmd_vel");
    assert_eq!(info.matches("  no message passes").count(), 3, "{info}");
}

#[test]
fn a_peer_elsewhere_is_found_by_what_it_has_open() {
    let robot = Robot::new();
    let elsewhere = Robot::new();
    let dir = elsewhere.dir().display().to_string();
    // The variables of both processes name the namespace of the command.
    let table = [
        ("-N other".to_owned(), "give both the same HORUS_NAMESPACE"),
        (
            format!("--shm-dir {dir}"),
            "give both the same HORUS_SHM_DIR (or HORUS_SHM_GROUP)",
        ),
        (
            format!("--shm-dir {dir} -N other"),
            "give both the same HORUS_SHM_DIR and HORUS_NAMESPACE",
        ),
    ];
    for (options, advice) in table {
        let peer = Peer::spawn(&mut robot.command(&format!("topic wait nothing {options}")));
        let ran = until_found(&robot, peer.pid(), "FAULT  namespace: it has /");
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stdout.contains(advice), "{ran:?}");
        assert!(ran.stdout.contains("ok     mount: "), "{ran:?}");
    }
}

#[test]
fn a_peer_without_a_namespace_is_judged_by_its_variables() {
    let robot = Robot::new();
    let mut sleep = Command::new("sleep");
    sleep.arg("1000").env("HORUS_SHM_DIR", robot.dir());
    let peer = Peer::spawn(sleep.env("HORUS_NAMESPACE", "arm"));
    let ran = until_found(&robot, peer.pid(), "it has opened no namespace");
    assert_eq!(ran.code, 1, "{ran:?}");
    let advice = format!(
        "it would open {}/arm, and this command opens {}/default: give both the same \
         HORUS_NAMESPACE",
        robot.dir().display(),
        robot.dir().display()
    );
    assert!(ran.stdout.contains(&advice), "{ran:?}");
    drop(peer);
    let peer = Peer::spawn(sleep.env("HORUS_NAMESPACE", ""));
    let same = until_found(&robot, peer.pid(), "it has opened no namespace");
    assert!(same.stdout.contains("it has made no topic yet"), "{same:?}");
    let gone = peer.pid();
    drop(peer);
    robot
        .run(&format!("doctor --peer {gone}"))
        .failed(3, &["no process ", "inside a container"]);
}

/// The kernel cuts a name after 15 bytes.
#[test]
fn a_name_that_is_cut_within_a_character_hides_no_peer() {
    let robot = Robot::new();
    let mut peer = robot.program();
    peer.tell("publish best_effort cmd_vel");
    peer.tell("rename kamera-laengenä");
    let ran = robot.run(&format!("doctor --peer {}", peer.id()));
    let name = format!("kamera-laengen\u{fffd} ({})", peer.id());
    assert!(ran.code == 0 && ran.stdout.contains(&name), "{ran:?}");
}

#[test]
fn a_peer_whose_namespace_was_removed_has_to_be_restarted() {
    let robot = Robot::new();
    let mut peer = robot.program();
    peer.tell("publish best_effort cmd_vel");
    robot.remove_namespace("default");
    let mut newer = robot.program();
    newer.tell("publish best_effort cmd_vel");
    let ran = robot.run(&format!("doctor --peer {}", peer.id()));
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in ["was removed while it had it open", "→ restart that process"] {
        assert!(ran.stdout.contains(part), "no '{part}' in {ran:?}");
    }
}

/// Starts the command behind a border that `unshare` makes, with a memory of its own; `None` if
/// that is not allowed.
pub(crate) fn contained(robot: &Robot, options: &[&str], script: &str) -> Option<Peer> {
    let mut command = Command::new("unshare");
    command.args(options).args(["sh", "-c", script]);
    let allowed = Command::new("unshare")
        .args(options)
        .args(["sh", "-c", "mount -t tmpfs none /dev/shm"])
        .output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        skip("unshare is not allowed");
        return None;
    }
    command.env("HORUS_SHM_DIR", robot.dir());
    Some(Peer::spawn(command.env("HORUS_NAMESPACE", "default")))
}

/// Returns the process that a process has forked.
fn child_of(pid: u32) -> u32 {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let mut child = None;
    until("it has forked", || {
        let children = std::fs::read_to_string(&path).unwrap_or_default();
        child = children
            .split_whitespace()
            .next()
            .map(|id| id.parse().unwrap());
        child.is_some()
    });
    child.unwrap()
}

#[test]
fn a_peer_behind_another_mount_does_not_see_the_directory() {
    let robot = Robot::new();
    let (horus, dir) = (env!("CARGO_BIN_EXE_horus"), robot.dir().display());
    let mounted = format!("mount -t tmpfs none /dev/shm && mkdir -m 700 {dir} &&");
    let script = format!("{mounted} exec {horus} topic wait nothing");
    let options: &[&str] = &["--mount"];
    if let Some(peer) = contained(&robot, options, &script) {
        let ran = until_found(&robot, peer.pid(), "which is another file there");
        assert_eq!(ran.code, 1, "{ran:?}");
        for part in [
            " is another directory\n",
            "→ share the directory",
            "docs/containers.md",
        ] {
            assert!(ran.stdout.contains(part), "no '{part}' in {ran:?}");
        }
    }
    // WHY no horus: it would make the directory.
    let script = "mount -t tmpfs none /dev/shm && exec sleep 1000";
    let options: &[&str] = &["--mount", "--pid", "--fork", "--kill-child"];
    if let Some(peer) = contained(&robot, options, script) {
        let ran = until_found(
            &robot,
            child_of(peer.pid()),
            "FAULT  mount: it does not see",
        );
        assert!(
            ran.stdout.contains("another one, in which it is process 1"),
            "{ran:?}"
        );
    }
}

/// A process of another pid namespace meets those of this one, if it sees the same directory.
#[test]
fn a_peer_in_another_pid_namespace_meets() {
    let robot = Robot::new();
    let script = format!(
        "exec {} topic pub -r 50 cmd_vel CmdVel '{{}}'",
        env!("CARGO_BIN_EXE_horus")
    );
    let options: &[&str] = &["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let Some(peer) = contained(&robot, options, &script) else {
        return;
    };
    let mut reader = robot.program();
    reader.tell("subscribe best_effort cmd_vel");
    let found = "ok     topic: it publishes cmd_vel, and 1 in other processes subscribe";
    let ran = until_found(&robot, child_of(peer.pid()), found);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_peer_of_another_user_is_named() {
    let robot = Robot::new();
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "sleep",
        "1000",
    ]);
    let allowed = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "true"])
        .output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return skip("only root can become another user, by setpriv");
    }
    let peer = Peer::spawn(&mut command);
    let ran = until_found(&robot, peer.pid(), "it has user 65534, this command ");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("FAULT  user: "), "{ran:?}");
    assert!(ran.stdout.contains("HORUS_SHM_GROUP for both"), "{ran:?}");
}

/// Users give the name of a group, and the directory has its number.
#[test]
fn a_peer_of_the_same_group_would_open_the_same_namespace() {
    let robot = Robot::new();
    let group = Command::new("id").arg("-gn").output().unwrap().stdout;
    let group = String::from_utf8(group).unwrap().trim().to_owned();
    let surround = |command: &mut Command| {
        command.env_remove("HORUS_SHM_DIR");
        command.env("HORUS_SHM_GROUP", &group);
        command.env("HORUS_NAMESPACE", "no_such_namespace");
    };
    let mut sleep = Command::new("sleep");
    surround(sleep.arg("1000"));
    let peer = Peer::spawn(&mut sleep);
    let mut found = String::new();
    // Before it executes `sleep`, it has the variables of this process.
    until("its variables are the same", || {
        let mut command = robot.command(&format!("doctor --peer {}", peer.pid()));
        surround(&mut command);
        found = String::from_utf8(command.output().unwrap().stdout).unwrap();
        !found.contains("HORUS_NAMESPACE")
    });
    let part = "its variables select the namespace of this command";
    assert!(found.contains(part), "group {group}: {found}");
}

/// A terminal acts on no text of another process.
#[test]
fn the_variables_of_a_peer_are_shown_without_effect() {
    let robot = Robot::new();
    let mut sleep = Command::new("sleep");
    sleep.arg("1000").env("HORUS_SHM_DIR", "/tmp/a\x1b[2Jb");
    let peer = Peer::spawn(&mut sleep);
    let ran = until_found(&robot, peer.pid(), "[2Jb");
    assert!(ran.stdout.contains(r"/tmp/a\u{1b}[2Jb"), "{ran:?}");
    assert!(!ran.stdout.contains('\x1b'), "{ran:?}");
}

#[test]
fn files_are_fixed_and_reported() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish best_effort cmd_vel");
    let mut killed = robot.program();
    killed.tell("publish best_effort stale");
    killed.kill();
    let stranger = robot.namespace().topics_path().join("stranger");
    std::fs::write(&stranger, "x").unwrap();
    let found = robot.run("doctor");
    assert_eq!(found.code, 1, "{found:?}");
    let ran = robot.run("doctor --fix");
    assert_eq!(ran.code, 0, "{ran:?}");
    let fixed = "\n       fixed: removed the file of stranger\n";
    assert!(ran.stdout.contains(fixed), "{ran:?}");
    assert!(!Path::new(&stranger).exists());
    for part in [
        "stale topics: no live process used stale",
        "stale topics: none",
    ] {
        // WHY in either: the first one that opens the namespace removes them.
        let is_in = found.stdout.contains(part) || ran.stdout.contains(part);
        assert!(is_in, "no '{part}' in {found:?} or {ran:?}");
    }
    // What a process uses stays.
    assert!(robot.answer("topic list -w 0").contains("cmd_vel"));
}

/// A container makes a missing directory with the mode 0755.
#[test]
fn a_directory_that_others_may_enter_is_closed() {
    let robot = Robot::new();
    let namespace = robot.namespace().path().to_owned();
    for (dir, mode) in [
        (robot.dir(), 0o755),
        (robot.dir(), 0o750),
        (&namespace, 0o755),
    ] {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).unwrap();
        let found = robot.run("doctor");
        assert_eq!(found.code, 1, "{mode:o}: {found:?}");
        let advice = format!("→ others may enter it: chmod 700 {}\n", dir.display());
        assert!(found.stdout.contains(&advice), "{mode:o}: {found:?}");
        let ran = robot.run("doctor --fix");
        assert_eq!(ran.code, 0, "{mode:o}: {ran:?}");
        let metadata = std::fs::metadata(dir).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_namespace_that_cannot_be_opened_is_a_fault_beside_the_checks_of_the_machine() {
    let robot = Robot::new();
    let registry = robot.namespace().path().join("registry");
    std::fs::write(&registry, "no registry").unwrap();
    let found = robot.run("doctor");
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.stdout.contains("FAULT  namespace: "), "{found:?}");
    assert!(found.stdout.contains("processor: "), "{found:?}");
}

#[test]
fn a_directory_that_others_may_write_to_is_closed() {
    let robot = Robot::new();
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(robot.dir(), mode(0o777)).unwrap();
    let found = robot.run("doctor");
    assert_eq!(found.code, 1, "{found:?}");
    assert!(
        found.stdout.contains("others may write to it: chmod 700"),
        "{found:?}"
    );
    let json = robot.answer("doctor --fix --json");
    let fixed = format!(
        "\"fixed\":\"{} has the mode 0700 now\"",
        robot.dir().display()
    );
    assert!(json.contains(&fixed), "{json}");
    let metadata = std::fs::metadata(robot.dir()).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
    assert_eq!(robot.run("doctor").code, 0);
    // A measurement that is cut short hides nothing of it.
    std::fs::set_permissions(robot.dir(), mode(0o777)).unwrap();
    let ran = robot.run("doctor --fix --json --rt=600 --timeout 0.3");
    assert_eq!(ran.code, 124, "{ran:?}");
    assert!(ran.stdout.contains(&fixed), "{ran:?}");
    assert!(ran.stderr.contains("of 600.0 s"), "{ran:?}");
}

/// A directory that the machine or other programs use would be of no use to them any more.
#[test]
fn a_directory_that_is_not_of_namespaces_alone_is_left_as_it_is() {
    let set_mode = |dir: &Path, mode| {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let mode_of = |dir: &Path| std::fs::metadata(dir).unwrap().permissions().mode() & 0o7777;
    let sticky = Robot::new();
    set_mode(sticky.dir(), 0o1777);
    let with_file = Robot::new();
    std::fs::write(with_file.dir().join("notes.txt"), "x").unwrap();
    set_mode(with_file.dir(), 0o755);
    let with_dir = Robot::new();
    std::fs::create_dir(with_dir.dir().join("data")).unwrap();
    set_mode(with_dir.dir(), 0o755);
    let empty = Robot::new();
    std::fs::remove_dir_all(empty.dir().join("default")).unwrap();
    set_mode(empty.dir(), 0o777);
    for robot in [&sticky, &with_file, &with_dir, &empty] {
        let before = mode_of(robot.dir());
        for arguments in ["doctor", "doctor --fix"] {
            let ran = robot.run(arguments);
            assert_eq!(ran.code, 1, "{before:o}: {ran:?}");
            // Of an empty one, only the user knows what it is for.
            let is_empty = before == 0o777;
            let other = "set HORUS_SHM_DIR to a directory of its own";
            assert_eq!(ran.stdout.contains(other), !is_empty, "{before:o}: {ran:?}");
            let close = format!("chmod 700 {}, if", robot.dir().display());
            assert_eq!(ran.stdout.contains(&close), is_empty, "{ran:?}");
            assert_eq!(ran.stdout.contains("chmod 700"), is_empty, "{ran:?}");
            assert_eq!(mode_of(robot.dir()), before, "{ran:?}");
        }
    }
}
