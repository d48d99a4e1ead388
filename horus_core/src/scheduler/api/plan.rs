//! What a node was asked to be, made whole or refused: pure, before anything runs.

use std::sync::Arc;
use std::time::Duration;

use crate::scheduler::api::input::InputWatch;
use crate::scheduler::api::policy::{FailurePolicy, Miss};
use crate::scheduler::api::rate::{Rate, RateError};

/// Who runs a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// A thread of its own, at absolute times: what has a rate.
    RealTime,
    /// The pool of threads for what takes long and may be late.
    Compute,
    /// A thread that sleeps until a topic has a message: what waits for topics.
    Event,
    /// Tasks that wait for files and networks.
    AsyncIo,
    /// The thread that runs the scheduler, between everything else: what asks for nothing.
    BestEffort,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::RealTime => "real-time",
            Self::Compute => "compute",
            Self::Event => "event",
            Self::AsyncIo => "async i/o",
            Self::BestEffort => "best effort",
        })
    }
}

/// What the builder of a node was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeSpec {
    pub(crate) name: String,
    pub(crate) order: i32,
    pub(crate) rate: Option<Rate>,
    pub(crate) budget: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) on_miss: Option<Miss>,
    pub(crate) on_failure: FailurePolicy,
    pub(crate) priority: Option<u8>,
    pub(crate) core: Option<usize>,
    /// Processors do not sleep while it runs.
    pub(crate) stays_awake: bool,
    /// Nodes of one chain share a thread.
    pub(crate) chain: Option<String>,
    pub(crate) watchdog: Option<Duration>,
    /// Checkpoints in a tick.
    pub(crate) checkpoints: u64,
    /// From the begin of a tick to the next, at least.
    pub(crate) not_before: Option<Duration>,
    /// Topics that wake it.
    pub(crate) topics: Vec<String>,
    /// Topics that it receives from, those that wake it among them.
    pub(crate) reads: Vec<String>,
    /// Topics that it publishes on.
    pub(crate) writes: Vec<String>,
    /// Topics that must not stay silent for long.
    pub(crate) inputs: Vec<Arc<InputWatch>>,
    /// How often they wake it at most.
    pub(crate) at_most: Option<Rate>,
    pub(crate) is_compute: bool,
    pub(crate) is_async_io: bool,
}

/// A node that can be run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) order: i32,
    pub(crate) class: Class,
    pub(crate) rate: Option<Rate>,
    /// How long a tick may take.
    pub(crate) budget: Option<Duration>,
    /// When a tick has to be over, from the time that it was due.
    pub(crate) deadline: Option<Duration>,
    pub(crate) on_miss: Miss,
    pub(crate) on_failure: FailurePolicy,
    pub(crate) priority: Option<u8>,
    pub(crate) core: Option<usize>,
    pub(crate) stays_awake: bool,
    pub(crate) chain: Option<String>,
    pub(crate) watchdog: Option<Duration>,
    pub(crate) checkpoints: u64,
    pub(crate) not_before: Option<Duration>,
    /// Topics that it receives from, those that wake it among them.
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) inputs: Vec<Arc<InputWatch>>,
    pub(crate) at_most: Option<Rate>,
}

/// Why nodes cannot be run as they were asked to be. Nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Two nodes have one name.
    #[error("two nodes are called '{node}': metrics and control could not tell them apart")]
    SameName {
        /// The name.
        node: String,
    },
    /// A name that is none.
    #[error("'{node}' is no name: from 1 to {NAME_BYTES_MAX} bytes without control characters")]
    Name {
        /// What was given.
        node: String,
    },
    /// A rate that is none.
    #[error("node '{node}': {cause}")]
    Rate {
        /// The node.
        node: String,
        /// What is wrong.
        cause: RateError,
    },
    /// Two nodes of a chain that cannot share a thread.
    #[error(
        "nodes '{node}' and '{other}' are of the chain '{chain}' but differ in {setting}: a chain \
             shares one thread"
    )]
    Chain {
        /// A node.
        node: String,
        /// Another.
        other: String,
        /// Their chain.
        chain: String,
        /// What they differ in.
        setting: &'static str,
    },
    /// Two settings that exclude each other.
    #[error("node '{node}' has {one} and {other}: {reason}")]
    Contradiction {
        /// The node.
        node: String,
        /// The name of the setting.
        one: String,
        /// Another.
        other: String,
        /// Why not both.
        reason: &'static str,
    },
    /// A setting that has no effect on a node of this class.
    #[error("node '{node}' has {setting}, which means nothing to a {class} node: {advice}")]
    Meaningless {
        /// The node.
        node: String,
        /// The name of the setting.
        setting: &'static str,
        /// What the node is.
        class: Class,
        /// The advice: what to do about it.
        advice: &'static str,
    },
    /// A number out of its range.
    #[error("node '{node}' has {setting} {found}, and it has to be {wanted}")]
    Range {
        /// The node.
        node: String,
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        wanted: String,
    },
}

