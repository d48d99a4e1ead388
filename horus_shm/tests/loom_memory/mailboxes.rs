//! The memory of a modelled cell: its word, its holders, a slot, and blocks whose contents are
//! plain cells in which loom itself reports a race.

use std::cell::UnsafeCell as UncheckedUnsafeCell;

use horus_shm::internals::holders::CellReferences;
use horus_shm::internals::life::{self, CellMemory, SleepOutcome};
use horus_shm::internals::mailbox::{
    self, BlockList, MailboxMemory, MailboxReader, NEW_MAILBOX_WORD, NextBlock, PushOutcome,
    RefusalReason, Tag,
};
use horus_shm::internals::sync::Edge;

use crate::checker::cell::UnsafeCell;
use crate::checker::sync::Mutex;
use crate::loom_memory::LoomWord;
use crate::loom_memory::sleepers::fence;

/// The distance of two blocks' addresses: neither 0 nor 2 is one.
const STEP: u64 = 16;

/// The number of the block of the last address.
const LAST: u64 = 0;

#[derive(Debug)]
struct Block {
    link: UnsafeCell<u64>,
    content: UnsafeCell<u64>,
}

/// A modelled cell. The state of its actor is the list of the messages that it has handled.
pub(crate) struct LoomCell {
    word: LoomWord,
    pub(crate) slot: LoomWord,
    pub(crate) holders: CellReferences<LoomWord>,
    blocks: Box<[Block]>,
    /// The numbers of the blocks that no thread uses.
    free: Mutex<Vec<u64>>,
    /// WHY unchecked: the checker would see a borrow that lasts over the exchange of a sleep.
    reader: UncheckedUnsafeCell<MailboxReader>,
    /// The messages that were handled, in their order.
    handled: UnsafeCell<Vec<u64>>,
    /// The messages that waited when the actor ended.
    discarded: UnsafeCell<Vec<u64>>,
    /// True once the cell was freed.
    freed: UnsafeCell<bool>,
    pub(crate) capacity: u16,
}

