//! The reports of a process: lines on its standard output, as text, or as JSON if the environment
//! variable `ROBOT_REPORTS` is `json`.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;

/// Name of the environment variable that selects reports in JSON.
const FORMAT_VARIABLE: &str = "ROBOT_REPORTS";

/// True if this process has reported a ledger that does not add up. The process then fails at its
/// end.
static HAS_REPORTED_WRONG_LEDGER: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// A line of text for the user.
    Text(String),
    /// The monitor received a message from a new IMU process. `last_ns` is the timestamp of the
    /// last message of the old process, `first_ns` that of the first message of the new one, both
    /// in nanoseconds of CLOCK_REALTIME.
    Restarted { last_ns: u64, first_ns: u64 },
    /// The final report of a publisher: the number of messages that it sent.
    Published { topic: String, sent: u64 },
    /// The final report of a subscriber: its ledger for one topic.
    Received(Ledger),
}

impl Report {
    /// Writes the report to standard output. Stores whether a ledger failed, for
    /// [`check_reported_ledgers`].
    pub(crate) fn print(&self) {
        if let Self::Received(ledger) = self
            && !ledger.adds_up()
        {
            // Relaxed: the flag stands alone.
            HAS_REPORTED_WRONG_LEDGER.store(true, Ordering::Relaxed);
        }
        let is_json = std::env::var_os(FORMAT_VARIABLE).is_some_and(|value| value == "json");
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
            Self::Received(ledger) => {
                write!(f, "{}\n{}", Ledger::TABLE_HEADER, ledger.format_row())
            }
        }
    }
}

/// Returns an error if this process has reported a ledger that does not add up.
pub(crate) fn check_reported_ledgers() -> crate::Result<()> {
    // Relaxed: as above.
    if HAS_REPORTED_WRONG_LEDGER.load(Ordering::Relaxed) {
        return Err("a ledger does not add up".into());
    }
    Ok(())
}
