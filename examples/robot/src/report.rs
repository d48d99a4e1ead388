//! What a node tells the launcher: one line of JSON each, on its standard output.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// All topics are joined. `sequence` is the number of the last message that the node's place in
    /// its topic has carried: 0, or where a dead predecessor stopped.
    Ready { sequence: u64 },
    /// For whoever watches.
    Text(String),
    /// Another IMU process is heard. CLOCK_REALTIME: when the last message of the old one and the
    /// first of the new one were made, and when the latter arrived.
    Restarted { last_ns: u64, first_ns: u64, received_ns: u64 },
    /// A publisher's last word: what it sent, counted by itself.
    Published { topic: String, sent: u64 },
    /// A subscriber's last word about a topic.
    Received(Ledger),
}

impl Report {
    /// Writes the line.
    pub(crate) fn send(&self) {
        let line = serde_json::to_string(self).expect("numbers and text always have a JSON form");
        // If the launcher is gone nobody is left to be told; the leash is cut then, too.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}
