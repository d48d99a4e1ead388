//! The command `horus topic pub`: publishes messages on a topic.

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use horus_core::OpenError;
use horus_core::SendError;
use horus_core::introspect::Inspector;
use horus_core::message::{
    DType, FRAMED_KINDS, FieldError, FramedKind, HeaderError, STANDARD, standard_default_of,
};
use horus_core::namespace::Namespace;
use horus_core::topic::{
    DynamicBuilder, DynamicPublisher, DynamicSchema, DynamicType, Qos, Reliability,
};
use horus_core::value::Value;
use horus_core::value::json::{TYPES_KEY, from_json};

use super::field::FieldPath;
use super::publish_lines;
use super::select::without_leading_slash;
use super::stamps::TimeFields;
use super::type_fields::{carried_type_text, fields_within, unknown_field_failure};
use super::typed_value;
use crate::cli::{parse_hertz, parse_number};
use crate::context::Context;
use crate::failure::{Failure, error_chain_text};
use crate::output::format::{count, participant, shortened};
use crate::output::nearest;
use crate::stop::Deadline;

/// Rate at which several messages are sent, in hertz, unless `--rate` sets another one.
const DEFAULT_HZ: f64 = 1.0;

/// Maximum delay after which messages are still sent in place of those that were missed.
const CATCH_UP_DELAY_MAX: Duration = Duration::from_millis(10);

/// Time between two checks of the number of subscribers.
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// Publish one message, or messages at a rate
///
/// VALUE is JSON5, such as '{linear: 0.5, angular: 0.1}'; @FILE reads a file, and
/// `-` reads stdin. Fields that it does not name have their defaults. TYPE is
/// needed if the topic does not exist: Imu, CmdVel, …, or `value` for messages
/// of any shape. With --lines, @FILE and `-` have one message on each line, such
/// as the output of `horus topic echo T --json`.
#[derive(Debug, Args)]
#[command(override_usage = "horus topic pub [OPTIONS] <TOPIC> [TYPE] <VALUE>")]
pub(crate) struct Arguments {
    /// Name of the topic
    pub(super) topic: String,
    /// Type of the messages; needed if the topic does not exist
    // WHY optional: clap gives the only word after the topic to this one, and it is the value then.
    #[arg(value_name = "TYPE")]
    first: Option<String>,
    /// The message
    #[arg(value_name = "VALUE")]
    second: Option<String>,
    /// Publish this many times per second, until Ctrl-C
    #[arg(
        short,
        long,
        value_name = "HZ",
        value_parser = parse_hertz,
        allow_negative_numbers = true
    )]
    pub(super) rate: Option<f64>,
    /// Publish N messages, once a second unless --rate is given
    #[arg(short = 'n', value_name = "N", value_parser = parse_number::<u64>)]
    pub(super) number: Option<u64>,
    /// Publish one message; that is the default without --rate
    #[arg(long, conflicts_with_all = ["number", "rate"])]
    once: bool,
    /// Publish each line of @FILE or stdin, at --rate or as fast as they come
    #[arg(long, conflicts_with = "once")]
    lines: bool,
    /// Wait for N subscribers first
    #[arg(long, value_name = "N", value_parser = parse_number::<usize>)]
    wait_subs: Option<usize>,
    /// Field that gets the time of each message, unless VALUE names it [default:
    /// timestamp_ns]
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse)]
    now: Option<FieldPath>,
    /// Settings to offer [default: reliable; if the topic keeps messages, latched,
    /// which is best effort and reaches no subscriber that requests reliable]
    #[arg(long, value_name = "PRESET", hide_possible_values = true)]
    qos: Option<QosPreset>,
}

impl Arguments {
    /// Returns the name of the topic, for errors about its type; `None` if the user named the type.
    fn topic_for_type_errors(&self) -> Option<&str> {
        let names_type = self.second.is_some();
        (!names_type).then(|| without_leading_slash(&self.topic))
    }

