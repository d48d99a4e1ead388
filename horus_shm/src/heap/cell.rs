//! Cells: the memory of actors, which workers and senders share.
//!
//! A cell is one piece of memory: a cache line for senders, half a cache line for the *runner* (the
//! thread that runs the actor), and the state of the actor. An actor is used as follows:
//!
//! * [`spawn`] creates a sleeping actor from a [`Behaviour`], and returns its first [`Address`].
//! * [`Address::send`] sends a message, and [`ControlHandle::send`] sends a *control*, such as the
//!   notice that a timer has expired. The actor gets messages and controls in the order in which
//!   they were sent.
//! * A sender that finds the actor asleep gets its [`Runnable`], the right to run the actor, which
//!   only one thread can have at a time. The sender passes it to [`Group::schedule`], or puts it
//!   into the [`Behaviour::pull_queue`] if a separate thread runs the actor.
//! * A worker calls [`Runnable::run`], which passes messages to [`Behaviour::handle`] until the
//!   mailbox is empty, the maximum number of messages was handled, or the behaviour ends the
//!   activation.
//! * An actor ends if its behaviour returns [`Flow::Stop`], if no address is left and all mail was
//!   handled, or if its [`Runnable`] is dropped. Messages that still wait are then dropped and
//!   counted.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use horus_shm::internals::heap::{
//!     Activation, ActivationOutcome, Behaviour, Event, Flow, Group, MailLimit, Panic,
//!     MailboxRoomEventcounts, Runnable, spawn,
//! };
//!
//! /// A group with one queue, and no threads.
//! #[derive(Default)]
//! struct Queue(Mutex<Vec<Runnable<Queue>>>, MailboxRoomEventcounts);
//!
//! impl Group for Queue {
//!     type Control = ();
//!     type Worker = ();
//!     fn schedule(&self, runnable: Runnable<Self>) {
//!         self.0.lock().unwrap().push(runnable);
//!     }
//!     fn mailbox_room_eventcounts(&self) -> &MailboxRoomEventcounts {
//!         &self.1
//!     }
//! }
//!
//! struct Sum(Arc<Mutex<u64>>);
//!
//! impl Behaviour<Queue> for Sum {
//!     type Message = u64;
//!     fn handle(&mut self, event: Event<u64, ()>, _: &mut Activation<'_, u64, Queue>) -> Flow {
//!         if let Event::Message(number) = event {
//!             *self.0.lock().unwrap() += number;
//!         }
//!         Flow::Continue
//!     }
//!     fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, u64, Queue>) -> Flow {
//!         Flow::Stop
//!     }
//! }
//!
//! let (group, sum) = (Arc::new(Queue::default()), Arc::new(Mutex::new(0)));
//! let address = spawn(Arc::clone(&group), Sum(Arc::clone(&sum)), MailLimit::Bounded(8));
//! address.send(3)?;
//! address.send(4)?;
//! let runnable = group.0.lock().unwrap().pop().expect("the first message woke it");
//! assert!(matches!(runnable.run(&group, &mut (), 256), ActivationOutcome::Slept));
//! assert_eq!(*sum.lock().unwrap(), 7);
//! # Ok::<(), horus_shm::internals::heap::Refusal<u64>>(())
//! ```

mod address;
mod run;
mod turn;

use core::any::Any;
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::{ManuallyDrop, offset_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64};
use std::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub use self::address::{Address, ControlHandle, Refusal, SendOutcome, WaitRefusal, WeakAddress};
pub use self::run::{ActivationOutcome, Event, Flow, Panic, Runnable};
pub use self::turn::Activation;
use super::blocks::{self, Envelope, allocate, deallocate};
use super::injector::InjectorEntry;
use super::pull_queue::PullQueue;
use super::run_queues::QueueEntry;
use crate::process::fork::fork_epoch;
use crate::protocol::holders::CellReferences;
use crate::protocol::life::CellMemory;
use crate::protocol::mailbox::{self, MAILBOX_CAPACITY_MAX, MailboxMemory, MailboxReader, Tag};
use crate::protocol::sync::{self, Edge, Word};
use crate::wait::LocalEventcount;

