//! The reports of a node to the launcher: one line of JSON each, on its standard output.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// All topics are joined. `sequence` is the number of the last message that the node's lane has
    /// carried: 0, or where a dead predecessor stopped.
    Ready { sequence: u64 },
    /// Text for the user.
    Text(String),
    /// The monitor receives from another IMU process. Times of CLOCK_REALTIME: when the old process
    /// made its last message, when the new one made its first, and when that arrived.
    Restarted {
        last_ns: u64,
        first_ns: u64,
        received_ns: u64,
    },
    /// The final report of a publisher: its own count of the messages sent.
    Published { topic: String, sent: u64 },
    /// The final report of a subscriber about a topic.
    Received(Ledger),
}

impl Report {
    /// Writes the line.
    pub(crate) fn send(&self) {
        let line = serde_json::to_string(self).expect("numbers and text always have a JSON form");
        // A write fails only if the launcher is gone, and then the leash is cut too.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}
