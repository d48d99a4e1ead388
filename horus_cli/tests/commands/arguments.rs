//! Arguments: help texts, wrong names, wrong values, and what the environment sets.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use horus_core::message::CmdVel;
use horus_core::namespace::{Namespace, NamespaceName};
use horus_core::topic::Topic;
use horus_testing::write_program;

use crate::common::Robot;

/// Returns the commands of a help text.
fn commands_of(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

#[test]
fn help_fits_a_terminal() {
    let robot = Robot::new();
    let mut waiting = vec![String::new()];
    let mut seen = 0;
    while let Some(command) = waiting.pop() {
        seen += 1;
        for option in ["--help", "-h"] {
            let help = robot.answer(&format!("{command} {option}"));
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{command} {option}: {line}");
            }
            assert!(help.contains("Usage: horus"), "{help}");
        }
        let help = robot.answer(&format!("{command} --help"));
        waiting.extend(
            commands_of(&help)
                .iter()
                .map(|name| format!("{command} {name}")),
        );
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn wrong_names_are_answered_with_near_ones() {
    let robot = Robot::new();
    let mut program = robot.program();
    for topic in ["odom", "cmd_vel", "camera/rgb", "imu"] {
        program.tell(&format!("publish cmd_vel {topic}"));
    }
    let error = "no topic 'odm' in namespace 'default'. Near: odom, ";
    for command in ["info", "echo", "hz", "bw", "latency", "delay", "type", "rm"] {
        robot
            .run(&format!("topic {command} odm"))
            .failed(3, &[error]);
    }
    let ran = robot.run_with(&["topic", "hz", "camera2/*"]);
    ran.failed(3, &["no topic matches 'camera2/*'", "Near: camera/rgb"]);
    robot
        .run("topc list")
        .failed(2, &["no command 'topc'", "Near: top, topic"]);
    // `horus launch` gives a hidden command to its programs, which is not for users.
    let ran = robot.run("record");
    ran.failed(2, &["no command 'record'", ". See: horus --help"]);
    assert!(!ran.stderr.contains("__"), "{}", ran.stderr);
    robot
        .run("bridge zenoh")
        .failed(2, &["no command 'bridge', and no program horus-bridge."]);
    let help = robot.answer("help topic echo");
    assert_eq!(help, robot.answer("topic echo --help"));
    assert_eq!(robot.answer("help"), robot.answer("--help"));
    robot
        .run("help nothing")
        .failed(2, &["no command 'nothing'"]);
    let elsewhere = robot.run("topic info imu -N elsewhere");
    elsewhere.failed(
        3,
        &["no topic 'imu': the namespace 'elsewhere' does not exist"],
    );
    assert!(
        !robot.dir().join("elsewhere").exists(),
        "looking creates nothing"
    );
    robot.run("topic info a//b").failed(2, &["a//b"]);
    robot.run("topic list -N a/b").failed(2, &["a/b"]);
}

/// The library's own topics remain in nearly every namespace, and say nothing to a user who looks
/// for a topic.
#[test]
fn a_missing_topic_is_found_in_other_namespaces() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("schedule arm");
    // The graph is written last. A topic without a message would not outlive its program.
    let is_written = |message: &str| !message.is_empty();
    robot.until(
        "topic echo horus/schedulers/arm/graph -n 1 --timeout 1",
        is_written,
    );
    program.kill();
    let is_there = |list: &str| list.contains("horus/schedulers/arm/graph");
    assert!(is_there(&robot.answer("topic list -w 0 --all")));
    let config = robot.namespace().config().clone();
    let other = NamespaceName::new("sim").unwrap();
    let other = Namespace::open(&config.with_name(other)).unwrap();
    let topic = |name: &str| Topic::<CmdVel>::builder(name).namespace(&other);
    let _imu = topic("imu").publisher().unwrap();
    let error = "no topic 'imu' in namespace 'default'. Namespaces that have it: sim. Choose one";
    for command in ["info imu", "echo /imu", "hz imu", "pub imu {}"] {
        robot.run(&format!("topic {command}")).failed(3, &[error]);
    }
    let ran = robot.run("topic hz im*");
    ran.failed(
        3,
        &["no topic matches 'im*' in namespace 'default'. Namespaces that have it: sim."],
    );
    let elsewhere = robot.run("topic info imu -N nowhere");
    elsewhere.failed(
        3,
        &["'nowhere' does not exist", "Namespaces that have it: sim."],
    );
    // Another one is not there either.
    let ran = robot.run("topic echo odom");
    ran.failed(
        3,
        &["no topic 'odom' in namespace 'default'. Namespaces with topics: sim."],
    );
    // Internal topics are suggested to users who look for them.
    let ran = robot.run("topic echo horus/schedulers/x");
    ran.failed(3, &["Near: horus/schedulers/"]);
    // Similar names come first.
    let mut program = robot.program();
    program.tell("publish cmd_vel imo");
    let ran = robot.run("topic echo imu");
    ran.failed(
        3,
        &["'default'. Near: imo. Namespaces that have it: sim. Choose one"],
    );
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let robot = Robot::new();
    let table = [
        "topic hz",
        "topic hz imu --for x",
        "topic hz imu --min 0",
        "topic hz imu --for 0",
        "topic hz imu -w 0",
        "topic bw imu --for 0",
        "topic delay imu --for 0",
        "topic latency imu --for 0",
        "top -i 0",
        "topic echo imu a..b",
        "topic echo imu --where linear",
        "topic echo imu --csv --json",
        "topic echo imu linear --raw",
        "topic pub imu",
        "topic pub imu {x",
        "topic list --colour",
        "topic list --color sometimes",
        "topic list --timeout -1",
        "topic",
        "",
    ];
    for arguments in table {
        let ran = robot.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{arguments}: {ran:?}"
        );
        assert!(!ran.stderr.is_empty(), "{arguments}");
    }
}

