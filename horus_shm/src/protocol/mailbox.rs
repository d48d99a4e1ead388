//! The mailbox of an actor: a linked list of blocks, and one word that points to the newest block,
//! counts the messages, and says if the actor sleeps.
//!
//! ```text
//!  63                62    48 47                                          0
//! +-----------------+--------+---------------------------------------------+
//! | ROOM_WANTED_BIT |  depth | ACTOR_ASLEEP 0  |  ACTOR_ENDED 2  | a block |
//! +-----------------+--------+---------------------------------------------+
//! ```
//!
//! *depth* is the number of messages that were sent and that the runner has not yet subtracted.
//! *block* is the address of the newest block, whose link points to the next older one. A sender
//! makes its block the newest one by one atomic exchange. If that replaces `ACTOR_ASLEEP`, the
//! sender has woken the actor and is now its *runner*. An actor has only one runner at a time,
//! until the runner puts the actor to sleep or ends it.
//!
//! The runner loads the word and follows the links from the newest block down to the newest block
//! that it already knew, the *anchor*. On the way it reverses the list, so that the links lead from
//! older blocks to newer ones. Then it takes the blocks, oldest first. The anchor is not freed
//! until a newer block is found: while the word contains its address, that address must not be
//! reused for another block.

use crate::protocol::sync::{Edge, Word, edge};

/// The largest capacity that a bounded mailbox can have, in messages.
pub const MAILBOX_CAPACITY_MAX: u16 = 0x7fff;

/// The largest address that a mailbox block can have, because the mailbox's word has only so many
/// bits for it.
pub const BLOCK_ADDRESS_MAX: u64 = BLOCK_ADDRESS_MASK;

/// Maximum number of links that one call of [`MailboxReader::take_next_block`] reverses.
///
/// WHY a limit: to reverse the whole list of an unbounded mailbox could take arbitrarily long,
/// while other actors wait for the thread.
pub const REVERSED_LINKS_MAX: u32 = 4096;

/// Binary logarithm of the number of PAUSEs after a sender's first failed compare-exchange.
///
/// WHY not fewer: during these pauses another sender can send some twenty messages without a
/// conflict. If two senders send to one mailbox all the time, a message takes 58 ns. It takes 70 ns
/// with 8 PAUSE instructions after the first failure, and 100 ns with a single one.
const BACKOFF_LOG2_MIN: u32 = 4;

/// Binary logarithm of the maximum number of PAUSE instructions after a failed compare-exchange.
const BACKOFF_LOG2_MAX: u32 = 6;

const ROOM_WANTED_BIT: u64 = 1 << 63;
const DEPTH_SHIFT: u32 = 48;
const BLOCK_ADDRESS_MASK: u64 = (1 << DEPTH_SHIFT) - 1;
const ACTOR_ASLEEP: u64 = 0;
const ACTOR_ENDED: u64 = 2;

/// The word of a new mailbox, which is empty and whose actor sleeps.
pub const NEW_MAILBOX_WORD: u64 = ACTOR_ASLEEP;

/// A tag in the upper bits of a link, which says what kind of content a block has. Only the bit
/// [`Tag::COUNTED`] has a meaning in this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(u16);

impl Tag {
    /// The tag bit of a block that counts in the mailbox's depth (number of messages).
    pub const COUNTED: Self = Self(1);

    /// Returns the tag of a block of kind `kind`. The mailbox's depth includes it if `is_counted`.
    #[must_use]
    pub const fn new(kind: u8, is_counted: bool) -> Self {
        Self((kind as u16) << 1 | is_counted as u16)
    }

    /// Returns the kind of block that this tag stands for.
    #[must_use]
    pub const fn kind(self) -> u8 {
        (self.0 >> 1) as u8
    }

