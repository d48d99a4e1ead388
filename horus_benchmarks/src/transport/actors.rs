//! Runtimes of actors, ours and those of other crates, behind one trait.
//!
//! A process runs one workload on one runtime, in a few passes, so a runtime has no handle: its
//! functions are called in that process, by the work that [`Runtime::run_workload`] was given, or
//! by actors.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::measure::memory;

#[cfg(feature = "actor_peers")]
pub mod actix;
#[cfg(feature = "actor_peers")]
pub mod kameo;
pub mod ours;
#[cfg(feature = "actor_peers")]
pub mod ractor;
#[cfg(feature = "actor_peers")]
pub mod tokio;

/// The result of a run.
pub type RunResult = Result<(), Box<dyn Error>>;

/// An actor of a workload, which every runtime can run.
pub trait WorkloadActor: Send + Sync + Unpin + 'static {
    /// The type of the messages.
    type Message: Send + 'static;

    /// Called by the runtime before the first message.
    fn started(&mut self) {}

    /// Handles one message. The result is the answer, if the message is a question.
    fn handle(&mut self, message: Self::Message) -> u64;
}

/// A runtime of actors. All mailboxes are unbounded.
pub trait Runtime: Send + 'static {
    /// An address of a player.
    type Address<P: WorkloadActor>: Clone + Send + Sync + Unpin + 'static;

    /// Starts the runtime with `threads` threads, calls `work` on the calling thread, waits until
    /// [`GATE`] opens, and ends all actors. With 0 threads, one thread runs the actors and calls
    /// `work`. The result of `work` is kept until the gate opens.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime cannot start, or did not end well.
    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> RunResult;

    /// Runs the task that `work` returns and all actors on one thread. The task asks by
    /// [`Self::ask_alone`] and does nothing else.
    ///
    /// # Errors
    ///
    /// The same as of [`Self::run_workload`].
    fn run_alone<F: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce() -> F + Send + 'static,
    ) -> RunResult {
        Self::run_workload(0, move || Self::spawn_task(work()))
    }

    /// Spawns an actor.
    fn spawn<P: WorkloadActor>(player: P) -> Self::Address<P>;

    /// Sends a message; returns false if the actor has ended.
    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool;

    /// Sends messages at once where the runtime can.
    fn tell_all<P: WorkloadActor>(
        address: &Self::Address<P>,
        mut messages: impl Iterator<Item = P::Message>,
    ) -> bool {
        messages.all(|message| Self::tell(address, message))
    }

    /// Sends a question; returns its answer, or `None` if there is none.
    fn ask<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> impl Future<Output = Option<u64>> + Send;

    /// Does the same as [`Self::ask`], for a task of [`Self::run_alone`].
    fn ask_alone<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> impl Future<Output = Option<u64>> + Send {
        Self::ask(address, message)
    }

    /// Sends a question, and waits for the answer as a thread that runs no actors.
    fn ask_and_wait<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> Option<u64> {
        pollster::block_on(Self::ask(address, message))
    }

    /// Runs a future as a task of the runtime.
    fn spawn_task(future: impl Future<Output = ()> + Send + 'static);
}

/// A message, or a question with the end that replies.
#[derive(Debug)]
pub enum Mail<M, R> {
    /// A message.
    Tell(M),
    /// A question.
    Ask(M, R),
}

/// A time in a workload, with the memory of the process at that time.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The time.
    pub at: Instant,
    /// The memory of the process, in bytes.
    pub rss_bytes: u64,
}

impl Moment {
    fn now() -> Self {
        let at = Instant::now();
        let rss_bytes = memory::resident_bytes();
        Self { at, rss_bytes }
    }
}

/// Number of passes in a process: the first one uses new memory, the last one is timed.
pub const PASSES: usize = 2;

/// A value of each pass. WHY not a lock: it is read for each actor that is spawned.
#[derive(Debug)]
pub struct PerPass<T>([OnceLock<T>; PASSES]);

/// The number of the pass that runs.
static PASS_NUMBER: AtomicUsize = AtomicUsize::new(0);

impl<T> PerPass<T> {
    const fn new() -> Self {
        Self([const { OnceLock::new() }; PASSES])
    }

    /// Returns the value of this pass.
    fn of_this_pass(&self) -> &OnceLock<T> {
        // Relaxed: stored before the threads of the pass start.
        &self.0[PASS_NUMBER.load(Ordering::Relaxed)]
    }
}

/// A gate that opens in each pass, when as many parts of it as the gate was closed for are done.
#[derive(Debug)]
pub struct Gate {
    left: AtomicU64,
    is_wrong: AtomicBool,
    closed: PerPass<Moment>,
    opened: PerPass<Moment>,
    waker: Mutex<Option<Waker>>,
}

/// The gate of this process. WHY static: in an actor it would take memory, which is measured.
pub static GATE: Gate = Gate {
    left: AtomicU64::new(0),
    is_wrong: AtomicBool::new(false),
    closed: PerPass::new(),
    opened: PerPass::new(),
    waker: Mutex::new(None),
};

impl Gate {
    /// Begins pass `pass`, which is less than [`PASSES`].
    pub fn begin_pass(&self, pass: usize) {
        // Relaxed: no other thread runs.
        PASS_NUMBER.store(pass, Ordering::Relaxed);
    }

    /// Closes the gate until `parts` parts are done, of which the first begins now.
    pub fn close(&self, parts: u64) {
        // Relaxed: the messages order it.
        self.left.store(parts, Ordering::Relaxed);
        self.closed.of_this_pass().get_or_init(Moment::now);
    }

    /// Counts a part as done, and opens the gate with the last part.
    pub fn finish_part(&self) {
        // Relaxed: nothing is read because of it until all threads have ended.
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.open();
        }
    }

    /// Opens the gate at once if `is_right` is false, and records that the run is wrong.
    #[inline]
    pub fn fail_unless(&self, is_right: bool) {
        if !is_right {
            // Relaxed: read after the end of all threads.
            self.is_wrong.store(true, Ordering::Relaxed);
            self.open();
        }
    }

    /// Returns the moments at which the gate was closed and opened in this pass; `None` if it was
    /// not, or if something was wrong.
    pub fn moments(&self) -> Option<[Moment; 2]> {
        let moments = [
            *self.closed.of_this_pass().get()?,
            *self.opened.of_this_pass().get()?,
        ];
        (!self.is_wrong.load(Ordering::Relaxed)).then_some(moments)
    }

    #[cold]
    fn open(&self) {
        self.opened.of_this_pass().get_or_init(Moment::now);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = &*waker {
            waker.wake_by_ref();
        }
    }
}

impl Future for &Gate {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        *waker = Some(context.waker().clone());
        drop(waker);
        match self.opened.of_this_pass().get() {
            Some(_) => Poll::Ready(()),
            None => Poll::Pending,
        }
    }
}
