//! Namespaces that are damaged, foreign, or no namespaces.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use horus_core::message::CmdVel;
use horus_core::namespace::{Namespace, NamespaceName};
use horus_core::topic::{Qos, Topic};

use crate::common::{Ran, Robot, Stream, wrapped};

/// Opens another namespace in the directory of the robot. It has one topic, which stays.
fn open_namespace(robot: &Robot, name: &str) -> Arc<Namespace> {
    let config = robot.namespace().config().clone();
    let config = config.with_name(NamespaceName::new(name).unwrap());
    let namespace = Namespace::open(&config).unwrap();
    let topic = Topic::builder("cmd_vel").namespace(&namespace);
    let mut publisher = topic.qos(Qos::latched()).publisher().unwrap();
    publisher.send(CmdVel::new(0.5, 0.25)).unwrap();
    namespace
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_namespace_that_cannot_be_opened_hides_no_other() {
    let robot = Robot::new();
    let registry = |name: &str| robot.dir().join(name).join("registry");
    for name in ["good", "open", "shared"] {
        drop(open_namespace(&robot, name));
    }
    // Another user could have written to it.
    set_mode(&registry("open"), 0o666);
    set_mode(&robot.dir().join("shared"), 0o2770);
    // It is damaged, and cannot be replaced while this process is in it.
    let held = open_namespace(&robot, "held");
    fs::write(registry("held"), [0x5a; 200]).unwrap();
    let ran = robot.run("namespace list");
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows = ran.stdout.lines().skip(1);
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["default", "good", "held", "open", "shared"]);
    assert_eq!(rows[1][..3], ["good", "1", "0"]);
    for row in &rows[2..] {
        assert_eq!(row[1..], ["unreadable", "-", "-"]);
    }
    let reasons = [
        format!(
            "held: the registry {} cannot be",
            registry("held").display()
        ),
        format!("open: the registry {} belongs", registry("open").display()),
        "set HORUS_SHM_GROUP=".to_owned(),
    ];
    for reason in &reasons {
        assert!(ran.stderr.contains(reason), "no '{reason}' in {ran:?}");
    }
    let json = robot.answer("namespace list --json");
    for part in [
        "{\"namespace\":\"good\",\"topics\":1,\"processes\":[],",
        "{\"namespace\":\"open\",\"error\":\"the registry ",
    ] {
        assert!(json.contains(part), "no '{part}' in {json}");
    }
    let found = robot.run("doctor").stdout;
    let note = "note   other namespaces: open cannot be opened: the registry ";
    assert!(found.contains(note), "{found}");

    let ran = robot.run("namespace rm held");
    ran.failed(4, &["/held is in use by ", ": end it first"]);
    let ran = robot.run("namespace rm shared");
    ran.failed(5, &["cannot remove the namespace ", "HORUS_SHM_GROUP="]);
    drop(held);
    for name in ["held", "open"] {
        robot.answer(&format!("namespace rm {name}"));
        assert!(!robot.dir().join(name).exists(), "{name}");
    }
    assert_eq!(robot.answer("namespace list").lines().count(), 4);
}

/// No program can open it, and a terminal would act on its name.
#[test]
fn a_directory_with_an_invalid_name_is_no_namespace() {
    let robot = Robot::new();
    for name in ["default copy", "\u{1b}[31mred", "rot\u{e9}"] {
        let dir = robot.dir().join(name);
        fs::create_dir_all(dir.join("topics")).unwrap();
        fs::copy(robot.dir().join("default/registry"), dir.join("registry")).unwrap();
        fs::write(dir.join("topics/cmd_vel"), "").unwrap();
    }
    let list = robot.answer("namespace list");
    assert_eq!(list.lines().count(), 2, "{list}");
    let table = [
        ("topic list -N red", 0),
        ("topic info cmd_vel -N red", 3),
        ("namespace rm red", 3),
        ("doctor", 0),
        ("estop engage", 3),
    ];
    for (arguments, code) in table {
        let ran = robot.run(arguments);
        assert_eq!(ran.code, code, "{arguments}: {ran:?}");
        for text in [&ran.stdout, &ran.stderr] {
            let is_named = text.contains('\u{1b}') || text.contains("copy");
            assert!(!is_named, "{arguments}: {ran:?}");
        }
    }
}

/// The process has joined a registry that was removed since: only its topics show that it lives.
#[test]
fn a_namespace_whose_topics_are_in_use_is_kept_if_its_registry_was_replaced() {
    let robot = Robot::new();
    let held = open_namespace(&robot, "held");
    let topic = Topic::<CmdVel>::builder("scan").namespace(&held);
    let publisher = topic.publisher().unwrap();
    fs::remove_file(robot.dir().join("held/registry")).unwrap();
    // The next process makes a new one.
    robot.run("topic pub other CmdVel {} -n 1 --timeout 0.1 -N held");
    assert!(robot.dir().join("held/registry").exists());
    let pid = std::process::id();
    let ran = robot.run("namespace rm held");
    ran.failed(
        4,
        &[
            &format!("/held is in use by process {pid} ("),
            ": end it first",
        ],
    );
    assert!(robot.dir().join("held/topics/scan").exists());
    drop((publisher, held));
    robot.answer("namespace rm held");
    assert!(!robot.dir().join("held").exists());
}

