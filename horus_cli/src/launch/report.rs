//! Formats the events of the programs as text or JSON.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::duration;
use crate::output::with_format_version;

/// An event of a launched program, such as its start or a line of its output.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum ProgramEvent<'a> {
    Started {
        pid: u32,
    },
    NotStarted {
        error: &'a str,
    },
    Ready {
        after_ns: u64,
    },
    /// The program was killed, because it was not ready in time.
    NotReady {
        missing: &'a str,
    },
    Ended {
        pid: u32,
        code: Option<i32>,
        signal: Option<i32>,
    },
    Restarting {
        delay_ns: u64,
    },
    /// The program has failed and is not restarted.
    GivenUp,
    Stopping {
        pid: u32,
    },
    /// The program was killed with SIGKILL, because it did not end in time after SIGTERM.
    Killed {
        pid: u32,
    },
    /// SIGTERM could not be sent to the program.
    NotSignalled {
        pid: u32,
        error: &'a str,
    },
    /// The program could not be killed. The launcher does not wait for its end.
    LeftRunning {
        pid: u32,
        error: &'a str,
    },
    Line {
        stream: &'static str,
        text: &'a str,
    },
    /// Lines and events of the program were dropped, because the reader of the output was too slow.
    NotShown {
        lines: u64,
    },
}

#[derive(Debug, Serialize)]
struct EventRecord<'a> {
    program: &'a str,
    #[serde(flatten)]
    event: &'a ProgramEvent<'a>,
}

/// A line of the launcher's output, and whether it goes to stdout or stderr.
#[derive(Debug)]
pub(super) struct OutputLine {
    pub(super) text: String,
    /// True if the line is written to stderr, false if it is written to stdout.
    pub(super) is_error: bool,
}

/// The format of the launcher's output: text or JSON, and whether events are left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputFormat {
    pub(super) is_json: bool,
    pub(super) is_quiet: bool,
}

#[derive(Debug, Serialize)]
struct StartOrder<'a> {
    programs: &'a [&'a str],
}

impl fmt::Display for ProgramEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |ns: u64| duration(Duration::from_nanos(ns));
        match self {
            Self::Started { pid } => write!(f, "started (process {pid})"),
            Self::NotStarted { error } => write!(f, "cannot be started: {error}"),
            Self::Ready { after_ns } => write!(f, "ready after {}", time(*after_ns)),
            Self::NotReady { missing } => write!(f, "not ready in time: {missing}"),
            Self::Ended { code, signal, .. } => match (code, signal) {
                (Some(code), _) => write!(f, "ended with exit code {code}"),
                (None, Some(signal)) => write!(f, "ended by signal {signal}"),
                (None, None) => f.write_str("ended"),
            },
            Self::Restarting { delay_ns } => write!(f, "restarting in {}", time(*delay_ns)),
            Self::GivenUp => f.write_str("not restarted"),
            Self::Stopping { .. } => f.write_str("stopping"),
            Self::Killed { .. } => f.write_str("killed, because it did not stop in time"),
            Self::NotSignalled { pid, error } => {
                write!(
                    f,
                    "may not be signalled: {error}: stop process {pid} as its user"
                )
            }
            Self::LeftRunning { pid, error } => {
                write!(
                    f,
                    "left running, because it may not be killed: {error}: process {pid}"
                )
            }
            Self::Line { text, .. } => f.write_str(text),
            Self::NotShown { lines: 1 } => f.write_str("1 line was not shown"),
            Self::NotShown { lines } => write!(f, "{lines} lines were not shown"),
        }
    }
}

impl OutputLine {
    /// Returns an output line with this text that is written to stderr.
    pub(super) const fn for_stderr(text: String) -> Self {
        let is_error = true;
        Self { text, is_error }
    }
}

impl OutputFormat {
    /// Returns the output line that shows an event. A line goes to stdout if it is JSON or comes
    /// from the stdout of a program, otherwise to stderr. Returns `None` if the event is not shown.
    pub(super) fn output_line(self, program: &str, event: &ProgramEvent<'_>) -> Option<OutputLine> {
        if self.is_json {
            let record = with_format_version(EventRecord { program, event });
            let text = serde_json::to_string(&record).ok()? + "\n";
            let is_error = false;
            return Some(OutputLine { text, is_error });
        }
        // WHY lines also with --quiet: they are data of the programs.
        let (is_data, is_error) = match event {
            ProgramEvent::Line { stream, .. } => (true, *stream == "stderr"),
            ProgramEvent::NotShown { .. } => (true, true),
            // WHY: nobody else says that it moves on.
            ProgramEvent::NotSignalled { .. } | ProgramEvent::LeftRunning { .. } => (true, true),
            _ => (false, true),
        };
        (is_data || !self.is_quiet).then(|| OutputLine {
            text: format!("[{program}] {event}\n"),
            is_error,
        })
    }
}

/// Prints the names of the programs in the order in which they are started.
pub(super) fn print_order(programs: &[&str], context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.write_json(StartOrder { programs });
    }
    programs
        .iter()
        .try_for_each(|name| context.out.write_line(name))
}
