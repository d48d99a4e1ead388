//! Nodes that wait for files and networks: async tasks, all on one thread.

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;
use horus_shm::internals::above_standard;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time;

use crate::scheduler::api::context::Context;
use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::node::{IntoNodeResult, Node, NodeError, NodeResult};
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::caught::{caught, dropped};
use crate::scheduler::run::panics::Here;
use crate::scheduler::run::runner::{After, Runner};
use crate::scheduler::run::shared::Shared;

use super::thread::{Member, join, spawn};

/// The longest sleep of a task, after which it applies commands.
const SLICE: Duration = Duration::from_millis(20);

/// A tick under way. It is made, and stays, on the thread of all tasks; so it need not be `Send`.
pub type Underway<'a> = Pin<Box<dyn Future<Output = NodeResult> + 'a>>;

/// A node whose ticks wait. It has the same calls as a [`Node`], except that its tick is async.
///
/// Most such nodes are closures, see
/// [`NodeBuilder::build_async`](crate::scheduler::NodeBuilder::build_async). All others are added
/// as a [`TaskNode`].
pub trait AsyncNode: Send + 'static {
    /// Begins a tick. Otherwise as [`Node::tick`].
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> Underway<'a>;

    /// Does what [`Node::init`] does; it cannot wait.
    ///
    /// # Errors
    ///
    /// An error means that the node does not start.
    fn init(&mut self, _context: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    /// Does what [`Node::shutdown`] does; it cannot wait.
    ///
    /// # Errors
    ///
    /// An error is reported and has no other effect.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// Does what [`Node::enter_safe_state`] does.
    fn enter_safe_state(&mut self) {}

    /// Does what [`Node::is_safe_state`] does.
    fn is_safe_state(&self) -> bool {
        true
    }

    /// Does what [`Node::on_error`] does.
    fn on_error(&mut self, _error: &NodeError) {}
}

impl<R, F> AsyncNode for F
where
    R: IntoNodeResult,
    F: AsyncFnMut(&mut Context<'_>) -> R + Send + 'static,
{
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> Underway<'a> {
        Box::pin(async move { self(context).await.into_node_result() })
    }
}

/// Makes a node of an [`AsyncNode`], for [`build`](crate::scheduler::NodeBuilder::build) after
/// [`async_io`](crate::scheduler::NodeBuilder::async_io), and as the replacement in a swap.
///
/// In any other place its ticks fail, because nothing would poll what they wait for.
pub struct TaskNode(Box<dyn AsyncNode>);

impl std::fmt::Debug for TaskNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskNode").finish_non_exhaustive()
    }
}

impl TaskNode {
    /// Makes a node whose ticks are those of `node`.
    #[must_use]
    pub fn new(node: impl AsyncNode) -> Self {
        Self(Box::new(node))
    }

    /// Returns the node as a [`TaskNode`] if it is one, else unchanged.
    fn of(node: &mut dyn Node) -> Result<&mut Self, &mut dyn Node> {
        if !(node as &dyn Any).is::<Self>() {
            return Err(node);
        }
        let node: &mut dyn Any = node;
        Ok(node.downcast_mut().expect("its type was checked"))
    }
}

impl Node for TaskNode {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.0.init(context)
    }

    /// Only called without tasks: in simulated time, or in the place of a plain node.
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("the node's ticks are async: they run neither in simulated time nor in the place of a \
             node that was not built with async_io()"
            .into())
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

/// The time between the drop of the ticks and the deadline, for the thread to end.
const MARGIN: Duration = Duration::from_millis(200);

/// The time at which ticks under way are dropped; `None` while the run goes on.
type End = Option<time::Instant>;

/// A node with its due times.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) runner: Runner,
    pub(crate) timeline: Timeline,
}

impl Task {
    /// Gives the node its turns until the run is to stop.
    async fn run(mut self, shared: Arc<Shared>, mut end: watch::Receiver<End>) -> Runner {
        // WHY not the CPU's counter: it would drift during a long tick.
        let clock = Clock::kernel();
        while !shared.is_stopping() {
            let due_ns = self.timeline.due_ns();
            let nap = Duration::from_nanos(due_ns.saturating_sub(clock.now_ns())).min(SLICE);
            // Ends early if the run does.
            if time::timeout(nap, end.wait_for(Option::is_some)).await.is_ok() {
                break;
            }
            let begin_ns = clock.now_ns();
            if begin_ns < due_ns {
                self.runner.poll(&clock, begin_ns);
                continue;
            }
            let (end_ns, after) = self.turn(&clock, (due_ns, begin_ns), &mut end).await;
            shared.stop_after([&self.runner], after);
            if let Some(rate) = self.runner.take_new_rate() {
                self.timeline = self.timeline.at_rate(rate);
            }
            let passed = self.timeline.advance(end_ns);
            if passed > 0 && after == After::Continue {
                self.runner.metrics().count_skipped_ticks(passed);
            }
        }
        self.runner
    }

