//! The hook of a node that hangs.

use std::sync::mpsc::Receiver;

/// What is done for a node that hangs. It is not the node's own, so that it can be called then.
pub(crate) enum SafeState {
    /// The supervisor calls it.
    Here(Box<dyn FnMut() + Send>),
    /// The supervisor begins it, and another thread says how it ended.
    Elsewhere(Box<dyn FnMut() -> Receiver<Result<(), String>> + Send>),
}