/// Number of eventcounts of a group at which senders wait until a full mailbox has room.
const ROOM_EVENTCOUNTS_PER_GROUP: usize = 16;

/// The value of [`CellHeader::capacity`] that means that the mailbox is unbounded.
const UNBOUNDED_CAPACITY: u16 = 0;

/// The value of [`CellHeader::capacity`] that means that the mailbox keeps only the latest message.
const LATEST_ONLY_CAPACITY: u16 = MAILBOX_CAPACITY_MAX + 1;

/// A group of actors: the workers that run them, and the eventcounts that they share.
pub trait Group: Send + Sync + Sized + 'static {
    /// The type of *controls*, which an actor gets in addition to messages: for example, the notice
    /// that a timer has expired, or that another actor has ended.
    type Control: Send + 'static;

    /// The type of a worker. [`Behaviour::handle`] can access the worker that runs the actor.
    type Worker;

    /// Queues an actor that has mail, so that a worker runs it. Called by the sender that woke the
    /// actor, or by a worker.
    fn schedule(&self, runnable: Runnable<Self>);

    /// Returns the eventcounts at which senders wait until a full mailbox of this group has room.
    fn mailbox_room_eventcounts(&self) -> &MailboxRoomEventcounts;

    /// Decides whether an actor that has no mail is put to sleep. Returns true if its runner should
    /// look into the mailbox again instead, because another message may arrive soon. Called by the
    /// runner.
    fn should_check_mailbox_again(&self, _worker: &mut Self::Worker) -> bool {
        false
    }

    /// Handles a panic in the drop of a message that a newer one has replaced, in a mailbox that
    /// keeps only the latest message. Called by the sender of the newer message.
    fn handle_replaced_message_panic(&self) {}
}

/// The behaviour of an actor: its state, and the functions that handle its messages.
pub trait Behaviour<G: Group>: Send + 'static {
    /// The type of the messages that are sent to the actor.
    type Message: Send + 'static;

    /// True if a thread that belongs to the program runs the actor, instead of the workers of the
    /// group.
    const HAS_PULL_QUEUE: bool = false;

    /// Returns the queue of the thread that runs the actor, if [`Self::HAS_PULL_QUEUE`] is true.
    /// Called by each sender that has woken the actor. The behaviour has to return the same queue
    /// each time.
    fn pull_queue(&self) -> Option<Arc<PullQueue<Runnable<G>>>> {
        None
    }

    /// Handles one message or control. If it panics, [`Self::handle_panic`] is called.
    fn handle(
        &mut self,
        event: Event<Self::Message, G::Control>,
        turn: &mut Activation<'_, Self::Message, G>,
    ) -> Flow;

    /// Handles messages that [`Self::handle`] has put aside. Called at the end of each batch of
    /// messages that the actor handles in one run, even if the mailbox is not empty, but not if the
    /// behaviour pauses ([`Flow::Suspend`]). May panic, as [`Self::handle`] may.
    fn end_batch(&mut self, _turn: &mut Activation<'_, Self::Message, G>) -> Flow {
        Flow::Continue
    }

    /// Decides what happens after [`Self::handle`] or [`Self::end_batch`] has panicked. `panic` is
    /// the payload of the panic. The message that was being handled is lost. If this function
    /// panics, too, the actor ends.
    fn handle_panic(&mut self, panic: Panic, turn: &mut Activation<'_, Self::Message, G>) -> Flow;

    /// Decides whether the actor continues to live when no address is left and all mail was
    /// handled. If it should, this function has to create an address ([`Activation::address`]),
    /// keep it, and return true. Otherwise the actor ends.
    fn outlives_addresses(&mut self, _turn: &mut Activation<'_, Self::Message, G>) -> bool {
        false
    }

    /// Lets the worker access the state of the actor while no message is being handled. Called by
    /// [`Runnable::visit_actor`]. A panic is caught and ignored.
    fn handle_visit(&mut self, _turn: &mut Activation<'_, Self::Message, G>) {}

    /// Returns true if a control (a message of the library) that was still in the mailbox when the
    /// actor ended counts as a message in [`ActorEndReport::undelivered`].
    fn counts_as_message(_control: &G::Control) -> bool {
        false
    }

    /// Drops a control (a message of the library) that was still in the mailbox when the actor
    /// ended, or keeps it until [`Self::handle_end`]. A panic is caught and counted, like that of a
    /// message that is dropped.
    fn drop_control(&mut self, _control: G::Control) {}

    /// Informs the behaviour that the actor has ended. Called once, after all waiting messages were
    /// dropped, and before `self` is dropped. `worker` is `None` if the actor ended because its
    /// [`Runnable`] was dropped.
    fn handle_end(&mut self, _end: &ActorEndReport, _group: &G, _worker: Option<&mut G::Worker>) {}

    /// Handles a panic in the drop of a behaviour that has ended.
    fn handle_drop_panic(_group: &G) {}
}

/// A report about an actor that has ended. [`Behaviour::handle_end`] receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActorEndReport {
    /// Number of messages that the actor did not handle before it ended. They were dropped.
    pub undelivered: u64,
    /// Number of panics that occurred while unhandled messages and controls were dropped.
    pub panics: u64,
}

