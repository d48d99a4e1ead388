//! Answers. An answer is memory for one value, which a *replier* passes to an *asker*.
//!
//! [`answer_channel`] creates both ends: a [`Reply`] for the replier, and an [`Answer`] for the
//! asker. If the [`Reply`] is dropped without a value, the asker gets the error that there is no
//! answer. If the [`Answer`] is dropped, [`Reply::is_cancelled`] returns true. The asker can wait
//! as a thread, or as a task of any executor. A [`Reply`] in a message takes eight bytes. The
//! shared memory is a block, which the end that is dropped last frees.
//!
//! ```
//! use horus_shm::internals::heap::{NoAnswer, answer_channel};
//! use horus_shm::internals::wait::WaitPolicy;
//!
//! let (reply, mut question) = answer_channel::<u32>();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| reply.send(42));
//!     assert_eq!(question.wait(WaitPolicy::endless()), Ok(42));
//! });
//!
//! let (reply, mut question) = answer_channel::<u32>();
//! drop(reply);
//! assert_eq!(question.try_take(), Some(Err(NoAnswer)));
//! ```

use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::future::Future;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::pin::Pin;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use core::task::{Context, Poll, Waker};
use std::alloc::Layout;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::blocks::{allocate, deallocate};
use crate::process::fork::{ForkLocal, fork_epoch};
use crate::protocol::answer::{
    self as protocol, AnswerMemory, NO_REPLY_YET, ReplyOutcome, ReplyState,
};
use crate::protocol::sync::{self, Edge};
use crate::wait::{Backoff, LocalEventcount, WaitPolicy};

/// Number of eventcounts in a process at which threads wait for answers. Several answers share each
/// of them.
const ANSWER_EVENTCOUNTS_PER_PROCESS: usize = 16;

/// The time for which a thread polls for a reply before it sleeps, if longer polling has recently
/// found no reply.
const SHORT_REPLY_POLL_TIME: Duration = Duration::from_micros(2);

thread_local! {
    /// Decides whether the next wait of this thread polls for a reply for a long or a short time.
    /// After each long poll that finds no reply, more of the following waits poll only for a short
    /// time.
    static LONG_REPLY_POLL_BACKOFF: Cell<Backoff<31>> = const { Cell::new(Backoff::new()) };
}

/// Number of polls for a reply between two readings of the clock.
///
/// WHY 1 under miri: the interpreter takes as long for one poll as a CPU takes for all of them.
const REPLY_POLLS_PER_CLOCK_READ: u32 = if cfg!(miri) { 1 } else { 16 };

/// The eventcounts at which the threads of this process wait for answers.
#[derive(Default)]
struct AnswerEventcounts([LocalEventcount; ANSWER_EVENTCOUNTS_PER_PROCESS]);

static ANSWER_EVENTCOUNTS: ForkLocal<AnswerEventcounts> = ForkLocal::new();

/// The memory of one answer, which its two ends (asker and replier) share.
struct AnswerBlock<T> {
    state: AtomicU64,
    /// The waker of the task that waits for the answer; `None` if a thread waits, which sleeps at
    /// an eventcount.
    waker: UnsafeCell<Option<Waker>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// A pointer to an [`AnswerBlock`]. It is valid for as long as its owner is one of the two ends of
/// the answer.
struct AnswerPointer<T>(NonNull<AnswerBlock<T>>);

impl<T> Clone for AnswerPointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for AnswerPointer<T> {}

impl<T> AnswerMemory for AnswerPointer<T> {
    type Word = AtomicU64;

    #[inline(always)]
    fn state(&self) -> &AtomicU64 {
        // SAFETY: the owner of the handle keeps the memory while it uses the state.
        unsafe { &(*self.0.as_ptr()).state }
    }

