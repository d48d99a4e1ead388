//! The safe-state callback for a node that hangs.

use std::sync::mpsc::Receiver;

/// The callback for a node that hangs. It is separate from the node, because a node that hangs
/// cannot be called.
pub(crate) enum SafeStateCallback {
    /// The supervisor's thread calls it and waits until it returns.
    OnSupervisor(Box<dyn FnMut() + Send>),
    /// The supervisor's thread only starts it; another thread sends the result on the returned
    /// channel.
    OnOtherThread(Box<dyn FnMut() -> Receiver<Result<(), String>> + Send>),
}