    /// Returns the name of the type, if the user named it, and the value.
    pub(super) fn type_and_value(&self) -> Result<(Option<&str>, &str), Failure> {
        let missing = |after: &str| {
            Failure::usage(format_args!(
                "the value is missing after {after}: write it last, such as '{{linear: 0.5}}', or \
                 '{{}}' for the defaults of the type"
            ))
        };
        match (self.first.as_deref(), self.second.as_deref()) {
            (Some(name), Some(value)) => Ok((Some(name), value)),
            (None, _) => Err(missing(&format!("the topic '{}'", self.topic))),
            (Some(name), None) if is_type_name(name) => Err(missing(&format!("the type '{name}'"))),
            (Some(value), None) => Ok((None, value)),
        }
    }
}

/// The presets of quality of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum QosPreset {
    Default,
    #[value(name = "sensor_data")]
    SensorData,
    Reliable,
    Command,
    Latched,
}

impl QosPreset {
    fn qos(self) -> Qos {
        match self {
            Self::Default => Qos::new(),
            Self::SensorData => Qos::sensor_data(),
            Self::Reliable => Qos::reliable(),
            Self::Command => Qos::command(),
            Self::Latched => Qos::latched(),
        }
    }
}

/// The source of the messages to send. All messages are equal except for their times.
pub(super) struct MessageSource {
    kind: DynamicType,
    value: Value,
    /// The fields that get the current time in each message.
    stamps: TimeFields,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    if arguments.lines {
        return publish_lines::run(arguments, context);
    }
    let (type_name, value) = arguments.type_and_value()?;
    let value = parse_value(value, context.deadline())?;
    let namespace = context.open_namespace()?;
    let publisher = open_publisher(arguments, context, &namespace, type_name)?;
    let source = MessageSource::new(arguments, publisher.message_type(), value)?;
    // Checked before the first is sent.
    source.next_message(arguments)?;
    wait_for_subscribers(arguments, &publisher, context)?;
    let number = match (arguments.number, arguments.rate) {
        (None, None) => Some(1),
        (number, _) => number,
    };
    let mut sender = Sender {
        arguments,
        source,
        publisher,
        sent: 0,
        refused: 0,
    };
    let outcome = sender.send_all(number, context);
    print_counts(arguments, sender.sent, sender.refused, context)?;
    outcome
}

/// Prints the number of messages that were sent, and of those that were refused.
pub(super) fn print_counts(
    arguments: &Arguments,
    sent: u64,
    refused: u64,
    context: &mut Context,
) -> Result<(), Failure> {
    let topic = without_leading_slash(&arguments.topic);
    if context.is_json() {
        let counts = serde_json::json!({ "topic": topic, "sent": sent, "refused": refused });
        context.out.write_json(counts)?;
    } else {
        let (sent, refused) = (count(sent), count(refused));
        context.print_note(format_args!("{topic}: sent {sent}, refused {refused}"));
    }
    Ok(())
}

/// Parses the message that the user wants to send. `typed` is JSON5, names a file, or selects
/// stdin.
fn parse_value(typed: &str, deadline: Deadline) -> Result<Value, Failure> {
    let path = typed.strip_prefix('@').map(str::to_owned);
    if typed.trim().is_empty() {
        return Err(Failure::usage(
            "the value is empty: write '{}' for the defaults of the type",
        ));
    }
    if path.is_none() && typed != "-" {
        return parse_message_text(typed, &shortened(typed));
    }
    let origin = path.clone().unwrap_or_else(|| "stdin".to_owned());
    // WHY a limit: a pipe may never end.
    let read = deadline.call_until_deadline(move || match path {
        Some(path) => fs::read_to_string(path),
        None => io::read_to_string(io::stdin()),
    })?;
    let text = read
        .ok_or_else(|| Failure::timeout(format_args!("{origin} has not ended")))?
        .map_err(|error| Failure::unreadable_file(&origin, &error))?;
    parse_message_text(&text, &origin)
}

