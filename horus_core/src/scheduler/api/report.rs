//! The outcome of a run: a report, and an error that contains the report if a node failed.

use std::fmt;

use crate::scheduler::api::error::StartError;
use crate::scheduler::api::metrics::TickMetrics;
use crate::scheduler::api::plan::NodeClass;

/// The reason why a scheduler stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// Somebody requested the stop: through [`Handle::stop`](crate::scheduler::Handle::stop), in a
    /// tick of a node, or with a command.
    Requested,
    /// The run ended as planned: its duration was over, or the program called
    /// [`Running::finish`](crate::scheduler::Running::finish), or dropped the `Running`. Also the
    /// reason of a run that could not start.
    DurationElapsed,
    /// The process received a termination signal, and no node has failed; the number is that of the
    /// signal.
    Signal(i32),
    /// A node failed or was late, and its policy stopped the run; or a tick of the node did not
    /// end.
    Node {
        /// The name of the node that caused the stop.
        name: String,
        /// The text of the last error of the node that caused the stop.
        error: String,
    },
}

impl StopReason {
    /// Returns true if a node caused the stop, so that all nodes enter their safe states before
    /// they are shut down.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Node { .. })
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("it was asked to stop"),
            Self::DurationElapsed => f.write_str("its time was over"),
            Self::Signal(signal) => write!(f, "the process got signal {signal}"),
            Self::Node { name, error } => write!(f, "node '{name}' failed: {error}"),
        }
    }
}

/// The result of a run. `Display` shows one line for the scheduler and one for each node.
#[derive(Debug, Clone)]
pub struct Report {
    /// The scheduler's name. If another scheduler already had the requested name, a number is
    /// appended.
    pub scheduler: String,
    /// The reason why the scheduler stopped.
    pub reason: StopReason,
    /// The reports of the nodes, in the order in which the nodes were started.
    pub nodes: Vec<NodeReport>,
}

impl Report {
    /// Returns the report of the node called `name`; `None` if there is no such node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// Returns the report if no node caused the stop, even if a signal stopped the run. If a node
    /// caused the stop ([`StopReason::Node`]), returns an error that contains the report.
    ///
    /// # Errors
    ///
    /// Returns [`RunError::Failed`] with the report.
    pub fn into_result(self) -> Result<Self, RunError> {
        if self.reason.is_failure() {
            Err(RunError::Failed(Box::new(self)))
        } else {
            Ok(self)
        }
    }

    /// Returns the exit code with which the process should end: 1 if a node failed, 128 plus the
    /// number of the signal (as shells do) if a signal stopped the run and no node failed, else 0.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.reason {
            StopReason::Signal(signal) => {
                128_u8.saturating_add(u8::try_from(signal).unwrap_or(127))
            }
            StopReason::Node { .. } => 1,
            _ => 0,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scheduler '{}' ended: {}", self.scheduler, self.reason)?;
        self.nodes
            .iter()
            .try_for_each(|node| write!(f, "\n  {node}"))
    }
}

/// The reason why a run was not successful: it could not be started, or a node that failed or was
/// late ended it.
///
/// A program whose `main` returns this error ends with status 1, and shows which node failed and
/// why:
///
/// ```no_run
/// # use horus_core::prelude::*;
/// fn main() -> horus_core::Result<()> {
///     let mut scheduler = Scheduler::new();
///     scheduler.node("beat").build(|_: &mut Context<'_>| println!("tick"))?;
///     scheduler.run()?;
///     Ok(())
/// }
/// ```
///
/// A program that also needs the report after a failure can get it from the error:
///
/// ```no_run
/// # use horus_core::prelude::*;
/// # use horus_core::scheduler::RunError;
/// # let scheduler = Scheduler::new();
/// # use std::io::{self, Write};
/// let report = scheduler.run().or_else(RunError::into_report)?;
/// // Not `println!`: it panics if the run ended because the terminal was closed.
/// let _ = writeln!(io::stdout(), "{report}");
/// # Ok::<(), horus_core::scheduler::StartError>(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scheduler could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A node failed or was late, and its policy ended the run; or a tick of the node did not end.
    /// All other nodes have been shut down.
    #[error("the run of scheduler '{}' ended: {}", .0.scheduler, .0.reason)]
    Failed(Box<Report>),
}

impl RunError {
    /// Returns the report of a run that ended because a node failed or was late.
    ///
    /// # Errors
    ///
    /// Returns [`StartError`] if the scheduler could not be started, so that there is no report.
    pub fn into_report(self) -> Result<Report, StartError> {
        match self {
            Self::Start(error) => Err(error),
            Self::Failed(report) => Ok(*report),
        }
    }

    /// Returns the report of a run that ended because a node failed or was late; `None` if the
    /// scheduler could not be started.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Start(_) => None,
            Self::Failed(report) => Some(report),
        }
    }
}

/// The report of one node of a run.
#[derive(Debug, Clone)]
pub struct NodeReport {
    /// The name of the node.
    pub name: String,
    /// The node's position in the order in which the nodes of the scheduler were started.
    pub(crate) position: usize,
    /// True if the node's last tick, or another call of the node, did not end, and the scheduler
    /// stopped waiting for it.
    pub(crate) hangs: bool,
    /// The class of the node, which says how the scheduler ran it.
    pub class: NodeClass,
    /// The metrics of the node at the end of the run.
    pub metrics: TickMetrics,
    /// The text of the node's last failure; `None` if there was none.
    pub last_error: Option<String>,
    /// The thread settings that the system refused, each with the reason. They concern the CPU, the
    /// priority, locked memory, and CPUs that must not sleep.
    pub refused: Vec<String>,
}

impl fmt::Display for NodeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            class,
            metrics,
            last_error,
            refused,
            ..
        } = self;
        let TickMetrics {
            ticks,
            misses,
            skipped_ticks,
            failures,
            max,
            ..
        } = metrics;
        write!(
            f,
            "{name} ({class:?}): {ticks} ticks, the longest {max:?}, {misses} misses, \
             {skipped_ticks} skipped ticks, {failures} failures"
        )?;
        last_error
            .iter()
            .try_for_each(|error| write!(f, "; last error: {error}"))?;
        refused
            .iter()
            .try_for_each(|refused| write!(f, "; refused: {refused}"))
    }
}