#[test]
fn a_negative_rate_is_answered_with_what_a_rate_is() {
    let robot = Robot::new();
    let node = [
        "node rate arm -5",
        "node rate arm -0.1",
        "node rate arm 2e6",
    ];
    for arguments in node {
        let ran = robot.run(arguments);
        ran.failed_with_usage();
        let range = "a rate is from 0.000001 Hz to 1000000 Hz (1 MHz)";
        assert!(ran.stderr.contains(range), "{arguments}: {ran:?}");
    }
    let topic = [
        "echo imu --rate -5",
        "pub imu 1 --rate -5",
        "hz imu --min -5",
        "hz imu --max -5",
    ];
    for arguments in topic {
        let ran = robot.run(&format!("topic {arguments}"));
        ran.failed_with_usage();
        let range = "a rate is a positive number of hertz";
        assert!(ran.stderr.contains(range), "{arguments}: {ran:?}");
        assert!(!ran.stderr.contains("tip:"), "{arguments}: {ran:?}");
    }
}

/// The time until then could not be computed, so the command would end by a panic.
#[test]
fn a_time_or_a_rate_beyond_the_range_is_a_wrong_argument() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let seconds = "a number of seconds is from 0 to 1000000000";
    let hertz = "a rate is a positive number of hertz, at least 0.000000001";
    let table = [
        ("topic pub cmd_vel CmdVel {} -r 1e-20", hertz),
        ("topic pub cmd_vel CmdVel {} -r inf", hertz),
        ("topic echo cmd_vel --rate 1e-300", hertz),
        ("topic hz cmd_vel --min 1e-10", hertz),
        ("topic hz cmd_vel -w 1e19", seconds),
        ("topic delay cmd_vel -w 1e10", seconds),
        ("topic list -w=-1", seconds),
        ("topic list -w NaN", seconds),
        ("topic wait cmd_vel --timeout 1e300", seconds),
        ("top -i 1e19", seconds),
        (
            "top -i 1e-300",
            "is needed: from 0.000000001 to 1000000000 seconds",
        ),
    ];
    for (arguments, range) in table {
        let ran = robot.run(arguments);
        ran.failed_with_usage();
        assert!(ran.stderr.contains(range), "{arguments}: {ran:?}");
    }
    // The ends of the ranges are times that can be waited for.
    for arguments in [
        "topic pub cmd_vel CmdVel {} -r 1e-9",
        "topic echo cmd_vel --rate 1e-9",
        "topic hz cmd_vel -w 1e9",
        "topic hz cmd_vel -w 1e9 --jitter",
        "topic delay cmd_vel -w 1e9",
        "top -i 1e9",
    ] {
        robot.answer(&format!("{arguments} --timeout 0.05"));
    }
}