/// Returns the text of an error about a field; about the whole message, its path is empty.
fn without_empty_path(text: &str) -> String {
    match text.strip_prefix("'' ") {
        Some(rest) => format!("the value {rest}"),
        None => text.to_owned(),
    }
}

/// Parses a message in JSON5. `origin` names the text in errors.
pub(super) fn parse_message_text(text: &str, origin: &str) -> Result<Value, Failure> {
    let value = typed_value::parse(text)
        .map_err(|error| Failure::usage(format_args!("{origin}: {error}")))?;
    apply_listed_types(value, origin)
}

/// Applies the list of types that `horus topic echo --json` prints in a message, if there is one.
pub(super) fn apply_listed_types(value: Value, origin: &str) -> Result<Value, Failure> {
    if value.get(TYPES_KEY).is_none() {
        return Ok(value);
    }
    from_json(&value).map_err(|error| Failure::usage(format_args!("{origin}: {error}")))
}

/// Returns the quality of service that the publisher offers. WHY reliable is the default:
/// subscribers that request reliable messages receive nothing from a best-effort publisher, and a
/// reliable publisher does not wait for best-effort subscribers. For a topic that keeps messages,
/// the default is best effort.
fn offered_qos(arguments: &Arguments, namespace: &Arc<Namespace>) -> Qos {
    let keeps_messages = || {
        let topic = Inspector::open_in(namespace, without_leading_slash(&arguments.topic));
        topic.is_ok_and(|topic| topic.persists())
    };
    match arguments.qos {
        Some(preset) => preset.qos(),
        None if keeps_messages() => Qos::latched(),
        None => Qos::new().reliability(Reliability::Reliable),
    }
}

/// Opens the publisher. Creates the topic if it does not exist and the message type is known.
pub(super) fn open_publisher(
    arguments: &Arguments,
    context: &Context,
    namespace: &Arc<Namespace>,
    type_name: Option<&str>,
) -> Result<DynamicPublisher, Failure> {
    let topic = without_leading_slash(&arguments.topic);
    let builder = match type_name {
        Some(name) => find_type(name)?.builder(topic),
        None => DynamicBuilder::for_existing_topic(topic),
    };
    let opened = builder
        .namespace(namespace)
        // WHY strict: messages of a mistaken type would reach nobody.
        .qos(offered_qos(arguments, namespace).strict(type_name.is_some()))
        .publisher();
    opened.map_err(|error| {
        let is_absent = matches!(error.as_open_error(), Some(OpenError::NotFound { .. }));
        if !is_absent {
            return Failure::from_topic_error(&error);
        }
        let failure = context.topic_failure(namespace, topic, &error);
        failure.with_advice("To create it, name the type before the value")
    })
}

/// Returns true if `name` is the name that stands for messages of any shape.
const fn is_any_shape_type(name: &str) -> bool {
    name.eq_ignore_ascii_case("value")
}

/// Returns true if `name` names a message type that the command can publish.
fn is_type_name(name: &str) -> bool {
    is_any_shape_type(name) || STANDARD.iter().any(|schema| schema.name == name)
}

/// Returns the standard message type with the name `name`. For the name `value`, returns the type
/// of messages of any shape.
fn find_type(name: &str) -> Result<DynamicType, Failure> {
    if is_any_shape_type(name) {
        return Ok(DynamicType::of::<Value>());
    }
    if let Some(schema) = STANDARD.iter().find(|schema| schema.name == name) {
        return DynamicType::parse(&schema.text()).map_err(Failure::system);
    }
    let names: Vec<String> = STANDARD
        .iter()
        .map(|schema| schema.name.to_owned())
        .collect();
    let near = nearest::suggestion_text(name, &names);
    Err(Failure::not_found(format_args!(
        "no message type '{name}'.{near}"
    )))
}

