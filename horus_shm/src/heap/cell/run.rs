//! Runs actors: calls the behaviour for each message until the activation (one run of the actor)
//! ends, and ends actors.

use core::any::Any;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::turn::Activation;
use super::{
    ActorCell, ActorEndReport, Behaviour, CONTROL_BLOCK_KIND, CellHeader, CellPointer, Group,
    MESSAGE_BLOCK_KIND, NOTICE_BLOCK_KIND, drop_catching_panic, free_block,
};
use crate::heap::blocks::{self, Envelope};
use crate::protocol::latest;
use crate::protocol::life::{self, SleepOutcome};
use crate::protocol::mailbox::{NextBlock, TakenBlock};
use crate::protocol::sync;

/// The payload of a caught panic, as `catch_unwind` returns it.
pub type Panic = Box<dyn Any + Send>;

/// Something that an actor has to handle: a message or a control.
#[derive(Debug)]
pub enum Event<M, C> {
    /// A message that somebody sent to the actor.
    Message(M),
    /// A control: a message of the library, such as that a timer has expired or that another actor
    /// has ended.
    Control(C),
}

/// The decision of a behaviour after a message: whether its activation (the present run of the
/// actor) continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The activation continues with the next message, if there is one.
    Continue,
    /// The activation ends, although there may be more mail: [`ActivationOutcome::More`] is
    /// returned.
    Yield,
    /// The activation ends, and the actor pauses: [`ActivationOutcome::Suspended`] is returned.
    Suspend,
    /// The actor ends, and handles no more messages.
    Stop,
}

/// The result of [`Runnable::run`]: how the activation (this run of the actor) has ended.
#[derive(Debug)]
#[must_use]
pub enum ActivationOutcome<G: Group> {
    /// The mailbox is empty, so the actor sleeps. The sender of the next message will schedule it.
    Slept,
    /// There may be more mail. The caller has to schedule the actor again with this value.
    More(Runnable<G>),
    /// The actor pauses. Messages wait in its mailbox until the caller schedules it again with this
    /// value.
    Suspended(Runnable<G>),
    /// The actor has ended, and will not run again.
    Ended,
}

/// The right to run an actor. There is at most one such value for an actor at a time. If it is
/// dropped, the actor ends.
pub struct Runnable<G: Group>(CellPointer<G>);

// SAFETY: the state is `Send`, all else in a cell is made for several threads, and the right moves
// with this value.
unsafe impl<G: Group> Send for Runnable<G> {}
// SAFETY: a shared reference only gives access to atomics and constants.
unsafe impl<G: Group> Sync for Runnable<G> {}

impl<G: Group> Runnable<G> {
    /// Returns the right to run the actor of a cell that the caller has woken.
    ///
    /// # Safety
    ///
    /// The caller has woken the actor. It passes its right to run the actor to the returned value.
    pub(super) const unsafe fn from_woken(cell: CellPointer<G>) -> Self {
        Self(cell)
    }

    /// Handles up to `messages_max` messages on the calling thread. Returns earlier if the mailbox
    /// is empty, or if the behaviour ends the activation. `group` is the actor's group, and
    /// `worker` the worker that runs the actor.
    #[inline]
    pub fn run(self, group: &G, worker: &mut G::Worker, messages_max: u32) -> ActivationOutcome<G> {
        let cell = ManuallyDrop::new(self).0;
        // SAFETY: an actor with a runner exists, until that ends it.
        let run = unsafe { cell.header() }.functions.run;
        // SAFETY: the function is that of this cell, and the right to run it was given up above.
        unsafe { run(cell.0, group, worker, messages_max) }
    }

    /// Calls [`Behaviour::handle_visit`], without handling any mail. `group` is the actor's group,
    /// and `worker` the worker that calls this function.
    pub fn visit_actor(&mut self, group: &G, worker: &mut G::Worker) {
        let visit = self.header().functions.visit;
        // SAFETY: the function is that of this cell, and this is the right to run it.
        unsafe { visit(self.0.0, group, worker) }
    }