#[test]
fn a_namespace_that_does_not_exist_is_empty_and_a_directory_is_an_error() {
    let robot = Robot::new();
    let lists = [
        "topic list",
        "node list",
        "scheduler list",
        "graph",
        "log",
        "clean",
        "doctor",
    ];
    for list in lists {
        let ran = robot.run(&format!("{list} -N nothing"));
        assert!(ran.code == 0 || list == "doctor", "{list}: {ran:?}");
        let note = format!(
            "no namespace 'nothing': {}/nothing does not exist. There are: default. Choose one",
            robot.dir().display()
        );
        assert!(ran.stderr.contains(&note), "{list}: {ran:?}");
        robot.answer("namespace list");
        assert!(!robot.dir().join("nothing").exists(), "{list}");
    }
    let wanted = "the directory /nosuch of --shm-dir does not exist";
    let more = [
        "namespace list",
        "namespace rm x",
        "estop status",
        "estop release",
        "topic info x",
    ];
    for command in lists.iter().chain(&more) {
        let ran = robot.run(&format!("{command} --shm-dir /nosuch"));
        ran.failed(3, &[wanted]);
    }
}

/// The error is about the number, and not about an option that looks like it.
#[test]
fn a_wrong_number_is_named() {
    let robot = Robot::new();
    let seconds = "a number of seconds is from 0 to 1000000000";
    let whole = "a whole number from 0 on is wanted";
    let table = [
        ("topic list -w -1", seconds),
        ("topic list --timeout -1", seconds),
        ("--timeout -1.5 topic list", seconds),
        ("blackbox arm --since -1", seconds),
        ("topic echo imu -n -1", whole),
        ("topic echo imu -n x", whole),
        ("topic pub imu {} -n 1.5", whole),
        ("topic wait imu --pubs many", whole),
        ("topic pub imu {} --wait-subs -2", whole),
        ("top -n x", whole),
        ("log -n x", whole),
        ("blackbox arm -n x", whole),
        ("doctor --peer x", whole),
        ("doctor --peer -1", whole),
        ("monitor --port http", whole),
        ("monitor --port 65536", "the number is too large"),
        ("log -n 99999999999999999999", "the number is too large"),
    ];
    for (arguments, part) in table {
        let ran = robot.run(arguments);
        ran.failed_with_usage();
        assert!(ran.stderr.contains(part), "no '{part}' in {ran:?}");
    }
}

