//! What a run came to.

use super::plan::Class;
use super::pulse::Figures;
use super::runner::Runner;
use super::shared::Reason;

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Report {
    /// What the scheduler was called: what was asked for, or that with a number behind it.
    pub scheduler: String,
    /// Why it ended.
    pub reason: Reason,
    /// The nodes, in the order in which they were started.
    pub nodes: Vec<NodeReport>,
}

impl Report {
    /// The node of this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// What the process is to exit with: 0, 1 if a node failed, or, as shells expect it, 128 and
    /// the number of the signal.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.reason {
            Reason::Signal(signal) => 128_u8.saturating_add(u8::try_from(signal).unwrap_or(127)),
            Reason::Node { .. } => 1,
            _ => 0,
        }
    }
}

/// What one node did in a run.
#[derive(Debug, Clone)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// Its place in the order of start.
    pub(super) position: usize,
    /// Who ran it.
    pub class: Class,
    /// What it did.
    pub figures: Figures,
    /// What it said when it failed last.
    pub last_error: Option<String>,
    /// What its thread was to have and could not, with the reason: a core, a priority, memory that
    /// stays, processors that stay awake.
    pub refused: Vec<String>,
}

impl NodeReport {
    pub(super) fn of(runner: &Runner) -> Self {
        Self {
            name: runner.plan().name.clone(),
            position: runner.position(),
            class: runner.plan().class,
            figures: runner.pulse().figures(),
            last_error: runner.last_error().map(str::to_owned),
            refused: runner.refused().to_vec(),
        }
    }
}
