//! Events that report which endpoints of a topic join, leave or die.

use std::collections::VecDeque;
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use horus_shm::{
    EndpointEnd, LiveEndpoint, MatchSettings, Mismatch, Participant, Segment, TopicFiles,
};

use crate::topic::endpoint_wait::{
    ENDPOINT_CHECK_PAUSE_MAX, ENDPOINT_CHECK_PAUSE_MIN, check_endpoints_readable,
};
use crate::topic::error::{EndpointError, EndpointKind};

/// An event: an endpoint of a topic has joined, left or died, or is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointEvent {
    /// The kind of the endpoint to which the event happened: publisher or subscriber.
    pub kind: EndpointKind,
    /// The change that happened to the endpoint.
    pub change: EndpointChange,
    /// The process that has the endpoint.
    pub process: Participant,
    /// The reason why an endpoint that joined exchanges no messages with the endpoint that watches
    /// it. `None` if the two match.
    pub mismatch: Option<Mismatch>,
}

/// The change of an endpoint that an [`EndpointEvent`] reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndpointChange {
    /// The endpoint was opened, or it existed before the first check.
    Joined,
    /// The endpoint was closed.
    Left,
    /// The process of the endpoint ended without closing the endpoint.
    Died,
    /// The endpoint was closed, or its process ended without closing it. Which one is no longer
    /// known, because the places of too many dead endpoints were taken over since the last check: a
    /// topic file remembers only the last eleven deaths of publishers, and the last eleven of
    /// subscribers.
    Gone,
}

impl fmt::Display for EndpointChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Joined => "joined",
            Self::Left => "left",
            Self::Died => "died",
            Self::Gone => "gone",
        })
    }
}

/// Reports the events of a topic's subscribers to one of its publishers, or the events of its
/// publishers to one of its subscribers.
///
/// Each check compares the present endpoints with those of the previous check, so the watched
/// endpoints have no cost. An endpoint that joins and leaves between two checks causes no event. An
/// endpoint that moves to another place in the topic, or to a new file of the topic, causes none
/// either.
///
/// ```
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::prelude::*;
/// use horus_core::topic::EndpointChange;
///
/// let publisher: Publisher<CmdVel> = Publisher::new("cmd_vel")?;
/// let mut events = publisher.subscriber_events();
/// assert!(events.poll()?.is_none());
/// let subscriber: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
/// assert_eq!(events.poll()?.unwrap().change, EndpointChange::Joined);
/// drop(subscriber);
/// assert_eq!(events.poll()?.unwrap().change, EndpointChange::Left);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EndpointEvents {
    files: TopicFiles,
    /// The kind of endpoints that are watched: publishers or subscribers.
    kind: EndpointKind,
    /// The match settings of the publisher or subscriber that watches the endpoints of the other
    /// kind.
    own: MatchSettings,
    known: Vec<LiveEndpoint>,
    found: VecDeque<EndpointEvent>,
}

impl EndpointEvents {
    /// Creates a watch of a topic's publishers for one of its subscribers, or of its subscribers
    /// for one of its publishers. `kind` is the kind of the watched endpoints; `own_settings`
    /// describes the endpoint for which they are watched.
    pub(super) const fn new(
        files: TopicFiles,
        kind: EndpointKind,
        own_settings: MatchSettings,
    ) -> Self {
        Self {
            files,
            kind,
            own: own_settings,
            known: Vec::new(),
            found: VecDeque::new(),
        }
    }

    /// Returns the next event, or `None` if there is none. Takes about 0.2 µs for each endpoint,
    /// and some system calls for each event.
    ///
    /// # Errors
    ///
    /// Returns [`EndpointError`] in a forked child, or if the topic's memory is lost.
    pub fn poll(&mut self) -> Result<Option<EndpointEvent>, EndpointError> {
        if self.found.is_empty() {
            self.collect_changes()?;
        }
        Ok(self.found.pop_front())
    }

