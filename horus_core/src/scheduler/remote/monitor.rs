//! The topics of a running scheduler, through which other processes see and command it.
//!
//! All are ordinary topics, of a scheduler called `arm` in its namespace:
//!
//! | topic | message | what is kept |
//! |---|---|---|
//! | `horus/schedulers/arm/status` | `SchedulerStatus`, all nodes at one moment | the last |
//! | `horus/schedulers/arm/events` | `NodeEvent`, the black box | 224 of each lane |
//! | `horus/schedulers/arm/commands` | `NodeCommand` | nothing: lost while no scheduler runs |
//! | `emergency_stop` | `EmergencyStop`, for all schedulers | the last |
//!
//! The publisher of the status has the name; the kernel knows if it lives. The next scheduler of
//! that name reuses the black box of one that died, and appends to it: old events are overwritten
//! when new ones need their slots, lane by lane.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use horus_shm::clock::Clock;
use horus_shm::{Namespace, OpenError};

use crate::message::{
    EmergencyStop, NODE_METRICS_BUCKETS, NodeCommand, NodeEvent, NodeMetrics, SchedulerStatus,
    SchedulerStatusHeader, ViewError,
};
use crate::scheduler::api::metrics::HISTOGRAM_BUCKETS;
use crate::scheduler::remote::recorder::{Lane, Recorder};
use crate::scheduler::remote::topic_path::{
    self, BOX_EVENTS_MAX, COMMANDS, EVENTS, LANES, STATUS, SchedulerTopics,
};
use crate::topic::error::{SendError, TopicError, WriteError};
use crate::topic::{Publisher, Subscriber};

const _: () = assert!(HISTOGRAM_BUCKETS == NODE_METRICS_BUCKETS);

/// The most schedulers of one name that can live at a time.
const NUMBERS_MAX: u32 = 1000;

/// The topics of a running scheduler.
#[derive(Debug)]
pub(crate) struct Monitor {
    name: String,
    process_id: u32,
    begin_ns: u64,
    nodes_max: usize,
    status: Publisher<SchedulerStatus>,
    lanes: Vec<Lane>,
    events: Subscriber<NodeEvent>,
    commands: Subscriber<NodeCommand>,
    emergency_stop: Subscriber<EmergencyStop>,
}

impl Monitor {
    /// Takes a name and opens its topics. While a scheduler lives that has the wanted name, `-2`,
    /// `-3`, … is appended. [`SchedulerTopics::new`] describes the allowed names.
    ///
    /// The status has room for `nodes`, and the black box has a lane for each of `threads`, up to
    /// 64. A lane costs 64 KiB. Blocks for some milliseconds at most.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`]: no memory, no rights, no free name.
    pub(crate) fn open(
        namespace: &Arc<Namespace>,
        wanted_name: &str,
        nodes: usize,
        threads: usize,
    ) -> Result<Self, TopicError> {
        let wanted = SchedulerTopics::new(namespace, wanted_name);
        for number in 1..=NUMBERS_MAX {
            if let Some(monitor) = Self::open_at(&wanted.numbered(number), nodes, threads)? {
                return Ok(monitor);
            }
        }
        let error = OpenError::TooManyPublishers { limit: NUMBERS_MAX };
        Err(TopicError::new(&wanted.topic(STATUS), error))
    }

    /// Opens the topics of one name; `None` if the name is taken.
    fn open_at(
        place: &SchedulerTopics,
        nodes: usize,
        threads: usize,
    ) -> Result<Option<Self>, TopicError> {
        // WHY first: commands that are sent as soon as the scheduler lives must not be lost.
        let commands = place.open(COMMANDS, || place.commands().subscriber())?;
        let status = place.open(STATUS, || place.status(nodes).publisher())?;
        let (Some(commands), Some(status)) = (commands, status) else { return Ok(None) };
        let Some(first) = place.open(EVENTS, || place.events().publisher())? else {
            return Ok(None);
        };
        let lanes = claim_lanes(first, threads)?;
        let mut events = place.events().subscriber()?;
        // WHY: nothing was sent yet, so these events are of earlier schedulers of the name.
        let _earlier = events.try_iter().take(BOX_EVENTS_MAX).count();
        Ok(Some(Self {
            name: place.name().to_owned(),
            process_id: std::process::id(),
            begin_ns: Clock::kernel().now_ns(),
            nodes_max: nodes,
            status,
            lanes,
            events,
            commands,
            emergency_stop: topic_path::emergency_stop(place.namespace(), |topic| {
                topic.subscriber()
            })?,
        }))
    }

    /// Returns the name that it got.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the recorder of events for thread `thread`: each has a lane of its own, while there
    /// are no more threads than lanes.
    pub(crate) fn recorder(&self, thread: usize) -> Recorder {
        Recorder::new(&self.lanes[thread % self.lanes.len()])
    }

    /// Publishes the status: `state` is one of `SchedulerStatusHeader`. Nodes for which there is no
    /// room are left out. Never blocks, and allocates nothing.
    ///
    /// # Errors
    ///
    /// Returns [`SendError::Forked`], [`SendError::RegionLost`], or [`SendError::Full`] while
    /// subscribers hold all of the last statuses.
    pub(crate) fn publish(
        &mut self,
        state: u8,
        monotonic_ns: u64,
        nodes: impl Iterator<Item = NodeMetrics>,
    ) -> Result<(), SendError<()>> {
        let header = SchedulerStatusHeader {
            monotonic_ns,
            uptime_ns: monotonic_ns.saturating_sub(self.begin_ns),
            process_id: self.process_id,
            state,
            ..SchedulerStatusHeader::new(&self.name, self.nodes_max as u32)
        };
        let mut loan = self.status.loan(header)?;
        let topic = loan.label();
        let refused = |error: ViewError| {
            WriteError::Unencodable { reason: error.to_string() }.refuses(topic, 0)
        };
        let mut count = 0;
        for (place, node) in loan.data_as_mut().map_err(refused)?.iter_mut().zip(nodes) {
            *place = node;
            count += 1;
        }
        loan.header_mut().count = count;
        loan.publish()
    }

    /// Returns its own black box, from the first event of this run on.
    pub(crate) const fn events(&mut self) -> &mut Subscriber<NodeEvent> {
        &mut self.events
    }

    /// Returns the commands to it.
    pub(crate) const fn commands(&mut self) -> &mut Subscriber<NodeCommand> {
        &mut self.commands
    }

    /// Returns the emergency stops, including the last one before the start.
    pub(crate) const fn emergency_stop(&mut self) -> &mut Subscriber<EmergencyStop> {
        &mut self.emergency_stop
    }
}

/// Claims a lane for each thread, as far as there are free ones.
fn claim_lanes(first: Publisher<NodeEvent>, threads: usize) -> Result<Vec<Lane>, TopicError> {
    let mut lanes = vec![first];
    while lanes.len() < threads.min(LANES) {
        match lanes[0].try_clone() {
            Ok(lane) => lanes.push(lane),
            // WHY: hanging threads of an earlier run in this process may still have theirs.
            Err(error) => match error.as_open_error() {
                Some(OpenError::TooManyPublishers { .. }) => break,
                _ => return Err(error),
            },
        }
    }
    // WHY: recording an event must not cost a real-time thread a page fault.
    lanes.iter().for_each(Publisher::touch);
    Ok(lanes.into_iter().map(|lane| Arc::new(Mutex::new(lane))).collect())
}
