//! `launch` and signals: a closed terminal, a second signal, and signals that are ignored.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use horus_testing::skip;

use crate::common::{Robot, Stream, handles, open_terminal, status_value, until, wrapped};
use crate::launch::{event, file, is_alive, kill, launch, number, printed_number, printed_pid};

/// Two programs that write their names to the file `stopped` when they get SIGTERM. The first one,
/// which is stopped last, does so at once; the second one when there is a file `go`.
const PROGRAMS: &str = "a: {command: ['sh', 'script', 'a']},
    b: {command: ['sh', 'script', 'b'], after: ['a'], stop_timeout: 1000}";

/// Writes the script of [`PROGRAMS`].
fn write_script(robot: &Robot) {
    let script = "stop() {
            while [ $1 = b ] && [ ! -e go ]; do sleep 0.01; done
            echo $1 >> stopped
            exit 0
        }
        trap 'stop '$1 TERM
        echo up >> up
        while :; do sleep 0.01; done";
    file(robot, "script", script);
}

fn until_both_are_up(robot: &Robot) {
    let up = robot.dir().join("up");
    until("both are up", || {
        fs::read_to_string(&up).is_ok_and(|text| text == "up\nup\n")
    });
}

fn send(pid: i64, signal: i32) {
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}

/// A closed terminal sends SIGHUP, often twice, and systemd sends it after SIGTERM.
#[test]
fn a_hangup_stops_the_programs_in_order() {
    let second_signals = [
        (libc::SIGHUP, libc::SIGHUP),
        (libc::SIGTERM, libc::SIGHUP),
        (libc::SIGHUP, libc::SIGTERM),
    ];
    for (first, second) in second_signals {
        let robot = Robot::new();
        write_script(&robot);
        let stream = launch(&robot, PROGRAMS, "--json");
        until_both_are_up(&robot);
        stream.line_with(&event("b", "ready"));
        stream.signal(first);
        let mut lines = vec![stream.line_with(&event("b", "stopping"))];
        stream.signal(second);
        // WHY: a launcher that kills at the second signal has the time to do so.
        thread::sleep(Duration::from_millis(100));
        file(&robot, "go", "");
        let ran = stream.wait();
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        let events = ran.stdout.lines().filter(|line| !line.contains("\"line\""));
        lines.extend(events.map(str::to_owned));
        let expected = [
            event("b", "stopping"),
            event("b", "ended"),
            event("a", "stopping"),
            event("a", "ended"),
        ];
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(&expected), "{lines:?}");
        }
        let stopped = fs::read_to_string(robot.dir().join("stopped")).unwrap();
        assert_eq!(stopped, "b\na\n");
    }
}

/// `systemctl stop` sends SIGTERM to the launcher and to all programs of the service.
#[test]
fn a_program_that_gets_the_signal_of_the_stop_from_others_is_no_failure() {
    let robot = Robot::new();
    write_script(&robot);
    let programs = "a: {command: ['sleep', '1000']},
        b: {command: ['sh', 'script', 'b'], after: ['a'], stop_timeout: 1000}";
    let stream = launch(&robot, programs, "--json");
    let started = stream.line_with(&event("a", "started"));
    let up = robot.dir().join("up");
    until("b is up", || up.exists());
    stream.signal(libc::SIGTERM);
    stream.line_with(&event("b", "stopping"));
    send(number(&started, "pid"), libc::SIGTERM);
    let ended = stream.line_with(&event("a", "ended"));
    assert_eq!(number(&ended, "signal"), 15);
    file(&robot, "go", "");
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

/// Makes the process that `command` starts the leader of a session whose terminal is its stdin.
fn lead_session(command: &mut Command) {
    let lead = || {
        // SAFETY: the call takes nothing.
        let session = unsafe { libc::setsid() };
        // SAFETY: the call takes a number.
        let attached = unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) };
        if session < 0 || attached < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: after the fork, `lead` only makes system calls.
    unsafe { command.pre_exec(lead) };
}