    #[inline(always)]
    fn fence(&self, edge: Edge) {
        sync::fence(edge);
    }
}

impl<T> AnswerPointer<T> {
    fn new() -> Self {
        let block: NonNull<AnswerBlock<T>> = allocate(Layout::new::<AnswerBlock<T>>()).cast();
        let value = AnswerBlock {
            state: AtomicU64::new(NO_REPLY_YET),
            waker: UnsafeCell::new(None),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        // SAFETY: just allocated for a block.
        unsafe { block.write(value) };
        Self(block)
    }

    fn waker_address(self) -> *mut Option<Waker> {
        // SAFETY: the owner keeps the memory; only an address is computed.
        unsafe { &raw const (*self.0.as_ptr()).waker }
            .cast_mut()
            .cast()
    }

    fn value_address(self) -> *mut T {
        // SAFETY: as above.
        unsafe { &raw const (*self.0.as_ptr()).value }
            .cast_mut()
            .cast()
    }

    /// Frees the memory of the answer. Returns the value, if the memory holds one.
    ///
    /// # Safety
    ///
    /// The caller is the last owner, and `has_value` is true if and only if there is a value.
    unsafe fn free_and_take_value(self, has_value: bool) -> Option<T> {
        // SAFETY: by the contract there is a value, which is not read again.
        let value = has_value.then(|| unsafe { self.value_address().read() });
        // SAFETY: the waker is initialised, and is not used again.
        let waker = unsafe { self.waker_address().read() };
        // SAFETY: made by `new` with this layout; nothing uses it any more.
        unsafe { deallocate(self.0.cast(), Layout::new::<AnswerBlock<T>>()) };
        drop(waker);
        value
    }

    /// Returns the eventcount at which a thread that waits for this answer sleeps.
    fn eventcount(self) -> &'static LocalEventcount {
        // WHY shifted: blocks are aligned to 32 bytes at least.
        &ANSWER_EVENTCOUNTS.get().0[(self.0.addr().get() >> 5) % ANSWER_EVENTCOUNTS_PER_PROCESS]
    }
}

/// The replier's end of an answer, which sends one value. If it is dropped before that, the asker
/// gets the error that there is no answer.
pub struct Reply<T>(AnswerPointer<T>);

// SAFETY: it hands a value over to another thread, and wakers are made for all threads.
unsafe impl<T: Send> Send for Reply<T> {}
// SAFETY: a shared reference only gives access to the state.
unsafe impl<T: Send> Sync for Reply<T> {}

/// The asker's end of an answer. The asker waits for the value as a thread or as a task.
pub struct Answer<T> {
    /// The memory that the asker shares with the replier; `None` after the asker has taken the
    /// reply out of it.
    block: Option<AnswerPointer<T>>,
    /// True while the answer contains a waker of the asker that the asker has not taken back.
    is_registered: bool,
    /// The value of the fork counter when the answer was created. It differs in a forked child,
    /// which cannot use the answer.
    epoch: u64,
}

// SAFETY: as for `Reply`.
unsafe impl<T: Send> Send for Answer<T> {}
// SAFETY: a shared reference gives no access.
unsafe impl<T: Send> Sync for Answer<T> {}

/// The error that is returned if there will be no answer: the replier dropped its end, or the asker
/// has already taken the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("there is no answer")]
pub struct NoAnswer;

/// The reason why a wait for an answer ended without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AnswerError {
    /// There will be no value, because the replier dropped its end, or the asker has already taken
    /// the value. Permanent.
    #[error("there is no answer")]
    NoAnswer,
    /// The time limit passed before there was a reply. Transient: the asker may wait again.
    #[error("there is no answer yet")]
    Timeout,
}

impl From<NoAnswer> for AnswerError {
    fn from(_: NoAnswer) -> Self {
        Self::NoAnswer
    }
}

/// Creates the two ends of a new answer: the [`Reply`] for the replier, and the [`Answer`] for the
/// asker.
#[must_use]
pub fn answer_channel<T: Send>() -> (Reply<T>, Answer<T>) {
    let block = AnswerPointer::new();
    let answer = Answer {
        block: Some(block),
        is_registered: false,
        epoch: fork_epoch(),
    };
    (Reply(block), answer)
}