impl MessageSource {
    /// Returns the source of messages with the content `value`. Fails if the option `--now` names a
    /// field that cannot hold a time.
    pub(super) fn new(
        arguments: &Arguments,
        kind: &DynamicType,
        value: Value,
    ) -> Result<Self, Failure> {
        let now = arguments.now.as_ref();
        Ok(Self {
            stamps: TimeFields::new(now, (arguments.topic_for_type_errors(), kind), &value)?,
            kind: kind.clone(),
            value,
        })
    }

    /// Returns the encoded bytes of the next message. If messages are stamped, the message contains
    /// the current time.
    pub(super) fn next_message(&self, arguments: &Arguments) -> Result<Vec<u8>, Failure> {
        let topic = arguments.topic_for_type_errors();
        let DynamicSchema::Plain { schema, layout } = self.kind.schema() else {
            let message = self.kind.encode(&self.value);
            return message.map_err(|error| {
                Failure::refused(format_args!(
                    "{}: {error}",
                    carried_type_text(topic, &self.kind)
                ))
            });
        };
        let refuse = |error: FieldError| match error {
            FieldError::NoSuchField { path, name } => {
                let outer = path.rsplit_once('.').map_or("", |(outer, _)| outer);
                unknown_field_failure(topic, &self.kind, &name, &fields_within(schema, outer))
            }
            error => Failure::refused(format_args!(
                "{}: {}",
                carried_type_text(topic, &self.kind),
                without_empty_path(&error.to_string())
            )),
        };
        let mut message = layout.encode(&self.value).map_err(refuse)?;
        if let Some(default) = standard_default_of(&schema.name, self.kind.hash())
            && let Some(fields) = message.get_mut(..default.len())
        {
            fields.copy_from_slice(&default);
            layout.set(&mut message, "", &self.value).map_err(refuse)?;
        }
        self.stamps.write_current_time(layout, &mut message);
        let is_it = |kind: &&FramedKind| {
            kind.schema().name == schema.name && kind.schema().hash() == self.kind.hash()
        };
        if let Some(kind) = FRAMED_KINDS.iter().find(is_it) {
            fill_in_header(kind, &mut message).map_err(|error| {
                Failure::refused(format_args!(
                    "{}: {error}",
                    carried_type_text(topic, &self.kind)
                ))
            })?;
        }
        Ok(message)
    }
}

/// Sets the fields of the header of a standard message that follow from the others and from the
/// number of data bytes, if they are 0.
///
/// # Errors
///
/// The header contradicts itself, or announces another number of data bytes than there are. No
/// subscriber could receive such a message.
fn fill_in_header(kind: &FramedKind, message: &mut [u8]) -> Result<(), HeaderError> {
    let (header, data) = message.split_at_mut(kind.schema().size);
    kind.fill_computed_fields(header);
    let found = data.len();
    if found > 0
        && kind.data_bytes(header) == Ok(0)
        && let Some(counted) = header_with_data_count(kind, header, found)
    {
        header.copy_from_slice(&counted);
    }
    let wanted = kind.data_bytes(header)?;
    if wanted == found {
        return Ok(());
    }
    Err(HeaderError::Length {
        message: kind.schema().name,
        wanted,
        found,
    })
}

/// Returns the header with the number of its data, if these are always numbers of one type in a
/// row, as those of `Bytes`; otherwise `None`.
fn header_with_data_count(kind: &FramedKind, header: &[u8], data_bytes: usize) -> Option<Vec<u8>> {
    let dtype = DType::from_primitive(kind.schema().tail?.primitive)?;
    let default = kind.array_layout(&kind.default_header(), 0)?;
    let mut header = header.to_vec();
    let count = (data_bytes / dtype.size()) as u64;
    kind.reshape(&mut header, dtype, &[count]).ok()?;
    (default.dtype() == dtype).then_some(header)
}