/// After a lost connection of ssh, each write to the terminal fails.
#[test]
fn a_closed_terminal_stops_the_programs_in_order() {
    let robot = Robot::new();
    write_script(&robot);
    let path = file(
        &robot,
        "robot.json5",
        &format!("{{programs: {{{PROGRAMS}}}}}"),
    );
    let [window, terminal] = open_terminal();
    let mut command = robot.command(&format!("launch {}", path.display()));
    command.stdin(terminal.try_clone().unwrap());
    command.stdout(terminal.try_clone().unwrap());
    command.stderr(terminal);
    lead_session(&mut command);
    let mut launcher = command.spawn().unwrap();
    // WHY: the command holds the side of the programs open.
    drop(command);
    until_both_are_up(&robot);
    file(&robot, "go", "");
    drop(window);
    until("the launcher ends", || {
        launcher.try_wait().unwrap().is_some()
    });
    let stopped = fs::read_to_string(robot.dir().join("stopped"));
    assert_eq!(stopped.unwrap_or_default(), "b\na\n");
    assert_eq!(launcher.wait().unwrap().code(), Some(0));
}

/// `nohup` starts a command so.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let robot = Robot::new();
    let programs = "{programs: {a: {command: ['sleep', '1000'], restart_delay: 0.01}}}";
    let path = file(&robot, "robot.json5", programs);
    let inner = robot.command(&format!("launch {} --json", path.display()));
    let stream = Stream::spawn(&mut wrapped(&inner, "trap '' HUP; exec \"$@\""));
    let started = stream.line_with(&event("a", "started"));
    stream.signal(libc::SIGHUP);
    // A launcher that stops its programs does not start one again.
    kill(number(&started, "pid"));
    stream.line_with(&event("a", "started"));
    stream.signal(libc::SIGTERM);
    assert_eq!(stream.wait().code, 0);
}

#[test]
fn a_second_signal_kills_all_programs() {
    let deaf = "command: ['sh', '-c', 'trap \"\" TERM; sleep 1000 & echo $!; wait'],
        stop_timeout: 1000";
    let programs = format!("a: {{{deaf}}}, b: {{{deaf}, after: ['a']}}");
    for options in ["--json", "--json --keep"] {
        for (first, second) in [
            (libc::SIGINT, libc::SIGINT),
            (libc::SIGTERM, libc::SIGINT),
            (libc::SIGTERM, libc::SIGTERM),
        ] {
            let robot = Robot::new();
            let stream = launch(&robot, &programs, options);
            // Of each program, its process and the one that it has started.
            let mut pids = Vec::new();
            while pids.len() < 4 {
                let line = stream.line();
                if line.contains("\"event\":\"started\"") {
                    pids.push(number(&line, "pid"));
                } else if line.contains("\"event\":\"line\"") {
                    pids.push(printed_number(&line));
                }
            }
            stream.signal(first);
            stream.line_with(&event("b", "stopping"));
            stream.signal(second);
            let ran = stream.wait();
            assert_eq!((ran.code, ran.stderr.as_str()), (130, ""), "{ran:?}");
            until("all are gone", || !pids.iter().any(|pid| is_alive(*pid)));
        }
    }
}

/// Returns the process id of the child of a launcher that runs this hidden command.
fn helper_of(launcher: u32, command: &str) -> i64 {
    let children = fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children"));
    let children = children.unwrap();
    let suffix = format!("\0{command}\0");
    let is_helper = |pid: &&str| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.ends_with(suffix.as_bytes())
    };
    let helper = children.split_whitespace().find(is_helper);
    helper.expect(command).parse().unwrap()
}

/// Returns true if a process handles the signal and sleeps.
fn sleeps_and_handles(pid: i64, signal: i32) -> bool {
    handles(pid, signal) && status_value(pid, "State:").starts_with('S')
}

