//! The reports of a node to the launcher: one line of JSON each, on its standard output.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The node has joined all its topics. `sequence` is the number of the last message in the
    /// node's lane: 0, or the last number that a dead predecessor used.
    Ready { sequence: u64 },
    /// Text for the user.
    Text(String),
    /// The monitor received from a new IMU process. The times are of CLOCK_REALTIME: when the old
    /// process made its last message, when the new one made its first, and when that first one
    /// arrived.
    Restarted {
        last_ns: u64,
        first_ns: u64,
        received_ns: u64,
    },
    /// The final report of a publisher: the number of messages that it sent.
    Published { topic: String, sent: u64 },
    /// The final report of a subscriber about one topic.
    Received(Ledger),
}

impl Report {
    /// Writes the report as one line to standard output.
    pub(crate) fn send(&self) {
        let line = serde_json::to_string(self).expect("numbers and text always have a JSON form");
        // A write fails only if the launcher is gone, and then the leash is cut too.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}
