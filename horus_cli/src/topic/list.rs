//! The command `horus topic list`: lists the topics with their types, participants, rates and
//! losses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use horus_core::introspect::{Inspector, LaneCounters, LivenessCache, Offer, topics};
use horus_core::namespace::{Namespace, NamespaceConfig};
use horus_core::topic::{Backend, Reliability};
use horus_core::{OpenError, TopicError};
use serde::Serialize;

use super::hz::wait_for_window;
use super::meter::{Counters, Meter};
use super::pattern::matches_pattern;
use super::select::{is_internal_topic, is_selected_by, without_leading_slash};
use crate::cli::parse_seconds;
use crate::context::{Context, other_namespaces_text};
use crate::failure::{Failure, error_chain_text};
use crate::namespace::open_listed_namespace;
use crate::output::format::{count, rate, visible};
use crate::output::{Cell, Column, Table, Tone};
use crate::stop::Deadline;

/// Default duration for which rates are measured, in seconds.
const DEFAULT_WINDOW: &str = "1";

/// Minimum time between two lists with the option `--watch`, and minimum duration for which rates
/// are measured.
pub(crate) const SHORTEST_PERIOD: Duration = Duration::from_millis(10);

/// List topics
///
/// Rates are counted for a second, which is exact for any rate. With `-w 0` there
/// are none, and the answer comes at once.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only topics that match: `camera/*`, `**/status`
    pattern: Option<String>,
    /// Also show sizes, slots and settings
    #[arg(short, long)]
    long: bool,
    /// Also list the library's own topics, horus/…
    #[arg(short, long)]
    all: bool,
    /// List again and again, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Seconds for which rates are measured
    #[arg(
        short,
        long,
        value_name = "S",
        default_value = DEFAULT_WINDOW,
        value_parser = parse_seconds,
    )]
    window: Duration,
}

/// A row of the list: a topic, or the error that occurred when the topic was opened.
#[derive(Debug, Serialize)]
struct TopicRow {
    #[serde(rename = "topic")]
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    seen: Option<ListedTopic>,
}

/// A topic in the list: its type, its counters and, if they were read, its settings.
#[derive(Debug, Serialize)]
struct ListedTopic {
    #[serde(flatten)]
    details: TopicSummary,
    /// The settings of the topic; `None` if they were not read, because the list does not show
    /// anything that depends on them.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    settings: Option<TopicSettings>,
}

/// The type and the counters of a topic, which every list shows.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TopicSummary {
    pub(crate) message_type: String,
    pub(crate) publishers: usize,
    pub(crate) subscribers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate_hz: Option<f64>,
    pub(crate) sent: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
}

/// The settings of a topic that the long list shows.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TopicSettings {
    pub(crate) latched: bool,
    pub(crate) message_bytes: u64,
    pub(crate) has_variable_size: bool,
    pub(crate) capacity: u64,
    pub(crate) reliability: String,
    pub(crate) backend: String,
}

/// A list of topics in the form in which it is written as JSON.
#[derive(Debug, Serialize)]
struct TopicList<'a> {
    namespace: &'a str,
    topics: &'a [TopicRow],
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let deadline = context.deadline();
    let mut namespace = context.open_existing_namespace()?;
    if namespace.is_none() && !arguments.watch {
        return print_list(arguments, &[], context);
    }
    if arguments.watch {
        context.stop.catch_next_signal();
    }
    let config = context.namespace_config()?;
    loop {
        let rows = match &namespace {
            Some(namespace) => measure_topics(arguments, deadline, context, namespace)?,
            None => Vec::new(),
        };
        if arguments.watch && context.stop.is_received() {
            return Ok(());
        }
        if arguments.watch && context.out.is_terminal() && !context.is_json() {
            // Moves to the first line and clears the screen.
            context.out.write_bytes(b"\x1b[H\x1b[2J")?;
        }
        print_list(arguments, &rows, context)?;
        context.out.flush()?;
        if rows.is_empty() && !arguments.watch {
            report_no_topics(arguments, context, &config);
        }
        if !arguments.watch || deadline.is_over() {
            return Ok(());
        }
        if namespace.is_none() {
            let due = Instant::now() + arguments.window.max(SHORTEST_PERIOD);
            context.stop.sleep_until(deadline.or_earlier(due));
        }
        // WHY again: programs may create the namespace later, or may have replaced it.
        namespace = open_listed_namespace(&config)?;
    }
}

