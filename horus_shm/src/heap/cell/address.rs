//! Addresses and handles, by which messages and controls are sent to an actor.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use super::run::Runnable;
use super::{
    CONTROL_BLOCK_KIND, CellHeader, CellPointer, Group, LATEST_ONLY_CAPACITY, MESSAGE_BLOCK_KIND,
    NOTICE_BLOCK_KIND, drop_replaced_message,
};
use crate::heap::blocks::{self, BlockClass, Envelope};
use crate::protocol::latest::{self, PutOutcome};
use crate::protocol::life;
use crate::protocol::mailbox::{self, BlockList, MailboxMemory, PushOutcome, RefusalReason, Tag};
use crate::wait::WaitPolicy;

/// The reason why a mailbox refused a message or control, together with that message or control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal<T> {
    /// The mailbox is full. Transient: try again after the actor has handled messages.
    Full(T),
    /// The actor has ended, or belongs to a parent process. Permanent.
    Disconnected(T),
}

impl<T> Refusal<T> {
    /// Returns the message or control that was refused.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Disconnected(value) => value,
        }
    }

    fn from_reason(reason: RefusalReason, value: T) -> Self {
        match reason {
            RefusalReason::Full => Self::Full(value),
            RefusalReason::Gone => Self::Disconnected(value),
        }
    }
}

impl<T> fmt::Display for Refusal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the mailbox is full",
            Self::Disconnected(_) => "the actor has ended",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for Refusal<T> {}

/// The reason why a mailbox did not accept a message within a time limit. Contains the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitRefusal<T> {
    /// The mailbox stayed full until the time limit passed. Transient: try again later.
    Timeout(T),
    /// The actor has ended, or belongs to a parent process. Permanent.
    Disconnected(T),
}

/// The effect of an accepted message on the actor's mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// The message is in the mailbox, behind all earlier ones.
    Added,
    /// The message has replaced an older one, which was dropped. Occurs only for a mailbox that
    /// keeps only the latest message.
    Replaced,
}

/// An address of an actor, which keeps the actor alive. Its size is eight bytes.
///
/// After the last address is dropped, the actor handles its remaining mail and then ends.
pub struct Address<M, G: Group>(CellPointer<G>, PhantomData<fn(M)>);

// SAFETY: messages are `Send`, and all that an address accesses is made for several threads.
unsafe impl<M, G: Group> Send for Address<M, G> {}
// SAFETY: as above.
unsafe impl<M, G: Group> Sync for Address<M, G> {}

