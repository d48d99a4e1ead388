//! The trait that nodes implement, and the result of its methods.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::scheduler::api::context::Context;

/// The reason why a node failed, made from any error or from a text. The operator `?` converts
/// every error into a `NodeError`, which dereferences to `dyn Error`.
///
/// WHY not an alias of `Box<dyn Error>`: if a node returns a wrong type, the compiler's message
/// shows the name `NodeError`.
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

/// The result of the methods `tick`, `init` and `shutdown` of a node: `Ok`, or the reason why the
/// method failed.
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
///
///     fn shutdown(&mut self) -> NodeResult {
///         self.motors.send(CmdVel::new(0.0, 0.0))?;
///         Ok(())
///     }
/// }
/// ```
///
/// Calls of a node's methods never overlap, although different threads may make them. A panic in a
/// call is caught and counts as a failure.
pub trait Node: Send + Any {
    /// Initialises the node. At the start, the thread that starts the scheduler calls this for all
    /// nodes in their order, before any node ticks. After a restart or a swap, the thread that runs
    /// the node's ticks calls this.
    ///
    /// # Errors
    ///
    /// Returns an error if the node cannot start. The node's failure policy decides what follows.
    fn init(&mut self, _context: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    /// Does one step of the node's work and returns. Called at the node's rate, or whenever its
    /// topics have messages.
    ///
    /// # Errors
    ///
    /// Returns an error if the tick failed. The node's failure policy decides what follows.
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult;

    /// Shuts the node down. Called after the last tick, and also before a restart. At a regular end
    /// of the run, such as Ctrl-C, and if a command stops the node, this is called without
    /// [`Self::enter_safe_state`]: a node that drives something stops it here, too. Signals end the
    /// run only with [`Scheduler::stop_on_signals`]; without it, Ctrl-C and SIGTERM end the process
    /// at once, and nothing is called.
    ///
    /// [`Scheduler::stop_on_signals`]: crate::scheduler::Scheduler::stop_on_signals
    ///
    /// # Errors
    ///
    /// Returns an error if the node could not be shut down properly. The error is reported, and has
    /// no other effect.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// Brings the things that the node controls into a state that does no harm, for instance stops
    /// the motors. By default, does nothing: in an emergency stop, a node without this method, such
    /// as a closure, only stops to tick, and counts as safe. Its last command stays in force.
    ///
    /// Called in an emergency stop, by a [`MissPolicy`](crate::scheduler::MissPolicy), and at the
    /// end of a run that failed; not at a regular end, see [`Self::shutdown`]. The scheduler does
    /// not call this again before the node has left its safe state, with one exception: if the node
    /// has ticked in its safe state
    /// ([`MissPolicy::SafeMode`](crate::scheduler::MissPolicy::SafeMode)), an emergency stop or the
    /// end of a failed run calls this again after the last tick.
    ///
    /// Between two ticks, the thread that runs the node's ticks calls this; during the start, a
    /// thread of its own may; at the end of the run, the thread that ends it. If a failure of
    /// another node ends the run, the node's thread calls this after the present tick, or within 20
    /// ms; for a node of the main thread, when that thread calls the scheduler again.
    fn enter_safe_state(&mut self) {}

    /// Returns true if the node has reached its safe state. The scheduler calls this right after
    /// [`Self::enter_safe_state`], and then before each tick and at least every 20 ms, until it
    /// returns true, which is recorded as an event on the scheduler's topic of events. Until then,
    /// the node does not count as safe: an emergency stop reports it after 100 ms.
    fn is_safe_state(&self) -> bool {
        true
    }

    /// Handles a failure of this node. Called after every `init` and `tick` that failed, before the
    /// scheduler applies the node's failure policy.
    fn on_error(&mut self, _error: &NodeError) {}
}

/// The types that a closure node, or the `tick` of [`node!`](crate::node), may return: `()`,
/// [`NodeResult`], and any `Result<(), E>` whose `E` is an error.
#[diagnostic::on_unimplemented(
    message = "a tick returns `NodeResult`, and not `{Self}`",
    label = "a tick of this node returns `{Self}`",
    note = "write `-> NodeResult`, which takes every error by `?`, or return nothing, or a \
            `Result<(), E>` whose `E` is an error that is `Send + Sync + 'static`"
)]
pub trait IntoNodeResult {
    /// Converts a result of any type that a tick may return into a [`NodeResult`].
    ///
    /// # Errors
    ///
    /// Returns the error that the value contains, if it contains one.
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

/// A closure is a node without `init`, `shutdown` and safe state: each call of the closure is a
/// tick.
impl<R: IntoNodeResult, F: FnMut(&mut Context<'_>) -> R + Send + 'static> Node for F {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self(context).into_node_result()
    }
}