/// The kind of a mailbox, which decides how many messages it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailLimit {
    /// The mailbox holds at most this number of messages, from 1 to [`MAILBOX_CAPACITY_MAX`].
    Bounded(u16),
    /// The mailbox holds any number of messages, so it is never full.
    Unbounded,
    /// The mailbox holds only the latest message. A newer message replaces it.
    Latest,
}

impl MailLimit {
    fn capacity(self) -> u16 {
        match self {
            Self::Bounded(capacity) => capacity.clamp(1, MAILBOX_CAPACITY_MAX),
            Self::Unbounded => UNBOUNDED_CAPACITY,
            Self::Latest => LATEST_ONLY_CAPACITY,
        }
    }
}

/// The eventcounts at which senders wait until a full mailbox of a group has room. Mailboxes share
/// them.
#[derive(Debug, Default)]
pub struct MailboxRoomEventcounts([LocalEventcount; ROOM_EVENTCOUNTS_PER_GROUP]);

impl MailboxRoomEventcounts {
    /// Returns the eventcount for the mailbox of the cell whose id is `id`.
    fn eventcount_of(&self, id: usize) -> &LocalEventcount {
        // WHY shifted: cells are aligned to 128 bytes.
        &self.0[(id >> 7) % ROOM_EVENTCOUNTS_PER_GROUP]
    }
}

/// The part of an actor's memory (cell) that is the same for all behaviours.
#[repr(C)]
pub struct CellHeader<G: Group> {
    word: AtomicU64,
    /// The address of the latest message's block, if the mailbox keeps only the latest message; 0
    /// if there is no such message.
    slot: AtomicU64,
    holders: CellReferences<AtomicU64>,
    functions: &'static CellFunctions<G>,
    group: Arc<G>,
    injector_link: AtomicPtr<Self>,
    /// The low 32 bits of the fork counter when the cell was created. The counter differs in a
    /// forked child, which cannot use the cell.
    epoch: u32,
    capacity: u16,
    last_worker: AtomicU8,
    /// Padding that separates the fields that senders access from those that only the runner
    /// accesses, by a cache line.
    line: [u64; 1],
    reader: UnsafeCell<MailboxReader>,
    /// The last-address block, which is sent to the mailbox after the last address was dropped. It
    /// contains only a link to another block.
    last: UnsafeCell<u64>,
}

