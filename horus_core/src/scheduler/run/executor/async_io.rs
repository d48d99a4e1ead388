//! Nodes that wait for files and networks: tasks, all on one thread.

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

/// The longest sleep of a task, after which it carries out orders.
const SLICE: Duration = Duration::from_millis(20);

/// A tick under way. It is made, and stays, on the thread of all tasks; so it need not be `Send`.
pub type Underway<'a> = Pin<Box<dyn Future<Output = NodeResult> + 'a>>;

/// A node whose ticks wait, with all that a [`Node`] may have: the same, but for the tick.
///
/// Most are closures, see [`NodeBuilder::build_async`](crate::scheduler::NodeBuilder::build_async).
/// Others are added as a [`TaskNode`].
pub trait AsyncNode: Send + 'static {
    /// Begins a tick. As [`Node::tick`].
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> Underway<'a>;

    /// As [`Node::init`]: it does not wait.
    ///
    /// # Errors
    ///
    /// The node does not start.
    fn init(&mut self, _context: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    /// As [`Node::shutdown`]: it does not wait.
    ///
    /// # Errors
    ///
    /// Reported, and nothing else.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// As [`Node::enter_safe_state`].
    fn enter_safe_state(&mut self) {}

    /// As [`Node::is_safe_state`].
    fn is_safe_state(&self) -> bool {
        true
    }

    /// As [`Node::on_error`].
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

/// An [`AsyncNode`] as a node, for [`build`](crate::scheduler::NodeBuilder::build) behind
/// [`async_io`](crate::scheduler::NodeBuilder::async_io), and to be swapped in for another.
///
/// Everywhere else its ticks fail: what it waits for would not come.
pub struct TaskNode(Box<dyn AsyncNode>);

impl std::fmt::Debug for TaskNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskNode").finish_non_exhaustive()
    }
}

impl TaskNode {
    /// The node whose ticks are those of `node`.
    #[must_use]
    pub fn new(node: impl AsyncNode) -> Self {
        Self(Box::new(node))
    }

    /// The node as one whose ticks wait, if it is one.
    fn of(node: &mut dyn Node) -> Result<&mut Self, &mut dyn Node> {
        if !(node as &dyn Any).is::<Self>() {
            return Err(node);
        }
        let node: &mut dyn Any = node;
        Ok(node.downcast_mut().expect("it was asked what it is"))
    }
}

impl Node for TaskNode {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.0.init(context)
    }

    /// Only called where there are no tasks: in simulated time, or in the place of a plain node.
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("its ticks wait, which they can neither in simulated time nor in the place of a node \
             that was not built with async_io()"
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

/// Before everything has to be over, what is left to a thread whose ticks were dropped.
const MARGIN: Duration = Duration::from_millis(200);

/// When ticks under way are dropped; `None` while everything runs.
type End = Option<time::Instant>;

/// A node, how it ticks, and when.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) runner: Runner,
    pub(crate) timeline: Timeline,
}

impl Task {
    /// Gives the node its turns until everything is to stop.
    async fn run(mut self, shared: Arc<Shared>, mut end: watch::Receiver<End>) -> Runner {
        // WHY not the counter: a tick may last so long that it would drift.
        let clock = Clock::kernel();
        while !shared.is_stopping() {
            let due_ns = self.timeline.due_ns();
            let nap = Duration::from_nanos(due_ns.saturating_sub(clock.now_ns())).min(SLICE);
            // Ends early if everything does.
            if time::timeout(nap, end.wait_for(Option::is_some)).await.is_ok() {
                break;
            }
            let begin_ns = clock.now_ns();
            if begin_ns < due_ns {
                self.runner.poll(&clock, begin_ns);
                continue;
            }
            let (end_ns, after) = self.turn(&clock, (due_ns, begin_ns), &mut end).await;
            shared.tell([&self.runner], after);
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
            // It was made to be one that does not wait, or swapped for one.
            Err(node) => caught(|| node.tick(&mut context)),
        };
        let stop = context.stop;
        runner.close(outcome, stop, (due_ns, begin_ns, clock.now_ns()))
    }
}

/// Polls a tick until it is over or panics, or has to be dropped because everything ends.
async fn drive(
    mut tick: Underway<'_>,
    metrics: &LiveMetrics,
    clock: &Clock,
    end: &mut watch::Receiver<End>,
) -> Result<NodeResult, String> {
    let mut farewell = pin!(farewell(end));
    let outcome = poll_fn(|task| {
        // WHY each time: a tick that waits is not stuck, and one that does not give back the
        // thread is.
        metrics.go_on(clock.now_ns());
        let polled = caught(|| tick.as_mut().poll(task));
        metrics.pause();
        match polled {
            Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
            Err(panic) => Poll::Ready(Err(panic)),
            Ok(Poll::Pending) => farewell.as_mut().poll(task).map(|()| {
                Ok(Err("a tick was still waiting when everything ended: dropped".into()))
            }),
        }
    })
    .await;
    // Drops run code of the node's, too.
    match dropped(tick) {
        Some(panic) if matches!(outcome, Ok(Ok(()))) => Err(panic),
        _ => outcome,
    }
}

/// Waits until ticks are to be dropped.
async fn farewell(end: &mut watch::Receiver<End>) {
    let ending = end.wait_for(Option::is_some).await;
    let drop_at = ending.ok().and_then(|end| *end);
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
    /// The system has no room for a thread, or no descriptors. No node has had a turn then, and
    /// `tasks` has them all.
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
        // It waits for them, so it is there.
        let _ = give.send(std::mem::take(tasks));
        Ok(Self { thread, end, members, ended })
    }

    /// Ends all turns. Ticks under way have until shortly before `deadline`, and are dropped then.
    /// The nodes, and those that are left behind with their thread, because a tick does not give it
    /// back.
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
    // What nodes have started besides ends here, too; what blocks is not waited for.
    drop(local);
    runtime.shutdown_background();
}
