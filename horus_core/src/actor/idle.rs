//! The way in which a thread of a group waits for mail.

/// The way in which a thread of a group waits for mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Idle {
    /// The thread looks for mail for up to 60 µs, then sleeps. A sender wakes it by a system call.
    #[default]
    Sleep,
    /// The thread looks for mail all the time, and yields the CPU to other threads between two
    /// looks.
    Yield,
    /// The thread looks for mail all the time. It keeps a CPU busy, and no sender makes a system
    /// call.
    Spin,
}
