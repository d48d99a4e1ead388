//! The command `horus topic info`: prints all information about one topic.

use std::time::{Duration, SystemTime};

use clap::Args;
use horus_core::Mismatch;
use horus_core::introspect::{
    Inspector, LaneCounters, Offer, Participant, ReaderCounters, UnmatchedPair,
};
use serde::Serialize;

use super::latency::Percentiles;
use super::list::offered_reliability;
use super::select::without_leading_slash;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{bytes, count, duration, hours_minutes_seconds, visible};
use crate::output::{Cell, Column, Table, Tone};
use crate::process::OwnerId;

/// Show all about a topic: settings, publishers and subscribers
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the topic
    topic: String,
    /// Print the schema text of the messages only
    #[arg(long)]
    schema: bool,
}

/// A process that publishes or subscribes to the topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct EndpointProcess {
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// The id of the process in its namespace. It differs even between processes with the same pid,
    /// which can run in different containers.
    pub(crate) owner_id: OwnerId,
}

#[derive(Debug, Serialize)]
struct TopicInfo<'a> {
    topic: &'a str,
    message_type: &'a str,
    schema_hash: String,
    message_bytes: u64,
    has_variable_size: bool,
    reliability: String,
    capacity: u64,
    history: u32,
    persists: bool,
    publishers_max: u32,
    subscribers_max: u32,
    backend: String,
    file_bytes: Option<u64>,
    allocated_bytes: Option<u64>,
    age_ns: Option<u64>,
    publishers: Vec<Publisher>,
    subscribers: Vec<Subscriber>,
    schemas: Vec<LaneSchema>,
    unmatched: Vec<UnmatchedEndpoints>,
}

/// The message type of one lane. WHY for each lane: publishers may send different versions of a
/// message.
#[derive(Debug, Serialize)]
struct LaneSchema {
    lane: u32,
    message_type: String,
    schema_hash: String,
    message_bytes: u64,
}

/// A publisher and a subscriber that do not match, so no message passes between them.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct UnmatchedEndpoints {
    publisher: Option<EndpointProcess>,
    pub(crate) lane: u32,
    subscriber: Option<EndpointProcess>,
    pub(crate) slot: u32,
    pub(crate) cause: MismatchCause,
}

/// The reason why a publisher and a subscriber do not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MismatchCause {
    Type,
    Reliability,
}

impl MismatchCause {
    /// Returns the name of the cause, as it is in the JSON output.
    pub(crate) const fn json_name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Reliability => "reliability",
        }
    }
}

/// A lane, with its live publisher. The counters are those of all publishers that the lane has had.
#[derive(Debug, Serialize)]
struct Publisher {
    process: Option<EndpointProcess>,
    lane: u32,
    /// The reliability that the live publisher of the lane offers, or, without one, that the last
    /// publisher has offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    reliability: Option<String>,
    sent: u64,
    refused: u64,
    wakes: u64,
    skips: u64,
    claims: u64,
    aborted: u64,
    corrupt_resyncs: u64,
}

#[derive(Debug, Serialize)]
struct Subscriber {
    process: Option<EndpointProcess>,
    slot: u32,
    received: u64,
    malformed: u64,
    lost: u64,
    waiting: u64,
    skipped: u64,
    busy: u64,
    borrowed: u32,
    asleep: bool,
    #[serde(flatten)]
    latency: Percentiles,
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = without_leading_slash(&arguments.topic);
    let namespace = context.open_namespace_of_topic(name)?;
    let topic = context.open_inspector(&namespace, name)?;
    if arguments.schema {
        return print_schema(name, &topic, context);
    }
    let info = TopicInfo::new(name, &topic);
    if context.is_json() {
        context.out.write_json(info)
    } else {
        print_info(&info, context)
    }
}

fn print_schema(name: &str, topic: &Inspector, context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        let (message_type, schema) = (topic.message_type(), topic.schema());
        let schema_hash = format!("{:032x}", topic.schema_hash());
        return context.out.write_json(serde_json::json!({
            "topic": name, "message_type": message_type, "schema_hash": schema_hash,
            "schema": schema,
        }));
    }
    context.out.write_bytes(topic.schema().as_bytes())
}

impl EndpointProcess {
    pub(crate) fn of(participant: Option<&Participant>) -> Option<Self> {
        let participant = participant?;
        let process = participant.process.as_ref()?;
        Some(Self {
            pid: process.pid,
            name: process.name.clone(),
            owner_id: OwnerId(participant.owner_id),
        })
    }

    /// Returns a process as text, such as `process 4711 (imu_driver)`. Returns "gone" for `None`.
    fn process_text(process: Option<&Self>) -> String {
        process.map_or_else(
            || "gone".to_owned(),
            |process| format!("process {} ({})", process.pid, visible(&process.name)),
        )
    }
}

