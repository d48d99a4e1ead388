//! Heap memory for values of any type, between the threads of a process: lanes, a ticket ring, and
//! the cells, mailboxes and answers of actors.
//!
//! The lanes use the algorithms of lanes in files,
//! [`LaneWriter`](crate::protocol::lane::LaneWriter) and
//! [`LaneReader`](crate::protocol::lane::LaneReader), with every reader gated. Only the
//! memory differs: a slot holds a value of any type, which is moved in, then either moved out
//! ([`Move`]) or cloned by each reader ([`Share`]), and dropped exactly once.
//!
//! The endpoints of lanes and of the ring do not wait, and do not know whether the other side
//! exists: `horus_core::channel` adds that. Actors are in [`Group`] and [`Behaviour`]; the workers
//! that run them are in `horus_core`.

mod answer;
mod blocks;
mod cell;
mod lane;
mod lanes;
mod queued;
mod reader;
mod slot;
mod tickets;
mod writer;

pub use answer::{Answer, AnswerError, NoAnswer, Reply, answer};
pub use blocks::{Envelope, RESERVED_MAX, reserve};
pub use cell::{
    Address, Behaviour, ControlHandle, End, Event, Flow, Group, Header, Mail, Panic, Ran, Refusal,
    Rooms, Runnable, Sent, Turn, WaitRefusal, WeakAddress, spawn,
};
pub use lane::{Handling, Move, Share};
pub use lanes::{LANES_MAX, Lanes};
pub use queued::Queued;
pub use reader::{FanReader, ValueReader};
pub use tickets::{TicketReader, TicketWriter, tickets};
pub use writer::ValueWriter;
