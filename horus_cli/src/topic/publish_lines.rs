//! The option `--lines` of `horus topic pub`: publishes one message for each line of a file or of
//! stdin, such as those that `horus topic echo --json` prints.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use horus_core::SendError;
use horus_core::topic::DynamicPublisher;
use horus_core::value::Value;

use super::publish::{
    Arguments, MessageSource, apply_listed_types, check_none_refused, open_publisher,
    parse_message_text, print_counts, wait_for_subscribers,
};
use crate::context::Context;
use crate::failure::{Failure, error_chain_text};
use crate::stop::{Deadline, start_thread};

/// Maximum number of lines that are read ahead.
const READ_AHEAD_LINES_MAX: usize = 64;

/// Time between two checks for signals while no line comes.
const SIGNAL_CHECK_PERIOD: Duration = Duration::from_millis(10);

/// Time between two attempts to send a message to a topic that is full.
const RETRY_PERIOD: Duration = Duration::from_millis(1);

/// Keys of a line that `horus topic echo --json` prints. The message is the value of the last one.
const ECHO_KEYS: [&str; 4] = ["horus", "lane", "number", "message"];

/// The lines of a file or of stdin.
struct InputLines {
    /// The name of the input, for errors.
    origin: String,
    received: Receiver<io::Result<String>>,
    /// Number of lines that were read.
    number: u64,
    has_ended: bool,
    deadline: Deadline,
}

/// A publisher that sends the message of each line.
struct LineSender<'a> {
    arguments: &'a Arguments,
    publisher: DynamicPublisher,
    deadline: Deadline,
    sent: u64,
    refused: u64,
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let (type_name, input) = arguments.type_and_value()?;
    let deadline = context.deadline();
    let mut lines = InputLines::open(input, deadline)?;
    let namespace = context.open_namespace()?;
    let publisher = open_publisher(arguments, context, &namespace, type_name)?;
    wait_for_subscribers(arguments, &publisher, context)?;
    context.stop.catch_next_signal();
    let mut sender = LineSender {
        arguments,
        publisher,
        deadline,
        sent: 0,
        refused: 0,
    };
    let outcome = sender.send_all(&mut lines, context);
    print_counts(arguments, sender.sent, sender.refused, context)?;
    outcome
}

impl InputLines {
    /// Begins to read `input`, which is `-` for stdin or `@` and the name of a file.
    fn open(input: &str, deadline: Deadline) -> Result<Self, Failure> {
        let (origin, reader): (_, Box<dyn BufRead + Send>) = match input.strip_prefix('@') {
            Some(path) => {
                let owned = path.to_owned();
                // WHY a limit: a pipe that has a name waits for its other end.
                let opened = deadline
                    .call_until_deadline(move || File::open(owned))?
                    .ok_or_else(|| {
                        Failure::timeout(format_args!("{path}: nobody has opened it to write"))
                    })?;
                let file = opened.map_err(|error| Failure::unreadable_file(path, &error))?;
                (path, Box::new(BufReader::new(file)))
            }
            None if input == "-" => ("stdin", Box::new(BufReader::new(io::stdin()))),
            None => {
                return Err(Failure::usage(format_args!(
                    "--lines reads a file or stdin: write @FILE or - in place of '{input}'"
                )));
            }
        };
        let (sender, received) = sync_channel(READ_AHEAD_LINES_MAX);
        // WHY a thread: a signal does not end a read from a terminal or a pipe.
        start_thread(move || {
            for line in reader.lines() {
                let is_last = line.is_err();
                if sender.send(line).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self {
            origin: origin.to_owned(),
            received,
            number: 0,
            has_ended: false,
            deadline,
        })
    }

    /// Returns the next message. Returns `None` at the end of the input, or if a signal or the time
    /// limit of `--timeout` ends the command.
    fn next_message(&mut self, context: &Context) -> Result<Option<Value>, Failure> {
        while !context.stop.is_received() && !self.deadline.is_over() {
            let line = match self.received.recv_timeout(SIGNAL_CHECK_PERIOD) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    self.has_ended = true;
                    return Ok(None);
                }
            };
            self.number += 1;
            let line = line.map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => {
                    Failure::usage(format_args!("{}: {error}", self.position_text()))
                }
                _ => Failure::unreadable_file(&self.origin, &error),
            })?;
            if !line.trim().is_empty() {
                return Ok(Some(self.parse(&line)?));
            }
        }
        Ok(None)
    }

    fn parse(&self, line: &str) -> Result<Value, Failure> {
        let value = parse_message_text(line, &self.position_text())?;
        if ECHO_KEYS.iter().any(|key| value.get(key).is_none()) {
            return Ok(value);
        }
        let [.., message] = ECHO_KEYS;
        let message = value.get(message).cloned().unwrap_or_default();
        apply_listed_types(message, &self.position_text())
    }

    /// Returns the name of the input and the number of the last line, for errors.
    fn position_text(&self) -> String {
        format!("{}: line {}", self.origin, self.number)
    }
}

impl LineSender<'_> {
    fn send_all(&mut self, lines: &mut InputLines, context: &Context) -> Result<(), Failure> {
        let period = self
            .arguments
            .rate
            .map(|hertz| Duration::from_secs_f64(1.0 / hertz));
        let mut due = Instant::now();
        let is_done = |this: &Self| {
            let number = this.arguments.number;
            number.is_some_and(|number| this.sent + this.refused >= number)
        };
        while !is_done(self) {
            if !context.stop.sleep_until(self.deadline.or_earlier(due)) {
                break;
            }
            let Some(value) = lines.next_message(context)? else {
                break;
            };
            self.send(value, lines, context)?;
            if let Some(period) = period {
                // WHY not `due + period`: after a pause of the input, nothing is made up for.
                due = (due + period).max(Instant::now());
            }
        }
        let is_short = !is_done(self) && !lines.has_ended;
        if is_short && context.stop.is_received() {
            if self.arguments.number.is_some() {
                return Err(Failure::interrupted());
            }
        } else if is_short {
            return Err(Failure::timeout(format_args!(
                "{}: {} messages, and {} has not ended",
                self.publisher.name(),
                self.sent + self.refused,
                lines.origin
            )));
        }
        check_none_refused(&self.publisher, self.sent, self.refused)
    }

    /// Sends the message of a line. If the topic is full, waits until it is not, unless the
    /// messages have a rate.
    fn send(&mut self, value: Value, lines: &InputLines, context: &Context) -> Result<(), Failure> {
        let source = MessageSource::new(self.arguments, self.publisher.message_type(), value);
        let message = source.and_then(|source| source.next_message(self.arguments));
        let message = message.map_err(|failure| failure.with_prefix(&lines.position_text()))?;
        loop {
            match self.publisher.send_bytes(&message) {
                Ok(()) => {
                    self.sent += 1;
                    return Ok(());
                }
                Err(SendError::Full { .. }) if self.arguments.rate.is_none() => {
                    let next = self.deadline.or_earlier(Instant::now() + RETRY_PERIOD);
                    if !context.stop.sleep_until(next) || self.deadline.is_over() {
                        self.refused += 1;
                        return Ok(());
                    }
                }
                Err(SendError::Full { .. }) => {
                    self.refused += 1;
                    return Ok(());
                }
                Err(error) => return Err(Failure::refused(error_chain_text(&error))),
            }
        }
    }
}
