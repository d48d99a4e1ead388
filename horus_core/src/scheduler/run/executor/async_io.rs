//! Runs nodes that wait for files and networks, as async tasks on one thread.

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;
use horus_shm::internals::with_standard_streams_open;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time;

use crate::log::NodeScope;
use crate::scheduler::api::context::Context;
use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::node::{IntoNodeResult, Node, NodeError, NodeResult};
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::catch_panic::{catch_panic, drop_and_catch_panic};
use crate::scheduler::run::panics::ThreadNodesGuard;
use crate::scheduler::run::run_state::{RunState, SAFETY_POLL_PERIOD};
use crate::scheduler::run::runner::{RunDecision, Runner};

use super::thread::{NodeReportSource, RunEndTimeLimit, RunThread, spawn_thread};

/// The longest time that an asynchronous node sleeps between ticks. After it, the node's task
/// applies pending commands.
const COMMAND_POLL_PERIOD: Duration = Duration::from_millis(20);

/// The future of a tick. One thread creates and polls all these futures, so they need not be
/// `Send`.
pub type TickFuture<'a> = Pin<Box<dyn Future<Output = NodeResult> + 'a>>;

/// A node whose ticks can wait with `await`. Its methods are the same as those of [`Node`], except
/// that `tick` returns a future.
///
/// Most such nodes are closures, which
/// [`NodeBuilder::build_async`](crate::scheduler::NodeBuilder::build_async) adds to a scheduler.
/// Wrap a type that implements this trait in an [`AsyncNodeAdapter`] to add it to a scheduler.
pub trait AsyncNode: Send + 'static {
    /// Does one step of the node's work, like [`Node::tick`], but returns a future that does the
    /// work.
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> TickFuture<'a>;

    /// Initialises the node, as [`Node::init`] does. This method is not async, so it must not wait.
    ///
    /// # Errors
    ///
    /// An error means that the node does not start. Its failure policy decides what follows.
    fn init(&mut self, _context: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    /// Shuts the node down, as [`Node::shutdown`] does. This method is not async, so it must not
    /// wait.
    ///
    /// # Errors
    ///
    /// An error is reported and has no other effect.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// Brings the things that the node controls into a safe state, as [`Node::enter_safe_state`]
    /// does.
    fn enter_safe_state(&mut self) {}

    /// Returns true if the node has reached its safe state, as [`Node::is_safe_state`] does.
    fn is_safe_state(&self) -> bool {
        true
    }

    /// Handles a failure of this node, as [`Node::on_error`] does.
    fn on_error(&mut self, _error: &NodeError) {}
}

impl<R, F> AsyncNode for F
where
    R: IntoNodeResult,
    F: AsyncFnMut(&mut Context<'_>) -> R + Send + 'static,
{
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> TickFuture<'a> {
        Box::pin(async move { self(context).await.into_node_result() })
    }
}

/// A [`Node`] whose ticks are those of an [`AsyncNode`]. Pass it to
/// [`build`](crate::scheduler::NodeBuilder::build) after
/// [`async_io`](crate::scheduler::NodeBuilder::async_io), or use it in a swap as the replacement of
/// another asynchronous node.
///
/// In any other place, its ticks fail, because their futures would not be polled.
pub struct AsyncNodeAdapter(Box<dyn AsyncNode>);

impl std::fmt::Debug for AsyncNodeAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncNodeAdapter").finish_non_exhaustive()
    }
}

impl AsyncNodeAdapter {
    /// Creates a [`Node`] whose ticks are those of `node`.
    #[must_use]
    pub fn new(node: impl AsyncNode) -> Self {
        Self(Box::new(node))
    }

    /// Returns `node` as an [`AsyncNodeAdapter`]. If `node` has another type, returns it unchanged
    /// in `Err`.
    fn downcast(node: &mut dyn Node) -> Result<&mut Self, &mut dyn Node> {
        if !(node as &dyn Any).is::<Self>() {
            return Err(node);
        }
        let node: &mut dyn Any = node;
        Ok(node.downcast_mut().expect("its type was checked"))
    }
}