    /// Schedules the actor: gives the right to run it to the workers of its group, or to the thread
    /// that runs it.
    ///
    /// # Safety
    ///
    /// The caller keeps the cell alive, even if the actor ends during the call.
    #[inline(always)]
    pub(super) unsafe fn schedule(self) {
        let cell = self.0;
        // SAFETY: the contract.
        let header = unsafe { cell.header() };
        let Some(pull) = header.functions.pull else {
            return header.group.schedule(self);
        };
        let cell = ManuallyDrop::new(self).0;
        // SAFETY: the function is that of this cell, and the right to run it was given up above.
        unsafe { pull(cell.0) };
    }

    /// Returns the index of the worker that ran the actor last, as [`Self::set_last_worker_index`]
    /// has stored it.
    #[must_use]
    pub fn last_worker_index(&self) -> u8 {
        sync::load_hint(&self.header().last_worker)
    }

    /// Stores the index of the worker that runs the actor now.
    pub fn set_last_worker_index(&self, worker_index: u8) {
        sync::store_hint(&self.header().last_worker, worker_index);
    }

    /// Returns a number that identifies the actor for as long as this value exists.
    #[must_use]
    pub fn id(&self) -> usize {
        self.0.id()
    }

    /// Converts this value to a raw pointer, so that a queue can store it.
    #[must_use]
    pub fn into_raw(self) -> NonNull<CellHeader<G>> {
        ManuallyDrop::new(self).0.0
    }

    /// Returns the right to run the actor that [`Self::into_raw`] has turned into `raw`.
    ///
    /// # Safety
    ///
    /// `raw` was returned by [`Self::into_raw`], and is passed to this function only once.
    #[must_use]
    pub const unsafe fn from_raw(raw: NonNull<CellHeader<G>>) -> Self {
        Self(CellPointer(raw))
    }

    fn header(&self) -> &CellHeader<G> {
        // SAFETY: an actor with a runner exists.
        unsafe { self.0.header() }
    }
}

