//! `launch`: mistakes in launch files, which `--check` finds, too.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use horus_testing::write_program;

use crate::common::{Robot, Stream, wrapped};
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
    file(&robot, "plain", "#!/bin/sh\n");
    write_program(robot.dir().join("old"), "#! /no/such/sh -e\n");
    write_program(robot.dir().join("good"), "#!/bin/sh\n");
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

/// Checks a launch file with a mistake. `--check` and the launch refuse it with the same error:
/// this one, after the path of the file.
#[track_caller]
fn check_refused(robot: &Robot, text: &str, error: &str) {
    let path = file(robot, "robot.json5", text);
    let path = path.display();
    for options in ["--check", ""] {
        let ran = robot.run(&format!("launch {options} {path}"));
        ran.failed(2, &[&format!("horus: {path}: {error}")]);
    }
}

#[test]
fn a_wrong_setting_is_named_with_its_program_and_its_line() {
    let robot = Robot::new();
    let all = "after, command, dir, env, ready, ready_timeout, required, restart, restart_delay, \
               restart_delay_max, restarts_max, stop_timeout\n";
    let table = [
        (
            "command: \"true -v\"",
            "10: program 'x': 'command' is \"true -v\", but a list of texts is wanted, such as \
             [\"true\",\"-v\"]\n",
        ),
        (
            "command: ['sleep', 10]",
            "20: program 'x': 'command[1]' is 10, but a text is wanted in quotes: \"10\"\n",
        ),
        (
            "command: []",
            "10: program 'x': 'command' is [], which names no program: ",
        ),
        (
            "command: ['']",
            "10: program 'x': 'command' is [\"\"], which names no program: ",
        ),
        (
            "comand: ['x']",
            &format!(
                "9: program 'x': 'comand' is an unknown setting. Near: command, env, ready. The \
                 settings are {all}"
            ),
        ),
        (
            "afer: ['y']",
            &format!(
                "7: program 'x': 'afer' is an unknown setting. Near: after, dir, env. The \
                 settings are {all}"
            ),
        ),
        (
            "after: \"y\"",
            "8: program 'x': 'after' is \"y\", but a list of texts is wanted, such as [\"y\"]\n",
        ),
        (
            "after: ['z']",
            "9: program 'x': 'after[0]' is 'z', which is no program. Near: x, y\n",
        ),
        (
            "env: {A: 1}",
            "10: program 'x': 'env.A' is 1, but a text is wanted in quotes: \"1\"\n",
        ),
        (
            "env: ['A=1']",
            "6: program 'x': 'env' is [\"A=1\"], but an object is wanted of variables such as \
             {NAME: \"value\"}\n",
        ),
        (
            "command: ['x', \"a\\0\"]",
            "16: program 'x': 'command[1]' is \"a\\u0000\", but a text without the character NUL \
             is wanted\n",
        ),
        (
            "env: {A: \"\\0\"}",
            "10: program 'x': 'env.A' is \"\\u0000\", but a text without the character NUL is \
             wanted\n",
        ),
        (
            "env: {\"A=B\": 'c'}",
            "14: program 'x': 'env.A=B' is no variable: a name without = and NUL is wanted\n",
        ),
        (
            "env: {\"\": 'c'}",
            "11: program 'x': 'env.' is no variable: a name without = and NUL is wanted\n",
        ),
        (
            "ready_timeout: -1",
            "16: program 'x': 'ready_timeout' is -1, but a number of seconds from 0 to 1000000000 \
             is wanted, such as 10\n",
        ),
        (
            "stop_timeout: Infinity",
            "15: program 'x': 'stop_timeout' is inf, but a finite number is wanted\n",
        ),
        (
            "restart_delay: \"fast\"",
            "16: program 'x': 'restart_delay' is \"fast\", but a number of seconds from 0 to \
             1000000000 is wanted, such as 0.1\n",
        ),
        (
            "restart: 'sometimes'",
            "10: program 'x': 'restart' is \"sometimes\", but \"never\", \"on-failure\" or \
             \"always\" is wanted\n",
        ),
        (
            "restarts_max: 1.5",
            "15: program 'x': 'restarts_max' is 1.5, but a whole number from 0 to 4294967295 is \
             wanted\n",
        ),
        (
            "required: 'yes'",
            "11: program 'x': 'required' is \"yes\", but true or false is wanted\n",
        ),
        (
            "ready: ['imu']",
            "8: program 'x': 'ready' is [\"imu\"], but an object is wanted with the keys \
             publishes, subscribes\n",
        ),
        (
            "ready: {publishes: [\"foo/\"]}",
            "21: program 'x': 'ready.publishes[0]' is no name of a topic: the topic name \"foo/\" \
             has an empty token at byte 4, in \"/\": use ",
        ),
        (
            "ready: {subscribes: [\"a b\"]}",
            "22: program 'x': 'ready.subscribes[0]' is no name of a topic: the topic name \"a b\" \
             has ' ' at byte 1: use ",
        ),
    ];
    for (setting, error) in table {
        let rest = match setting.starts_with("command:") {
            true => "",
            false => "command: ['x']",
        };
        let text = format!(
            "{{\n programs: {{\n  x: {{\n{setting},\n{rest}\n}},\n y: {{command: ['y']}}}}}}"
        );
        check_refused(&robot, &text, &format!("line 4 column {error}"));
    }
}

