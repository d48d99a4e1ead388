//! The callback that puts a robot into a safe state while a tick of a node hangs.

use std::sync::mpsc::Receiver;

/// The callback for a node whose tick hangs. It is separate from the node, because no method of the
/// node can be called during the tick.
pub(crate) enum SafeStateCallback {
    /// A callback that the supervisor's thread calls. That thread waits until the callback returns.
    OnSupervisor(Box<dyn FnMut() + Send>),
    /// A callback that only starts the work on another thread. It returns the channel on which that
    /// thread sends the result.
    OnOtherThread(Box<dyn FnMut() -> Receiver<Result<(), String>> + Send>),
}
