//! The setting that decides how a thread of a group waits for mail.

/// The way in which a thread of an actor group waits for messages to its actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Idle {
    /// The thread looks for mail for up to 60 µs, then sleeps. A sender wakes it with a system
    /// call.
    #[default]
    Sleep,
    /// The thread keeps checking for mail, and yields the CPU to other threads after each check.
    Yield,
    /// The thread keeps checking for mail without a pause. It keeps a CPU busy, but no sender has
    /// to make a system call.
    Spin,
}
