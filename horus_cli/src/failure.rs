//! The failures of commands, and the exit code for each kind of failure.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use horus_core::OpenError;
use horus_core::TopicError;

use crate::output::format::visible_lines;

/// Numbers of errors of system calls for which the standard library has no kind of its own.
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// Exit code of a command that answers a question, if the answer is no.
const EXIT_ANSWER_NO: u8 = 1;
/// Exit code of a command with invalid arguments.
const EXIT_USAGE: u8 = 2;
/// Exit code of a command if the topic, node, scheduler, namespace or file that the user named does
/// not exist.
const EXIT_NOT_FOUND: u8 = 3;
/// Exit code of a command if a topic, node or scheduler refused the request.
const EXIT_REFUSED: u8 = 4;
/// Exit code of a command if the operating system refused the request: permissions are missing,
/// there is no space, or a file is damaged.
const EXIT_SYSTEM: u8 = 5;
/// Exit code of a command that has reached the time limit of `--timeout`.
const EXIT_TIMEOUT: u8 = 124;
/// Exit code of a command that received a signal before it had an answer.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// The result of a command that fails or ends early: an exit code, and perhaps a message.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    /// The message for stderr; `None` if the command has nothing more to print.
    message: Option<String>,
}

impl Failure {
    /// Returns a failure without a message, for a command whose answer is no. The output of the
    /// command already gives the reason.
    pub(crate) const fn answer_no() -> Self {
        Self {
            code: EXIT_ANSWER_NO,
            message: None,
        }
    }

    /// Returns a failure for a command whose answer is no. `message` gives the reason.
    pub(crate) fn answer_no_because(message: impl Display) -> Self {
        Self::with_code(EXIT_ANSWER_NO, message)
    }

