//! The faults of a publisher and a subscriber of one topic that do not match, so that no message
//! passes between them.

use horus_core::Mismatch;
use horus_core::introspect::Inspector;

use super::Finding;
use crate::output::format::visible;
use crate::topic::info::UnmatchedEndpoints;

/// Returns a fault for each pair of a live publisher and a live subscriber of the topic `name` that
/// do not match.
pub(super) fn find_unmatched_pairs(name: &str, topic: &Inspector) -> Vec<Finding> {
    let pairs = topic.unmatched_pairs();
    let faults = pairs.iter().map(|pair| {
        let found = format!(
            "{}: {}",
            visible(name),
            UnmatchedEndpoints::new(pair).describe()
        );
        mismatch_fault(pair.cause, found)
    });
    faults.collect()
}

/// Returns the fault of a publisher and a subscriber that do not match. `found` names them.
pub(super) fn mismatch_fault(cause: Mismatch, found: String) -> Finding {
    match cause {
        Mismatch::Reliability => {
            let advice = "the subscriber gets nothing from it: Qos::reliable() for both, or for \
                          none";
            Finding::fault("reliability", found, advice)
        }
        Mismatch::Type => {
            let advice = "the subscriber gets nothing from it: use the same message in both \
                          programs, or another topic";
            Finding::fault("message", found, advice)
        }
    }
}
