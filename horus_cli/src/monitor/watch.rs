//! A watched topic: reads its messages as an observer, for the values, plots and images of pages.

use std::time::{Duration, Instant};

use horus_core::message::timestamp_now_ns;
use horus_core::value::Value;
use serde::Serialize;

use super::broadcast::NamespaceTopics;
use super::values::{ValueLine, as_number, value_lines};
use crate::context::Context;
use crate::topic::echo::decode_message;
use crate::topic::field::FieldPath;
use crate::topic::observer::Observer;

/// Maximum time for which one call reads messages. If there are more messages then, the call skips
/// to the newest one.
const READ_TIME_MAX: Duration = Duration::from_micros(500);

/// Maximum number of points of a plot that wait to be sent. Further points are dropped.
const POINTS_MAX: usize = 1000;

/// A topic whose messages are shown or plotted on a page.
#[derive(Debug)]
pub(super) struct WatchedTopic {
    topic: String,
    observer: Option<Observer>,
    plots: Vec<Plot>,
    /// The newest message of the topic and its number; `None` before the first message.
    newest: Option<(u64, Value)>,
    has_new_message: bool,
}

/// A field of a topic's messages that a page plots, with the points that were not sent yet.
#[derive(Debug)]
struct Plot {
    field: String,
    path: FieldPath,
    points: Vec<PlotPoint>,
}

/// A point of a plot: the time in seconds since 1970, then the lowest and the highest value that
/// messages had at that time.
#[derive(Debug, Clone, Copy, Serialize)]
struct PlotPoint(f64, f64, f64);

/// The points of a plot that have not been sent to the page yet.
#[derive(Debug, Serialize)]
pub(super) struct PlotPoints<'a> {
    topic: &'a str,
    field: &'a str,
    points: Vec<PlotPoint>,
}

/// The newest message of a topic, as lines of values that are sent to a page.
#[derive(Debug, Serialize)]
pub(super) struct MessageValues<'a> {
    topic: &'a str,
    number: u64,
    lines: Vec<ValueLine>,
}

impl WatchedTopic {
    pub(super) fn new(topic: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            observer: None,
            plots: Vec::new(),
            newest: None,
            has_new_message: false,
        }
    }

    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    /// Adds the field `field` to the plotted fields. Returns an error text if its path is invalid.
    pub(super) fn plot(&mut self, field: &str) -> Result<(), String> {
        self.plots.push(Plot {
            field: field.to_owned(),
            path: FieldPath::parse(field)?,
            points: Vec::new(),
        });
        Ok(())
    }

    /// Opens the topic if it is in use now, and closes it otherwise. WHY: a topic exists as long as
    /// a process has it open, and a page that only reads must not keep it.
    pub(super) fn open_or_close(&mut self, newest: &NamespaceTopics, context: &Context) {
        let namespace = newest.namespace.as_ref();
        let namespace = namespace.filter(|_| newest.used_topics.contains(&self.topic));
        let Some(namespace) = namespace else {
            self.observer = None;
            return;
        };
        let is_open = self.observer.as_ref();
        let is_open = is_open.is_some_and(|observer| observer.reads_topic_of(namespace));
        if !is_open {
            // WHY the error is ignored: the topic may have been removed since.
            self.observer = Observer::open(context, namespace, &self.topic).ok();
        }
    }

    /// Reads new messages of the topic. Takes not much longer than [`READ_TIME_MAX`].
    pub(super) fn read(&mut self) {
        let Some(subscriber) = self.observer.as_mut().and_then(Observer::subscriber) else {
            return;
        };
        let kind = subscriber.message_type().clone();
        let begin = Instant::now();
        let time = timestamp_now_ns() as f64 / 1e9;
        let mut is_last = self.plots.is_empty();
        loop {
            let message = if is_last {
                subscriber.latest_bytes()
            } else {
                subscriber.recv_bytes()
            };
            let Some(message) = message else { return };
            if let Some(value) = decode_message(&kind, message) {
                for plot in &mut self.plots {
                    plot.add_value(time, &value);
                }
                self.newest = Some((subscriber.sequence(), value));
                self.has_new_message = true;
            }
            if is_last {
                return;
            }
            is_last = begin.elapsed() >= READ_TIME_MAX;
        }
    }

    /// Returns the newest message of the topic and its number; `None` before the first message.
    pub(super) fn newest_message(&self) -> Option<(u64, &Value)> {
        let newest = self.newest.as_ref();
        newest.map(|(number, message)| (*number, message))
    }

    /// Returns the newest message of the topic; `None` if it was already returned.
    pub(super) fn take_values(&mut self) -> Option<MessageValues<'_>> {
        if !std::mem::take(&mut self.has_new_message) {
            return None;
        }
        let (number, value) = self.newest.as_ref()?;
        Some(MessageValues {
            topic: &self.topic,
            number: *number,
            lines: value_lines(value),
        })
    }

    /// Returns the points of each plot that were added since the last call.
    pub(super) fn take_points(&mut self) -> impl Iterator<Item = PlotPoints<'_>> {
        let topic = &self.topic;
        let plots = self.plots.iter_mut();
        let plots = plots.filter(|plot| !plot.points.is_empty());
        plots.map(move |plot| PlotPoints {
            topic,
            field: &plot.field,
            points: std::mem::take(&mut plot.points),
        })
    }
}

impl Plot {
    /// Adds the value of the plotted field in the message `value` to the point for `time`, in
    /// seconds since 1970.
    fn add_value(&mut self, time: f64, value: &Value) {
        let found = self.path.get(value);
        let number = found.as_ref().and_then(as_number);
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return;
        };
        let is_full = self.points.len() >= POINTS_MAX;
        match self.points.last_mut() {
            Some(PlotPoint(at, low, high)) if *at >= time => {
                *low = low.min(number);
                *high = high.max(number);
            }
            _ if is_full => {}
            _ => self.points.push(PlotPoint(time, number, number)),
        }
    }
}
