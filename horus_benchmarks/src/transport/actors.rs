//! A trait for runtimes of actors. It is implemented for our runtime and for those of other crates.
//!
//! A process runs one workload on one runtime, in a few passes, each of which executes the whole
//! workload. So a runtime needs no handle, and its functions have no `self`. Actors call these
//! functions, and so does the closure that is passed to [`Runtime::run_workload`].

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use rustix::time::ClockId;

use crate::Outcome;
use crate::measure::machine;
use crate::measure::tsc;

pub mod ours;
#[cfg(feature = "actor_peers")]
pub mod peers;

/// An actor of a workload. Every runtime has an adapter that runs it.
pub trait WorkloadActor: Send + Sync + Unpin + 'static {
    /// A message that the actor handles.
    type Message: Send + 'static;

    /// Initialises the actor, before it receives its first message.
    fn handle_start(&mut self) {}

    /// Handles a message. The result is the answer if the message is a question.
    fn handle(&mut self, message: Self::Message) -> u64;
}

/// A runtime of actors. The mailboxes of its actors must be unbounded.
pub trait Runtime: Send + 'static {
    /// The address of an actor `P`, to which messages can be sent.
    type Address<P: WorkloadActor>: Clone + Send + Sync + Unpin + 'static;

    /// Starts the runtime with `threads` threads, calls `work` on the calling thread, waits until
    /// [`GATE`] opens, and ends all actors. With 0 threads, one thread runs the actors and calls
    /// `work`. The result of `work` is not dropped before the gate opens.
    fn run_workload<T: Send + 'static>(
        threads: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome;

    /// Runs all actors and the task that `work` returns on one thread. The task does nothing but
    /// ask actors with [`Self::ask_in_same_thread`].
    fn run_on_one_thread<F: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce() -> F + Send + 'static,
    ) -> Outcome {
        Self::run_workload(0, move || Self::spawn_task(work()))
    }

    /// Adds an actor to the runtime, and returns its address.
    fn spawn<P: WorkloadActor>(actor: P) -> Self::Address<P>;

    /// Sends a message to an actor. Returns false if the actor has ended.
    fn tell<P: WorkloadActor>(address: &Self::Address<P>, message: P::Message) -> bool;

    /// Sends several messages to an actor, in one call if the runtime supports that.
    fn tell_all<P: WorkloadActor>(
        address: &Self::Address<P>,
        mut messages: impl Iterator<Item = P::Message>,
    ) -> bool {
        messages.all(|message| Self::tell(address, message))
    }

    /// Sends a question to an actor and returns the answer; `None` if the actor gives no answer.
    fn ask<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> impl Future<Output = Option<u64>> + Send;

    /// Sends a question as [`Self::ask`] does. Works only in the task of
    /// [`Self::run_on_one_thread`].
    fn ask_in_same_thread<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> impl Future<Output = Option<u64>> + Send {
        Self::ask(address, message)
    }

    /// Sends a question and blocks until the answer arrives. The calling thread must not run
    /// actors.
    fn ask_and_wait<P: WorkloadActor>(
        address: &Self::Address<P>,
        message: P::Message,
    ) -> Option<u64> {
        pollster::block_on(Self::ask(address, message))
    }

    /// Runs `future` as a task of the runtime.
    fn spawn_task(future: impl Future<Output = ()> + Send + 'static);
}

/// A message to an actor, or a question and the object through which the answer is sent.
#[derive(Debug)]
#[expect(missing_docs, reason = "the text above says it")]
pub enum Mail<M, R> {
    Tell(M),
    Ask(M, R),
}

/// A time, and the resident memory and the CPU time of the process at that time.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the text above says it")]
pub struct ProcessSnapshot {
    pub at: Instant,
    pub rss_bytes: u64,
    pub cpu_ns: u64,
}

impl ProcessSnapshot {
    /// Returns a snapshot of this process. If an interval begins with it, reads the clock last;
    /// otherwise reads it first. WHY: the other readings take longer than many messages.
    fn now(begins_interval: bool) -> Self {
        let before = Instant::now();
        let rss_bytes = machine::resident_bytes();
        let cpu_ns = tsc::read_clock_ns(ClockId::ProcessCPUTime);
        Self {
            at: if begins_interval {
                Instant::now()
            } else {
                before
            },
            rss_bytes,
            cpu_ns,
        }
    }
}

