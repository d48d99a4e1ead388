//! The callback that brings a node that hangs into its safe state.

use std::sync::mpsc::Receiver;

/// The callback for a node that hangs. It is separate from the node, because no method of a node
/// that hangs can be called.
pub(crate) enum SafeStateCallback {
    /// A callback that the supervisor's thread calls. That thread waits until the callback returns.
    OnSupervisor(Box<dyn FnMut() + Send>),
    /// A callback that only starts the work on another thread. It returns the channel on which that
    /// thread sends the result.
    OnOtherThread(Box<dyn FnMut() -> Receiver<Result<(), String>> + Send>),
}
