//! The builder of a node, which collects the settings of the node.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::Scheduler;
#[cfg(feature = "async-io")]
use crate::scheduler::api::context::Context;
use crate::scheduler::api::input::{Input, InputWatch};
#[cfg(feature = "async-io")]
use crate::scheduler::api::node::IntoNodeResult;
use crate::scheduler::api::node::Node;
use crate::scheduler::api::plan::{NodeSpec, PlanError};
use crate::scheduler::api::policy::{FailurePolicy, MissPolicy};
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::safe_state::SafeStateCallback;
use crate::scheduler::api::subscription::Subscription;
#[cfg(feature = "async-io")]
use crate::scheduler::run::executor::async_io::AsyncNodeAdapter;
use crate::topic::error::{TopicError, WaitSetFull};
use crate::topic::{Payload, Publisher, Qos, Subscriber, Topic, TopicBuilder, WaitSet, Watchable};

/// Collects the settings of a node. [`Self::build`] then adds the node to the scheduler.
#[must_use = "a node is added by `build()`"]
pub struct NodeBuilder<'a> {
    scheduler: &'a mut Scheduler,
    spec: NodeSpec,
    safe_state: Option<SafeStateCallback>,
    wake: WaitSet,
    subscriptions: Vec<Subscription>,
}

impl std::fmt::Debug for NodeBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeBuilder")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

impl<'a> NodeBuilder<'a> {
    pub(super) fn new(scheduler: &'a mut Scheduler, name: &str) -> Self {
        let spec = NodeSpec {
            name: name.to_owned(),
            ..NodeSpec::default()
        };
        let wake = WaitSet::new();
        let subscriptions = Vec::new();
        Self {
            scheduler,
            spec,
            safe_state: None,
            wake,
            subscriptions,
        }
    }

    /// Sets the node's order. Of nodes that run on one thread, those of smaller order run first.
    /// Default: 0.
    ///
    /// Among nodes of the same order, the writers of a topic run before its readers. The scheduler
    /// knows the writers and readers that [`Self::publisher`] and [`Self::subscriber`] created, and
    /// those that were declared by [`Self::writes`], [`Self::reads`] or [`Self::on`]. All other
    /// nodes run in the sequence in which they were added. In simulated runs, they run in the order
    /// of their names instead.
    pub fn order(mut self, order: i32) -> Self {
        self.spec.order = order;
        self
    }

    /// Runs the node at this rate, on its own thread. Sets the default budget to 80 % of the
    /// period, but to no more than the deadline and the watchdog, and the default deadline to 95 %.
    pub fn rate(mut self, rate: Rate) -> Self {
        self.spec.rate = Some(rate);
        self
    }

    /// Runs the node whenever `subscriber` has messages that have not been received. The node gets
    /// its own thread, which sleeps until then. Call this before the subscriber is moved into the
    /// node.
    ///
    /// If messages are left after a tick, the next tick follows at once. So the node can handle a
    /// burst of messages in one tick or in several.
    ///
    /// # Panics
    ///
    /// Panics if the node has more waking topics than a [`WaitSet`] can hold.
    pub fn on<T: Payload>(mut self, subscriber: &Subscriber<T>) -> Self {
        self.wake
            .add(subscriber)
            .expect("a node waits for more topics than a `WaitSet` holds");
        self.spec.topics.push(subscriber.name().to_owned());
        self.reads(subscriber)
    }

    /// Runs the node whenever `subscriber` has messages, like [`Self::on`], for a subscriber whose
    /// message type is known only at run time. `topic` is the name of the subscriber's topic.
    ///
    /// # Errors
    ///
    /// Returns [`WaitSetFull`] if the node has more waking topics than a [`WaitSet`] can hold.
    pub fn add_waking_subscriber(
        &mut self,
        topic: &str,
        subscriber: &impl Watchable,
    ) -> Result<(), WaitSetFull> {
        self.wake.add(subscriber)?;
        self.spec.topics.push(topic.to_owned());
        self.add_subscriber(topic, subscriber);
        Ok(())
    }

    /// Declares that the node receives from `subscriber`, like [`Self::reads`], for a subscriber
    /// whose message type is known only at run time. `topic` is the name of the subscriber's topic.
    pub fn add_subscriber(&mut self, topic: &str, subscriber: &impl Watchable) {
        self.spec.reads.push(without_leading_slash(topic));
        let subscription = Subscription::new(topic, subscriber);
        if !self
            .subscriptions
            .iter()
            .any(|known| known.has_same_subscriber(&subscription))
        {
            self.subscriptions.push(subscription);
        }
    }

