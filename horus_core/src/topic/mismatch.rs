//! Reports publishers and subscribers of a topic that do not match: logs a line for them, and finds
//! the first difference between their message types.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use horus_shm::internals::ForkLocal;
use horus_shm::{Mismatch, MismatchedPublisher, Participant, RawConsumer, RawProducer};

use super::error::RecvError;
use crate::log::{Level, report_warning};
use crate::message::{SchemaDifference, first_difference};

/// Maximum number of texts in [`SCHEMA_DIFFERENCE_TEXTS`]. WHY: other programs choose the names in
/// them.
const SCHEMA_DIFFERENCE_TEXTS_MAX: usize = 64;

/// The texts of all differences that errors of this process have named.
static SCHEMA_DIFFERENCE_TEXTS: ForkLocal<Mutex<BTreeSet<&'static str>>> = ForkLocal::new();

/// Makes the subscriber of `raw` log a line whenever it finds a publisher that does not match it.
pub(super) fn log_mismatches(raw: &mut RawConsumer) {
    raw.set_on_mismatch(log_mismatch);
}

#[cold]
fn log_mismatch(found: &MismatchedPublisher) {
    let topic = found.topic;
    let publisher = describe_process(found.publisher.as_ref(), "a publisher that has left");
    match found.cause {
        Mismatch::Type => {
            let difference = first_difference(&found.wanted.schema, &found.offered.schema);
            let text = format_args!(
                "{topic}: nothing from {publisher} reaches this subscriber, because it sends \
                 another message: {difference}: use the same message in both programs"
            );
            report_warning(Level::Warn, text);
        }
        Mismatch::Reliability => report_warning(
            Level::Warn,
            format_args!(
                "{topic}: nothing from {publisher} reaches this subscriber, because it offers best \
                 effort, and this subscriber requests reliable: request best effort, or let the \
                 publisher offer reliable"
            ),
        ),
    }
}

/// Returns a text that identifies the process of an endpoint; `text_if_unknown` if it is not known.
fn describe_process(endpoint: Option<&Participant>, text_if_unknown: &str) -> String {
    let process = endpoint.and_then(|endpoint| endpoint.process.as_ref());
    process.map_or_else(|| text_if_unknown.to_owned(), |process| process.to_string())
}

/// Logs a line for each present subscriber that a new publisher does not match. A subscriber that
/// comes later logs such a line itself.
pub(super) fn log_unmatched_subscribers(raw: &RawProducer) {
    let topic = raw.segment().label();
    for reader in raw.segment().joined_readers() {
        let reason = match raw.match_settings().mismatch(&reader.match_settings) {
            Some(Mismatch::Type) => {
                "it reads another message: use the same message in both programs"
            }
            Some(Mismatch::Reliability) => {
                "it requests reliable, and this publisher offers best effort: offer reliable, or \
                 let the subscriber request best effort"
            }
            None => continue,
        };
        let process = raw.segment().process_of(reader.owner_id);
        let subscriber = describe_process(Some(&process), "a subscriber");
        let text = format_args!(
            "{topic}: nothing from this publisher reaches {subscriber}, because {reason}"
        );
        report_warning(Level::Warn, text);
    }
}

/// Returns the first difference between the message types of a subscriber and of the publisher that
/// [`RawConsumer::mismatched_publisher`] returns. Returns `None` if there is no such publisher, or
/// if it has the same message type.
#[cold]
pub(super) fn schema_difference(raw: &RawConsumer) -> Option<SchemaDifference> {
    let found = raw.mismatched_publisher()?;
    let is_type = found.cause == Mismatch::Type;
    is_type.then(|| first_difference(&found.wanted.schema, &found.offered.schema))
}

/// Adds the first difference between the message types to an error that has none. `raw` is the
/// subscriber whose call returned the error.
#[cold]
pub(super) fn add_schema_difference(raw: &RawConsumer, mut error: RecvError) -> RecvError {
    if let RecvError::Incompatible { difference, .. } = &mut error
        && let Some(found) = schema_difference(raw)
    {
        *difference = intern_text(&found.to_string());
    }
    error
}

/// Returns a copy of `text` that lives as long as the process, and is made only once. Returns
/// `None` if there are [`SCHEMA_DIFFERENCE_TEXTS_MAX`] other ones already.
///
/// WHY: errors can then be copied.
fn intern_text(text: &str) -> Option<&'static str> {
    // WHY poison is ignored: an insertion that panics leaves the set unchanged.
    let mut texts = SCHEMA_DIFFERENCE_TEXTS
        .get()
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return Some(known);
    }
    if texts.len() == SCHEMA_DIFFERENCE_TEXTS_MAX {
        return None;
    }
    let text: &'static str = Box::leak(text.into());
    texts.insert(text);
    Some(text)
}