/// The functions of a cell that depend on the type of its behaviour. Callers that do not know this
/// type call them through these pointers.
struct CellFunctions<G: Group> {
    /// The function that runs the actor of a cell. Only the actor's runner may call it.
    run: run::RunActorFn<G>,
    /// The function that calls [`Behaviour::handle_visit`] for the actor of a cell. Only the
    /// actor's runner may call it.
    visit: run::VisitActorFn<G>,
    /// The function that ends the actor of a cell without a worker, after the actor's [`Runnable`]
    /// was dropped. Only the actor's runner may call it.
    end: unsafe fn(NonNull<CellHeader<G>>),
    /// The function that puts the [`Runnable`] of the actor into the queue of the thread that runs
    /// it; `None` if the workers of the group run the actor. Only the actor's runner may call it.
    pull: Option<unsafe fn(NonNull<CellHeader<G>>)>,
    layout: Layout,
}

/// The memory of an actor: a header, and the state of its behaviour.
#[repr(C)]
struct ActorCell<B, G: Group> {
    header: CellHeader<G>,
    state: UnsafeCell<ManuallyDrop<B>>,
}

const _: () = {
    assert!(offset_of!(CellHeader<LayoutCheckGroup>, reader) == 64);
    assert!(size_of::<CellHeader<LayoutCheckGroup>>() == 96);
    assert!(size_of::<ActorCell<[u64; 4], LayoutCheckGroup>>() == 128);
};

/// A group for which the compiler checks assertions about the layout of [`CellHeader`] and
/// [`ActorCell`]. The assertions hold for every other group, too.
enum LayoutCheckGroup {}

impl Group for LayoutCheckGroup {
    type Control = ();
    type Worker = ();

    fn schedule(&self, _: Runnable<Self>) {
        match *self {}
    }

    fn mailbox_room_eventcounts(&self) -> &MailboxRoomEventcounts {
        match *self {}
    }
}

// SAFETY: the link is a field of its own, which nothing else uses.
unsafe impl<G: Group> InjectorEntry for CellHeader<G> {
    fn injector_link(&self) -> &AtomicPtr<Self> {
        &self.injector_link
    }
}

// SAFETY: at most one runnable of a cell exists, and it keeps the cell. It may be sent to other
// threads.
unsafe impl<G: Group> QueueEntry for Runnable<G> {
    type Target = CellHeader<G>;

    #[inline(always)]
    fn into_raw(self) -> NonNull<CellHeader<G>> {
        Self::into_raw(self)
    }

    #[inline(always)]
    unsafe fn from_raw(raw: NonNull<CellHeader<G>>) -> Self {
        // SAFETY: the contract.
        unsafe { Self::from_raw(raw) }
    }
}

impl<G: Group> fmt::Debug for CellHeader<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header").finish_non_exhaustive()
    }
}

/// The block contains a message.
const MESSAGE_BLOCK_KIND: u8 = 0;
/// The block contains a control (a message of the library for the actor).
const CONTROL_BLOCK_KIND: u8 = 1;
/// The block is a notice that a message is in the separate slot for the latest message.
const NOTICE_BLOCK_KIND: u8 = 2;
/// The block says that the last address of the actor was dropped. It is a part of the cell
/// itself.
const LAST_ADDRESS_DROPPED_BLOCK_KIND: u8 = 3;

/// A pointer to a cell. The code that has it must keep the cell alive, by an address of the actor
/// or a hold (a reference that keeps only the cell).
struct CellPointer<G: Group>(NonNull<CellHeader<G>>);

impl<G: Group> Clone for CellPointer<G> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Group> Copy for CellPointer<G> {}

impl<G: Group> CellPointer<G> {
    /// Returns the header of the cell.
    ///
    /// # Safety
    ///
    /// The cell exists for as long as the result is used.
    #[inline(always)]
    unsafe fn header<'a>(self) -> &'a CellHeader<G> {
        // SAFETY: the contract; other threads access it by its atomics only.
        unsafe { self.0.as_ref() }
    }

