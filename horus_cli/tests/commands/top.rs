//! `top`: into a pipe, among programs that are killed, and on a real terminal.

use std::fs::File;
use std::io::{Error, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use horus_core::message::Imu;
use horus_core::namespace::{Namespace, NamespaceName};
use horus_core::topic::Topic;
use horus_testing::skip;

use crate::common::{Robot, open_terminal, until};
use crate::golden::check_json_except;
use crate::messages::print_to_terminal;

#[test]
fn samples_go_into_a_pipe_as_tables_or_json() {
    let robot = Robot::new();
    let (mut program, mut reader) = (robot.program(), robot.program());
    program.tell("publish imu imu");
    program.tell("publish reliable cmd_vel");
    reader.tell("subscribe reliable cmd_vel");
    program.tell("send imu 100");
    program.tell("send cmd_vel 9");
    let json = robot.answer("top --json -n 1 -i 0.05");
    let (before, after) = json.split_once("\"timestamp_ns\":").unwrap();
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let json = format!("{before}\"timestamp_ns\":N{after}");
    let pids = [
        (program.id(), "\"publisher\""),
        (reader.id(), "\"subscriber\""),
    ];
    let json = pids.iter().fold(json, |json, (pid, role)| {
        json.replace(&format!("pids\":[{pid}]"), &format!("pids\":[{role}]"))
    });
    let varying = ["publisher_owner_ids", "subscriber_owner_ids"];
    check_json_except("top", &json, &varying);
    let text = robot.answer("top -n 2 -i 0.05 -a");
    assert_eq!(text.matches("default: 2 processes").count(), 2, "{text}");
    for title in ["NODE", "TOPIC"] {
        let lines = text.lines().filter(|line| line.starts_with(title));
        assert_eq!(lines.count(), 2, "{text}");
    }
    robot.run("top -i x").failed_with_usage();
    let nothing = robot.answer("top -n 1 -i 0.05 -N nothing --json");
    assert!(nothing.contains("\"topics\":[],\"nodes\":[]"), "{nothing}");
    assert!(!robot.dir().join("nothing").exists());
}

/// A script may remove the namespace and start the robot again between two samples.
#[test]
fn a_namespace_that_was_created_again_is_sampled() {
    let robot = Robot::new();
    let open = |topic: &str| {
        let config = robot.namespace().config().clone();
        let config = config.with_name(NamespaceName::new("again").unwrap());
        let namespace = Namespace::open(&config).unwrap();
        let topic = Topic::<Imu>::builder(topic).namespace(&namespace);
        topic.publisher().unwrap()
    };
    let _before = open("before");
    let stream = robot.stream("top --json -i 0.5 -N again");
    stream.line_with("\"topic\":\"before\"");
    robot.remove_namespace("again");
    let _after = open("after");
    let sample = stream.line_with("\"topic\":\"after\"");
    assert!(!sample.contains("\"before\""), "{sample}");
    stream.signal(libc::SIGINT);
    assert_eq!(stream.wait().code, 0);
}

#[test]
fn nodes_and_their_events_are_sampled() {
    let robot = Robot::new();
    let mut program = robot.program();
    let stream = robot.stream("top --json -i 0.05");
    program.tell("schedule arm");
    let started = stream.line_with("\"kind\":\"scheduler_started\"");
    assert!(
        started.contains("\"events\":[{\"scheduler\":\"arm\""),
        "{started}"
    );
    stream.line_with("\"scheduler\":\"arm\",\"node\":\"planner\",\"class\":\"real_time\"");
    robot.answer("node pause planner");
    // Each event comes once.
    let paused = "\"node\":\"planner\",\"kind\":\"paused\"";
    stream.line_with(paused);
    robot.answer("node resume planner");
    let mut lines = 0;
    while !stream
        .line()
        .contains("\"node\":\"planner\",\"kind\":\"resumed\"")
    {
        lines += 1;
    }
    assert!(lines < 1000);
    program.kill();
    stream.line_with("\"state\":\"dead\"");
    stream.signal(libc::SIGTERM);
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(!ran.stdout.contains(paused));
}

#[test]
fn a_killed_participant_does_not_disturb_samples() {
    let robot = Robot::new();
    let stream = robot.stream("top --json -i 0.02");
    let mut reader = robot.program();
    reader.tell("subscribe best_effort cmd_vel");
    for _ in 0..10 {
        let mut program = robot.program();
        program.tell("publish best_effort cmd_vel");
        let pids = |pid: &str| format!("\"publisher_pids\":[{pid}]");
        stream.line_with(&pids(&program.id().to_string()));
        program.begin("stream cmd_vel 2000 100");
        // Killed while it sends.
        until("messages come", || {
            let line = stream.line();
            rate(&line).is_some_and(|hertz| hertz > 0.0)
        });
        program.kill();
        stream.line_with(&pids(""));
    }
    // The topic is as if nobody had used it: no message is counted twice.
    let line = stream.line_with("\"rate_hz\":0.0");
    assert!(line.contains("\"subscribers\":1"), "{line}");
    let begun = reader.id();
    reader.kill();
    // WHY not at once: the file stays until somebody removes it.
    let gone = stream.line_with("\"processes\":[]");
    assert!(!gone.contains(&begun.to_string()), "{gone}");
    for _ in 0..10 {
        let line = stream.line();
        assert!(rate(&line).is_none_or(|hertz| hertz == 0.0), "{line}");
    }
    stream.signal(libc::SIGINT);
    let ran = stream.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

/// Returns the rate of the first topic.
fn rate(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("\"rate_hz\":")?;
    rest.split(',').next()?.parse().ok()
}

/// A terminal in which a shell runs, without a window. It ends when dropped.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Starts it with these columns and rows; `None` if there is no tmux.
    fn start(robot: &Robot, width: u32, height: u32) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("no tmux: apt-get install tmux");
            return None;
        }
        let tmux = Self {
            socket: robot.dir().join("tmux"),
        };
        let size = format!("-x {width} -y {height}");
        let words = ["-f", "/dev/null", "new-session", "-d"];
        let words = words.into_iter().chain(size.split(' '));
        // WHY a plain shell: only a shell with jobs can continue a stopped program.
        tmux.call(
            &words
                .chain(["env PS1='shell$ ' bash --norc"])
                .collect::<Vec<_>>(),
        );
        Some(tmux)
    }

    fn call(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(words);
        // WHY: tmux does not start in a locale without UTF-8.
        command.env("LC_ALL", "C.UTF-8").env_remove("TMUX");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn screen(&self) -> String {
        self.call(&["capture-pane", "-p"])
    }

    fn press(&self, keys: &str) {
        let words = ["send-keys"].into_iter().chain(keys.split(' '));
        self.call(&words.collect::<Vec<_>>());
    }

    fn write(&self, line: &str) {
        self.call(&["send-keys", "-l", line]);
        self.press("Enter");
    }

    /// Waits until the screen is as wanted, prints it, and returns it.
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        until(what, || {
            screen = self.screen();
            is_so(&screen)
        });
        println!("{what}:\n{screen}");
        screen
    }

    /// Waits until `top` has left the screen. WHY: keys that are pressed too early go to it.
    fn until_it_is_left(&self) {
        self.until("the screen is left", |screen| !screen.contains("Topics:"));
    }

    fn until_it_has(&self, part: &str) -> String {
        self.until(part, |screen| screen.contains(part))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .output();
    }
}