impl<T> Reply<T> {
    /// Sends `value` to the asker; drops the value if the asker no longer waits. Does not block.
    pub fn send(self, value: T) {
        let block = ManuallyDrop::new(self).0;
        // SAFETY: until it is published, the value is the replier's.
        unsafe { block.value_address().write(value) };
        // SAFETY: this is the only replier, which is not used after this.
        unsafe { publish_reply_and_wake_asker(block, true) };
    }

    /// Returns true if the asker no longer waits, so that nobody will read a reply.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        protocol::has_asker_left(&self.0)
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        // SAFETY: this is the only replier, which is not used after this.
        unsafe { publish_reply_and_wake_asker(self.0, false) };
    }
}

/// Publishes a reply, and wakes the asker if it waits. `has_value` says whether the reply is a
/// value.
///
/// # Safety
///
/// The caller is the replier and calls this function once. If `has_value` is true, the caller has
/// written the value before.
unsafe fn publish_reply_and_wake_asker<T>(block: AnswerPointer<T>, has_value: bool) {
    // SAFETY: the closure is called while the waker is the replier's.
    let take = || unsafe { (*block.waker_address()).take() };
    // SAFETY: the contract.
    match unsafe { protocol::publish_reply(&block, has_value, take) } {
        ReplyOutcome::Published => {}
        ReplyOutcome::Wake(Some(waker)) => waker.wake(),
        // WHY allowed: it only needs the address of the block.
        ReplyOutcome::Wake(None) => block.eventcount().notify(),
        ReplyOutcome::Left(waker) => {
            drop(waker);
            // SAFETY: the asker has left, so the memory is the replier's.
            drop(unsafe { block.free_and_take_value(has_value) });
        }
    }
}

impl<T> Answer<T> {
    /// Takes the value if there is a reply; `None` if there is no reply yet. The error [`NoAnswer`]
    /// means that there will be no value.
    pub fn try_take(&mut self) -> Option<Result<T, NoAnswer>> {
        let Some(block) = self.usable_block() else {
            return Some(Err(NoAnswer));
        };
        match protocol::load_reply_state(&block) {
            ReplyState::Full => Some(self.take_reply(block, true)),
            ReplyState::Empty => Some(self.take_reply(block, false)),
            ReplyState::Pending | ReplyState::Busy => None,
        }
    }

    /// Blocks the calling thread until the value comes, and returns it.
    ///
    /// # Errors
    ///
    /// [`AnswerError`]. After a timeout, the asker may wait again.
    pub fn wait(&mut self, wait_policy: WaitPolicy) -> Result<T, AnswerError> {
        if let Some(event) = self.usable_block().map(AnswerPointer::eventcount) {
            // WHY first without a registration: a reply that comes soon then costs one exchange.
            if let Some(found) = self.poll_without_sleeping(wait_policy) {
                return Ok(found?);
            }
            self.try_register_waker(None);
            let found = event.wait_until(wait_policy.with_spin(Duration::ZERO), || self.try_take());
            if let Some(found) = found {
                return Ok(found?);
            }
        }
        self.try_retract_waker();
        self.try_take()
            .map_or(Err(AnswerError::Timeout), |found| Ok(found?))
    }