/// Bytes of a node's name, at most: what its place in shared memory has room for.
pub const NAME_BYTES_MAX: usize = 64;

/// Parts of a period that a tick may take, in percent, unless told otherwise.
const BUDGET_PERCENT: u32 = 80;
/// When a tick has to be over, in percent of a period, unless told otherwise.
const DEADLINE_PERCENT: u32 = 95;

impl NodeSpec {
    pub(crate) fn whole(self, cores: usize) -> Result<Plan, PlanError> {
        let is_name = (1..=NAME_BYTES_MAX).contains(&self.name.len());
        if !is_name || self.name.chars().any(char::is_control) {
            return Err(PlanError::Name { node: self.name });
        }
        let class = self.class()?;
        let checked = |rate: Option<Rate>| {
            let rate = rate.map(Rate::check).transpose();
            rate.map_err(|cause| PlanError::Rate { node: self.name.clone(), cause })
        };
        let (rate, at_most) = (checked(self.rate)?, checked(self.at_most)?);
        self.check_times(class, rate)?;
        self.check_thread(class, cores)?;
        let period = rate.map(Rate::period);
        let part = |percent| period.map(|period| period * percent / 100);
        let deadline = self.deadline.or_else(|| part(DEADLINE_PERCENT));
        // WHY the minimum: whoever shortens the deadline shortens what fits before it.
        let budget = part(BUDGET_PERCENT).map(|budget| budget.min(deadline.unwrap_or(budget)));
        Ok(Plan {
            class,
            rate,
            deadline,
            budget: self.budget.or(budget),
            name: self.name,
            order: self.order,
            on_miss: self.on_miss.unwrap_or_default(),
            on_failure: self.on_failure,
            priority: self.priority,
            core: self.core,
            stays_awake: self.stays_awake,
            chain: self.chain,
            watchdog: self.watchdog,
            checkpoints: self.checkpoints,
            not_before: self.not_before,
            reads: self.reads,
            writes: self.writes,
            inputs: self.inputs,
            at_most,
        })
    }

    /// What runs the node, by what it asks for.
    fn class(&self) -> Result<Class, PlanError> {
        let contradiction = |one: &str, other: &str, reason| {
            let (one, other) = (one.to_owned(), other.to_owned());
            Err(PlanError::Contradiction { node: self.name.clone(), one, other, reason })
        };
        match (self.is_compute, self.is_async_io, self.topics.is_empty()) {
            (true, true, _) => contradiction(
                "compute()",
                "async_io()",
                "a pool for computing must not wait for files, and tasks must not compute",
            ),
            (true, _, false) => contradiction(
                "compute()",
                "on(topic)",
                "an event node has a thread that sleeps; let it hand work to a compute node",
            ),
            (_, true, false) => contradiction(
                "async_io()",
                "on(topic)",
                "a task waits for topics by itself, with recv_async",
            ),
            (_, _, false) if self.rate.is_some() => contradiction(
                "rate()",
                "on(topic)",
                "a node runs by the clock or by messages; read the topic in a tick, or add a node",
            ),
            (true, _, _) => Ok(Class::Compute),
            (_, true, _) => Ok(Class::AsyncIo),
            (_, _, false) => Ok(Class::Event),
            _ if self.rate.is_some() => Ok(Class::RealTime),
            _ => Ok(Class::BestEffort),
        }
    }

