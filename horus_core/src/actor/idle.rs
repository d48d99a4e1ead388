//! The setting that decides how a thread of a group waits for mail.

/// The way in which a thread of a group waits for mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Idle {
    /// The thread looks for mail for up to 60 µs, then sleeps. A sender wakes it with a system
    /// call.
    #[default]
    Sleep,
    /// The thread keeps looking for mail, and after each look yields the CPU to other threads.
    Yield,
    /// The thread keeps looking for mail without a pause. It keeps a CPU busy, but no sender has to
    /// make a system call.
    Spin,
}