/// A handle of a cell. WHY leaked: a copy has to be `Copy`, and a model makes one cell.
#[derive(Clone, Copy)]
pub(crate) struct Place(&'static LoomCell);

impl Place {
    /// Makes a cell with one address and `blocks` blocks, of this capacity; 0 is unbounded.
    pub(crate) fn new(blocks: u64, capacity: u16) -> Self {
        let block = |_| Block {
            link: UnsafeCell::new(0),
            content: UnsafeCell::new(0),
        };
        Self(Box::leak(Box::new(LoomCell {
            word: LoomWord::new(NEW_MAILBOX_WORD),
            slot: LoomWord::new(0),
            holders: CellReferences::new(LoomWord::new(CellReferences::<LoomWord>::NEW_CELL_WORD)),
            blocks: (0..=blocks).map(block).collect(),
            free: Mutex::new((1..=blocks).collect()),
            reader: UncheckedUnsafeCell::new(MailboxReader::new()),
            handled: UnsafeCell::new(Vec::new()),
            discarded: UnsafeCell::new(Vec::new()),
            freed: UnsafeCell::new(false),
            capacity,
        })))
    }

    fn block(self, address: u64) -> &'static Block {
        &self.0.blocks[(address / STEP - 1) as usize]
    }

    /// Takes a free block, writes `content`, and returns its address.
    pub(crate) fn fill(self, content: u64) -> u64 {
        let number = self.0.free.lock().unwrap().pop().expect("a free block");
        let address = (number + 1) * STEP;
        // SAFETY: the block was free, and the checker fails the model if a thread is in it.
        self.block(address)
            .content
            .with_mut(|place| unsafe { place.write(content) });
        address
    }

    /// Moves the content out of a block.
    pub(crate) fn empty(self, address: u64) -> u64 {
        // SAFETY: the block is the caller's, and the checker fails the model if it is not.
        self.block(address)
            .content
            .with_mut(|place| unsafe { place.replace(0) })
    }

    /// Returns the chain of the block at `address`.
    pub(crate) fn chain(self, address: u64) -> BlockList {
        BlockList::of_block(address, Tag::new(1, self.0.capacity > 0))
    }

    /// Sends `message`. Runs the actor if it was asleep.
    pub(crate) fn send(self, message: u64) -> Result<(), RefusalReason> {
        let address = self.fill(message);
        // SAFETY: the block is this thread's, and the models use the mailbox as they should.
        let pushed = unsafe { mailbox::push_chain(self, self.chain(address), self.0.capacity) };
        match pushed {
            Ok(pushed) => {
                self.run_if(pushed);
                Ok(())
            }
            Err(refused) => {
                assert_eq!(self.empty(address), message);
                // SAFETY: the block was refused.
                unsafe { self.free_block(address) };
                Err(refused)
            }
        }
    }

    /// Runs the actor if this thread has woken it.
    pub(crate) fn run_if(self, pushed: PushOutcome) {
        if pushed == PushOutcome::Woke {
            self.run(&|| {});
        }
    }

    /// Handles one message; returns false if there was none.
    pub(crate) fn handle(self) -> bool {
        // WHY: it stands for the reader, which is not checked.
        self.0.handled.with_mut(|_| ());
        // SAFETY: the caller is the runner.
        let reader = unsafe { &mut *self.0.reader.get() };
        // SAFETY: as above, and the content is moved out.
        let look = unsafe { reader.take_next_block(self, |taken| self.read(taken.block)) };
        let NextBlock::Taken(message) = look else {
            return false;
        };
        if let Some(message) = message {
            self.0.handled.with_mut(|list| {
                // SAFETY: the caller is the runner, and the checker fails the model if it is not.
                unsafe { &mut *list }.push(message);
            });
        }
        true
    }

    /// Moves the message out of a block; the notice of the slot has the content `u64::MAX`.
    fn read(self, block: u64) -> Option<u64> {
        if block == self.last_address_block() {
            return None;
        }
        match self.empty(block) {
            u64::MAX => {
                let message = horus_shm::internals::latest::take_latest(&self.0.slot);
                (message != 0).then(|| {
                    let content = self.empty(message);
                    // SAFETY: the message was taken out of the slot.
                    unsafe { self.free_block(message) };
                    content
                })
            }
            message => Some(message),
        }
    }

    /// Runs the actor until it sleeps or ends; `wake_senders` is called if they wait for room.
    pub(crate) fn run(self, wake_senders: &dyn Fn()) {
        let mut is_ending = false;
        loop {
            let mut handled = 0;
            while self.handle() {
                handled += u16::from(self.0.capacity > 0);
            }
            let reader = self.0.reader.get();
            let wake = || self.run(&|| {});
            // SAFETY: the caller is the runner, and the mailbox was found empty.
            match unsafe { life::sleep_or_end(reader, self, handled, is_ending, wake) } {
                SleepOutcome::Asleep {
                    block,
                    is_room_wanted,
                    is_free,
                } => {
                    if block != 0 {
                        // SAFETY: the word does not name it any more.
                        unsafe { self.free_block(block) };
                    }
                    if is_room_wanted {
                        wake_senders();
                    }
                    return self.free_if(is_free);
                }
                SleepOutcome::LookAgain { is_ending: again } => is_ending = again,
                SleepOutcome::End => return self.end(),
            }
        }
    }

    /// Ends the actor; the caller is its runner.
    pub(crate) fn end(self) {
        self.0.holders.end_actor();
        // SAFETY: the caller is the runner.
        let reader = unsafe { &mut *self.0.reader.get() };
        let discard = |message| {
            // SAFETY: as above, and the checker fails the model if it is not.
            self.0
                .discarded
                .with_mut(|list| unsafe { &mut *list }.extend::<Option<u64>>(message));
        };
        // SAFETY: as above; the content is moved out.
        unsafe { reader.end(self, |taken| discard(self.read(taken.block))) };
        self.free_if(self.0.holders.remove_hold());
    }

    /// Removes an address, and runs the actor if that wakes it.
    pub(crate) fn remove_address(self) {
        // SAFETY: the address is the caller's.
        let is_free = unsafe { life::remove_address(self, || self.run(&|| {})) };
        self.free_if(is_free);
    }

    /// Frees the cell, if the caller has to: all that was done to it has to be over.
    pub(crate) fn free_if(self, is_free: bool) {
        if is_free {
            self.0.freed.with_mut(|freed| {
                // SAFETY: the checker fails the model if another thread is in it.
                let was = unsafe { freed.replace(true) };
                assert!(!was, "freed twice");
            });
        }
    }

    /// Uses the memory of the cell, as a holder may.
    pub(crate) fn touch(self) {
        // SAFETY: only read; the checker fails the model if the cell is being freed.
        let is_freed = self.0.freed.with(|freed| unsafe { *freed });
        assert!(!is_freed, "used after it was freed");
    }

    pub(crate) fn is_freed(self) -> bool {
        // SAFETY: all threads have ended.
        self.0.freed.with(|freed| unsafe { *freed })
    }

    /// Returns the messages that were handled.
    pub(crate) fn handled(self) -> Vec<u64> {
        // SAFETY: all threads have ended.
        self.0.handled.with(|list| unsafe { (*list).clone() })
    }

    /// Returns the messages that were discarded at the end.
    pub(crate) fn discarded(self) -> Vec<u64> {
        // SAFETY: all threads have ended.
        self.0.discarded.with(|list| unsafe { (*list).clone() })
    }

    /// Returns the number of blocks that no thread uses.
    pub(crate) fn free_blocks(self) -> usize {
        self.0.free.lock().unwrap().len()
    }

    pub(crate) fn cell(self) -> &'static LoomCell {
        self.0
    }
}

impl MailboxMemory for Place {
    type Word = LoomWord;

    fn word(&self) -> &LoomWord {
        &self.0.word
    }

    unsafe fn link(&self, block: u64) -> u64 {
        // SAFETY: the checker fails the model if the block is not the caller's.
        self.block(block).link.with(|link| unsafe { link.read() })
    }

    unsafe fn set_link(&self, block: u64, link: u64) {
        // SAFETY: as above.
        self.block(block)
            .link
            .with_mut(|place| unsafe { place.write(link) });
    }

    unsafe fn free_block(&self, block: u64) {
        if block == self.last_address_block() {
            return self.0.holders.clear_last_block_sent();
        }
        self.0.free.lock().unwrap().push(block / STEP - 1);
    }

    #[track_caller]
    fn fence(&self, edge: Edge) {
        fence(edge);
    }
}

impl CellMemory for Place {
    fn holders(&self) -> &CellReferences<LoomWord> {
        &self.0.holders
    }

    fn last_address_block(&self) -> u64 {
        (LAST + 1) * STEP
    }

    fn last_address_block_tag(&self) -> Tag {
        Tag::new(0, false)
    }
}