/// Number of passes in a process. The first one uses new memory, and the last one is timed.
pub const WORKLOAD_PASSES: usize = 2;

/// A value for each pass. WHY not a lock: it is read for each actor that is spawned.
#[derive(Debug)]
pub struct PerWorkloadPass<T>([OnceLock<T>; WORKLOAD_PASSES]);

/// The index of the pass over the workload that this process is running now: from 0 to
/// [`WORKLOAD_PASSES`] - 1.
static CURRENT_PASS_INDEX: AtomicUsize = AtomicUsize::new(0);

impl<T> PerWorkloadPass<T> {
    const fn new() -> Self {
        Self([const { OnceLock::new() }; WORKLOAD_PASSES])
    }

    /// Returns the cell of the present pass.
    fn current_cell(&self) -> &OnceLock<T> {
        // Relaxed: stored before the threads of the pass start.
        &self.0[CURRENT_PASS_INDEX.load(Ordering::Relaxed)]
    }
}

/// A gate that is closed once in each pass, and opens when a number of parts of the work is done.
#[derive(Debug)]
pub struct CompletionGate {
    left: AtomicU64,
    is_wrong: AtomicBool,
    closed: PerWorkloadPass<ProcessSnapshot>,
    opened: PerWorkloadPass<ProcessSnapshot>,
    waker: Mutex<Option<Waker>>,
}

/// The gate of this process, which opens when the work of a pass is done. WHY static: a reference
/// in an actor would take memory, and the memory of actors is measured.
pub static GATE: CompletionGate = CompletionGate {
    left: AtomicU64::new(0),
    is_wrong: AtomicBool::new(false),
    closed: PerWorkloadPass::new(),
    opened: PerWorkloadPass::new(),
    waker: Mutex::new(None),
};

impl CompletionGate {
    /// Begins the pass with the index `pass_index`, which must be less than [`WORKLOAD_PASSES`].
    pub fn begin_pass(&self, pass_index: usize) {
        // Relaxed: no other thread runs.
        CURRENT_PASS_INDEX.store(pass_index, Ordering::Relaxed);
    }

    /// Closes the gate until `parts_of_work` parts of the work are done, which begins now.
    pub fn close_until_done(&self, parts_of_work: u64) {
        // Relaxed: the messages order it.
        self.left.store(parts_of_work, Ordering::Relaxed);
        self.closed
            .current_cell()
            .get_or_init(|| ProcessSnapshot::now(true));
    }

    /// Counts one part of the work as done. Opens the gate if that was the last part.
    pub fn finish_part_of_work(&self) {
        // Relaxed: nothing is read because of it until all threads have ended.
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.open();
        }
    }

    /// If `is_right` is false, records that the run is wrong and opens the gate at once.
    #[inline]
    pub fn fail_unless(&self, is_right: bool) {
        if !is_right {
            // Relaxed: read after the end of all threads.
            self.is_wrong.store(true, Ordering::Relaxed);
            self.open();
        }
    }

    /// Returns the snapshots from when the gate was closed and opened in this pass, if both
    /// happened and the run is not wrong.
    pub fn closing_and_opening_snapshots(&self) -> Option<[ProcessSnapshot; 2]> {
        let snapshots = [
            *self.closed.current_cell().get()?,
            *self.opened.current_cell().get()?,
        ];
        (!self.is_wrong.load(Ordering::Relaxed)).then_some(snapshots)
    }

    #[cold]
    fn open(&self) {
        self.opened
            .current_cell()
            .get_or_init(|| ProcessSnapshot::now(false));
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = &*waker {
            waker.wake_by_ref();
        }
    }
}

impl Future for &CompletionGate {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        *waker = Some(context.waker().clone());
        drop(waker);
        match self.opened.current_cell().get() {
            Some(_) => Poll::Ready(()),
            None => Poll::Pending,
        }
    }
}
