//! The command `horus topic delay`: measures the age of messages on arrival.

use std::time::{Duration, Instant};

use clap::Args;
use horus_core::RecvTimeoutError;
use horus_core::topic::{DynamicSchema, DynamicSubscriber, DynamicType};
use horus_core::value::Value;
use serde::Serialize;

use super::gaps::{TIME_FIELD, now_ns};
use super::hz::cut_short_failure;
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
/// too large. With --exact, it takes a subscriber's place, and is woken at once.
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
struct Ages<'a> {
    topic: &'a str,
    messages: u64,
    min_ns: Option<i64>,
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    max_ns: Option<i64>,
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
        expect_time_field(name, subscriber.message_type())?;
        MessageReader::Subscriber(Box::new(subscriber))
    } else {
        let mut observer = Observer::open(context, &namespace, name)?;
        if let Some(subscriber) = observer.subscriber() {
            expect_time_field(name, subscriber.message_type())?;
        }
        MessageReader::Observer(Box::new(observer))
    };
    context.stop.begin_stream();
    let deadline = context.deadline();
    let window = arguments
        .window
        .max(OBSERVER_POLL_PERIOD)
        .min(arguments.duration.unwrap_or(Duration::MAX));
    let begin = Instant::now();
    let end = arguments.duration.and_then(|time| begin.checked_add(time));
    loop {
        let due = Instant::now() + window;
        let due = end.map_or(due, |end| end.min(due));
        let due = deadline.or_earlier(due);
        let mut ages = Samples::default();
        while !context.stop.is_received() && Instant::now() < due {
            reader.read(due, &mut ages)?;
        }
        if context.stop.is_received() {
            return Ok(());
        }
        print_ages(name, &mut ages, context)?;
        context.out.flush()?;
        match end {
            Some(end) if Instant::now() >= end => return Ok(()),
            Some(end) if deadline.is_over() => return Err(cut_short_failure(begin, end)),
            None if deadline.is_over() => return Ok(()),
            _ => {}
        }
    }
}

/// Returns an error if messages of the type `kind` cannot have a field named [`TIME_FIELD`].
fn expect_time_field(topic: &str, kind: &DynamicType) -> Result<(), Failure> {
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

impl MessageReader {
    /// Adds the ages of the messages that have arrived to `ages`, in nanoseconds. Waits until `due`
    /// at most. Returns after a few milliseconds in any case: even if no message has arrived, and
    /// even if messages arrive all the time.
    fn read(&mut self, due: Instant, ages: &mut Samples<i64>) -> Result<(), Failure> {
        match self {
            Self::Observer(observer) => {
                let end = due.min(Instant::now() + READ_TIME_MAX);
                let mut subscriber = observer.subscriber();
                while let Some(message) = subscriber.as_mut().and_then(|one| one.recv()) {
                    if let Some(age) = message_age_ns(&message) {
                        ages.add(age);
                    }
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
                        let message = kind.decode(message);
                        let age = message.and_then(|message| message_age_at(&message, now_ns));
                        if let Some(age) = age {
                            ages.add(age);
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

fn message_age_ns(message: &Value) -> Option<i64> {
    message_age_at(message, now_ns())
}

/// Returns the age of a message in nanoseconds. It is negative if the clock of the sender is ahead.
/// Returns `None` if the message has no field [`TIME_FIELD`], or if that field is 0.
fn message_age_at(message: &Value, now_ns: u64) -> Option<i64> {
    let sent_ns = message.get(TIME_FIELD)?.as_u64().filter(|time| *time > 0)?;
    Some(now_ns.wrapping_sub(sent_ns).cast_signed())
}

fn print_ages(topic: &str, ages: &mut Samples<i64>, context: &mut Context) -> Result<(), Failure> {
    let messages = ages.count();
    let [p50_ns, p99_ns] = ages.percentiles([50.0, 99.0]);
    let (min_ns, max_ns) = (ages.min(), ages.max());
    if context.is_json() {
        return context.out.write_json(Ages {
            topic,
            messages,
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
    context.out.write_line(format_args!(
        "{topic}  p50 {}  p99 {}  max {}  min {}  ({} messages)",
        shown(p50_ns),
        shown(p99_ns),
        shown(max_ns),
        shown(min_ns),
        count(messages)
    ))
}
