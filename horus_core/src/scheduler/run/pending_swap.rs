//! Replaces a node by another one between two ticks, and restores the old node if the new one
//! fails.

use std::any::{Any, type_name};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::scheduler::api::node::Node;

/// Number of ticks without a failure that the new node needs before the swap is final.
pub(crate) const PROBATION_TICKS: u64 = 10;

/// The state of a swap, the replacement of a node by another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SwapState {
    /// The thread that runs the node has not begun the swap yet.
    #[default]
    Pending,
    /// The new node is on probation: if it fails before it has ticked ten times, the old node is
    /// restored.
    OnTrial,
    /// The new node has passed its probation; the old node was dropped.
    Done,
    /// The old node was restored, or was never replaced. The text contains the reason.
    RolledBack(String),
    /// The run or the node ended before the swap was final, or a later swap has taken its place
    /// before it began.
    Abandoned,
}

impl SwapState {
    const fn is_final(&self) -> bool {
        !matches!(self, Self::Pending | Self::OnTrial)
    }
}

/// A handle that reports the state of a requested swap.
#[derive(Debug, Clone, Default)]
pub struct Swap(Arc<SwapProgress>);

#[derive(Debug, Default)]
struct SwapProgress {
    state: Mutex<SwapState>,
    changed: Condvar,
}

impl Swap {
    /// Returns the present state of the swap, without waiting.
    #[must_use]
    pub fn state(&self) -> SwapState {
        self.0
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until the swap is done, rolled back or abandoned, but at most for `timeout`. Returns
    /// the state of the swap. Blocks, so do not call it in a tick.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> SwapState {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self
            .0
            .changed
            .wait_timeout_while(state, timeout, |state| !state.is_final());
        wait.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Waits until the node's thread has begun the swap, but at most for `timeout`. Returns the
    /// state of the swap. Blocks, so do not call it in a tick.
    #[must_use]
    pub fn wait_while_pending(&self, timeout: Duration) -> SwapState {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_pending = |state: &mut SwapState| *state == SwapState::Pending;
        let wait = self
            .0
            .changed
            .wait_timeout_while(state, timeout, is_pending);
        wait.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub(crate) fn set_state(&self, new_state: SwapState) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_final() {
            *state = new_state;
            self.0.changed.notify_all();
        }
    }
}

/// A function that turns the old node into the new one, and also returns the source from which the
/// old node can be restored. If it fails, it returns the old node and the reason.
type NodeChangeFn = Box<dyn FnOnce(Box<dyn Node>) -> Result<ChangedNode, FailedChange> + Send>;
type UndoFn = Box<dyn FnOnce(Box<dyn Node>) -> Option<Box<dyn Node>> + Send>;

struct ChangedNode {
    node: Box<dyn Node>,
    old_node_source: OldNodeSource,
}

struct FailedChange {
    node: Box<dyn Node>,
    reason: String,
}

/// The source from which the old node is restored if a swap is rolled back.
enum OldNodeSource {
    /// The old node itself, which was kept.
    OldNode(Box<dyn Node>),
    /// A function that turns the new node back into the old one.
    Undo(UndoFn),
}

/// A swap that the node's thread has not begun yet. If this value is dropped, the swap is
/// abandoned.
pub(crate) struct PendingSwap {
    change: Option<NodeChangeFn>,
    swap: Swap,
}

impl std::fmt::Debug for PendingSwap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingSwap")
            .field("swap", &self.swap)
            .finish_non_exhaustive()
    }
}

impl PendingSwap {
    /// Creates a swap that replaces the old node by `new_node`. The old node is kept until the
    /// probation is over.
    pub(crate) fn new_replacement(new_node: impl Node) -> Self {
        let node: Box<dyn Node> = Box::new(new_node);
        Self::new(move |old| {
            Ok(ChangedNode {
                node,
                old_node_source: OldNodeSource::OldNode(old),
            })
        })
    }

    /// Creates a swap in which `convert` turns the old node, whose type must be `Old`, into the new
    /// one. `undo` turns the new node back into the old one.
    pub(crate) fn new_conversion<Old: Node, New: Node>(
        convert: impl FnOnce(Old) -> New + Send + 'static,
        undo: impl FnOnce(New) -> Old + Send + 'static,
    ) -> Self {
        Self::new(move |old| match downcast::<Old>(old) {
            Ok(old) => {
                let undo = |new| Some(Box::new(undo(*downcast::<New>(new).ok()?)) as _);
                Ok(ChangedNode {
                    node: Box::new(convert(*old)),
                    old_node_source: OldNodeSource::Undo(Box::new(undo)),
                })
            }
            Err(node) => {
                let reason = format!("the node is not of type {}", type_name::<Old>());
                Err(FailedChange { node, reason })
            }
        })
    }

    fn new(
        change: impl FnOnce(Box<dyn Node>) -> Result<ChangedNode, FailedChange> + Send + 'static,
    ) -> Self {
        Self {
            change: Some(Box::new(change)),
            swap: Swap::default(),
        }
    }

