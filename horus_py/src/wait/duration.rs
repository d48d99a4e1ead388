//! Converts durations that Python code gives in seconds.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Converts `seconds` to a duration. Infinity becomes [`Duration::MAX`].
pub(crate) fn duration_from_secs(seconds: f64) -> PyResult<Duration> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(PyValueError::new_err(format!(
            "a duration of {seconds} seconds: give 0 or more"
        )));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
