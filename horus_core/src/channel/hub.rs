//! The state that both sides of a channel share: endpoint counts, and sleeping threads.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use horus_shm::internals::endpoint_counts::EndpointCounts;
use horus_shm::internals::wait::LocalEventcount;

/// The shared state of all endpoints of one channel.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) ends: EndpointCounts<AtomicU64>,
    /// Receivers sleep here until there is a message.
    pub(super) message: LocalEventcount,
    /// Senders sleep here until there is a free slot.
    pub(super) room: LocalEventcount,
}

impl Hub {
    /// Returns the registrations of one sender and one receiver.
    pub(super) fn seats() -> (SenderSeat, ReceiverSeat) {
        let (message, room) = (LocalEventcount::new(), LocalEventcount::new());
        let hub = Arc::new(Self { ends: EndpointCounts::one_each(), message, room });
        (SenderSeat(Arc::clone(&hub)), ReceiverSeat(hub))
    }
}

/// The registration of a sender, dropped last. Its drop wakes the receivers, which then see the
/// sender's last messages.
#[derive(Debug)]
pub(super) struct SenderSeat(Arc<Hub>);

/// The registration of a receiver, dropped last. Its drop wakes the senders, which then see the
/// slots that the receiver freed.
#[derive(Debug)]
pub(super) struct ReceiverSeat(Arc<Hub>);

impl SenderSeat {
    /// Registers another sender.
    pub(super) fn another(&self) -> Self {
        self.ends.add_sender();
        Self(Arc::clone(&self.0))
    }

    /// Registers another receiver.
    pub(super) fn receiver(&self) -> ReceiverSeat {
        self.ends.add_receiver();
        ReceiverSeat(Arc::clone(&self.0))
    }
}

impl ReceiverSeat {
    /// Registers another receiver.
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
