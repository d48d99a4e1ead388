//! The lanes from which a reader may receive messages, as the reader publishes them to threads that
//! wait on its behalf.

use crate::protocol::sync::{Word, edge};

/// The mask of the lanes that a reader has to poll, and the value of the topic's change counter for
/// which the mask was computed.
#[derive(Debug, Default)]
pub struct ReadLanes<W> {
    mask: W,
    /// The value of the change counter for which the mask was computed, plus 1; 0 if no mask was
    /// stored yet.
    as_of: W,
}

impl<W: Word> ReadLanes<W> {
    /// Creates the value from two words, which must be 0. No mask is published yet.
    pub const fn new(mask: W, as_of: W) -> Self {
        Self { mask, as_of }
    }

    /// Stores the mask of the lanes that have to be polled until the topic's change counter changes
    /// again. `change_count` is the value of the change counter for which the mask was computed.
    pub fn publish(&self, mask: u64, change_count: u64) {
        // Relaxed: published by the store below. A thread that sees this mask with an older value
        // of the change counter leaves out only lanes that have nothing by now.
        self.mask.set(mask);
        // ORDERING(read_lanes): pairs with the load in `mask_for_change_count`.
        self.as_of
            .store(change_count.wrapping_add(1), edge::READ_LANES_PUBLISH);
    }

    /// Returns the mask of the lanes that have to be polled while the change counter has the value
    /// `change_count`. Returns `None` if the reader has not computed it yet: each lane has to be
    /// polled.
    pub fn mask_for_change_count(&self, change_count: u64) -> Option<u64> {
        // ORDERING(read_lanes): pairs with the store in `publish`. With a mask of before, a lane
        // that got a publisher would not be polled.
        let as_of = self.as_of.load(edge::READ_LANES_SEE);
        (as_of == change_count.wrapping_add(1)).then(|| self.mask.get())
    }
}
