//! The output of commands: lines, tables and JSON on stdout.
//!
//! No other module writes to stdout, except `horus top` on a terminal and the printer of `horus
//! launch`.

pub(crate) mod format;
pub(crate) mod nearest;
mod style;
mod table;
pub(crate) mod value;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write as _};
use std::os::fd::AsFd as _;

use serde::Serialize;

pub(crate) use style::Tone;
pub(crate) use table::{COLUMN_GAP, Cell, Column, Table};

use crate::cli::ColorChoice;
use crate::failure::Failure;
use format::visible;
use style::Style;

/// Version of the JSON output. A key is never renamed within a version.
const FORMAT_VERSION: u32 = 1;

/// The stdout of a command, to which the command writes text or JSON.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    style: Style,
    is_terminal: bool,
    /// Width of the terminal in columns; `None` if stdout is not a terminal, or one without a size.
    width: Option<usize>,
}

/// A JSON object whose first key, `horus`, contains the version of the output format.
#[derive(Serialize)]
struct Versioned<T> {
    horus: u32,
    #[serde(flatten)]
    body: T,
}

/// Returns an object with the content of `body` and a first key that contains the version of the
/// output format.
pub(crate) const fn with_format_version(body: impl Serialize) -> impl Serialize {
    Versioned {
        horus: FORMAT_VERSION,
        body,
    }
}

/// Returns stdout and stderr without a buffer or a lock. So a thread whose write blocks does not
/// block other threads.
pub(crate) fn unbuffered_stdout_and_stderr() -> io::Result<[File; 2]> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    let stderr = io::stderr().as_fd().try_clone_to_owned()?;
    Ok([stdout.into(), stderr.into()])
}

impl Output {
    pub(crate) fn new(color: ColorChoice) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let width = terminal_size::terminal_size().filter(|_| is_terminal);
        Self {
            style: Style::choose(color, is_terminal),
            is_terminal,
            width: width.map(|(width, _)| width.0.into()),
            stdout: BufWriter::new(stdout),
        }
    }

    /// Returns true if stdout is a terminal whose size is known.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.width.is_some()
    }

    /// Writes `text` and a line end to stdout.
    pub(crate) fn write_line(&mut self, text: impl Display) -> Result<(), Failure> {
        Ok(writeln!(self.stdout, "{text}")?)
    }

    /// Writes `text`, which comes from another program, and a line end to stdout. If stdout is a
    /// terminal, replaces characters on which it would act by escapes.
    pub(crate) fn write_foreign_line(&mut self, text: &str) -> Result<(), Failure> {
        if self.is_terminal {
            self.write_line(visible(text))
        } else {
            self.write_line(text)
        }
    }

    /// Writes `bytes` to stdout without any change.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.stdout.write_all(bytes)?)
    }

    /// Writes `table` to stdout. Shortens names if stdout is a terminal that is too narrow.
    pub(crate) fn write_table(&mut self, table: &Table) -> Result<(), Failure> {
        Ok(table.write(&mut self.stdout, self.style, self.width)?)
    }

    /// Writes `body` to stdout as one line of JSON, and flushes stdout.
    pub(crate) fn write_json(&mut self, body: impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.stdout, &with_format_version(body))
            .map_err(io::Error::from)?;
        self.write_line("")?;
        // WHY: without it, a program at the other end of a pipe would see nothing for minutes.
        self.flush()
    }

    /// Returns true if the output has colours.
    pub(crate) const fn is_colored(&self) -> bool {
        self.style.is_colored
    }

    /// Returns `text` in the colour of `tone`. Returns it unchanged if the output has no colours.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        self.style.paint(tone, text)
    }

    /// Flushes the buffered output to stdout.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.stdout.flush()?)
    }
}
