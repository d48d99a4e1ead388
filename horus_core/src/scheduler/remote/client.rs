//! Schedulers of other processes: who they are, what their nodes do, and what they are told.
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
//!     Err(RemoteError::NotRunning { .. }) => println!("nobody to pause"),
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

/// A scheduler, as another process sees it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SchedulerInfo {
    /// Its name. Not always the one that was wanted: while a scheduler lives, the next one of its
    /// name gets `-2`.
    pub name: String,
    /// Its process, in that one's own namespace of processes: the one that lives, else the one that
    /// said something last. `None` if that is not known.
    pub process_id: Option<u32>,
    /// Whether it lives. The kernel says so, which knows who holds what; no clock decides it.
    pub is_alive: bool,
    /// How it was when it last said so. `None` before that.
    pub status: Option<SchedulerStatusHeader>,
    /// Its nodes, all as they were at that moment.
    pub nodes: Vec<NodeMetrics>,
}

/// The schedulers of a namespace, by name: those that live, and those that died or ended and whose
/// name nobody has taken since.
///
/// Disturbs nobody: takes no place, writes nothing. Does not block. Costs some 40 µs each. One that
/// cannot be understood, as of another version of this library, has neither status nor nodes; what
/// is no topic at all is left out.
///
/// # Errors
///
/// [`OpenError::Io`] if the namespace's directory cannot be read.
pub fn schedulers(namespace: &Arc<Namespace>) -> Result<Vec<SchedulerInfo>, OpenError> {
    let places = SchedulerTopics::all(namespace)?;
    // What was removed meanwhile, or is no topic, is no scheduler.
    Ok(places.iter().filter_map(|place| look(place).ok()).collect())
}

/// The last events of a scheduler, oldest first: of each of its threads 64 at least, if there were
/// as many, also after it was killed. Those of earlier schedulers of the name are among them as
/// long as there is room: `process_id` and `SCHEDULER_STARTED` tell them apart.
///
/// Disturbs nobody: takes no place, writes nothing. Does not block. Costs about a microsecond for
/// each event, of which there may be 14 336.
///
/// # Errors
///
/// [`TopicError`]; its cause is [`OpenError::NotFound`] if no scheduler ever had that name.
pub fn black_box(namespace: &Arc<Namespace>, name: &str) -> Result<Vec<NodeEvent>, TopicError> {
    let mut observer = SchedulerTopics::new(namespace, name).events().observer()?;
    let mut events: Vec<_> = observer.try_iter().take(BOX_EVENTS_MAX).collect();
    // Stable: events of one thread stay in order whatever their times are.
    events.sort_by_key(|event| event.monotonic_ns);
    Ok(events)
}

/// Removes what a scheduler left that is no more: its status and its black box. True if they are
/// gone, false if somebody has them open, as it itself has while it lives.
///
/// # Errors
///
/// [`TopicError`].
pub fn forget(namespace: &Arc<Namespace>, name: &str) -> Result<bool, TopicError> {
    let place = SchedulerTopics::new(namespace, name);
    // WHY the status first: while it lives nothing of it goes.
    Ok(place.remove(STATUS)? && place.remove(EVENTS)? && place.remove(COMMANDS)?)
}

/// A publisher of emergency stops, heard by all schedulers of the namespace: send
/// [`EmergencyStop::engage`] or [`EmergencyStop::release`].
///
/// What was said last stays when its process is gone, so that a scheduler that starts later does
/// not move anything either until it is released. That holds unless somebody else made the topic
/// before, without history: then only those hear it who run.
///
/// # Errors
///
/// [`TopicError`].
pub fn emergency_stop(namespace: &Arc<Namespace>) -> Result<Publisher<EmergencyStop>, TopicError> {
    topic_path::emergency_stop(namespace, |topic| topic.publisher())
}

/// What is known of the scheduler at a place.
fn look(place: &SchedulerTopics) -> Result<SchedulerInfo, TopicError> {
    let inspector = Inspector::open_in(place.namespace(), &place.topic(STATUS))?;
    // WHY before the status: one that dies in between said what is read after it.
    let lanes = inspector.publishers();
    let mut living = lanes.iter().filter_map(|LaneCounters { publisher, .. }| publisher.as_ref());
    let (living, is_alive) = match living.next() {
        Some(participant) => (participant.process.as_ref().map(|process| process.pid), true),
        None => (None, false),
    };
    let last = place.status(0).observer().ok().and_then(|mut status| status.latest());
    let status = last.as_ref().map(|status| *status.header());
    let nodes = last.as_ref().and_then(|status| status.nodes().ok()).map(<[_]>::to_vec);
    Ok(SchedulerInfo {
        name: place.name().to_owned(),
        process_id: living.or(status.map(|status| status.process_id)),
        is_alive,
        status,
        nodes: nodes.unwrap_or_default(),
    })
}

