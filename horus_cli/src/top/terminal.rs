//! The terminal in the mode that a full-screen program needs. A terminal that was closed causes no
//! panic and leaves no output behind.
//!
//! WHY not the functions of the library for it: they print an error of the terminal to stderr. That
//! is mostly the same terminal, and printing to it panics.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::panic;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// A terminal on which the library draws.
pub(super) type FullScreen = Terminal<CrosstermBackend<TerminalWriter>>;

/// Writes to a terminal, with a buffer. After a write has failed, accepts all bytes and drops them,
/// so that the library finds no error when it shows the cursor at last.
#[derive(Debug)]
pub(super) struct TerminalWriter {
    file: BufWriter<File>,
    has_failed: bool,
}

impl TerminalWriter {
    fn new(terminal: File) -> Self {
        Self {
            file: BufWriter::new(terminal),
            has_failed: false,
        }
    }

    fn remember_failure<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        written.inspect_err(|error| self.has_failed |= error.kind() != ErrorKind::Interrupted)
    }
}

impl Write for TerminalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_failed {
            return Ok(bytes.len());
        }
        let written = self.file.write(bytes);
        self.remember_failure(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Ok(());
        }
        let written = self.file.flush();
        self.remember_failure(written)
    }
}

/// Sets the mode of `terminal` that a full-screen program needs, and shows an empty screen.
/// Restores the terminal if that fails.
pub(super) fn enter_full_screen(terminal: &File) -> io::Result<FullScreen> {
    let mut out = terminal;
    enable_raw_mode()?;
    let mut begin = || {
        execute!(out, EnterAlternateScreen)?;
        let writer = TerminalWriter::new(terminal.try_clone()?);
        Terminal::new(CrosstermBackend::new(writer))
    };
    begin().inspect_err(|_| {
        // WHY the error is ignored: the other one is reported.
        let _ = leave_full_screen(terminal);
    })
}

/// Restores `terminal` to the mode and the screen that it had before [`enter_full_screen`].
pub(super) fn leave_full_screen(terminal: &File) -> io::Result<()> {
    let mut out = terminal;
    let restored = disable_raw_mode();
    // WHY also after an error: each of them is of use alone.
    execute!(out, Show, LeaveAlternateScreen)?;
    restored
}

/// Restores `terminal` before a panic is reported, which would not be seen otherwise.
pub(super) fn leave_full_screen_on_panic(terminal: File) {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // WHY the error is ignored: the panic is reported.
        let _ = leave_full_screen(&terminal);
        report(panic);
    }));
}