impl<M: Send + 'static, G: Group> Address<M, G> {
    /// Sends `message`. Lock-free; does not allocate if the thread has a free block.
    ///
    /// # Errors
    ///
    /// [`Refusal`], with the message. If the mailbox keeps only the latest message, and the actor
    /// ends during the call, the error may contain a newer message that has replaced this one.
    ///
    /// WHY always inlined: the message is then written directly into its block. Otherwise it would
    /// first be written to the caller's stack in small parts, and the wider loads that copy it from
    /// there would have to wait for these writes.
    #[inline(always)]
    pub fn send(&self, message: M) -> Result<SendOutcome, Refusal<M>> {
        if self.0.belongs_to_parent_process() {
            return Err(Refusal::Disconnected(message));
        }
        let header = self.header();
        if header.capacity == LATEST_ONLY_CAPACITY {
            return self.put_latest_message(Envelope::new(message));
        }
        if let Some(refused) = self.current_refusal_reason() {
            return Err(Refusal::from_reason(refused, message));
        }
        self.push_message(Envelope::new(message))
            .map(|()| SendOutcome::Added)
            .map_err(|refusal| match refusal {
                Refusal::Full(envelope) => Refusal::Full(envelope.into_inner()),
                Refusal::Disconnected(envelope) => Refusal::Disconnected(envelope.into_inner()),
            })
    }

    /// Returns the reason why a message would be refused now; `None` if it would be accepted.
    #[inline(always)]
    fn current_refusal_reason(&self) -> Option<RefusalReason> {
        let header = self.header();
        if header.is_bounded() {
            mailbox::refusal_reason(self.0, header.capacity)
        } else {
            mailbox::has_actor_ended(self.0).then_some(RefusalReason::Gone)
        }
    }

    #[inline(always)]
    fn push_message(&self, envelope: Envelope<M>) -> Result<(), Refusal<Envelope<M>>> {
        let header = self.header();
        let tag = Envelope::<M>::block_tag(MESSAGE_BLOCK_KIND, header.is_bounded());
        // SAFETY: the address keeps the cell, whose messages are of this type.
        unsafe { push_envelope(self.0, envelope, tag) }
    }

    /// Sends `message`. If the mailbox is full, waits for room until the deadline of `wait_policy`.
    ///
    /// # Errors
    ///
    /// [`WaitRefusal`], with the message.
    pub fn send_waiting_for_room(
        &self,
        message: M,
        wait_policy: WaitPolicy,
    ) -> Result<SendOutcome, WaitRefusal<M>> {
        let mut message = match self.send(message) {
            Ok(sent) => return Ok(sent),
            Err(Refusal::Disconnected(message)) => return Err(WaitRefusal::Disconnected(message)),
            Err(Refusal::Full(message)) => Some(Envelope::new(message)),
        };
        let header = self.header();
        let eventcounts = header.group.mailbox_room_eventcounts();
        let event = eventcounts.eventcount_of(self.0.id());
        let sent = event.wait_until(wait_policy, || {
            loop {
                match self.push_message(message.take()?) {
                    Ok(()) => return Some(true),
                    Err(Refusal::Full(envelope)) => message = Some(envelope),
                    Err(Refusal::Disconnected(envelope)) => {
                        message = Some(envelope);
                        return Some(false);
                    }
                }
                if mailbox::try_mark_room_wanted(self.0, header.capacity) {
                    return None;
                }
            }
        });
        match (sent, message.map(Envelope::into_inner)) {
            (Some(false), Some(message)) => Err(WaitRefusal::Disconnected(message)),
            (None, Some(message)) => Err(WaitRefusal::Timeout(message)),
            _ => Ok(SendOutcome::Added),
        }
    }

    /// Sends all `messages` at once, in their order, or none of them. No message of another sender
    /// comes between them. In a mailbox that keeps only the latest message, only the last remains.
    ///
    /// # Errors
    ///
    /// [`Refusal`], with all messages. Instead of the last one, it may contain a newer message of
    /// another sender, as for [`Self::send`].
    pub fn send_all(&self, messages: impl IntoIterator<Item = M>) -> Result<(), Refusal<Vec<M>>> {
        let mut messages = messages.into_iter();
        let Some(first) = messages.next() else {
            return Ok(());
        };
        let header = self.header();
        if self.0.belongs_to_parent_process() {
            return Err(Refusal::Disconnected(
                [first].into_iter().chain(messages).collect(),
            ));
        }
        if header.capacity == LATEST_ONLY_CAPACITY {
            return self.put_last_as_latest_message(first, messages);
        }
        let tag = Envelope::<M>::block_tag(MESSAGE_BLOCK_KIND, header.is_bounded());
        let mut unsent = UnsentChain::with_first(self, first, tag);
        messages.for_each(|message| unsent.append(message, tag));
        unsent.send()
    }

    /// Puts the last message into the actor's slot for the latest message, and drops the others.
    /// Only for a mailbox that keeps only the latest message.
    fn put_last_as_latest_message(
        &self,
        first: M,
        messages: impl Iterator<Item = M>,
    ) -> Result<(), Refusal<Vec<M>>> {
        // WHY kept: if the actor has ended, none of them was sent, and all come back.
        let (mut older, mut latest) = (Vec::new(), first);
        for message in messages {
            older.push(core::mem::replace(&mut latest, message));
        }
        let sent = self.put_latest_message(Envelope::new(latest));
        sent.map(drop).map_err(|refusal| {
            older.push(refusal.into_inner());
            Refusal::Disconnected(older)
        })
    }

    /// Puts `message` into the slot of a mailbox that keeps only the latest message.
    ///
    /// WHY an envelope: a plain message would be copied once more when passed to this function.
    fn put_latest_message(&self, message: Envelope<M>) -> Result<SendOutcome, Refusal<M>> {
        let header = self.header();
        if mailbox::has_actor_ended(self.0) {
            return Err(Refusal::Disconnected(message.into_inner()));
        }
        let own = message.into_block_address();
        let notice = blocks::allocate_block(NOTICE_BLOCK_CLASS);
        let tag = blocks::make_block_tag(NOTICE_BLOCK_KIND, NOTICE_BLOCK_CLASS, false);
        let chain = BlockList::of_block(blocks::block_address(notice), tag);
        // SAFETY: the address keeps the cell; message and block are this thread's.
        let put = unsafe { latest::put_latest(self.0, &header.slot, own, chain) };
        let (other, is_gone) = match put {
            PutOutcome::Sent(pushed) => {
                schedule_if_woken(self.0, pushed);
                return Ok(SendOutcome::Added);
            }
            PutOutcome::Replaced(older) => (older, false),
            PutOutcome::Gone(left) => (left, true),
        };
        // SAFETY: the block was not sent, and is this thread's again.
        unsafe { blocks::free_block(notice, NOTICE_BLOCK_CLASS) };
        // SAFETY: a block from the slot has a message.
        let other = unsafe { Envelope::<M>::from_block_address(other) };
        if is_gone {
            // WHY the message that was found, which may be that of a sender that replaced this one:
            // each message then is handled, replaced, undelivered or refused, and counted once.
            return Err(Refusal::Disconnected(other.into_inner()));
        }
        drop_replaced_message(&*header.group, other);
        Ok(SendOutcome::Replaced)
    }
}

