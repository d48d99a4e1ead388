//! Heap memory through which the threads of a process exchange values of any type: lanes, a ticket
//! ring, and the cells, mailboxes and answers of actors.
//!
//! The lanes use the algorithms of lanes in files,
//! [`LaneWriter`](crate::protocol::lane::LaneWriter) and
//! [`LaneReader`](crate::protocol::lane::LaneReader), with every reader gated. Only the memory is
//! different: a slot holds a value of any type. The value is moved in, then either moved out
//! ([`MoveValues`]) or cloned by each reader ([`ShareValues`]), and dropped exactly once.
//!
//! The endpoints of lanes and of the ring do not wait, and do not know if the other side exists;
//! `horus_core::channel` adds that. [`Group`] and [`Behaviour`] are the interface of actors; the
//! threads of the workers that run actors are in `horus_core`.
//!
//! The run queues of workers are here, too: [`run_queue`] and [`injector`] hold the actors that
//! wait to be run, [`search`] decides which workers sleep and which are woken, and [`RunQueues`]
//! combines these for a group of workers. A thread that runs its actors itself uses a [`PullQueue`]
//! instead.

mod answer;
mod blocks;
mod cell;
pub mod injector;
mod lane;
mod lanes;
mod pull_queue;
mod reader;
pub mod run_queue;
mod run_queues;
pub mod search;
mod slot;
mod tickets;
mod worker;
mod writer;

pub use answer::{Answer, AnswerError, NoAnswer, Reply, answer_channel};
pub use blocks::{Envelope, RESERVED_BLOCKS_MAX, reserve_blocks};
pub use cell::{
    Activation, ActivationOutcome, ActorEndReport, Address, Behaviour, CellHeader, ControlHandle,
    Event, Flow, Group, MailLimit, MailboxRoomEventcounts, Panic, Refusal, Runnable, SendOutcome,
    WaitRefusal, WeakAddress, spawn, spawn_with_handle,
};
pub use injector::InjectorEntry;
pub use lane::{MoveValues, ReadPolicy, ShareValues};
pub use lanes::{LANES_MAX, Lanes};
pub use pull_queue::PullQueue;
pub use reader::{FanInReader, ValueReader};
pub use run_queues::{QueueEntry, RING_SLOTS, RunQueues};
pub use search::WORKERS_MAX;
pub use slot::panic_without_memory;
pub use tickets::{TicketReader, TicketWriter, ticket_channel};
pub use worker::{ParkOutcome, Worker};
pub use writer::ValueWriter;