#[test]
fn a_terminal_shows_everything_and_is_given_back() {
    let robot = Robot::new();
    let Some(tmux) = Tmux::start(&robot, 100, 30) else {
        return;
    };
    let mut program = robot.program();
    program.tell("schedule arm");
    let mut sender = robot.program();
    sender.tell("publish best_effort cmd_vel");
    sender.begin("stream cmd_vel 200 1000");
    tmux.until_it_has("shell$");
    let horus = env!("CARGO_BIN_EXE_horus");
    let dir = robot.dir().display().to_string();
    tmux.write(&format!(
        "cd {dir} && {horus} --shm-dir {dir} -N default top"
    ));
    tmux.until("the topic has bars", |screen| {
        screen.contains("arm/controller") && screen.contains('█')
    });
    tmux.press("Enter");
    let echo = tmux.until_it_has("angular: 0.25}");
    assert!(echo.contains("cmd_vel: CmdVel, 16 bytes"), "{echo}");
    tmux.press("Escape");
    // WHY: a terminal that reads Escape and Tab at once takes them for one key.
    tmux.until("the messages are left", |screen| {
        !screen.contains("angular: 0.25}")
    });
    tmux.press("Tab End p");
    tmux.until_it_has("pause arm/planner? y/N");
    tmux.press("y");
    tmux.until("the planner is paused", |screen| {
        let planner = screen.lines().find(|line| line.contains("arm/planner"));
        planner.is_some_and(|line| line.contains("paused"))
    });
    tmux.press("w");
    tmux.until_it_has("written into horus-top-");
    let saved = std::fs::read_dir(robot.dir()).unwrap().flatten();
    let saved = saved.filter(|file| file.file_name().to_string_lossy().ends_with(".json"));
    assert_eq!(saved.count(), 1);
    // Ctrl-Z gives the terminal back, and `fg` draws again.
    tmux.press("C-z");
    tmux.until_it_has("Stopped");
    tmux.write("fg");
    tmux.until_it_has("Events (black boxes)");
    tmux.call(&["resize-window", "-x", "40", "-y", "10"]);
    tmux.until_it_has("too small: 40×10");
    tmux.call(&["resize-window", "-x", "100", "-y", "30"]);
    tmux.until_it_has("Events (black boxes)");
    tmux.press("q");
    tmux.until_it_is_left();
    tmux.write("echo code $?");
    tmux.until("the code is 0", |screen| screen.contains("\ncode 0"));
}

