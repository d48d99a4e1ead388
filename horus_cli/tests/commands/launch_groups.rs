//! `launch` and process groups: what a program has started has the time of the stop, too, and what
//! a launcher has inherited or adopted changes nothing.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use horus_testing::skip;

use crate::common::{Robot, Stream, until, wrapped};
use crate::launch::{event, file, is_alive, launch, number, printed_pid};

/// Returns true if the process has ended, and nobody has waited for it.
fn is_zombie(pid: i64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| stat.contains(") Z "))
}

/// Writes the script of a driver behind a shell. At SIGTERM, it waits for a file `go`, and ends.
fn write_driver(robot: &Robot) {
    let script = "trap 'while [ ! -e go ]; do sleep 0.01; done; echo off; exit 0' TERM
        echo $$
        while :; do sleep 0.01; done";
    file(robot, "driver", script);
}

/// The shell has no handler and ends at once, but its driver has the time of `stop_timeout`.
#[test]
fn what_a_shell_has_started_may_stop_in_order() {
    for stop in [libc::SIGINT, libc::SIGTERM] {
        let robot = Robot::new();
        write_driver(&robot);
        let program = "a: {command: ['sh', '-c', 'sh driver; :'], stop_timeout: 1000}";
        let stream = launch(&robot, program, "--json");
        let shell = number(&stream.line_with(&event("a", "started")), "pid");
        let driver = printed_pid(&stream, "a");
        stream.signal(stop);
        stream.line_with(&event("a", "stopping"));
        until("the shell has ended", || {
            is_zombie(shell) || !is_alive(shell)
        });
        // WHY: a launcher that kills what is left has the time to do so.
        thread::sleep(Duration::from_millis(300));
        file(&robot, "go", "");
        let ran = stream.wait();
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        assert!(ran.stdout.contains("\"text\":\"off\""), "{ran:?}");
        assert!(ran.stdout.contains(&event("a", "ended")), "{ran:?}");
        assert!(!ran.stdout.contains(&event("a", "killed")), "{ran:?}");
        assert!(!is_alive(driver));
    }
}

#[test]
fn what_a_shell_has_started_is_killed_if_it_does_not_stop() {
    let robot = Robot::new();
    write_driver(&robot);
    let program = "a: {command: ['sh', '-c', 'sh driver; :'], stop_timeout: 0.2}";
    let stream = launch(&robot, program, "--json");
    let driver = printed_pid(&stream, "a");
    stream.signal(libc::SIGINT);
    stream.line_with(&event("a", "stopping"));
    stream.line_with(&event("a", "killed"));
    stream.line_with(&event("a", "ended"));
    let ran = stream.wait();
    assert_eq!(ran.code, 1, "{ran:?}");
    until("its driver is gone", || !is_alive(driver));
}

/// A second signal kills what is left of a group, too, at once.
#[test]
fn a_second_signal_kills_what_a_shell_has_left() {
    let robot = Robot::new();
    write_driver(&robot);
    let program = "a: {command: ['sh', '-c', 'sh driver; :'], stop_timeout: 1000}";
    let stream = launch(&robot, program, "--json");
    let shell = number(&stream.line_with(&event("a", "started")), "pid");
    let driver = printed_pid(&stream, "a");
    stream.signal(libc::SIGINT);
    stream.line_with(&event("a", "stopping"));
    until("the shell has ended", || is_zombie(shell));
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    assert_eq!(ran.code, 130, "{ran:?}");
    until("its driver is gone", || !is_alive(driver));
}

