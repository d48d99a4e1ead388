//! The command `horus topic bw`: measures how many bytes per second a topic carries.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use horus_core::introspect::Inspector;
use horus_core::namespace::Namespace;
use horus_core::topic::DynamicSubscriber;
use serde::Serialize;

use super::hz::MeasurementSpan;
use super::meter::{Meter, Reading};
use super::observer::READ_TIME_MAX;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::count;

/// Time between two reads of the lengths of new messages. It is used if messages have different
/// lengths.
const POLL_PERIOD: Duration = Duration::from_millis(1);

/// Measure the bytes of messages per second
///
/// Counts messages as `hz` does. If messages have different lengths, it also
/// observes the topic and reads the length of each message, but not its
/// content. It never counts as a subscriber.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    span: MeasurementSpan,
}

/// The way to find the lengths of a topic's messages.
#[derive(Debug)]
enum MessageLengths {
    /// All messages of a publisher have the same length.
    Fixed,
    /// The messages have different lengths. An observer reads the lengths; it is `None` while the
    /// topic does not exist.
    MessageLengthTotals(Option<Box<DynamicSubscriber>>, MessageLengthTotals),
}

/// The lengths in bytes of the messages that were read in one window.
#[derive(Debug, Clone, Copy, Default)]
struct MessageLengthTotals {
    messages: u64,
    bytes: u64,
    min: u64,
    max: u64,
}

#[derive(Debug, Serialize)]
struct Bandwidth<'a> {
    topic: &'a str,
    bytes_per_second: f64,
    messages: u64,
    /// Number of messages whose length was read.
    measured: u64,
    mean_bytes: f64,
    min_bytes: u64,
    max_bytes: u64,
    window_ns: u64,
}

impl MessageLengths {
    fn of(namespace: &Arc<Namespace>, meter: &Meter) -> Self {
        let mut lengths = Self::Fixed;
        lengths.open_or_close(namespace, meter);
        lengths
    }

    /// Closes the observer if `meter` has closed the topic, and opens it if `meter` has opened the
    /// topic again and messages have different lengths.
    fn open_or_close(&mut self, namespace: &Arc<Namespace>, meter: &Meter) {
        if let Some(topic) = meter.inspector() {
            // WHY each time: a publisher of another type may have started.
            let mut offers = topic.offers().into_iter();
            let is_variable = offers.any(|(_, offer)| offer.type_info.sized);
            match (is_variable || topic.has_variable_size(), &self) {
                (true, Self::Fixed) => *self = Self::MessageLengthTotals(None, Default::default()),
                (false, Self::MessageLengthTotals(..)) => *self = Self::Fixed,
                _ => {}
            }
        }
        let Self::MessageLengthTotals(observer, _) = self else {
            return;
        };
        if meter.inspector().is_none() {
            *observer = None;
        } else if observer.is_none() {
            let opened = DynamicSubscriber::observe(namespace, meter.name());
            *observer = opened.ok().map(Box::new);
        }
    }

    /// Records the lengths of the messages that have arrived since the last call. Takes not much
    /// longer than [`READ_TIME_MAX`], even if messages come faster than they are read.
    fn read_lengths(&mut self) {
        let Self::MessageLengthTotals(Some(observer), seen) = self else {
            return;
        };
        let begin = Instant::now();
        while let Some(bytes) = observer.recv_length() {
            seen.add(1, bytes as u64);
            if begin.elapsed() >= READ_TIME_MAX {
                return;
            }
        }
    }

    /// Returns the lengths of the messages in the window that has ended, and begins a new window.
    /// `reading` has the number of messages.
    fn take_window(&mut self, reading: &Reading, meter: &Meter) -> MessageLengthTotals {
        match self {
            Self::Fixed => MessageLengthTotals::from_offers(reading, meter),
            Self::MessageLengthTotals(_, seen) => std::mem::take(seen),
        }
    }

    const fn has_observer(&self) -> bool {
        matches!(self, Self::MessageLengthTotals(..))
    }
}

impl MessageLengthTotals {
    /// Returns the lengths of the messages in `reading`, those of each publisher by its offer.
    /// Leaves out publishers whose messages have different lengths, as the offer has only their
    /// maximum. WHY now, and for each: a publisher may start with another version of the message.
    fn from_offers(reading: &Reading, meter: &Meter) -> Self {
        let offers = meter.inspector().map(Inspector::offers).unwrap_or_default();
        let mut lengths = Self::default();
        for (lane, offer) in offers.iter().filter(|(_, offer)| !offer.type_info.sized) {
            if let Some(read) = reading.lanes.iter().find(|read| read.lane == *lane) {
                lengths.add(read.sent, offer.type_info.bytes);
            }
        }
        lengths
    }