    /// Returns true if a block with this tag counts in the mailbox's depth.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        self.0 & Self::COUNTED.0 != 0
    }

    const fn bits(self) -> u64 {
        (self.0 as u64) << DEPTH_SHIFT
    }

    /// Returns the tag that is stored in `link`: that of the block that contains this link.
    #[must_use]
    pub const fn from_link(link: u64) -> Self {
        Self((link >> DEPTH_SHIFT) as u16)
    }
}

/// Returns the address of the block that `link` points to; 0 if there is none.
#[must_use]
pub const fn block_address_in_link(link: u64) -> u64 {
    link & BLOCK_ADDRESS_MASK
}

/// The memory of a mailbox. A copy of the value refers to the same memory.
///
/// A block is named by its address, a number below 2⁴⁸ that is neither 0 nor 2.
pub trait MailboxMemory: Copy {
    /// The type of the shared word of the mailbox.
    type Word: Word;

    /// Returns the shared word that holds the state of the mailbox.
    fn word(&self) -> &Self::Word;

    /// Returns the link that the block at the address `block` contains.
    ///
    /// # Safety
    ///
    /// The block belongs to the caller: it has not been published yet, or the caller is the runner
    /// and has found it in the mailbox.
    unsafe fn link(&self, block: u64) -> u64;

    /// Stores the link of a block.
    ///
    /// # Safety
    ///
    /// As [`Self::link`].
    unsafe fn set_link(&self, block: u64, link: u64);

    /// Frees the block at the address `block`, whose content was moved out.
    ///
    /// # Safety
    ///
    /// As [`Self::link`], and the caller does not use the block any more.
    unsafe fn free_block(&self, block: u64);

    /// Executes a memory fence with the ordering of `edge`.
    fn fence(&self, edge: Edge);
}

/// A list of linked blocks that a sender puts into a mailbox together, by a single atomic exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockList {
    /// The address of the oldest block. Its link is stored when the chain is sent.
    pub oldest: u64,
    /// The tag of the oldest block.
    pub tag: Tag,
    /// The address of the newest block, from which links lead to the oldest one.
    pub newest: u64,
    /// Number of the linked blocks that count in the mailbox's depth; those with a tag without
    /// [`Tag::COUNTED`] do not.
    pub counted: u16,
}

impl BlockList {
    /// Returns a chain that consists of a single block.
    #[must_use]
    pub const fn of_block(block: u64, tag: Tag) -> Self {
        Self {
            oldest: block,
            tag,
            newest: block,
            counted: tag.is_counted() as u16,
        }
    }

    /// Returns this chain, extended by `block` as the newest one. The caller must have stored the
    /// value of [`Self::link`] in `block` before.
    #[must_use]
    pub const fn with_newest(self, block: u64, tag: Tag) -> Self {
        Self {
            newest: block,
            counted: self.counted.saturating_add(tag.is_counted() as u16),
            ..self
        }
    }

    /// Returns the link that a block with the tag `tag` needs to become the newest block of this
    /// chain.
    #[must_use]
    pub const fn link(self, tag: Tag) -> u64 {
        self.newest | tag.bits()
    }
}

/// The reason why a mailbox refused a chain of blocks. The blocks then still belong to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The mailbox is bounded, and the chain would exceed its capacity.
    Full,
    /// The actor has ended, so nothing would read the mailbox.
    Gone,
}

/// The effect on the actor of a chain of blocks that its mailbox has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushOutcome {
    /// The actor was awake: its runner will find the blocks of the chain.
    Added,
    /// The actor was asleep: this call has woken it, and the caller is its runner now.
    Woke,
}

