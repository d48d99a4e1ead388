//! The shared-memory protocol: the layout of topic files, and the algorithms of lanes, gated
//! readers, takeover and presence.
//!
//! The algorithms are generic over the memory that they run on, so that the loom models run the
//! same code. This module makes no system calls, and imports no other top-level module of the
//! crate.

pub mod answer;
pub mod copy;
pub mod deaths;
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
pub mod pins;
pub mod presence;
pub mod reading;
pub mod shape;
pub mod sync;
pub mod takeover;
pub mod telemetry;
pub mod ticket;
pub(crate) mod tuning;