/// A file is an error wherever its name comes from. A missing directory of the variable is created
/// by the first program, so that only a note says that it is missing.
#[test]
fn a_file_in_place_of_the_directory_is_an_error() {
    let robot = Robot::new();
    let file = robot.dir().join("file");
    fs::write(&file, "").unwrap();
    let link = robot.dir().join("link");
    symlink(robot.dir().join("nothing"), &link).unwrap();
    let with_variable = |arguments: &str, dir: &Path| {
        let mut command = robot.command(arguments);
        let output = command.env("HORUS_SHM_DIR", dir).output().unwrap();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code().unwrap(), stdout, stderr)
    };
    for path in [&file, &link] {
        let wanted = format!("horus: {} is not a directory: remove it, ", path.display());
        for command in [
            "topic list",
            "node list",
            "namespace list",
            "clean",
            "topic info x",
        ] {
            let ran = robot.run(&format!("{command} --shm-dir {}", path.display()));
            assert_eq!(ran.code, 5, "{command}: {ran:?}");
            assert!(ran.stderr.starts_with(&wanted), "{command}: {ran:?}");
            let ran = with_variable(command, path);
            assert_eq!(ran.0, 5, "{command}: {ran:?}");
            assert!(ran.2.starts_with(&wanted), "{command}: {ran:?}");
        }
        let (code, stdout, _) = with_variable("doctor", path);
        let wanted = format!("FAULT  directory: {} is a ", path.display());
        assert!(code == 1 && stdout.contains(&wanted), "{stdout}");
    }
    let missing = robot.dir().join("missing");
    for command in ["topic list", "namespace list"] {
        let (code, _, stderr) = with_variable(command, &missing);
        assert_eq!(code, 0, "{command}: {stderr}");
        assert!(stderr.contains("does not exist"), "{command}: {stderr}");
    }
    let (code, stdout, _) = with_variable("doctor", &missing.join("below"));
    let wanted = format!(
        "cannot be created, because there is no {}",
        missing.display()
    );
    assert!(code == 1 && stdout.contains(&wanted), "{stdout}");
}

#[test]
fn a_namespace_is_chosen_by_options_and_environment() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("publish cmd_vel cmd_vel");
    let mut command = robot.command("topic type cmd_vel");
    command
        .env_remove("HORUS_SHM_DIR")
        .env("HORUS_NAMESPACE", "other");
    command
        .arg("--shm-dir")
        .arg(robot.dir())
        .args(["-N", "default"]);
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"CmdVel\n");
    let verbose = robot.run("topic type cmd_vel -v");
    let path = robot.dir().join("default");
    assert!(
        verbose.stderr.contains(&path.display().to_string()),
        "{verbose:?}"
    );
    let none = robot.run("topic list -N other");
    assert_eq!(none.code, 0, "{none:?}");
    assert!(none.stderr.contains("no namespace 'other'"), "{none:?}");
    let others = "There are: default. Choose one with --namespace";
    assert!(none.stderr.contains(others), "{none:?}");
    assert_eq!(robot.run("topic list -N other -q").stderr, "");
}

#[test]
fn colour_is_for_terminals_and_who_asks_for_it() {
    let robot = Robot::new();
    let mut program = robot.program();
    program.tell("subscribe best_effort cmd_vel");
    let colored = |arguments: &str, variable: Option<(&str, &str)>| {
        let mut command = robot.command(arguments);
        command.envs(variable);
        let output = command.output().unwrap();
        output.stdout.contains(&0x1b)
    };
    let table = [
        ("topic list -w 0", None, false),
        ("topic list -w 0 --color always", None, true),
        (
            "topic list -w 0 --color never",
            Some(("CLICOLOR_FORCE", "1")),
            false,
        ),
        ("topic list -w 0", Some(("CLICOLOR_FORCE", "1")), true),
        ("topic list -w 0", Some(("CLICOLOR_FORCE", "0")), false),
        (
            "topic list -w 0 --color always",
            Some(("NO_COLOR", "1")),
            true,
        ),
        ("topic list -w 0 --json --color always", None, false),
    ];
    for (arguments, variable, expected) in table {
        assert_eq!(
            colored(arguments, variable),
            expected,
            "{arguments} {variable:?}"
        );
    }
}

