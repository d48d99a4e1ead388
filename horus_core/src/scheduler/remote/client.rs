//! Schedulers of other processes: their state, their nodes, and commands to them.
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

use horus_shm::{LaneCounters, Namespace, OpenError};

use crate::introspect::Inspector;
use crate::message::{
    EmergencyStop, NodeCommand, NodeEvent, NodeMetrics, SchedulerStatusHeader, Text, TextTooLong,
};
use crate::scheduler::api::rate::{Rate, RateError};
use crate::scheduler::remote::topic_path::{
    self, BOX_EVENTS_MAX, COMMANDS, EVENTS, STATUS, SchedulerTopics,
};
use crate::topic::Publisher;
use crate::topic::error::{SendError, TopicError};

/// A scheduler as another process sees it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SchedulerInfo {
    /// Its name. This can differ from the requested one: while a scheduler lives, the next one of
    /// its name gets `-2`.
    pub name: String,
    /// The id of its process, in that process's own PID namespace: that of the living scheduler,
    /// else that of the last status. `None` if neither is known.
    pub process_id: Option<u32>,
    /// True if it lives. The kernel's locks decide that, not a clock.
    pub is_alive: bool,
    /// Its last status. `None` before the first.
    pub status: Option<SchedulerStatusHeader>,
    /// Its nodes, all at the moment of that status.
    pub nodes: Vec<NodeMetrics>,
}

/// Returns the schedulers of a namespace, by name: the living ones, and those that died or ended
/// and whose name no other scheduler has taken since.
///
/// Delays no process: takes no slot, writes nothing. Does not block. Costs some 40 µs each. A
/// scheduler that cannot be read, for instance of another version of this library, has neither
/// status nor nodes; a file that is no topic is left out.
///
/// # Errors
///
/// Returns [`OpenError::Io`] if the namespace's directory cannot be read.
pub fn schedulers(namespace: &Arc<Namespace>) -> Result<Vec<SchedulerInfo>, OpenError> {
    let found = SchedulerTopics::all(namespace)?;
    // A topic that was removed meanwhile, or is none, is left out.
    Ok(found.iter().filter_map(|topics| inspect(topics).ok()).collect())
}

/// Returns the last events of a scheduler, oldest first: at least 64 of each of its threads, if
/// there were as many, also after it was killed. Events of earlier schedulers of the name are
/// included as long as there is room: `process_id` and `SCHEDULER_STARTED` distinguish them.
///
/// Delays no process: takes no slot, writes nothing. Does not block. Costs about a microsecond for
/// each event, of which there may be 14 336.
///
/// # Errors
///
/// Returns [`TopicError`]; its cause is [`OpenError::NotFound`] if no scheduler ever had that name.
pub fn black_box(namespace: &Arc<Namespace>, name: &str) -> Result<Vec<NodeEvent>, TopicError> {
    let mut observer = SchedulerTopics::new(namespace, name).events().observer()?;
    let mut events: Vec<_> = observer.try_iter().take(BOX_EVENTS_MAX).collect();
    // Stable: events of one thread stay in order whatever their times are.
    events.sort_by_key(|event| event.monotonic_ns);
    Ok(events)
}

/// Removes the status and the black box of a scheduler that has ended. Returns true if they are
/// gone, false if a process has them open, as the scheduler itself has while it lives.
///
/// # Errors
///
/// [`TopicError`].
pub fn forget(namespace: &Arc<Namespace>, name: &str) -> Result<bool, TopicError> {
    let topics = SchedulerTopics::new(namespace, name);
    // WHY the status first: while the scheduler lives, nothing of it may be removed.
    Ok(topics.remove(STATUS)? && topics.remove(EVENTS)? && topics.remove(COMMANDS)?)
}

/// Returns a publisher of emergency stops, which all schedulers of the namespace receive: send
/// [`EmergencyStop::engage`] or [`EmergencyStop::release`].
///
/// The last message stays when its process is gone, so that a scheduler that starts later does not
/// move anything either until the stop is released. This does not hold if the topic was created
/// before, without history: then only running schedulers receive the stop.
///
/// # Errors
///
/// [`TopicError`].
pub fn emergency_stop(namespace: &Arc<Namespace>) -> Result<Publisher<EmergencyStop>, TopicError> {
    topic_path::emergency_stop(namespace, |topic| topic.publisher())
}

/// Inspects a scheduler by its topics.
fn inspect(topics: &SchedulerTopics) -> Result<SchedulerInfo, TopicError> {
    let inspector = Inspector::open_in(topics.namespace(), &topics.topic(STATUS))?;
    // WHY before the status: the last status of a scheduler that dies in between is read after it.
    let lanes = inspector.publishers();
    let mut living = lanes.iter().filter_map(|LaneCounters { publisher, .. }| publisher.as_ref());
    let (living, is_alive) = match living.next() {
        Some(participant) => (participant.process.as_ref().map(|process| process.pid), true),
        None => (None, false),
    };
    let last = topics.status(0).observer().ok().and_then(|mut status| status.latest());
    let status = last.as_ref().map(|status| *status.header());
    let nodes = last.as_ref().and_then(|status| status.nodes().ok()).map(<[_]>::to_vec);
    Ok(SchedulerInfo {
        name: topics.name().to_owned(),
        process_id: living.or(status.map(|status| status.process_id)),
        is_alive,
        status,
        nodes: nodes.unwrap_or_default(),
    })
}