    /// Returns a handle with which any thread can read the state of the swap.
    pub(crate) fn handle(&self) -> Swap {
        self.swap.clone()
    }

    /// Replaces the node in `node_slot` by the new one, and begins its probation.
    /// `is_old_initialised` says whether the old node is initialised. If the new node cannot be
    /// made, the old node stays in `node_slot`, and the error says why.
    pub(crate) fn perform(
        mut self,
        node_slot: &mut Box<dyn Node>,
        is_old_initialised: bool,
    ) -> Result<Probation, String> {
        let change = self.change.take().expect("a swap is performed once");
        match change(std::mem::replace(node_slot, Box::new(PlaceholderNode))) {
            Ok(ChangedNode {
                node,
                old_node_source,
            }) => {
                *node_slot = node;
                self.swap.set_state(SwapState::OnTrial);
                Ok(Probation {
                    old_node_source: Some(old_node_source),
                    swap: self.swap.clone(),
                    ticks_left: PROBATION_TICKS,
                    is_old_initialised,
                    is_new_initialised: false,
                    old_pause_end_ns: None,
                })
            }
            Err(FailedChange { node, reason }) => {
                *node_slot = node;
                self.swap.set_state(SwapState::RolledBack(reason.clone()));
                Err(reason)
            }
        }
    }
}

impl Drop for PendingSwap {
    fn drop(&mut self) {
        // This also happens if `change` panicked.
        if self.swap.state() == SwapState::Pending {
            self.swap.set_state(SwapState::Abandoned);
        }
    }
}

/// The probation of a new node, during which the old node can be restored. If this value is
/// dropped, the swap is abandoned.
pub(crate) struct Probation {
    old_node_source: Option<OldNodeSource>,
    swap: Swap,
    ticks_left: u64,
    /// True if the old node was initialised when it was replaced, so that it has to be shut down.
    pub(crate) is_old_initialised: bool,
    /// True once the new node was initialised.
    pub(crate) is_new_initialised: bool,
    /// The instant, in nanoseconds of the run's clock, before which the old node must not tick,
    /// because its failure policy had paused it; `None` if it was not paused when it was replaced.
    pub(crate) old_pause_end_ns: Option<u64>,
}

impl Probation {
    /// Counts a tick of the new node that did not fail. Returns true if this tick was the last one
    /// of the probation.
    pub(crate) const fn count_good_tick_and_is_over(&mut self) -> bool {
        self.ticks_left -= 1;
        self.ticks_left == 0
    }

    /// Returns the old node, if it still exists as a whole, so that the caller can shut it down
    /// before it calls [`Self::make_swap_final`]. Returns `None` if the old node was converted into
    /// the new one.
    pub(crate) fn take_old_node(&mut self) -> Option<Box<dyn Node>> {
        match self.old_node_source.take() {
            Some(OldNodeSource::OldNode(old)) => Some(old),
            // WHY kept: its drop may run code of the user, and the caller has to catch a panic.
            undo => {
                self.old_node_source = undo;
                None
            }
        }
    }

    /// Makes the swap final, so that its state becomes [`SwapState::Done`].
    pub(crate) fn make_swap_final(&self) {
        self.swap.set_state(SwapState::Done);
    }

    /// Restores the old node in `node_slot`. The state of the swap then contains the `reason`.
    /// Returns the new node, if it still exists, so that the caller can shut it down.
    pub(crate) fn roll_back(
        mut self,
        node_slot: &mut Box<dyn Node>,
        reason: &str,
    ) -> Option<Box<dyn Node>> {
        let new = std::mem::replace(node_slot, Box::new(PlaceholderNode));
        let (old, new) = match self.old_node_source.take() {
            Some(OldNodeSource::OldNode(old)) => (Some(old), Some(new)),
            Some(OldNodeSource::Undo(undo)) => (undo(new), None),
            None => (None, None),
        };
        if let Some(old) = old {
            *node_slot = old;
        }
        self.swap
            .set_state(SwapState::RolledBack(reason.to_owned()));
        new
    }
}

impl Drop for Probation {
    fn drop(&mut self) {
        self.swap.set_state(SwapState::Abandoned);
    }
}

/// A placeholder node whose ticks fail. It takes the place of a node that is being changed or
/// dropped, and remains there if the change panics.
pub(crate) struct PlaceholderNode;

impl Node for PlaceholderNode {
    fn tick(&mut self, _: &mut crate::scheduler::Context<'_>) -> crate::scheduler::NodeResult {
        Err("the node was lost in a swap that panicked".into())
    }

    /// Returns false: the node that was lost was not made safe.
    fn is_safe_state(&self) -> bool {
        false
    }
}

/// Returns `node` as an `N`. If `node` has another type, returns it unchanged in `Err`.
fn downcast<N: Node>(node: Box<dyn Node>) -> Result<Box<N>, Box<dyn Node>> {
    if !(&*node as &dyn Any).is::<N>() {
        return Err(node);
    }
    let node: Box<dyn Any> = node;
    Ok(node.downcast().expect("its type was checked"))
}
