//! Swaps a node for another between two ticks, and rolls the swap back.

use std::any::{Any, type_name};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::scheduler::api::node::Node;

/// The ticks without a failure after which a swap is final.
pub(crate) const TRIAL_TICKS: u64 = 10;

/// The state of a swap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SwapState {
    /// The node has not had a turn since.
    #[default]
    Pending,
    /// The new node ticks on probation: until it has ticked ten times without a failure, its first
    /// failure brings the old node back.
    OnTrial,
    /// The new node has passed its probation; the old node is gone.
    Done,
    /// The old node is back, or was never replaced, for this reason.
    RolledBack(String),
    /// The run or the node ended before the swap was done.
    Abandoned,
}

impl SwapState {
    const fn is_final(&self) -> bool {
        !matches!(self, Self::Pending | Self::OnTrial)
    }
}

/// A requested swap, which reports its state.
#[derive(Debug, Clone, Default)]
pub struct Swap(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    state: Mutex<SwapState>,
    changed: Condvar,
}

impl Swap {
    /// Returns the state of the swap.
    #[must_use]
    pub fn state(&self) -> SwapState {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the swap is done, rolled back or abandoned, for `timeout` at most, and returns
    /// its state then. Blocks; not for use in a tick.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> SwapState {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.0.changed.wait_timeout_while(state, timeout, |state| !state.is_final());
        wait.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Waits until the swap is no longer pending, for `timeout` at most. Blocks; not for use in a
    /// tick.
    #[must_use]
    pub fn wait_begun(&self, timeout: Duration) -> SwapState {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_pending = |state: &mut SwapState| *state == SwapState::Pending;
        let wait = self.0.changed.wait_timeout_while(state, timeout, is_pending);
        wait.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn is_now(&self, now: SwapState) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_final() {
            *state = now;
            self.0.changed.notify_all();
        }
    }
}

/// Makes the new node of the old one, with a way back; or returns the old node with a reason.
type Change = Box<dyn FnOnce(Box<dyn Node>) -> Result<Changed, Unchanged> + Send>;
type Undo = Box<dyn FnOnce(Box<dyn Node>) -> Option<Box<dyn Node>> + Send>;

struct Changed {
    node: Box<dyn Node>,
    back: Back,
}

struct Unchanged {
    node: Box<dyn Node>,
    reason: String,
}

/// The way back from a swap.
enum Back {
    /// The old node itself.
    Kept(Box<dyn Node>),
    /// A function that makes the old node of the new one.
    Made(Undo),
}

/// A swap that waits for the node's thread. If it is dropped, the swap is abandoned.
pub(crate) struct Exchange {
    change: Option<Change>,
    swap: Swap,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("swap", &self.swap).finish_non_exhaustive()
    }
}

impl Exchange {
    /// Makes an exchange that puts `node` in the place of the old node, which is kept until the
    /// probation is over.
    pub(crate) fn of(node: impl Node) -> Self {
        let node: Box<dyn Node> = Box::new(node);
        Self::new(move |old| Ok(Changed { node, back: Back::Kept(old) }))
    }

    /// Makes an exchange that has `change` make the new node of the old one, which has to be an
    /// `Old`. `undo` is the way back.
    pub(crate) fn with<Old: Node, New: Node>(
        change: impl FnOnce(Old) -> New + Send + 'static,
        undo: impl FnOnce(New) -> Old + Send + 'static,
    ) -> Self {
        Self::new(move |old| match downcast::<Old>(old) {
            Ok(old) => {
                let undo = |new| Some(Box::new(undo(*downcast::<New>(new).ok()?)) as _);
                Ok(Changed { node: Box::new(change(*old)), back: Back::Made(Box::new(undo)) })
            }
            Err(node) => {
                let reason = format!("the node is not of type {}", type_name::<Old>());
                Err(Unchanged { node, reason })
            }
        })
    }

    fn new(
        change: impl FnOnce(Box<dyn Node>) -> Result<Changed, Unchanged> + Send + 'static,
    ) -> Self {
        Self { change: Some(Box::new(change)), swap: Swap::default() }
    }

    /// Returns the handle that reports the state of the swap.
    pub(crate) fn swap(&self) -> Swap {
        self.swap.clone()
    }

    /// Puts the new node in the place of the old one. The error is the reason why the old node
    /// stayed.
    pub(crate) fn carry_out(mut self, place: &mut Box<dyn Node>) -> Result<Probation, String> {
        let change = self.change.take().expect("an exchange is carried out once");
        match change(std::mem::replace(place, Box::new(VacantNode))) {
            Ok(Changed { node, back }) => {
                *place = node;
                self.swap.is_now(SwapState::OnTrial);
                Ok(Probation { back: Some(back), swap: self.swap.clone(), left: TRIAL_TICKS })
            }
            Err(Unchanged { node, reason }) => {
                *place = node;
                self.swap.is_now(SwapState::RolledBack(reason.clone()));
                Err(reason)
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // Also if `change` panicked.
        if self.swap.state() == SwapState::Pending {
            self.swap.is_now(SwapState::Abandoned);
        }
    }
}

/// The probation of a new node. If it is dropped, the swap is abandoned.
pub(crate) struct Probation {
    back: Option<Back>,
    swap: Swap,
    left: u64,
}

impl Probation {
    /// Notes a tick of the new node without a failure. Returns true if that was the last one of the
    /// probation.
    pub(crate) const fn passes_tick(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Takes the old node, if it was kept: it has to be shut down before [`Self::accept`].
    pub(crate) fn take_old(&mut self) -> Option<Box<dyn Node>> {
        match self.back.take() {
            Some(Back::Kept(old)) => Some(old),
            _ => None,
        }
    }

    /// Makes the swap final.
    pub(crate) fn accept(self) {
        self.swap.is_now(SwapState::Done);
    }

    /// Puts the old node back for this reason. Returns the new node, if it still exists, for
    /// shutdown.
    pub(crate) fn roll_back(
        mut self,
        place: &mut Box<dyn Node>,
        why: &str,
    ) -> Option<Box<dyn Node>> {
        let new = std::mem::replace(place, Box::new(VacantNode));
        let (old, new) = match self.back.take() {
            Some(Back::Kept(old)) => (Some(old), Some(new)),
            Some(Back::Made(undo)) => (undo(new), None),
            None => (None, None),
        };
        if let Some(old) = old {
            *place = old;
        }
        self.swap.is_now(SwapState::RolledBack(why.to_owned()));
        new
    }
}

impl Drop for Probation {
    fn drop(&mut self) {
        self.swap.is_now(SwapState::Abandoned);
    }
}

/// The node in place of one that is being changed or dropped, for good if that panicked.
pub(crate) struct VacantNode;

impl Node for VacantNode {
    fn tick(&mut self, _: &mut crate::scheduler::Context<'_>) -> crate::scheduler::NodeResult {
        Err("the node was lost in a swap that panicked".into())
    }
}

/// Returns the node as an `N`, or unchanged if it is none.
fn downcast<N: Node>(node: Box<dyn Node>) -> Result<Box<N>, Box<dyn Node>> {
    if !(&*node as &dyn Any).is::<N>() {
        return Err(node);
    }
    let node: Box<dyn Any> = node;
    Ok(node.downcast().expect("its type was checked"))
}