    /// Waits for up to `timeout` for the next event, and returns `None` if there was none. With a
    /// `timeout` of [`Duration::MAX`], waits without a limit.
    ///
    /// Blocks: checks once, then again after pauses that grow from 1 ms to 10 ms.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<EndpointEvent>, EndpointError> {
        let deadline = Instant::now().checked_add(timeout);
        let mut pause = ENDPOINT_CHECK_PAUSE_MIN;
        loop {
            let event = self.poll()?;
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if event.is_some() || left.is_some_and(|left| left.is_zero()) {
                return Ok(event);
            }
            thread::sleep(left.map_or(pause, |left| left.min(pause)));
            pause = ENDPOINT_CHECK_PAUSE_MAX.min(pause * 2);
        }
    }

    fn collect_changes(&mut self) -> Result<(), EndpointError> {
        self.files.add_current_file();
        let now = match self.kind {
            EndpointKind::Publisher => self.files.publishers(),
            EndpointKind::Subscriber => self.files.subscribers(),
        };
        // WHY after the look: a file that was truncated is found by its loads.
        check_endpoints_readable(self.files.newest())?;
        let (joined, gone) = added_and_removed_endpoints(&now, &self.known);
        for end in &gone {
            let ended = match self.kind {
                EndpointKind::Publisher => end.file.end_of_publisher(end.id, end.deaths),
                EndpointKind::Subscriber => end.file.end_of_subscriber(end.id, end.deaths),
            };
            let change = match ended {
                EndpointEnd::Left => EndpointChange::Left,
                EndpointEnd::Died => EndpointChange::Died,
                EndpointEnd::Unknown => EndpointChange::Gone,
            };
            self.add_event(end, change, None);
        }
        for joined in joined.chunk_by(|end, next| end.file.is_same_file(&next.file)) {
            let settings = match_settings_of_endpoints(&joined[0].file, self.kind);
            for end in joined {
                let other = settings.iter().find(|(place, _)| *place == end.id.place);
                let mismatch = other.and_then(|(_, other)| match self.kind {
                    EndpointKind::Publisher => other.mismatch(&self.own),
                    EndpointKind::Subscriber => self.own.mismatch(other),
                });
                self.add_event(end, EndpointChange::Joined, mismatch);
            }
        }
        self.files.retain_files_of(&now);
        self.known = now;
        Ok(())
    }

    fn add_event(
        &mut self,
        endpoint: &LiveEndpoint,
        change: EndpointChange,
        mismatch: Option<Mismatch>,
    ) {
        self.found.push_back(EndpointEvent {
            kind: self.kind,
            change,
            process: endpoint.file.process_of(endpoint.id.owner_id),
            mismatch,
        });
    }
}

/// Returns the match settings of all publishers, or of all subscribers, of a topic file, each with
/// the index of the endpoint's lane or reader slot.
fn match_settings_of_endpoints(segment: &Segment, kind: EndpointKind) -> Vec<(u32, MatchSettings)> {
    match kind {
        EndpointKind::Publisher => {
            let offers = segment.offers().into_iter();
            offers
                .map(|(lane, offer)| (lane, offer.match_settings()))
                .collect()
        }
        EndpointKind::Subscriber => {
            let readers = segment.joined_readers().into_iter();
            readers
                .map(|reader| (reader.slot, reader.match_settings))
                .collect()
        }
    }
}

/// Returns the endpoints that are in `now` only, and those that are in `before` only. An endpoint
/// that has moved to another place or file counts as being in both.
fn added_and_removed_endpoints(
    now: &[LiveEndpoint],
    before: &[LiveEndpoint],
) -> (Vec<LiveEndpoint>, Vec<LiveEndpoint>) {
    let mut gone = before.to_vec();
    let mut joined = now.to_vec();
    joined.retain(|end| !remove_first_matching(&mut gone, |other| other == end));
    joined.retain(|end| {
        !remove_first_matching(&mut gone, |other| other.id.owner_id == end.id.owner_id)
    });
    (joined, gone)
}

/// Removes the first of `endpoints` for which `is_wanted` returns true. Returns false if none is
/// wanted.
fn remove_first_matching(
    endpoints: &mut Vec<LiveEndpoint>,
    is_wanted: impl Fn(&LiveEndpoint) -> bool,
) -> bool {
    let found = endpoints.iter().position(is_wanted);
    found.map(|at| endpoints.remove(at)).is_some()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use horus_shm::{EndpointId, Request, TypeInfo};

    use super::*;

    #[test]
    fn an_endpoint_that_moves_neither_joined_nor_left() {
        let file = || Segment::heap(&Request::new(TypeInfo::opaque::<u64>())).unwrap();
        let (old, new) = (file(), file());
        let end_in = |file: &Arc<Segment>, place, owner_id| LiveEndpoint {
            file: Arc::clone(file),
            id: EndpointId { place, owner_id },
            deaths: 0,
        };
        let end = |place, owner_id| end_in(&old, place, owner_id);
        let before = [end(0, 7), end(1, 7), end(2, 8)];
        assert_eq!(
            added_and_removed_endpoints(&before, &before),
            (vec![], vec![])
        );
        let moved = [end(1, 7), end(5, 7), end(2, 8)];
        assert_eq!(
            added_and_removed_endpoints(&moved, &before),
            (vec![], vec![])
        );
        let moved = [end(0, 7), end(2, 8), end_in(&new, 1, 7)];
        assert_eq!(
            added_and_removed_endpoints(&moved, &before),
            (vec![], vec![])
        );
        let now = [end(0, 7), end(2, 9), end(3, 9)];
        let (joined, gone) = added_and_removed_endpoints(&now, &before);
        assert_eq!(joined, [end(2, 9), end(3, 9)]);
        assert_eq!(gone, [end(1, 7), end(2, 8)]);
    }
}
