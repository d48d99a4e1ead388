//! The command `horus topic hz`: measures the exact rate at which messages are sent on topics.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use horus_core::namespace::Namespace;
use serde::Serialize;

use super::gaps::{GapMeter, MessageGaps};
use super::info::EndpointProcess;
use super::meter::{Meter, Reading, per_second};
use super::observer::OBSERVER_POLL_PERIOD;
use super::select::select_topics;
use crate::cli::{parse_hertz, parse_positive_seconds};
use crate::context::Context;
use crate::failure::Failure;
use crate::namespace::{find_replacement_namespace, replacement_namespace_note};
use crate::output::Tone;
use crate::output::format::{count, participant, rate};
use crate::stop::Deadline;

/// Duration of a window, in which messages are counted before the next line is printed.
const DEFAULT_WINDOW: Duration = Duration::from_secs(1);

/// Time between two looks whether the namespace was removed.
const NAMESPACE_CHECK_PERIOD: Duration = Duration::from_millis(100);

/// Measure the rate of messages, exactly and at any rate
///
/// Reads the counters that publishers keep, so it is no subscriber, misses
/// nothing, and costs them nothing. Ends with Ctrl-C, or after --for.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    span: MeasurementSpan,
    /// Also show the gaps between messages, by their timestamp_ns
    ///
    /// This observes the messages. Those without a timestamp_ns count when they
    /// are seen, which is up to a millisecond late.
    #[arg(long)]
    jitter: bool,
    /// Exit with 1 if the mean rate of a topic was below this limit
    #[arg(long, value_name = "HZ", value_parser = parse_hertz, allow_negative_numbers = true)]
    min: Option<f64>,
    /// Exit with 1 if the mean rate of a topic was above this limit
    #[arg(long, value_name = "HZ", value_parser = parse_hertz, allow_negative_numbers = true)]
    max: Option<f64>,
}

/// The topics that a command measures, and how long it measures them.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasurementSpan {
    /// Names or patterns of topics
    #[arg(required = true)]
    topics: Vec<String>,
    /// Seconds between two lines [default: 1, or those of --for]
    #[arg(short, long, value_name = "S", value_parser = parse_positive_seconds)]
    window: Option<Duration>,
    /// End after S seconds
    #[arg(long = "for", value_name = "S", value_parser = parse_positive_seconds)]
    duration: Option<Duration>,
}

#[derive(Debug, Serialize)]
struct RateLine<'a> {
    topic: &'a str,
    rate_hz: f64,
    messages: u64,
    window_ns: u64,
    refused: u64,
    lost: u64,
    lanes: Vec<LaneLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gaps: Option<MessageGaps>,
}

#[derive(Debug, Serialize)]
struct LaneLine {
    lane: u32,
    publisher: Option<EndpointProcess>,
    rate_hz: f64,
    messages: u64,
}

/// The meters of the topics that a command measures.
///
/// If the namespace was removed, each one is opened anew in the namespace that has the name, as
/// soon as its topic is there. Until then, it measures the former topic.
pub(super) struct Meters {
    namespace: Arc<Namespace>,
    meters: Vec<Meter>,
    /// For each meter, the namespace of its topic.
    homes: Vec<Arc<Namespace>>,
}

impl Meters {
    /// Returns each meter, and the namespace of its topic.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&mut Meter, &Arc<Namespace>)> {
        self.meters.iter_mut().zip(&self.homes)
    }

    /// Looks whether another namespace has the name now, and moves to it. If that namespace cannot
    /// be opened, a later call tries again.
    fn move_to_replaced_namespace(&mut self, context: &Context) {
        if let Ok(Some(other)) = find_replacement_namespace(&self.namespace) {
            context.print_note(replacement_namespace_note(&other));
            self.namespace = other;
        }
        for (meter, home) in self.meters.iter_mut().zip(&mut self.homes) {
            if !Arc::ptr_eq(home, &self.namespace)
                && let Ok(opened) = Meter::open(&self.namespace, meter.name())
            {
                *meter = opened;
                *home = Arc::clone(&self.namespace);
            }
        }
    }
}

impl MeasurementSpan {
    /// Opens a meter for each topic. From then on, the first signal ends only the measurement, so
    /// that the command can print a summary.
    pub(super) fn open(&self, context: &Context) -> Result<Meters, Failure> {
        let (namespace, names) = select_topics(context, &self.topics)?;
        let meters = names.iter().map(|name| {
            Meter::open(&namespace, name)
                .map_err(|error| context.topic_failure(&namespace, name, &error))
        });
        let meters = meters.collect::<Result<Vec<_>, _>>()?;
        context.stop.catch_next_signal();
        Ok(Meters {
            homes: vec![Arc::clone(&namespace); meters.len()],
            namespace,
            meters,
        })
    }

