//! Waits until a topic has a given number of publishers or subscribers.

use std::thread;
use std::time::{Duration, Instant};

use horus_shm::{Segment, TopicFiles};

use crate::topic::error::{EndpointError, EndpointKind, EndpointWaitError};

/// The pause after a wait has counted the endpoints for the first time. Each further pause is twice
/// as long as the one before, up to [`ENDPOINT_CHECK_PAUSE_MAX`].
pub(super) const ENDPOINT_CHECK_PAUSE_MIN: Duration = Duration::from_millis(1);

/// The longest pause before a wait counts the endpoints again.
pub(super) const ENDPOINT_CHECK_PAUSE_MAX: Duration = Duration::from_millis(10);

/// The kind and number of endpoints for which a call waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedEndpoints {
    pub(super) kind: EndpointKind,
    pub(super) count: usize,
    /// Number of endpoints of the wanted kind that belong to the caller's handle and do not count.
    pub(super) own: usize,
}

impl WantedEndpoints {
    /// Describes a wait until a topic has `count` subscribers.
    pub(super) const fn subscribers(count: usize) -> Self {
        let kind = EndpointKind::Subscriber;
        let own = 0;
        Self { kind, count, own }
    }

    /// Describes a wait until a topic has `count` publishers.
    pub(super) const fn publishers(count: usize) -> Self {
        let kind = EndpointKind::Publisher;
        let own = 0;
        Self { kind, count, own }
    }

    /// Makes the wait ignore one endpoint of the wanted kind, because it belongs to the caller's
    /// handle.
    pub(super) const fn excluding_own(mut self) -> Self {
        self.own = 1;
        self
    }

    /// Waits until the topic has at least `self.count` endpoints of the kind `self.kind`, without
    /// those of the caller's handle. Returns how many it has. Counts them at least once, even if
    /// `timeout` is 0, and sleeps between two counts. `files` are the files of the topic that the
    /// caller's handle uses.
    pub(super) fn wait(
        self,
        mut files: TopicFiles,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        let deadline = Instant::now().checked_add(timeout);
        let mut pause = ENDPOINT_CHECK_PAUSE_MIN;
        loop {
            let found = self.count_endpoints(&files)?;
            if found >= self.count {
                return Ok(found);
            }
            let segment = files.newest();
            self.check_count_possible(segment)?;
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(EndpointWaitError::Timeout {
                    topic: segment.label(),
                    kind: self.kind,
                    found,
                    wanted: self.count,
                });
            }
            thread::sleep(left.map_or(pause, |left| left.min(pause)));
            pause = ENDPOINT_CHECK_PAUSE_MAX.min(pause * 2);
            files.add_current_file();
        }
    }

    fn count_endpoints(self, files: &TopicFiles) -> Result<usize, EndpointError> {
        let found = match self.kind {
            EndpointKind::Publisher => files.publisher_count(),
            EndpointKind::Subscriber => files.subscriber_count(),
        };
        // WHY after the count: a file that was truncated is found by the loads of the count.
        check_endpoints_readable(files.newest())?;
        Ok(found.saturating_sub(self.own))
    }

    /// Returns an error if the topic cannot have as many endpoints as are wanted.
    fn check_count_possible(self, segment: &Segment) -> Result<(), EndpointWaitError> {
        let limit = match self.kind {
            EndpointKind::Publisher => segment.shape().lane_limit(),
            EndpointKind::Subscriber => segment.shape().reader_limit(),
        };
        let limit = limit as usize - self.own;
        if self.count <= limit {
            return Ok(());
        }
        Err(EndpointWaitError::TooMany {
            topic: segment.label(),
            kind: self.kind,
            wanted: self.count,
            limit,
        })
    }
}

/// Returns an error in a forked child, or if the segment's memory is lost: the segment then no
/// longer shows the topic's endpoints.
pub(super) fn check_endpoints_readable(segment: &Segment) -> Result<(), EndpointError> {
    let topic = segment.label();
    if segment.is_forked() {
        return Err(EndpointError::Forked { topic });
    }
    if segment.is_memory_lost() {
        return Err(EndpointError::RegionLost { topic });
    }
    Ok(())
}
