//! The ledger of a subscriber.

use horus_core::topic::Stats;
use pyo3::prelude::*;

/// The ledger of a subscriber since it joined, in messages:
/// `sent == received + malformed + lost + skipped + waiting` whenever the publishers rest.
#[pyclass(frozen, eq, name = "Stats", module = "horus")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PyStats(pub(crate) Stats);

#[pymethods]
impl PyStats {
    /// Delivered to the caller.
    #[getter]
    fn received(&self) -> u64 {
        self.0.received
    }

    /// Received, but not what the topic carries.
    #[getter]
    fn malformed(&self) -> u64 {
        self.0.malformed
    }

    /// Overwritten before this subscriber came to them.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }

    /// Passed over by asking for the latest only.
    #[getter]
    fn skipped(&self) -> u64 {
        self.0.skipped
    }

    /// Published since this subscriber joined and not yet passed by it.
    #[getter]
    fn waiting(&self) -> u64 {
        self.0.waiting
    }

    /// Published since this subscriber joined.
    #[getter]
    fn sent(&self) -> u64 {
        self.0.sent
    }

    /// Calls that gave up because the writer was faster.
    #[getter]
    fn busy(&self) -> u64 {
        self.0.busy
    }

    /// Publishers whose messages there is no memory to map; they count as waiting.
    #[getter]
    fn unmapped(&self) -> u64 {
        self.0.unmapped
    }

    fn __repr__(&self) -> String {
        let Stats { received, malformed, lost, skipped, waiting, sent, busy, unmapped } = self.0;
        format!(
            "<horus.Stats received={received} malformed={malformed} lost={lost} \
             skipped={skipped} waiting={waiting} sent={sent} busy={busy} unmapped={unmapped}>"
        )
    }
}
