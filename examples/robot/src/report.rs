//! The reports of a node: lines on its standard output, as text, or as JSON if `ROBOT_REPORTS` is
//! `json`.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;

/// The environment variable that selects JSON.
const VARIABLE: &str = "ROBOT_REPORTS";

/// True if a ledger of this process does not add up.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// Text for the user.
    Text(String),
    /// The monitor received a message of a new IMU process. The times, of CLOCK_REALTIME, are those
    /// of the last message of the old process and of the first message of the new one.
    Restarted { last_ns: u64, first_ns: u64 },
    /// The final report of a publisher: the number of messages that it sent.
    Published { topic: String, sent: u64 },
    /// The final report of a subscriber about one topic.
    Received(Ledger),
}

impl Report {
    /// Writes the report to standard output.
    pub(crate) fn send(&self) {
        if let Self::Received(ledger) = self
            && !ledger.holds()
        {
            // Relaxed: the flag stands alone.
            HAS_FAILED.store(true, Ordering::Relaxed);
        }
        let is_json = std::env::var_os(VARIABLE).is_some_and(|value| value == "json");
        let text = if is_json {
            serde_json::to_string(self).expect("numbers and text always have a JSON form")
        } else {
            self.to_string()
        };
        // A write fails only if the launcher is gone, and then this process ends, too.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Restarted { last_ns, first_ns } => {
                let gap_ms = first_ns.saturating_sub(*last_ns) as f64 / 1e6;
                write!(f, "a new imu: gap {gap_ms:.1} ms between samples")
            }
            Self::Published { topic, sent } => write!(f, "{topic}: {sent} messages sent"),
            Self::Received(ledger) => write!(f, "{}\n{}", Ledger::HEADER, ledger.row()),
        }
    }
}

/// Fails if a ledger that was reported does not add up.
pub(crate) fn verdict() -> crate::Result<()> {
    // Relaxed: as above.
    if HAS_FAILED.load(Ordering::Relaxed) {
        return Err("a ledger does not add up".into());
    }
    Ok(())
}
