//! The state that the endpoints of a channel share: the number of endpoints, and the eventcounts on
//! which threads sleep.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use horus_shm::internals::endpoint_counts::EndpointCounts;
use horus_shm::internals::wait::LocalEventcount;

/// The shared state of all endpoints of one channel.
#[derive(Debug)]
pub(super) struct ChannelShared {
    pub(super) ends: EndpointCounts<AtomicU64>,
    /// The eventcount on which receivers sleep until there is a message.
    pub(super) message: LocalEventcount,
    /// The eventcount on which senders sleep until there is a free slot.
    pub(super) room: LocalEventcount,
}

impl ChannelShared {
    /// Creates the shared state of a channel, and registers one sender and one receiver.
    pub(super) fn register_sender_and_receiver() -> (SenderRegistration, ReceiverRegistration) {
        let message = LocalEventcount::new();
        let room = LocalEventcount::new();
        let shared = Arc::new(Self {
            ends: EndpointCounts::with_one_sender_and_receiver(),
            message,
            room,
        });
        (
            SenderRegistration(Arc::clone(&shared)),
            ReceiverRegistration(shared),
        )
    }
}

/// Counts a sender in its channel until it is dropped, and gives it the channel's shared state. It
/// must be dropped after the sender's other fields: its drop wakes the receivers, which then see
/// the sender's last messages.
#[derive(Debug)]
pub(super) struct SenderRegistration(Arc<ChannelShared>);

/// Counts a receiver in its channel until it is dropped, and gives it the channel's shared state.
/// It must be dropped after the receiver's other fields: its drop wakes the senders, which then
/// see the slots that the receiver freed.
#[derive(Debug)]
pub(super) struct ReceiverRegistration(Arc<ChannelShared>);

impl SenderRegistration {
    /// Adds one to the channel's number of senders. Returns the registration of the new sender.
    pub(super) fn register_another(&self) -> Self {
        self.ends.add_sender();
        Self(Arc::clone(&self.0))
    }

    /// Adds one to the channel's number of receivers. Returns the registration of the new receiver.
    pub(super) fn register_receiver(&self) -> ReceiverRegistration {
        self.ends.add_receiver();
        ReceiverRegistration(Arc::clone(&self.0))
    }
}

impl ReceiverRegistration {
    /// Adds one to the channel's number of receivers. Returns the registration of the new receiver.
    pub(super) fn register_another(&self) -> Self {
        self.ends.add_receiver();
        Self(Arc::clone(&self.0))
    }
}

impl Deref for SenderRegistration {
    type Target = ChannelShared;

    #[inline(always)]
    fn deref(&self) -> &ChannelShared {
        &self.0
    }
}

impl Deref for ReceiverRegistration {
    type Target = ChannelShared;

    #[inline(always)]
    fn deref(&self) -> &ChannelShared {
        &self.0
    }
}

impl Drop for SenderRegistration {
    fn drop(&mut self) {
        self.message.notify();
    }
}

impl Drop for ReceiverRegistration {
    fn drop(&mut self) {
        self.room.notify();
    }
}
