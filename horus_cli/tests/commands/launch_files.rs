//! `launch`: mistakes in launch files, which `--check` finds, too.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::common::Robot;
use crate::golden::check_json;
use crate::launch::file;

#[test]
fn a_file_can_be_checked() {
    let robot = Robot::new();
    let good = file(
        &robot,
        "good.json5",
        "{programs: {a: {command: ['sh'], after: ['b']}, b: {command: ['true']}}}",
    );
    let good = good.display();
    let ran = robot.run(&format!("launch {good} --check"));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "b\na\n"));
    assert_eq!(ran.stderr, "");
    let json = robot.answer(&format!("launch {good} --check --json"));
    check_json("launch_check", &json);
    robot
        .run("launch /no/such/file")
        .failed(3, &["cannot read /no/such/file"]);
}

/// The error of the operating system says "No such file" for each of them, and names none.
#[test]
fn the_reason_why_a_program_cannot_be_started_is_named() {
    let robot = Robot::new();
    let script = |name: &str, text: &str, mode: u32| {
        let path = robot.dir().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    };
    script("plain", "#!/bin/sh\n", 0o600);
    script("old", "#! /no/such/sh -e\n", 0o700);
    script("good", "#!/bin/sh\n", 0o700);
    let dir = robot.dir().display();
    let table = [
        (
            "command: ['sh'], dir: '/nosuchdir'",
            "there is no directory /nosuchdir: create it, or correct 'dir'".to_owned(),
        ),
        (
            "command: ['sh'], dir: 'good'",
            format!("the directory {dir}/good cannot be used: Not a directory"),
        ),
        (
            "command: ['horus-none', 'x']",
            "there is no program 'horus-none' in PATH".to_owned(),
        ),
        (
            "command: ['sh'], env: {PATH: '/nowhere'}",
            "there is no program 'sh' in PATH".to_owned(),
        ),
        (
            "command: ['./none']",
            format!("there is no program {dir}/none"),
        ),
        (
            "command: ['/dev']",
            "the program /dev is a directory".to_owned(),
        ),
        (
            "command: ['./plain']",
            format!("the program {dir}/plain is no executable file"),
        ),
        (
            "command: ['./old']",
            format!("the program {dir}/old is a script for /no/such/sh, which does not exist"),
        ),
    ];
    for (program, reason) in &table {
        let path = file(
            &robot,
            "robot.json5",
            &format!("{{programs: {{x: {{{program}}}, y: {{command: ['./good']}}}}}}"),
        );
        let path = path.display();
        let check = robot.run(&format!("launch --check {path}"));
        assert_eq!((check.code, check.stdout.as_str()), (1, "x\ny\n"));
        let last = format!("horus: {path}: these programs cannot be started on this machine: x\n");
        let ends = check.stderr.ends_with(&last);
        let named = check.stderr.starts_with(&format!("x: {reason}"));
        assert!(ends && named, "{reason}: {check:?}");
        let quiet = robot.run(&format!("launch --check {path} -q"));
        assert_eq!((quiet.code, quiet.stderr), (1, last));
        let ran = robot.run(&format!("launch {path}"));
        let line = format!("[x] cannot be started: {reason}");
        assert!(ran.stderr.contains(&line), "{line}: {ran:?}");
        assert!(ran.stderr.contains("[x] not restarted\n"), "{ran:?}");
        assert_eq!(ran.code, 1);
    }
}
