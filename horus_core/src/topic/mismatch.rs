//! Reports publishers and subscribers of a topic that do not match: logs a line for them, and finds
//! the first difference between their message types.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use horus_shm::internals::ForkLocal;
use horus_shm::{Mismatch, MismatchedPublisher, Participant, RawConsumer, RawProducer};

use super::error::RecvError;
use crate::log::{Level, report_warning_of_kind};
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
    let reason = match found.cause {
        Mismatch::Type => {
            let difference = first_difference(&found.wanted.schema, &found.offered.schema);
            format!("it sends another message: {difference}: use the same message in both programs")
        }
        Mismatch::Reliability => "it offers best effort, and this subscriber requests reliable: \
                                  request best effort, or let the publisher offer reliable"
            .to_owned(),
    };
    log_pair(
        found.publisher.as_ref(),
        "a publisher that has left",
        |publisher| {
            format!("{topic}: nothing from {publisher} reaches this subscriber, because {reason}")
        },
    );
}

/// Logs that an endpoint of this process and another one do not match. `text` returns the line for
/// a text that identifies the process of the other one; that is `text_if_unknown` if it is not
/// known.
fn log_pair(other: Option<&Participant>, text_if_unknown: &str, text: impl Fn(&str) -> String) {
    let process = other.and_then(|other| other.process.as_ref());
    let text_of = |process: Option<String>| text(process.as_deref().unwrap_or(text_if_unknown));
    // WHY without the id of the process: the program may be started again and again.
    let kind = text_of(process.map(|process| format!("a process of {}", process.name)));
    let text = text_of(process.map(ToString::to_string));
    report_warning_of_kind(Level::Warn, format_args!("{kind}"), format_args!("{text}"));
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
        log_pair(Some(&process), "a subscriber", |subscriber| {
            format!("{topic}: nothing from this publisher reaches {subscriber}, because {reason}")
        });
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