impl<'a> TopicInfo<'a> {
    fn new(name: &'a str, topic: &'a Inspector) -> Self {
        let file = topic.file().ok();
        let created = file.and_then(|file| file.created);
        let age = created.and_then(|created| SystemTime::now().duration_since(created).ok());
        let (lanes, offers) = (topic.publishers(), topic.offers());
        let publishers = lanes.iter().map(|lane| Publisher::new(lane, &offers));
        Self {
            topic: name,
            message_type: topic.message_type(),
            schema_hash: format!("{:032x}", topic.schema_hash()),
            message_bytes: topic.message_bytes(),
            has_variable_size: topic.has_variable_size(),
            reliability: offered_reliability(&offers, &lanes),
            capacity: topic.capacity(),
            history: topic.history(),
            persists: topic.persists(),
            publishers_max: topic.publishers_max(),
            subscribers_max: topic.subscribers_max(),
            backend: topic.backend().to_string(),
            file_bytes: file.map(|file| file.bytes),
            allocated_bytes: file.map(|file| file.allocated_bytes),
            age_ns: age.map(|age| age.as_nanos() as u64),
            publishers: publishers.collect(),
            subscribers: topic.subscribers().iter().map(Subscriber::new).collect(),
            schemas: offers.iter().map(LaneSchema::new).collect(),
            unmatched: topic
                .unmatched_pairs()
                .iter()
                .map(UnmatchedEndpoints::new)
                .collect(),
        }
    }
}

impl LaneSchema {
    fn new((lane, offer): &(u32, Offer)) -> Self {
        Self {
            lane: *lane,
            message_type: offer.type_info.name.to_string(),
            schema_hash: format!("{:032x}", u128::from_be_bytes(offer.type_info.hash)),
            message_bytes: offer.type_info.bytes,
        }
    }

    fn describe(&self) -> String {
        format!(
            "  lane {} has another message: {}, {} bytes, schema {}",
            self.lane,
            visible(&self.message_type),
            count(self.message_bytes),
            short_hash(&self.schema_hash),
        )
    }
}

/// Returns a short form of `hash` for people: its first four and its last four digits.
fn short_hash(hash: &str) -> String {
    format!("{}…{}", &hash[..4], &hash[hash.len() - 4..])
}

impl UnmatchedEndpoints {
    pub(crate) fn new(pair: &UnmatchedPair) -> Self {
        Self {
            publisher: EndpointProcess::of(Some(&pair.publisher)),
            lane: pair.lane,
            subscriber: EndpointProcess::of(Some(&pair.subscriber)),
            slot: pair.slot,
            cause: match pair.cause {
                Mismatch::Type => MismatchCause::Type,
                Mismatch::Reliability => MismatchCause::Reliability,
            },
        }
    }

    /// Returns a text that names the publisher and the subscriber, and says why no message passes
    /// between them.
    pub(crate) fn describe(&self) -> String {
        let reason = match self.cause {
            MismatchCause::Type => "they use different messages",
            MismatchCause::Reliability => {
                "it offers best effort, and the subscriber requests reliable"
            }
        };
        format!(
            "no message passes from {} in lane {} to {} in slot {}: {reason}",
            EndpointProcess::process_text(self.publisher.as_ref()),
            self.lane,
            EndpointProcess::process_text(self.subscriber.as_ref()),
            self.slot,
        )
    }
}

impl Publisher {
    fn new(lane: &LaneCounters, offers: &[(u32, Offer)]) -> Self {
        let offer = offers.iter().find(|(index, _)| *index == lane.lane);
        Self {
            process: EndpointProcess::of(lane.publisher.as_ref()),
            lane: lane.lane,
            reliability: offer.map(|(_, offer)| offer.reliability.to_string()),
            sent: lane.sent,
            refused: lane.refused,
            wakes: lane.wakes,
            skips: lane.skips,
            claims: lane.claims,
            aborted: lane.aborted,
            corrupt_resyncs: lane.corrupt_resyncs,
        }
    }

    /// Returns a line which says that the counts of the lane include those of earlier publishers;
    /// `None` if the lane has had only one publisher.
    fn earlier_publishers_note(&self) -> Option<String> {
        (self.claims > 1).then(|| {
            format!(
                "  lane {} has had {} publishers, one after the other: its counts are those of all",
                self.lane,
                count(self.claims)
            )
        })
    }
}

impl Subscriber {
    fn new(reader: &ReaderCounters) -> Self {
        Self {
            process: EndpointProcess::of(Some(&reader.subscriber)),
            slot: reader.slot,
            received: reader.received,
            malformed: reader.malformed,
            lost: reader.lost,
            waiting: reader.waiting,
            skipped: reader.skipped,
            busy: reader.busy,
            borrowed: reader.borrowed,
            asleep: reader.asleep,
            latency: Percentiles::of(&reader.latencies),
        }
    }

    /// Returns a line which says how many messages the subscriber could not read; `None` if it
    /// could read all.
    fn malformed_messages_note(&self) -> Option<String> {
        (self.malformed > 0).then(|| {
            format!(
                "  {} could not read {} messages: their bytes are no message of its type \
                 (malformed)",
                EndpointProcess::process_text(self.process.as_ref()),
                count(self.malformed),
            )
        })
    }
}

