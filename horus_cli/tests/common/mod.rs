//! A robot for a test: a namespace of its own, programs that take part in it, and the command.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each module of tests uses a part"
)]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use tempfile::TempDir;

/// The limit for events that must happen; generous, because a slow machine is not a failure.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < TIME_LIMIT, "not true: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A namespace of its own.
pub struct Robot {
    // Declared before the directory: fields are dropped in this order.
    namespace: Arc<Namespace>,
    dir: TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Robot {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new()
            .permissions(PermissionsExt::from_mode(0o700))
            .tempdir_in("/dev/shm")
            .unwrap();
        let config = NamespaceConfig::new(dir.path(), NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        Self { namespace, dir }
    }

    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the command with these arguments, which are separated by spaces, in this namespace.
    pub fn command(&self, arguments: &str) -> Command {
        self.command_with(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    pub fn command_with(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_horus"));
        command.args(arguments);
        self.surround(&mut command);
        command
    }

    fn surround(&self, command: &mut Command) {
        for variable in [
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "HORUS_SHM_GROUP",
            "HORUS_JSON",
        ] {
            command.env_remove(variable);
        }
        command.env("HORUS_SHM_DIR", self.dir.path());
        command.env("HORUS_NAMESPACE", "default");
    }

    /// Runs the command to its end.
    pub fn run(&self, arguments: &str) -> Ran {
        finish(&mut self.command(arguments))
    }

    pub fn run_with(&self, arguments: &[&str]) -> Ran {
        finish(&mut self.command_with(arguments))
    }

    /// Runs a command that must succeed, and returns what it prints to stdout.
    #[track_caller]
    pub fn answer(&self, arguments: &str) -> String {
        self.run(arguments).succeeded()
    }

    /// Starts a command whose output is read line by line.
    pub fn stream(&self, arguments: &str) -> Stream {
        Stream::spawn(&mut self.command(arguments))
    }

    /// Starts a program that takes part in this namespace: this test binary in another process.
    pub fn program(&self) -> Program {
        self.program_in("default")
    }

    /// Starts a program that takes part in another namespace of the same directory.
    pub fn program_in(&self, namespace: &str) -> Program {
        Program::spawn(self, namespace)
    }

    /// Removes the directory of a namespace, although its processes may run on.
    #[track_caller]
    pub fn remove_namespace(&self, name: &str) {
        remove_directory(&self.dir().join(name));
    }

    /// Removes the directory of all namespaces, although their processes may run on.
    #[track_caller]
    pub fn remove_all_namespaces(&self) {
        remove_directory(self.dir());
    }

    /// Runs the command until its output is as wanted.
    pub fn until(&self, arguments: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let ran = self.run(arguments);
            if is_so(&ran.stdout) {
                return ran.stdout;
            }
            assert!(begin.elapsed() < TIME_LIMIT, "{arguments}: {ran:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[track_caller]
fn remove_directory(dir: &Path) {
    // WHY again: a process may add a file to a directory that is just emptied.
    until("it is removed", || match std::fs::remove_dir_all(dir) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => false,
        Err(error) => panic!("{}: {error}", dir.display()),
    });
}

/// Limits the memory of a process to what it has, and a little more: it can start no thread.
/// Without `is_limited`, it may have as much as before.
pub fn limit_memory(pid: u32, is_limited: bool) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let (_, size) = status.split_once("VmSize:").unwrap();
    let size: u64 = size.split_whitespace().next().unwrap().parse().unwrap();
    let most = if is_limited {
        (size + 1024) << 10
    } else {
        libc::RLIM_INFINITY
    };
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: libc::RLIM_INFINITY,
    };
    let old = std::ptr::null_mut();
    // SAFETY: the call reads `limit`, and writes nothing.
    let set = unsafe { libc::prlimit(pid as i32, libc::RLIMIT_AS, &raw const limit, old) };
    assert_eq!(set, 0);
}

/// Opens a new terminal of 80 columns. Returns its end for the person before it, and that for
/// programs.
pub fn open_terminal() -> [OwnedFd; 2] {
    // WHY not `openpty`: until the descriptors are closed by `exec`, too, a child of another test
    // may keep a copy, and the terminal would not be closed with this one.
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the call takes no pointer.
    let outer = owned_descriptor(unsafe { libc::posix_openpt(flags) });
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::unlockpt(outer.as_raw_fd()) }, 0);
    // SAFETY: the call takes no pointer.
    let inner = unsafe { libc::ioctl(outer.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    let inner = owned_descriptor(inner);
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the call reads `size`.
    let set = unsafe { libc::ioctl(outer.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    assert_eq!(set, 0);
    [outer, inner]
}

fn owned_descriptor(opened: i32) -> OwnedFd {
    assert!(opened >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: it is open, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(opened) }
}

/// Returns a command that executes `script` in a shell. Its arguments are `command`.
pub fn wrapped(command: &Command, script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

fn finish(command: &mut Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Ran::of(output.status, output.stdout, output.stderr)
}

impl Ran {
    fn of(status: ExitStatus, stdout: Vec<u8>, stderr: Vec<u8>) -> Self {
        let code = status.code();
        let code = code.unwrap_or_else(|| -status.signal().expect("it ended by a signal"));
        let stdout = String::from_utf8(stdout).unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        Self {
            code,
            stdout,
            stderr,
        }
    }

    #[track_caller]
    pub fn succeeded(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    /// Checks that the arguments were wrong.
    #[track_caller]
    pub fn failed_with_usage(&self) {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{self:?}");
    }

    /// Checks that the command failed with this exit code, printed nothing to stdout, and one line
    /// with all of these parts to stderr.
    #[track_caller]
    pub fn failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("horus: "), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no '{part}' in {self:?}");
        }
    }
}

/// A running command.
pub struct Stream {
    process: Child,
    lines: Receiver<String>,
    /// Its stderr, and what was read of it.
    errors: (BufReader<ChildStderr>, String),
}

impl Stream {
    pub fn spawn(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = lines_of(process.stdout.take().unwrap());
        let stderr = BufReader::new(process.stderr.take().unwrap());
        Self {
            process,
            lines,
            errors: (stderr, String::new()),
        }
    }

    /// Waits for the next line of its stderr.
    pub fn note(&mut self) -> String {
        let (stderr, read) = &mut self.errors;
        let before = read.len();
        stderr.read_line(read).unwrap();
        read[before..].to_owned()
    }

    /// Returns the next line; panics if there is none any more.
    #[track_caller]
    pub fn line(&self) -> String {
        self.lines.recv_timeout(TIME_LIMIT).expect("a line")
    }

    /// Returns the next line if it comes soon; panics if there is none any more.
    #[track_caller]
    pub fn try_line(&self) -> Option<String> {
        match self.lines.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the command has ended"),
        }
    }

    /// Returns the next line that is as wanted.
    #[track_caller]
    pub fn line_with(&self, part: &str) -> String {
        let begin = Instant::now();
        loop {
            let line = self.line();
            if line.contains(part) {
                return line;
            }
            assert!(begin.elapsed() < TIME_LIMIT, "no line with '{part}'");
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn signal(&self, signal: i32) {
        send_signal(&self.process, signal);
    }

    /// Waits until the command has ended. Its stdout is what no other call has returned.
    pub fn wait(mut self) -> Ran {
        while !self.note().is_empty() {}
        let status = self.process.wait().unwrap();
        let stdout: Vec<String> = self.lines.iter().collect();
        let stderr = std::mem::take(&mut self.errors.1);
        Ran::of(status, stdout.join("\n").into_bytes(), stderr.into_bytes())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    // WHY a thread: a full pipe must never block a child.
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Returns the value of a line of `/proc/<pid>/status` that begins with `key`.
pub fn status_value(pid: i64, key: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix(key));
    value.unwrap().trim().to_owned()
}

/// Returns true if the process has a handler for the signal.
pub fn handles(pid: i64, signal: i32) -> bool {
    let handled = u64::from_str_radix(&status_value(pid, "SigCgt:"), 16).unwrap();
    handled >> (signal - 1) & 1 == 1
}

fn send_signal(process: &Child, signal: i32) {
    // SAFETY: the call takes no pointer, and the child has not been waited for.
    assert_eq!(unsafe { libc::kill(process.id() as i32, signal) }, 0);
}

/// A program that takes part: this test binary in the role `program`. It executes the lines that
/// it is told, see `program.rs`. Killed when dropped.
pub struct Program {
    process: Child,
    stdin: ChildStdin,
    replies: Receiver<String>,
}

impl Program {
    fn spawn(robot: &Robot, namespace: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        robot.surround(&mut command);
        command.env("HORUS_NAMESPACE", namespace);
        let mut process = command
            .args(["child_role", "--exact", "--nocapture", "--test-threads=1"])
            .env(super::program::ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = process.stdin.take().unwrap();
        let replies = lines_of(process.stdout.take().unwrap());
        Self {
            process,
            stdin,
            replies,
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the name of the process, as other processes see it.
    pub fn name(&self) -> String {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", self.id())).unwrap();
        name.trim_end().to_owned()
    }

    /// Executes a line, and returns its reply.
    #[track_caller]
    pub fn tell(&mut self, line: &str) -> String {
        self.begin(line);
        self.reply()
    }

    /// Begins to execute a line that replies later.
    pub fn begin(&mut self, line: &str) {
        self.stdin
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    /// Waits for the reply to a line.
    #[track_caller]
    pub fn reply(&mut self) -> String {
        loop {
            let line = self.replies.recv_timeout(TIME_LIMIT).expect("a reply");
            if let Some(reply) = line.strip_prefix('@') {
                return reply.to_owned();
            }
        }
    }

    pub fn kill(mut self) {
        send_signal(&self.process, libc::SIGKILL);
        self.process.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