/// The library of the terminal knows only the variable.
#[test]
fn the_option_decides_on_the_colours_of_a_terminal() {
    let robot = Robot::new();
    let Some(tmux) = Tmux::start(&robot, 100, 30) else {
        return;
    };
    let mut program = robot.program();
    program.tell("schedule arm");
    robot.until("node list --json", |list| list.contains("\"planner\""));
    robot.answer("node pause arm/planner");
    tmux.until_it_has("shell$");
    let top = format!(
        "{} --shm-dir {} -N default top",
        env!("CARGO_BIN_EXE_horus"),
        robot.dir().display()
    );
    for (variables, option, is_colored) in [
        ("-u NO_COLOR", "never", false),
        ("NO_COLOR=1", "always", true),
    ] {
        tmux.write(&format!("env {variables} {top} --color {option}"));
        // The state is yellow.
        tmux.until_it_has("paused");
        let screen = tmux.call(&["capture-pane", "-p", "-e"]);
        let has_yellow = ["\x1b[33m", "\x1b[38;5;3m"].map(|code| screen.contains(code));
        assert_eq!(
            has_yellow.contains(&true),
            is_colored,
            "{option}: {screen:?}"
        );
        tmux.press("q");
        tmux.until_it_is_left();
    }
}

/// A number of samples is a number of tables, wherever they are printed.
#[test]
fn samples_are_counted_on_a_terminal_too() {
    let robot = Robot::new();
    let topic = Topic::<Imu>::builder("imu").namespace(robot.namespace());
    let _publisher = topic.publisher().unwrap();
    let shown = print_to_terminal(robot.command("top -n 2 -i 0.05 --timeout 30"));
    assert!(!shown.contains('\x1b'), "{shown}");
    assert_eq!(shown.matches("\nTOPIC ").count(), 2, "{shown}");
}