fn print_info(info: &TopicInfo<'_>, context: &mut Context) -> Result<(), Failure> {
    let TopicDescription { lines, tables } = info.describe();
    for line in lines {
        context.out.write_line(line)?;
    }
    tables
        .iter()
        .try_for_each(|table| context.out.write_table(table))
}

/// The description of a topic as text.
#[derive(Debug)]
pub(crate) struct TopicDescription {
    /// Lines of text about the settings of the topic.
    pub(crate) lines: Vec<String>,
    /// The table of the topic's publishers, and the table of its subscribers.
    pub(crate) tables: [Table; 2],
}

impl TopicDescription {
    pub(crate) fn of(name: &str, topic: &Inspector) -> Self {
        TopicInfo::new(name, topic).describe()
    }
}

impl TopicInfo<'_> {
    fn describe(&self) -> TopicDescription {
        let up_to = if self.has_variable_size { "up to " } else { "" };
        let mut lines = vec![format!(
            "{}: {}, {up_to}{} bytes, schema {}",
            self.topic,
            visible(self.message_type),
            count(self.message_bytes),
            short_hash(&self.schema_hash),
        )];
        let history = match (self.history, self.persists) {
            (0, _) => "no history".to_owned(),
            (history, false) => format!("history of {history}"),
            (history, true) => format!("history of {history}, kept after exit"),
        };
        let mixed = if self.reliability == "mixed" {
            " reliability"
        } else {
            ""
        };
        lines.push(format!(
            "  {}{mixed}, {} slots for each of up to {} publishers, {history}; ring: {}",
            self.reliability,
            count(self.capacity),
            self.publishers_max,
            self.backend,
        ));
        if let (Some(file), Some(allocated)) = (self.file_bytes, self.allocated_bytes) {
            let age = self
                .age_ns
                .map(|ns| hours_minutes_seconds(Duration::from_nanos(ns)));
            let age = age.map(|age| format!(", made {age} ago"));
            lines.push(format!(
                "  file {} bytes ({} reserved){}",
                count(file),
                bytes(allocated),
                age.unwrap_or_default(),
            ));
        }
        let is_other = |schema: &&LaneSchema| schema.schema_hash != self.schema_hash;
        let others = self.schemas.iter().filter(is_other);
        lines.extend(others.map(LaneSchema::describe));
        lines.extend(
            self.publishers
                .iter()
                .filter_map(Publisher::earlier_publishers_note),
        );
        let subscribers = self.subscribers.iter();
        lines.extend(subscribers.filter_map(Subscriber::malformed_messages_note));
        let unmatched = self.unmatched.iter();
        lines.extend(unmatched.map(|pair| format!("  {}", pair.describe())));
        let tables = [
            publisher_table(&self.publishers),
            subscriber_table(&self.subscribers),
        ];
        TopicDescription { lines, tables }
    }
}

fn loss_cell(number: u64) -> Cell {
    let tone = if number > 0 { Tone::Bad } else { Tone::Plain };
    Cell::toned(tone, count(number))
}

fn publisher_table(publishers: &[Publisher]) -> Table {
    let mut table = Table::new([
        Column::name("PUBLISHER"),
        Column::number("LANE"),
        Column::number("SENT"),
        Column::number("REFUSED"),
        Column::number("WAKES"),
        Column::text("OFFERS"),
    ])
    .indented(2);
    for publisher in publishers {
        let tone = match publisher.process {
            Some(_) => Tone::Plain,
            None => Tone::Bad,
        };
        table.add_row([
            Cell::toned(
                tone,
                EndpointProcess::process_text(publisher.process.as_ref()),
            ),
            publisher.lane.to_string().into(),
            count(publisher.sent).into(),
            loss_cell(publisher.refused),
            count(publisher.wakes).into(),
            publisher.reliability.as_deref().unwrap_or("-").into(),
        ]);
    }
    table
}

fn subscriber_table(subscribers: &[Subscriber]) -> Table {
    let mut table = Table::new([
        Column::name("SUBSCRIBER"),
        Column::number("SLOT"),
        Column::number("RECEIVED"),
        Column::number("LOST"),
        Column::number("WAITING"),
        Column::number("SKIPPED"),
        Column::number("p50"),
        Column::number("p99"),
        Column::text("ASLEEP"),
    ])
    .indented(2);
    for subscriber in subscribers {
        let time = |ns: Option<u64>| {
            ns.map_or_else(|| "-".to_owned(), |ns| duration(Duration::from_nanos(ns)))
        };
        table.add_row([
            EndpointProcess::process_text(subscriber.process.as_ref()).into(),
            subscriber.slot.to_string().into(),
            count(subscriber.received).into(),
            loss_cell(subscriber.lost),
            count(subscriber.waiting).into(),
            count(subscriber.skipped).into(),
            time(subscriber.latency.p50_ns).into(),
            time(subscriber.latency.p99_ns).into(),
            if subscriber.asleep { "yes" } else { "no" }.into(),
        ]);
    }
    table
}