    /// Creates a publisher of `topic` for the node, in the scheduler's namespace. Creates the topic
    /// if it does not exist. The scheduler's [`Graph`] then shows that the node writes this topic.
    /// Nodes of the same order that read the topic run after this node.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`], for instance if the topic has too many publishers, its name is
    /// invalid, or memory is lacking.
    ///
    /// [`Graph`]: super::Graph
    pub fn publisher<T: Payload>(&mut self, topic: &str) -> Result<Publisher<T>, TopicError> {
        self.publisher_with(topic, Qos::new())
    }

    /// Creates a publisher of `topic`, like [`Self::publisher`], with the given quality of service.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::publisher`], and an error if a setting of `qos` is out of its
    /// range.
    pub fn publisher_with<T: Payload>(
        &mut self,
        topic: &str,
        qos: Qos,
    ) -> Result<Publisher<T>, TopicError> {
        let publisher = self.topic_builder(topic, qos).publisher()?;
        self.spec.writes.push(without_leading_slash(topic));
        Ok(publisher)
    }

    /// Creates a subscriber of `topic` for the node, in the scheduler's namespace. Nodes of the
    /// same order that write the topic run before this node. Messages of the topic do not make the
    /// node run; [`Self::on`] does that.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`], for instance if the topic has too many subscribers, its name is
    /// invalid, or memory is lacking.
    pub fn subscriber<T: Payload>(&mut self, topic: &str) -> Result<Subscriber<T>, TopicError> {
        self.subscriber_with(topic, Qos::new())
    }

    /// Creates a subscriber of `topic`, like [`Self::subscriber`], with the given quality of
    /// service.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::subscriber`], and an error if a setting of `qos` is out of its
    /// range.
    pub fn subscriber_with<T: Payload>(
        &mut self,
        topic: &str,
        qos: Qos,
    ) -> Result<Subscriber<T>, TopicError> {
        let subscriber = self.topic_builder(topic, qos).subscriber()?;
        self.add_subscriber(topic, &subscriber);
        Ok(subscriber)
    }

    /// Creates a subscriber, like [`Self::subscriber`], of a topic on which a message has to arrive
    /// at least once in every `timeout`. The first timeout begins when the node is initialised, and
    /// a new one when a pause or an emergency stop ends.
    ///
    /// If the last message is older than `timeout`, the tick counts as a miss, even if it was fast
    /// enough. [`Self::on_miss`] sets what happens then. The node should read messages with
    /// [`Input::fresh`], so that it does not act on stale data.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::subscriber`].
    pub fn subscribe_with_timeout<T: Payload>(
        &mut self,
        topic: &str,
        timeout: Duration,
    ) -> Result<Input<T>, TopicError> {
        self.subscribe_with_timeout_and_qos(topic, timeout, Qos::new())
    }

    /// Creates a subscriber with a timeout, like [`Self::subscribe_with_timeout`], with the given
    /// quality of service.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::subscriber_with`].
    pub fn subscribe_with_timeout_and_qos<T: Payload>(
        &mut self,
        topic: &str,
        timeout: Duration,
        qos: Qos,
    ) -> Result<Input<T>, TopicError> {
        let subscriber = self.subscriber_with(topic, qos)?;
        let watch = Arc::new(InputWatch::new(topic, timeout));
        self.spec.inputs.push(Arc::clone(&watch));
        Ok(Input::new(subscriber, watch))
    }

    fn topic_builder<T: Payload>(&self, name: &str, qos: Qos) -> TopicBuilder<T> {
        let builder = Topic::builder(name).qos(qos);
        match &self.scheduler.namespace {
            Some(namespace) => builder.namespace(namespace),
            None => builder,
        }
    }

    /// Declares that the node receives from `subscriber`, which was not created by
    /// [`Self::subscriber`]. The scheduler then records an event of the node if the subscriber
    /// cannot map the memory of a publisher
    /// ([`NodeEvent::LANE_NOT_MAPPED`](crate::message::NodeEvent::LANE_NOT_MAPPED)), or is
    /// incompatible with all live publishers
    /// ([`NodeEvent::INCOMPATIBLE`](crate::message::NodeEvent::INCOMPATIBLE)).
    pub fn reads<T: Payload>(mut self, subscriber: &Subscriber<T>) -> Self {
        self.add_subscriber(subscriber.name(), subscriber);
        self
    }

    /// Declares that the node sends with `publisher`, which was not created by [`Self::publisher`].
    /// The scheduler needs this to order the nodes and to show its graph.
    pub fn writes<T: Payload>(self, publisher: &Publisher<T>) -> Self {
        self.writes_topic(publisher.name())
    }

    /// Declares that the node receives from `topic`, like [`Self::reads`], but takes only the name
    /// of the topic. The scheduler then does not know the subscriber, so it cannot report memory
    /// that the subscriber fails to map.
    pub fn reads_topic(mut self, topic: &str) -> Self {
        self.spec.reads.push(without_leading_slash(topic));
        self
    }