impl Node for AsyncNodeAdapter {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.0.init(context)
    }

    /// Always returns an error, because nothing here could poll the future of a tick. Only called
    /// in simulated time, or if this node has replaced a node that is not asynchronous.
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err(
            "the node's ticks are async: they run neither in simulated time nor in the place of a \
             node that was not built with async_io()"
                .into(),
        )
    }

    fn shutdown(&mut self) -> NodeResult {
        self.0.shutdown()
    }

    fn enter_safe_state(&mut self) {
        self.0.enter_safe_state();
    }

    fn is_safe_state(&self) -> bool {
        self.0.is_safe_state()
    }

    fn on_error(&mut self, error: &NodeError) {
        self.0.on_error(error);
    }
}

/// The time before the deadline at which ticks that have not ended are dropped. WHY not at the
/// deadline: the thread still needs time to end.
const TICK_DROP_MARGIN: Duration = Duration::from_millis(200);

/// The longest time for which a tick may wait after the run has begun to stop.
const WAITING_TICK_TIME_MAX: Duration = Duration::from_millis(600);

/// The progress of the end of the run, as the tasks see it.
#[derive(Debug, Clone, Copy, Default)]
struct RunEndProgress {
    /// The time at which ticks that have not ended are dropped, because the run stops; `None` while
    /// the run continues.
    drop_ticks_at: Option<time::Instant>,
    /// True once the tasks have to end, because the nodes are shut down.
    is_shutting_down: bool,
}

impl RunEndProgress {
    const fn is_stopping(&self) -> bool {
        self.drop_ticks_at.is_some()
    }

    const fn is_shutting_down(&self) -> bool {
        self.is_shutting_down
    }
}

/// A node that runs as an async task, with the times at which it is due.
#[derive(Debug)]
pub(crate) struct AsyncTask {
    pub(crate) runner: Runner,
    pub(crate) timeline: Timeline,
}

impl AsyncTask {
    /// Runs the node at its due times until the run has to stop, and then keeps it safe until it is
    /// shut down. Returns the node's runner.
    async fn run_until_stop(
        mut self,
        shared: Arc<RunState>,
        mut end: watch::Receiver<RunEndProgress>,
    ) -> Runner {
        // WHY the kernel's clock and not the CPU's counter: the counter would drift during a long
        // tick.
        let clock = Clock::kernel();
        while !shared.is_stopping() {
            let due_ns = self.timeline.due_ns();
            let nap = Duration::from_nanos(due_ns.saturating_sub(clock.now_ns()))
                .min(COMMAND_POLL_PERIOD);
            // The sleep ends early if the run ends.
            if time::timeout(nap, end.wait_for(RunEndProgress::is_stopping))
                .await
                .is_ok()
            {
                break;
            }
            let begin_ns = clock.now_ns();
            if begin_ns < due_ns {
                self.runner.poll_commands(&clock, begin_ns);
                continue;
            }
            let (end_ns, decision) = self.run_turn(&clock, (due_ns, begin_ns), &mut end).await;
            shared.stop_run_if_decided([&self.runner], decision);
            if let Some(rate) = self.runner.take_new_rate() {
                self.timeline = self.timeline.at_rate(rate);
            }
            let passed = self.timeline.advance(end_ns);
            if passed > 0 && decision == RunDecision::Continue {
                self.runner.metrics().count_skipped_ticks(passed);
            }
        }
        loop {
            shared.keep_node_safe(&mut self.runner, &clock);
            let is_over = end.wait_for(RunEndProgress::is_shutting_down);
            if time::timeout(SAFETY_POLL_PERIOD, is_over).await.is_ok() {
                return self.runner;
            }
        }
    }