/// Starts `horus` with these arguments as a child of a process that ignores SIGCHLD.
fn with_ignored_sigchld(robot: &Robot, arguments: &str) -> Command {
    let inner = robot.command(arguments);
    // WHY not the `trap` of a shell: shells need this signal, and do not ignore it.
    let mut command = Command::new("env");
    command.arg("--ignore-signal=CHLD").arg(inner.get_program());
    command.args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Supervisors often ignore the signal, and the kernel then reaps the children of what they start.
#[test]
fn an_ignored_sigchld_is_not_inherited() {
    let robot = Robot::new();
    let has_option = Command::new("env")
        .args(["--ignore-signal=CHLD", "true"])
        .output();
    if !has_option.is_ok_and(|output| output.status.success()) {
        return skip("env has no option --ignore-signal");
    }
    write_driver(&robot);
    file(&robot, "go", "");
    let programs = "{programs: {once: {command: ['true']},
        robot: {command: ['sh', 'driver']},
        mask: {command: ['grep', 'SigIgn', '/proc/self/status']}}}";
    let path = file(&robot, "robot.json5", programs);
    let arguments = format!("launch {} --json", path.display());
    let stream = Stream::spawn(&mut with_ignored_sigchld(&robot, &arguments));
    let (mut has_ended, mut is_up, mut mask) = (false, false, None);
    while !has_ended || !is_up || mask.is_none() {
        let line = stream.line();
        has_ended |= line.starts_with(&event("once", "ended"));
        if line.starts_with(&event("robot", "line")) {
            is_up = true;
        }
        if let Some((_, found)) = line.split_once("SigIgn:\\t") {
            mask = u64::from_str_radix(found.trim_end_matches("\"}"), 16).ok();
        }
    }
    assert_eq!(mask.unwrap() >> (libc::SIGCHLD - 1) & 1, 0, "{mask:?}");
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.contains("\"text\":\"off\""), "{ran:?}");
    // Python evaluates a launch file in a child, too.
    let text = "launch = {'programs': {'a': {'command': ['true']}}}";
    let path = file(&robot, "robot.py", text);
    let check = format!("launch --check {}", path.display());
    let output = with_ignored_sigchld(&robot, &check).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// A program that is never ready is in a loop, however long each attempt takes.
#[test]
fn a_program_that_is_never_ready_is_given_up() {
    let robot = Robot::new();
    let program = "a: {command: ['sleep', '1000'], ready: {publishes: ['imu']},
        ready_timeout: 0.1, restart_delay: 0.01, restart_delay_max: 0.05, restarts_max: 2}";
    let stream = launch(&robot, program, "--json");
    for _ in 0..3 {
        stream.line_with(&event("a", "not_ready"));
    }
    let mut line = stream.line();
    while !line.starts_with(&event("a", "given_up")) {
        assert!(!line.starts_with(&event("a", "started")), "{line}");
        line = stream.line();
    }
    assert_eq!(stream.wait().code, 1);
}

/// With a delay of 0, each run would be longer than the longest delay.
#[test]
fn restarts_without_a_delay_are_limited_too() {
    let robot = Robot::new();
    let program = "a: {command: ['false'], restart_delay: 0, restart_delay_max: 0,
        restarts_max: 3}";
    let stream = launch(&robot, program, "--json");
    for _ in 0..4 {
        stream.line_with(&event("a", "started"));
    }
    let mut line = stream.line();
    while !line.starts_with(&event("a", "given_up")) {
        assert!(!line.starts_with(&event("a", "started")), "{line}");
        line = stream.line();
    }
    assert_eq!(stream.wait().code, 1);
}

/// A program in between that does not run changes nothing in the order.
#[test]
fn the_order_of_the_stop_holds_across_a_program_that_has_ended() {
    let robot = Robot::new();
    write_driver(&robot);
    let programs = "a: {command: ['sleep', '1000']},
        b: {command: ['true'], after: ['a']},
        c: {command: ['sh', 'driver'], after: ['b'], stop_timeout: 1000}";
    let stream = launch(&robot, programs, "--json");
    printed_pid(&stream, "c");
    stream.signal(libc::SIGINT);
    stream.line_with(&event("c", "stopping"));
    file(&robot, "go", "");
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let ended = ran.stdout.find(&event("c", "ended")).expect(&ran.stdout);
    let stopping = ran.stdout.find(&event("a", "stopping"));
    assert!(stopping.is_some_and(|stopping| stopping > ended), "{ran:?}");
}

