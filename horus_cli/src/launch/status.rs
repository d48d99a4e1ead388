//! The status of a launcher: a message on a latched topic that shows the programs of the launcher
//! to other processes.
//!
//! Each launcher of a namespace publishes in a separate lane of the topic. The last status of a
//! launcher is valid as long as its publisher exists; the kernel's file locks show whether it
//! exists.

use std::collections::BTreeMap;
use std::sync::Arc;

use horus_core::TopicError;
use horus_core::introspect::{Inspector, Participant};
use horus_core::namespace::Namespace;
use horus_core::topic::{DynamicSubscriber, Publisher, Qos, Topic};
use horus_core::value::{Serde, decode_serde};
use serde::{Deserialize, Serialize};

use crate::output::Tone;

/// Name of the topic on which launchers publish their statuses.
const STATUS_TOPIC: &str = "horus/launch";

/// The status of one launcher, which is the message that it publishes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchStatus {
    /// The owner id of the launcher, which identifies its process within the namespace, as in
    /// [`Participant::owner_id`]; 0 in the status of a launcher of an earlier version.
    #[serde(default)]
    pub(crate) owner_id: u64,
    /// The path of the launch file that the launcher runs.
    pub(crate) file: String,
    /// The process id of the launcher.
    pub(crate) launcher_pid: u32,
    /// The statuses of the programs, in the order in which they are started.
    pub(crate) programs: Vec<ProgramStatus>,
}

/// The status of one program in the status of its launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramStatus {
    pub(crate) program: String,
    pub(crate) state: ProgramState,
    /// The process id of the program; `None` while it does not run.
    pub(crate) pid: Option<u32>,
    /// The start time of this process, in clock ticks since boot, which distinguishes it from a
    /// process of another container with the same id; `None` while it does not run, and in the
    /// status of a launcher of an earlier version.
    #[serde(default)]
    pub(crate) start_time: Option<u64>,
    /// Number of times that the launcher has started the program after its first start.
    pub(crate) restarts: u32,
    /// The time of the program's last start, in nanoseconds since 1970; 0 before its first start.
    pub(crate) started_ns: u64,
    /// The exit code of the program's last run; `None` before a run has ended, or if a signal ended
    /// it.
    pub(crate) exit_code: Option<i32>,
    /// The number of the signal that ended the program's last run; `None` if no signal ended it.
    pub(crate) signal: Option<i32>,
}

/// The state of a program, as tools such as `horus top` show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProgramState {
    /// The program waits until the programs on which it depends are ready.
    Waiting,
    /// The program is running and is not ready yet.
    Starting,
    Running,
    Stopping,
    /// The program has ended and will be restarted soon.
    Restarting,
    /// The program has ended without a failure and is not restarted.
    Ended,
    /// The program has ended with a failure and is not restarted.
    Failed,
    /// A state that this version of the program does not know. A launcher of a later version has
    /// published it.
    #[serde(other)]
    Unknown,
}

impl ProgramState {
    /// Returns the word that shows the state to the user.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Restarting => "restarting",
            Self::Ended => "ended",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the tone of the state. The tone selects the colour in which the state is printed.
    pub(crate) const fn tone(self) -> Tone {
        match self {
            Self::Running | Self::Ended => Tone::Plain,
            Self::Failed => Tone::Bad,
            _ => Tone::Waiting,
        }
    }
}

impl ProgramStatus {
    /// Returns a text that says how the program's last run ended; empty if no run has ended.
    pub(crate) fn last_exit(&self) -> String {
        match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => String::new(),
        }
    }
}

/// The publisher of a launcher's status.
#[derive(Debug)]
pub(super) struct StatusPublisher {
    publisher: Publisher<Serde<LaunchStatus>>,
    last: LaunchStatus,
}

impl StatusPublisher {
    pub(super) fn open(namespace: &Arc<Namespace>) -> Result<Self, TopicError> {
        // WHY not after the exit: then there is nothing to see.
        let qos = Qos::latched().persist_after_exit(false).strict(true);
        let topic = Topic::builder(STATUS_TOPIC).namespace(namespace).qos(qos);
        Ok(Self {
            publisher: topic.publisher()?,
            last: LaunchStatus::default(),
        })
    }

    /// Publishes `status` if it differs from the status that was published last.
    pub(super) fn publish(&mut self, status: LaunchStatus) {
        if status == self.last {
            return;
        }
        let message = Serde(status);
        // WHY ignored: the robot runs whether it is seen or not.
        let _ = self.publisher.send(&message);
        self.last = message.0;
    }
}

/// Returns the statuses of all live launchers of a namespace.
pub(crate) fn read_statuses(namespace: &Arc<Namespace>) -> Vec<LaunchStatus> {
    // Without a launcher, there is no topic.
    let Ok(topic) = Inspector::open_in(namespace, STATUS_TOPIC) else {
        return Vec::new();
    };
    let Ok(mut observer) = DynamicSubscriber::observe(namespace, STATUS_TOPIC) else {
        return Vec::new();
    };
    let mut last = BTreeMap::new();
    while let Some(message) = observer.recv_bytes() {
        let status = decode_serde::<LaunchStatus>(message);
        if let (Ok(status), Some(arrival)) = (status, observer.last_arrival()) {
            last.insert(arrival.lane, status);
        }
    }
    let lanes = topic.publishers();
    let statuses = lanes.iter().filter_map(|lane| {
        let owner = lane.publisher.as_ref()?;
        last.remove(&lane.lane)
            .filter(|status| is_sent_by(status, owner))
    });
    statuses.collect()
}

/// Returns true if `owner`, the owner of a lane, has sent the status that was read in the lane.
/// WHY: a launcher may have died since it sent the status, and the next one may own its lane now.
const fn is_sent_by(status: &LaunchStatus, owner: &Participant) -> bool {
    status.owner_id == owner.owner_id || status.owner_id == 0
}
