//! The carriers of messages: endpoints of ours and of the peers, and how two sides meet. This room
//! imports `measure` and `run`, and makes no rows.

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
