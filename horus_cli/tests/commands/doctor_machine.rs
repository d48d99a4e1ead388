//! `doctor` on machines with other settings: what it finds about them, and measures on them.

use std::collections::BTreeSet;
use std::process::Command;

use horus_testing::skip;

use crate::common::{Robot, status_value};

/// Otherwise nobody finds out why the programs of a user lose each other at each logout.
#[test]
fn the_removal_of_namespaces_at_the_logout_of_a_user_is_a_note() {
    let script = |setting: &str, command: &str| {
        format!(
            "mount -t tmpfs none /run && mkdir -p /run/systemd/seats && mount -t tmpfs none /etc \
             && mkdir -p /etc/systemd/logind.conf.d && echo RemoveIPC={setting} > \
             /etc/systemd/logind.conf.d/robot.conf && exec setpriv --reuid=65534 --regid=65534 \
             --clear-groups {command}"
        )
    };
    let contained = |setting: &str, command: &str| {
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "sh", "-c", &script(setting, command)]);
        shell
            .env_remove("HORUS_SHM_DIR")
            .env_remove("HORUS_SHM_GROUP");
        shell.output()
    };
    // WHY this program: the other user may not be able to reach its directory.
    let version = format!("{} --version", env!("CARGO_BIN_EXE_horus"));
    if !contained("yes", &version).is_ok_and(|output| output.status.success()) {
        return skip("only root can mount and run the command as another user, by setpriv");
    }
    let doctor = format!("{} doctor", env!("CARGO_BIN_EXE_horus"));
    let note = "note   logout: when the last session of user 65534 ends";
    for (setting, is_noted) in [("yes", true), ("no", false)] {
        let output = contained(setting, &doctor).unwrap();
        let found = String::from_utf8(output.stdout).unwrap();
        assert!(found.contains("/dev/shm/horus-65534"), "{found}");
        assert_eq!(found.contains(note), is_noted, "{setting}: {found}");
    }
}

/// The root of such a namespace has all capabilities, and the kernel does not let it do more than
/// its user outside.
#[test]
fn the_root_of_a_user_namespace_needs_limits_like_any_user() {
    let robot = Robot::new();
    let contained = |command: &str| {
        let script = format!(
            "ulimit -l 64 && ulimit -r 0 && exec setpriv --reuid=65534 --regid=65534 \
             --clear-groups unshare --user --map-root-user {command}"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]);
        shell.env("HORUS_SHM_DIR", robot.dir());
        shell.output()
    };
    let version = format!("{} --version", env!("CARGO_BIN_EXE_horus"));
    if !contained(&version).is_ok_and(|output| output.status.success()) {
        return skip(
            "only root can run the command as another user, who may make a user namespace",
        );
    }
    let output = contained(&format!("{} doctor", env!("CARGO_BIN_EXE_horus"))).unwrap();
    let found = String::from_utf8(output.stdout).unwrap();
    for note in [
        "note   locked memory: 65536 bytes\n",
        "note   real-time priority: not allowed: Operation not permitted",
    ] {
        assert!(found.contains(note), "no '{note}' in {found}");
    }
}

/// Returns the numbers of CPUs in a list of the kernel, such as `0-2,5`.
pub(crate) fn cpus(list: &str) -> BTreeSet<usize> {
    let ranges = list.split(',').filter(|range| !range.is_empty());
    let ranges = ranges.map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<usize>().unwrap()..=last.parse().unwrap()
    });
    ranges.flatten().collect()
}

pub(crate) fn isolated_cpus() -> BTreeSet<usize> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap();
    cpus(list.trim())
}

/// Otherwise other CPUs are measured than those on which the nodes of this user run.
#[test]
fn the_cpus_of_the_command_are_measured() {
    let robot = Robot::new();
    let allowed = status_value(i64::from(std::process::id()), "Cpus_allowed_list:");
    // A count of the CPUs would begin with another one.
    let Some(last) = cpus(&allowed).pop_last().filter(|last| *last > 0) else {
        return skip("there is only one CPU");
    };
    let shown = last.to_string();
    let mut command = Command::new("taskset");
    command.args([
        "-c",
        &shown,
        env!("CARGO_BIN_EXE_horus"),
        "doctor",
        "--rt=0.2",
    ]);
    command.env("HORUS_SHM_DIR", robot.dir());
    let output = command.output().unwrap();
    let (stdout, stderr) = (output.stdout, output.stderr);
    let found = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
    let mut expected = isolated_cpus();
    expected.insert(last);
    let measured = found.split("wake-up latency: cpu ").skip(1);
    let measured = measured.map(|line| line.split(' ').next().unwrap().parse().unwrap());
    assert_eq!(measured.collect::<BTreeSet<usize>>(), expected, "{found}");
    if expected.len() == 1 {
        assert!(found.contains(&format!(" s on CPUs {last}\n")), "{found}");
    }
}
