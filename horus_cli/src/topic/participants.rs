//! The publishers and subscribers of a topic.

use horus_core::introspect::{Inspector, Participant};

/// Returns the publishers and then the subscribers of a topic, in all processes.
pub(crate) fn participants(topic: &Inspector) -> impl Iterator<Item = Participant> {
    let publishers = topic
        .publishers()
        .into_iter()
        .filter_map(|lane| lane.publisher);
    let subscribers = topic
        .subscribers()
        .into_iter()
        .map(|reader| reader.subscriber);
    publishers.chain(subscribers)
}