    /// Whether budget, deadline and watchdog fit into each other and into a period.
    fn check_times(&self, class: Class, rate: Option<Rate>) -> Result<(), PlanError> {
        let meaningless = |setting, advice| {
            Err(PlanError::Meaningless { node: self.name.clone(), setting, class, advice })
        };
        let has_due_time = rate.is_some() || class == Class::Event;
        if !has_due_time && self.deadline.is_some() {
            return meaningless("a deadline", "give it a rate, so that it is due at some time");
        }
        let is_guarded = self.checkpoints > 0 || self.not_before.is_some();
        if !has_due_time && self.on_miss.is_some() && self.inputs.is_empty() && !is_guarded {
            let advice = "give it a rate, an input with a timeout, or checkpoints";
            return meaningless("a policy for misses", advice);
        }
        if class != Class::Event && self.at_most.is_some() {
            return meaningless("at_most()", "it bounds what topics do; wake it by on(topic)");
        }
        let times = [
            ("a watchdog of", self.watchdog),
            ("a budget of", self.budget),
            ("a deadline of", self.deadline),
            ("a period of", rate.map(Rate::period)),
        ];
        if let (Some(not_before), Some(rate)) = (self.not_before, rate)
            && not_before > rate.period()
        {
            return Err(PlanError::Contradiction {
                node: self.name.clone(),
                one: format!("not_before {not_before:?}"),
                other: format!("a period of {:?}", rate.period()),
                reason: "every tick would be too early",
            });
        }
        for (setting, time) in times {
            if time == Some(Duration::ZERO) {
                let (node, wanted) = (self.name.clone(), "more than nothing".to_owned());
                return Err(PlanError::Range { node, setting, found: "0 s".to_owned(), wanted });
            }
        }
        let contradiction = |one: (&str, Duration), other: (&str, Duration), reason| {
            let [one, other] = [one, other].map(|(setting, time)| format!("{setting} {time:?}"));
            Err(PlanError::Contradiction { node: self.name.clone(), one, other, reason })
        };
        let [watchdog, budget, deadline, period] =
            times.map(|(setting, time)| Some((setting, time?)));
        if let (Some(budget), Some(deadline)) = (budget, deadline)
            && budget.1 > deadline.1
        {
            return contradiction(budget, deadline, "a tick that uses its budget would be late");
        }
        for time in [budget, deadline] {
            if let (Some(time), Some(period)) = (time, period)
                && time.1 > period.1
            {
                return contradiction(time, period, "the next tick would be due before it is over");
            }
        }
        if let (Some(watchdog), Some(budget)) = (watchdog, budget)
            && watchdog.1 < budget.1
        {
            return contradiction(watchdog, budget, "it would bark at ticks that are in order");
        }
        Ok(())
    }

    /// Whether the node can have the thread that it wants.
    fn check_thread(&self, class: Class, cores: usize) -> Result<(), PlanError> {
        let has_thread = matches!(class, Class::RealTime | Class::Event);
        let settings = [
            ("a priority", self.priority.is_some()),
            ("a core", self.core.is_some()),
            ("to stay awake", self.stays_awake),
        ];
        for (setting, is_set) in settings {
            if is_set && !has_thread {
                let advice = "only nodes with a rate, or on a topic, have a thread of their own";
                let node = self.name.clone();
                return Err(PlanError::Meaningless { node, setting, class, advice });
            }
        }
        if self.chain.is_some() && class != Class::RealTime {
            let (node, setting) = (self.name.clone(), "a chain");
            let advice = "the nodes of a chain share a thread and a rate: give it the rate";
            return Err(PlanError::Meaningless { node, setting, class, advice });
        }
        let range = |setting, found: String, wanted| {
            Err(PlanError::Range { node: self.name.clone(), setting, found, wanted })
        };
        match (self.priority, self.core) {
            (Some(priority), _) if !(1..=99).contains(&priority) => {
                range("the priority", priority.to_string(), "from 1 to 99".to_owned())
            }
            (_, Some(core)) if core >= cores => {
                range("the core", core.to_string(), format!("below {cores}, as many as there are"))
            }
            _ => Ok(()),
        }
    }
}

impl Plan {
    /// Whether the node counts as stuck at some time.
    pub(crate) const fn is_watched(&self) -> bool {
        self.budget.is_some() || self.watchdog.is_some()
    }

    /// Returns true if a tick that does not end is noticed, so that something can be done about it.
    pub(crate) fn check_safe_state(&self) -> Result<(), PlanError> {
        if self.is_watched() {
            return Ok(());
        }
        Err(PlanError::Meaningless {
            node: self.name.clone(),
            setting: "a safe_state()",
            class: self.class,
            advice: "it is called when a tick lasts longer than a watchdog allows: give it one",
        })
    }