impl<G: Group> Drop for Runnable<G> {
    fn drop(&mut self) {
        // WHY: in a forked child the behaviour belongs to threads that do not exist.
        if !self.0.belongs_to_parent_process() {
            let end = self.header().functions.end;
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

/// The type of a pointer to the function that runs the actor of a cell. It does not depend on the
/// actor's message type, which the caller does not know.
///
/// WHY the argument is not an [`Activation`]: it would be copied with wide loads from memory that
/// has just been written in smaller parts, and such loads have to wait for the writes.
pub(super) type RunActorFn<G> =
    unsafe fn(NonNull<CellHeader<G>>, &G, &mut <G as Group>::Worker, u32) -> ActivationOutcome<G>;

/// The type of a pointer to the function that calls [`Behaviour::handle_visit`] for an actor.
pub(super) type VisitActorFn<G> = unsafe fn(NonNull<CellHeader<G>>, &G, &mut <G as Group>::Worker);

/// The reason why an actor stopped handling the messages of one batch.
#[derive(Clone, Copy)]
enum BatchEnd {
    Empty,
    More,
    Suspended,
    Ended,
}

/// Runs the actor of a cell: handles messages, as [`Runnable::run`] describes.
///
/// # Safety
///
/// The behaviour of the cell has the type `B`. The caller is the runner of the actor, and gives up
/// the right to run it.
pub(super) unsafe fn run_actor<B: Behaviour<G>, G: Group>(
    cell: NonNull<CellHeader<G>>,
    group: &G,
    worker: &mut G::Worker,
    messages_max: u32,
) -> ActivationOutcome<G> {
    let cell = CellPointer(cell);
    let mut turn = Activation::<B::Message, G>::new(cell, group, worker, messages_max);
    let mut is_ending = false;
    loop {
        // SAFETY: the contract.
        let stop = unsafe { run_batch_catching_panics::<B, G>(&mut turn) };
        // WHY: by an address that was given away, a message may have come after the last look.
        is_ending &= !turn.take_made_address_flag();
        match stop {
            BatchEnd::Empty => {}
            BatchEnd::More => {
                turn.subtract_handled_messages();
                // SAFETY: the caller was the runner, and gave the right up.
                return ActivationOutcome::More(unsafe { Runnable::from_woken(cell) });
            }
            BatchEnd::Suspended => {
                turn.subtract_handled_messages();
                // SAFETY: as above.
                return ActivationOutcome::Suspended(unsafe { Runnable::from_woken(cell) });
            }
            BatchEnd::Ended => {
                // SAFETY: the contract.
                unsafe { end_actor::<B, G>(cell, Some(turn.worker)) };
                return ActivationOutcome::Ended;
            }
        }
        // SAFETY: the contract; the mailbox was found empty.
        match unsafe { put_to_sleep(&turn, is_ending) } {
            SleepOutcome::Asleep { .. } => return ActivationOutcome::Slept,
            SleepOutcome::LookAgain { is_ending: again } => is_ending = again,
            // SAFETY: the contract.
            SleepOutcome::End if unsafe { keeps_actor_alive::<B, G>(&mut turn) } => {
                is_ending = false
            }
            SleepOutcome::End => {
                // SAFETY: the contract.
                unsafe { end_actor::<B, G>(cell, Some(turn.worker)) };
                return ActivationOutcome::Ended;
            }
        }
    }
}

/// Calls [`Behaviour::handle_visit`] for the actor of a cell.
///
/// # Safety
///
/// The behaviour of the cell has the type `B`, and the caller is the runner of the actor.
pub(super) unsafe fn visit_actor<B: Behaviour<G>, G: Group>(
    cell: NonNull<CellHeader<G>>,
    group: &G,
    worker: &mut G::Worker,
) {
    let mut turn = Activation::<B::Message, G>::new(CellPointer(cell), group, worker, 0);
    let state = behaviour_address::<B, G>(turn.cell);
    drop_catching_panic(|| {
        // SAFETY: only the runner uses the state, and no other reference to it exists.
        unsafe { &mut *state }.handle_visit(&mut turn);
    });
}

/// Asks the behaviour whether the actor should live on although no address is left. Returns true if
/// it should, and an address exists now.
#[cold]
unsafe fn keeps_actor_alive<B: Behaviour<G>, G: Group>(
    turn: &mut Activation<'_, B::Message, G>,
) -> bool {
    let state = behaviour_address::<B, G>(turn.cell);
    let outlives = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: only the runner uses the state, and no other reference to it exists.
        unsafe { &mut *state }.outlives_addresses(turn)
    }));
    turn.count_handled_message();
    let has_address = turn.take_made_address_flag() || turn.header().holders.has_address();
    outlives.is_ok_and(|outlives| outlives && has_address)
}

/// Handles a batch of messages: see [`handle_batch`]. If the behaviour panics, calls
/// [`recover_from_panic`], and continues if the behaviour wants that.
#[inline(always)]
unsafe fn run_batch_catching_panics<B: Behaviour<G>, G: Group>(
    turn: &mut Activation<'_, B::Message, G>,
) -> BatchEnd {
    loop {
        let mut end = None;
        let whole = AssertUnwindSafe(|| {
            // SAFETY: the contract of `run`.
            unsafe { run_batch_to_end::<B, G>(turn, &mut end) }
        });
        let panic = match catch_unwind(whole) {
            Ok(stop) => return stop,
            Err(panic) => panic,
        };
        // SAFETY: the contract of `run`.
        let stop = unsafe { recover_from_panic::<B, G>(turn, panic) }.batch_end();
        // WHY: after a panic of `end_batch`, what the messages before it led to still holds.
        match (end, stop) {
            (Some(BatchEnd::Ended), _) => return BatchEnd::Ended,
            (_, Some(stop)) | (Some(stop), None) => return stop,
            (None, None) => {}
        }
    }
}

