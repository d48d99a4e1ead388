//! How a scheduler is seen and commanded from other processes: its topics, from its side.
//!
//! All are ordinary topics, of a scheduler called `arm` in its namespace:
//!
//! | topic | message | what is kept |
//! |---|---|---|
//! | `horus/schedulers/arm/status` | `SchedulerStatus`, all nodes at one moment | the last |
//! | `horus/schedulers/arm/events` | `NodeEvent`, the black box | 224 of each lane |
//! | `horus/schedulers/arm/commands` | `NodeCommand` | nothing: void while nobody listens |
//! | `emergency_stop` | `EmergencyStop`, for all schedulers | the last |
//!
//! Whoever publishes the status has the name; the kernel knows whether it lives. The next scheduler
//! of that name in turn finds the black box of one that died, and writes behind what is there: old
//! events go when new ones need their place, lane by lane.

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

/// So many schedulers of one name can live at a time.
const NUMBERS_MAX: u32 = 1000;

/// The topics of a scheduler that runs.
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
    /// Takes a name and opens its topics: the wanted one, with `-2`, `-3`, … behind it while a
    /// scheduler lives that has it. What a name may be is said at [`SchedulerTopics::new`].
    ///
    /// There will be room for `nodes` in a status, and a lane of the black box for each of
    /// `threads`, up to 64. A lane costs 64 KiB. Blocks for some milliseconds at most.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: no memory, no rights, no name left.
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

    /// `None` if the name is taken.
    fn open_at(
        place: &SchedulerTopics,
        nodes: usize,
        threads: usize,
    ) -> Result<Option<Self>, TopicError> {
        // WHY first: commands that are sent as soon as the scheduler lives are not void.
        let commands = place.open(COMMANDS, || place.commands().subscriber())?;
        let status = place.open(STATUS, || place.status(nodes).publisher())?;
        let (Some(commands), Some(status)) = (commands, status) else { return Ok(None) };
        let Some(first) = place.open(EVENTS, || place.events().publisher())? else {
            return Ok(None);
        };
        let lanes = claim_lanes(first, threads)?;
        let mut events = place.events().subscriber()?;
        // WHY: what is there is of those who had the name before, for nothing was sent yet.
        let _passed_over = events.try_iter().take(BOX_EVENTS_MAX).count();
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

    /// The name that it got.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What thread `thread` writes events with: a lane of its own, while there are no more threads
    /// than lanes.
    pub(crate) fn recorder(&self, thread: usize) -> Recorder {
        Recorder::new(&self.lanes[thread % self.lanes.len()])
    }

    /// Publishes how everything is: `state` is one of `SchedulerStatusHeader`. Nodes beyond those
    /// that there is room for are left out. Never blocks, and allocates nothing.
    ///
    /// # Errors
    ///
    /// [`SendError::Forked`], [`SendError::RegionLost`]; [`SendError::Full`] while others hold all
    /// of the last ones.
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

    /// Its own black box, from the first event of this run on.
    pub(crate) const fn events(&mut self) -> &mut Subscriber<NodeEvent> {
        &mut self.events
    }

    /// What it is told.
    pub(crate) const fn commands(&mut self) -> &mut Subscriber<NodeCommand> {
        &mut self.commands
    }

    /// Emergency stops, the last one before the start included.
    pub(crate) const fn emergency_stop(&mut self) -> &mut Subscriber<EmergencyStop> {
        &mut self.emergency_stop
    }
}

/// A lane for each thread, as far as there are any.
fn claim_lanes(first: Publisher<NodeEvent>, threads: usize) -> Result<Vec<Lane>, TopicError> {
    let mut lanes = vec![first];
    while lanes.len() < threads.min(LANES) {
        match lanes[0].try_clone() {
            Ok(lane) => lanes.push(lane),
            // WHY: threads of an earlier run in this process, which hang, may still have theirs.
            Err(error) => match error.as_open_error() {
                Some(OpenError::TooManyPublishers { .. }) => break,
                _ => return Err(error),
            },
        }
    }
    // WHY: an event is not to cost a thread that has to be in time the fault of a page.
    lanes.iter().for_each(Publisher::touch);
    Ok(lanes.into_iter().map(|lane| Arc::new(Mutex::new(lane))).collect())
}
