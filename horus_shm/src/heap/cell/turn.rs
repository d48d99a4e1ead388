//! An activation (one run of an actor, in which it handles messages) as the behaviour sees it.

use core::cell::Cell as Flag;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use super::address::{Address, ControlHandle};
use super::{CellHeader, CellPointer, Group};
use crate::protocol::mailbox;

/// An activation: one run of an actor, in which it handles messages. The behaviour receives it with
/// each message.
pub struct Activation<'a, M, G: Group> {
    pub(super) cell: CellPointer<G>,
    pub(super) group: &'a G,
    pub(super) worker: &'a mut G::Worker,
    /// Number of messages that the actor may still handle before this activation ends.
    pub(super) messages_left: u32,
    /// Number of handled messages that have not yet been subtracted from the mailbox's depth.
    pub(super) handled: u16,
    /// True if the event that is being handled counts in the mailbox's depth, and has to be
    /// subtracted from it afterwards.
    in_hand: bool,
    /// True if [`Self::address`] has created an address since the last call of
    /// [`Self::take_made_address_flag`].
    made_address: Flag<bool>,
    message: PhantomData<fn(M)>,
}

impl<'a, M, G: Group> Activation<'a, M, G> {
    pub(super) const fn new(
        cell: CellPointer<G>,
        group: &'a G,
        worker: &'a mut G::Worker,
        messages_left: u32,
    ) -> Self {
        Self {
            cell,
            group,
            worker,
            messages_left,
            handled: 0,
            in_hand: false,
            made_address: Flag::new(false),
            message: PhantomData,
        }
    }

    /// Returns the worker that runs the actor now.
    pub fn worker(&mut self) -> &mut G::Worker {
        self.worker
    }

    /// Returns the group to which the actor belongs.
    #[must_use]
    pub fn group(&self) -> &G {
        self.group
    }

    /// Returns a new address of the actor.
    #[must_use]
    pub fn address(&self) -> Address<M, G> {
        self.made_address.set(true);
        self.header().holders.add_address_after_end();
        Address::from_counted_cell(self.cell)
    }

    /// Returns true if [`Self::address`] was called since the last call of this function. The
    /// address may have been dropped by now.
    pub(super) fn take_made_address_flag(&self) -> bool {
        self.made_address.replace(false)
    }

    /// Returns a handle by which controls are sent to the actor. It does not keep the actor alive.
    #[must_use]
    pub fn control_handle(&self) -> ControlHandle<G> {
        self.header().holders.add_hold();
        ControlHandle::from_counted_cell(self.cell)
    }

    /// Makes the mailbox go on counting the message that is being handled, because the behaviour
    /// puts the message aside for later. Returns true if the message was counted at all; the
    /// behaviour then has to call [`Self::stop_counting_kept_message`] when it has handled the
    /// message.
    pub fn keep_counting_if_counted(&mut self) -> bool {
        core::mem::take(&mut self.in_hand)
    }

    /// Makes the mailbox stop counting a message that was put aside, and for which
    /// [`Self::keep_counting_if_counted`] has returned true.
    pub fn stop_counting_kept_message(&mut self) {
        self.handled += 1;
        self.subtract_handled_messages_if_many();
    }

    /// Makes a message that was put aside, and for which [`Self::keep_counting_if_counted`]
    /// returned true, the message that is being handled again. When it has been handled, it is
    /// subtracted from the mailbox's depth like any other message.
    pub fn begin_kept_message(&mut self) {
        self.count_handled_message();
        self.subtract_handled_messages_if_many();
        self.in_hand = true;
    }

    /// Returns a new reference to the group to which the actor belongs.
    #[must_use]
    pub fn group_handle(&self) -> Arc<G> {
        Arc::clone(&self.header().group)
    }

    pub(super) fn header(&self) -> &CellHeader<G> {
        // SAFETY: the runner keeps the cell while the activation lasts.
        unsafe { self.cell.header() }
    }

    /// Records that the actor begins to handle an event. `is_counted` says whether it counts in the
    /// mailbox's depth.
    #[inline(always)]
    pub(super) fn begin_event(&mut self, is_counted: bool) {
        self.subtract_handled_messages_if_many();
        self.messages_left -= 1;
        self.in_hand = is_counted;
    }

    /// Records that the present event has been handled, so that it is later subtracted from the
    /// mailbox's depth if it counts there.
    #[inline(always)]
    pub(super) fn count_handled_message(&mut self) {
        self.handled += u16::from(core::mem::take(&mut self.in_hand));
    }

    /// Subtracts the number of handled messages from the mailbox's depth, once that number has
    /// reached an eighth of the capacity.
    ///
    /// WHY not for each message: the cache line that senders write would move to this core each
    /// time.
    #[inline(always)]
    fn subtract_handled_messages_if_many(&mut self) {
        if self.handled > 0 && self.handled >= self.header().capacity / 8 {
            self.subtract_handled_messages();
        }
    }

    #[inline(always)]
    pub(super) fn subtract_handled_messages(&mut self) {
        let handled = core::mem::take(&mut self.handled);
        if handled > 0 && mailbox::subtract_handled_messages(self.cell, handled) {
            self.wake_room_waiters();
        }
    }

    #[cold]
    pub(super) fn wake_room_waiters(&self) {
        self.group
            .mailbox_room_eventcounts()
            .eventcount_of(self.cell.id())
            .notify();
    }
}

impl<M, G: Group> fmt::Debug for Activation<'_, M, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activation")
            .field("messages_left", &self.messages_left)
            .finish_non_exhaustive()
    }
}