/// A chain of messages that has not been sent yet. Dropping the chain drops the messages. WHY a
/// separate type: the iterator that creates messages may panic, and earlier ones are then dropped.
struct UnsentChain<'a, M, G: Group> {
    address: &'a Address<M, G>,
    chain: BlockList,
}

impl<'a, M, G: Group> UnsentChain<'a, M, G> {
    fn with_first(address: &'a Address<M, G>, message: M, tag: Tag) -> Self {
        let chain = BlockList::of_block(Envelope::new(message).into_block_address(), tag);
        Self { address, chain }
    }

    fn append(&mut self, message: M, tag: Tag) {
        let block = Envelope::new(message).into_block_address();
        // SAFETY: the block is this thread's.
        unsafe { self.address.0.set_link(block, self.chain.link(tag)) };
        self.chain = self.chain.with_newest(block, tag);
    }

    fn send(self) -> Result<(), Refusal<Vec<M>>> {
        let unsent = ManuallyDrop::new(self);
        // SAFETY: the address keeps the cell, the blocks are this thread's and linked as a chain.
        let pushed = unsafe { push_chain(unsent.address.0, unsent.chain) };
        // SAFETY: the chain was refused, so it is this thread's again, and is not dropped.
        pushed.map_err(|refused| Refusal::from_reason(refused, unsafe { unsent.take_messages() }))
    }

    /// Moves the messages out of the chain, oldest first.
    ///
    /// # Safety
    ///
    /// The chain belongs to the caller, and is not used again.
    #[cold]
    unsafe fn take_messages(&self) -> Vec<M> {
        let mut messages = Vec::new();
        let mut block = self.chain.newest;
        loop {
            // WHY before the link: that of the oldest one was perhaps never stored.
            let is_oldest = block == self.chain.oldest;
            let next = if is_oldest {
                0
            } else {
                // SAFETY: a block of the chain behind the oldest one, which is the caller's.
                mailbox::block_address_in_link(unsafe { self.address.0.link(block) })
            };
            // SAFETY: a block of the chain, whose message was not moved out.
            messages.push(unsafe { Envelope::from_block_address(block) }.into_inner());
            if is_oldest {
                break;
            }
            block = next;
        }
        messages.reverse();
        messages
    }
}

impl<M, G: Group> Drop for UnsentChain<'_, M, G> {
    fn drop(&mut self) {
        // SAFETY: the chain was not sent, and is not used after this.
        drop(unsafe { self.take_messages() });
    }
}

/// The size class of the notice: the block that says that the latest message is in its slot.
const NOTICE_BLOCK_CLASS: BlockClass =
    BlockClass::for_bytes(size_of::<u64>()).expect("a word is small");

/// Sends `envelope`. If the mailbox refuses it, returns it in the error.
///
/// # Safety
///
/// The caller keeps the cell alive. `tag` states the kind of the envelope's content, and the
/// content has the type that the cell expects for this kind.
#[inline(always)]
unsafe fn push_envelope<T, G: Group>(
    cell: CellPointer<G>,
    envelope: Envelope<T>,
    tag: Tag,
) -> Result<(), Refusal<Envelope<T>>> {
    let block = envelope.into_block_address();
    // SAFETY: the contract; the block is this thread's.
    unsafe { push_chain(cell, BlockList::of_block(block, tag)) }.map_err(|refused| {
        // SAFETY: the block was refused, and is this thread's again.
        Refusal::from_reason(refused, unsafe { Envelope::from_block_address(block) })
    })
}

