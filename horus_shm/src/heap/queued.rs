//! The link that queues of the workers need in each thing that they hold.

use core::sync::atomic::AtomicPtr;

/// Something that a worker can have in its queues, where it has a link of its own.
///
/// # Safety
///
/// The link is that of `self` alone, and nothing else than a queue uses it.
pub unsafe trait Queued: Sized {
    /// Returns the link, with which the injector chains those that it holds.
    fn injector_link(&self) -> &AtomicPtr<Self>;
}