/// A scheduler of another process, or of this one, to be told something.
///
/// A call returns when the command is sent, not when it is carried out: the scheduler does that
/// within some milliseconds, and what came of it is in its [`black_box`] and in [`Self::info`].
/// Nodes are named as they were built; an empty name means all nodes. Costs some 20 µs a call.
#[derive(Debug)]
pub struct RemoteScheduler {
    place: SchedulerTopics,
    commands: Publisher<NodeCommand>,
}

/// Why a scheduler was not told anything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// No scheduler of that name lives. Transient: try again when it has started.
    #[error("no scheduler '{name}' runs in this namespace; there are: {}", list(.running))]
    NotRunning {
        /// The name.
        name: String,
        /// Those that live.
        running: Vec<String>,
    },
    /// It has no such node.
    #[error("scheduler '{scheduler}' has no node '{node}'; there are: {}", list(.nodes))]
    NoSuchNode {
        /// The scheduler.
        scheduler: String,
        /// The name of the node.
        node: String,
        /// The nodes that it has.
        nodes: Vec<String>,
    },
    /// No node has a name that long.
    #[error("no node: {0}")]
    NodeName(#[from] TextTooLong),
    /// The rate is none.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// Its topics cannot be opened.
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
    /// The scheduler of this name, which must live.
    ///
    /// # Errors
    ///
    /// [`RemoteError::NotRunning`], [`RemoteError::Topic`].
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, RemoteError> {
        let place = SchedulerTopics::new(namespace, name);
        expect_alive(&place)?;
        let commands = place.commands().publisher()?;
        Ok(Self { place, commands })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.place.name()
    }

    /// How it is, as [`schedulers`] shows it.
    ///
    /// # Errors
    ///
    /// [`RemoteError::Topic`].
    pub fn info(&self) -> Result<SchedulerInfo, RemoteError> {
        Ok(look(&self.place)?)
    }

    /// Has a node not tick until it is resumed.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn pause(&mut self, node: &str) -> Result<(), RemoteError> {
        self.command(node, NodeCommand::new(NodeCommand::PAUSE, Text::new(node)?))
    }

    /// Has a node go on after a pause.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn resume(&mut self, node: &str) -> Result<(), RemoteError> {
        self.command(node, NodeCommand::new(NodeCommand::RESUME, Text::new(node)?))
    }

    /// Has a node end after its present tick. It does not come back.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn stop_node(&mut self, node: &str) -> Result<(), RemoteError> {
        self.command(node, NodeCommand::new(NodeCommand::STOP, Text::new(node)?))
    }

    /// Has a node tick at another rate.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn set_rate(&mut self, node: &str, rate: Rate) -> Result<(), RemoteError> {
        let set_rate = NodeCommand::new(NodeCommand::SET_RATE, Text::new(node)?);
        self.command(node, set_rate.at_hz(rate.check()?.hertz()))
    }

    /// Has all nodes end, and the scheduler with them.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub fn stop(&mut self) -> Result<(), RemoteError> {
        self.command("", NodeCommand::new(NodeCommand::STOP_SCHEDULER, Text::EMPTY))
    }

    fn command(&mut self, node: &str, command: NodeCommand) -> Result<(), RemoteError> {
        // WHY each time: a topic that is held open cannot be replaced by the scheduler's next run.
        let SchedulerInfo { name: scheduler, status, nodes, .. } = expect_alive(&self.place)?;
        let has_node = || nodes.iter().any(|metrics| metrics.name == *node);
        if !node.is_empty() && status.is_some() && !has_node() {
            let nodes = nodes.iter().map(|metrics| metrics.name.to_string()).collect();
            return Err(RemoteError::NoSuchNode { scheduler, node: node.to_owned(), nodes });
        }
        self.commands.send(command).map_err(|error| error.with(()))?;
        Ok(())
    }
}

/// The scheduler at a place, if it lives.
fn expect_alive(place: &SchedulerTopics) -> Result<SchedulerInfo, RemoteError> {
    let found = look(place);
    let is_absent =
        |error: &TopicError| matches!(error.as_open_error(), Some(OpenError::NotFound { .. }));
    match found {
        Ok(info) if info.is_alive => return Ok(info),
        Err(error) if !is_absent(&error) => return Err(error.into()),
        Ok(_) | Err(_) => {}
    }
    let all = schedulers(place.namespace()).unwrap_or_default();
    let running = all.into_iter().filter(|info| info.is_alive).map(|info| info.name).collect();
    Err(RemoteError::NotRunning { name: place.name().to_owned(), running })
}