    /// Returns a failure with the exit code for invalid arguments.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::with_code(EXIT_USAGE, message)
    }

    /// Returns a failure with the exit code for a topic, node or other object that does not exist.
    pub(crate) fn not_found(message: impl Display) -> Self {
        Self::with_code(EXIT_NOT_FOUND, message)
    }

    /// Returns a failure with the exit code for a request that a topic, node or scheduler has
    /// refused.
    pub(crate) fn refused(message: impl Display) -> Self {
        Self::with_code(EXIT_REFUSED, message)
    }

    /// Returns a failure with the exit code for a request that the operating system has refused.
    pub(crate) fn system(message: impl Display) -> Self {
        Self::with_code(EXIT_SYSTEM, message)
    }

    /// Returns a failure for a file that the user named and that cannot be read. A file that does
    /// not exist, one that contains no text, and one that the system refuses have different exit
    /// codes.
    pub(crate) fn unreadable_file(path: impl Display, error: &io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::NotFound => EXIT_NOT_FOUND,
            io::ErrorKind::InvalidData | io::ErrorKind::IsADirectory => EXIT_USAGE,
            _ => EXIT_SYSTEM,
        };
        Self::with_code(code, format_args!("cannot read {path}: {error}"))
    }

    /// Returns a failure with the exit code for the time limit of `--timeout`. `missing_event` is
    /// the event that did not happen within that time.
    pub(crate) fn timeout(missing_event: impl Display) -> Self {
        Self::with_code(EXIT_TIMEOUT, format_args!("timeout: {missing_event}"))
    }

    /// Returns a failure without a message, for a command that received a signal before it had an
    /// answer.
    pub(crate) const fn interrupted() -> Self {
        Self {
            code: EXIT_INTERRUPTED,
            message: None,
        }
    }

    /// Returns the end of a command whose terminal was closed: without a message, and with the exit
    /// code 0, as after SIGHUP.
    pub(crate) const fn closed_terminal() -> Self {
        Self {
            code: 0,
            message: None,
        }
    }

    /// Prints the text of `error`, which is the help text or describes an invalid argument. Returns
    /// a failure with the exit code. It has a message only if the help text cannot be written.
    pub(crate) fn from_arguments_error(error: &clap::Error) -> Self {
        let printed = error.print();
        if error.use_stderr() {
            return Self {
                code: EXIT_USAGE,
                message: None,
            };
        }
        match printed.and_then(|()| io::stdout().flush()) {
            Ok(()) => Self {
                code: 0,
                message: None,
            },
            Err(error) => error.into(),
        }
    }

    /// Converts an error of opening or removing a topic to a failure with the exit code for it.
    pub(crate) fn from_topic_error(error: &TopicError) -> Self {
        let Some(cause) = error.as_open_error() else {
            return Self::refused(error_chain_text(error));
        };
        Self::with_code(exit_code_of(cause), error_chain_text(error))
    }

    /// Converts an error of opening a file in the directory of the topics to a failure with the
    /// exit code for it.
    pub(crate) fn from_open_error(error: &OpenError) -> Self {
        Self::with_code(exit_code_of(error), error_chain_text(error))
    }

    /// Appends `advice` to the message. `advice` is a sentence without a full stop.
    pub(crate) fn with_advice(mut self, advice: &str) -> Self {
        self.message = self.message.map(|mut message| {
            if !message.ends_with(['.', '?', '!']) {
                message.push('.');
            }
            format!("{message} {advice}")
        });
        self
    }

    /// Puts `prefix`, such as the number of a line, before the message.
    pub(crate) fn with_prefix(mut self, prefix: &str) -> Self {
        self.message = self.message.map(|message| format!("{prefix}: {message}"));
        self
    }

    /// Returns a failure for a command that made `attempts` attempts, of which these have failed.
    /// `failure_text` says what a failure means, such as "not removed". The message is one such as
    /// "2 of 3 not removed: ", and then the messages of `failures`. The exit code is that of the
    /// first failure. Returns `Ok` if there is none.
    pub(crate) fn result_of_attempts(
        failures: &[Self],
        attempts: usize,
        failure_text: &str,
    ) -> Result<(), Self> {
        let Some(code) = failures.first().map(|failure| failure.code) else {
            return Ok(());
        };
        let texts: Vec<_> = failures.iter().map(Self::text).collect();
        let (failed, texts) = (failures.len(), texts.join("; "));
        let message = format_args!("{failed} of {attempts} {failure_text}: {texts}");
        Err(Self::with_code(code, message))
    }

    /// Returns the message of the failure, without the exit code.
    pub(crate) fn text(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Returns true if the failure has the exit code for an object that does not exist.
    pub(crate) const fn is_not_found(&self) -> bool {
        self.code == EXIT_NOT_FOUND
    }

    /// Returns true if the failure has the exit code for a request that was refused.
    pub(crate) const fn is_refused(&self) -> bool {
        self.code == EXIT_REFUSED
    }

    /// Prints the message of the failure to stderr, and returns the exit code of the command.
    pub(crate) fn report(&self) -> ExitCode {
        if let Some(message) = &self.message {
            // WHY the error is ignored: there is nobody left to tell.
            let _ = io::stderr().write_all(stderr_line(message).as_bytes());
        }
        ExitCode::from(self.code)
    }

    /// Removes the message from the failure. Returns the line that [`Self::report`] would have
    /// printed; `None` if there is no message.
    pub(crate) fn take_message_line(&mut self) -> Option<String> {
        self.message.take().map(|message| stderr_line(&message))
    }

    fn with_code(code: u8, message: impl Display) -> Self {
        Self {
            code,
            message: Some(message.to_string()),
        }
    }
}

/// Returns `message` as a line for stderr, which begins with `horus:`. Replaces characters on which
/// a terminal would act by escapes. WHY: the message may repeat names and texts of other programs.
fn stderr_line(message: &str) -> String {
    format!("horus: {}\n", visible_lines(message))
}

/// Returns true if `error` or one of its causes says that the machine has no memory, or that a
/// limit of this process refuses more memory or files. Such an error says nothing about the object
/// that was opened.
pub(crate) fn is_lack_of_resources(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let errno = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error);
        if matches!(errno, Some(ENOMEM | EAGAIN | EMFILE | ENFILE)) {
            return true;
        }
        cause = error.source();
    }
    false
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

/// Returns the text of an error, followed by the texts of its causes. Omits a text that the text
/// before it already contains.
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
    /// Converts an error of writing to stdout. If the reader has closed the pipe, the command ends
    /// silently with exit code 0.
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