/// Sends commands to a scheduler of another process, or of this one.
///
/// A call returns when the command is sent, not when it is applied. The scheduler applies it within
/// some milliseconds, and the result is in its [`black_box`] and in [`Self::info`]. Nodes have the
/// names with which they were built; an empty name means all nodes. Costs some 20 µs a call.
#[derive(Debug)]
pub struct RemoteScheduler {
    topics: SchedulerTopics,
    commands: Publisher<NodeCommand>,
}

/// The reason why a command was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// No scheduler of that name lives. Transient: try again when it has started.
    #[error("no scheduler '{name}' runs in this namespace; there are: {}", list(.running))]
    NotRunning {
        /// The name.
        name: String,
        /// The schedulers that live.
        running: Vec<String>,
    },
    /// The scheduler has no such node.
    #[error("scheduler '{scheduler}' has no node '{node}'; there are: {}", list(.nodes))]
    NoSuchNode {
        /// The scheduler.
        scheduler: String,
        /// The name of the node.
        node: String,
        /// The scheduler's nodes.
        nodes: Vec<String>,
    },
    /// The name is too long for a node.
    #[error("the node name is invalid: {0}")]
    NodeName(#[from] TextTooLong),
    /// The rate is invalid.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The scheduler's topics cannot be opened.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The command cannot be sent.
    #[error(transparent)]
    Send(#[from] SendError<()>),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl RemoteScheduler {
    /// Opens the scheduler of this name, which must live.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::NotRunning`] or [`RemoteError::Topic`].
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, RemoteError> {
        let topics = SchedulerTopics::new(namespace, name);
        expect_alive(&topics)?;
        let commands = topics.commands().publisher()?;
        Ok(Self { topics, commands })
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.topics.name()
    }

    /// Returns its state, as [`schedulers`] does.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Topic`].
    pub fn info(&self) -> Result<SchedulerInfo, RemoteError> {
        Ok(inspect(&self.topics)?)
    }

    /// Pauses a node until it is resumed.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn pause(&mut self, node: &str) -> Result<(), RemoteError> {
        self.command(node, NodeCommand::new(NodeCommand::PAUSE, Text::new(node)?))
    }

    /// Resumes a paused node.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn resume(&mut self, node: &str) -> Result<(), RemoteError> {
        self.command(node, NodeCommand::new(NodeCommand::RESUME, Text::new(node)?))
    }

    /// Stops a node after its present tick. It cannot be started again.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn stop_node(&mut self, node: &str) -> Result<(), RemoteError> {
        self.command(node, NodeCommand::new(NodeCommand::STOP, Text::new(node)?))
    }

    /// Sets the rate of a node.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn set_rate(&mut self, node: &str, rate: Rate) -> Result<(), RemoteError> {
        let set_rate = NodeCommand::new(NodeCommand::SET_RATE, Text::new(node)?);
        self.command(node, set_rate.with_rate_hz(rate.check()?.hertz()))
    }

    /// Stops all nodes, and the scheduler with them.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn stop(&mut self) -> Result<(), RemoteError> {
        self.command("", NodeCommand::new(NodeCommand::STOP_SCHEDULER, Text::EMPTY))
    }

    fn command(&mut self, node: &str, command: NodeCommand) -> Result<(), RemoteError> {
        // WHY each time: a topic that is open cannot be replaced by the scheduler's next run.
        let SchedulerInfo { name: scheduler, status, nodes, .. } = expect_alive(&self.topics)?;
        let has_node = || nodes.iter().any(|metrics| metrics.name == *node);
        if !node.is_empty() && status.is_some() && !has_node() {
            let nodes = nodes.iter().map(|metrics| metrics.name.to_string()).collect();
            return Err(RemoteError::NoSuchNode { scheduler, node: node.to_owned(), nodes });
        }
        self.commands.send(command).map_err(|error| error.with(()))?;
        Ok(())
    }
}

/// Returns the state of a scheduler if it lives.
fn expect_alive(topics: &SchedulerTopics) -> Result<SchedulerInfo, RemoteError> {
    let found = inspect(topics);
    let is_absent =
        |error: &TopicError| matches!(error.as_open_error(), Some(OpenError::NotFound { .. }));
    match found {
        Ok(info) if info.is_alive => return Ok(info),
        Err(error) if !is_absent(&error) => return Err(error.into()),
        Ok(_) | Err(_) => {}
    }
    let all = schedulers(topics.namespace()).unwrap_or_default();
    let running = all.into_iter().filter(|info| info.is_alive).map(|info| info.name).collect();
    Err(RemoteError::NotRunning { name: topics.name().to_owned(), running })
}
