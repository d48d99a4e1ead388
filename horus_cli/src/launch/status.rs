//! The status of a launcher: a message on a latched topic, which shows the programs of the launcher
//! to other processes.
//!
//! Each launcher of a namespace has a lane of the topic. The last status of a launcher is valid as
//! long as its publisher exists, which the kernel's file locks show.

use std::collections::BTreeMap;
use std::sync::Arc;

use horus_core::TopicError;
use horus_core::introspect::Inspector;
use horus_core::namespace::Namespace;
use horus_core::topic::{DynamicSubscriber, Publisher, Qos, Topic};
use horus_core::value::{Serde, decode_serde};
use serde::{Deserialize, Serialize};

use crate::output::Tone;

/// The name of the topic with the statuses of launchers.
const TOPIC: &str = "horus/launch";

/// The status of one launcher.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchStatus {
    /// The launch file.
    pub(crate) file: String,
    /// The process of the launcher.
    pub(crate) launcher_pid: u32,
    /// The programs, in the order of their start.
    pub(crate) programs: Vec<ProgramStatus>,
}

/// The status of one program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramStatus {
    pub(crate) program: String,
    pub(crate) state: ProgramState,
    /// The process id, while the program runs.
    pub(crate) pid: Option<u32>,
    /// Number of starts after the first one.
    pub(crate) restarts: u32,
    /// The time of the last start, in nanoseconds since 1970; 0 before the first one.
    pub(crate) started_ns: u64,
    /// The exit code of the last run; `None` before its end, or if a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// The signal that ended the last run; `None` if none did.
    pub(crate) signal: Option<i32>,
}

/// The state of a program, as tools show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProgramState {
    /// It waits for the programs before it.
    Waiting,
    /// It runs, and is not ready yet.
    Starting,
    Running,
    Stopping,
    /// It has ended, and is started again soon.
    Restarting,
    /// It has ended, and is not started again.
    Ended,
    /// It has ended with a failure, and is not started again.
    Failed,
    /// A state that is only known to later versions of this program.
    #[serde(other)]
    Unknown,
}

impl ProgramState {
    /// Returns the state as a word.
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

    /// Returns the tone of the state, which decides its colour.
    pub(crate) const fn tone(self) -> Tone {
        match self {
            Self::Running | Self::Ended => Tone::Plain,
            Self::Failed => Tone::Bad,
            _ => Tone::Waiting,
        }
    }
}

impl ProgramStatus {
    /// Returns how the last run ended, as text; empty before the first end.
    pub(crate) fn last_end(&self) -> String {
        match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => String::new(),
        }
    }
}

/// Publishes the status of a launcher.
#[derive(Debug)]
pub(super) struct StatusPublisher {
    publisher: Publisher<Serde<LaunchStatus>>,
    last: LaunchStatus,
}

impl StatusPublisher {
    pub(super) fn open(namespace: &Arc<Namespace>) -> Result<Self, TopicError> {
        // WHY not after the exit: then there is nothing to see.
        let qos = Qos::latched().persist_after_exit(false).strict(true);
        let topic = Topic::builder(TOPIC).namespace(namespace).qos(qos);
        Ok(Self {
            publisher: topic.publisher()?,
            last: LaunchStatus::default(),
        })
    }

    /// Publishes a status if it differs from the last one.
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

/// Returns the status of each launcher of a namespace that is alive.
pub(crate) fn read(namespace: &Arc<Namespace>) -> Vec<LaunchStatus> {
    // Without a launcher, there is no topic.
    let Ok(topic) = Inspector::open_in(namespace, TOPIC) else {
        return Vec::new();
    };
    let Ok(mut observer) = DynamicSubscriber::observe(namespace, TOPIC) else {
        return Vec::new();
    };
    let mut last = BTreeMap::new();
    while let Some(message) = observer.recv_bytes() {
        let status = decode_serde::<LaunchStatus>(message);
        if let (Ok(status), Some(arrival)) = (status, observer.last()) {
            last.insert(arrival.lane, status);
        }
    }
    let lanes = topic.publishers();
    let alive = lanes.iter().filter(|lane| lane.publisher.is_some());
    alive.filter_map(|lane| last.remove(&lane.lane)).collect()
}
