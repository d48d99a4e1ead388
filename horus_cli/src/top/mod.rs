//! The command `horus top`: shows programs, topics, nodes and events, and updates them
//! continuously.
//!
//! [`crate::sample`] reads the namespace. `state` stores the shown data and reacts to keys, `view`
//! draws the data, and `screen` connects both with a terminal.

mod history;
mod screen;
mod state;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::{parse_number, parse_positive_seconds};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::{count, hours_minutes_seconds};
use crate::sample::{self, Sample, Sampler};

/// Time between two samples on a screen. If samples are printed instead, [`BATCH_PERIOD`] is used.
const SCREEN_PERIOD: Duration = Duration::from_millis(250);
const BATCH_PERIOD: Duration = Duration::from_secs(1);

/// Minimum time between two samples. A shorter `--interval` is increased to it.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);

/// Show programs, topics, nodes and events live
///
/// Disturbs no program: it reads what the participants count anyway. The key ?
/// lists the keys. With --json or -n, or if stdout is not a terminal, it prints
/// what it sees once per interval, until Ctrl-C.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Seconds between two samples [default: 0.25, and 1 if they are printed]
    #[arg(short, long, value_name = "S", value_parser = parse_positive_seconds)]
    interval: Option<Duration>,
    /// Print N samples one after the other, and end, also on a terminal
    #[arg(short = 'n', value_name = "N", value_parser = parse_number::<u64>)]
    number: Option<u64>,
    /// Also show the library's own topics, horus/…
    #[arg(short, long)]
    all: bool,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    context.stop.catch_next_signal();
    let has_number = arguments.number.is_some();
    let is_batch = context.is_json() || has_number || !context.out.is_terminal();
    let default = if is_batch {
        BATCH_PERIOD
    } else {
        SCREEN_PERIOD
    };
    let period = arguments.interval.unwrap_or(default).max(SHORTEST_PERIOD);
    if is_batch {
        return print_samples(arguments, period, context);
    }
    // WHY at least a second: a slow topic sends less than one message in a shorter time.
    let window = period.max(Duration::from_secs(1));
    let sampler = Sampler::new(arguments.all, window);
    screen::run(sampler, period, context)
}

/// Prints a sample at the end of each period, as text or JSON without a screen.
fn print_samples(
    arguments: &Arguments,
    period: Duration,
    context: &mut Context,
) -> Result<(), Failure> {
    let mut sampler = Sampler::new(arguments.all, period);
    let deadline = context.deadline();
    let mut due = Instant::now();
    let mut events = sampler.take_sample(context)?.events;
    let mut printed = 0;
    while arguments.number.is_none_or(|number| printed < number) && !deadline.is_over() {
        due += period;
        if due < Instant::now() {
            // WHY: after a stop of this process, all missed samples would come at once.
            due = Instant::now() + period;
        }
        if !context.stop.sleep_until(deadline.or_earlier(due)) {
            return match arguments.number {
                Some(_) => Err(Failure::interrupted()),
                None => Ok(()),
            };
        }
        let mut sample = sampler.take_sample(context)?;
        events.append(&mut sample.events);
        sample.events = std::mem::take(&mut events);
        print_sample(&sample, context)?;
        context.out.flush()?;
        printed += 1;
    }
    match arguments.number {
        Some(number) if printed < number => Err(Failure::timeout(format_args!(
            "{printed} of {number} samples"
        ))),
        _ => Ok(()),
    }
}

fn print_sample(sample: &Sample, context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.write_json(sample);
    }
    context.out.write_line(totals_line(sample))?;
    if !sample.programs.is_empty() {
        let programs = tables::program_table(&sample.programs, sample.timestamp_ns);
        context.out.write_table(&programs)?;
    }
    context
        .out
        .write_table(&tables::node_table(&sample.nodes))?;
    context
        .out
        .write_table(&tables::topic_table(&sample.topics, None))?;
    for event in &sample.events {
        context.out.write_line(tables::event_line(event))?;
    }
    context.out.write_line("")
}

/// Returns the first line of the output, which contains the totals of a sample.
fn totals_line(sample: &Sample) -> String {
    let sum = |value: fn(&sample::Topic) -> f64| {
        let sum: f64 = sample.topics.iter().map(value).sum();
        count(sum.ceil() as u64)
    };
    let day = Duration::from_secs(sample.timestamp_ns / 1_000_000_000 % 86_400);
    format!(
        "{}: {} processes  {} schedulers  {} topics  lost/s {}  refused/s {}  {} UTC",
        sample.namespace,
        sample.processes.len(),
        sample.live_schedulers,
        sample.topics.len(),
        sum(|topic| topic.lost_per_second),
        sum(|topic| topic.refused_per_second),
        hours_minutes_seconds(day),
    )
}
