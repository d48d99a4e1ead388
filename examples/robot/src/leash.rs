//! The leash: a node runs until its standard input ends.

use std::io;
use std::thread::{self, JoinHandle};

/// Ends the node with whoever started it. The launcher holds the other end of the pipe: it closes
/// it to stop the node, and the system closes it if the launcher dies, however it dies.
#[derive(Debug)]
pub(crate) struct Leash(JoinHandle<()>);

impl Leash {
    /// Begins to read standard input, in a thread that ends with the process.
    pub(crate) fn hold() -> Self {
        Self::hold_until(|| ())
    }

    /// [`Self::hold`], and calls `cut` when the node has to end.
    pub(crate) fn hold_until(cut: impl FnOnce() + Send + 'static) -> Self {
        Self(thread::spawn(|| {
            // An input that cannot be read is as good as closed.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            cut();
        }))
    }

    /// True once the node has to end. Does not block.
    pub(crate) fn is_cut(&self) -> bool {
        self.0.is_finished()
    }
}
