//! The command `horus topic echo`: prints the messages of a topic.

use std::time::{Duration, Instant};

use clap::Args;
use horus_core::topic::{Arrival, DynamicSchema, DynamicSubscriber, DynamicType};
use horus_core::value::Value;
use horus_core::value::json::to_json;
use serde::Serialize;

use super::condition::Condition;
use super::csv::CsvColumns;
use super::field::FieldPath;
use super::observer::{OBSERVER_POLL_PERIOD, Observer};
use super::path_check::{check_comparable, check_path};
use super::select::without_leading_slash;
use crate::cli::{parse_hertz, parse_number};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, visible};
use crate::output::value::{shorten_single_precision, value_text};

/// Minimum time between two notes about lost messages.
const LOSS_NOTE_PERIOD: Duration = Duration::from_secs(1);

/// Maximum time for which a printed message stays in the buffer while more messages come.
const FLUSH_PERIOD: Duration = Duration::from_millis(50);

/// Print the messages of a topic
///
/// Looks for messages each millisecond, and is no subscriber: if messages come
/// faster than they are printed, only this command loses some, and counts them.
/// Ends with Ctrl-C, or after -n messages.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the topic
    topic: String,
    // WHY no doc comment: rustdoc would take the brackets for links.
    #[arg(value_parser = FieldPath::parse, help = "Only this part: pose.x, ranges[3], ranges[0:8]")]
    path: Option<FieldPath>,
    /// End after N messages
    #[arg(short = 'n', value_name = "N", value_parser = parse_number::<u64>)]
    number: Option<u64>,
    /// End after one message, as -n 1
    #[arg(long, conflicts_with = "number")]
    once: bool,
    /// Print at most this many messages per second, always the newest
    #[arg(long, value_name = "HZ", value_parser = parse_hertz, allow_negative_numbers = true)]
    rate: Option<f64>,
    /// Skip all but the newest message each time
    #[arg(long)]
    latest: bool,
    /// Only messages that fulfil EXPR: 'linear > 0.5 && frame == "map"'
    #[arg(long = "where", value_name = "EXPR", value_parser = Condition::parse)]
    condition: Option<Condition>,
    /// Print comma-separated values, with a line of names first
    #[arg(long, conflicts_with_all = ["raw", "json"])]
    csv: bool,
    /// Write the bytes of the messages as they are
    #[arg(long, conflicts_with_all = ["json", "path"])]
    raw: bool,
    /// Print all elements of long arrays
    #[arg(long)]
    full: bool,
}

#[derive(Debug, Serialize)]
struct MessageLine<'a> {
    topic: &'a str,
    lane: u32,
    number: u64,
    message: &'a Value,
}