#[test]
fn a_signal_gives_a_terminal_back() {
    let robot = Robot::new();
    let Some(tmux) = Tmux::start(&robot, 80, 24) else {
        return;
    };
    tmux.until_it_has("shell$");
    let horus = env!("CARGO_BIN_EXE_horus");
    let dir = robot.dir().display().to_string();
    // A process that writes its id and becomes the command.
    let command = format!("exec {horus} --shm-dir {dir} top");
    tmux.write(&format!("(echo $BASHPID > {dir}/pid; {command})"));
    tmux.until_it_has("Topics: 0 of 0");
    let pid = std::fs::read_to_string(robot.dir().join("pid")).unwrap();
    let pid = pid.trim().parse().unwrap();
    // Two at once, as from two supervisors.
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the call takes no pointer.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }
    tmux.until_it_is_left();
    tmux.write("echo code $?");
    tmux.until("the code is 0", |screen| screen.contains("\ncode 0"));
}

/// A window that is closed ends it, also if it was started by `nohup`, which ignores SIGHUP.
#[test]
fn a_closed_terminal_ends_it() {
    for first in ["", "trap '' HUP;"] {
        let robot = Robot::new();
        let Some(tmux) = Tmux::start(&robot, 80, 24) else {
            return;
        };
        tmux.until_it_has("shell$");
        let horus = env!("CARGO_BIN_EXE_horus");
        let dir = robot.dir().display().to_string();
        let command = format!("exec {horus} --shm-dir {dir} top -i 0.1");
        tmux.write(&format!("({first} echo $BASHPID > {dir}/pid; {command})"));
        tmux.until_it_has("Topics: 0 of 0");
        let pid = std::fs::read_to_string(robot.dir().join("pid")).unwrap();
        let status = format!("/proc/{}/status", pid.trim());
        drop(tmux);
        until("it has ended", || {
            let status = std::fs::read_to_string(&status);
            status.map_or(true, |status| status.contains("State:\tZ"))
        });
    }
}

/// It ends as by Ctrl-C: nobody is left who could read an error.
#[test]
fn a_closed_terminal_is_no_failure() {
    let robot = Robot::new();
    // Several times: the program finds out at its next drawing, or by the signal.
    for is_error_in_file in [false, true].repeat(8) {
        let [outer, inner] = open_terminal();
        let mut command = robot.command("top -i 0.1");
        command
            .env("TERM", "xterm")
            .stdin(inner.try_clone().unwrap())
            .stdout(inner.try_clone().unwrap())
            .stderr(if is_error_in_file {
                Stdio::piped()
            } else {
                inner.into()
            });
        let lead_session = || {
            // SAFETY: the call takes no pointer.
            let session = unsafe { libc::setsid() };
            // SAFETY: the call takes no pointer.
            let controlled = unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) };
            if session < 0 || controlled < 0 {
                return Err(Error::last_os_error());
            }
            Ok(())
        };
        // SAFETY: it makes two system calls, and allocates nothing.
        unsafe { command.pre_exec(lead_session) };
        let process = command.spawn().unwrap();
        // Closes the inner ends here.
        drop(command);
        let mut outer = File::from(outer);
        let mut shown = Vec::new();
        while !String::from_utf8_lossy(&shown).contains("Topics:") {
            let mut bytes = [0; 4096];
            let length = outer.read(&mut bytes).unwrap();
            shown.extend_from_slice(&bytes[..length]);
        }
        drop(outer);
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(output.stderr, b"", "{output:?}");
    }
}

#[test]
fn the_time_limit_ends_it_on_a_terminal() {
    let robot = Robot::new();
    let Some(tmux) = Tmux::start(&robot, 80, 24) else {
        return;
    };
    tmux.until_it_has("shell$");
    let horus = env!("CARGO_BIN_EXE_horus");
    let dir = robot.dir().display().to_string();
    tmux.write(&format!(
        "{horus} --shm-dir {dir} top -i 1000 --timeout 0.5; echo code $?"
    ));
    tmux.until("the code is 0", |screen| screen.contains("\ncode 0"));
}