/// Waits until the topic has as many subscribers as the arguments request.
pub(super) fn wait_for_subscribers(
    arguments: &Arguments,
    publisher: &DynamicPublisher,
    context: &Context,
) -> Result<(), Failure> {
    let topic = publisher.name();
    let Some(wanted) = arguments.wait_subs else {
        if publisher.subscriber_count() == 0 {
            context.print_note(format_args!("{topic} has no subscribers"));
        }
        return Ok(());
    };
    let deadline = context.deadline();
    loop {
        let found = publisher.subscriber_count();
        if found >= wanted {
            return Ok(());
        }
        if deadline.is_over() {
            return Err(Failure::timeout(format_args!(
                "{topic}: {found} of {wanted} subscribers"
            )));
        }
        if !context
            .stop
            .sleep_until(deadline.or_earlier(Instant::now() + POLL_PERIOD))
        {
            return Err(Failure::interrupted());
        }
    }
}

/// Returns a failure if a message was refused, because the topic is full.
pub(super) fn check_none_refused(
    publisher: &DynamicPublisher,
    sent: u64,
    refused: u64,
) -> Result<(), Failure> {
    if refused == 0 {
        return Ok(());
    }
    let name = publisher.name();
    let slowest = participant(publisher.slowest_subscriber().as_ref());
    Err(match sent {
        0 => Failure::refused(format_args!(
            "{name} is full, because a reliable subscriber is too far behind: {slowest}"
        )),
        _ => Failure::refused(format_args!(
            "{name}: {refused} of {} messages were refused, because a reliable subscriber is too \
             far behind: {slowest}",
            sent + refused
        )),
    })
}

/// Returns the time at which the next message is sent. `due` is that of the last one.
///
/// WHY not always `due + period`: after a stop of this process, such as Ctrl-Z, all missed messages
/// would be sent at once. WHY not always from `now`: at high rates each sleep ends late, and the
/// rate would be too low.
fn next_send_time(due: Instant, period: Duration, now: Instant) -> Instant {
    let next = due + period;
    if now.saturating_duration_since(next) > CATCH_UP_DELAY_MAX {
        return now + period;
    }
    next
}

/// A publisher, and the number of messages that it has sent.
struct Sender<'a> {
    arguments: &'a Arguments,
    source: MessageSource,
    publisher: DynamicPublisher,
    sent: u64,
    refused: u64,
}

impl Sender<'_> {
    /// Sends `number` messages at the requested rate. If `number` is `None`, sends messages until a
    /// signal or the time limit of `--timeout` ends the command.
    fn send_all(&mut self, number: Option<u64>, context: &Context) -> Result<(), Failure> {
        if number != Some(1) {
            context.stop.catch_next_signal();
        }
        let deadline = context.deadline();
        let period = Duration::from_secs_f64(1.0 / self.arguments.rate.unwrap_or(DEFAULT_HZ));
        let mut due = Instant::now();
        let is_done = |this: &Self| number.is_some_and(|all| this.sent + this.refused >= all);
        while !is_done(self) {
            self.send()?;
            if is_done(self) {
                break;
            }
            due = next_send_time(due, period, Instant::now());
            let is_signalled = !context.stop.sleep_until(deadline.or_earlier(due));
            match number {
                Some(_) if is_signalled => return Err(Failure::interrupted()),
                Some(number) if deadline.is_over() => {
                    let done = self.sent + self.refused;
                    return Err(Failure::timeout(format_args!(
                        "{}: {done} of {number} messages",
                        self.publisher.name()
                    )));
                }
                None if is_signalled || deadline.is_over() => break,
                _ => {}
            }
        }
        if number.is_none() && self.sent > 0 {
            return Ok(());
        }
        check_none_refused(&self.publisher, self.sent, self.refused)
    }

    fn send(&mut self) -> Result<(), Failure> {
        let message = self.source.next_message(self.arguments)?;
        match self.publisher.send_bytes(&message) {
            Ok(()) => self.sent += 1,
            Err(SendError::Full { .. }) => self.refused += 1,
            Err(error) => return Err(Failure::refused(error_chain_text(&error))),
        }
        Ok(())
    }
}
