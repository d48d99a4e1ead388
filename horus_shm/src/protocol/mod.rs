//! The shared-memory protocol: the layout of topic files, lanes, gated readers, takeover, presence.
//!
//! Everything here is generic over its memory, so that the loom models run the same code. Nothing
//! here calls the kernel or imports another top-level module of the crate.

pub mod answer;
pub mod copy;
pub mod depot;
pub mod endpoint_counts;
pub mod gate;
pub mod holders;
pub mod identity;
pub mod lane;
pub mod latest;
pub mod layout;
pub mod life;
pub mod mailbox;
pub mod memory;
pub mod owner;
pub mod presence;
pub mod shape;
pub mod sync;
pub mod takeover;
pub mod telemetry;
pub mod ticket;
pub(crate) mod tuning;
