//! The right to run an actor.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::run::Ran;
use super::{Group, Header, Place};
use crate::protocol::sync;

/// The right to run an actor, of which there is at most one. If it is dropped, the actor ends.
pub struct Runnable<G: Group>(Place<G>);

// SAFETY: the state is `Send`, all else in a cell is made for several threads, and the right moves
// with this value.
unsafe impl<G: Group> Send for Runnable<G> {}
// SAFETY: a shared reference only gives access to atomics and constants.
unsafe impl<G: Group> Sync for Runnable<G> {}

impl<G: Group> Runnable<G> {
    /// Returns the right to run the actor of a cell.
    ///
    /// # Safety
    ///
    /// The caller has woken the actor, and gives up the right.
    pub(super) const unsafe fn of(cell: Place<G>) -> Self {
        Self(cell)
    }

    /// Handles up to `max` messages. Returns earlier if the mailbox is empty, or if the behaviour
    /// says so. `group` is that of the actor.
    #[inline]
    pub fn run(self, group: &G, worker: &mut G::Worker, max: u32) -> Ran<G> {
        let cell = ManuallyDrop::new(self).0;
        // SAFETY: an actor with a runner exists, until that ends it.
        let run = unsafe { cell.header() }.table.run;
        // SAFETY: the function is that of this cell, and the right to run it was given up above.
        unsafe { run(cell.0, group, worker, max) }
    }

    /// Calls [`Behaviour::visit`]. All mail stays. `group` is that of the actor.
    pub fn visit(&mut self, group: &G, worker: &mut G::Worker) {
        let visit = self.header().table.visit;
        // SAFETY: the function is that of this cell, and this is the right to run it.
        unsafe { visit(self.0.0, group, worker) }
    }

    /// Gives the right to the workers of the group, or to the thread that runs the actor.
    ///
    /// # Safety
    ///
    /// The caller keeps the cell, also if the actor ends meanwhile.
    #[inline(always)]
    pub(super) unsafe fn schedule(self) {
        let cell = self.0;
        // SAFETY: the contract.
        let header = unsafe { cell.header() };
        let Some(pull) = header.table.pull else {
            return header.group.schedule(self);
        };
        let cell = ManuallyDrop::new(self).0;
        // SAFETY: the function is that of this cell, and the right to run it was given up above.
        unsafe { pull(cell.0) };
    }

    /// Returns the number of the worker that ran the actor last, as [`Self::set_last_worker`] set
    /// it.
    #[must_use]
    pub fn last_worker(&self) -> u8 {
        sync::load_hint(&self.header().last_worker)
    }

    /// Notes the worker that runs the actor.
    pub fn set_last_worker(&self, worker: u8) {
        sync::store_hint(&self.header().last_worker, worker);
    }

    /// Returns a number that no other actor has while this one exists.
    #[must_use]
    pub fn id(&self) -> usize {
        self.0.id()
    }

    /// Turns the right to run the actor into a raw pointer, for a queue.
    #[must_use]
    pub fn into_raw(self) -> NonNull<Header<G>> {
        ManuallyDrop::new(self).0.0
    }

    /// Returns the right that [`Self::into_raw`] gave up.
    ///
    /// # Safety
    ///
    /// `raw` was returned by [`Self::into_raw`], and is used once.
    #[must_use]
    pub const unsafe fn from_raw(raw: NonNull<Header<G>>) -> Self {
        Self(Place(raw))
    }

    fn header(&self) -> &Header<G> {
        // SAFETY: an actor with a runner exists.
        unsafe { self.0.header() }
    }
}

impl<G: Group> Drop for Runnable<G> {
    fn drop(&mut self) {
        // WHY: in a forked child the behaviour belongs to threads that do not exist.
        if !self.0.is_foreign() {
            let end = self.header().table.end;
            // SAFETY: the function is that of this cell, and the right to run it ends here.
            unsafe { end(self.0.0) };
        }
    }
}

impl<G: Group> fmt::Debug for Runnable<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Runnable").field(&self.id()).finish()
    }
}