/// Sends `chain` to the mailbox. Lock-free: repeats only if another thread has changed the word.
///
/// # Errors
///
/// [`RefusalReason`]; if no block of the chain counts in the mailbox's depth (number of messages),
/// only [`RefusalReason::Gone`].
///
/// # Safety
///
/// * `memory` began with the word [`NEW_MAILBOX_WORD`]; since then only the functions of this
///   module have stored to it.
/// * The blocks of `chain` belong to the caller, who gives them up if they are accepted. Each of
///   them except the oldest was added by [`BlockList::with_newest`], and has its link.
/// * `capacity` is at most [`MAILBOX_CAPACITY_MAX`], and the same in each call.
#[inline]
pub unsafe fn push_chain<M: MailboxMemory>(
    memory: M,
    chain: BlockList,
    capacity: u16,
) -> Result<PushOutcome, RefusalReason> {
    let mut back_off_steps = BACKOFF_LOG2_MIN;
    loop {
        // Relaxed: only a guess; the exchange decides.
        let seen = memory.word().get();
        let newest = seen & BLOCK_ADDRESS_MASK;
        if newest == ACTOR_ENDED {
            return Err(RefusalReason::Gone);
        }
        if chain.counted > 0 && depth(seen) + u32::from(chain.counted) > u32::from(capacity) {
            return Err(RefusalReason::Full);
        }
        // SAFETY: the block is the caller's by the contract.
        unsafe { memory.set_link(chain.oldest, newest | chain.tag.bits()) };
        let counted = u64::from(chain.counted) << DEPTH_SHIFT;
        let next = ((seen & !BLOCK_ADDRESS_MASK) + counted) | chain.newest;
        // ORDERING(mail): pairs with the loads of the runner.
        let is_sent = memory
            .word()
            .compare_exchange_ordered(seen, next, edge::MAIL_PUSH);
        if is_sent && newest == ACTOR_ASLEEP {
            // ORDERING(actor): pairs with the exchange in `MailboxReader::sleep`.
            memory.fence(edge::ACTOR_WAKE_FENCE);
            return Ok(PushOutcome::Woke);
        }
        if is_sent {
            return Ok(PushOutcome::Added);
        }
        back_off(&mut back_off_steps);
    }
}

/// Executes 2 to the power of `steps` PAUSE instructions, before another attempt at a
/// compare-exchange that has failed. Increments `steps`, up to [`BACKOFF_LOG2_MAX`].
#[cold]
fn back_off(steps: &mut u32) {
    for _ in 0..1_u32 << *steps {
        core::hint::spin_loop();
    }
    *steps = (*steps + 1).min(BACKOFF_LOG2_MAX);
}

const fn depth(word: u64) -> u32 {
    ((word & !ROOM_WANTED_BIT) >> DEPTH_SHIFT) as u32
}

/// Returns the mailbox's depth: the number of messages that were sent and that the runner has not
/// yet subtracted. The load is relaxed: it does not order accesses to other memory.
#[must_use]
pub fn mailbox_depth<M: MailboxMemory>(memory: M) -> u32 {
    depth(memory.word().get())
}

/// Returns the reason why the mailbox would refuse one more message now; `None` if it would accept
/// the message.
#[must_use]
pub fn refusal_reason<M: MailboxMemory>(memory: M, capacity: u16) -> Option<RefusalReason> {
    // Relaxed: a sender that is not refused here learns the truth from the exchange.
    let seen = memory.word().get();
    if seen & BLOCK_ADDRESS_MASK == ACTOR_ENDED {
        Some(RefusalReason::Gone)
    } else {
        (depth(seen) >= u32::from(capacity)).then_some(RefusalReason::Full)
    }
}

/// Returns true if the actor of the mailbox has ended.
#[must_use]
pub fn has_actor_ended<M: MailboxMemory>(memory: M) -> bool {
    // Relaxed: no memory is read because of it.
    memory.word().get() & BLOCK_ADDRESS_MASK == ACTOR_ENDED
}

