//! Heap memory for values of any type: lanes and a ticket ring between the threads of a process.
//!
//! The lanes run on [`LaneWriter`](crate::lane::LaneWriter) and
//! [`LaneReader`](crate::lane::LaneReader) as those in files do, every reader behind a gate. What
//! differs is the memory: a slot holds a value of any type, which is moved in and then either
//! moved out ([`Move`]) or cloned by each reader ([`Share`]), and is dropped exactly once.
//!
//! The ends of this module neither wait nor know whether there is anybody at the other side:
//! `horus_core::channel` adds that.

mod lane;
mod lanes;
mod reader;
mod slot;
mod tickets;
mod writer;

pub use lane::{Handling, Move, Share};
pub use lanes::{LANES_MAX, Lanes};
pub use reader::{FanReader, LaneEnd};
pub use tickets::{TicketReader, TicketWriter, tickets};
pub use writer::ValueWriter;
