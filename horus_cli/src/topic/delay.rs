//! The command `horus topic delay`: measures the age of messages on arrival.

use std::time::{Duration, Instant};

use clap::Args;
use horus_core::RecvTimeoutError;
use horus_core::topic::{DynamicSchema, DynamicSubscriber, DynamicType};
use horus_core::value::Value;
use serde::Serialize;

use super::gaps::{TIME_FIELD, now_ns};
use super::hz::measurement_cut_short_failure;
use super::observer::{OBSERVER_POLL_PERIOD, Observer, READ_TIME_MAX};
use super::samples::Samples;
use super::select::without_leading_slash;
use crate::cli::parse_positive_seconds;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, duration};

/// Measure the age of messages when they arrive
///
/// The age is the time since the timestamp_ns in the message, which its sender
/// set by the system's clock. Looks each millisecond, so an age may be that much
/// too large. With --exact, it is one of the topic's subscribers, and is woken at
/// once. Messages whose timestamp_ns is 0 have no age: they are counted
/// separately. The exit code is 4 if the time of --for is over and only such
/// messages have come.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the topic
    topic: String,
    /// Take a subscriber's place, to be woken when a message comes
    #[arg(long)]
    exact: bool,
    /// Seconds between two lines
    #[arg(
        short,
        long,
        value_name = "S",
        default_value = "1",
        value_parser = parse_positive_seconds
    )]
    window: Duration,
    /// End after S seconds
    #[arg(long = "for", value_name = "S", value_parser = parse_positive_seconds)]
    duration: Option<Duration>,
}

#[derive(Debug, Serialize)]
struct AgesLine<'a> {
    topic: &'a str,
    /// Number of messages whose age was measured.
    messages: u64,
    /// Number of messages without an age, because their [`TIME_FIELD`] is 0 or missing.
    without_timestamp: u64,
    min_ns: Option<i64>,
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    max_ns: Option<i64>,
}

/// The ages of the messages that arrived in one window, which is the time between two lines of the
/// output.
#[derive(Debug, Default)]
struct WindowAges {
    /// The ages in nanoseconds.
    ages: Samples<i64>,
    /// Number of messages without an age.
    without_timestamp: u64,
}

/// The source from which the command reads messages.
enum MessageReader {
    Observer(Box<Observer>),
    Subscriber(Box<DynamicSubscriber>),
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = without_leading_slash(&arguments.topic);
    let namespace = context.open_namespace_of_topic(name)?;
    let mut reader = if arguments.exact {
        let subscriber = DynamicSubscriber::open(&namespace, name);
        let subscriber =
            subscriber.map_err(|error| context.topic_failure(&namespace, name, &error))?;
        check_time_field(name, subscriber.message_type())?;
        MessageReader::Subscriber(Box::new(subscriber))
    } else {
        let mut observer = Observer::open(context, &namespace, name)?;
        if let Some(subscriber) = observer.subscriber() {
            check_time_field(name, subscriber.message_type())?;
        }
        MessageReader::Observer(Box::new(observer))
    };
    context.stop.catch_next_signal();
    let deadline = context.deadline();
    let window = arguments
        .window
        .max(OBSERVER_POLL_PERIOD)
        .min(arguments.duration.unwrap_or(Duration::MAX));
    let begin = Instant::now();
    let end = arguments.duration.and_then(|time| begin.checked_add(time));
    let (mut measured, mut without_timestamp) = (0, 0);
    loop {
        let due = Instant::now() + window;
        let due = end.map_or(due, |end| end.min(due));
        let due = deadline.or_earlier(due);
        let mut messages = WindowAges::default();
        // WHY one read in any case: on a busy machine, the window may be over already.
        loop {
            reader.read(due, &mut messages)?;
            reader.print_namespace_change(context);
            if context.stop.is_received() || Instant::now() >= due {
                break;
            }
        }
        if context.stop.is_received() {
            return match end {
                Some(_) => Err(Failure::interrupted()),
                None => Ok(()),
            };
        }
        measured += messages.ages.count();
        without_timestamp += messages.without_timestamp;
        print_ages(name, &mut messages, context)?;
        context.out.flush()?;
        match end {
            Some(end) if Instant::now() >= end => {
                return check_age_was_measured(name, measured, without_timestamp);
            }
            Some(end) if deadline.is_over() => {
                return Err(measurement_cut_short_failure(begin, end));
            }
            None if deadline.is_over() => return Ok(()),
            _ => {}
        }
    }
}

