//! Heap memory for values of any type: lanes, and a ticket ring, between the threads of a process.
//!
//! The lanes use the algorithms of lanes in files,
//! [`LaneWriter`](crate::protocol::lane::LaneWriter) and
//! [`LaneReader`](crate::protocol::lane::LaneReader), with every reader gated. Only the
//! memory differs: a slot holds a value of any type, which is moved in, then either moved out
//! ([`Move`]) or cloned by each reader ([`Share`]), and dropped exactly once.
//!
//! This room imports `protocol` only. Its endpoints do not wait, and do not know whether the other
//! side exists: `horus_core::channel` adds that.

mod lane;
mod lanes;
mod reader;
mod slot;
mod tickets;
mod writer;

pub use lane::{Handling, Move, Share};
pub use lanes::{LANES_MAX, Lanes};
pub use reader::{FanReader, ValueReader};
pub use tickets::{TicketReader, TicketWriter, tickets};
pub use writer::ValueWriter;
