//! Finds out from the published status whether a scheduler still does its work.

use std::time::Duration;

use horus_core::message::SchedulerStatusHeader;
use horus_core::scheduler::SchedulerInfo;

/// Maximum age of the last status of a scheduler that responds. A scheduler publishes its status
/// ten times a second.
const STATUS_AGE_MAX: Duration = Duration::from_secs(2);

/// The condition of a scheduler, as other processes see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// The process is alive, and publishes the status of the scheduler.
    Alive,
    /// The process is alive, but has published no status for some time: it is suspended, or gets no
    /// CPU time.
    NotResponding,
    /// The scheduler has shut down.
    Stopped,
    /// The process has ended without shutting the scheduler down.
    Dead,
}

impl Liveness {
    pub(crate) fn of(info: &SchedulerInfo) -> Self {
        let has_stopped = info
            .status
            .is_some_and(|status| status.state == SchedulerStatusHeader::STATE_STOPPED);
        let is_old = info.status_age().is_some_and(|age| age > STATUS_AGE_MAX);
        match info.is_alive {
            _ if has_stopped => Self::Stopped,
            false => Self::Dead,
            true if is_old => Self::NotResponding,
            true => Self::Alive,
        }
    }
}
