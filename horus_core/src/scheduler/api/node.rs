//! What a node is: a name, and what to do when it is its turn.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::scheduler::api::context::Context;

/// Why a node failed: anything that is an error, or a text. `?` makes it of any error, and it can
/// be used as a `&dyn Error`.
///
/// WHY no alias of a `Box`: where a [`NodeResult`] is wanted and something else is given, the
/// compiler names this type.
pub struct NodeError(Box<dyn Error + Send + Sync>);

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for NodeError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl Deref for NodeError {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The result of a call of a node: of `tick`, `init` and `shutdown`.
pub type NodeResult = Result<(), NodeError>;

/// A part of a robot's program that the scheduler runs.
///
/// ```
/// use horus_core::prelude::*;
/// use horus_core::scheduler::{Context, Node, NodeResult};
///
/// struct Controller {
///     imu: Subscriber<Imu>,
///     motors: Publisher<CmdVel>,
/// }
///
/// impl Node for Controller {
///     fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
///         if let Some(imu) = self.imu.latest() {
///             self.motors.send(CmdVel::new(0.5, -imu.angular_velocity[2] as f32))?;
///         }
///         Ok(())
///     }
///
///     fn enter_safe_state(&mut self) {
///         let _ = self.motors.send(CmdVel::new(0.0, 0.0));
///     }
/// }
/// ```
///
/// All calls of one node come from one thread at a time, and never two at once. A panic in any of
/// them is caught and counts as a failure.
pub trait Node: Send + Any {
    /// Called once before the first tick of any node, in order, on the thread that starts the
    /// scheduler; and again after a restart or a swap, on the thread of the ticks.
    ///
    /// # Errors
    ///
    /// The node does not start: its failure policy says what follows.
    fn init(&mut self, _context: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    /// Does what there is to do, and returns: at the node's rate, or whenever its topics have
    /// messages.
    ///
    /// # Errors
    ///
    /// The tick failed: the node's failure policy says what follows.
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult;

    /// Called once after the last tick.
    ///
    /// # Errors
    ///
    /// Reported, and nothing else.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// Brings what the node controls into a state that harms nobody, for instance to a halt.
    /// Called once, until the node has left the safe state.
    fn enter_safe_state(&mut self) {}

    /// Whether that state has been reached. Asked right after it was entered; the answer is in the
    /// black box.
    fn is_safe_state(&self) -> bool {
        true
    }

    /// Told of every failure of this node, before its policy is applied.
    fn on_error(&mut self, _error: &NodeError) {}
}

/// A type that a closure which is a node may return, or the `tick` of [`node!`](crate::node): `()`,
/// [`NodeResult`], or any `Result<(), E>` whose `E` is an error.
#[diagnostic::on_unimplemented(
    message = "a tick returns `NodeResult`, and not `{Self}`",
    label = "a tick of this node returns `{Self}`",
    note = "write `-> NodeResult`, which takes every error by `?`, or return nothing, or a \
            `Result<(), E>` whose `E` is an error that is `Send + Sync + 'static`"
)]
pub trait IntoNodeResult {
    /// As a result.
    ///
    /// # Errors
    ///
    /// The closure's own.
    fn into_node_result(self) -> NodeResult;
}

impl IntoNodeResult for () {
    fn into_node_result(self) -> NodeResult {
        Ok(())
    }
}

// WHY: otherwise the compiler explains by which steps an `E` would become a `NodeError`.
#[diagnostic::do_not_recommend]
impl<E: Into<NodeError>> IntoNodeResult for Result<(), E> {
    fn into_node_result(self) -> NodeResult {
        self.map_err(Into::into)
    }
}

/// A closure is a node that only ticks.
impl<R: IntoNodeResult, F: FnMut(&mut Context<'_>) -> R + Send + 'static> Node for F {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self(context).into_node_result()
    }
}
