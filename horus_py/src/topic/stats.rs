//! The message counters of a subscriber.

use horus_core::topic::Stats;
use pyo3::prelude::*;

/// The message counters of a subscriber since it joined: `sent == received + malformed + lost +
/// skipped + waiting` whenever no publisher is sending.
#[pyclass(frozen, eq, name = "Stats", module = "horus")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PyStats(pub(crate) Stats);

#[pymethods]
impl PyStats {
    /// Messages that were delivered to the caller.
    #[getter]
    fn received(&self) -> u64 {
        self.0.received
    }

    /// Messages that were received, but were malformed.
    #[getter]
    fn malformed(&self) -> u64 {
        self.0.malformed
    }

    /// Messages that were overwritten before this subscriber read them, including those that no
    /// call has noticed yet.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }

    /// Messages that `latest()` skipped, while they could still be read.
    #[getter]
    fn skipped(&self) -> u64 {
        self.0.skipped
    }

    /// Messages that were published since this subscriber joined, and that it has not read yet, but
    /// still can.
    #[getter]
    fn waiting(&self) -> u64 {
        self.0.waiting
    }

    /// Messages that were published since this subscriber joined.
    #[getter]
    fn sent(&self) -> u64 {
        self.0.sent
    }

    /// Number of calls that returned no message because the publishers were faster than the
    /// subscriber could read.
    #[getter]
    fn busy(&self) -> u64 {
        self.0.busy
    }

    /// Number of publishers whose memory cannot be mapped. Their messages count as waiting.
    #[getter]
    fn unmapped(&self) -> u64 {
        self.0.unmapped
    }

    fn __repr__(&self) -> String {
        let Stats {
            received,
            malformed,
            lost,
            skipped,
            waiting,
            sent,
            busy,
            unmapped,
        } = self.0;
        format!(
            "<horus.Stats received={received} malformed={malformed} lost={lost} \
             skipped={skipped} waiting={waiting} sent={sent} busy={busy} unmapped={unmapped}>"
        )
    }
}
