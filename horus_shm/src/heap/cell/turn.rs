//! One activation of an actor, as its behaviour sees it.

use core::cell::Cell as Flag;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use super::address::{Address, ControlHandle};
use super::{CellPointer, Group, Header};
use crate::protocol::mailbox;

/// One activation of an actor, as its behaviour sees it.
pub struct Activation<'a, M, G: Group> {
    pub(super) cell: CellPointer<G>,
    pub(super) group: &'a G,
    pub(super) worker: &'a mut G::Worker,
    /// Number of messages that may still be handled in this activation.
    pub(super) left: u32,
    /// Number of counted blocks that were handled and have not yet been subtracted from the depth.
    pub(super) handled: u16,
    /// True if the message or control that is being handled is counted in the depth, and has to be
    /// subtracted afterwards.
    in_hand: bool,
    /// True if [`Self::address`] was called since the last call of [`Self::take_address_made`].
    made_address: Flag<bool>,
    message: PhantomData<fn(M)>,
}

impl<'a, M, G: Group> Activation<'a, M, G> {
    pub(super) const fn new(
        cell: CellPointer<G>,
        group: &'a G,
        worker: &'a mut G::Worker,
        left: u32,
    ) -> Self {
        Self {
            cell,
            group,
            worker,
            left,
            handled: 0,
            in_hand: false,
            made_address: Flag::new(false),
            message: PhantomData,
        }
    }

    /// Returns the worker that runs this activation.
    pub fn worker(&mut self) -> &mut G::Worker {
        self.worker
    }

    /// Returns the group that the actor belongs to.
    #[must_use]
    pub fn group(&self) -> &G {
        self.group
    }

    /// Returns a new address of this actor.
    #[must_use]
    pub fn address(&self) -> Address<M, G> {
        self.made_address.set(true);
        self.header().holders.add_address_after_end();
        Address::from_counted(self.cell)
    }

    /// Returns true if [`Self::address`] was called since the last call of this function. The
    /// address may have been dropped by now.
    pub(super) fn take_address_made(&self) -> bool {
        self.made_address.replace(false)
    }

    /// Returns a handle of this actor that does not keep it alive.
    #[must_use]
    pub fn control(&self) -> ControlHandle<G> {
        self.header().holders.add_hold();
        ControlHandle::from_counted(self.cell)
    }

    /// Makes the depth of the mailbox still count the message that is being handled, because the
    /// behaviour puts the message aside. Returns true if the message was counted; the behaviour
    /// then has to call [`Self::release`] when it has handled the message.
    pub fn keep(&mut self) -> bool {
        core::mem::take(&mut self.in_hand)
    }

    /// Subtracts from the depth a message for which [`Self::keep`] returned true.
    pub fn release(&mut self) {
        self.handled += 1;
        self.subtract_in_steps();
    }

    /// Makes a message for which [`Self::keep`] returned true the one that is being handled again.
    /// It is subtracted from the depth afterwards, as a message from the mailbox would be.
    pub fn put_back(&mut self) {
        self.count_handled();
        self.subtract_in_steps();
        self.in_hand = true;
    }

    /// Returns another handle of the group that the actor belongs to.
    #[must_use]
    pub fn group_handle(&self) -> Arc<G> {
        Arc::clone(&self.header().group)
    }

    pub(super) fn header(&self) -> &Header<G> {
        // SAFETY: the runner keeps the cell while the activation lasts.
        unsafe { self.cell.header() }
    }

    /// Notes that an event is being handled. `is_counted` is true if the event is counted in the
    /// depth.
    #[inline(always)]
    pub(super) fn begin_event(&mut self, is_counted: bool) {
        self.subtract_in_steps();
        self.left -= 1;
        self.in_hand = is_counted;
    }

    /// Counts the event that is being handled as handled, if it is counted in the depth.
    #[inline(always)]
    pub(super) fn count_handled(&mut self) {
        self.handled += u16::from(core::mem::take(&mut self.in_hand));
    }

    /// Subtracts the number of handled messages from the depth, once it has reached an eighth of
    /// the capacity.
    ///
    /// WHY not for each message: the cache line that senders write would move to this core each
    /// time.
    #[inline(always)]
    fn subtract_in_steps(&mut self) {
        if self.handled > 0 && self.handled >= self.header().capacity / 8 {
            self.subtract_handled();
        }
    }

    #[inline(always)]
    pub(super) fn subtract_handled(&mut self) {
        let handled = core::mem::take(&mut self.handled);
        if handled > 0 && mailbox::subtract_handled(self.cell, handled) {
            self.notify_room();
        }
    }

    #[cold]
    pub(super) fn notify_room(&self) {
        self.group
            .room_eventcounts()
            .eventcount_of(self.cell.id())
            .notify();
    }
}

impl<M, G: Group> fmt::Debug for Activation<'_, M, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activation")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
