//! Waiting without the GIL, and waking event loops.

pub(crate) mod gil;
pub(crate) mod wakeups;
