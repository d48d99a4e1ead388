//! Sends server-sent events to a page until the page is closed.
//!
//! No samples are queued: a page that reads slowly gets only the newest sample, and the number of
//! samples that it has missed.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::http::{Request, Response, is_timeout, to_json, write_bytes, write_event_stream_head};
use super::server::RequestContext;
use super::watch::WatchedTopic;

/// Time between two checks for messages and samples that have to be sent to the page.
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// Time between two events that contain points of plots. It is also the time between two events
/// that contain the values of a message.
const POINTS_EVENT_PERIOD: Duration = Duration::from_millis(100);
const VALUES_EVENT_PERIOD: Duration = Duration::from_millis(200);

/// Maximum number of plots on a page. A request for more gets an error.
const PLOTS_MAX: usize = 16;

/// The topics whose messages a page has requested, in addition to the samples.
#[derive(Debug)]
pub(super) struct RequestedTopics {
    /// The topic whose newest message the page shows; `None` if it shows none.
    values: Option<WatchedTopic>,
    /// The topics that have fields which the page plots. Each topic is listed once.
    plots: Vec<WatchedTopic>,
}

#[derive(Debug, Serialize)]
struct SkippedSamples {
    skipped: u64,
}

impl RequestedTopics {
    /// Parses the query of a request, which has the form `values=TOPIC&plot=TOPIC:FIELD&plot=…`.
    /// Returns the error response if it is invalid.
    pub(super) fn parse(request: &Request) -> Result<Self, Response> {
        let mut wanted = Self {
            values: request.parameters("values").next().map(WatchedTopic::new),
            plots: Vec::new(),
        };
        for (index, plot) in request.parameters("plot").enumerate() {
            if index >= PLOTS_MAX {
                let text = format!("there are more than {PLOTS_MAX} plots");
                return Err(Response::error(400, &text));
            }
            let parts = plot.split_once(':');
            let parts = parts.ok_or_else(|| format!("'{plot}' is not TOPIC:FIELD"));
            let added = parts.and_then(|(topic, field)| wanted.plotted_topic(topic).plot(field));
            added.map_err(|text| Response::error(400, &text))?;
        }
        Ok(wanted)
    }

    /// Returns the plotted topic with the name `topic`. Adds it if it is not plotted yet.
    fn plotted_topic(&mut self, topic: &str) -> &mut WatchedTopic {
        let known = self.plots.iter().position(|watch| watch.topic() == topic);
        let index = known.unwrap_or(self.plots.len());
        if known.is_none() {
            self.plots.push(WatchedTopic::new(topic));
        }
        &mut self.plots[index]
    }
}

/// Sends events to the client until it closes the connection, or a signal is received.
pub(super) fn send_events(
    connection: &mut TcpStream,
    wanted: RequestedTopics,
    request_context: RequestContext<'_>,
) -> io::Result<()> {
    write_event_stream_head(connection)?;
    let mut page = PageStream {
        wanted,
        version: 0,
        event: 0,
        next_points: Instant::now(),
        next_values: Instant::now(),
    };
    while !request_context.context.stop.is_received()
        && wait_and_check_is_open(POLL_PERIOD, connection)?
    {
        let events = page.take_due_events(request_context);
        if !events.is_empty() {
            write_bytes(connection, &events)?;
        }
    }
    Ok(())
}

/// Waits for the duration `time`, and returns true if the client is still connected. WHY not a
/// plain sleep: if the page is closed during the wait, the wait ends at once, so that another page
/// can be opened.
fn wait_and_check_is_open(time: Duration, connection: &TcpStream) -> io::Result<bool> {
    connection.set_read_timeout(Some(time))?;
    match connection.peek(&mut [0]) {
        // Neither the end nor a second request is expected.
        Ok(_) => Ok(false),
        Err(error) if is_timeout(&error) => Ok(true),
        Err(error) => Err(error),
    }
}

/// An open page, and the numbers of the last sample and the last event that were sent to it.
struct PageStream {
    wanted: RequestedTopics,
    version: u64,
    event: u64,
    next_points: Instant,
    next_values: Instant,
}

impl PageStream {
    /// Returns the server-sent events that are due now, as bytes to write to the connection.
    fn take_due_events(&mut self, request_context: RequestContext<'_>) -> Vec<u8> {
        let mut events = Vec::new();
        self.append_new_sample(request_context, &mut events);
        for watch in &mut self.wanted.plots {
            watch.read();
        }
        let now = Instant::now();
        if now >= self.next_points {
            self.next_points = now + POINTS_EVENT_PERIOD;
            let watches = self.wanted.plots.iter_mut();
            let points: Vec<_> = watches.flat_map(WatchedTopic::take_points).collect();
            if !points.is_empty() {
                append_event(&mut events, "points", &to_json(points));
            }
        }
        if let Some(watch) = &mut self.wanted.values
            && now >= self.next_values
        {
            self.next_values = now + VALUES_EVENT_PERIOD;
            watch.read();
            if let Some(values) = watch.take_values() {
                append_event(&mut events, "values", &to_json(values));
            }
        }
        events
    }

    /// Adds the newest sample and the newest events if they have not been sent yet. Then opens the
    /// watched topics that are in use now, and closes the others.
    fn append_new_sample(&mut self, request_context: RequestContext<'_>, events: &mut Vec<u8>) {
        let newest = request_context.broadcast.lock_newest_sample();
        if newest.version == self.version {
            return;
        }
        let skipped = newest.version.saturating_sub(self.version + 1);
        if self.version > 0 && skipped > 0 {
            append_event(events, "skipped", &to_json(SkippedSamples { skipped }));
        }
        self.version = newest.version;
        append_event(events, "state", &newest.state);
        if let Some((new, last)) = newest.events_after(self.event) {
            self.event = last;
            append_event(events, "events", &new);
        }
        let known = Arc::clone(&newest.known);
        drop(newest);
        let watches = self.wanted.plots.iter_mut().chain(&mut self.wanted.values);
        for watch in watches {
            watch.open_or_close(&known, request_context.context);
        }
    }
}

/// Appends a server-sent event with the name `name` and the data `json` to `text`. WHY no escapes:
/// the JSON contains no line ends.
fn append_event(text: &mut Vec<u8>, name: &str, json: &[u8]) {
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\ndata: ");
    text.extend_from_slice(json);
    text.extend_from_slice(b"\n\n");
}