    /// Polls for the reply, without sleeping: for the spin time of `wait_policy`, or only for
    /// [`SHORT_REPLY_POLL_TIME`] if long polls have recently found no reply.
    ///
    /// WHY: the thread that replies may be waiting for this CPU, and runs when this thread sleeps.
    /// If both threads are on one CPU, a question takes 7 µs in this way, and 15 µs if the asker
    /// always polls for the whole spin time.
    fn poll_without_sleeping(&mut self, wait_policy: WaitPolicy) -> Option<Result<T, NoAnswer>> {
        let found = self.try_take();
        if found.is_some() || wait_policy.spin.is_zero() {
            return found;
        }
        let mut long_polls = LONG_REPLY_POLL_BACKOFF.get();
        let is_long = long_polls.is_due();
        let spin = if is_long {
            wait_policy.spin
        } else {
            wait_policy.spin.min(SHORT_REPLY_POLL_TIME)
        };
        let found = self.spin_for_reply(spin, wait_policy.deadline);
        if found.is_some() {
            long_polls.record_success();
        } else if is_long {
            long_polls.record_failure();
        }
        LONG_REPLY_POLL_BACKOFF.set(long_polls);
        found
    }

    fn spin_for_reply(
        &mut self,
        spin_time: Duration,
        deadline: Option<Instant>,
    ) -> Option<Result<T, NoAnswer>> {
        let begin = Instant::now();
        loop {
            for _ in 0..REPLY_POLLS_PER_CLOCK_READ {
                core::hint::spin_loop();
                let found = self.try_take();
                if found.is_some() {
                    return found;
                }
            }
            let now = Instant::now();
            if now.duration_since(begin) >= spin_time || deadline.is_some_and(|end| now >= end) {
                return None;
            }
        }
    }

    /// Returns the memory of the answer; `None` if the reply was taken already, or if this is a
    /// copy in a forked child.
    fn usable_block(&self) -> Option<AnswerPointer<T>> {
        self.block.filter(|_| self.epoch == fork_epoch())
    }

    /// Takes a published reply, and frees the memory of the answer. The reply is a value if
    /// `has_value` is true, or else the error.
    fn take_reply(&mut self, block: AnswerPointer<T>, has_value: bool) -> Result<T, NoAnswer> {
        self.block = None;
        // SAFETY: a published reply and its memory are the asker's.
        unsafe { block.free_and_take_value(has_value) }.ok_or(NoAnswer)
    }

    /// Registers `waker`, and retracts an earlier waker; `None` stands for the calling thread.
    /// Returns false, without a registered waker, if there is a reply already or will be one very
    /// soon.
    fn try_register_waker(&mut self, waker: Option<Waker>) -> bool {
        let Some(block) = self.usable_block().filter(|_| self.try_retract_waker()) else {
            return false;
        };
        // SAFETY: while no waker is registered, its field is the asker's.
        drop(unsafe { block.waker_address().replace(waker) });
        self.is_registered = protocol::try_register_waker(&block);
        self.is_registered
    }

    /// Takes back the waker that the asker had registered. Returns false if the replier has already
    /// taken the waker.
    fn try_retract_waker(&mut self) -> bool {
        if self.is_registered
            && let Some(block) = self.usable_block()
        {
            self.is_registered = !protocol::try_retract_waker(&block);
        }
        !self.is_registered
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, NoAnswer>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(found) = this.try_take() {
            return Poll::Ready(found);
        }
        if this.try_register_waker(Some(context.waker().clone())) {
            return Poll::Pending;
        }
        // WHY: the replier has just taken the waker or published, and may wake an earlier task.
        this.try_take().map_or_else(
            || {
                context.waker().wake_by_ref();
                Poll::Pending
            },
            Poll::Ready,
        )
    }
}

impl<T> Unpin for Answer<T> {}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        let Some(block) = self.usable_block() else {
            return;
        };
        if self.try_retract_waker() {
            // SAFETY: while no waker is registered, its field is the asker's.
            drop(unsafe { (*block.waker_address()).take() });
        }
        // SAFETY: this is the asker, which is not used after this.
        match unsafe { protocol::leave_as_asker(&block) } {
            // SAFETY: a published reply and its memory are the asker's.
            ReplyState::Full => drop(unsafe { block.free_and_take_value(true) }),
            // SAFETY: as above.
            ReplyState::Empty => drop(unsafe { block.free_and_take_value(false) }),
            ReplyState::Pending | ReplyState::Busy => {}
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}