/// Sends a chain of blocks, and schedules the actor if it was asleep.
///
/// # Safety
///
/// As [`push_envelope`], for each block of the chain.
#[inline(always)]
unsafe fn push_chain<G: Group>(cell: CellPointer<G>, list: BlockList) -> Result<(), RefusalReason> {
    // SAFETY: the caller keeps the cell.
    let capacity = unsafe { cell.header() }.capacity;
    // SAFETY: the contract.
    schedule_if_woken(cell, unsafe { mailbox::push_chain(cell, list, capacity) }?);
    Ok(())
}

/// Schedules the actor of `cell` if `pushed`, the outcome of a push, says that the push woke the
/// actor. The caller keeps the cell alive.
#[inline(always)]
fn schedule_if_woken<G: Group>(cell: CellPointer<G>, pushed: PushOutcome) {
    if pushed == PushOutcome::Woke {
        // SAFETY: the caller has woken the actor.
        let runnable = unsafe { Runnable::from_woken(cell) };
        // SAFETY: the caller keeps the cell.
        unsafe { runnable.schedule() };
    }
}

impl<M, G: Group> Address<M, G> {
    /// Sends `control`, as [`ControlHandle::send`] does.
    ///
    /// # Errors
    ///
    /// As [`ControlHandle::send`].
    pub fn send_control(&self, control: G::Control) -> Result<(), G::Control> {
        // WHY not dropped: it has no hold of its own, but the address keeps the cell.
        ManuallyDrop::new(ControlHandle(self.0)).send(control)
    }

    /// Returns an address of the actor in `cell`. The caller has already counted the address.
    pub(super) const fn from_counted_cell(cell: CellPointer<G>) -> Self {
        Self(cell, PhantomData)
    }

    /// Returns a number that identifies the actor for as long as this address exists.
    #[must_use]
    pub fn id(&self) -> usize {
        self.0.id()
    }

    /// Returns true if the actor has ended, or was created by a parent process.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.0.belongs_to_parent_process() || mailbox::has_actor_ended(self.0)
    }

    /// Returns the number of messages that were sent to a bounded mailbox and have not been
    /// handled. The result may be too high by up to an eighth of the capacity.
    #[must_use]
    pub fn waiting_messages(&self) -> u32 {
        mailbox::mailbox_depth(self.0)
    }

    /// Returns a weak address, which does not keep the actor alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakAddress<M, G> {
        WeakAddress(self.control_handle(), PhantomData)
    }

    /// Returns a handle by which controls are sent to the actor. It does not keep the actor alive.
    #[must_use]
    pub fn control_handle(&self) -> ControlHandle<G> {
        self.header().holders.add_hold();
        ControlHandle(self.0)
    }

    #[inline(always)]
    fn header(&self) -> &CellHeader<G> {
        // SAFETY: the address keeps the cell.
        unsafe { self.0.header() }
    }
}

impl<M, G: Group> Clone for Address<M, G> {
    fn clone(&self) -> Self {
        self.header().holders.add_address();
        Self::from_counted_cell(self.0)
    }
}

impl<M, G: Group> Drop for Address<M, G> {
    fn drop(&mut self) {
        // WHY: in a forked child, the actor has no runner that could end it.
        if self.0.belongs_to_parent_process() {
            return;
        }
        let cell = self.0;
        // SAFETY: the address is this one, which is not used after this.
        let is_free =
            unsafe { life::remove_address(cell, || schedule_if_woken(cell, PushOutcome::Woke)) };
        if is_free {
            // SAFETY: the last hold was removed.
            unsafe { cell.free() };
        }
    }
}

impl<M, G: Group> PartialEq for Address<M, G> {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl<M, G: Group> Eq for Address<M, G> {}

impl<M, G: Group> fmt::Debug for Address<M, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.id()).finish()
    }
}

/// A weak address: it does not keep the actor alive.
pub struct WeakAddress<M, G: Group>(ControlHandle<G>, PhantomData<fn(M)>);