    async fn turn(
        &mut self,
        clock: &Clock,
        (due_ns, begin_ns): (u64, u64),
        end: &mut watch::Receiver<End>,
    ) -> (u64, After) {
        let Self { runner, .. } = self;
        if let Some(after) = runner.open(clock, due_ns, begin_ns) {
            return (begin_ns, after);
        }
        let metrics = Arc::clone(runner.metrics());
        let (node, mut context) = runner.parts(clock, due_ns, begin_ns);
        let outcome = match TaskNode::of(node) {
            Ok(node) => drive(node.0.tick(&mut context), &metrics, clock, end).await,
            // A node that does not wait: it was built so, or swapped in.
            Err(node) => caught(|| node.tick(&mut context)),
        };
        let stop = context.stop;
        runner.close(outcome, stop, (due_ns, begin_ns, clock.now_ns()))
    }
}

/// Polls a tick until it is over or panics, or is dropped because the run ends.
async fn drive(
    mut tick: Underway<'_>,
    metrics: &LiveMetrics,
    clock: &Clock,
    end: &mut watch::Receiver<End>,
) -> Result<NodeResult, String> {
    let mut drop_time = pin!(wait_for_drop_time(end));
    let outcome = poll_fn(|task| {
        // WHY each time: a tick that waits is not stuck, and one that blocks the thread is.
        metrics.go_on(clock.now_ns());
        let polled = caught(|| tick.as_mut().poll(task));
        metrics.pause();
        match polled {
            Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
            Err(panic) => Poll::Ready(Err(panic)),
            Ok(Poll::Pending) => drop_time.as_mut().poll(task).map(|()| {
                Ok(Err("the tick was dropped: it was still waiting when the run ended".into()))
            }),
        }
    })
    .await;
    // The drop runs code of the node, too.
    match dropped(tick) {
        Some(panic) if matches!(outcome, Ok(Ok(()))) => Err(panic),
        _ => outcome,
    }
}

/// Waits until ticks have to be dropped.
async fn wait_for_drop_time(end: &mut watch::Receiver<End>) {
    let stopping = end.wait_for(Option::is_some).await;
    let drop_at = stopping.ok().and_then(|end| *end);
    if let Some(drop_at) = drop_at {
        time::sleep_until(drop_at).await;
    }
}

/// The thread of the tasks. Ticks of different nodes overlap while they wait.
#[derive(Debug)]
pub(crate) struct AsyncIo {
    thread: JoinHandle<()>,
    end: watch::Sender<End>,
    members: Vec<Member>,
    ended: Arc<Mutex<Vec<Runner>>>,
}

impl AsyncIo {
    /// Starts the thread for these tasks.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create a thread or a descriptor. No node has had a
    /// turn then, and all are in `tasks`.
    pub(crate) fn start(tasks: &mut Vec<Task>, shared: &Arc<Shared>) -> io::Result<Self> {
        let runtime = above_standard(|| Builder::new_current_thread().enable_all().build())?;
        let (end, ends) = watch::channel(None);
        let (give, given) = mpsc::channel();
        let ended = Arc::default();
        let (shared, done) = (Arc::clone(shared), Arc::clone(&ended));
        let thread = spawn("async i/o", move || {
            let tasks = given.recv().unwrap_or_default();
            shared.wait_for_begin();
            run(runtime, tasks, &shared, &ends, &done);
        })?;
        let members = tasks.iter().map(|task| Member::of(&task.runner)).collect();
        // The thread waits for them, so this cannot fail.
        let _ = give.send(std::mem::take(tasks));
        Ok(Self { thread, end, members, ended })
    }

    /// Ends all turns. Ticks under way have until shortly before `deadline`, and are then dropped.
    /// Returns the nodes, and the reports of those that are left behind with their thread, because
    /// a tick blocks it.
    pub(crate) fn finish(self, deadline: Instant) -> (Vec<Runner>, Vec<NodeReport>) {
        let drop_at = deadline.checked_sub(MARGIN).unwrap_or(deadline);
        self.end.send_replace(Some(time::Instant::from_std(drop_at)));
        join(self.thread, deadline);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let runners = std::mem::take(&mut *ended);
        let has_ended =
            |member: &&Member| runners.iter().any(|runner| runner.position() == member.position());
        let rest = self.members.iter().filter(|member| !has_ended(member));
        let left_behind = rest.map(Member::left_behind).collect();
        (runners, left_behind)
    }
}

/// Runs the tasks until all have ended.
fn run(
    runtime: Runtime,
    tasks: Vec<Task>,
    shared: &Arc<Shared>,
    end: &watch::Receiver<End>,
    ended: &Mutex<Vec<Runner>>,
) {
    let _here = Here::run(tasks.iter().map(|task| &task.runner));
    let local = LocalSet::new();
    let start = |task: Task| local.spawn_local(task.run(Arc::clone(shared), end.clone()));
    let running: Vec<_> = tasks.into_iter().map(start).collect();
    local.block_on(&runtime, async {
        for task in running {
            let runner = task.await;
            ended.lock().unwrap_or_else(PoisonError::into_inner).extend(runner);
        }
    });
    // Tasks that nodes have spawned end here, too; blocking calls are not waited for.
    drop(local);
    runtime.shutdown_background();
}