    /// Calls `window` at the end of each window, until the time is over or a signal comes. `wait`
    /// must wait until the given time, and return false if a signal comes before.
    ///
    /// If a signal interrupts a window, `window` is not called for it. Returns a failure if a
    /// signal or the limit of `--timeout` ends the measurement before the time that `--for` sets.
    pub(super) fn call_after_each_window(
        &self,
        meters: &RefCell<Meters>,
        context: &mut Context,
        mut wait: impl FnMut(&Context, Instant) -> bool,
        mut window: impl FnMut(&mut Context) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let length = self.window.or(self.duration).unwrap_or(DEFAULT_WINDOW);
        let length = length.max(Duration::from_millis(1));
        let begin = Instant::now();
        let deadline = context.deadline();
        let end = self
            .duration
            .and_then(|duration| begin.checked_add(duration));
        let mut due = begin;
        let mut next_follow = begin + NAMESPACE_CHECK_PERIOD;
        loop {
            due = next_window_end(due, length, Instant::now());
            let next = end.map_or(due, |end| end.min(due));
            let next = deadline.or_earlier(next);
            loop {
                if !wait(context, next.min(next_follow)) {
                    return match end {
                        Some(_) => Err(Failure::interrupted()),
                        None => Ok(()),
                    };
                }
                if Instant::now() >= next_follow {
                    meters.borrow_mut().move_to_replaced_namespace(context);
                    next_follow = Instant::now() + NAMESPACE_CHECK_PERIOD;
                }
                if Instant::now() >= next {
                    break;
                }
            }
            window(context)?;
            context.out.flush()?;
            match end {
                Some(end) if Instant::now() >= end => return Ok(()),
                Some(end) if deadline.is_over() => {
                    return Err(measurement_cut_short_failure(begin, end));
                }
                None if deadline.is_over() => return Ok(()),
                _ => {}
            }
        }
    }
}

/// Returns the end of the window that follows the one which was due to end at `last`.
///
/// WHY not always `length` later: after the process was stopped, as by Ctrl-Z, all windows that it
/// has missed would be printed at once, measured over microseconds.
fn next_window_end(last: Instant, length: Duration, now: Instant) -> Instant {
    let next = last + length;
    if next > now { next } else { now + length }
}

/// Sleeps for the duration `window`, in which meters count messages. Returns a failure if the limit
/// of `--timeout` ends the measurement before, at `deadline`.
pub(crate) fn wait_for_window(
    window: Duration,
    deadline: Deadline,
    context: &Context,
) -> Result<(), Failure> {
    let begin = Instant::now();
    let end = begin + window;
    let due = deadline.or_earlier(end);
    if context.stop.sleep_until(due) && due < end {
        return Err(measurement_cut_short_failure(begin, end));
    }
    Ok(())
}

/// Returns a failure for a measurement from `begin` to `end` which the limit of `--timeout` has
/// ended now.
pub(super) fn measurement_cut_short_failure(begin: Instant, end: Instant) -> Failure {
    Failure::timeout(format_args!(
        "measured for {:.1} of {:.1} s",
        begin.elapsed().as_secs_f64(),
        (end - begin).as_secs_f64()
    ))
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    if let (Some(min), Some(max)) = (arguments.min, arguments.max)
        && min > max
    {
        return Err(Failure::usage(format_args!(
            "no rate is at least {min} Hz (--min) and at most {max} Hz (--max)"
        )));
    }
    let mut meters = arguments.span.open(context)?;
    let observed = meters.iter_mut().filter(|_| arguments.jitter);
    let gaps = observed.map(|(meter, home)| GapMeter::open(context, home, meter.name()));
    // WHY: both closures below need the observers, and neither runs inside the other.
    let gaps = RefCell::new(gaps.collect::<Result<Vec<_>, _>>()?);
    let mut totals: Vec<Option<Reading>> = meters.iter_mut().map(|_| None).collect();
    let meters = RefCell::new(meters);
    let mut windows = 0;
    let wait = |context: &Context, due: Instant| {
        while arguments.jitter && !context.stop.is_received() && Instant::now() < due {
            gaps.borrow_mut().iter_mut().for_each(GapMeter::read_times);
            thread::sleep(OBSERVER_POLL_PERIOD);
        }
        context.stop.sleep_until(due)
    };
    let outcome = arguments
        .span
        .call_after_each_window(&meters, context, wait, |context| {
            let mut gaps = gaps.borrow_mut();
            let mut meters = meters.borrow_mut();
            windows += 1;
            for (index, ((meter, _), total)) in meters.iter_mut().zip(&mut totals).enumerate() {
                let reading = meter.read();
                meter.close_if_unused();
                let gaps = gaps.get_mut(index).map(GapMeter::take_window_gaps);
                print_rate(meter.name(), &reading, gaps, context)?;
                match total {
                    Some(total) => total.add(&reading),
                    None => *total = Some(reading),
                }
            }
            Ok(())
        });
    let meters = meters.into_inner().meters;
    // The only line is its own summary.
    if windows > 1 {
        print_summaries(context, &meters, &totals);
    }
    outcome?;
    // WHY only then: no rate has been compared with the limits.
    if windows == 0 && (arguments.min.is_some() || arguments.max.is_some()) {
        return Err(Failure::interrupted());
    }
    check_rate_limits(arguments, &meters, &totals)
}

