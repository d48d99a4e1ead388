//! Timeouts of calls, which wait without the GIL and handle signals between slices of the wait.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error;
use crate::wait::duration::seconds;
use crate::wait::gil::detached;

/// The time between two checks for signals: Ctrl-C takes no longer to be noticed.
const SLICE: Duration = Duration::from_millis(40);

/// The time for which a call may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitPolicy {
    /// `None`: as long as it takes.
    end: Option<Instant>,
}

impl WaitPolicy {
    /// Of a `timeout` in seconds.
    pub(crate) fn of(timeout: &Bound<'_, PyAny>) -> PyResult<Self> {
        let seconds = timeout.extract().and_then(seconds);
        let timeout = seconds.map_err(|error| error::within(timeout.py(), "timeout", &error))?;
        Ok(Self { end: Instant::now().checked_add(timeout) })
    }

    pub(crate) const fn endless() -> Self {
        Self { end: None }
    }

    /// Calls `wait` without the GIL, slice after slice, until it has something or the time is
    /// over. Between two slices, signals are handled and `check` is asked.
    pub(crate) fn wait<T: Send>(
        self,
        py: Python<'_>,
        mut wait: impl FnMut(Duration) -> Option<T> + Send,
        mut check: impl FnMut() -> PyResult<()>,
    ) -> PyResult<Option<T>> {
        loop {
            let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            if let Some(result) = detached(py, || wait(slice)) {
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
