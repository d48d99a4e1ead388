//! The progress of a publisher, as a reader needs it to recognize the publisher in any file.

use std::sync::Arc;

use crate::file::segment::Segment;

/// A publisher at one moment: the number that identifies it, the topic file in which it is, and how
/// much it has sent.
#[derive(Debug, Clone, Copy)]
pub struct PublisherProgress<'a> {
    /// The random number that identifies the publisher, also after it has moved to another file.
    pub(crate) session_id: u64,
    /// The segment (mapped memory) of the publisher's current file.
    pub(crate) segment: &'a Arc<Segment>,
    /// The number of messages that the publisher has sent, as [`RawProducer::position`] counts
    /// them.
    ///
    /// [`RawProducer::position`]: crate::RawProducer::position
    pub(crate) number: u64,
}