    /// Declares that the node sends on `topic`, like [`Self::writes`], but takes only the name of
    /// the topic.
    pub fn writes_topic(mut self, topic: &str) -> Self {
        self.spec.writes.push(without_leading_slash(topic));
        self
    }

    /// Limits the rate of a node that messages wake: at least one period of `rate` passes from the
    /// start of one tick to the start of the next. Messages that arrive before that wait in the
    /// topic. If they use up its slots, a publisher that is not reliable overwrites the oldest
    /// messages. The deadline of a tick counts from the time at which the tick is allowed to begin.
    pub fn at_most(mut self, rate: Rate) -> Self {
        self.spec.at_most = Some(rate);
        self
    }

    /// Runs the node on the threads of the group of actors called `group`, which it shares with the
    /// actors and other nodes, and not on a thread of its own. This is for programs with many nodes
    /// that messages wake ([`Self::on`]). Add the group to the scheduler before the node.
    ///
    /// Ticks, the order of messages, metrics, commands and policies are the same as for a node with
    /// its own thread. Only the thread settings are those of the group. A tick waits while all
    /// threads of the group are busy with other handlers. The node does not tick while the group is
    /// paused or stopped.
    pub fn on_group_threads(mut self, group: &str) -> Self {
        self.spec.shared_group = Some(group.to_owned());
        self
    }

    /// Declares that the ticks of the node take long and may be late. The node runs on a pool of
    /// threads that it shares with all other such nodes. It ticks at its rate, or at
    /// [`Scheduler::main_rate`] if it has none. [`Scheduler::compute_threads`] sets the size of the
    /// pool.
    pub fn compute(mut self) -> Self {
        self.spec.is_compute = true;
        self
    }

