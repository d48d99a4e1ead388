//! The handle of a scheduler, which can stop the scheduler and change its nodes while they run.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::scheduler::api::metrics::TickMetrics;
use crate::scheduler::api::node::Node;
use crate::scheduler::api::plan::{NodeSpec, PlanError};
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::report::StopReason;
use crate::scheduler::run::catch_panic::drop_and_catch_panic;
use crate::scheduler::run::commands::{NodeMode, TickLimits, WantedState};
use crate::scheduler::run::node_entry::NodeEntry;
use crate::scheduler::run::pending_swap::{PendingSwap, Swap};
use crate::scheduler::run::run_state::RunState;

/// Controls a scheduler and its nodes from any thread of its process.
///
/// Methods only store commands. The thread of the node applies them before its next tick, so no
/// method waits for a node. For schedulers of other processes, use
/// [`RemoteScheduler`](crate::scheduler::RemoteScheduler).
#[derive(Debug, Clone)]
pub struct Handle {
    shared: Arc<RunState>,
    cores: usize,
}

/// The reason why a command was refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The scheduler has no node of the name that was given.
    #[error("no node is called '{node}'; there are: {known}")]
    NoSuchNode {
        /// The name that was given, which no node of the scheduler has.
        node: String,
        /// The names of the nodes that the scheduler has, as one text.
        known: String,
    },
    /// The node has no rate, so that its rate cannot be changed.
    #[error("node '{node}' has no rate to change: build it with a rate")]
    NoRate {
        /// The name of the node that has no rate.
        node: String,
    },
    /// Topics wake the node, by subscribers that the node has. A replacement has other subscribers,
    /// whose messages would not wake it.
    #[error(
        "node '{node}' cannot be replaced by `swap`: topics wake it by its own subscribers, and \
         would not wake a replacement, which has others; in Rust, use `swap_with`, which moves the \
         subscribers to the new node; in Python, give the new node the subscribers that wake the \
         old one (subs={{'scan': old.subscriber('scan')}}, on='scan')"
    )]
    WokenByTopics {
        /// The name of the node that topics wake.
        node: String,
    },
    /// The node is a group of actors. A replacement would end all of its actors.
    #[error(
        "'{node}' is a group of actors and cannot be replaced, which would end all of its actors: \
         replace one of them by the `swap` of its address"
    )]
    IsGroup {
        /// The name of the group.
        node: String,
    },
    /// The node cannot run with the setting that the command contains.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Handle {
    pub(crate) const fn new(shared: Arc<RunState>, cores: usize) -> Self {
        Self { shared, cores }
    }

    /// Requests that the run stops. Every node is shut down after its present tick.
    pub fn stop(&self) {
        self.shared.stop(StopReason::Requested);
    }

    /// Returns true once the run has to stop or has stopped, for whatever reason. Costs an atomic
    /// load.
    #[inline]
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping()
    }

    /// Returns the reason why the run has to stop or has stopped; `None` while the run continues.
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        self.shared.stop_reason()
    }

    /// Sets `word` to `number` now, and to 0 when the run has to stop. This is for code that has no
    /// handle, and often checks whether it has to stop. Only the first call has an effect.
    pub fn set_while_running(&self, word: &'static AtomicU64, number: u64) {
        self.shared.set_while_running(word, number);
    }

    /// Returns the names of the nodes, in the order in which they were added.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        self.shared
            .node_entries()
            .iter()
            .map(|entry| entry.spec.name.clone())
            .collect()
    }

    /// Returns the present metrics of the node. This call takes a lock of the scheduler, and does
    /// not delay the node.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`] if the scheduler has no node of this name.
    pub fn metrics(&self, node: &str) -> Result<TickMetrics, CommandError> {
        self.with_node_entry(node, |entry| entry.metrics.snapshot())
    }

    /// Pauses the node until [`Self::resume`] is called. Ticks that become due in the meantime are
    /// skipped. No method of the node is called, so things that it has set in motion keep moving.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`] if the scheduler has no node of this name.
    pub fn pause(&self, node: &str) -> Result<(), CommandError> {
        self.set_node_mode(node, NodeMode::Pause)
    }

    /// Resumes the ticks of a paused node.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`] if the scheduler has no node of this name.
    pub fn resume(&self, node: &str) -> Result<(), CommandError> {
        self.set_node_mode(node, NodeMode::Run)
    }

    /// Shuts the node down for the rest of the run: calls its `shutdown`, and not
    /// `enter_safe_state`. It cannot be restarted.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`] if the scheduler has no node of this name.
    pub fn stop_node(&self, node: &str) -> Result<(), CommandError> {
        self.set_node_mode(node, NodeMode::Stop)
    }

    fn set_node_mode(&self, node: &str, mode: NodeMode) -> Result<(), CommandError> {
        let change = |entry: &NodeEntry| {
            entry.commands.change_wanted_state(|wanted| {
                // WHY: a node that is shut down cannot be started again.
                if wanted.mode != NodeMode::Stop {
                    wanted.mode = mode;
                }
            });
        };
        self.with_node_entry(node, change)
    }

    /// Sets the node's rate, which applies from the next due time on. The budget and the deadline
    /// change in proportion, unless the builder has set them. If the node is in a chain, all nodes
    /// of the chain change their rate.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such node, if it has no rate, or if the budget or the
    /// deadline that its builder has set does not fit the new rate. A budget that follows from the
    /// rate is never longer than the node's deadline and watchdog.
    pub fn set_rate(&self, node: &str, rate: Rate) -> Result<(), CommandError> {
        let mut node_entries = self.shared.node_entries();
        let entry = find_node_entry(&node_entries, node)?;
        if entry.spec.rate.is_none() {
            return Err(CommandError::NoRate {
                node: node.to_owned(),
            });
        }
        let chain = entry.spec.chain.clone();
        let is_meant = |entry: &NodeEntry| match &chain {
            Some(_) => entry.spec.chain == chain,
            None => entry.spec.name == node,
        };
        let of_rate = |entry: &NodeEntry| NodeSpec {
            rate: Some(rate),
            ..entry.spec.clone()
        };
        // WHY checked first: either all nodes of a chain change, or none.
        for entry in node_entries.iter().filter(|entry| is_meant(entry)) {
            of_rate(entry).into_plan(self.cores)?;
        }
        for entry in node_entries.iter_mut().filter(|entry| is_meant(entry)) {
            let spec = of_rate(entry);
            let tick_limits = TickLimits::from_plan(&spec.clone().into_plan(self.cores)?);
            entry
                .commands
                .change_wanted_state(|wanted| wanted.tick_limits = Some(tick_limits));
            entry.spec = spec;
        }
        Ok(())
    }

    /// Replaces the node by `replacement` between two ticks. The node's thread initialises the
    /// replacement, and from then on runs its ticks. Due times that pass during `init` are skipped.
    ///
    /// The replacement has its own endpoints, which receive the messages sent since their creation.
    /// To reuse the old node's endpoints, with the messages that wait there, use
    /// [`Self::swap_with`]. A node that topics wake can only be replaced in that way, because the
    /// subscribers that wake it are its own.
    ///
    /// If the `init` or one of the first ten ticks of the replacement fails, the old node is
    /// restored unchanged. After ten ticks without a failure, the node's thread shuts the old node
    /// down and drops it. A node that was not initialised when it was replaced, because it waited
    /// for a restart, is not shut down; if it is restored, it is initialised.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`] if the scheduler has no node of this name,
    /// [`CommandError::IsGroup`] if the name is that of a group of actors, and
    /// [`CommandError::WokenByTopics`] if topics wake the node. The returned [`Swap`] reports the
    /// outcome of the swap.
    pub fn swap(&self, node: &str, replacement: impl Node) -> Result<Swap, CommandError> {
        // WHY: messages in the old subscribers would let the new node tick in a loop, and after
        // its trial, which drops these subscribers, nothing would wake it.
        if self.with_node_entry(node, |entry| !entry.spec.topics.is_empty())? {
            return Err(CommandError::WokenByTopics {
                node: node.to_owned(),
            });
        }
        self.swap_with_same_wakers(node, replacement)
    }

    /// Does the same as [`Self::swap`], also if topics wake the node. The caller has to make sure
    /// that `replacement` receives by the same subscribers, and only by those, what wakes the old
    /// node. This is for the bindings of languages in which two nodes can share a subscriber.
    #[doc(hidden)]
    pub fn swap_with_same_wakers(
        &self,
        node: &str,
        replacement: impl Node,
    ) -> Result<Swap, CommandError> {
        self.request_swap(node, PendingSwap::new_replacement(replacement))
    }

    /// Replaces the node by another one that is made from it, between two ticks: on the node's
    /// thread, `change` turns the old node into the new one. It can move publishers and subscribers
    /// from the old node to the new one, so that each message is handled once, in order, by one of
    /// the two. If the `init` or one of the first ten ticks of the new node fails, `undo` turns the
    /// new node back into the old one. A message that the failed tick had received is lost.
    ///
    /// If `change` or `undo` panics, the node is lost: it is dropped without a call of `shutdown`.
    /// The next ticks then fail, and the failure policy of the node applies. In an emergency stop,
    /// the node does not count as safe.
    ///
    /// ```
    /// # use horus_core::scheduler::{Context, Handle, Node, NodeResult, CommandError};
    /// struct Plain { gain: f32 }
    /// struct Tuned { gain: f32, limit: f32 }
    /// # impl Node for Plain { fn tick(&mut self, _: &mut Context<'_>) -> NodeResult { Ok(()) } }
    /// # impl Node for Tuned { fn tick(&mut self, _: &mut Context<'_>) -> NodeResult { Ok(()) } }
    /// # fn tune(handle: &Handle) -> Result<(), CommandError> {
    /// handle.swap_with(
    ///     "control",
    ///     |plain: Plain| Tuned { gain: plain.gain, limit: 0.5 },
    ///     |tuned: Tuned| Plain { gain: tuned.gain },
    /// )?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`] if the scheduler has no node of this name, and
    /// [`CommandError::IsGroup`] if the name is that of a group of actors. The returned [`Swap`]
    /// reports the outcome of the swap. If the type of the node is not `Old`, the swap is rolled
    /// back.
    pub fn swap_with<Old: Node, New: Node>(
        &self,
        node: &str,
        change: impl FnOnce(Old) -> New + Send + 'static,
        undo: impl FnOnce(New) -> Old + Send + 'static,
    ) -> Result<Swap, CommandError> {
        self.request_swap(node, PendingSwap::new_conversion(change, undo))
    }

    fn request_swap(&self, node: &str, pending_swap: PendingSwap) -> Result<Swap, CommandError> {
        if self.with_node_entry(node, |entry| entry.spec.is_actors)? {
            return Err(CommandError::IsGroup {
                node: node.to_owned(),
            });
        }
        let swap = pending_swap.handle();
        let (untaken, metrics) = self.with_node_entry(node, |entry| {
            let replace = |wanted: &mut WantedState| match wanted.is_closed {
                true => Some(pending_swap),
                false => wanted.pending_swap.replace(pending_swap),
            };
            let untaken = entry.commands.change_wanted_state(replace);
            (untaken, Arc::clone(&entry.metrics))
        })?;
        // WHY dropped outside all locks: a swap that was not taken contains user code, which may
        // use a handle.
        if drop_and_catch_panic(untaken).is_some() {
            metrics.count_failure(true);
        }
        Ok(swap)
    }

    fn with_node_entry<R>(
        &self,
        node: &str,
        act: impl FnOnce(&NodeEntry) -> R,
    ) -> Result<R, CommandError> {
        let node_entries = self.shared.node_entries();
        find_node_entry(&node_entries, node).map(act)
    }
}

fn find_node_entry<'a>(
    node_entries: &'a [NodeEntry],
    node: &str,
) -> Result<&'a NodeEntry, CommandError> {
    node_entries
        .iter()
        .find(|entry| entry.spec.name == node)
        .ok_or_else(|| {
            let known: Vec<_> = node_entries
                .iter()
                .map(|entry| entry.spec.name.as_str())
                .collect();
            CommandError::NoSuchNode {
                node: node.to_owned(),
                known: known.join(", "),
            }
        })
}
