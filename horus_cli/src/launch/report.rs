//! Reports: what happens to the programs, as text or JSON.

use std::fmt;
use std::io::{self, Write as _};
use std::time::Duration;

use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::duration;

/// An event of a program.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    Started {
        pid: u32,
    },
    NotStarted {
        error: &'a str,
    },
    Ready {
        after_ns: u64,
    },
    /// It was not ready in time, and was killed.
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
    /// It has failed, and is not restarted.
    GivenUp,
    Stopping {
        pid: u32,
    },
    /// It was killed, because it did not end in time after SIGTERM.
    Killed {
        pid: u32,
    },
    Line {
        stream: &'static str,
        text: &'a str,
    },
}

#[derive(Debug, Serialize)]
struct Record<'a> {
    program: &'a str,
    #[serde(flatten)]
    event: Event<'a>,
}

#[derive(Debug, Serialize)]
struct Order<'a> {
    programs: &'a [&'a str],
}

impl fmt::Display for Event<'_> {
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
            Self::Line { text, .. } => f.write_str(text),
        }
    }
}

/// Prints an event: lines of stdout to stdout and all others to stderr, or all as JSON.
pub(super) fn print(program: &str, event: Event<'_>, context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.json(Record { program, event });
    }
    match event {
        Event::Line {
            stream: "stdout", ..
        } => {
            context.out.line(format_args!("[{program}] {event}"))?;
            context.out.flush()
        }
        Event::Line { .. } => {
            // WHY also with --quiet: these are data of the programs. WHY the error is ignored: the
            // robot runs on if nobody reads.
            let _ = writeln!(io::stderr(), "[{program}] {event}");
            Ok(())
        }
        _ => {
            context.note(format_args!("[{program}] {event}"));
            Ok(())
        }
    }
}

/// Prints the programs in the order of their start.
pub(super) fn print_order(programs: &[&str], context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.json(Order { programs });
    }
    programs.iter().try_for_each(|name| context.out.line(name))
}