/// Returns an error if messages of the type `kind` cannot have a field named [`TIME_FIELD`].
fn check_time_field(topic: &str, kind: &DynamicType) -> Result<(), Failure> {
    let has_time = match kind.schema() {
        DynamicSchema::Plain { schema, .. } => {
            schema.fields.iter().any(|field| field.path == TIME_FIELD)
        }
        DynamicSchema::MessagePack => true,
        _ => false,
    };
    if has_time {
        return Ok(());
    }
    Err(Failure::refused(format_args!(
        "{topic} carries {}, which has no {TIME_FIELD}: no age can be measured",
        kind.name()
    )))
}

/// Returns an error if messages have come, but no age could be measured.
fn check_age_was_measured(
    topic: &str,
    measured: u64,
    without_timestamp: u64,
) -> Result<(), Failure> {
    if measured > 0 || without_timestamp == 0 {
        return Ok(());
    }
    Err(Failure::refused(format_args!(
        "{topic}: all {} messages have no age, because their {TIME_FIELD} is 0 or missing: set it \
         to the present time in nanoseconds, by timestamp_now_ns()",
        count(without_timestamp)
    )))
}

impl WindowAges {
    fn add(&mut self, age: Option<i64>) {
        match age {
            Some(age) => self.ages.add(age),
            None => self.without_timestamp += 1,
        }
    }
}

impl MessageReader {
    /// Prints a note if the messages come from a new namespace since the last call. A subscriber
    /// stays in the former one.
    fn print_namespace_change(&mut self, context: &Context) {
        if let Self::Observer(observer) = self
            && let Some(note) = observer.take_namespace_change_note()
        {
            context.print_note(note);
        }
    }

    /// Adds the messages that have arrived to `window`. Waits until `due` at most. Returns after a
    /// few milliseconds in any case: even if no message has arrived, and even if messages arrive
    /// all the time.
    fn read(&mut self, due: Instant, window: &mut WindowAges) -> Result<(), Failure> {
        match self {
            Self::Observer(observer) => {
                let end = due.min(Instant::now() + READ_TIME_MAX);
                let mut subscriber = observer.subscriber();
                while let Some(message) = subscriber.as_mut().and_then(|one| one.recv()) {
                    window.add(message_age_at(&message, now_ns()));
                    if Instant::now() >= end {
                        return Ok(());
                    }
                }
                std::thread::sleep(OBSERVER_POLL_PERIOD);
            }
            Self::Subscriber(subscriber) => {
                let left = due.saturating_duration_since(Instant::now());
                let kind = subscriber.message_type().clone();
                // WHY a limit: a signal must be noticed soon.
                match subscriber.recv_bytes_timeout(left.min(10 * OBSERVER_POLL_PERIOD)) {
                    Ok(message) => {
                        let now_ns = now_ns();
                        if let Some(message) = kind.decode(message) {
                            window.add(message_age_at(&message, now_ns));
                        }
                    }
                    Err(RecvTimeoutError::Timeout { .. }) => {}
                    Err(error) => return Err(Failure::system(error)),
                }
            }
        }
        Ok(())
    }
}

/// Returns the age of a message in nanoseconds. It is negative if the clock of the sender is ahead.
/// Returns `None` if the message has no field [`TIME_FIELD`], or if that field is 0.
fn message_age_at(message: &Value, now_ns: u64) -> Option<i64> {
    let sent_ns = message.get(TIME_FIELD)?.as_u64().filter(|time| *time > 0)?;
    Some(now_ns.wrapping_sub(sent_ns).cast_signed())
}

fn print_ages(topic: &str, window: &mut WindowAges, context: &mut Context) -> Result<(), Failure> {
    let WindowAges {
        ages,
        without_timestamp,
    } = window;
    let messages = ages.count();
    let [p50_ns, p99_ns] = ages.percentiles([50.0, 99.0]);
    let (min_ns, max_ns) = (ages.min(), ages.max());
    if context.is_json() {
        return context.out.write_json(AgesLine {
            topic,
            messages,
            without_timestamp: *without_timestamp,
            min_ns,
            p50_ns,
            p99_ns,
            max_ns,
        });
    }
    let shown = |ns: Option<i64>| match ns {
        None => "-".to_owned(),
        Some(ns) => {
            let sign = if ns < 0 { "-" } else { "" };
            format!(
                "{sign}{}",
                duration(Duration::from_nanos(ns.unsigned_abs()))
            )
        }
    };
    let others = match *without_timestamp {
        0 => String::new(),
        number => format!(", {} more with {TIME_FIELD} 0 or missing", count(number)),
    };
    context.out.write_line(format_args!(
        "{topic}  p50 {}  p99 {}  max {}  min {}  ({} messages{others})",
        shown(p50_ns),
        shown(p99_ns),
        shown(max_ns),
        shown(min_ns),
        count(messages)
    ))
}