/// Calls [`Behaviour::handle_panic`] after a panic of the behaviour. Returns how the batch of
/// messages continues, as that function has decided.
#[cold]
unsafe fn recover_from_panic<B: Behaviour<G>, G: Group>(
    turn: &mut Activation<'_, B::Message, G>,
    panic: Panic,
) -> Flow {
    turn.count_handled_message();
    let state = behaviour_address::<B, G>(turn.cell);
    let flow = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: only the runner uses the state, and no other reference to it exists.
        unsafe { &mut *state }.handle_panic(panic, turn)
    }));
    turn.count_handled_message();
    flow.unwrap_or_else(|panic| {
        core::mem::forget(panic);
        Flow::Stop
    })
}

impl Flow {
    #[inline(always)]
    const fn batch_end(self) -> Option<BatchEnd> {
        match self {
            Self::Continue => None,
            Self::Yield => Some(BatchEnd::More),
            Self::Suspend => Some(BatchEnd::Suspended),
            Self::Stop => Some(BatchEnd::Ended),
        }
    }
}

/// Calls [`handle_batch`] and stores its result in `end`. Then calls [`Behaviour::end_batch`],
/// unless the behaviour pauses.
#[inline(always)]
unsafe fn run_batch_to_end<B: Behaviour<G>, G: Group>(
    turn: &mut Activation<'_, B::Message, G>,
    end: &mut Option<BatchEnd>,
) -> BatchEnd {
    // SAFETY: the contract of `run`.
    let stop = unsafe { handle_batch::<B, G>(turn) };
    *end = Some(stop);
    if matches!(stop, BatchEnd::Suspended) {
        return stop;
    }
    // SAFETY: only the runner uses the state, and no other reference to it exists.
    let flow = unsafe { &mut *behaviour_address::<B, G>(turn.cell) }.end_batch(turn);
    turn.count_handled_message();
    match flow.batch_end() {
        Some(other) if !matches!(stop, BatchEnd::Ended) => other,
        _ => stop,
    }
}

/// Handles messages until the mailbox is empty, the maximum number of messages was handled, or the
/// behaviour ends the activation. Returns which of these happened.
#[inline(always)]
unsafe fn handle_batch<B: Behaviour<G>, G: Group>(
    turn: &mut Activation<'_, B::Message, G>,
) -> BatchEnd {
    let (cell, state) = (turn.cell, behaviour_address::<B, G>(turn.cell));
    let reader = turn.header().reader.get();
    loop {
        if turn.messages_left == 0 {
            return BatchEnd::More;
        }
        // SAFETY: only the runner uses the reader, and this reference ends before the handler.
        let reader = unsafe { &mut *reader };
        // SAFETY: the reader is that of the cell.
        let taken = match unsafe { reader.find_next_block(cell) } {
            NextBlock::Taken(taken) => taken,
            NextBlock::Reversing => return BatchEnd::More,
            NextBlock::Empty => {
                if turn.group.should_check_mailbox_again(turn.worker) {
                    turn.subtract_handled_messages();
                    continue;
                }
                return BatchEnd::Empty;
            }
        };
        // WHY messages by themselves: an event that may be anything is copied several times.
        let flow = if blocks::block_kind_of(taken.tag) == MESSAGE_BLOCK_KIND {
            // SAFETY: a block of this kind has a message, and was taken by the runner.
            // WHY not dropped by a panic: it would need an address, as in `Envelope::new`.
            let message = ManuallyDrop::new(unsafe { Envelope::take_value_at(taken.block) });
            // SAFETY: the block was just taken, and its message was moved out.
            unsafe { reader.remove_oldest_block(cell, taken.block) };
            turn.begin_event(taken.tag.is_counted());
            let message = ManuallyDrop::into_inner(message);
            // SAFETY: only the runner uses the state, and no other reference to it exists.
            unsafe { &mut *state }.handle(Event::Message(message), turn)
        } else {
            // SAFETY: the block was just taken.
            match unsafe { handle_block_without_message::<B, G>(turn, taken) } {
                Some(flow) => flow,
                None => continue,
            }
        };
        turn.count_handled_message();
        if let Some(stop) = flow.batch_end() {
            return stop;
        }
    }
}

