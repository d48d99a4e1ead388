//! The trait of nodes, and the result of their calls.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::scheduler::api::context::Context;

/// The reason why a node failed: any error, or a text. `?` converts every error into a `NodeError`,
/// which derefs to `dyn Error`.
///
/// WHY not an alias of `Box<dyn Error>`: the messages of the compiler name this type if a node
/// returns a wrong type.
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

/// The result of the methods `tick`, `init` and `shutdown` of a node.
pub type NodeResult = Result<(), NodeError>;

/// A part of a robot's program that the scheduler runs periodically, or whenever messages arrive.
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
/// No two calls of a node overlap, although different threads may make them. A panic in a call is
/// caught and counts as a failure.
pub trait Node: Send + Any {
    /// Initialises the node. Before the first tick of any node, the thread that starts the
    /// scheduler initialises all nodes in their order. After a restart or a swap, this is called on
    /// the thread that runs the ticks.
    ///
    /// # Errors
    ///
    /// An error means that the node does not start. Its failure policy decides what follows.
    fn init(&mut self, _context: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    /// Does the node's work once and returns. Called at the node's rate, or whenever its topics
    /// have messages.
    ///
    /// # Errors
    ///
    /// An error means that the tick failed. The node's failure policy decides what follows.
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult;

    /// Shuts the node down. Called after the last tick, and before a restart.
    ///
    /// # Errors
    ///
    /// An error is reported and has no other effect.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// Brings what the node controls into a state that does no harm, for instance stops the motors.
    /// Not called again before the node has left the safe state.
    fn enter_safe_state(&mut self) {}

    /// Returns true if the safe state has been reached. Called right after
    /// [`Self::enter_safe_state`]; the answer is recorded in the black box.
    fn is_safe_state(&self) -> bool {
        true
    }

    /// Handles a failure of this node. Called on every failed `init` and `tick`, before the failure
    /// policy is applied.
    fn on_error(&mut self, _error: &NodeError) {}
}

/// A type that a closure node, or the `tick` of [`node!`](crate::node), may return: `()`,
/// [`NodeResult`], or any `Result<(), E>` whose `E` is an error.
#[diagnostic::on_unimplemented(
    message = "a tick returns `NodeResult`, and not `{Self}`",
    label = "a tick of this node returns `{Self}`",
    note = "write `-> NodeResult`, which takes every error by `?`, or return nothing, or a \
            `Result<(), E>` whose `E` is an error that is `Send + Sync + 'static`"
)]
pub trait IntoNodeResult {
    /// Converts the value into a [`NodeResult`].
    ///
    /// # Errors
    ///
    /// Returns the error of the closure.
    fn into_node_result(self) -> NodeResult;
}

impl IntoNodeResult for () {
    fn into_node_result(self) -> NodeResult {
        Ok(())
    }
}

// WHY: otherwise the compiler lists the conversions by which an `E` would become a `NodeError`.
#[diagnostic::do_not_recommend]
impl<E: Into<NodeError>> IntoNodeResult for Result<(), E> {
    fn into_node_result(self) -> NodeResult {
        self.map_err(Into::into)
    }
}

/// A closure is a node that has only a tick.
impl<R: IntoNodeResult, F: FnMut(&mut Context<'_>) -> R + Send + 'static> Node for F {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self(context).into_node_result()
    }
}
