//! The command `horus topic latency`: measures the time from `send` to `recv` for the existing
//! subscribers of a topic.

use std::time::{Duration, Instant};

use clap::Args;
use horus_core::introspect::{Latencies, MESSAGES_PER_SAMPLE, ReaderCounters};
use serde::Serialize;

use super::hz::measurement_cut_short_failure;
use super::info::EndpointProcess;
use super::select::without_leading_slash;
use crate::cli::parse_positive_seconds;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, duration, participant};
use crate::output::{Column, Table};

/// Show the latency of each subscriber, from send to receive
///
/// The subscribers time every 256th message themselves, so this shows their real
/// latencies and costs them nothing. Values are upper bounds, to a factor of two.
/// A note says so if no message was timed, and which --for is long enough.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the topic
    topic: String,
    /// Only the messages of the next S seconds [default: all of each subscriber]
    #[arg(long = "for", value_name = "S", value_parser = parse_positive_seconds)]
    duration: Option<Duration>,
}

/// Number of samples for which the advised value of `--for` is long enough.
const ADVISED_SAMPLE_COUNT: f64 = 5.0;

/// Percentiles of the latencies in a histogram. Each value is an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Percentiles {
    /// Number of messages whose latency was measured.
    pub(crate) samples: u64,
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    pub(crate) max_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Latency<'a> {
    topic: &'a str,
    subscriber: Option<EndpointProcess>,
    slot: u32,
    #[serde(flatten)]
    latency: Percentiles,
}

impl Percentiles {
    /// Returns the percentiles of all latencies that were measured so far.
    pub(crate) fn of(latencies: &Latencies) -> Self {
        Self::of_buckets(latencies.buckets())
    }

    /// Returns the percentiles of the latencies that were measured between `earlier` and `later`.
    fn between(earlier: &Latencies, later: &Latencies) -> Self {
        let pairs = || earlier.buckets().zip(later.buckets());
        // WHY: when a count is full the reader halves all of them, so the difference says nothing.
        if pairs().any(|((before, _), (after, _))| after < before) {
            return Self::of(later);
        }
        Self::of_buckets(pairs().map(|((before, _), (after, bound))| (after - before, bound)))
    }

    fn of_buckets(buckets: impl Iterator<Item = (u16, Duration)>) -> Self {
        let buckets: Vec<_> = buckets.collect();
        let samples = buckets.iter().map(|(number, _)| u64::from(*number)).sum();
        let bound = |share: f64| {
            let wanted = (share * samples as f64).ceil().max(1.0) as u64;
            let mut seen = 0;
            let found = buckets.iter().find(|(number, _)| {
                seen += u64::from(*number);
                seen >= wanted
            });
            found.map(|(_, bound)| bound.as_nanos() as u64)
        };
        Self {
            samples,
            p50_ns: bound(0.5),
            p99_ns: bound(0.99),
            max_ns: bound(1.0),
        }
    }
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = without_leading_slash(&arguments.topic);
    let namespace = context.open_namespace_of_topic(name)?;
    let topic = context.open_inspector(&namespace, name)?;
    let before = arguments.duration.map(|_| topic.subscribers());
    let (begin, deadline) = (Instant::now(), context.deadline());
    let end = arguments
        .duration
        .and_then(|duration| begin.checked_add(duration));
    let mut is_cut_short = false;
    if let Some(end) = end {
        let is_signalled = !context.stop.sleep_until(deadline.or_earlier(end));
        is_cut_short = !is_signalled && Instant::now() < end;
    }
    let subscribers = topic.subscribers();
    let took = begin.elapsed();
    if subscribers.is_empty() {
        context.print_note(format_args!("{name} has no subscribers"));
    }
    let mut table = Table::new([
        Column::name("SUBSCRIBER"),
        Column::number("SAMPLES"),
        Column::number("p50"),
        Column::number("p99"),
        Column::number("MAX"),
    ]);
    let mut notes = Vec::new();
    for reader in &subscribers {
        let earlier = earlier_counters_of_subscriber(reader, before.as_deref());
        let latency = subscriber_percentiles(reader, earlier);
        if latency.samples == 0 {
            let took = before.as_ref().map(|_| took);
            let before = earlier.map_or(0, |earlier| earlier.received);
            let reason = no_samples_text(reader.received.saturating_sub(before), took);
            notes.push(format!(
                "{}: {reason}",
                participant(Some(&reader.subscriber))
            ));
        }
        if context.is_json() {
            context.out.write_json(Latency {
                topic: name,
                subscriber: EndpointProcess::of(Some(&reader.subscriber)),
                slot: reader.slot,
                latency,
            })?;
            continue;
        }
        let bound = |ns: Option<u64>| {
            ns.map_or_else(|| "-".to_owned(), |ns| duration(Duration::from_nanos(ns)))
        };
        table.add_row([
            participant(Some(&reader.subscriber)).into(),
            count(latency.samples).into(),
            bound(latency.p50_ns).into(),
            bound(latency.p99_ns).into(),
            bound(latency.max_ns).into(),
        ]);
    }
    if !context.is_json() {
        context.out.write_table(&table)?;
    }
    context.out.flush()?;
    for note in notes {
        context.print_note(note);
    }
    match end {
        Some(end) if is_cut_short => Err(measurement_cut_short_failure(begin, end)),
        _ => Ok(()),
    }
}