/// The number of messages that the command has read and printed so far, and the state of its
/// output.
struct EchoProgress {
    printed: u64,
    lost: u64,
    next_note: Instant,
    /// The names in the first line of `--csv`; `None` if it was not printed yet.
    header: Option<Vec<String>>,
    /// True if a note says that a message has values that are not in the header.
    has_noted_columns: bool,
    /// The message type for which the paths in the arguments were checked.
    checked: Option<DynamicType>,
    /// Number of messages that had no part at a path in the arguments.
    without_part: u64,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = without_leading_slash(&arguments.topic);
    let namespace = context.open_namespace_of_topic(name)?;
    let mut observer = Observer::open(context, &namespace, name)?;
    let mut progress = EchoProgress {
        printed: 0,
        lost: observer.lost(),
        next_note: Instant::now(),
        header: None,
        has_noted_columns: false,
        checked: None,
        without_part: 0,
    };
    if let Some(subscriber) = observer.subscriber() {
        progress.check_paths(arguments, name, subscriber.message_type())?;
    }
    context.stop.catch_next_signal();
    let deadline = context.deadline();
    let wanted = arguments.number.or(arguments.once.then_some(1));
    let mut next_print = Instant::now();
    let mut next_flush = Instant::now();
    let is_done = |progress: &EchoProgress| wanted.is_some_and(|all| progress.printed >= all);
    while !is_done(&progress) && !context.stop.is_received() {
        let mut is_read = false;
        let printed_before = progress.printed;
        if Instant::now() >= next_print
            && let Some(subscriber) = observer.subscriber()
        {
            // The topic may have been created anew, with another type.
            progress.check_paths(arguments, name, subscriber.message_type())?;
            is_read = print_next_message(arguments, name, subscriber, &mut progress, context)?;
        }
        progress.report_losses_at_intervals(name, observer.lost(), context);
        if let Some(note) = observer.take_namespace_change_note() {
            context.print_note(note);
        }
        let now = Instant::now();
        if !is_read || now >= next_flush {
            context.out.flush()?;
            next_flush = now + FLUSH_PERIOD;
        }
        if deadline.is_over() && !is_done(&progress) {
            break;
        }
        if !is_read {
            context
                .stop
                .sleep_until(deadline.or_earlier(Instant::now() + OBSERVER_POLL_PERIOD));
        } else if let Some(hertz) = arguments.rate
            && progress.printed > printed_before
        {
            // WHY only then: messages that do not fulfil the condition are not printed.
            next_print = now + Duration::from_secs_f64(1.0 / hertz);
        }
    }
    context.out.flush()?;
    let Some(wanted) = wanted else {
        let (printed, lost) = (count(progress.printed), count(observer.lost()));
        let without = progress.missing_parts_text();
        context.print_note(format_args!(
            "{name}: {printed} messages, {lost} lost here{without}"
        ));
        return Ok(());
    };
    progress.report_losses_now(name, observer.lost(), context);
    if is_done(&progress) {
        Ok(())
    } else if context.stop.is_received() {
        Err(Failure::interrupted())
    } else {
        Err(Failure::timeout(format_args!(
            "{name}: {} of {wanted} messages{}",
            progress.printed,
            progress.missing_parts_text(),
        )))
    }
}

/// Reads the next message, and prints it if it fulfils the condition. Returns false if no message
/// is available now.
fn print_next_message(
    arguments: &Arguments,
    topic: &str,
    subscriber: &mut DynamicSubscriber,
    progress: &mut EchoProgress,
    context: &mut Context,
) -> Result<bool, Failure> {
    let kind = subscriber.message_type().clone();
    let message = if arguments.latest || arguments.rate.is_some() {
        subscriber.latest_bytes()
    } else {
        subscriber.recv_bytes()
    };
    let Some(message) = message else {
        return Ok(false);
    };
    let Some(mut value) = decode_message(&kind, message) else {
        subscriber.count_malformed();
        context.print_note(format_args!("{topic}: bytes that are no {}", kind.name()));
        return Ok(true);
    };
    if let Some(condition) = &arguments.condition
        && !condition.is_fulfilled_by(&value)
    {
        if let Some(path) = condition.path_missing_in(&value) {
            progress.report_missing_field(topic, path, context);
        }
        return Ok(true);
    }
    if arguments.raw {
        context.out.write_bytes(message)?;
        progress.printed += 1;
        return Ok(true);
    }
    let arrival = subscriber.last_arrival();
    if let Some(path) = &arguments.path {
        let Some(found) = path.get(&value) else {
            progress.report_missing_field(topic, path, context);
            return Ok(true);
        };
        value = if context.is_json() {
            Value::Map(vec![(path.text().into(), found)])
        } else {
            found
        };
    }
    print_message(arguments, (topic, arrival), &value, progress, context)?;
    Ok(true)
}

/// Decodes a message, and shortens numbers of single precision to their usual digits. Returns
/// `None` if the bytes are not a message of this type.
pub(crate) fn decode_message(kind: &DynamicType, message: &[u8]) -> Option<Value> {
    let mut value = kind.decode(message)?;
    if let DynamicSchema::Plain { schema, .. } = kind.schema() {
        shorten_single_precision(&mut value, schema);
    }
    Some(value)
}

/// Returns a line that shows a message with its lane and its sequence number, such as `[0 #48211]
/// {linear: 0.5}`.
pub(crate) fn message_line(arrival: Option<Arrival>, text: &str) -> String {
    let (lane, number) = lane_and_sequence_number(arrival);
    format!("[{lane} #{number}] {text}")
}

/// Returns the lane and the sequence number of a message. Returns zeros if `arrival` is `None`,
/// which does not happen after a message was received.
fn lane_and_sequence_number(arrival: Option<Arrival>) -> (u32, u64) {
    arrival.map_or((0, 0), |arrival| (arrival.lane, arrival.number))
}

