//! The leash: a node runs until its standard input is closed.

use std::io;
use std::thread::{self, JoinHandle};

/// Ends the node with its launcher. The launcher holds the other end of the pipe: it closes it to
/// stop the node, and the kernel closes it if the launcher dies in any way.
#[derive(Debug)]
pub(crate) struct Leash(JoinHandle<()>);

impl Leash {
    /// Starts to read standard input, in a thread that ends with the process.
    pub(crate) fn hold() -> Self {
        Self::hold_until(|| ())
    }

    /// [`Self::hold`], and calls `cut` when the node has to end.
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
