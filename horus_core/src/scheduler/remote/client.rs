//! Access to the schedulers of other processes: reads their state and the state of their nodes, and
//! sends them commands.
//!
//! ```
//! # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
//! # let dir = dir.path().join("horus");
//! use std::time::Duration;
//!
//! use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceName};
//! use horus_core::scheduler::{RemoteError, RemoteScheduler, black_box, schedulers};
//!
//! let config = NamespaceConfig::new(dir, NamespaceName::new("robot")?);
//! let namespace = Namespace::open(&config)?;
//! for scheduler in schedulers(&namespace)? {
//!     println!("{} lives: {}", scheduler.name, scheduler.is_alive);
//!     for node in &scheduler.nodes {
//!         println!("  {node}");
//!     }
//!     for event in black_box(&namespace, &scheduler.name)? {
//!         println!("  {:?} {event}", Duration::from_nanos(event.monotonic_ns));
//!     }
//! }
//! match RemoteScheduler::open(&namespace, "arm") {
//!     Ok(mut arm) => arm.pause("controller")?,
//!     Err(RemoteError::NotRunning { .. }) => println!("no scheduler to pause"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;
use std::time::Duration;

use horus_shm::clock::Clock;
use horus_shm::{LaneCounters, Namespace, OpenError};

use crate::introspect::Inspector;
use crate::message::{
    EmergencyStop, NodeCommand, NodeEvent, NodeMetrics, SchedulerStatusHeader, Text, TextTooLong,
    monotonic_now_ns, timestamp_now_ns,
};
use crate::scheduler::api::rate::{Rate, RateError};
use crate::scheduler::graph::Graph;
use crate::scheduler::remote::scheduler_topics::{
    self, BLACK_BOX_EVENTS_MAX, COMMANDS_SUFFIX, EVENTS_SUFFIX, GRAPH_SUFFIX, STATUS_SUFFIX,
    SchedulerTopics,
};
use crate::topic::Publisher;
use crate::topic::error::{SendError, TopicError};

/// The state of a scheduler, as other processes can read it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SchedulerInfo {
    /// The scheduler's name. If another scheduler already had the requested name, `-2` or a higher
    /// number is appended to it.
    pub name: String,
    /// The id of the scheduler's process, as that process sees it in its own PID namespace. If the
    /// scheduler is not alive, this is the id in its last status. `None` if the id is not known.
    pub process_id: Option<u32>,
    /// The owner id of the scheduler's process, which identifies it within the namespace, as in
    /// [`Participant::owner_id`](crate::introspect::Participant::owner_id). Processes in different
    /// containers may have the same `process_id`. `None` if the scheduler is not alive.
    pub owner_id: Option<u64>,
    /// True if the scheduler is alive. The kernel's file locks show this, so no timeout is
    /// involved.
    pub is_alive: bool,
    /// The last status that the scheduler has published; `None` if it has not published one.
    pub status: Option<SchedulerStatusHeader>,
    /// The metrics of the scheduler's nodes, as its last status contains them.
    pub nodes: Vec<NodeMetrics>,
}

impl SchedulerInfo {
    /// Returns the time since the scheduler published its last status; `None` if it has not
    /// published one. A scheduler that runs publishes its status ten times a second. If it is alive
    /// and its last status is much older, its process is suspended, or gets no CPU time.
    #[must_use]
    pub fn status_age(&self) -> Option<Duration> {
        let status = self.status.as_ref()?;
        let monotonic_ns = monotonic_now_ns().checked_sub(status.monotonic_ns);
        let real_ns = timestamp_now_ns().checked_sub(status.timestamp_ns);
        Some(Duration::from_nanos(age_ns(monotonic_ns, real_ns)))
    }
}

/// Returns the age of a message, in nanoseconds, from its ages by CLOCK_MONOTONIC and
/// CLOCK_REALTIME. `None` means that it is of the future by that clock.
///
/// WHY the smaller age: the real-time clock can be set, and containers can have monotonic clocks of
/// their own. WHY none of the future: that clock is certainly wrong. If the real-time clock was set
/// back, a scheduler that hangs must not seem to have published its status just now. It still does
/// for a moment, when that clock comes to the time of the status again.
fn age_ns(monotonic_ns: Option<u64>, real_ns: Option<u64>) -> u64 {
    match (monotonic_ns, real_ns) {
        (Some(monotonic_ns), Some(real_ns)) => monotonic_ns.min(real_ns),
        (Some(ns), None) | (None, Some(ns)) => ns,
        (None, None) => 0,
    }
}