/// A signal to all processes of a session or service also reaches the guard.
#[test]
fn the_guard_outlives_signals() {
    let robot = Robot::new();
    let programs = "a: {command: ['sh', '-c', 'sleep 1000 & echo $!; wait']}";
    let stream = launch(&robot, programs, "--json");
    let grandchild = printed_pid(&stream, "a");
    let guard = helper_of(stream.id(), "__guard");
    until("it waits for its launcher", || {
        sleeps_and_handles(guard, libc::SIGTERM)
    });
    for signal in [libc::SIGHUP, libc::SIGTERM, libc::SIGTERM, libc::SIGINT] {
        send(guard, signal);
    }
    assert!(is_alive(grandchild));
    stream.signal(libc::SIGKILL);
    assert_eq!(stream.wait().code, -9);
    until("the grandchild is gone", || !is_alive(grandchild));
}

/// A kept program is neither killed by what it prints nor blocked by a full pipe.
#[test]
fn a_kept_program_may_print_when_its_launcher_is_dead() {
    let robot = Robot::new();
    // Each round prints as much as a pipe can hold.
    let script = "head -c 65536 /dev/zero; echo; head -c 65536 /dev/zero >&2; echo >&2";
    let programs = format!(
        "a: {{command: ['sh', '-c', 'echo $$; while :; do {script}; echo >> rounds; done']}}"
    );
    let stream = launch(&robot, &programs, "--json --keep");
    let pid = printed_pid(&stream, "a");
    let rounds = || {
        fs::read(robot.dir().join("rounds"))
            .unwrap_or_default()
            .len()
    };
    until("it prints", || rounds() > 2);
    let drain = helper_of(stream.id(), "__drain");
    until("the drain handles signals", || {
        handles(drain, libc::SIGTERM)
    });
    for signal in [libc::SIGHUP, libc::SIGTERM, libc::SIGTERM, libc::SIGINT] {
        send(drain, signal);
    }
    stream.signal(libc::SIGKILL);
    assert_eq!(stream.wait().code, -9);
    let before = rounds();
    until("it runs on", || {
        assert!(is_alive(pid), "it has ended");
        rounds() > before + 5
    });
    kill(pid);
    until("the drain ends with it", || !is_alive(drain));
}

/// The drain of a program ends with the program, and takes none of its lines.
#[test]
fn a_kept_program_loses_no_line() {
    let robot = Robot::new();
    let programs = "a: {command: ['sh', '-c', 'seq 300; exit 1'], restart_delay: 0.01,
        restart_delay_max: 1000, restarts_max: 2}";
    let ran = launch(&robot, programs, "--keep").wait();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 900);
}

/// A program that is stopped before it is ready has the time of its `stop_timeout` to end.
#[test]
fn a_stop_outlasts_the_time_to_become_ready() {
    for ready_timeout in [1, 8, 60] {
        let robot = Robot::new();
        let wait = "echo up; while :; do sleep 0.01; done";
        let stop = format!("sleep {}; echo parked; exit 0", ready_timeout + 1);
        let programs = format!(
            "a: {{command: ['sh', '-c', 'trap \"{stop}\" TERM; {wait}'],
                  ready: {{publishes: ['imu']}}, ready_timeout: {ready_timeout},
                  stop_timeout: 1000}}"
        );
        let stream = launch(&robot, &programs, "--json");
        stream.line_with("\"text\":\"up\"");
        stream.signal(libc::SIGINT);
        let mut line = stream.line();
        while line.contains("\"event\":\"line\"") {
            line = stream.line();
        }
        if line.starts_with(&event("a", "not_ready")) {
            // The machine was too slow: once more, with more time.
            stream.signal(libc::SIGINT);
            stream.wait();
            continue;
        }
        assert!(line.starts_with(&event("a", "stopping")), "{line}");
        let ran = stream.wait();
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        assert!(ran.stdout.contains("\"text\":\"parked\""), "{ran:?}");
        return;
    }
    panic!("it was never stopped in time");
}