    async fn run_turn(
        &mut self,
        clock: &Clock,
        (due_ns, begin_ns): (u64, u64),
        end: &mut watch::Receiver<RunEndProgress>,
    ) -> (u64, RunDecision) {
        let Self { runner, .. } = self;
        let (due_ns, begin_ns) = match runner.begin_turn(clock, due_ns, begin_ns) {
            ControlFlow::Continue(times) => times,
            ControlFlow::Break(outcome) => return outcome,
        };
        let metrics = Arc::clone(runner.metrics());
        let log_name = runner.log_name();
        let (node, mut context) = runner.node_and_context(clock, due_ns, begin_ns);
        let polled = match AsyncNodeAdapter::downcast(node) {
            Ok(node) => {
                // WHY caught: an implementation of `tick` may do its work before it returns.
                let scope = NodeScope::enter(log_name);
                let tick = catch_panic(|| node.0.tick(&mut context));
                drop(scope);
                match tick {
                    Ok(tick) => await_tick_or_drop(tick, (&metrics, log_name), clock, end).await,
                    Err(panic) => TickEnd::Ended(Err(panic)),
                }
            }
            // The node is not async: it was built or swapped in as a plain node.
            Err(node) => {
                let _scope = NodeScope::enter(log_name);
                TickEnd::Ended(catch_panic(|| node.tick(&mut context)))
            }
        };
        let stop = context.stop;
        let end_ns = clock.now_ns();
        match polled {
            TickEnd::Ended(outcome) => {
                runner.end_turn(outcome, stop, (due_ns, begin_ns, end_ns), clock)
            }
            TickEnd::Dropped { panic } => {
                runner.end_dropped_tick(panic, TICK_DROPPED_ERROR, (begin_ns, end_ns));
                (end_ns, RunDecision::Continue)
            }
        }
    }
}

/// The error of a tick that was dropped at the end of the run.
const TICK_DROPPED_ERROR: &str = "the tick was dropped: it was still waiting when the run ended";

/// The end of a tick that [`await_tick_or_drop`] has polled.
enum TickEnd {
    /// The tick has ended by itself, or has panicked.
    Ended(Result<NodeResult, String>),
    /// The run has ended before the tick, so the tick was dropped. If the drop has panicked,
    /// `panic` is the text of the panic.
    Dropped { panic: Option<String> },
}