/// A container has often no other process 1, and nobody else waits for orphans then.
#[test]
fn a_launcher_that_is_process_1_waits_for_orphans() {
    let robot = Robot::new();
    let border = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ];
    let allowed = Command::new("unshare").args(border).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return skip("unshare is not allowed");
    }
    // The orphan ends when its parent has ended: the launcher has adopted it then.
    let script = "(while [ -e /proc/$$/cwd ]; do sleep 0.01; done) & exit 1";
    let orphan = "for n in 1 2 3; do setsid sleep 0.01 & done; echo $n";
    let programs = format!(
        "{{programs: {{a: {{command: ['sh', '-c', '{orphan}; {script}'], restart_delay: 0.01,
            restart_delay_max: 0.01}},
          look: {{command: ['sh', 'look']}}}}}}"
    );
    let path = file(&robot, "robot.json5", &programs);
    let look = "while :; do
            zombies=$(cat /proc/[0-9]*/stat 2> /dev/null | grep -c ') Z 1 ')
            echo zombies $zombies
            sleep 0.05
        done";
    file(&robot, "look", look);
    let inner = robot.command(&format!("launch {} --json", path.display()));
    let script = format!("exec unshare {} --kill-child \"$@\"", border.join(" "));
    let stream = Stream::spawn(&mut wrapped(&inner, &script));
    for _ in 0..8 {
        stream.line_with(&event("a", "ended"));
    }
    // Some may have ended a moment ago, and the launcher looks every 20 ms.
    until("the zombies are gone", || {
        let line = stream.line_with("zombies ");
        let (_, number) = line.split_once("zombies ").unwrap();
        number.trim_end_matches("\"}").parse::<u32>().unwrap() < 4
    });
    for _ in 0..8 {
        stream.line_with(&event("a", "ended"));
    }
    let line = stream.line_with("zombies ");
    let (_, number) = line.split_once("zombies ").unwrap();
    let number: u32 = number.trim_end_matches("\"}").parse().unwrap();
    assert!(number < 16, "{number} zombies");
}

/// A group whose processes `/proc` does not show may still run.
#[test]
fn what_a_shell_has_started_may_stop_in_order_without_proc() {
    let border = ["--user", "--map-root-user", "--mount"];
    let mount = ["sh", "-c", "mount -t tmpfs none /proc"];
    let allowed = Command::new("unshare").args(border).args(mount).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return skip("a mount over /proc is not allowed");
    }
    let robot = Robot::new();
    let script = "trap 'sleep 0.5; echo off; exit 0' TERM
        mount -t tmpfs none /proc
        echo up
        while :; do sleep 0.01; done";
    file(&robot, "driver", script);
    let script = format!("exec unshare {} \"$@\"", border.join(" "));
    let stop = |stop_timeout: u32| {
        let program =
            format!("command: ['sh', '-c', 'sh driver; :'], stop_timeout: {stop_timeout}");
        let programs = format!("{{programs: {{a: {{{program}}}}}}}");
        let path = file(&robot, "robot.json5", &programs);
        let inner = robot.command(&format!("launch {} --json", path.display()));
        let stream = Stream::spawn(&mut wrapped(&inner, &script));
        stream.line_with("\"text\":\"up\"");
        stream.signal(libc::SIGINT);
        stream.wait()
    };
    let off = "\"text\":\"off\"";
    let mut ran = stop(3);
    if !ran.stdout.contains(off) {
        // The machine may be busy. WHY not at once: the stop takes all of this time.
        ran = stop(60);
    }
    let (_, end) = ran.stdout.split_once(off).expect(&ran.stdout);
    assert!(end.contains(&event("a", "ended")), "{ran:?}");
    // It is not known whether others of its group run on, and that is no failure of the program.
    assert!(!ran.stdout.contains(&event("a", "killed")), "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
}
