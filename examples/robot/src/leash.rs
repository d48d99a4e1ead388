//! The leash: a node runs until its standard input is closed.

use std::io;
use std::thread::{self, JoinHandle};

/// Ends this node with its launcher, which has the other end of the pipe. The launcher closes that
/// end to stop the node, and the kernel closes it if the launcher dies for any reason.
#[derive(Debug)]
pub(crate) struct Leash(JoinHandle<()>);

impl Leash {
    /// Starts to read standard input, in a thread that runs until the process ends.
    pub(crate) fn hold() -> Self {
        Self::hold_until(|| ())
    }

    /// Like [`Self::hold`], and calls `cut` when the node has to end.
    pub(crate) fn hold_until(cut: impl FnOnce() + Send + 'static) -> Self {
        Self(thread::spawn(|| {
            // An input that cannot be read counts as closed.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            cut();
        }))
    }

    /// Returns true once the node has to end. Does not block.
    pub(crate) fn is_cut(&self) -> bool {
        self.0.is_finished()
    }
}
