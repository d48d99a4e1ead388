//! The builder of a node, with all its settings.

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
use crate::scheduler::api::policy::{FailurePolicy, Miss};
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::safe_state::SafeState;
use crate::scheduler::api::subscription::Subscription;
#[cfg(feature = "async-io")]
use crate::scheduler::run::executor::async_io::TaskNode;
use crate::topic::error::{TopicError, WaitSetFull};
use crate::topic::{Payload, Publisher, Qos, Subscriber, Topic, TopicBuilder, WaitSet, Watchable};

/// Collects the settings of a node; [`Self::build`] adds the node with them.
#[must_use = "a node is added by `build()`"]
pub struct NodeBuilder<'a> {
    scheduler: &'a mut Scheduler,
    spec: NodeSpec,
    safe_state: Option<SafeState>,
    wake: WaitSet,
    subscriptions: Vec<Subscription>,
}

impl std::fmt::Debug for NodeBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeBuilder").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl<'a> NodeBuilder<'a> {
    pub(super) fn new(scheduler: &'a mut Scheduler, name: &str) -> Self {
        let spec = NodeSpec { name: name.to_owned(), ..NodeSpec::default() };
        let (wake, subscriptions) = (WaitSet::new(), Vec::new());
        Self { scheduler, spec, safe_state: None, wake, subscriptions }
    }

    /// Runs the node before the nodes of a larger order, if they run one after the other. Default
    /// 0.
    ///
    /// Of nodes of one order, the writers of a topic run before its readers, as far as the
    /// scheduler knows them: by [`Self::publisher`] and [`Self::subscriber`], [`Self::writes`] and
    /// [`Self::reads`], and [`Self::on`]. If that leaves the order open, they run as they were
    /// added, in simulated runs by name.
    pub fn order(mut self, order: i32) -> Self {
        self.spec.order = order;
        self
    }

    /// Runs the node at this rate, on a thread of its own. Implies a budget of 80 % and a deadline
    /// of 95 % of the period.
    pub fn rate(mut self, rate: Rate) -> Self {
        self.spec.rate = Some(rate);
        self
    }

    /// Runs the node whenever this subscriber has messages that it has not received, on a thread of
    /// its own that sleeps until then. The subscriber belongs to the node; call this before it
    /// moves there.
    ///
    /// A tick that receives one message is followed by another at once if there are more. So the
    /// node decides whether a burst is one tick or many.
    ///
    /// # Panics
    ///
    /// Panics if there are more topics than a [`WaitSet`] can hold.
    pub fn on<T: Payload>(mut self, subscriber: &Subscriber<T>) -> Self {
        self.wake.add(subscriber).expect("a node waits for more topics than a `WaitSet` holds");
        self.spec.topics.push(subscriber.name().to_owned());
        self.reads(subscriber)
    }

    /// Does what [`Self::on`] does for a subscriber of any type, here of the topic `topic`: for
    /// programs that learn types and topics at run time.
    ///
    /// # Errors
    ///
    /// Returns [`WaitSetFull`] if there are more topics than a [`WaitSet`] can hold.
    pub fn wake_by(&mut self, topic: &str, subscriber: &impl Watchable) -> Result<(), WaitSetFull> {
        self.wake.add(subscriber)?;
        self.spec.topics.push(topic.to_owned());
        self.read_by(topic, subscriber);
        Ok(())
    }

    /// Does what [`Self::reads`] does for a subscriber of any type, here of the topic `topic`: for
    /// programs that learn types and topics at run time.
    pub fn read_by(&mut self, topic: &str, subscriber: &impl Watchable) {
        self.spec.reads.push(topic.to_owned());
        let subscription = Subscription::new(topic, subscriber);
        if !self.subscriptions.iter().any(|known| known.is_same(&subscription)) {
            self.subscriptions.push(subscription);
        }
    }

    /// Makes a publisher for the node, in the scheduler's namespace. The scheduler's [`Graph`]
    /// shows that the node writes this topic, and readers of the topic run after it. Creates the
    /// topic if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`]: another message type, too many publishers, a bad name, no memory …
    ///
    /// [`Graph`]: super::Graph
    pub fn publisher<T: Payload>(&mut self, topic: &str) -> Result<Publisher<T>, TopicError> {
        self.publisher_with(topic, Qos::new())
    }

    /// Does what [`Self::publisher`] does, with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::publisher`]; and if the topic has another quality of service.
    pub fn publisher_with<T: Payload>(
        &mut self,
        topic: &str,
        qos: Qos,
    ) -> Result<Publisher<T>, TopicError> {
        let publisher = self.topic(topic, qos).publisher()?;
        self.spec.writes.push(topic.to_owned());
        Ok(publisher)
    }

    /// Makes a subscriber for the node, as [`Self::publisher`] does: the node runs after the
    /// writers of the topic. Messages do not wake the node: [`Self::on`] does that.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`]: another message type, too many subscribers, a bad name, no memory …
    pub fn subscriber<T: Payload>(&mut self, topic: &str) -> Result<Subscriber<T>, TopicError> {
        self.subscriber_with(topic, Qos::new())
    }

    /// Does what [`Self::subscriber`] does, with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::subscriber`]; and if the topic has another quality of service.
    pub fn subscriber_with<T: Payload>(
        &mut self,
        topic: &str,
        qos: Qos,
    ) -> Result<Subscriber<T>, TopicError> {
        let subscriber = self.topic(topic, qos).subscriber()?;
        self.read_by(topic, &subscriber);
        Ok(subscriber)
    }

    /// Makes a subscriber as [`Self::subscriber`] does, for a topic that must not stay silent for
    /// longer than `timeout`, from the node's start on.
    ///
    /// A tick counts as a miss if the last message is older than `timeout`, however quick the tick
    /// was: [`Self::on_miss`] decides what follows. The node should read by [`Input::fresh`], so
    /// that it does not act on stale data.
    ///
    /// # Errors
    ///
    /// As [`Self::subscriber`].
    pub fn subscribe_with_timeout<T: Payload>(
        &mut self,
        topic: &str,
        timeout: Duration,
    ) -> Result<Input<T>, TopicError> {
        self.input_with(topic, timeout, Qos::new())
    }

    /// Does what [`Self::subscribe_with_timeout`] does, with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::subscriber_with`].
    pub fn input_with<T: Payload>(
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

    fn topic<T: Payload>(&self, name: &str, qos: Qos) -> TopicBuilder<T> {
        let builder = Topic::builder(name).qos(qos);
        match &self.scheduler.namespace {
            Some(namespace) => builder.namespace(namespace),
            None => builder,
        }
    }

    /// Declares that the node receives from this subscriber, which was made elsewhere, for instance
    /// with a quality of service. If the subscriber cannot map the memory of a publisher, that is
    /// an event of the node
    /// ([`NodeEvent::LANE_NOT_MAPPED`](crate::message::NodeEvent::LANE_NOT_MAPPED)).
    pub fn reads<T: Payload>(mut self, subscriber: &Subscriber<T>) -> Self {
        self.read_by(subscriber.name(), subscriber);
        self
    }

    /// Declares that the node publishes by this publisher, which was made elsewhere.
    pub fn writes<T: Payload>(self, publisher: &Publisher<T>) -> Self {
        self.writes_topic(publisher.name())
    }

    /// Does what [`Self::reads`] does, by the topic's name: for endpoints of any type. The
    /// scheduler does not see the subscriber, so no event reports memory that it cannot map.
    pub fn reads_topic(mut self, topic: &str) -> Self {
        self.spec.reads.push(topic.to_owned());
        self
    }

    /// Does what [`Self::writes`] does, by the topic's name: for endpoints of any type.
    pub fn writes_topic(mut self, topic: &str) -> Self {
        self.spec.writes.push(topic.to_owned());
        self
    }

    /// Limits the rate of a node on topics, from start to start. The messages of a burst wait for
    /// one tick, which may receive all of them or fewer. Waiting messages take slots of the topic,
    /// and an unreliable topic drops messages when it runs out of slots. A deadline counts from the
    /// time at which the tick may begin.
    pub fn at_most(mut self, rate: Rate) -> Self {
        self.spec.at_most = Some(rate);
        self
    }

    /// Declares that the node computes for long and may be late. It runs on one of the threads that
    /// such nodes share, at its rate, or 100 times a second. See [`Scheduler::compute_threads`].
    pub fn compute(mut self) -> Self {
        self.spec.is_compute = true;
        self
    }

    /// Sets the longest time that a tick may take.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.spec.budget = Some(budget);
        self
    }

    /// Sets the time from the due time to the latest end of a tick.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.spec.deadline = Some(deadline);
        self
    }

    /// Sets the reaction to a missed deadline or budget, and to a stale input
    /// ([`Self::subscribe_with_timeout`]). Default [`Miss::Warn`].
    pub fn on_miss(mut self, policy: Miss) -> Self {
        self.spec.on_miss = Some(policy);
        self
    }

    /// Sets the reaction to a tick that fails or panics. Default [`FailurePolicy::Fatal`].
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.spec.on_failure = policy;
        self
    }

    /// Sets the time after which a tick counts as stuck. Default twice the budget.
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.spec.watchdog = Some(limit);
        self
    }

    /// Declares the number of checkpoints that a tick passes, in order: [`Context::checkpoint`]
    /// with 1, 2, and so on. A checkpoint that is left out, repeated or not reached counts as a
    /// miss, even if the tick is in time.
    ///
    /// A watchdog with a time limit alone finds few of the possible faults; with an order and
    /// [`Self::not_before`] it finds most (IEC 61508-2, table A.10).
    ///
    /// [`Context::checkpoint`]: super::Context::checkpoint
    pub fn checkpoints(mut self, number: u64) -> Self {
        self.spec.checkpoints = number;
        self
    }

    /// Counts a tick as a miss if it begins sooner than `least` after the previous one, for
    /// instance because a topic is flooded or a clock is wrong.
    pub fn not_before(mut self, least: Duration) -> Self {
        self.spec.not_before = Some(least);
        self
    }

    /// Calls `enter` when a tick of the node does not end, once for each such tick, from the
    /// supervisor's thread: for instance to send a halt, by a publisher of its own. The node itself
    /// cannot be called then. A tick does not end if it lasts longer than the [`Self::watchdog`],
    /// or still lasts when the run has ended.
    ///
    /// The node needs a rate, a budget or a watchdog: otherwise [`Self::build`] refuses it.
    pub fn safe_state(mut self, enter: impl FnMut() + Send + 'static) -> Self {
        self.safe_state = Some(SafeState::Here(Box::new(enter)));
        self
    }

    /// Does what [`Self::safe_state`] does, for a call that may take long. `begin` has another
    /// thread make the call, and returns the channel on which that thread sends the result. The
    /// event that the node is in its safe state follows only then; an error is recorded instead.
    pub fn safe_state_elsewhere(
        mut self,
        begin: impl FnMut() -> Receiver<Result<(), String>> + Send + 'static,
    ) -> Self {
        self.safe_state = Some(SafeState::Elsewhere(Box::new(begin)));
        self
    }

    /// Sets the SCHED_FIFO priority of the node's thread, 1 to 99, if the system allows it.
    pub fn priority(mut self, priority: u8) -> Self {
        self.spec.priority = Some(priority);
        self
    }

    /// Pins the node's thread to this CPU.
    pub fn core(mut self, core: usize) -> Self {
        self.spec.core = Some(core);
        self
    }

    /// Keeps the machine's CPUs from sleeping while this node runs, if the system allows it (PM
    /// QoS, `/dev/cpu_dma_latency`, usually root's). A sleeping CPU wakes after some 10 to 100 µs,
    /// that of a virtual machine later still, and nothing else shortens that. Costs power, and
    /// speed on other CPUs that could have used that power.
    pub fn stay_awake(mut self) -> Self {
        self.spec.stays_awake = true;
        self
    }

    /// Runs the node on the thread of all nodes of this chain, which have one rate, core and
    /// priority. They run one after the other, by their order, each right after the previous one.
    pub fn chain(mut self, chain: &str) -> Self {
        self.spec.chain = Some(chain.to_owned());
        self
    }

    /// Declares that the node waits for files or networks. It runs as a task of tokio, on one
    /// thread with all such nodes, at its rate, or 100 times a second. Due times are exact to a
    /// millisecond.
    ///
    /// The node's ticks should wait by `await`, so that ticks of other nodes go on meanwhile.
    /// [`Self::build_async`] makes such a node and calls this by itself; otherwise the node is a
    /// [`TaskNode`](super::TaskNode).
    #[cfg(feature = "async-io")]
    pub fn async_io(mut self) -> Self {
        self.spec.is_async_io = true;
        self
    }

    /// Adds an asynchronous closure as a node. While its ticks wait, they overlap with those of
    /// other such nodes, never with its own. A tick that waits is not stuck, however long; budget
    /// and deadline count from its due time. When the run stops, ticks under way have most of a
    /// second, and are then dropped.
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
    /// As [`Self::build`].
    #[cfg(feature = "async-io")]
    pub fn build_async<R, F>(self, tick: F) -> Result<(), PlanError>
    where
        R: IntoNodeResult,
        F: AsyncFnMut(&mut Context<'_>) -> R + Send + 'static,
    {
        self.async_io().build(TaskNode::new(tick))
    }

    /// Adds `node`, which is a [`Node`] or a closure.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError`] with the reason if the settings contradict each other.
    pub fn build(self, node: impl Node) -> Result<(), PlanError> {
        let Self { scheduler, spec, safe_state, wake, subscriptions } = self;
        scheduler.admit(Box::new(node), spec, safe_state, (wake, subscriptions))
    }
}