#[test]
fn external_commands_are_programs_beside_this_one_or_in_path() {
    let robot = Robot::new();
    let script = |name: &str, says: &str| {
        let text = format!("#!/bin/sh\necho {says} \"$@\" $HORUS_NAMESPACE $HORUS_JSON\n");
        write_program(robot.dir().join(name), text);
    };
    script("horus-weather", "weather");
    script("horus-weather-map", "map");
    let run = |arguments: &[&str]| {
        let mut command = robot.command_with(arguments);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", robot.dir().display()));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(run(&["weather", "today"]), "weather today default\n");
    assert_eq!(
        run(&["-N", "x", "--json", "weather", "map", "-z"]),
        "map -z x 1\n"
    );
    assert_eq!(run(&["weather", "--json"]), "weather --json default\n");
    // A file that may not be executed hides no program that comes later.
    let folder = robot.dir().join("first");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("horus-weather"), "").unwrap();
    let mut command = robot.command_with(&["weather"]);
    let path = [folder.display(), robot.dir().display()].map(|folder| folder.to_string());
    command.env("PATH", format!("{}:/usr/bin:/bin", path.join(":")));
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"weather default\n", "{output:?}");
    std::fs::write(folder.join("horus-weather-map"), "").unwrap();
    let mut command = robot.command_with(&["weather", "map"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", path.join(":")));
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"map default\n", "{output:?}");
    // If it is the only one, the error names it.
    let mut command = robot.command_with(&["weather"]);
    command.env("PATH", &folder);
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let found = folder.join("horus-weather").display().to_string();
    for part in ["cannot execute", &found, "Permission denied"] {
        assert!(error.contains(part), "no '{part}' in {error}");
    }
    assert_eq!(output.status.code(), Some(5), "{error}");
    robot.run("../weather").failed(2, &["no command"]);
}

/// An option that the program cannot know of is passed on, or refused.
#[test]
fn external_commands_get_the_global_options() {
    let robot = Robot::new();
    let variables = ["HORUS_QUIET", "HORUS_VERBOSE", "NO_COLOR", "CLICOLOR_FORCE"];
    let values = variables.map(|name| format!("${{{name}-unset}}")).join(" ");
    let script = format!("#!/bin/sh\necho {values}\n");
    write_program(robot.dir().join("horus-weather"), script);
    let run = |options: &str, colour: Option<&str>| {
        let mut command = robot.command(&format!("{options} weather"));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", robot.dir().display()));
        for name in ["HORUS_QUIET", "HORUS_VERBOSE"] {
            command.env_remove(name);
        }
        if let Some(variable) = colour {
            command.env(variable, "1");
        }
        command.output().unwrap()
    };
    let table = [
        ("", None, "unset unset unset unset\n"),
        ("", Some("NO_COLOR"), "unset unset 1 unset\n"),
        ("-q", None, "1 unset unset unset\n"),
        ("--verbose", None, "unset 1 unset unset\n"),
        ("--color always", Some("NO_COLOR"), "unset unset unset 1\n"),
        (
            "--color never",
            Some("CLICOLOR_FORCE"),
            "unset unset 1 unset\n",
        ),
    ];
    for (options, colour, wanted) in table {
        let output = run(options, colour);
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            wanted,
            "{options}"
        );
    }
    let output = run("--timeout 5", None);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(output.stdout, b"", "{error}");
    assert!(
        error.contains("--timeout cannot limit horus-weather,"),
        "{error}"
    );
}

/// Only a file that does not exist has the exit code for that.
#[test]
fn a_file_that_cannot_be_read_is_not_a_missing_one() {
    let robot = Robot::new();
    let path = |name: &str| robot.dir().join(name).display().to_string();
    std::fs::write(path("bytes"), [0xff, 0xfe]).unwrap();
    std::fs::create_dir(path("directory")).unwrap();
    std::os::unix::fs::symlink("circle", path("circle")).unwrap();
    let table = [
        ("missing", 3),
        ("bytes", 2),
        ("directory", 2),
        ("circle", 5),
    ];
    for (name, code) in table {
        let path = path(name);
        let part = format!("cannot read {path}: ");
        let ran = robot.run(&format!("launch {path}"));
        ran.failed(code, &[&part]);
        let ran = robot.run(&format!("topic pub cmd_vel CmdVel @{path}"));
        ran.failed(code, &[&part]);
    }
}

#[test]
fn a_help_text_that_cannot_be_written_is_a_failure() {
    let robot = Robot::new();
    for arguments in ["--help", "--version", "topic echo --help", "help topic"] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = robot.command(arguments);
        let output = command.stdout(full.unwrap()).output().unwrap();
        let found = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{arguments}: {found}");
        assert!(
            found.starts_with("horus: cannot write to stdout: "),
            "{found}"
        );
    }
}