/// Returns those of the counters `before` that belong to the same subscriber as `reader`.
fn earlier_counters_of_subscriber<'a>(
    reader: &ReaderCounters,
    before: Option<&'a [ReaderCounters]>,
) -> Option<&'a ReaderCounters> {
    let is_same = |earlier: &&ReaderCounters| {
        (earlier.slot, &earlier.subscriber) == (reader.slot, &reader.subscriber)
    };
    before?.iter().find(is_same)
}

/// Returns the percentiles of a subscriber's latencies. If `earlier` contains earlier counters of
/// the subscriber, only messages since then count.
fn subscriber_percentiles(
    reader: &ReaderCounters,
    earlier: Option<&ReaderCounters>,
) -> Percentiles {
    match earlier {
        Some(earlier) => Percentiles::between(&earlier.latencies, &reader.latencies),
        None => Percentiles::of(&reader.latencies),
    }
}

/// Returns a text that says why no latency was measured for a subscriber that has received so many
/// messages, in the time `took` if only a part of them counts.
fn no_samples_text(received: u64, took: Option<Duration>) -> String {
    let when = took.map_or_else(String::new, |took| format!(" in {}", duration(took)));
    if received == 0 {
        return format!("no samples: it received no message{when}");
    }
    let reason = format!(
        "no samples: one message in {MESSAGES_PER_SAMPLE} is timed, and it received {}{when}",
        count(received)
    );
    let Some(took) = took else {
        return reason;
    };
    let between_samples_s = took.as_secs_f64() * MESSAGES_PER_SAMPLE as f64 / received as f64;
    format!(
        "{reason}, so one is timed every {between_samples_s:.1} s: use --for {:.0}",
        (between_samples_s * ADVISED_SAMPLE_COUNT).ceil()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_about_no_samples_advises_a_longer_time() {
        let text = no_samples_text(100, Some(Duration::from_secs(2)));
        let expected = "no samples: one message in 256 is timed, and it received 100 in 2.0 s, so \
                        one is timed every 5.1 s: use --for 26";
        assert_eq!(text, expected);
        let text = no_samples_text(100, None);
        let expected = "no samples: one message in 256 is timed, and it received 100";
        assert_eq!(text, expected);
        let text = no_samples_text(0, Some(Duration::from_secs(2)));
        assert_eq!(text, "no samples: it received no message in 2.0 s");
    }

    #[test]
    fn percentiles_are_bounds_of_buckets() {
        let bound = |exponent: u32| Duration::from_nanos(1 << exponent);
        let buckets = [(50, bound(5)), (48, bound(6)), (0, bound(7)), (2, bound(8))];
        let found = Percentiles::of_buckets(buckets.into_iter());
        let expected = Percentiles {
            samples: 100,
            p50_ns: Some(32),
            p99_ns: Some(256),
            max_ns: Some(256),
        };
        assert_eq!(found, expected);
        let empty = Percentiles::of_buckets([(0, bound(5))].into_iter());
        assert_eq!((empty.samples, empty.p50_ns), (0, None));
    }
}
