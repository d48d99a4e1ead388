//! The stash of an actor: messages that it puts aside, and handles before its other mail later.

use std::collections::VecDeque;

use horus_shm::internals::heap::Event;

use crate::actor::group::Control;

/// A thing to handle, and true if it is counted in the depth of the mailbox.
pub(super) type Kept<M> = (Event<M, Control>, bool);

/// The messages that an actor has put aside.
#[derive(Debug)]
pub(super) struct Stash<M> {
    /// The messages that wait until the actor takes them back.
    aside: Vec<Kept<M>>,
    /// The things that are to be handled next.
    ready: VecDeque<Kept<M>>,
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
    pub(super) fn put(&mut self, message: M, is_counted: bool) {
        self.aside.push((Event::Message(message), is_counted));
    }

    /// Makes all messages that were put aside the next ones, in their order.
    pub(super) fn take_back(&mut self) {
        self.ready.extend(self.aside.drain(..));
    }

    /// Lets something wait behind what is to be handled next.
    pub(super) fn wait(&mut self, kept: Kept<M>) {
        self.ready.push_back(kept);
    }

    /// Makes something the next thing to handle.
    pub(super) fn put_first(&mut self, kept: Kept<M>) {
        self.ready.push_front(kept);
    }

    /// Takes what is to be handled next.
    pub(super) fn next(&mut self) -> Option<Kept<M>> {
        self.ready.pop_front()
    }

    /// Returns true if there is something to handle.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes all stashed messages when the actor ends.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Kept<M>> + use<M> {
        let ready = std::mem::take(&mut self.ready);
        ready.into_iter().chain(std::mem::take(&mut self.aside))
    }
}