/// Prints a message, and counts it. Prints only a note if JSON cannot express the message.
fn print_message(
    arguments: &Arguments,
    (topic, arrival): (&str, Option<Arrival>),
    value: &Value,
    progress: &mut EchoProgress,
    context: &mut Context,
) -> Result<(), Failure> {
    if context.is_json() {
        let (lane, number) = lane_and_sequence_number(arrival);
        let message = match to_json(value) {
            Ok(message) => message,
            Err(error) => {
                context.print_note(format_args!("{topic}: message not printed: {error}"));
                return Ok(());
            }
        };
        progress.printed += 1;
        return context.out.write_json(MessageLine {
            topic,
            lane,
            number,
            message: &message,
        });
    }
    progress.printed += 1;
    if !arguments.csv {
        let text = value_text(value, arguments.full);
        return context.out.write_line(message_line(arrival, &text));
    }
    print_csv_line(arguments, topic, value, progress, context)
}

/// Prints a message as comma-separated values, below the names of the first message.
fn print_csv_line(
    arguments: &Arguments,
    topic: &str,
    value: &Value,
    progress: &mut EchoProgress,
    context: &mut Context,
) -> Result<(), Failure> {
    let path = arguments.path.as_ref().map_or("", FieldPath::text);
    let columns = CsvColumns::of(path, value, arguments.full);
    if progress.header.is_none() {
        context.out.write_foreign_line(&columns.names.join(","))?;
        if !columns.left_out.is_empty() {
            let names = visible(&columns.left_out.join(", "));
            context.print_note(format_args!("{topic}: left out without --full: {names}"));
        }
    }
    let header = progress.header.get_or_insert_with(|| columns.names.clone());
    let (cells, others) = columns.cells_in_order_of(header);
    if !others.is_empty() && !progress.has_noted_columns {
        progress.has_noted_columns = true;
        let names = visible(&others.join(", "));
        context.print_note(format_args!(
            "{topic}: a message has values that the first one lacks, which are left out: {names}"
        ));
    }
    context.out.write_foreign_line(&cells.join(","))
}

impl EchoProgress {
    /// Returns a failure if no message of the type `kind` can have the parts that the arguments
    /// name. Checks each type once.
    fn check_paths(
        &mut self,
        arguments: &Arguments,
        topic: &str,
        kind: &DynamicType,
    ) -> Result<(), Failure> {
        if self.checked.as_ref() == Some(kind) {
            return Ok(());
        }
        if let Some(path) = &arguments.path {
            check_path(topic, kind, path)?;
        }
        let comparisons = arguments.condition.iter().flat_map(Condition::comparisons);
        for comparison in comparisons {
            check_comparable(topic, kind, comparison)?;
        }
        self.checked = Some(kind.clone());
        Ok(())
    }

    /// Counts a message that has no part at `path`, and is therefore not printed. Prints a note
    /// about the first one.
    fn report_missing_field(&mut self, topic: &str, path: &FieldPath, context: &Context) {
        if self.without_part == 0 {
            let path = path.text();
            context.print_note(format_args!(
                "{topic}: a message has no '{path}', so it is not printed"
            ));
        }
        self.without_part += 1;
    }

    /// Returns a text with the number of messages that had no part at a path, to be appended to the
    /// number of all messages. It is empty if there were none.
    fn missing_parts_text(&self) -> String {
        match self.without_part {
            0 => String::new(),
            number => format!(", {} without the field", count(number)),
        }
    }

    /// Prints a note about lost messages, at most once per [`LOSS_NOTE_PERIOD`]. `lost` is the
    /// number of messages lost so far.
    fn report_losses_at_intervals(&mut self, topic: &str, lost: u64, context: &Context) {
        if Instant::now() >= self.next_note {
            self.report_losses_now(topic, lost, context);
        }
    }

    /// Prints a note about the messages that were lost since the last note. Prints nothing if there
    /// are none.
    fn report_losses_now(&mut self, topic: &str, lost: u64, context: &Context) {
        if lost > self.lost {
            let more = count(lost - self.lost);
            context.print_note(format_args!(
                "{topic}: {more} messages lost here, it is too fast"
            ));
            self.lost = lost;
            self.next_note = Instant::now() + LOSS_NOTE_PERIOD;
        }
    }
}
