//! Writes events of nodes into the black box, the scheduler's topic of events. Any thread can do
//! so.

use std::sync::{Arc, Mutex, PoisonError};

use crate::message::NodeEvent;
use crate::topic::Publisher;

/// One ring buffer (lane) of the black box, which keeps the last events of a scheduler. Threads
/// share lanes if there are more threads than lanes.
pub(crate) type BlackBoxLane = Arc<Mutex<Publisher<NodeEvent>>>;

/// Writes events into one lane (ring buffer) of the black box, the scheduler's topic of events.
#[derive(Debug, Clone)]
pub(crate) struct EventRecorder {
    lane: BlackBoxLane,
    process_id: u32,
}

impl EventRecorder {
    pub(crate) fn new(lane: &BlackBoxLane) -> Self {
        // WHY the id is stored: asking for it is a system call.
        Self {
            lane: Arc::clone(lane),
            process_id: std::process::id(),
        }
    }

    /// Writes `event`, together with the id of this process. When this returns, the event is in
    /// shared memory and is kept even if the process dies.
    ///
    /// Allocates no memory. Makes a system call only if another thread writes to the same lane at
    /// the same time, or if a reader sleeps until an event arrives.
    pub(crate) fn record(&self, mut event: NodeEvent) {
        event.process_id = self.process_id;
        // A panic cannot leave a publisher half-changed, so a poisoned lock is no problem.
        let mut lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner);
        // WHY errors are ignored: `send` fails only in a forked child, whose events do not belong
        // here, and if the file was truncated. The black box itself would be the place to report
        // that.
        let _ = lane.send(&event);
    }
}
