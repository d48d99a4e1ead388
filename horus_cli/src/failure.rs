//! Failures of commands, and the exit code for each kind of failure.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use horus_core::OpenError;
use horus_core::TopicError;

/// The exit code of a check whose answer is no.
const EXIT_NO: u8 = 1;
/// The exit code for wrong arguments.
const EXIT_USAGE: u8 = 2;
/// The exit code if the named topic, node, scheduler, namespace or file does not exist.
const EXIT_NOT_FOUND: u8 = 3;
/// The exit code if a topic, node or scheduler refused the request.
const EXIT_REFUSED: u8 = 4;
/// The exit code if the system refused the request: missing rights, no space, or a broken file.
const EXIT_SYSTEM: u8 = 5;
/// The exit code if the time of `--timeout` is over.
const EXIT_TIMEOUT: u8 = 124;
/// The exit code if a signal was received before the command had an answer.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// The result of a command that fails or ends early: an exit code and a message.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    /// The text for stderr; `None` if there is nothing more to print.
    message: Option<String>,
}

impl Failure {
    /// Returns the failure of a check whose answer is no. It has no message, because the output of
    /// the command already gives the reason.
    pub(crate) const fn answer_no() -> Self {
        Self {
            code: EXIT_NO,
            message: None,
        }
    }

    /// Returns the failure of a check whose answer is no. `message` gives the reason.
    pub(crate) fn answer_no_because(message: impl Display) -> Self {
        Self::with_code(EXIT_NO, message)
    }

    /// Returns the failure that the arguments are wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::with_code(EXIT_USAGE, message)
    }

    /// Returns the failure that no object has the given name.
    pub(crate) fn not_found(message: impl Display) -> Self {
        Self::with_code(EXIT_NOT_FOUND, message)
    }

    /// Returns the failure that a topic, node or scheduler refused the request.
    pub(crate) fn refused(message: impl Display) -> Self {
        Self::with_code(EXIT_REFUSED, message)
    }

    /// Returns the failure that the operating system refused the request.
    pub(crate) fn system(message: impl Display) -> Self {
        Self::with_code(EXIT_SYSTEM, message)
    }

    /// Returns the failure that the time of `--timeout` is over. `what` is the event that has not
    /// happened within that time.
    pub(crate) fn timeout(what: impl Display) -> Self {
        Self::with_code(EXIT_TIMEOUT, format_args!("timeout: {what}"))
    }

    /// Returns the failure that a signal was received before the command had an answer.
    pub(crate) const fn interrupted() -> Self {
        Self {
            code: EXIT_INTERRUPTED,
            message: None,
        }
    }

    /// Prints the message of clap: the help text, or an error in the arguments. Returns a failure
    /// with an exit code and no message.
    pub(crate) fn from_arguments_error(error: &clap::Error) -> Self {
        // WHY the error is ignored: the reader of the help text has closed the pipe.
        let _ = error.print();
        Self {
            code: if error.use_stderr() { EXIT_USAGE } else { 0 },
            message: None,
        }
    }

    /// Converts an error of opening or removing a topic.
    pub(crate) fn from_topic_error(error: &TopicError) -> Self {
        let Some(cause) = error.as_open_error() else {
            return Self::refused(error_chain_text(error));
        };
        Self::with_code(exit_code_of(cause), error_chain_text(error))
    }

    /// Converts an error that occurred while a file in the topics' directory was opened.
    pub(crate) fn from_open_error(error: &OpenError) -> Self {
        Self::with_code(exit_code_of(error), error_chain_text(error))
    }

    /// Appends `advice`, a sentence without a full stop, to the message.
    pub(crate) fn with_advice(mut self, advice: &str) -> Self {
        self.message = self.message.map(|mut message| {
            if !message.ends_with(['.', '?', '!']) {
                message.push('.');
            }
            format!("{message} {advice}")
        });
        self
    }

    /// Returns the message of the failure, without the exit code.
    pub(crate) fn text(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Returns true if the failure is that no object has the given name.
    pub(crate) const fn is_not_found(&self) -> bool {
        self.code == EXIT_NOT_FOUND
    }

    /// Prints the message to stderr, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if let Some(message) = &self.message {
            // WHY the error is ignored: there is nobody left to tell.
            let _ = io::stderr().write_all(stderr_line(message).as_bytes());
        }
        ExitCode::from(self.code)
    }

    /// Removes the message and returns the line that [`Self::report`] would print; `None` if there
    /// is no message.
    pub(crate) fn take_line(&mut self) -> Option<String> {
        self.message.take().map(|message| stderr_line(&message))
    }

    fn with_code(code: u8, message: impl Display) -> Self {
        Self {
            code,
            message: Some(message.to_string()),
        }
    }
}

/// Returns a message as a line for stderr.
fn stderr_line(message: &str) -> String {
    format!("horus: {message}\n")
}

fn exit_code_of(error: &OpenError) -> u8 {
    match error {
        OpenError::Name(_) => EXIT_USAGE,
        OpenError::NotFound { .. } => EXIT_NOT_FOUND,
        OpenError::SchemaMismatch { .. }
        | OpenError::TooManyPublishers { .. }
        | OpenError::TooManySubscribers { .. }
        | OpenError::Shape(_)
        | OpenError::TypeTooLong { .. }
        | OpenError::Retiring { .. } => EXIT_REFUSED,
        _ => EXIT_SYSTEM,
    }
}

/// Returns the text of an error, followed by the texts of its causes. Omits a text that is already
/// contained in those before it.
pub(crate) fn error_chain_text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

impl From<io::Error> for Failure {
    /// Converts an error that occurred while stdout was written. If the reader has closed the pipe,
    /// the command ends silently, with exit code 0.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                code: 0,
                message: None,
            };
        }
        Self::system(format_args!("cannot write to stdout: {error}"))
    }
}
