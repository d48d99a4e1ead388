//! What can be asked for a node.

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

/// What a node is to be: ends with [`Self::build`], which takes the node.
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

    /// Runs before the nodes of a larger order, where they run one after the other. Default 0.
    ///
    /// Of nodes of one order, those who write a topic run before those who read it, as far as the
    /// scheduler knows: by [`Self::publisher`] and [`Self::subscriber`], [`Self::writes`] and
    /// [`Self::reads`], and [`Self::on`]. Where nothing follows from that, they run as they were
    /// added, in simulated runs by name.
    pub fn order(mut self, order: i32) -> Self {
        self.spec.order = order;
        self
    }

    /// Runs so often, on a thread of its own. Implies a budget of 80 % and a deadline of 95 % of
    /// the period.
    pub fn rate(mut self, rate: Rate) -> Self {
        self.spec.rate = Some(rate);
        self
    }

    /// Runs whenever this subscriber has messages that it has not received, on a thread of its own
    /// that sleeps until then. The subscriber belongs to the node; say this before it moves there.
    ///
    /// A tick that receives one message is followed by another at once if there are more: whether
    /// a burst is one tick or many is up to the node.
    ///
    /// # Panics
    ///
    /// If there are more than a [`WaitSet`] can hold.
    pub fn on<T: Payload>(mut self, subscriber: &Subscriber<T>) -> Self {
        self.wake.add(subscriber).expect("a node waits for too many topics");
        self.spec.topics.push(subscriber.name().to_owned());
        self.reads(subscriber)
    }

    /// [`Self::on`] for any subscriber, here of the topic that is called `topic`: for programs
    /// that learn types and topics when they run.
    ///
    /// # Errors
    ///
    /// [`WaitSetFull`] if there are more than a [`WaitSet`] can hold.
    pub fn wake_by(&mut self, topic: &str, subscriber: &impl Watchable) -> Result<(), WaitSetFull> {
        self.wake.add(subscriber)?;
        self.spec.topics.push(topic.to_owned());
        self.read_by(topic, subscriber);
        Ok(())
    }

    /// [`Self::reads`] for any subscriber, here of the topic that is called `topic`: for programs
    /// that learn types and topics when they run.
    pub fn read_by(&mut self, topic: &str, subscriber: &impl Watchable) {
        self.spec.reads.push(topic.to_owned());
        let subscription = Subscription::new(topic, subscriber);
        if !self.subscriptions.iter().any(|known| known.is_same(&subscription)) {
            self.subscriptions.push(subscription);
        }
    }

    /// A publisher for the node, in the scheduler's namespace: the scheduler's [`Graph`] shows that
    /// the node writes this topic, and those who read it come after it. Creates the topic if it is
    /// not there.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: another message type, too many publishers, a bad name, no memory …
    ///
    /// [`Graph`]: super::Graph
    pub fn publisher<T: Payload>(&mut self, topic: &str) -> Result<Publisher<T>, TopicError> {
        self.publisher_with(topic, Qos::new())
    }

    /// As [`Self::publisher`], with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::publisher`]; and the topic has another quality of service.
    pub fn publisher_with<T: Payload>(
        &mut self,
        topic: &str,
        qos: Qos,
    ) -> Result<Publisher<T>, TopicError> {
        let publisher = self.topic(topic, qos).publisher()?;
        self.spec.writes.push(topic.to_owned());
        Ok(publisher)
    }

    /// A subscriber for the node, as [`Self::publisher`]: the node comes after those who write the
    /// topic. It does not wake the node: [`Self::on`] does that.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: another message type, too many subscribers, a bad name, no memory …
    pub fn subscriber<T: Payload>(&mut self, topic: &str) -> Result<Subscriber<T>, TopicError> {
        self.subscriber_with(topic, Qos::new())
    }

    /// As [`Self::subscriber`], with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::subscriber`]; and the topic has another quality of service.
    pub fn subscriber_with<T: Payload>(
        &mut self,
        topic: &str,
        qos: Qos,
    ) -> Result<Subscriber<T>, TopicError> {
        let subscriber = self.topic(topic, qos).subscriber()?;
        self.read_by(topic, &subscriber);
        Ok(subscriber)
    }

    /// A subscriber for the node, as [`Self::subscriber`], that must not stay silent for longer
    /// than `timeout`, from the node's start on.
    ///
    /// A tick that has not had a message for longer counts as a miss, however quick it was:
    /// [`Self::on_miss`] says what follows. [`Input::fresh`] is what the node uses, so that it does
    /// not steer by what is no longer true.
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

    /// As [`Self::subscribe_with_timeout`], with a quality of service.
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

    /// The node receives from this subscriber, which was made elsewhere, for instance with a
    /// quality of service. If it cannot map the memory of a publisher, that is an event of the node
    /// ([`NodeEvent::LANE_NOT_MAPPED`](crate::message::NodeEvent::LANE_NOT_MAPPED)).
    pub fn reads<T: Payload>(mut self, subscriber: &Subscriber<T>) -> Self {
        self.read_by(subscriber.name(), subscriber);
        self
    }

    /// The node publishes by this publisher, which was made elsewhere.
    pub fn writes<T: Payload>(self, publisher: &Publisher<T>) -> Self {
        self.writes_topic(publisher.name())
    }

    /// As [`Self::reads`], by the topic's name: for ends of any type. The scheduler does not see
    /// the subscriber, so that no event says what it cannot map.
    pub fn reads_topic(mut self, topic: &str) -> Self {
        self.spec.reads.push(topic.to_owned());
        self
    }

    /// As [`Self::writes`], by the topic's name: for ends of any type.
    pub fn writes_topic(mut self, topic: &str) -> Self {
        self.spec.writes.push(topic.to_owned());
        self
    }

    /// A node on topics ticks so often at most, from begin to begin: the messages of a burst wait
    /// for one tick, which receives them all, or as many as it likes. What waits takes room in the
    /// topic, and an unreliable topic drops what is overrun. A deadline counts from when the tick
    /// may begin.
    pub fn at_most(mut self, rate: Rate) -> Self {
        self.spec.at_most = Some(rate);
        self
    }

    /// Takes long, and may be late: runs on one of the threads that such nodes share, at its rate,
    /// or 100 times a second. See [`Scheduler::compute_threads`].
    pub fn compute(mut self) -> Self {
        self.spec.is_compute = true;
        self
    }

    /// A tick may take so long.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.spec.budget = Some(budget);
        self
    }

    /// A tick has to be over so long after it was due.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.spec.deadline = Some(deadline);
        self
    }

    /// What follows when it is not, and when an input is stale
    /// ([`Self::subscribe_with_timeout`]). Default [`Miss::Warn`].
    pub fn on_miss(mut self, policy: Miss) -> Self {
        self.spec.on_miss = Some(policy);
        self
    }

    /// What follows when a tick fails or panics. Default [`FailurePolicy::Fatal`].
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.spec.on_failure = policy;
        self
    }

    /// A tick may last so long before the node counts as stuck. Default twice the budget.
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.spec.watchdog = Some(limit);
        self
    }

    /// A tick passes so many checkpoints, in order: [`Context::checkpoint`] with 1, 2, and so on.
    /// One that is left out, repeated or not reached counts as a miss, whatever the time says.
    ///
    /// A watchdog that only knows a limit finds few of the faults that there are; with an order and
    /// [`Self::not_before`] it finds most (IEC 61508-2, table A.10).
    ///
    /// [`Context::checkpoint`]: super::Context::checkpoint
    pub fn checkpoints(mut self, number: u64) -> Self {
        self.spec.checkpoints = number;
        self
    }

    /// A tick that begins sooner than so long after the one before counts as a miss: a node on a
    /// topic that is flooded, a clock that is wrong.
    pub fn not_before(mut self, least: Duration) -> Self {
        self.spec.not_before = Some(least);
        self
    }

    /// Calls `enter` when a tick of the node does not end, once each time, from the thread of the
    /// supervisor: for instance to send a halt, by a publisher of its own. The node itself cannot
    /// be called then. A tick that lasts longer than the [`Self::watchdog`] does not end, and one
    /// that still lasts when the run has ended.
    ///
    /// The node needs a rate, a budget or a watchdog: otherwise [`Self::build`] refuses it.
    pub fn safe_state(mut self, enter: impl FnMut() + Send + 'static) -> Self {
        self.safe_state = Some(SafeState::Here(Box::new(enter)));
        self
    }

    /// Does what [`Self::safe_state`] does, for a call that may take long: `begin` has another
    /// thread make it, and returns the channel by which that thread says how it ended. The event
    /// that the node is in its safe state follows only then; an error is recorded instead.
    pub fn safe_state_elsewhere(
        mut self,
        begin: impl FnMut() -> Receiver<Result<(), String>> + Send + 'static,
    ) -> Self {
        self.safe_state = Some(SafeState::Elsewhere(Box::new(begin)));
        self
    }

    /// Priority of its thread under SCHED_FIFO, 1 to 99, if the system allows it.
    pub fn priority(mut self, priority: u8) -> Self {
        self.spec.priority = Some(priority);
        self
    }

    /// The processor that its thread stays on.
    pub fn core(mut self, core: usize) -> Self {
        self.spec.core = Some(core);
        self
    }

    /// Keeps the processors of the machine from sleeping while this node runs, if the system allows
    /// it (PM QoS, `/dev/cpu_dma_latency`, usually root's). A processor that sleeps wakes after
    /// some 10 to 100 µs, one of a virtual machine later still, and nothing else shortens that.
    /// Costs power, and speed where the others would have had what it burns.
    pub fn stay_awake(mut self) -> Self {
        self.spec.stays_awake = true;
        self
    }

    /// Shares the thread of all nodes of this chain, which have one rate, core and priority: they
    /// run one after the other, by their order, each right after the one before.
    pub fn chain(mut self, chain: &str) -> Self {
        self.spec.chain = Some(chain.to_owned());
        self
    }

    /// Waits for files or networks: runs as a task of tokio, on one thread with all such nodes, at
    /// its rate, or 100 times a second. Due times are kept to a millisecond.
    ///
    /// The node's ticks should wait by `await`: then those of other nodes go on meanwhile. Such a
    /// node is made by [`Self::build_async`], which says this by itself, or is a
    /// [`TaskNode`](super::TaskNode).
    #[cfg(feature = "async-io")]
    pub fn async_io(mut self) -> Self {
        self.spec.is_async_io = true;
        self
    }

    /// Adds an asynchronous closure as a node. Its ticks overlap with those of other such nodes
    /// while they wait, never with its own. A tick that waits is not stuck, however long; budget
    /// and deadline count from when it was due. When everything stops, ticks under way have most
    /// of a second, and are dropped then.
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

    /// Adds `node`, a [`Node`] or a closure.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: what was asked for contradicts itself, and why.
    pub fn build(self, node: impl Node) -> Result<(), PlanError> {
        let Self { scheduler, spec, safe_state, wake, subscriptions } = self;
        scheduler.admit(Box::new(node), spec, safe_state, (wake, subscriptions))
    }
}