/// Handles a block that does not hold a message, and returns the behaviour's decision. Returns
/// `None` if the block contains nothing to handle.
///
/// WHY a separate function: [`handle_batch`] then contains only the code for messages.
///
/// # Safety
///
/// The caller is the runner, and has just taken the block.
#[cold]
unsafe fn handle_block_without_message<B: Behaviour<G>, G: Group>(
    turn: &mut Activation<'_, B::Message, G>,
    taken: TakenBlock,
) -> Option<Flow> {
    let (cell, state) = (turn.cell, behaviour_address::<B, G>(turn.cell));
    // SAFETY: the block is one of this cell, and was just taken.
    let event = unsafe { take_event::<B, G>(cell, taken) };
    // SAFETY: only the runner uses the reader.
    let reader = unsafe { &mut *turn.header().reader.get() };
    // SAFETY: the block was just taken, and its content was moved out.
    unsafe { reader.remove_oldest_block(cell, taken.block) };
    let (event, is_counted) = event?;
    turn.begin_event(is_counted);
    // SAFETY: only the runner uses the state, and no other reference to it exists.
    Some(unsafe { &mut *state }.handle(event, turn))
}

/// An event that was moved out of a mailbox block, and a flag that is true if the block counts in
/// the mailbox's depth.
type CountedEvent<B, G> = (
    Event<<B as Behaviour<G>>::Message, <G as Group>::Control>,
    bool,
);

/// Moves the event out of a block; returns `None` if the block contains no event for the actor.
unsafe fn take_event<B: Behaviour<G>, G: Group>(
    cell: CellPointer<G>,
    TakenBlock { block, tag }: TakenBlock,
) -> Option<CountedEvent<B, G>> {
    let event = match blocks::block_kind_of(tag) {
        // SAFETY: a block of this kind has a message, and was taken by the runner.
        MESSAGE_BLOCK_KIND => Event::Message(unsafe { Envelope::take_value_at(block) }),
        // SAFETY: as above, a control.
        CONTROL_BLOCK_KIND => Event::Control(unsafe { Envelope::take_value_at(block) }),
        NOTICE_BLOCK_KIND => {
            // SAFETY: the runner keeps the cell.
            let latest = latest::take_latest(&unsafe { cell.header() }.slot);
            if latest == 0 {
                return None;
            }
            // SAFETY: a block from the slot has a message.
            Event::Message(unsafe { Envelope::from_block_address(latest) }.into_inner())
        }
        // WHY nothing: it only makes the runner look at the addresses before it sleeps.
        _ => return None,
    };
    Some((event, tag.is_counted()))
}

/// Puts the actor to sleep if it has no mail and something can still send to it. `is_ending` is the
/// value that the previous call returned in [`SleepOutcome::LookAgain`], or false. The result says
/// what the runner has to do next.
unsafe fn put_to_sleep<M, G: Group>(turn: &Activation<'_, M, G>, is_ending: bool) -> SleepOutcome {
    let cell = turn.cell;
    let reader = turn.header().reader.get();
    let wake = || {
        // SAFETY: `sleep_or_end` has just woken the actor again.
        let runnable = unsafe { Runnable::from_woken(cell) };
        // SAFETY: `sleep_or_end` keeps the cell.
        unsafe { runnable.schedule() };
    };
    // SAFETY: the reader is that of the cell, and was found empty.
    let outcome = unsafe { life::sleep_or_end(reader, cell, turn.handled, is_ending, wake) };
    if let SleepOutcome::Asleep {
        block,
        is_room_wanted,
        is_free,
    } = outcome
    {
        if block != 0 {
            // SAFETY: the word does not name the block any more, and its content was taken.
            unsafe { free_block(block) };
        }
        if is_room_wanted {
            turn.wake_room_waiters();
        }
        if is_free {
            // SAFETY: the last hold was removed.
            unsafe { cell.free() };
        }
    }
    outcome
}

