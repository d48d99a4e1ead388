//! Waits until a topic has a given number of publishers or subscribers.

use std::time::Duration;

use horus_core::EndpointWaitError;
use pyo3::prelude::*;

use crate::error;
use crate::wait::timeout::WaitPolicy;

/// A function of `horus_core` that waits for a number of endpoints, at most for the given duration.
/// It returns the number of endpoints that it found.
pub(crate) type EndpointWaitFn<T> = fn(&T, usize, Duration) -> Result<usize, EndpointWaitError>;

/// The number of endpoints for which a call waits, and its time limit.
pub(crate) struct WaitArguments {
    count: usize,
    wait_policy: WaitPolicy,
}

impl WaitArguments {
    /// Reads the arguments `count` and `timeout`; the timeout is in seconds. Without a timeout, the
    /// wait has no limit.
    pub(crate) fn read(
        count: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let extracted = count.extract();
        Ok(Self {
            count: extracted
                .map_err(|error| error::prefix_error_text(count.py(), "count", &error))?,
            wait_policy: timeout.map_or(Ok(WaitPolicy::unlimited()), WaitPolicy::from_timeout)?,
        })
    }

    /// Waits until enough endpoints exist, and returns their number. Calls `wait` repeatedly
    /// without the GIL, each time for a part of the remaining time. Between these calls, calls
    /// `check`; an error of `check` ends the wait.
    pub(crate) fn wait<T: Send>(
        self,
        py: Python<'_>,
        end: &mut T,
        wait: EndpointWaitFn<T>,
        check: impl FnMut() -> PyResult<()>,
    ) -> PyResult<usize> {
        let Self { count, wait_policy } = self;
        // WHY exclusive: an endpoint is for one thread at a time, so a shared reference is not for
        // another thread.
        let exclusive = &mut *end;
        let within = move |slice| match wait(exclusive, count, slice) {
            Err(EndpointWaitError::Timeout { .. }) => None,
            result => Some(result),
        };
        let result = wait_policy.wait(py, within, check)?;
        // WHY again after the timeout: the error of this call says how many were found.
        let result = result.unwrap_or_else(|| wait(end, count, Duration::ZERO));
        result.map_err(|error| error::from_endpoint_wait_error(&error))
    }
}
