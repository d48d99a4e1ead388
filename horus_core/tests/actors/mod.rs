//! Child processes of a test: this binary executed again in a role, and the words that they print.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
use horus_core::scheduler::{Report, RunError, Scheduler};
use tempfile::TempDir;

/// The variables of the environment that give a child its role and its directory.
pub const ROLE: &str = "HORUS_TEST_ROLE";
pub const DIR: &str = "HORUS_TEST_DIR";

/// The limit for events that must happen; generous, because a slow machine is not a failure.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Waits until a condition holds.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(
            begin.elapsed() < TIME_LIMIT,
            "not true after {TIME_LIMIT:?}: {what}"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// Makes a directory in shared memory that only this user can read.
pub fn private_dir() -> TempDir {
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    let builder = &mut tempfile::Builder::new();
    builder.permissions(private).tempdir_in("/dev/shm").unwrap()
}

/// Opens the default namespace in `dir`.
pub fn namespace_in(dir: &Path) -> Arc<Namespace> {
    Namespace::open(&NamespaceConfig::new(dir, NamespaceName::default())).unwrap()
}

/// The exit status or signal of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Code(i32),
    Signal(i32),
}

impl End {
    fn of(status: ExitStatus) -> Self {
        status
            .signal()
            .map_or_else(|| Self::Code(status.code().unwrap()), Self::Signal)
    }
}

/// This binary executed again, in a role; killed when dropped.
pub struct Child {
    process: std::process::Child,
    stdin: Option<ChildStdin>,
    words: Receiver<String>,
    said: Vec<String>,
}

impl Child {
    /// Starts the child; its test `child_role` plays the role.
    pub fn spawn(role: &str, dir: &Path) -> Self {
        Self::spawn_with(role, dir, |_| {})
    }

    /// Like [`Self::spawn`], after `change` has changed the command.
    pub fn spawn_with(role: &str, dir: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        // WHY before exec: a script that runs tests in the background ignores these signals, and
        // the child inherits that. A signal sent before the child restores the default would be
        // lost.
        let restore_signals = || {
            for signal in [libc::SIGINT, libc::SIGTERM] {
                // SAFETY: the default action is always allowed, and allowed after a fork.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: the closure only makes async-signal-safe calls.
        unsafe { command.pre_exec(restore_signals) };
        command
            .args(["child_role", "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        change(&mut command);
        let mut process = command.spawn().unwrap();
        let (say, words) = channel();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        // WHY a thread: a full pipe must never block a child.
        thread::spawn(move || {
            // WHY with the end of the line: an incomplete word of a killed child does not count.
            for line in stdout.split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                let word = line
                    .strip_prefix('@')
                    .and_then(|word| word.strip_suffix('.'));
                let _ = word.map(|word| say.send(word.to_owned()));
            }
        });
        let stdin = process.stdin.take();
        Self {
            process,
            stdin,
            words,
            said: Vec::new(),
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the child's stderr, if it is piped.
    pub fn stderr(&mut self) -> ChildStderr {
        self.process.stderr.take().unwrap()
    }

    /// Returns the next word that the child prints; `None` when it has ended.
    pub fn try_listen(&mut self) -> Option<&str> {
        let word = self.words.recv_timeout(TIME_LIMIT).ok()?;
        self.said.push(word);
        self.said.last().map(String::as_str)
    }

    /// Waits until the child has printed a word with this beginning.
    pub fn await_word(&mut self, beginning: &str) -> String {
        loop {
            let word = self.try_listen().map(str::to_owned);
            let Some(word) = word else {
                panic!("never printed '{beginning}': {:?}", self.said)
            };
            if word.starts_with(beginning) {
                return word;
            }
        }
    }

    /// Returns the words that the child has printed so far. Does not wait.
    pub fn said(&mut self) -> &[String] {
        self.said.extend(self.words.try_iter());
        &self.said
    }

    /// Returns how often the child has printed this word so far.
    pub fn count(&mut self, word: &str) -> usize {
        self.said().iter().filter(|said| *said == word).count()
    }

    pub fn tell(&mut self, order: &str) {
        self.stdin
            .as_mut()
            .unwrap()
            .write_all(format!("{order}\n").as_bytes())
            .unwrap();
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the call takes no pointer, and the child has not been waited for.
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    /// Closes the child's input, waits until it has ended, and collects all its words.
    pub fn wait(&mut self) -> End {
        drop(self.stdin.take());
        while self.try_listen().is_some() {}
        End::of(self.process.wait().unwrap())
    }

    pub fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        assert_eq!(self.wait(), End::Signal(libc::SIGKILL));
    }

    /// Returns the rest of each word with this beginning.
    pub fn told(&mut self, beginning: &str) -> Vec<String> {
        let rest = self
            .said()
            .iter()
            .filter_map(|word| word.strip_prefix(beginning));
        rest.map(str::to_owned).collect()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the role of this process and its directory, if it is a child. It dies with its parent.
pub fn role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    // SAFETY: the call takes no pointer.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // Panics of a number are deliberate, and are not printed.
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map_or("", String::as_str);
        if text.parse::<u64>().is_err() {
            eprintln!("{panic}");
        }
    }));
    Some((role, PathBuf::from(std::env::var_os(DIR).unwrap())))
}

/// Sends a word to the parent, at once.
pub fn say(word: impl std::fmt::Display) {
    // WHY: the harness may be in the middle of a line.
    let line = format!("\n@{word}.\n");
    // SAFETY: the bytes are valid for the read; a pipe takes so few bytes in one piece.
    let written = unsafe { libc::write(1, line.as_ptr().cast(), line.len()) };
    assert_eq!(written, line.len() as isize);
}

/// Waits for a command; `None` when the parent has closed the input.
pub fn hear() -> Option<String> {
    let mut line = String::new();
    (std::io::stdin().read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_owned())
}

/// Returns a scheduler called `arm` that writes events only to its black box.
pub fn arm(dir: &Path) -> Scheduler {
    let mut scheduler = Scheduler::new();
    scheduler.namespace(&namespace_in(dir));
    scheduler.name("arm");
    scheduler.on_event(|_| {});
    scheduler
}

/// Reports the exit code, waits until the parent closes the input, and exits with that code.
pub fn exit(outcome: Result<Report, RunError>) -> ! {
    let report = outcome.or_else(RunError::into_report).unwrap();
    say(format!("over {}", report.exit_code()));
    while hear().is_some() {}
    std::process::exit(report.exit_code().into());
}