    /// Returns a number that identifies the cell for as long as it exists.
    fn id(self) -> usize {
        self.0.addr().get()
    }

    /// Returns true if a parent process created the cell, so that this process must not use it.
    #[inline(always)]
    fn belongs_to_parent_process(self) -> bool {
        // SAFETY: as in `word`.
        let epoch = unsafe { (*self.0.as_ptr()).epoch };
        epoch != fork_epoch() as u32
    }

    /// Removes one hold on the cell, and frees the cell if no hold is left.
    ///
    /// # Safety
    ///
    /// The hold belongs to the caller, who does not use the cell any more afterwards.
    unsafe fn remove_hold(self) {
        // SAFETY: the caller's hold keeps the cell.
        let is_last = unsafe { self.header() }.holders.remove_hold();
        if is_last {
            // SAFETY: it was the last hold.
            unsafe { self.free() };
        }
    }

    #[cold]
    unsafe fn free(self) {
        // SAFETY: nothing else uses the cell any more.
        let header = unsafe { self.0.read() };
        // WHY: each sender takes a message that it left there back, once the mailbox refuses mail.
        debug_assert!(header.slot.get() == 0, "the slot is empty at the end");
        // SAFETY: made by `allocate` with this layout; the header was moved out, and the state was
        // dropped by the last runner.
        unsafe { deallocate(self.0.cast(), header.functions.layout) };
    }
}

impl<G: Group> MailboxMemory for CellPointer<G> {
    type Word = AtomicU64;

    #[inline(always)]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the caller keeps the cell while it uses the word.
        unsafe { &(*self.0.as_ptr()).word }
    }

    #[inline(always)]
    unsafe fn link(&self, block: u64) -> u64 {
        // SAFETY: the address of a block, or of the block in the cell.
        let link = unsafe { blocks::link_of_block_at(block) };
        // SAFETY: the link is the caller's by the contract.
        unsafe { link.read() }
    }

    #[inline(always)]
    unsafe fn set_link(&self, block: u64, link: u64) {
        // SAFETY: as above.
        let place = unsafe { blocks::link_of_block_at(block) };
        // SAFETY: as above.
        unsafe { place.write(link) };
    }

    #[inline(always)]
    unsafe fn free_block(&self, block: u64) {
        if block == self.last_address_block() {
            // SAFETY: the caller is the runner, who keeps the cell.
            return unsafe { self.header() }.holders.clear_last_block_sent();
        }
        // SAFETY: a block that was taken from the mailbox.
        unsafe { free_block(block) };
    }

    #[inline(always)]
    fn fence(&self, edge: Edge) {
        sync::fence(edge);
    }
}

impl<G: Group> CellMemory for CellPointer<G> {
    #[inline(always)]
    fn holders(&self) -> &CellReferences<AtomicU64> {
        // SAFETY: as in `word`.
        unsafe { &(*self.0.as_ptr()).holders }
    }

    #[inline(always)]
    fn last_address_block(&self) -> u64 {
        // SAFETY: a field of the cell; only its address is computed.
        let last = unsafe { &raw const (*self.0.as_ptr()).last };
        last.expose_provenance() as u64
    }

    fn last_address_block_tag(&self) -> Tag {
        Tag::new(LAST_ADDRESS_DROPPED_BLOCK_KIND, false)
    }
}

/// Frees a mailbox block. It must not be the last-address block, which is a part of the cell.
///
/// # Safety
///
/// The block belongs to the caller, and its content was moved out.
#[inline(always)]
unsafe fn free_block(block: u64) {
    // SAFETY: the contract.
    let link = unsafe { blocks::link_of_block_at(block) };
    // SAFETY: the block is the caller's.
    let link = unsafe { link.read() };
    // SAFETY: the contract.
    let place = unsafe { blocks::block_from_address(block) };
    // SAFETY: the tag of the link has the class of the block.
    unsafe { blocks::free_block(place, blocks::block_class_of(Tag::from_link(link))) };
}