#[test]
fn a_file_that_defines_no_robot_is_refused() {
    let robot = Robot::new();
    let long = "n".repeat(60);
    let table = [
        (
            "{namespace: \"a b\", programs: {x: {command: ['x']}}}",
            "line 1 column 13: 'namespace' is no name of a namespace: the namespace name \"a b\" \
             has ' ' at byte 1: use ",
        ),
        (
            &format!("{{namespace: '{long}', private: true, programs: {{x: {{command: ['x']}}}}}}"),
            "line 1 column 13: 'namespace' is too long with the digits that 'private' appends to \
             it: the namespace name has 77 bytes: use at most 64\n",
        ),
        (
            "{programs: {}}",
            "line 1 column 12: 'programs' is empty, but one program is wanted, such as ",
        ),
        ("{}", "line 1 column 1: 'programs' is missing: "),
        (
            "7",
            "line 1 column 1: the launch file is 7, but an object is wanted",
        ),
        (
            "{programs: {x: {}}}",
            "line 1 column 16: program 'x': 'command' is missing: ",
        ),
        // Twice the same program: the last one would win.
        (
            "{programs: {\n motor: {command: ['a']},\n tilt: {command: ['b']},\n \
             motor: {command: ['c']}}}",
            "line 4 column 9: program 'motor' is in the file twice: remove or rename one of the \
             two\n",
        ),
        (
            "{programs: {x: {command: ['a'], command: ['b']}}}",
            "line 1 column 42: program 'x': 'command' is in the file twice: ",
        ),
        (
            "",
            "no valid JSON5: the file ends within this part: value\n",
        ),
        (
            "{programs: {",
            "line 1 column 12: no valid JSON5: the file ends within this part: object\n",
        ),
        (
            "{programs: {x {}}}",
            "line 1 column 15: no valid JSON5: expected colon\n",
        ),
        (
            "{programs: {x: {command: ['x']}}} {}",
            "line 1 column 35: the end of the file is wanted after its object\n",
        ),
        (&"[".repeat(10_000), "line 1 column 34: more than 32 lists"),
    ];
    for (text, error) in table {
        check_refused(&robot, text, error);
    }
    let path = file(
        &robot,
        "robot.json5",
        "{programs: {a: {command: ['sh'], after: ['b']}, b: {command: ['sh'], after: ['a']}}}",
    );
    let path = path.display();
    for options in ["--check", ""] {
        let error = format!("{path}: these programs wait for each other by 'after': a, b");
        let ran = robot.run(&format!("launch {options} {path}"));
        ran.failed(2, &[&error]);
    }
    let path = file(&robot, "good.json5", "{programs: {a: {command: ['sh']}}}");
    let path = path.display().to_string();
    for options in [["-N", "a b"].as_slice(), &["-N", "a b", "--check"]] {
        let ran = robot.run_with(&[&["launch", &path], options].concat());
        ran.failed(2, &["the namespace name \"a b\" has ' ' at byte 1"]);
    }
    let text = "{private: true, programs: {a: {command: ['sh']}}}";
    let path = file(&robot, "private.json5", text);
    let name = "n".repeat(60);
    for options in ["", " --check"] {
        let ran = robot.run(&format!("launch {} -N {name}{options}", path.display()));
        ran.failed(2, &["is too long with the digits that 'private' appends"]);
    }
}

