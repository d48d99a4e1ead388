//! The drain: a process that reads the output of one program after its launcher has died.
//!
//! A launcher reads the output of its programs from pipes. A pipe that no process reads kills the
//! programs that write to it (SIGPIPE), or makes their writes fail. With `--keep`, each program has
//! a drain: it also holds the reading ends of the pipes open, and reads them when its launcher has
//! died.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::context::Context;
use crate::failure::Failure;

/// Name of the hidden command of `horus` that runs a drain process.
pub(crate) const DRAIN_COMMAND: &str = "__drain";

/// A running drain process. The process is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct DrainProcess(Child);

impl DrainProcess {
    pub(super) fn process_id(&self) -> u32 {
        self.0.id()
    }

    /// Starts a drain for the program that writes to the other ends of `stdout` and `stderr`.
    pub(super) fn start(stdout: &PipeReader, stderr: &PipeReader) -> io::Result<Self> {
        // WHY not the path of the program: an update may have replaced its file.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("horus");
        // WHY a group of its own: Ctrl-C on a terminal must not end it.
        command.arg(DRAIN_COMMAND).process_group(0);
        command.stdin(Stdio::piped());
        command.stdout(stdout.try_clone()?);
        command.stderr(stderr.try_clone()?);
        command.spawn().map(Self).map_err(|error| {
            // WHY another kind: a missing file would be taken for that of the program.
            io::Error::other(format!(
                "cannot start the process that reads its output: {error}"
            ))
        })
    }
}

impl Drop for DrainProcess {
    fn drop(&mut self) {
        // WHY before the wait, which closes its stdin: the launcher still reads the pipes.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the drain process. Waits until stdin is closed, which means that the launcher has died.
/// Then reads the pipes that are its stdout and stderr until they are closed, and ignores what it
/// reads.
pub(crate) fn run(context: &Context) -> Result<(), Failure> {
    // WHY: signals to all processes of a session must not end it, because they may not end the
    // program.
    context.stop.catch_all_signals();
    let failure = |error| Failure::system(format_args!("cannot read the output: {error}"));
    let pipe =
        |end: &dyn AsFd| -> io::Result<File> { Ok(File::from(end.as_fd().try_clone_to_owned()?)) };
    let stdout = pipe(&io::stdout()).map_err(failure)?;
    let stderr = pipe(&io::stderr()).map_err(failure)?;
    // WHY before the wait: the system may refuse a thread later.
    let reader = thread::Builder::new().spawn(move || {
        wait_for_end_of_launcher();
        read_to_end(&stderr);
    });
    let reader = reader.map_err(failure)?;
    wait_for_end_of_launcher();
    read_to_end(&stdout);
    let _ = reader.join();
    Ok(())
}

fn wait_for_end_of_launcher() {
    // An input that cannot be read counts as closed.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
}

/// Reads a pipe until no process can write to it any longer.
fn read_to_end(mut pipe: &File) {
    // An input that cannot be read counts as closed.
    let _ = io::copy(&mut pipe, &mut io::sink());
}