/// Returns the schedulers of a namespace, sorted by name. Includes all live schedulers, and those
/// that have ended or died, unless another scheduler has taken their name since.
///
/// Only reads: does not block, and delays no process. Costs some 40 µs for each scheduler. If the
/// status of a scheduler cannot be read, for instance because it uses another version of this
/// library, its `status` is `None` and its `nodes` are empty. Files that are not topics are
/// ignored.
///
/// # Errors
///
/// Returns [`OpenError::Io`] if the namespace's directory cannot be read. Returns it, or
/// [`OpenError::LaneNotMapped`], if the state of a scheduler cannot be read because this process
/// lacks memory or file descriptors.
pub fn schedulers(namespace: &Arc<Namespace>) -> Result<Vec<SchedulerInfo>, OpenError> {
    let found = SchedulerTopics::list(namespace)?;
    let mut all = Vec::with_capacity(found.len());
    for topics in &found {
        match inspect_scheduler(topics) {
            Ok(info) => all.push(info),
            Err(TopicError::Open { cause, .. }) if cause.is_lack_of_resources() => {
                return Err(*cause);
            }
            // A topic that was removed meanwhile, or a file that is no topic.
            Err(_) => {}
        }
    }
    Ok(all)
}

/// Returns the last events of a scheduler, oldest first, even if it has ended or was killed. The
/// last 224 events of each thread are kept. The threads of the compute pool share that number, as
/// do the nodes on the threads of a group of actors; beyond 64, threads share it with others.
/// Events of earlier schedulers of the same name are included if they have not been overwritten.
/// The field `process_id` and the event `SCHEDULER_STARTED` show to which scheduler an event
/// belongs.
///
/// Only reads: does not block, and delays no process. Costs about a microsecond for each event;
/// there are at most 14 336.
///
/// # Errors
///
/// Returns [`TopicError`]. Its cause is [`OpenError::NotFound`] if there has never been a scheduler
/// of this name.
pub fn black_box(namespace: &Arc<Namespace>, name: &str) -> Result<Vec<NodeEvent>, TopicError> {
    let mut observer = SchedulerTopics::new(namespace, name).events().observer()?;
    let mut events: Vec<_> = observer.try_iter().take(BLACK_BOX_EVENTS_MAX).collect();
    // Stable: events of one thread stay in order whatever their times are.
    events.sort_by_key(|event| event.monotonic_ns);
    Ok(events)
}

/// Returns the graph of a scheduler, which [`Scheduler::graph`](crate::scheduler::Scheduler::graph)
/// describes, even if the scheduler has ended or was killed. Returns `None` if no scheduler of this
/// name has published a graph that this version of the library understands.
///
/// Only reads: does not block, and delays no process. Costs some 40 µs.
#[must_use]
pub fn scheduler_graph(namespace: &Arc<Namespace>, name: &str) -> Option<Graph> {
    let topics = SchedulerTopics::new(namespace, name);
    let mut observer = topics.graph(0).observer().ok()?;
    Graph::from_value(&observer.latest()?)
}

/// Removes the topics of a scheduler that has ended: its status, black box, graph and commands.
/// Returns true if they no longer exist. Returns false if a process has one of them open, as a live
/// scheduler itself has.
///
/// # Errors
///
/// Returns [`TopicError`] if the topic cannot be opened or removed.
pub fn remove_scheduler_topics(namespace: &Arc<Namespace>, name: &str) -> Result<bool, TopicError> {
    let topics = SchedulerTopics::new(namespace, name);
    // WHY the status first: a scheduler that is alive has it open, so nothing is removed.
    let suffixes = [STATUS_SUFFIX, EVENTS_SUFFIX, GRAPH_SUFFIX, COMMANDS_SUFFIX];
    suffixes.iter().try_fold(
        true,
        |gone, suffix| Ok(gone && topics.remove_topic(suffix)?),
    )
}

