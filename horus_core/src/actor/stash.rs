//! The stash of an actor: messages that the actor puts aside, to handle them later but before other
//! mail.

use std::collections::VecDeque;

use horus_shm::internals::heap::Event;

use crate::actor::group::ControlMessage;

/// A message or other event that is stored, and true if it still counts as waiting in the mailbox.
pub(super) type StashedEvent<M> = (Event<M, ControlMessage>, bool);

/// The messages that an actor has put aside to handle them later.
#[derive(Debug)]
pub(super) struct Stash<M> {
    /// The messages that the actor has put aside and not unstashed yet.
    aside: Vec<StashedEvent<M>>,
    /// The events that the actor handles next, before other mail: for example unstashed messages.
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
    /// Puts `message` aside until the actor unstashes its messages. `is_counted` is true if the
    /// message still counts as waiting in the mailbox.
    pub(super) fn stash_message(&mut self, message: M, is_counted: bool) {
        self.aside.push((Event::Message(message), is_counted));
    }

    /// Moves all messages that were put aside, in their order, to the events that are handled next.
    pub(super) fn unstash_all(&mut self) {
        self.ready.extend(self.aside.drain(..));
    }

    /// Adds an event behind the events that are handled next, before other mail.
    pub(super) fn queue_event(&mut self, event: StashedEvent<M>) {
        self.ready.push_back(event);
    }

    /// Puts an event in front of all stored events, so that it is handled next.
    pub(super) fn put_event_first(&mut self, event: StashedEvent<M>) {
        self.ready.push_front(event);
    }

    /// Removes and returns the event that has to be handled next, if there is one.
    pub(super) fn next(&mut self) -> Option<StashedEvent<M>> {
        self.ready.pop_front()
    }

    /// Returns true if there is an event to handle before other mail.
    #[inline]
    pub(super) fn has_ready_event(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Removes and returns all stored events, because the actor ends.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = StashedEvent<M>> + use<M> {
        let ready = std::mem::take(&mut self.ready);
        ready.into_iter().chain(std::mem::take(&mut self.aside))
    }
}