impl<M, G: Group> WeakAddress<M, G> {
    /// Returns an address, which keeps the actor alive; `None` if the actor has ended.
    #[must_use]
    pub fn upgrade(&self) -> Option<Address<M, G>> {
        let cell = self.0.0;
        let is_up = !cell.belongs_to_parent_process() && self.0.header().holders.upgrade();
        is_up.then(|| Address::from_counted_cell(cell))
    }

    /// Returns the handle that sends controls to the actor.
    #[must_use]
    pub const fn control_handle(&self) -> &ControlHandle<G> {
        &self.0
    }
}

impl<M, G: Group> Clone for WeakAddress<M, G> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<M, G: Group> fmt::Debug for WeakAddress<M, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakAddress").field(&self.0.id()).finish()
    }
}

/// A handle that sends controls to an actor, whatever the type of the actor's messages. It does not
/// keep the actor alive. Its size is eight bytes.
pub struct ControlHandle<G: Group>(CellPointer<G>);

// SAFETY: controls are `Send`, and all that a handle accesses is made for several threads.
unsafe impl<G: Group> Send for ControlHandle<G> {}
// SAFETY: as above.
unsafe impl<G: Group> Sync for ControlHandle<G> {}

impl<G: Group> ControlHandle<G> {
    /// Returns a handle of the actor in `cell`. The caller has already counted the handle's hold.
    pub(super) const fn from_counted_cell(cell: CellPointer<G>) -> Self {
        Self(cell)
    }

    /// Sends `control`, a message of the library. The actor handles it after all messages that were
    /// sent before it. A full mailbox accepts it, too.
    ///
    /// # Errors
    ///
    /// The control, if the actor has ended.
    pub fn send(&self, control: G::Control) -> Result<(), G::Control> {
        self.send_envelope(Envelope::new(control))
            .map_err(Envelope::into_inner)
    }

    /// Sends a control that is already in an envelope. Never allocates memory.
    ///
    /// # Errors
    ///
    /// The envelope, if the actor has ended.
    pub fn send_envelope(&self, control: Envelope<G::Control>) -> Result<(), Envelope<G::Control>> {
        self.send_control_envelope(control, false)
            .map_err(Refusal::into_inner)
    }

    /// Sends `control`, which is counted like a message, so a full mailbox refuses it.
    ///
    /// # Errors
    ///
    /// [`Refusal`], with the control.
    pub fn send_counted_control(&self, control: G::Control) -> Result<(), Refusal<G::Control>> {
        self.send_control_envelope(Envelope::new(control), self.header().is_bounded())
            .map_err(|refusal| match refusal {
                Refusal::Full(envelope) => Refusal::Full(envelope.into_inner()),
                Refusal::Disconnected(envelope) => Refusal::Disconnected(envelope.into_inner()),
            })
    }

    fn send_control_envelope(
        &self,
        control: Envelope<G::Control>,
        is_counted: bool,
    ) -> Result<(), Refusal<Envelope<G::Control>>> {
        if self.0.belongs_to_parent_process() {
            return Err(Refusal::Disconnected(control));
        }
        let tag = Envelope::<G::Control>::block_tag(CONTROL_BLOCK_KIND, is_counted);
        // SAFETY: the hold keeps the cell, whose controls are of this type.
        unsafe { push_envelope(self.0, control, tag) }
    }

    /// Returns true if a parent process created the actor, so that this process cannot use it.
    #[must_use]
    pub fn belongs_to_parent_process(&self) -> bool {
        self.0.belongs_to_parent_process()
    }

    /// Returns a number that identifies the actor for as long as this handle exists.
    #[must_use]
    pub fn id(&self) -> usize {
        self.0.id()
    }

    /// Returns true if the actor has ended, or was created by a parent process.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.0.belongs_to_parent_process() || mailbox::has_actor_ended(self.0)
    }

    fn header(&self) -> &CellHeader<G> {
        // SAFETY: the hold keeps the cell.
        unsafe { self.0.header() }
    }
}

impl<G: Group> Clone for ControlHandle<G> {
    fn clone(&self) -> Self {
        self.header().holders.add_hold();
        Self(self.0)
    }
}

impl<G: Group> Drop for ControlHandle<G> {
    fn drop(&mut self) {
        if !self.0.belongs_to_parent_process() {
            // SAFETY: the hold of this handle, which ends here.
            unsafe { self.0.remove_hold() };
        }
    }
}

impl<G: Group> fmt::Debug for ControlHandle<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ControlHandle").field(&self.id()).finish()
    }
}