    /// Adds `messages` messages of `bytes` bytes each.
    fn add(&mut self, messages: u64, bytes: u64) {
        if self.messages == 0 {
            // If there is no message at all, this is the length that a message would have.
            (self.min, self.max) = (bytes, bytes);
        } else if messages > 0 {
            self.min = self.min.min(bytes);
            self.max = self.max.max(bytes);
        }
        self.messages += messages;
        self.bytes += messages * bytes;
    }

    fn mean(self) -> f64 {
        match self.messages {
            0 => 0.0,
            messages => self.bytes as f64 / messages as f64,
        }
    }
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let mut meters = arguments.span.open(context)?;
    let lengths = meters
        .iter_mut()
        .map(|(meter, home)| MessageLengths::of(home, meter));
    // WHY: both closures below need the lengths, and neither runs inside the other.
    let lengths = RefCell::new(lengths.collect::<Vec<_>>());
    let wait = |context: &Context, due: Instant| {
        let observes = lengths.borrow().iter().any(MessageLengths::has_observer);
        while observes && !context.stop.is_received() && Instant::now() < due {
            lengths
                .borrow_mut()
                .iter_mut()
                .for_each(MessageLengths::read_lengths);
            thread::sleep(POLL_PERIOD);
        }
        context.stop.sleep_until(due)
    };
    let mut homes: Vec<_> = meters.iter_mut().map(|(_, home)| home.clone()).collect();
    let meters = RefCell::new(meters);
    arguments
        .span
        .call_after_each_window(&meters, context, wait, |context| {
            let (mut meters, mut lengths) = (meters.borrow_mut(), lengths.borrow_mut());
            let known = lengths.iter_mut().zip(&mut homes);
            for ((meter, home), (lengths, known_home)) in meters.iter_mut().zip(known) {
                if !Arc::ptr_eq(home, known_home) {
                    // The meter has moved to a new namespace.
                    *lengths = MessageLengths::of(home, meter);
                    known_home.clone_from(home);
                }
                lengths.read_lengths();
                let reading = meter.read();
                let seen = lengths.take_window(&reading, meter);
                meter.close_if_unused();
                lengths.open_or_close(home, meter);
                print_bandwidth(meter.name(), &reading, seen, context)?;
            }
            Ok(())
        })
}

fn print_bandwidth(
    topic: &str,
    reading: &Reading,
    seen: MessageLengthTotals,
    context: &mut Context,
) -> Result<(), Failure> {
    // WHY the mean times the rate: the counters see all messages, an observer only those that it
    // was fast enough to read.
    let bytes_per_second = reading.rate_hz() * seen.mean();
    if context.is_json() {
        return context.out.write_json(Bandwidth {
            topic,
            bytes_per_second,
            messages: reading.sent,
            measured: seen.messages,
            mean_bytes: seen.mean(),
            min_bytes: seen.min,
            max_bytes: seen.max,
            window_ns: reading.took.as_nanos() as u64,
        });
    }
    let (messages, seconds) = (count(reading.sent), reading.took.as_secs_f64());
    let lengths = if seen.min == seen.max {
        format!("{} bytes", count(seen.max))
    } else {
        format!("{} to {} bytes", count(seen.min), count(seen.max))
    };
    let measured = match seen.messages {
        measured if measured == reading.sent => String::new(),
        measured => format!("; {} of them measured", count(measured)),
    };
    context.out.write_line(format_args!(
        "{topic}  {}/s  ({messages} messages of {lengths} in {seconds:.3} s{measured})",
        decimal_bytes(bytes_per_second)
    ))
}

/// Returns a number of bytes as text in a decimal unit, such as `27.6 MB`. Rates of data usually
/// have decimal units.
pub(crate) fn decimal_bytes(bytes: f64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match units.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes / size),
        None => format!("{bytes:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_lengths_is_that_of_the_messages() {
        let range = |pairs: &[(u64, u64)]| {
            let mut lengths = MessageLengthTotals::default();
            for (messages, bytes) in pairs {
                lengths.add(*messages, *bytes);
            }
            (lengths.min, lengths.max)
        };
        assert_eq!(range(&[(1, 0), (1, 5)]), (0, 5));
        // A publisher that has sent nothing.
        assert_eq!(range(&[(0, 64), (10, 6000), (0, 7000)]), (6000, 6000));
        assert_eq!(range(&[(0, 64)]), (64, 64));
    }
}
