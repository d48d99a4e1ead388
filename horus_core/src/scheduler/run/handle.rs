//! The handle of a scheduler: stops it, and changes its nodes while they run.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::scheduler::api::metrics::TickMetrics;
use crate::scheduler::api::node::Node;
use crate::scheduler::api::plan::{NodeSpec, PlanError};
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::report::Reason;
use crate::scheduler::run::commands::{Mode, Pace};
use crate::scheduler::run::exchange::{Exchange, Swap};
use crate::scheduler::run::node_entry::NodeEntry;
use crate::scheduler::run::shared::Shared;

/// Controls a scheduler and its nodes from any thread of its process.
///
/// Commands are stored, and the node's thread applies them before its next turn: nothing here waits
/// for a node. From other processes use [`RemoteScheduler`](crate::scheduler::RemoteScheduler).
#[derive(Debug, Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    cores: usize,
}

/// The reason why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no such node.
    #[error("no node is called '{node}'; there are: {known}")]
    NoSuchNode {
        /// The name that was given.
        node: String,
        /// The names of the nodes.
        known: String,
    },
    /// The node has no rate to change.
    #[error("node '{node}' has no rate to change: build it with a rate")]
    NoRate {
        /// The node.
        node: String,
    },
    /// The node cannot run with this setting.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Handle {
    pub(crate) const fn new(shared: Arc<Shared>, cores: usize) -> Self {
        Self { shared, cores }
    }

    /// Stops the run: every node is shut down after its present tick.
    pub fn stop(&self) {
        self.shared.stop(Reason::Asked);
    }

    /// Returns true if the run is to stop, or has stopped: by request, or because a node failed.
    /// Costs a load.
    #[inline]
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping()
    }

    /// Returns the reason why the run is to stop, or has stopped; `None` while it runs.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.shared.reason()
    }

    /// Sets `word` to `number` until the run is to stop, and then to 0: for code that polls this
    /// often and without the handle. Only the first call has an effect.
    pub fn show_in(&self, word: &'static AtomicU64, number: u64) {
        self.shared.show_in(word, number);
    }

    /// Returns the names of the nodes, in the order in which they were added.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        self.shared.node_entries().iter().map(|entry| entry.spec.name.clone()).collect()
    }

    /// Returns the metrics of the node so far. Delays no thread.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`].
    pub fn metrics(&self, node: &str) -> Result<TickMetrics, CommandError> {
        self.of(node, |entry| entry.metrics.metrics())
    }

    /// Pauses the node's ticks until [`Self::resume`]. Its due times pass. Nothing else changes:
    /// what the node has set in motion goes on moving.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`].
    pub fn pause(&self, node: &str) -> Result<(), CommandError> {
        self.change_mode(node, Mode::Pause)
    }

    /// Resumes the ticks of a paused node.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`].
    pub fn resume(&self, node: &str) -> Result<(), CommandError> {
        self.change_mode(node, Mode::Run)
    }

    /// Shuts the node down, for the rest of the run.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`].
    pub fn stop_node(&self, node: &str) -> Result<(), CommandError> {
        self.change_mode(node, Mode::Stop)
    }

    fn change_mode(&self, node: &str, mode: Mode) -> Result<(), CommandError> {
        let change = |entry: &NodeEntry| {
            entry.commands.want(|wanted| {
                // WHY: a node that is shut down cannot be started again.
                if wanted.mode != Mode::Stop {
                    wanted.mode = mode;
                }
            });
        };
        self.of(node, change)
    }

    /// Sets the node's rate from its next due time on. Budget and deadline change with it, unless
    /// they were given. All nodes of a chain change together.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such node, if it has no rate, or if the node's budget,
    /// deadline or watchdog contradict the new rate.
    pub fn set_rate(&self, node: &str, rate: Rate) -> Result<(), CommandError> {
        let mut node_entries = self.shared.node_entries();
        let entry = find(&node_entries, node)?;
        if entry.spec.rate.is_none() {
            return Err(CommandError::NoRate { node: node.to_owned() });
        }
        let chain = entry.spec.chain.clone();
        let is_meant = |entry: &NodeEntry| match &chain {
            Some(_) => entry.spec.chain == chain,
            None => entry.spec.name == node,
        };
        let of_rate = |entry: &NodeEntry| NodeSpec { rate: Some(rate), ..entry.spec.clone() };
        // WHY twice: all nodes of a chain change, or none.
        for entry in node_entries.iter().filter(|entry| is_meant(entry)) {
            of_rate(entry).whole(self.cores)?;
        }
        for entry in node_entries.iter_mut().filter(|entry| is_meant(entry)) {
            let spec = of_rate(entry);
            let pace = Pace::of(&spec.clone().whole(self.cores)?);
            entry.commands.want(|wanted| wanted.pace = Some(pace));
            entry.spec = spec;
        }
        Ok(())
    }

    /// Puts `replacement` in the node's place, between two ticks: the node's thread initialises it,
    /// and it has the next tick. Due times are skipped only as far as its `init` lasts that long.
    ///
    /// The replacement has endpoints of its own, and receives what arrives there from their
    /// creation on. To pass the old node's endpoints on, with the messages that wait in them, use
    /// [`Self::swap_with`].
    ///
    /// If its `init` or one of its first ten ticks fails, the old node takes its place again,
    /// unchanged. After ten ticks without a failure the node's thread shuts the old node down and
    /// drops it.
    ///
    /// # Errors
    ///
    /// Returns [`CommandError::NoSuchNode`]. [`Swap`] reports the outcome of the swap.
    pub fn swap(&self, node: &str, replacement: impl Node) -> Result<Swap, CommandError> {
        self.exchange(node, Exchange::of(replacement))
    }

    /// Has `change` make another node of the node, between two ticks, on the node's thread. The
    /// node's publishers and subscribers move along, so that every message is handled once, by the
    /// one or the other, in order. `undo` is the way back, if `init` or one of the first ten ticks
    /// fails; a message that the failed tick received is lost with it.
    ///
    /// If a closure panics, the node is lost with it, and its failure policy applies.
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
    /// Returns [`CommandError::NoSuchNode`]. [`Swap`] reports the outcome, also that the node is
    /// not an `Old`.
    pub fn swap_with<Old: Node, New: Node>(
        &self,
        node: &str,
        change: impl FnOnce(Old) -> New + Send + 'static,
        undo: impl FnOnce(New) -> Old + Send + 'static,
    ) -> Result<Swap, CommandError> {
        self.exchange(node, Exchange::with(change, undo))
    }

    fn exchange(&self, node: &str, exchange: Exchange) -> Result<Swap, CommandError> {
        self.of(node, |entry| {
            let swap = exchange.swap();
            // WHY replaced outside the lock: an earlier swap that was not taken is dropped here.
            drop(entry.commands.want(|wanted| wanted.exchange.replace(exchange)));
            swap
        })
    }

    fn of<R>(&self, node: &str, act: impl FnOnce(&NodeEntry) -> R) -> Result<R, CommandError> {
        let node_entries = self.shared.node_entries();
        find(&node_entries, node).map(act)
    }
}

fn find<'a>(node_entries: &'a [NodeEntry], node: &str) -> Result<&'a NodeEntry, CommandError> {
    node_entries.iter().find(|entry| entry.spec.name == node).ok_or_else(|| {
        let known: Vec<_> = node_entries.iter().map(|entry| entry.spec.name.as_str()).collect();
        CommandError::NoSuchNode { node: node.to_owned(), known: known.join(", ") }
    })
}