/// Marks in the mailbox's word that a sender waits for room. Returns false if there is room, or if
/// the actor has ended: the caller then has to try again instead of sleeping.
#[must_use]
pub fn try_mark_room_wanted<M: MailboxMemory>(memory: M, capacity: u16) -> bool {
    loop {
        // Relaxed: the exchange decides, and the fences of the eventcount order the bit and the
        // sleep.
        let seen = memory.word().get();
        if seen & BLOCK_ADDRESS_MASK == ACTOR_ENDED || depth(seen) < u32::from(capacity) {
            return false;
        }
        let is_marked = seen & ROOM_WANTED_BIT != 0;
        if is_marked
            || memory
                .word()
                .compare_exchange_relaxed(seen, seen | ROOM_WANTED_BIT)
        {
            return true;
        }
    }
}

/// Subtracts `handled` messages from the mailbox's depth. Returns true if a sender waits for room:
/// the caller then has to wake all waiting senders. Only the runner calls this function.
#[must_use]
pub fn subtract_handled_messages<M: MailboxMemory>(memory: M, handled: u16) -> bool {
    let handled = u64::from(handled) << DEPTH_SHIFT;
    // Relaxed: a sender that sees the room uses no memory of the runner.
    let before = memory.word().fetch_sub_relaxed(handled);
    let is_wanted = before & ROOM_WANTED_BIT != 0;
    if is_wanted {
        // Relaxed: the fences of the eventcount order this and the wake.
        memory.word().clear_bits_relaxed(ROOM_WANTED_BIT);
    }
    is_wanted
}

/// A block that was taken out of a mailbox: its address, and the tag with which it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenBlock {
    /// The address of the block.
    pub block: u64,
    /// The tag with which the block was sent.
    pub tag: Tag,
}

/// The result of a look into the mailbox for the next block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextBlock<R> {
    /// A block was found. The value is its content, or the block itself if the call only looks.
    Taken(R),
    /// There is no block in the mailbox.
    Empty,
    /// The call has reversed [`REVERSED_LINKS_MAX`] links of the list, but not all. The next call
    /// continues.
    Reversing,
}

/// The facts about an actor that a thread has just put to sleep. They give no access to the
/// actor, which may already run in another thread or be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct SleepingActor {
    /// The address of the last block that was taken before the actor went to sleep; 0 if none. The
    /// caller has to free that block: the mailbox's word no longer points to it.
    pub anchor: u64,
    /// True if a sender waits for room in the mailbox, so that the caller has to wake all waiting
    /// senders.
    pub is_room_wanted: bool,
}

/// The runner's part of a mailbox. Each runner of the actor passes it on to the next one.
#[derive(Debug, Default)]
pub struct MailboxReader {
    /// The address of the newest block whose content the runner has taken; 0 if there is none. The
    /// block is freed when a newer one is found: until then the mailbox's word may point to it.
    anchor: u64,
    /// The address of the oldest block that is not taken yet; 0 if none is known. Links lead from
    /// it to the newer blocks; the link of the last one is 0.
    oldest: u64,
    /// The address of the block whose link is to be reversed next; 0 if the list is not being
    /// reversed.
    cursor: u64,
}

