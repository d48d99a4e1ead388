//! The carriers of messages: endpoints of our library and of others, and the means by which two
//! sides find each other. This module imports only `measure` and `run`, and creates no rows of
//! reports.

pub mod actors;
pub mod carrier;
mod channels;
pub mod connection;
pub mod driver;
mod duplex;
mod endpoints;
mod head_tail_ring;
#[cfg(feature = "iceoryx2")]
pub mod iceoryx;
mod kernel;
pub mod large;
mod open;
pub mod packet;
mod peer_channels;
pub mod rendezvous;
pub mod wakeup;