fn print_rate(
    topic: &str,
    reading: &Reading,
    gaps: Option<MessageGaps>,
    context: &mut Context,
) -> Result<(), Failure> {
    if context.is_json() {
        let lanes = reading.lanes.iter().map(|lane| LaneLine {
            lane: lane.lane,
            publisher: EndpointProcess::of(lane.publisher.as_ref()),
            rate_hz: per_second(lane.sent, reading.took),
            messages: lane.sent,
        });
        return context.out.write_json(RateLine {
            topic,
            rate_hz: reading.rate_hz(),
            messages: reading.sent,
            window_ns: reading.took.as_nanos() as u64,
            refused: reading.refused,
            lost: reading.lost,
            lanes: lanes.collect(),
            gaps,
        });
    }
    let messages = count(reading.sent);
    let seconds = reading.took.as_secs_f64();
    let publishers = publishers_text(reading);
    let refused = highlighted_count("refused", reading.refused, context);
    let lost = highlighted_count("lost by subscribers", reading.lost, context);
    let rate = rate(reading.rate_hz());
    let gaps = gaps.map(|gaps| format!("  {}", gaps.text()));
    let gaps = gaps.unwrap_or_default();
    let sent = format!("{messages} messages in {seconds:.3} s; {publishers}");
    context.out.write_line(format_args!(
        "{topic}  {rate}  ({sent})  {refused}  {lost}{gaps}"
    ))
}

/// Returns `what` followed by `number` as text. The number is red if it is not 0.
fn highlighted_count(what: &str, number: u64, context: &Context) -> String {
    let tone = if number > 0 { Tone::Bad } else { Tone::Plain };
    context
        .out
        .paint(tone, &format!("{what} {}", count(number)))
}

/// Returns a text about the publishers of the topic. If there are several, the text contains the
/// rate of each.
fn publishers_text(reading: &Reading) -> String {
    let lanes = reading.lanes.iter().map(|lane| {
        let publisher = participant(lane.publisher.as_ref());
        if reading.lanes.len() == 1 {
            return format!("lane {}: {publisher}", lane.lane);
        }
        let hertz = rate(per_second(lane.sent, reading.took));
        format!("lane {}: {publisher} {hertz}", lane.lane)
    });
    match lanes.collect::<Vec<_>>() {
        lanes if lanes.is_empty() => "no publisher".to_owned(),
        lanes => lanes.join(", "),
    }
}

/// Prints a summary of each topic.
fn print_summaries(context: &Context, meters: &[Meter], totals: &[Option<Reading>]) {
    for (meter, total) in meters.iter().zip(totals) {
        let Some(total) = total else { continue };
        context.print_note(format_args!(
            "{}: {} messages in {:.3} s, {}",
            meter.name(),
            count(total.sent),
            total.took.as_secs_f64(),
            rate(total.rate_hz())
        ));
    }
}

/// Returns a failure if the rate of a topic is outside the limits that `--min` and `--max` set.
fn check_rate_limits(
    arguments: &Arguments,
    meters: &[Meter],
    totals: &[Option<Reading>],
) -> Result<(), Failure> {
    let mut faults = Vec::new();
    for (meter, total) in meters.iter().zip(totals) {
        let Some(total) = total else { continue };
        let (name, hertz) = (meter.name(), total.rate_hz());
        if let Some(min) = arguments.min.filter(|min| hertz < *min) {
            faults.push(format!(
                "{name} has {}, less than {}",
                rate(hertz),
                rate(min)
            ));
        }
        if let Some(max) = arguments.max.filter(|max| hertz > *max) {
            faults.push(format!(
                "{name} has {}, more than {}",
                rate(hertz),
                rate(max)
            ));
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Failure::answer_no_because(faults.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_were_missed_are_left_out() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        // A line that is printed a little late does not move the next one.
        let late = begin + second / 10;
        assert_eq!(next_window_end(begin, second, late), begin + second);
        let stopped = begin + 60 * second;
        assert_eq!(next_window_end(begin, second, stopped), stopped + second);
    }
}