    /// Whether both nodes can be of one chain, if they are.
    pub(crate) fn check_chain(&self, other: &Self) -> Result<(), PlanError> {
        let (Some(chain), true) = (&self.chain, self.chain == other.chain) else { return Ok(()) };
        let differs = [
            ("their rates", self.rate != other.rate),
            ("their cores", self.core != other.core),
            ("their priorities", self.priority != other.priority),
            ("whether they stay awake", self.stays_awake != other.stays_awake),
        ];
        match differs.into_iter().find(|(_, differ)| *differ) {
            None => Ok(()),
            Some((setting, _)) => Err(PlanError::Chain {
                node: self.name.clone(),
                other: other.name.clone(),
                chain: chain.clone(),
                setting,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Hertz;

    fn spec(name: &str) -> NodeSpec {
        NodeSpec { name: name.to_owned(), ..NodeSpec::default() }
    }

    fn one(spec: NodeSpec) -> Result<Plan, PlanError> {
        spec.whole(2)
    }

    const fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    #[test]
    fn a_rate_implies_a_thread_a_budget_and_a_deadline() {
        let plan = one(NodeSpec { rate: Some(100.hz()), ..spec("control") }).unwrap();
        assert_eq!(plan.class, Class::RealTime);
        assert_eq!((plan.budget, plan.deadline), (ms(8), Some(Duration::from_micros(9500))));
        let plan =
            one(NodeSpec { rate: Some(100.hz()), deadline: ms(5), ..spec("tight") }).unwrap();
        assert_eq!((plan.budget, plan.deadline), (ms(5), ms(5)));
        let slow = NodeSpec { rate: Some(100.hz()), is_compute: true, ..spec("map") };
        assert_eq!(one(slow).unwrap().class, Class::Compute);
        let event = NodeSpec { topics: vec!["scan".into()], ..spec("slam") };
        assert_eq!(one(event).unwrap().class, Class::Event);
        assert_eq!(one(spec("log")).unwrap().class, Class::BestEffort);
    }

    #[test]
    fn contradictions_are_refused_with_the_reason() {
        let rate = Some(100.hz());
        let topics = vec!["scan".to_owned()];
        for (spec, reason) in [
            (NodeSpec { rate, topics: topics.clone(), ..spec("n") }, "by the clock or by messages"),
            (NodeSpec { is_compute: true, is_async_io: true, ..spec("n") }, "must not compute"),
            (NodeSpec { is_compute: true, topics: topics.clone(), ..spec("n") }, "hand work"),
            (NodeSpec { is_async_io: true, topics: topics.clone(), ..spec("n") }, "recv_async"),
            (NodeSpec { rate, budget: ms(11), ..spec("n") }, "due before it is over"),
            (NodeSpec { rate, deadline: ms(11), ..spec("n") }, "due before it is over"),
            (NodeSpec { rate, budget: ms(6), deadline: ms(5), ..spec("n") }, "would be late"),
            (NodeSpec { rate, budget: ms(6), watchdog: ms(5), ..spec("n") }, "in order"),
            (NodeSpec { rate, budget: ms(0), ..spec("n") }, "more than nothing"),
            (NodeSpec { deadline: ms(5), ..spec("n") }, "give it a rate"),
            (NodeSpec { on_miss: Some(Miss::Skip), ..spec("n") }, "an input with a timeout"),
            (NodeSpec { rate, not_before: ms(11), ..spec("n") }, "would be too early"),
            (NodeSpec { priority: Some(50), ..spec("n") }, "a thread of their own"),
            (NodeSpec { core: Some(0), is_compute: true, ..spec("n") }, "a thread of their own"),
            (NodeSpec { stays_awake: true, ..spec("n") }, "a thread of their own"),
            (NodeSpec { rate, priority: Some(100), ..spec("n") }, "from 1 to 99"),
            (NodeSpec { chain: Some("c".into()), ..spec("n") }, "give it the rate"),
            (NodeSpec { rate, core: Some(2), ..spec("n") }, "below 2"),
            (NodeSpec { rate: Some(0.hz()), ..spec("n") }, "a rate has to be"),
            (NodeSpec { at_most: rate, rate, ..spec("n") }, "wake it by on(topic)"),
            (NodeSpec { at_most: rate, is_compute: true, ..spec("n") }, "wake it by on(topic)"),
            (NodeSpec { at_most: rate, ..spec("n") }, "wake it by on(topic)"),
            (NodeSpec { at_most: Some(0.hz()), topics: topics.clone(), ..spec("n") }, "has to be"),
            (spec(""), "no name"),
            (spec("a\nb"), "no name"),
            (spec(&"x".repeat(65)), "no name"),
        ] {
            let error = one(spec).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}, not: {reason}");
        }
    }
}
