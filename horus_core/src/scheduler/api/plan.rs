//! Checks the settings of a node and fills in the defaults. The result is a plan. The functions of
//! this file have no side effects, and are called before any node runs.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::scheduler::api::input::InputWatch;
use crate::scheduler::api::policy::{FailurePolicy, MissPolicy};
use crate::scheduler::api::rate::{Rate, RateError};

/// The way in which the scheduler runs a node, which follows from the node's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeClass {
    /// A node with a rate. It has its own thread, which runs it at fixed times.
    RealTime,
    /// A node whose ticks take long and may be late. A thread pool runs it.
    Compute,
    /// A node that waits for topics. It has its own thread, which sleeps until a topic has a
    /// message.
    Event,
    /// A node that waits for files or networks. It is run as an asynchronous task.
    AsyncIo,
    /// A group of actors. Threads of the group run the actors that have messages.
    Actors,
    /// A node with no rate and no other setting that selects a class. It runs on the thread that
    /// runs the scheduler.
    BestEffort,
}

impl std::fmt::Display for NodeClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::RealTime => "real-time",
            Self::Compute => "compute",
            Self::Event => "event",
            Self::AsyncIo => "async i/o",
            Self::Actors => "actors",
            Self::BestEffort => "best effort",
        })
    }
}

/// The settings of a node as its builder collected them, before they are checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeSpec {
    pub(crate) name: String,
    pub(crate) order: i32,
    pub(crate) rate: Option<Rate>,
    pub(crate) budget: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) on_miss: Option<MissPolicy>,
    pub(crate) on_failure: FailurePolicy,
    pub(crate) priority: Option<u8>,
    pub(crate) core: Option<usize>,
    /// True if the CPUs must not enter sleep states while the node runs.
    pub(crate) stays_awake: bool,
    /// The name of the chain, a set of nodes that share one thread; `None` if the node is not in a
    /// chain.
    pub(crate) chain: Option<String>,
    pub(crate) watchdog: Option<Duration>,
    /// The number of checkpoints that each tick of the node must pass; 0 if the node has none.
    pub(crate) checkpoints: u64,
    /// The shortest allowed time from the start of one tick to the start of the next; `None` if
    /// there is no limit.
    pub(crate) miss_if_sooner_than: Option<Duration>,
    /// The topics whose messages make the node run.
    pub(crate) topics: Vec<String>,
    /// The topics that the node reads, including those whose messages make it run.
    pub(crate) reads: Vec<String>,
    /// The topics on which the node publishes.
    pub(crate) writes: Vec<String>,
    /// The node's inputs that have a timeout.
    pub(crate) inputs: Vec<Arc<InputWatch>>,
    /// The highest rate at which messages may make the node run; `None` if there is no limit.
    pub(crate) at_most: Option<Rate>,
    /// The name of the group of actors on whose threads the node runs; `None` if the node does not
    /// run on the threads of a group.
    pub(crate) shared_group: Option<String>,
    pub(crate) is_compute: bool,
    pub(crate) is_async_io: bool,
    /// True if this is not a node, but a group of actors.
    pub(crate) is_actors: bool,
}

/// The checked settings of a node, with all defaults filled in.
#[derive(Debug, Clone)]
pub(crate) struct NodePlan {
    pub(crate) name: String,
    pub(crate) order: i32,
    pub(crate) class: NodeClass,
    pub(crate) rate: Option<Rate>,
    /// The longest time that a tick may take; `None` if there is no limit.
    pub(crate) budget: Option<Duration>,
    /// The time from when a tick is due to the latest time at which it may end; `None` if there is
    /// no limit.
    pub(crate) deadline: Option<Duration>,
    pub(crate) on_miss: MissPolicy,
    pub(crate) on_failure: FailurePolicy,
    pub(crate) priority: Option<u8>,
    pub(crate) core: Option<usize>,
    pub(crate) stays_awake: bool,
    pub(crate) chain: Option<String>,
    pub(crate) watchdog: Option<Duration>,
    pub(crate) checkpoints: u64,
    pub(crate) miss_if_sooner_than: Option<Duration>,
    /// The topics that the node reads, including those whose messages make it run.
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) inputs: Vec<Arc<InputWatch>>,
    pub(crate) at_most: Option<Rate>,
    pub(crate) shared_group: Option<String>,
}