/// Commands that only look make no namespace whole again that somebody has begun to remove.
#[test]
fn looking_completes_no_namespace() {
    let robot = Robot::new();
    drop(open_namespace(&robot, "half"));
    let topics = robot.dir().join("half/topics");
    fs::remove_dir_all(&topics).unwrap();
    let table = [
        (
            "topic list",
            0,
            "half has no directory of topics. There are: ",
        ),
        (
            "namespace list",
            0,
            "half has a registry, and no directory of topics: ",
        ),
        ("doctor", 0, ""),
        ("top -n 1 -i 0.05", 0, ""),
        ("clean", 0, ""),
    ];
    for (arguments, code, part) in table {
        let ran = robot.run(&format!("{arguments} -N half"));
        assert_eq!(ran.code, code, "{arguments}: {ran:?}");
        assert!(ran.stderr.contains(part), "{arguments}: {ran:?}");
        assert!(!topics.exists(), "{arguments}: {ran:?}");
    }
    robot.answer("namespace rm half");
    assert!(!robot.dir().join("half").exists());
}

/// Commands that only look make no namespace of a directory that is none.
#[test]
fn looking_makes_no_namespace() {
    let robot = Robot::new();
    let dir = robot.dir().join("empty");
    fs::create_dir(&dir).unwrap();
    set_mode(&dir, 0o700);
    let table = [
        (
            "topic list",
            0,
            "empty has no registry. There are: default.",
        ),
        (
            "topic info imu",
            3,
            "the namespace 'empty' does not exist in ",
        ),
        ("top -n 1 -i 0.05", 0, ""),
        ("estop status", 0, ""),
        (
            "estop release",
            3,
            "the namespace 'empty' does not exist in ",
        ),
        ("msg show imu", 3, ""),
        ("node list", 0, ""),
        ("log", 0, ""),
        ("clean", 0, ""),
        ("doctor", 0, ""),
        ("__complete topics", 0, ""),
        ("namespace rm empty", 3, "no namespace 'empty' in "),
    ];
    for (arguments, code, part) in table {
        let ran = robot.run(&format!("{arguments} -N empty"));
        assert_eq!(ran.code, code, "{arguments}: {ran:?}");
        assert!(ran.stderr.contains(part), "{arguments}: {ran:?}");
        let made = fs::read_dir(&dir).unwrap().count();
        assert_eq!(made, 0, "{arguments}: {ran:?}");
    }
}

/// Runs the command without the rights of root, who may read everything.
fn run_without_rights(robot: &Robot, arguments: &str) -> Ran {
    let script = "[ $(id -u) = 0 ] || exec \"$@\"
        exec setpriv --bounding-set -all --inh-caps -all \"$@\"";
    Stream::spawn(&mut wrapped(&robot.command(arguments), script)).wait()
}

/// An empty list would say that no program runs.
#[test]
fn a_directory_that_may_not_be_read_is_an_error() {
    let robot = Robot::new();
    drop(open_namespace(&robot, "closed"));
    set_mode(&robot.dir().join("closed"), 0o000);
    let listed = run_without_rights(&robot, "namespace list");
    let removed = run_without_rights(&robot, "namespace rm closed");
    set_mode(&robot.dir().join("closed"), 0o700);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(
        listed.stdout.contains("\nclosed     unreadable"),
        "{listed:?}"
    );
    assert!(listed.stderr.contains("closed: "), "{listed:?}");
    assert_eq!(removed.code, 5, "{removed:?}");
    set_mode(robot.dir(), 0o300);
    let ran = [
        "namespace list",
        "namespace list --json",
        "namespace rm closed",
    ];
    let ran = ran.map(|arguments| run_without_rights(&robot, arguments));
    set_mode(robot.dir(), 0o700);
    for ran in ran {
        let path = robot.dir().display();
        ran.failed(
            5,
            &[&format!(
                "cannot read the directory {path}: Permission denied"
            )],
        );
    }
}

/// A directory that is not empty is no topic, and cannot be removed as one.
#[test]
fn a_namespace_that_is_removed_in_part_names_what_is_gone_and_what_is_left() {
    let robot = Robot::new();
    drop(open_namespace(&robot, "torn"));
    let topics = robot.dir().join("torn/topics");
    // WHY before and after: files are removed in the order of the directory, which is not known.
    fs::write(topics.join("first"), "").unwrap();
    fs::create_dir_all(topics.join("obstacle/inner")).unwrap();
    fs::write(topics.join("arm+last"), "").unwrap();
    let ran = robot.run("namespace rm torn");
    ran.failed(5, &["Directory not empty", "Removed before: "]);
    let (_, parts) = ran.stderr.split_once("Removed before: ").unwrap();
    let (removed, left) = parts.split_once("; not removed: ").unwrap();
    for (file, name) in [
        ("first", "first"),
        ("arm+last", "arm/last"),
        ("obstacle", "obstacle"),
    ] {
        let is_left = topics.join(file).exists();
        let (named, other) = if is_left {
            (left, removed)
        } else {
            (removed, left)
        };
        assert!(named.contains(name) && !other.contains(name), "{ran:?}");
    }
    assert!(left.contains("obstacle"), "{ran:?}");
}