/// Returns a publisher for emergency stops. It sends [`EmergencyStop::engage`] and
/// [`EmergencyStop::release`], which all schedulers of the namespace receive.
///
/// The topic keeps the last message, even after the process of the publisher has ended. So, if a
/// scheduler starts during an emergency stop, its nodes do not tick until the stop is released.
///
/// # Errors
///
/// Returns [`TopicError`] if the topic cannot be opened.
pub fn emergency_stop_publisher(
    namespace: &Arc<Namespace>,
) -> Result<Publisher<EmergencyStop>, TopicError> {
    scheduler_topics::open_emergency_stop_endpoint(namespace, |topic| topic.publisher())
}

/// Reads the state of a scheduler from the scheduler's topics, without joining them.
fn inspect_scheduler(topics: &SchedulerTopics) -> Result<SchedulerInfo, TopicError> {
    let inspector = Inspector::open_in(topics.namespace(), &topics.topic_name(STATUS_SUFFIX))?;
    // WHY read before the status: if the scheduler dies in between, its last status is still read.
    let lanes = inspector.publishers();
    let mut living = lanes
        .iter()
        .filter_map(|LaneCounters { publisher, .. }| publisher.as_ref());
    let living = living.next();
    let living_pid = living.and_then(|participant| Some(participant.process.as_ref()?.pid));
    let last = match topics.status(0).observer() {
        Ok(mut status) => status.latest(),
        Err(error)
            if error
                .as_open_error()
                .is_some_and(OpenError::is_lack_of_resources) =>
        {
            return Err(error);
        }
        Err(_) => None,
    };
    let status = last.as_ref().map(|status| *status.header());
    let nodes = last
        .as_ref()
        .and_then(|status| status.nodes().ok())
        .map(<[_]>::to_vec);
    Ok(SchedulerInfo {
        name: topics.scheduler_name().to_owned(),
        process_id: living_pid.or(status.map(|status| status.process_id)),
        owner_id: living.map(|participant| participant.owner_id),
        is_alive: living.is_some(),
        status,
        nodes: nodes.unwrap_or_default(),
    })
}

/// Sends commands to a scheduler of another process, or of this one.
///
/// A method returns when its command has been sent, not when the command has been applied. The
/// scheduler applies commands within some milliseconds; [`black_box`] and [`Self::info`] show the
/// result. An empty node name means all nodes. Each call costs some 20 µs.
#[derive(Debug)]
pub struct RemoteScheduler {
    topics: SchedulerTopics,
    commands: Publisher<NodeCommand>,
    /// The last command that was sent, and the time just before it was sent, in nanoseconds of
    /// CLOCK_MONOTONIC; `None` before the first command.
    last_command: Option<(NodeCommand, u64)>,
}