/// Ends the actor of a cell without a worker, because its [`Runnable`] was dropped.
///
/// # Safety
///
/// As [`run_actor`].
pub(super) unsafe fn end_without_worker<B: Behaviour<G>, G: Group>(cell: NonNull<CellHeader<G>>) {
    // SAFETY: the contract.
    unsafe { end_actor::<B, G>(CellPointer(cell), None) };
}

/// Pushes the actor onto the queue of the thread that runs it.
///
/// # Safety
///
/// As [`run_actor`].
pub(super) unsafe fn push_to_pull_queue<B: Behaviour<G>, G: Group>(cell: NonNull<CellHeader<G>>) {
    let cell = CellPointer(cell);
    // SAFETY: only the runner, which is the caller, uses the state.
    let queue = unsafe { &*behaviour_address::<B, G>(cell) }.pull_queue();
    // SAFETY: the contract.
    let runnable = unsafe { Runnable::from_woken(cell) };
    // WHY its own hold of the queue: once it is there, the actor may end.
    match queue {
        Some(queue) => queue.push(runnable),
        None => drop(runnable),
    }
}

/// Ends the actor: drops all waiting messages, and lets the behaviour drop all waiting controls.
/// Then drops the actor's state, and removes the hold that the live actor has on its cell.
unsafe fn end_actor<B: Behaviour<G>, G: Group>(
    cell: CellPointer<G>,
    worker: Option<&mut G::Worker>,
) {
    let state = behaviour_address::<B, G>(cell);
    // SAFETY: the runner keeps the cell until it leaves below.
    let header = unsafe { cell.header() };
    header.holders.end_actor();
    let mut end = ActorEndReport {
        undelivered: 0,
        panics: 0,
    };
    let mut discard = |event: Option<CountedEvent<B, G>>| {
        let is_message = match &event {
            Some((Event::Control(control), _)) => B::counts_as_message(control),
            other => other.is_some(),
        };
        end.undelivered += u64::from(is_message);
        end.panics += u64::from(drop_catching_panic(|| match event {
            // SAFETY: only the runner uses the state, and no other reference to it exists.
            Some((Event::Control(control), _)) => unsafe { &mut *state }.drop_control(control),
            event => drop(event),
        }));
    };
    // SAFETY: only the runner uses the reader.
    let reader = unsafe { &mut *header.reader.get() };
    // SAFETY: the block is one of this cell, and was just taken.
    let discard_block = |taken| discard(unsafe { take_event::<B, G>(cell, taken) });
    // SAFETY: the reader is that of the cell; the content is moved out, and no drop panics.
    let is_room_wanted = unsafe { reader.end(cell, discard_block) };
    if is_room_wanted {
        header
            .group
            .mailbox_room_eventcounts()
            .eventcount_of(cell.id())
            .notify();
    }
    // SAFETY: only the runner uses the state.
    let behaviour = unsafe { &mut *state };
    drop_catching_panic(|| behaviour.handle_end(&end, &header.group, worker));
    // SAFETY: as above; it is not used after this, as the mailbox refuses all that would wake it.
    if drop_catching_panic(|| unsafe { core::ptr::drop_in_place(state) }) {
        drop_catching_panic(|| B::handle_drop_panic(&header.group));
    }
    // SAFETY: the hold of the actor's life ends with it.
    unsafe { cell.remove_hold() };
}

/// Returns the address of the behaviour (the actor's state) in a cell.
#[inline(always)]
fn behaviour_address<B, G: Group>(cell: CellPointer<G>) -> *mut B {
    let cell: NonNull<ActorCell<B, G>> = cell.0.cast();
    // WHY without a reference: one to the header would not cover the state.
    // SAFETY: the caller is the runner of a cell with this behaviour; only an address is computed.
    let state = unsafe { &raw mut (*cell.as_ptr()).state };
    state.cast()
}
