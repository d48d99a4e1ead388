//! The safe-state callback for a node that hangs.

use std::sync::mpsc::Receiver;

/// The callback for a node that hangs. It does not belong to the node, so that another thread can
/// call it then.
pub(crate) enum SafeState {
    /// The supervisor calls it.
    Here(Box<dyn FnMut() + Send>),
    /// The supervisor starts it, and another thread reports the result.
    Elsewhere(Box<dyn FnMut() -> Receiver<Result<(), String>> + Send>),
}