/// The reason why a command was not sent to a scheduler.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// No scheduler of this name is alive. Try again when the scheduler has started.
    #[error(
        "no scheduler '{name}' runs in this namespace; there are: {}",
        names_or_none_text(.running)
    )]
    NotRunning {
        /// The name of the scheduler to which the command was to be sent.
        name: String,
        /// The names of the schedulers of the namespace that are alive.
        running: Vec<String>,
    },
    /// The scheduler has no node with the name that the command contains.
    #[error(
        "scheduler '{scheduler}' has no node '{node}'; there are: {}",
        names_or_none_text(.nodes)
    )]
    NoSuchNode {
        /// The name of the scheduler to which the command was to be sent.
        scheduler: String,
        /// The name that no node of the scheduler has.
        node: String,
        /// The names of the nodes that the scheduler has.
        nodes: Vec<String>,
    },
    /// The node has been stopped for the rest of the run, so that it cannot be paused or resumed,
    /// and has no rate any more.
    #[error(
        "node '{node}' of scheduler '{scheduler}' is stopped for the rest of the run, and accepts \
         no command; to run it again, start its program again"
    )]
    NodeStopped {
        /// The name of the scheduler to which the command was to be sent.
        scheduler: String,
        /// The name of the node that is stopped.
        node: String,
    },
    /// The node has no rate, so that its rate cannot be changed. An event node, for instance, runs
    /// whenever a message arrives.
    #[error(
        "node '{node}' of scheduler '{scheduler}' has no rate to change: only a node that was \
         built with a rate has one"
    )]
    NoRate {
        /// The name of the scheduler to which the command was to be sent.
        scheduler: String,
        /// The name of the node that has no rate.
        node: String,
    },
    /// The name in the command is too long to be the name of a node.
    #[error("the node name is invalid: {0}")]
    NodeName(#[from] TextTooLong),
    /// The rate in the command is invalid.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The topics through which programs observe and command the scheduler cannot be opened.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The command cannot be sent on the scheduler's command topic.
    #[error(transparent)]
    Send(#[from] SendError<()>),
}

fn names_or_none_text(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

impl RemoteScheduler {
    /// Connects to the scheduler called `name`, which must be alive.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::NotRunning`] if no scheduler of this name is alive, and
    /// [`RemoteError::Topic`] if its topics cannot be opened.
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, RemoteError> {
        let topics = SchedulerTopics::new(namespace, name);
        inspect_live_scheduler(&topics)?;
        let commands = topics.commands().publisher()?;
        Ok(Self {
            topics,
            commands,
            last_command: None,
        })
    }

    /// Returns the name of the scheduler to which this value sends commands.
    #[must_use]
    pub fn name(&self) -> &str {
        self.topics.scheduler_name()
    }

    /// Returns the scheduler's present state, in the same form as the function [`schedulers`].
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Topic`] if the scheduler's topics cannot be opened.
    pub fn info(&self) -> Result<SchedulerInfo, RemoteError> {
        Ok(inspect_scheduler(&self.topics)?)
    }

    /// Pauses a node: it does not tick until [`Self::resume`] is called for it. No method of the
    /// node is called, so things that it has set in motion keep moving.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError`] if the command was not sent.
    pub fn pause(&mut self, node: &str) -> Result<(), RemoteError> {
        self.send_command(node, NodeCommand::new(NodeCommand::PAUSE, Text::new(node)?))
    }

    /// Resumes a node that [`Self::pause`] has paused.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError`] if the command was not sent, for instance because the node is
    /// stopped.
    pub fn resume(&mut self, node: &str) -> Result<(), RemoteError> {
        self.send_command(
            node,
            NodeCommand::new(NodeCommand::RESUME, Text::new(node)?),
        )
    }

    /// Shuts a node down after its present tick: calls its `shutdown`, and not `enter_safe_state`.
    /// It does not run again until the scheduler is restarted.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError`] if the command was not sent.
    pub fn stop_node(&mut self, node: &str) -> Result<(), RemoteError> {
        self.send_command(node, NodeCommand::new(NodeCommand::STOP, Text::new(node)?))
    }

    /// Sets the rate at which a node ticks, and that of all nodes of its chain. Budget and deadline
    /// change in proportion, unless the builder has set them; if these do not fit the new rate, the
    /// scheduler refuses the command.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError`] if the command was not sent, for instance because the node has no
    /// rate.
    pub fn set_rate(&mut self, node: &str, rate: Rate) -> Result<(), RemoteError> {
        let set_rate = NodeCommand::new(NodeCommand::SET_RATE, Text::new(node)?);
        self.send_command(node, set_rate.with_rate_hz(rate.check()?.hertz()))
    }

    /// Stops the scheduler, which shuts all its nodes down.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError`] if the command was not sent.
    pub fn stop(&mut self) -> Result<(), RemoteError> {
        self.send_command(
            "",
            NodeCommand::new(NodeCommand::STOP_SCHEDULER, Text::EMPTY),
        )
    }

    /// Returns the reason why the scheduler has refused the last command that this value has sent;
    /// `None` if it has not refused that command, or has not read it yet. Only the scheduler knows
    /// some reasons, for instance that a rate does not fit the deadline of the node.
    ///
    /// Reads the black box, which costs about a microsecond for each of its events.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Topic`] if the black box cannot be opened.
    pub fn last_command_refusal(&self) -> Result<Option<String>, RemoteError> {
        let Some((command, sent_ns)) = &self.last_command else {
            return Ok(None);
        };
        let begin = refusal_text(command, "");
        let events = black_box(self.topics.namespace(), self.topics.scheduler_name())?;
        let later = events.iter().rev();
        let later = later.take_while(|event| event.monotonic_ns >= *sent_ns);
        let mut refusals = later.filter(|event| event.kind == NodeEvent::COMMAND);
        Ok(refusals.find_map(|event| {
            let reason = event.text.as_str().strip_prefix(&begin);
            reason.map(ToOwned::to_owned)
        }))
    }

    fn send_command(&mut self, node: &str, command: NodeCommand) -> Result<(), RemoteError> {
        // WHY the status is opened anew for each command: if it stayed open here, the scheduler's
        // next run could not replace it.
        let SchedulerInfo {
            name: scheduler,
            status,
            nodes,
            ..
        } = inspect_live_scheduler(&self.topics)?;
        let metrics = nodes.iter().find(|metrics| metrics.name == *node);
        if !node.is_empty() && status.is_some() && metrics.is_none() {
            let nodes = nodes
                .iter()
                .map(|metrics| metrics.name.to_string())
                .collect();
            return Err(RemoteError::NoSuchNode {
                scheduler,
                node: node.to_owned(),
                nodes,
            });
        }
        if let Some(metrics) = metrics {
            check_node_accepts_command(&command, metrics, &scheduler)?;
        }
        let sent_ns = Clock::kernel().now_ns();
        self.commands
            .send(command)
            .map_err(|error| error.with(()))?;
        self.last_command = Some((command, sent_ns));
        Ok(())
    }
}

/// Returns the text of the event with which a scheduler reports that it has refused `command`.
pub(crate) fn refusal_text(command: &NodeCommand, reason: &str) -> String {
    format!("{command}: {reason}")
}

/// Returns an error if a node with the metrics `metrics` cannot apply `command`.
fn check_node_accepts_command(
    command: &NodeCommand,
    metrics: &NodeMetrics,
    scheduler: &str,
) -> Result<(), RemoteError> {
    let (scheduler, node) = (scheduler.to_owned(), metrics.name.to_string());
    let is_stopped = metrics.state == NodeMetrics::STATE_STOPPED;
    match command.kind {
        NodeCommand::PAUSE | NodeCommand::RESUME | NodeCommand::SET_RATE if is_stopped => {
            Err(RemoteError::NodeStopped { scheduler, node })
        }
        NodeCommand::SET_RATE if metrics.period_ns == 0 => {
            Err(RemoteError::NoRate { scheduler, node })
        }
        _ => Ok(()),
    }
}

/// Returns the state of a scheduler, or [`RemoteError::NotRunning`] if it is not alive.
fn inspect_live_scheduler(topics: &SchedulerTopics) -> Result<SchedulerInfo, RemoteError> {
    let found = inspect_scheduler(topics);
    let is_absent =
        |error: &TopicError| matches!(error.as_open_error(), Some(OpenError::NotFound { .. }));
    match found {
        Ok(info) if info.is_alive => return Ok(info),
        Err(error) if !is_absent(&error) => return Err(error.into()),
        Ok(_) | Err(_) => {}
    }
    let all = schedulers(topics.namespace()).unwrap_or_default();
    let running = all
        .into_iter()
        .filter(|info| info.is_alive)
        .map(|info| info.name)
        .collect();
    Err(RemoteError::NotRunning {
        name: topics.scheduler_name().to_owned(),
        running,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_old_as_the_clock_says_that_was_not_set() {
        const AGE: Option<u64> = Some(60);
        assert_eq!(age_ns(AGE, AGE), 60);
        // The real-time clock was set back behind the time of the message, or forward.
        assert_eq!(age_ns(AGE, None), 60);
        assert_eq!(age_ns(AGE, Some(3660)), 60);
        // The monotonic clock of the sender's container is ahead, or behind.
        assert_eq!(age_ns(None, AGE), 60);
        assert_eq!(age_ns(Some(3660), AGE), 60);
        assert_eq!(age_ns(None, None), 0);
    }
}