impl<G: Group> CellHeader<G> {
    /// Returns true if the mailbox has a limit, so that its messages are counted.
    #[inline(always)]
    const fn is_bounded(&self) -> bool {
        self.capacity != UNBOUNDED_CAPACITY && self.capacity != LATEST_ONLY_CAPACITY
    }
}

impl<B: Behaviour<G>, G: Group> ActorCell<B, G> {
    const FUNCTIONS: CellFunctions<G> = CellFunctions {
        run: run::run_actor::<B, G>,
        visit: run::visit_actor::<B, G>,
        end: run::end_without_worker::<B, G>,
        pull: if B::HAS_PULL_QUEUE {
            Some(run::push_to_pull_queue::<B, G>)
        } else {
            None
        },
        layout: Layout::new::<Self>(),
    };
}

/// Creates a sleeping actor of `group` from `behaviour`, with a mailbox of kind `mail_limit`.
/// Returns the address of the actor.
pub fn spawn<B: Behaviour<G>, G: Group>(
    group: Arc<G>,
    behaviour: B,
    mail_limit: MailLimit,
) -> Address<B::Message, G> {
    Address::from_counted_cell(make_cell(
        group,
        behaviour,
        mail_limit,
        CellReferences::with_one_address(),
    ))
}

/// Creates an actor as [`spawn`] does, and also returns a handle that sends controls to it. This is
/// cheaper than calling [`Address::control_handle`] afterwards.
pub fn spawn_with_handle<B: Behaviour<G>, G: Group>(
    group: Arc<G>,
    behaviour: B,
    mail_limit: MailLimit,
) -> (Address<B::Message, G>, ControlHandle<G>) {
    let cell = make_cell(
        group,
        behaviour,
        mail_limit,
        CellReferences::with_one_address_and_hold(),
    );
    (
        Address::from_counted_cell(cell),
        ControlHandle::from_counted_cell(cell),
    )
}

fn make_cell<B: Behaviour<G>, G: Group>(
    group: Arc<G>,
    behaviour: B,
    mail_limit: MailLimit,
    holders: CellReferences<AtomicU64>,
) -> CellPointer<G> {
    let cell = ActorCell {
        header: CellHeader {
            word: AtomicU64::new(mailbox::NEW_MAILBOX_WORD),
            slot: AtomicU64::new(0),
            holders,
            functions: &ActorCell::<B, G>::FUNCTIONS,
            group,
            injector_link: AtomicPtr::new(core::ptr::null_mut()),
            epoch: fork_epoch() as u32,
            capacity: mail_limit.capacity(),
            last_worker: AtomicU8::new(0),
            line: [0],
            reader: UnsafeCell::new(MailboxReader::new()),
            last: UnsafeCell::new(0),
        },
        state: UnsafeCell::new(ManuallyDrop::new(behaviour)),
    };
    let memory = allocate(Layout::new::<ActorCell<B, G>>());
    // WHY: the block of the last address lies in the cell.
    assert!(
        blocks::block_address(memory) <= blocks::BLOCK_ADDRESS_MAX,
        "memory above 2^48 cannot hold actors"
    );
    let place = memory.cast::<ActorCell<B, G>>();
    // SAFETY: just allocated with the layout of a cell.
    unsafe { place.write(cell) };
    CellPointer(place.cast())
}

/// Drops a message that a newer one has replaced. WHY a panic is caught: the newer message was
/// sent, and its sender has nothing to do with the older one.
fn drop_replaced_message<G: Group>(group: &G, message: Envelope<impl Send>) {
    if drop_catching_panic(|| drop(message)) {
        group.handle_replaced_message_panic();
    }
}

/// Calls `drop`, and returns true if it panicked. The payload of the panic is leaked, because
/// dropping it could panic, too.
fn drop_catching_panic(drop: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(drop))
        .map_err(|payload: Box<dyn Any + Send>| core::mem::forget(payload))
        .is_err()
}
