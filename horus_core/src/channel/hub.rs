//! What the two sides of a channel know of each other: who is there, and who sleeps.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use horus_shm::internals::endpoint_counts::EndpointCounts;
use horus_shm::internals::wait::EventCount;

/// Where the ends of one channel meet.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) ends: EndpointCounts<AtomicU64>,
    /// Where receivers sleep until there is a message.
    pub(super) message: EventCount,
    /// Where senders sleep until there is room.
    pub(super) room: EventCount,
}

impl Hub {
    /// For one sender and one receiver.
    pub(super) fn seats() -> (SenderSeat, ReceiverSeat) {
        let (message, room) = (EventCount::new(), EventCount::new());
        let hub = Arc::new(Self { ends: EndpointCounts::one_each(), message, room });
        (SenderSeat(Arc::clone(&hub)), ReceiverSeat(hub))
    }
}

/// A sender's place, the last thing that it gives up: wakes the receivers, who then see what the
/// sender left.
#[derive(Debug)]
pub(super) struct SenderSeat(Arc<Hub>);

/// A receiver's place, the last thing that it gives up: wakes the senders, who then see what the
/// receiver left.
#[derive(Debug)]
pub(super) struct ReceiverSeat(Arc<Hub>);

impl SenderSeat {
    /// One for another sender.
    pub(super) fn another(&self) -> Self {
        self.ends.add_sender();
        Self(Arc::clone(&self.0))
    }

    /// One for another receiver.
    pub(super) fn receiver(&self) -> ReceiverSeat {
        self.ends.add_receiver();
        ReceiverSeat(Arc::clone(&self.0))
    }
}

impl ReceiverSeat {
    /// One for another receiver.
    pub(super) fn another(&self) -> Self {
        self.ends.add_receiver();
        Self(Arc::clone(&self.0))
    }
}

impl Deref for SenderSeat {
    type Target = Hub;

    #[inline(always)]
    fn deref(&self) -> &Hub {
        &self.0
    }
}

impl Deref for ReceiverSeat {
    type Target = Hub;

    #[inline(always)]
    fn deref(&self) -> &Hub {
        &self.0
    }
}

impl Drop for SenderSeat {
    fn drop(&mut self) {
        self.message.notify();
    }
}

impl Drop for ReceiverSeat {
    fn drop(&mut self) {
        self.room.notify();
    }
}