/// Prints a note that no topic was found. The note names other namespaces that have topics.
fn report_no_topics(arguments: &Arguments, context: &Context, config: &NamespaceConfig) {
    let which = arguments
        .pattern
        .as_deref()
        .map(|p| format!(" that matches '{p}'"));
    context.print_note(format_args!(
        "no topic{} in namespace '{}'.{}",
        which.unwrap_or_default(),
        config.name(),
        other_namespaces_text(config)
    ));
}

/// Opens all selected topics, waits for the duration of the measurement, and reads their counters.
/// If `deadline` is earlier, returns a failure, or with `--watch` what was counted until then.
fn measure_topics(
    arguments: &Arguments,
    deadline: Deadline,
    context: &Context,
    namespace: &Arc<Namespace>,
) -> Result<Vec<TopicRow>, Failure> {
    let names = topics(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let pattern = arguments.pattern.as_deref().map(without_leading_slash);
    let is_wanted = |name: &String| match pattern {
        Some(pattern) if arguments.all => matches_pattern(pattern, name),
        Some(pattern) => is_selected_by(pattern, name),
        None => arguments.all || !is_internal_topic(name),
    };
    let names: Vec<String> = names.into_iter().filter(is_wanted).collect();
    let is_long = arguments.long || context.is_json();
    let mut cache = LivenessCache::default();
    if arguments.window.is_zero() {
        if arguments.watch {
            let due = Instant::now() + SHORTEST_PERIOD;
            context.stop.sleep_until(deadline.or_earlier(due));
        }
        let rows = names.into_iter().filter_map(|name| {
            let topic = Inspector::open_in(namespace, &name);
            let seen = topic.map(|topic| {
                let counters = Counters::read(&topic, &mut cache);
                ListedTopic::new(&topic, &counters, None, is_long)
            });
            TopicRow::new(name, seen)
        });
        return Ok(rows.collect());
    }
    let meters: Vec<_> = names
        .iter()
        .map(|name| Meter::open(namespace, name))
        .collect();
    let window = arguments.window.max(SHORTEST_PERIOD);
    if arguments.watch {
        let due = Instant::now() + window;
        context.stop.sleep_until(deadline.or_earlier(due));
    } else if !meters.is_empty() {
        wait_for_window(window, deadline, context)?;
    }
    let rows = names.into_iter().zip(meters).filter_map(|(name, meter)| {
        let mut meter = match meter {
            Ok(meter) => meter,
            Err(error) => return TopicRow::new(name, Err(error)),
        };
        let rate_hz = meter.read_with(&mut cache).rate_hz();
        let seen = ListedTopic::new(meter.inspector()?, meter.counters(), Some(rate_hz), is_long);
        TopicRow::new(name, Ok(seen))
    });
    Ok(rows.collect())
}

impl TopicRow {
    /// Returns the row of a topic; `None` if the topic was removed before it could be opened.
    fn new(name: String, seen: Result<ListedTopic, TopicError>) -> Option<Self> {
        let (seen, error) = match seen {
            Ok(seen) => (Some(seen), None),
            Err(error) if matches!(error.as_open_error(), Some(OpenError::NotFound { .. })) => {
                return None;
            }
            Err(error) => (None, Some(error_chain_text(&error))),
        };
        Some(Self { name, error, seen })
    }
}

impl ListedTopic {
    /// Describes a topic with the given counters. If `is_long` is false, reads the settings of the
    /// topic only if the text of its rate depends on them. WHY: to read them, the files of all
    /// publishers have to be opened.
    fn new(topic: &Inspector, counters: &Counters, rate_hz: Option<f64>, is_long: bool) -> Self {
        let details = TopicSummary::new(topic, counters, rate_hz);
        let is_left = details.publishers == 0 && details.sent > 0;
        let settings = (is_long || is_left).then(|| TopicSettings::new(topic, counters));
        Self { details, settings }
    }

    fn is_latched(&self) -> bool {
        self.settings
            .as_ref()
            .is_some_and(|settings| settings.latched)
    }
}

impl TopicSummary {
    pub(crate) fn new(topic: &Inspector, counters: &Counters, rate_hz: Option<f64>) -> Self {
        Self {
            message_type: topic.message_type().to_owned(),
            publishers: counters.publishers(),
            subscribers: counters.readers.len(),
            rate_hz,
            sent: counters.sent(),
            refused: counters.refused(),
            lost: counters.lost(),
        }
    }

    /// Returns the rate as text. For a topic that keeps its last message and has no publisher any
    /// longer, returns "latched".
    pub(crate) fn rate_text(&self, is_latched: bool) -> String {
        match self.rate_hz {
            _ if is_latched && self.publishers == 0 && self.sent > 0 => "latched".to_owned(),
            Some(hertz) => rate(hertz),
            None => "-".to_owned(),
        }
    }
}

impl TopicSettings {
    pub(crate) fn new(topic: &Inspector, counters: &Counters) -> Self {
        let backend = Backend::between(counters.publishers(), counters.readers.len());
        Self {
            latched: topic.persists() && topic.history() > 0,
            message_bytes: topic.message_bytes(),
            has_variable_size: topic.has_variable_size(),
            capacity: topic.capacity(),
            reliability: offered_reliability(&topic.offers(), &counters.lanes),
            backend: backend.to_string(),
        }
    }
}

/// Returns the reliability that the live publishers offer as text, or `mixed` if they differ. If
/// there is no live publisher, returns what the last publishers have offered, because that still
/// applies to the messages that they have left.
pub(super) fn offered_reliability(offers: &[(u32, Offer)], lanes: &[LaneCounters]) -> String {
    let is_live = |lane: u32| {
        let mut lanes = lanes.iter().filter(|counters| counters.lane == lane);
        lanes.any(|counters| counters.publisher.is_some())
    };
    let mut found: Vec<_> = offers.iter().filter(|(lane, _)| is_live(*lane)).collect();
    if found.is_empty() {
        found.extend(offers);
    }
    let is_reliable = |(_, offer): &&(u32, Offer)| offer.reliability == Reliability::Reliable;
    let reliable = found.iter().copied().filter(is_reliable).count();
    match reliable {
        0 => Reliability::BestEffort.to_string(),
        all if all == found.len() => Reliability::Reliable.to_string(),
        _ => "mixed".to_owned(),
    }
}

fn print_list(
    arguments: &Arguments,
    rows: &[TopicRow],
    context: &mut Context,
) -> Result<(), Failure> {
    if context.is_json() {
        let config = context.namespace_config()?;
        return context.out.write_json(TopicList {
            namespace: config.name().as_str(),
            topics: rows,
        });
    }
    let mut columns = vec![
        Column::name("TOPIC"),
        Column::text("TYPE"),
        Column::number("PUBS"),
        Column::number("SUBS"),
        Column::number("RATE"),
        Column::number("LOST"),
    ];
    if arguments.long {
        columns.extend([
            Column::number("REFUSED"),
            Column::number("BYTES"),
            Column::number("SLOTS"),
            Column::text("RELIABILITY"),
            Column::text("RING"),
        ]);
    }
    let width = columns.len();
    let mut table = Table::new(columns);
    for row in rows {
        match (&row.seen, &row.error) {
            (Some(seen), _) => table.add_row(topic_cells(&row.name, seen, arguments.long)),
            (None, error) => {
                let unreadable = Cell::toned(Tone::Bad, "unreadable");
                let dashes = std::iter::repeat_n("-".into(), width - 2);
                table.add_row(
                    [row.name.as_str().into(), unreadable]
                        .into_iter()
                        .chain(dashes),
                );
                context.print_note(format_args!(
                    "{}: {}",
                    row.name,
                    error.as_deref().unwrap_or_default()
                ));
            }
        }
    }
    context.out.write_table(&table)
}

fn topic_cells(name: &str, seen: &ListedTopic, long: bool) -> Vec<Cell> {
    let ListedTopic { details, settings } = seen;
    let loss = |number: u64| {
        let tone = if number > 0 { Tone::Bad } else { Tone::Plain };
        Cell::toned(tone, count(number))
    };
    let is_waiting = details.publishers == 0 && details.subscribers > 0 && !seen.is_latched();
    let tone = if is_waiting {
        Tone::Waiting
    } else {
        Tone::Plain
    };
    let mut cells = vec![
        name.into(),
        visible(&details.message_type).into(),
        Cell::toned(tone, details.publishers.to_string()),
        details.subscribers.to_string().into(),
        details.rate_text(seen.is_latched()).into(),
        loss(details.lost),
    ];
    if let (true, Some(settings)) = (long, settings) {
        let up_to = if settings.has_variable_size {
            "≤ "
        } else {
            ""
        };
        cells.extend([
            loss(details.refused),
            format!("{up_to}{}", count(settings.message_bytes)).into(),
            count(settings.capacity).into(),
            settings.reliability.as_str().into(),
            settings.backend.as_str().into(),
        ]);
    }
    cells
}