impl MailboxReader {
    /// Returns the reader of a new, empty mailbox.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            anchor: 0,
            oldest: 0,
            cursor: 0,
        }
    }

    /// Returns the address of the newest block whose content was taken; 0 if there is none.
    #[must_use]
    pub const fn anchor(&self) -> u64 {
        self.anchor
    }

    /// Returns true if the runner knows blocks that it has not taken. The next call of
    /// [`Self::find_next_block`] or [`Self::take_next_block`] then finds one of them.
    #[must_use]
    #[inline(always)]
    pub const fn has_known_block(&self) -> bool {
        self.oldest != 0
    }

    /// Takes the oldest block. `read` is called to move the content out of the block, and its
    /// result is returned.
    ///
    /// # Safety
    ///
    /// As [`Self::find_next_block`], and `read` moves out all that the block owns.
    #[inline]
    pub unsafe fn take_next_block<M: MailboxMemory, R>(
        &mut self,
        memory: M,
        read: impl FnOnce(TakenBlock) -> R,
    ) -> NextBlock<R> {
        // SAFETY: the contract.
        unsafe { self.find_next_block(memory) }.map(|taken| {
            let result = read(taken);
            // SAFETY: the block was just taken, and its content was moved out.
            unsafe { self.remove_oldest_block(memory, taken.block) };
            result
        })
    }

    /// Returns the oldest block, which stays in the list until [`Self::remove_oldest_block`].
    ///
    /// # Safety
    ///
    /// The caller is the runner, and `self` is the reader of this mailbox. The contract of
    /// [`push_chain`] holds for `memory`, too.
    #[inline(always)]
    pub unsafe fn find_next_block<M: MailboxMemory>(&mut self, memory: M) -> NextBlock<TakenBlock> {
        // SAFETY: the contract.
        unsafe {
            self.find_oldest(memory, REVERSED_LINKS_MAX, || {
                // ORDERING(mail): pairs with the exchange in `push_chain`.
                memory.word().load(edge::MAIL_SEE) & BLOCK_ADDRESS_MASK
            })
        }
    }

    /// Returns the oldest block, and leaves it in the list. Calls `newest` to get the address of
    /// the newest block, and reverses up to `links_max` links of the list, if necessary.
    #[inline(always)]
    unsafe fn find_oldest<M: MailboxMemory>(
        &mut self,
        memory: M,
        links_max: u32,
        newest: impl FnOnce() -> u64,
    ) -> NextBlock<TakenBlock> {
        if self.cursor == 0 && self.oldest == 0 {
            let newest = newest();
            if newest == self.anchor {
                return NextBlock::Empty;
            }
            self.cursor = newest;
        }
        // SAFETY: the contract: the blocks above the anchor are the runner's.
        if self.cursor != 0 && !unsafe { self.try_reverse_all(memory, links_max) } {
            return NextBlock::Reversing;
        }
        let block = self.oldest;
        // SAFETY: a block of the list, which is the runner's.
        let link = unsafe { memory.link(block) };
        NextBlock::Taken(TakenBlock {
            block,
            tag: Tag::from_link(link),
        })
    }

    /// Reverses up to `links_max` links of the list, so that they lead from older blocks to newer
    /// ones. Returns true if all links are reversed.
    #[inline(always)]
    unsafe fn try_reverse_all<M: MailboxMemory>(&mut self, memory: M, links_max: u32) -> bool {
        for _ in 0..links_max {
            // SAFETY: the block is above the anchor, so it is the runner's.
            let link = unsafe { memory.link(self.cursor) };
            // SAFETY: as above.
            unsafe { memory.set_link(self.cursor, (link & !BLOCK_ADDRESS_MASK) | self.oldest) };
            self.oldest = self.cursor;
            self.cursor = link & BLOCK_ADDRESS_MASK;
            if self.cursor == self.anchor {
                self.cursor = 0;
                // SAFETY: the word names a newer block, and this one was taken.
                unsafe { self.free_anchor(memory) };
                return true;
            }
        }
        false
    }

    /// Removes `block`, the oldest one, from the list, and frees it. But if no newer block is
    /// known, `block` becomes the anchor, because the mailbox's word may still point to it.
    ///
    /// # Safety
    ///
    /// [`Self::find_next_block`] has just returned the block, and its content was moved out.
    #[inline(always)]
    pub unsafe fn remove_oldest_block<M: MailboxMemory>(&mut self, memory: M, block: u64) {
        // SAFETY: the block is the runner's.
        self.oldest = unsafe { memory.link(block) } & BLOCK_ADDRESS_MASK;
        if self.oldest == 0 {
            self.anchor = block;
        } else {
            // SAFETY: the caller moved its content out, and the word names a newer one.
            unsafe { memory.free_block(block) };
        }
    }

    unsafe fn free_anchor<M: MailboxMemory>(&mut self, memory: M) {
        let anchor = core::mem::take(&mut self.anchor);
        if anchor != 0 {
            // SAFETY: the caller says that the word does not name it; its content was taken.
            unsafe { memory.free_block(anchor) };
        }
    }

    /// Puts the actor to sleep, if no block was sent since the runner last looked, and subtracts
    /// `handled` from the depth. After that the caller is not the runner any more, and must use
    /// neither this reader nor the memory of the mailbox.
    ///
    /// Returns `None` if there are new blocks. The caller is then still the runner.
    ///
    /// # Safety
    ///
    /// As [`Self::take_next_block`], which has just returned [`NextBlock::Empty`].
    /// `reader` is valid, and no reference to it exists.
    ///
    /// WHY `reader` is a pointer: the next runner may use the reader before this function returns.
    pub unsafe fn sleep<M: MailboxMemory>(
        reader: *mut Self,
        memory: M,
        handled: u16,
    ) -> Option<SleepingActor> {
        // SAFETY: the caller is the runner.
        let anchor = unsafe { (*reader).anchor };
        // SAFETY: as above. WHY before the exchange: after it the reader is the next runner's.
        unsafe { (*reader).anchor = 0 };
        loop {
            // Relaxed: the exchange decides.
            let seen = memory.word().get();
            if seen & BLOCK_ADDRESS_MASK != anchor {
                // SAFETY: there was no exchange, so the caller still is the runner.
                unsafe { (*reader).anchor = anchor };
                return None;
            }
            let handled = u64::from(handled) << DEPTH_SHIFT;
            let next = ((seen & !ROOM_WANTED_BIT & !BLOCK_ADDRESS_MASK) - handled) | ACTOR_ASLEEP;
            // ORDERING(actor): pairs with the fence in `push_chain`.
            let is_asleep = memory
                .word()
                .compare_exchange_ordered(seen, next, edge::ACTOR_SLEEP);
            if is_asleep {
                return Some(SleepingActor {
                    anchor,
                    is_room_wanted: seen & ROOM_WANTED_BIT != 0,
                });
            }
        }
    }

    /// Ends the actor: from now on the mailbox refuses all blocks. `discard` is called for each
    /// block that was not taken, oldest first, and has to move its content out. Returns true if a
    /// sender waits for room: the caller then has to wake all waiting senders.
    ///
    /// # Safety
    ///
    /// As for [`Self::take_next_block`]. This function is called at most once for an actor, and
    /// `discard` does not panic.
    pub unsafe fn end<M: MailboxMemory>(
        &mut self,
        memory: M,
        mut discard: impl FnMut(TakenBlock),
    ) -> bool {
        // WHY a swap: only the runner stores `ACTOR_ENDED`, and the swap returns every block sent
        // before. ORDERING(mail): pairs with the exchange in `push_chain`.
        let last = memory.word().swap_ordered(ACTOR_ENDED, edge::MAIL_SEE);
        let newest = || last & BLOCK_ADDRESS_MASK;
        // SAFETY: the contract; the newest block is that of the word before it was `ACTOR_ENDED`.
        while let NextBlock::Taken(taken) = unsafe { self.find_oldest(memory, u32::MAX, newest) } {
            discard(taken);
            // SAFETY: the block was just taken, and its content was moved out.
            unsafe { self.remove_oldest_block(memory, taken.block) };
        }
        // SAFETY: the word is `ACTOR_ENDED`, and the block was taken.
        unsafe { self.free_anchor(memory) };
        last & ROOM_WANTED_BIT != 0
    }
}

impl<T> NextBlock<T> {
    #[inline(always)]
    fn map<R>(self, change: impl FnOnce(T) -> R) -> NextBlock<R> {
        match self {
            Self::Taken(taken) => NextBlock::Taken(change(taken)),
            Self::Empty => NextBlock::Empty,
            Self::Reversing => NextBlock::Reversing,
        }
    }
}