/// Starts `launch --json` without the right to signal processes of other users. Returns `None` if
/// this process cannot start such processes.
fn launch_without_right(robot: &Robot, programs: &str) -> Option<Stream> {
    // SAFETY: the call takes nothing.
    if unsafe { libc::geteuid() } != 0 {
        skip("only root can start a process of another user");
        return None;
    }
    let text = format!("{{programs: {{{programs}}}}}");
    let path = file(robot, "robot.json5", &text);
    let inner = robot.command(&format!("launch {} --json", path.display()));
    let script = "exec setpriv --bounding-set -kill --inh-caps -kill \"$@\"";
    Some(Stream::spawn(&mut wrapped(&inner, script)))
}

/// Returns true if the process is `sleep`, and of the user 65534.
fn is_foreign_sleep(pid: i64) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("Name:\tsleep\n") && status.contains("Uid:\t65534\t")
}

/// A program that becomes another user, as `sudo` does, may not be signalled by a launcher that has
/// no right to do so.
#[test]
fn a_program_that_may_not_be_signalled_is_named_and_left() {
    let program = "command: ['setpriv', '--reuid', '65534', 'sleep', '1000'], stop_timeout: 0.2";
    let table = [
        ("", false, 1, "horus: failed: a\n"),
        (
            ", ready: {publishes: ['imu']}, ready_timeout: 2",
            false,
            1,
            "horus: failed: a\n",
        ),
        ("", true, 130, ""),
    ];
    for (settings, is_twice, code, error) in table {
        let robot = Robot::new();
        let programs = format!("a: {{{program}{settings}}}");
        let Some(stream) = launch_without_right(&robot, &programs) else {
            return;
        };
        let pid = number(&stream.line_with(&event("a", "started")), "pid");
        until("it is of the other user", || is_foreign_sleep(pid));
        if settings.is_empty() {
            stream.signal(libc::SIGTERM);
            let line = stream.line_with(&event("a", "not_signalled"));
            assert_eq!(number(&line, "pid"), pid);
        }
        if is_twice {
            stream.signal(libc::SIGTERM);
        }
        let line = stream.line_with(&event("a", "left_running"));
        assert_eq!(number(&line, "pid"), pid);
        let ran = stream.wait();
        assert_eq!((ran.code, ran.stderr.as_str()), (code, error), "{ran:?}");
        assert!(!ran.stdout.contains("\"started\""), "{ran:?}");
        assert!(is_alive(pid));
        kill(pid);
    }
}

/// `sudo ./driver` in a script: the script ends by the signal, and the driver does not.
#[test]
fn a_process_of_another_user_behind_a_script_is_named_and_left() {
    let foreign = "echo $$; setpriv --reuid 65534 sleep 1000; true";
    let foreign_first = "(trap '' TERM; exec sleep 1000) & echo $$
        exec setpriv --reuid 65534 sh -c 'sleep 1000; true'";
    // The script is stopped, or dies by itself.
    let table = [(foreign, true), (foreign, false), (foreign_first, true)];
    for (script, is_stopped) in table {
        let robot = Robot::new();
        file(&robot, "script", script);
        let program = "a: {command: ['sh', 'script'], stop_timeout: 0.2, restart_delay: 0.01}";
        let Some(stream) = launch_without_right(&robot, program) else {
            return;
        };
        let leader = printed_pid(&stream, "a");
        let members = || {
            let all = fs::read_dir("/proc").unwrap().flatten();
            let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
            // SAFETY: the call takes a number.
            pids.filter(|pid| i64::from(unsafe { libc::getpgid(*pid as i32) }) == leader)
                .collect::<Vec<_>>()
        };
        let driver = || members().into_iter().find(|pid| is_foreign_sleep(*pid));
        until("the driver is of the other user", || driver().is_some());
        let driver = driver().unwrap();
        if is_stopped {
            stream.signal(libc::SIGTERM);
        } else {
            send(leader, libc::SIGKILL);
        }
        let line = stream.line_with(&event("a", "left_running"));
        let left = number(&line, "pid");
        assert!(left == driver || left == leader, "{line}");
        let ran = stream.wait();
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (1, "horus: failed: a\n"),
            "{ran:?}"
        );
        assert!(!ran.stdout.contains("\"started\""), "{ran:?}");
        assert!(is_alive(driver));
        // WHY the group: one of them may end because another one does.
        kill(-leader);
    }
}

