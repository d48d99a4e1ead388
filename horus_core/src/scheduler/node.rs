//! What a node is: a name, and what to do when it is its turn.

use std::any::Any;
use std::error::Error;

use super::context::Context;

/// Why a node failed: anything that is an error.
pub type NodeError = Box<dyn Error + Send + Sync>;

/// What a node's work came to.
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

/// What a closure that is a node may return.
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
