//! Timeouts of blocking calls. Such a call waits without the GIL, and handles signals at short
//! intervals.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error;
use crate::wait::duration::duration_from_secs;
use crate::wait::gil::run_detached;

/// The time between two checks for signals during a wait. A Ctrl-C takes effect after at most this
/// time.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(40);

/// The time limit of a call that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitPolicy {
    /// The time at which the call stops waiting; `None` if it may wait without a limit.
    end: Option<Instant>,
}

impl WaitPolicy {
    /// Converts the Python argument `timeout`, in seconds, to a limit that begins now.
    pub(crate) fn from_timeout(timeout: &Bound<'_, PyAny>) -> PyResult<Self> {
        let seconds = timeout.extract().and_then(duration_from_secs);
        let timeout =
            seconds.map_err(|error| error::prefix_error_text(timeout.py(), "timeout", &error))?;
        Ok(Self {
            end: Instant::now().checked_add(timeout),
        })
    }

    pub(crate) const fn unlimited() -> Self {
        Self { end: None }
    }

    /// Returns true if the time limit has been reached.
    pub(crate) fn is_over(self) -> bool {
        self.end.is_some_and(|end| end <= Instant::now())
    }

    /// Calls `wait` repeatedly without the GIL, each time for a part of the remaining time, until
    /// `wait` returns a result. Returns `None` if the time is over before that. Between two calls,
    /// handles signals and calls `check`; an error of `check` ends the wait.
    pub(crate) fn wait<T: Send>(
        self,
        py: Python<'_>,
        mut wait: impl FnMut(Duration) -> Option<T> + Send,
        mut check: impl FnMut() -> PyResult<()>,
    ) -> PyResult<Option<T>> {
        loop {
            let left = self
                .end
                .map(|end| end.saturating_duration_since(Instant::now()));
            let slice = left.map_or(SIGNAL_CHECK_INTERVAL, |left| {
                left.min(SIGNAL_CHECK_INTERVAL)
            });
            if let Some(result) = run_detached(py, || wait(slice)) {
                return Ok(Some(result));
            }
            py.check_signals()?;
            check()?;
            if left == Some(slice) {
                return Ok(None);
            }
        }
    }
}