/// A process that has ended may not be signalled either until the launcher has waited for it.
#[test]
fn a_program_of_another_user_that_has_ended_is_not_left() {
    let robot = Robot::new();
    let program = "a: {command: ['setpriv', '--reuid', '65534', 'sleep', '1000']}";
    let Some(stream) = launch_without_right(&robot, program) else {
        return;
    };
    let pid = number(&stream.line_with(&event("a", "started")), "pid");
    until("it is of the other user", || is_foreign_sleep(pid));
    stream.signal(libc::SIGTERM);
    stream.line_with(&event("a", "not_signalled"));
    // WHY suspended: the launcher looks at the program only after the second signal.
    stream.signal(libc::SIGSTOP);
    send(pid, libc::SIGTERM);
    until("it has ended", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.contains("State:\tZ")
    });
    stream.signal(libc::SIGTERM);
    stream.signal(libc::SIGCONT);
    let line = stream.line();
    assert!(line.starts_with(&event("a", "ended")), "{line}");
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (130, ""), "{ran:?}");
    assert!(!ran.stdout.contains("left_running"), "{ran:?}");
}

/// The programs would block on their full pipes.
#[test]
fn a_suspension_from_a_terminal_blocks_no_program() {
    let robot = Robot::new();
    let script = "echo up; while [ ! -e go ]; do sleep 0.01; done
        head -c 1000000 /dev/zero; touch done; exec sleep 1000";
    file(&robot, "script", script);
    let stream = launch(&robot, "a: {command: ['sh', 'script']}", "--json");
    stream.line_with("\"text\":\"up\"");
    stream.signal(libc::SIGTSTP);
    // WHY: a process that is suspended by the signal has the time to be so.
    thread::sleep(Duration::from_millis(100));
    file(&robot, "go", "");
    let done = robot.dir().join("done");
    until("it has printed all", || done.exists());
    stream.signal(libc::SIGTERM);
    let ran = stream.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stderr.matches("is not suspended").count(),
        1,
        "{}",
        ran.stderr
    );
}

/// With `stty tostop`, the first line of a launcher in the background would stop it.
#[test]
fn output_from_the_background_of_a_terminal_blocks_no_program() {
    let robot = Robot::new();
    file(
        &robot,
        "script",
        "head -c 1000000 /dev/zero; touch done; exec sleep 1000",
    );
    let programs = "{programs: {a: {command: ['sh', 'script']}}}";
    let path = file(&robot, "robot.json5", programs);
    let [_window, terminal] = open_terminal();
    let inner = robot.command(&format!("launch {}", path.display()));
    let shell = "stty tostop; set -m; \"$@\" & echo $! > launcher; sleep 1000";
    let mut command = wrapped(&inner, shell);
    command.current_dir(robot.dir());
    command.stdin(terminal.try_clone().unwrap());
    command.stdout(terminal.try_clone().unwrap());
    command.stderr(terminal);
    lead_session(&mut command);
    let mut shell = command.spawn().unwrap();
    let done = robot.dir().join("done");
    until("it has printed all", || done.exists());
    let launcher = fs::read_to_string(robot.dir().join("launcher")).unwrap();
    let launcher: i64 = launcher.trim_end().parse().unwrap();
    send(launcher, libc::SIGTERM);
    until("the launcher ends", || !is_alive(launcher));
    shell.kill().unwrap();
    shell.wait().unwrap();
}