/// Polls the future of a tick until it has ended or panicked. If the run ends before that, drops
/// the future.
async fn await_tick_or_drop(
    mut tick: TickFuture<'_>,
    (metrics, log_name): (&LiveMetrics, &'static str),
    clock: &Clock,
    end: &mut watch::Receiver<RunEndProgress>,
) -> TickEnd {
    let mut drop_time = pin!(wait_until_ticks_must_drop(end));
    let outcome = poll_fn(|task| {
        // WHY for each poll: a tick that waits must not count as stuck, but one that blocks the
        // thread must.
        metrics.record_tick_await_end(clock.now_ns());
        let scope = NodeScope::enter(log_name);
        let polled = catch_panic(|| tick.as_mut().poll(task));
        drop(scope);
        metrics.record_tick_await_begin();
        match polled {
            Ok(Poll::Ready(result)) => Poll::Ready(Some(Ok(result))),
            Err(panic) => Poll::Ready(Some(Err(panic))),
            Ok(Poll::Pending) => drop_time.as_mut().poll(task).map(|()| None),
        }
    })
    .await;
    // The drop runs code of the node, too.
    let panic = drop_and_catch_panic(tick);
    match (outcome, panic) {
        (None, panic) => TickEnd::Dropped { panic },
        (Some(Ok(Ok(()))), Some(panic)) => TickEnd::Ended(Err(panic)),
        (Some(outcome), _) => TickEnd::Ended(outcome),
    }
}

/// Waits until the run ends, and after that until the time at which ticks that have not ended have
/// to be dropped.
async fn wait_until_ticks_must_drop(end: &mut watch::Receiver<RunEndProgress>) {
    let stopping = end.wait_for(RunEndProgress::is_stopping).await;
    let drop_at = stopping.ok().and_then(|end| end.drop_ticks_at);
    if let Some(drop_at) = drop_at {
        time::sleep_until(drop_at).await;
    }
}

/// The thread that runs all asynchronous nodes as tasks. While a tick of one node waits, other
/// nodes run.
#[derive(Debug)]
pub(crate) struct AsyncIoThread {
    thread: RunThread<()>,
    end: Arc<watch::Sender<RunEndProgress>>,
    members: Vec<NodeReportSource>,
    ended: Arc<Mutex<Vec<Runner>>>,
}

impl AsyncIoThread {
    /// Starts the thread that runs the nodes in `tasks`, and moves these nodes to it.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create a thread or a file descriptor. In that case, no
    /// node has run, and `tasks` is unchanged.
    pub(crate) fn start(tasks: &mut Vec<AsyncTask>, shared: &Arc<RunState>) -> io::Result<Self> {
        let runtime =
            with_standard_streams_open(|| Builder::new_current_thread().enable_all().build())?;
        let end = Arc::new(watch::Sender::new(RunEndProgress::default()));
        let stop = Arc::clone(&end);
        let (give, given) = mpsc::channel();
        let ended = Arc::default();
        let shared = Arc::clone(shared);
        let done = Arc::clone(&ended);
        let thread = spawn_thread("async i/o", move || {
            let tasks = given.recv().unwrap_or_default();
            shared.wait_until_all_threads_started();
            run_tasks(runtime, tasks, &shared, &stop, &done);
        })?;
        let members = tasks
            .iter()
            .map(|task| NodeReportSource::from_runner(&task.runner))
            .collect();
        // Cannot fail, because the thread waits for the tasks.
        let _ = give.send(std::mem::take(tasks));
        Ok(Self {
            thread,
            end,
            members,
            ended,
        })
    }

    /// Requests the end of the tasks. Ticks that have not ended shortly before `time` is over are
    /// dropped then, or earlier if the run has to stop for some time already. Does not wait.
    pub(crate) fn request_end(&self, time: &mut RunEndTimeLimit) {
        let deadline = Instant::now() + time.time_left();
        let drop_at = deadline.checked_sub(TICK_DROP_MARGIN).unwrap_or(deadline);
        let drop_at = time::Instant::from_std(drop_at);
        self.end.send_modify(|end| {
            let earlier = end.drop_ticks_at.map(|earlier| earlier.min(drop_at));
            end.drop_ticks_at = Some(earlier.unwrap_or(drop_at));
            end.is_shutting_down = true;
        });
    }

    /// Waits until the tasks have ended, or until `time` is over. Returns the runners of the nodes.
    /// If a tick blocks the thread, runners are missing, and the reports of their nodes are
    /// returned instead. [`Self::request_end`] must have been called.
    pub(crate) fn finish(self, time: &mut RunEndTimeLimit) -> (Vec<Runner>, Vec<NodeReport>) {
        self.thread.join(time);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let runners = std::mem::take(&mut *ended);
        let has_ended = |member: &&NodeReportSource| {
            runners
                .iter()
                .any(|runner| runner.position_in_start_order() == member.position_in_start_order())
        };
        let rest = self.members.iter().filter(|member| !has_ended(member));
        let left_behind = rest.map(NodeReportSource::hanging_node_report).collect();
        (runners, left_behind)
    }
}

/// Waits until the run has to stop, and then limits the time for which ticks may wait. WHY: the
/// thread that runs the scheduler may call [`AsyncIoThread::request_end`] much later.
async fn limit_tick_waits_after_stop(
    shared: Arc<RunState>,
    end: Arc<watch::Sender<RunEndProgress>>,
) {
    while !shared.is_stopping() {
        time::sleep(COMMAND_POLL_PERIOD).await;
    }
    let drop_at = time::Instant::now() + WAITING_TICK_TIME_MAX;
    end.send_modify(|end| _ = end.drop_ticks_at.get_or_insert(drop_at));
}

/// Runs the tasks until all have ended. When a task ends, moves the runner of its node to `ended`,
/// so that a tick that blocks the thread does not keep the nodes whose tasks have ended.
fn run_tasks(
    runtime: Runtime,
    tasks: Vec<AsyncTask>,
    shared: &Arc<RunState>,
    end: &Arc<watch::Sender<RunEndProgress>>,
    ended: &Arc<Mutex<Vec<Runner>>>,
) {
    let _marked = ThreadNodesGuard::register(tasks.iter().map(|task| &task.runner));
    let local = LocalSet::new();
    let start = |task: AsyncTask| {
        let running = task.run_until_stop(Arc::clone(shared), end.subscribe());
        let ended = Arc::clone(ended);
        local.spawn_local(async move {
            let runner = running.await;
            let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.push(runner);
        })
    };
    let running: Vec<_> = tasks.into_iter().map(start).collect();
    local.spawn_local(limit_tick_waits_after_stop(
        Arc::clone(shared),
        Arc::clone(end),
    ));
    local.block_on(&runtime, async {
        for task in running {
            // WHY ignored: a task that has panicked has no runner, and its node is left behind.
            let _ = task.await;
        }
    });
    // This also ends tasks that nodes have spawned. Blocking calls of nodes are not waited for.
    drop(local);
    runtime.shutdown_background();
}