/// The reason why a node cannot run with its settings. No thread was started, and no node was
/// initialised.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Two nodes of a scheduler have the same name.
    #[error("two nodes are called '{node}': metrics and commands need a name for each node")]
    SameName {
        /// The name that both nodes have.
        node: String,
    },
    /// The name of a node is invalid: it is empty, too long or contains a character that is not
    /// allowed.
    #[error(
        "node name '{node}' is invalid: 1 to {NODE_NAME_BYTES_MAX} bytes, no control characters"
    )]
    Name {
        /// The invalid name that was given.
        node: String,
    },
    /// The name of the chain of a node is invalid: it is empty, too long or contains a character
    /// that is not allowed.
    #[error(
        "node '{node}': chain name '{chain}' is invalid: 1 to {NODE_NAME_BYTES_MAX} bytes, no \
         control characters"
    )]
    ChainName {
        /// The name of the node that is in the chain.
        node: String,
        /// The invalid name of the chain.
        chain: String,
    },
    /// The rate of a node is invalid.
    #[error("node '{node}': {cause}")]
    Rate {
        /// The name of the node whose rate is invalid.
        node: String,
        /// The reason why the rate is invalid.
        cause: RateError,
    },
    /// Two nodes of a chain differ in a setting that has to be the same, because they share a
    /// thread.
    #[error(
        "nodes '{node}' and '{other}' of the chain '{chain}' differ in {setting}: a chain shares \
         one thread, so give both the same"
    )]
    Chain {
        /// The name of one of the two nodes.
        node: String,
        /// The name of the other node.
        other: String,
        /// The name of the chain that contains both nodes.
        chain: String,
        /// The name of the setting in which the two nodes differ, for instance `rate`.
        setting: &'static str,
    },
    /// Two settings of a node exclude each other.
    #[error("node '{node}' has {one} and {other}: {reason}")]
    Contradiction {
        /// The name of the node that has both settings.
        node: String,
        /// The name of one of the two settings that exclude each other.
        one: String,
        /// The name of the other setting.
        other: String,
        /// The reason why the two settings exclude each other.
        reason: &'static str,
    },
    /// A setting has no effect on a node of this class.
    #[error("node '{node}' has {setting}, which has no effect on a {class} node: {advice}")]
    NoEffect {
        /// The name of the node that has the setting.
        node: String,
        /// The name of the setting that has no effect, for instance `priority`.
        setting: &'static str,
        /// The class of the node, on which the setting has no effect.
        class: NodeClass,
        /// Advice on what to do instead.
        advice: &'static str,
    },
    /// A node is set to run on the threads of a group of actors that does not exist.
    #[error("node '{node}' shares the threads of '{group}': add that group of actors before it")]
    NoGroup {
        /// The name of the node that should run on the group's threads.
        node: String,
        /// The name of the group that does not exist.
        group: String,
    },
    /// The value of a setting is out of its range.
    #[error("node '{node}' has {setting} {found}: it has to be {wanted}")]
    Range {
        /// The name of the node that has the setting.
        node: String,
        /// The name of the setting whose value is out of its range, for instance `priority`.
        setting: &'static str,
        /// The value that was given, as text.
        found: String,
        /// A description of the allowed values.
        wanted: String,
    },
}

/// The longest name of a node, in bytes. It is the size of the name's field in shared memory.
pub const NODE_NAME_BYTES_MAX: usize = 64;

/// The default budget of a tick, in percent of the period.
const DEFAULT_BUDGET_PERCENT_OF_PERIOD: u32 = 80;
/// The default deadline of a tick, in percent of the period.
const DEFAULT_DEADLINE_PERCENT_OF_PERIOD: u32 = 95;

