//! The stash of an actor: messages that it puts aside, and handles before its other mail later.

use std::collections::VecDeque;

use horus_shm::internals::heap::Event;

use crate::actor::group::ControlMessage;

/// An event to handle, and true if it is still counted in the depth of the mailbox.
pub(super) type StashedEvent<M> = (Event<M, ControlMessage>, bool);

/// The messages that an actor has put aside.
#[derive(Debug)]
pub(super) struct Stash<M> {
    /// The messages that wait until the actor takes them back.
    aside: Vec<StashedEvent<M>>,
    /// The events that are handled next, before other mail.
    ready: VecDeque<StashedEvent<M>>,
}

impl<M> Default for Stash<M> {
    fn default() -> Self {
        Self {
            aside: Vec::new(),
            ready: VecDeque::new(),
        }
    }
}

impl<M> Stash<M> {
    /// Stores `message` until the actor unstashes its messages.
    pub(super) fn stash_message(&mut self, message: M, is_counted: bool) {
        self.aside.push((Event::Message(message), is_counted));
    }

    /// Makes all messages that were put aside the next ones, in their order.
    pub(super) fn unstash_all(&mut self) {
        self.ready.extend(self.aside.drain(..));
    }

    /// Adds an event behind those that are handled next.
    pub(super) fn queue_event(&mut self, kept: StashedEvent<M>) {
        self.ready.push_back(kept);
    }

    /// Makes an event the next one to handle.
    pub(super) fn put_event_first(&mut self, kept: StashedEvent<M>) {
        self.ready.push_front(kept);
    }

    /// Takes the event that is handled next.
    pub(super) fn next(&mut self) -> Option<StashedEvent<M>> {
        self.ready.pop_front()
    }

    /// Returns true if there is an event to handle before other mail.
    #[inline]
    pub(super) fn has_ready_event(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes all stashed messages when the actor ends.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = StashedEvent<M>> + use<M> {
        let ready = std::mem::take(&mut self.ready);
        ready.into_iter().chain(std::mem::take(&mut self.aside))
    }
}
