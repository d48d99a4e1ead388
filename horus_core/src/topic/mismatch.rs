//! Reports publishers and subscribers of a topic that do not match: logs a line for them, and finds
//! the first difference between their message types.

use horus_shm::{Mismatch, MismatchedPublisher, RawConsumer, RecvError};

use crate::message::{SchemaDifference, first_difference};

/// Makes the subscriber of `raw` log a line whenever it finds a publisher that does not match it.
pub(super) fn log_mismatches(raw: &mut RawConsumer) {
    raw.set_on_mismatch(log_mismatch);
}

#[cold]
fn log_mismatch(found: &MismatchedPublisher) {
    let topic = found.topic;
    let process = found
        .publisher
        .as_ref()
        .and_then(|publisher| publisher.process.as_ref());
    let publisher = process.map_or_else(
        || "a publisher that has left".to_owned(),
        |process| process.to_string(),
    );
    match found.cause {
        Mismatch::Type => {
            let difference = first_difference(&found.wanted.schema, &found.offered.schema);
            ::log::warn!(
                "{topic}: nothing from {publisher} reaches this subscriber, because it sends \
                 another message: {difference}: use the same message in both programs"
            );
        }
        Mismatch::Reliability => ::log::warn!(
            "{topic}: nothing from {publisher} reaches this subscriber, because it offers best \
             effort, and this subscriber requests reliable: request best effort, or let the \
             publisher offer reliable"
        ),
    }
}

/// Returns the first difference between the message type of a subscriber and that of the publishers
/// that [`RawConsumer::check`] reports. Returns `None` if it reports no publisher of a different
/// type.
#[cold]
pub(super) fn schema_difference(raw: &RawConsumer) -> Option<SchemaDifference> {
    let Err(RecvError::Incompatible {
        lane,
        cause: Mismatch::Type,
        ..
    }) = raw.check()
    else {
        return None;
    };
    let own = &raw.segment().request().type_info;
    let offered = raw.offer_in(lane)?.type_info;
    // WHY: another publisher may have taken the lane meanwhile.
    let differs = !own.is_same_as(&offered);
    differs.then(|| first_difference(&own.schema, &offered.schema))
}