/// Returns true if a node or a chain may have this name.
fn is_valid_node_or_chain_name(name: &str) -> bool {
    (1..=NODE_NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}

impl NodeSpec {
    pub(crate) fn into_plan(self, cores: usize) -> Result<NodePlan, PlanError> {
        if !is_valid_node_or_chain_name(&self.name) {
            return Err(PlanError::Name { node: self.name });
        }
        // WHY the same: the thread of the chain has this name.
        if let Some(chain) = self
            .chain
            .as_ref()
            .filter(|chain| !is_valid_node_or_chain_name(chain))
        {
            return Err(PlanError::ChainName {
                chain: chain.clone(),
                node: self.name,
            });
        }
        let class = self.determine_class()?;
        let checked = |rate: Option<Rate>| {
            let rate = rate.map(Rate::check).transpose();
            rate.map_err(|cause| PlanError::Rate {
                node: self.name.clone(),
                cause,
            })
        };
        let rate = checked(self.rate)?;
        let at_most = checked(self.at_most)?;
        self.check_time_settings(class, rate)?;
        self.check_thread_settings(class, cores)?;
        let period = rate.map(Rate::period);
        let part = |percent| period.map(|period| period * percent / 100);
        let deadline = self
            .deadline
            .or_else(|| part(DEFAULT_DEADLINE_PERCENT_OF_PERIOD));
        // WHY the minimum: a tick that may take longer than its deadline would be late, and one
        // that may take longer than its watchdog would be stuck.
        let limits = [deadline, self.watchdog];
        let budget = part(DEFAULT_BUDGET_PERCENT_OF_PERIOD)
            .map(|budget| limits.into_iter().flatten().fold(budget, Duration::min));
        Ok(NodePlan {
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
            miss_if_sooner_than: self.miss_if_sooner_than,
            reads: self.reads,
            writes: self.writes,
            inputs: self.inputs,
            at_most,
            shared_group: self.shared_group,
        })
    }

    /// Returns the class of the node, such as real-time or event, which follows from its settings;
    /// or an error if the settings contradict each other.
    fn determine_class(&self) -> Result<NodeClass, PlanError> {
        let contradiction = |one: &str, other: &str, reason| {
            let one = one.to_owned();
            let other = other.to_owned();
            Err(PlanError::Contradiction {
                node: self.name.clone(),
                one,
                other,
                reason,
            })
        };
        if self.is_actors {
            return Ok(NodeClass::Actors);
        }
        match (self.is_compute, self.is_async_io, self.topics.is_empty()) {
            (true, true, _) => contradiction(
                "compute()",
                "async_io()",
                "compute nodes must not wait for files, and async nodes must not compute",
            ),
            (true, _, false) => contradiction(
                "compute()",
                "on(topic)",
                "an event node sleeps on its own thread; have it pass work to a compute node",
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
            (true, _, _) => Ok(NodeClass::Compute),
            (_, true, _) => Ok(NodeClass::AsyncIo),
            (_, _, false) => Ok(NodeClass::Event),
            _ if self.rate.is_some() => Ok(NodeClass::RealTime),
            _ => Ok(NodeClass::BestEffort),
        }
    }

    /// Checks that the budget, the deadline, the watchdog and the other times of the node agree
    /// with each other and with the node's period.
    fn check_time_settings(&self, class: NodeClass, rate: Option<Rate>) -> Result<(), PlanError> {
        let no_effect = |setting, advice| {
            Err(PlanError::NoEffect {
                node: self.name.clone(),
                setting,
                class,
                advice,
            })
        };
        let has_due_time = rate.is_some() || class == NodeClass::Event;
        if !has_due_time && self.deadline.is_some() {
            return no_effect("a deadline", "give it a rate, which sets its due times");
        }
        let is_guarded = self.checkpoints > 0 || self.miss_if_sooner_than.is_some();
        if !has_due_time && self.on_miss.is_some() && self.inputs.is_empty() && !is_guarded {
            let advice = "give it a rate, an input with a timeout, or checkpoints";
            return no_effect("a policy for misses", advice);
        }
        if class != NodeClass::Event && self.at_most.is_some() {
            return no_effect(
                "at_most()",
                "it limits how often topics wake it; add on(topic)",
            );
        }
        let times = [
            ("a watchdog of", self.watchdog),
            ("a budget of", self.budget),
            ("a deadline of", self.deadline),
            ("a period of", rate.map(Rate::period)),
        ];
        if let (Some(miss_if_sooner_than), Some(rate)) = (self.miss_if_sooner_than, rate)
            && miss_if_sooner_than > rate.period()
        {
            return Err(PlanError::Contradiction {
                node: self.name.clone(),
                one: format!("miss_if_sooner_than {miss_if_sooner_than:?}"),
                other: format!("a period of {:?}", rate.period()),
                reason: "every tick would be too early",
            });
        }
        for (setting, time) in times {
            if time == Some(Duration::ZERO) {
                let node = self.name.clone();
                let wanted = "more than 0 s".to_owned();
                return Err(PlanError::Range {
                    node,
                    setting,
                    found: "0 s".to_owned(),
                    wanted,
                });
            }
        }
        let contradiction = |one: (&str, Duration), other: (&str, Duration), reason| {
            let [one, other] = [one, other].map(|(setting, time)| format!("{setting} {time:?}"));
            Err(PlanError::Contradiction {
                node: self.name.clone(),
                one,
                other,
                reason,
            })
        };
        let [watchdog, budget, deadline, period] =
            times.map(|(setting, time)| Some((setting, time?)));
        if let (Some(budget), Some(deadline)) = (budget, deadline)
            && budget.1 > deadline.1
        {
            return contradiction(
                budget,
                deadline,
                "a tick that uses its budget would be late",
            );
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
            return contradiction(
                watchdog,
                budget,
                "it would report ticks within their budget",
            );
        }
        Ok(())
    }

    /// Checks that a node of this class may have its settings for priority, CPU, sleep and chain.
    /// `cores` is the number of CPUs of the machine.
    fn check_thread_settings(&self, class: NodeClass, cores: usize) -> Result<(), PlanError> {
        let is_shared = self.shared_group.is_some();
        if is_shared && class != NodeClass::Event {
            return Err(PlanError::NoEffect {
                node: self.name.clone(),
                setting: "on_group_threads()",
                class,
                advice: "it is for nodes that topics wake: add on(topic)",
            });
        }
        let has_thread = matches!(
            class,
            NodeClass::RealTime | NodeClass::Event | NodeClass::Actors
        ) && !is_shared;
        let settings = [
            ("a priority", self.priority.is_some()),
            ("a core", self.core.is_some()),
            ("stay_awake()", self.stays_awake),
        ];
        for (setting, is_set) in settings {
            if is_set && !has_thread {
                let advice = if is_shared {
                    "a node that is shared has no thread of its own: set it for the group"
                } else {
                    "only nodes with a rate, or on a topic, have a thread of their own"
                };
                let node = self.name.clone();
                return Err(PlanError::NoEffect {
                    node,
                    setting,
                    class,
                    advice,
                });
            }
        }
        if self.chain.is_some() && class != NodeClass::RealTime {
            let node = self.name.clone();
            let setting = "a chain";
            let advice = "the nodes of a chain share a thread and a rate: give it the rate";
            return Err(PlanError::NoEffect {
                node,
                setting,
                class,
                advice,
            });
        }
        let range = |setting, found: String, wanted| {
            Err(PlanError::Range {
                node: self.name.clone(),
                setting,
                found,
                wanted,
            })
        };
        match (self.priority, self.core) {
            (Some(priority), _) if !(1..=99).contains(&priority) => range(
                "the priority",
                priority.to_string(),
                "from 1 to 99".to_owned(),
            ),
            (_, Some(core)) if core >= cores => range(
                "the core",
                core.to_string(),
                format!("below {cores}, the number of CPUs"),
            ),
            _ => Ok(()),
        }
    }
}

impl NodePlan {
    /// Returns true if a tick of the node can count as stuck, because the node has a budget or a
    /// watchdog.
    pub(crate) const fn has_tick_limit(&self) -> bool {
        self.budget.is_some() || self.watchdog.is_some()
    }

    /// Returns an error if no tick of the node could ever count as stuck. In that case, a callback
    /// that was set with [`NodeBuilder::safe_state`](crate::scheduler::NodeBuilder::safe_state)
    /// would never be called.
    pub(crate) fn check_safe_state_can_be_called(&self) -> Result<(), PlanError> {
        if self.has_tick_limit() {
            return Ok(());
        }
        Err(PlanError::NoEffect {
            node: self.name.clone(),
            setting: "a safe_state()",
            class: self.class,
            advice: "it is called when a tick exceeds a watchdog's limit: give it a watchdog",
        })
    }

    /// Returns an error if both nodes are in the same chain, but differ in a setting of the thread
    /// that they would share.
    pub(crate) fn check_same_chain_settings(&self, other: &Self) -> Result<(), PlanError> {
        let (Some(chain), true) = (&self.chain, self.chain == other.chain) else {
            return Ok(());
        };
        let differs = [
            ("rate", self.rate != other.rate),
            ("core", self.core != other.core),
            ("priority", self.priority != other.priority),
            ("stay_awake", self.stays_awake != other.stays_awake),
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