/// The default would select another device.
#[test]
fn a_variable_that_is_not_utf_8_is_not_taken_for_missing() {
    let robot = Robot::new();
    for word in ["${HORUS_TEST_PORT:-/dev/ttyUSB0}", "${HORUS_TEST_PORT}"] {
        let text = format!("{{programs: {{a: {{command: ['true', '{word}']}}}}}}");
        let path = file(&robot, "robot.json5", &text);
        let mut command = robot.command(&format!("launch --check {}", path.display()));
        command.env("HORUS_TEST_PORT", OsStr::from_bytes(b"/dev/tty\xff"));
        let error = "the variable HORUS_TEST_PORT is not UTF-8";
        Stream::spawn(&mut command).wait().failed(2, &[error]);
    }
}

#[test]
fn what_python_defines_and_json_cannot_hold_is_named() {
    let robot = Robot::new();
    let table: [(&[u8], &str); 3] = [
        (
            b"import os, pathlib\nlaunch = {'programs': pathlib.Path(os.fsdecode(b'\\xff'))}\n",
            "surrogate",
        ),
        (b"launch = 10**400\n", "number out of range"),
        (
            b"launch = x = []\nfor _ in range(200):\n    x.append([])\n    x = x[0]\n",
            "recursion limit",
        ),
    ];
    for (text, part) in table {
        let path = robot.dir().join("robot.py");
        fs::write(&path, text).unwrap();
        let ran = robot.run(&format!("launch --check {}", path.display()));
        ran.failed(2, &["robot.py: it defines what JSON cannot hold: ", part]);
    }
    let path = file(&robot, "robot.py", "import os\nos._exit(0)\n");
    let ran = robot.run(&format!("launch --check {}", path.display()));
    let error = "robot.py: python3 did not evaluate it (exit status: 0)";
    ran.failed(2, &[error]);
    let path = robot.dir().join("robot.py");
    let text =
        b"# -*- coding: latin-1 -*-\n# \xe4\nlaunch = {'programs': {'a': {'command': ['true']}}}\n";
    fs::write(&path, text).unwrap();
    assert_eq!(
        robot.answer(&format!("launch --check {}", path.display())),
        "a\n"
    );
}

/// Permission bits for others, or for the group, do not let the owner execute a file.
#[test]
fn a_program_that_this_user_may_not_execute_is_found() {
    let robot = Robot::new();
    let path = robot.dir().join("foreign");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o611)).unwrap();
    let text = "{programs: {x: {command: ['./foreign']}}}";
    let launch_file = file(&robot, "robot.json5", text);
    let command = robot.command(&format!("launch --check {}", launch_file.display()));
    // SAFETY: the call takes nothing.
    let script = match unsafe { libc::geteuid() } {
        // WHY: root may execute what anybody may, with this capability.
        0 => "exec setpriv --bounding-set -dac_override --inh-caps -dac_override \"$@\"",
        _ => "exec \"$@\"",
    };
    let ran = Stream::spawn(&mut wrapped(&command, script)).wait();
    let reason = format!("this user may not execute the program {}", path.display());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains(&reason), "{ran:?}");
    assert!(ran.stderr.contains("its mode is 0611"), "{ran:?}");
}