    /// Sets the longest time that a tick may take. A longer tick counts as a miss.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.spec.budget = Some(budget);
        self
    }

    /// Sets the latest end of a tick, as the time from when the tick is due. A tick that ends later
    /// counts as a miss.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.spec.deadline = Some(deadline);
        self
    }

    /// Sets the reaction to a miss: an exceeded deadline or budget, a stale input
    /// ([`Self::subscribe_with_timeout`]), a wrong sequence of [`Self::checkpoints`], or a tick
    /// that begins too soon ([`Self::miss_if_sooner_than`]). Default: [`MissPolicy::Warn`].
    pub fn on_miss(mut self, policy: MissPolicy) -> Self {
        self.spec.on_miss = Some(policy);
        self
    }

    /// Sets the reaction to a `tick` or an `init` that returns an error or panics. Default:
    /// [`FailurePolicy::Fatal`].
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.spec.on_failure = policy;
        self
    }

    /// Sets the time after which a tick counts as stuck. Default: twice the budget; no limit if the
    /// node has no budget.
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.spec.watchdog = Some(limit);
        self
    }

    /// Sets the number of checkpoints in a tick. Each tick has to call [`Context::checkpoint`] with
    /// 1, 2, and so on up to `number`. If a checkpoint is left out, repeated or not reached, the
    /// tick counts as a miss, even if it ends in time.
    ///
    /// WHY: a watchdog with only a time limit finds few of the possible faults. Together with
    /// checkpoints and [`Self::miss_if_sooner_than`], it finds most of them (IEC 61508-2, table
    /// A.10).
    ///
    /// [`Context::checkpoint`]: super::Context::checkpoint
    pub fn checkpoints(mut self, number: u64) -> Self {
        self.spec.checkpoints = number;
        self
    }

    /// Makes a tick count as a miss if it begins sooner than `interval` after the start of the
    /// previous tick. That may happen, for instance, because a topic is flooded or a clock is
    /// wrong. The tick runs all the same: [`Self::at_most`] makes the node wait.
    pub fn miss_if_sooner_than(mut self, interval: Duration) -> Self {
        self.spec.miss_if_sooner_than = Some(interval);
        self
    }

    /// Sets the callback for a tick that hangs: one that lasts longer than [`Self::watchdog`], or
    /// has not ended when the run ends. The supervisor's thread calls `enter` once for each such
    /// tick, because no method of the node itself can be called during the tick. `enter` can, for
    /// instance, send a stop command with its own publisher.
    ///
    /// `enter` must return within some milliseconds. Until it returns, the supervisor watches no
    /// other node, and applies neither emergency stops nor commands nor signals. For longer work,
    /// use [`Self::safe_state_on_other_thread`].
    ///
    /// [`Self::build`] returns an error if the node has neither a rate, a budget nor a watchdog.
    pub fn safe_state(mut self, enter: impl FnMut() + Send + 'static) -> Self {
        self.safe_state = Some(SafeStateCallback::OnSupervisor(Box::new(enter)));
        self
    }

    /// Sets the callback for a tick that hangs, like [`Self::safe_state`], for a callback that may
    /// take long. `begin` has to start the work on another thread, and to return the channel on
    /// which that thread will send the result. When the result arrives, the scheduler records the
    /// event `SAFE_STATE_ENTERED`, or `FAILED` if the result is an error.
    pub fn safe_state_on_other_thread(
        mut self,
        begin: impl FnMut() -> Receiver<Result<(), String>> + Send + 'static,
    ) -> Self {
        self.safe_state = Some(SafeStateCallback::OnOtherThread(Box::new(begin)));
        self
    }

    /// Sets the SCHED_FIFO priority of the node's thread, from 1 to 99, if the system allows it.
    pub fn priority(mut self, priority: u8) -> Self {
        self.spec.priority = Some(priority);
        self
    }

    /// Pins the node's thread to the CPU with this number.
    pub fn core(mut self, core: usize) -> Self {
        self.spec.core = Some(core);
        self
    }

    /// Prevents all CPUs of the machine from entering sleep states until the node's thread ends, if
    /// the system allows it (PM QoS, `/dev/cpu_dma_latency`, which usually only root may write).
    /// WHY: a sleeping CPU takes some 10 to 100 µs to wake, in a virtual machine even longer, and
    /// nothing else shortens that time. The setting costs power. It also makes busy CPUs slower,
    /// because sleeping CPUs would have left them more power.
    pub fn stay_awake(mut self) -> Self {
        self.spec.stays_awake = true;
        self
    }

    /// Adds the node to the chain called `chain`. The nodes of a chain share one thread, and run
    /// right after each other in their order. All nodes of a chain need the same rate, CPU and
    /// priority. The name of a chain has 1 to 64 bytes, and no control characters, like that of a
    /// node.
    pub fn chain(mut self, chain: &str) -> Self {
        self.spec.chain = Some(chain.to_owned());
        self
    }

    /// Declares that the node waits for files or networks. A single thread runs all such nodes as
    /// tasks of tokio. The node ticks at its rate, or at [`Scheduler::main_rate`] if it has none.
    /// Ticks begin within about a millisecond of their due times.
    ///
    /// The node should wait with `await` in its ticks, so that other nodes run meanwhile.
    /// [`Self::build_async`] calls `async_io` itself. If you call [`Self::build`] instead, pass a
    /// [`AsyncNodeAdapter`](super::AsyncNodeAdapter) to `build`.
    #[cfg(feature = "async-io")]
    pub fn async_io(mut self) -> Self {
        self.spec.is_async_io = true;
        self
    }

    /// Adds an asynchronous closure as a node. While a tick waits, other asynchronous nodes run.
    /// Two ticks of the same node never overlap. A tick that waits does not count as stuck, however
    /// long it waits, but the time counts towards its budget and its deadline. When the run stops,
    /// ticks that have begun get 0.6 s to end. After that, they are dropped, which is no failure.
    ///
    /// ```
    /// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    /// # // SAFETY: this program has one thread.
    /// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
    /// use std::time::Duration;
    ///
    /// use horus_core::scheduler::{Context, Hertz, NodeResult, Scheduler};
    ///
    /// let mut scheduler = Scheduler::new();
    /// let upload = async |context: &mut Context<'_>| -> NodeResult {
    ///     tokio::time::sleep(Duration::from_millis(1)).await;
    ///     context.stop();
    ///     Ok(())
    /// };
    /// scheduler.node("upload").rate(10.hz()).build_async(upload)?;
    /// assert_eq!(scheduler.run()?.nodes[0].metrics.ticks, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::build`].
    #[cfg(feature = "async-io")]
    pub fn build_async<R, F>(self, tick: F) -> Result<(), PlanError>
    where
        R: IntoNodeResult,
        F: AsyncFnMut(&mut Context<'_>) -> R + Send + 'static,
    {
        self.async_io().build(AsyncNodeAdapter::new(tick))
    }

    /// Adds `node`, which is a [`Node`] or a closure, to the scheduler, with the settings of this
    /// builder.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError`] if a setting is invalid, if settings contradict each other, or if
    /// another node already has the name.
    pub fn build(self, node: impl Node) -> Result<(), PlanError> {
        let Self {
            scheduler,
            spec,
            safe_state,
            wake,
            subscriptions,
        } = self;
        scheduler.add_node(Box::new(node), spec, safe_state, (wake, subscriptions))
    }
}

/// Returns the name of a topic without a leading slash, which makes no difference.
fn without_leading_slash(topic: &str) -> String {
    topic.strip_prefix('/').unwrap_or(topic).to_owned()
}
