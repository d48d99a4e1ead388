//! The carriers of messages: endpoints of our library and of others, and the means by which two
//! sides find each other. This module imports only `measure` and `run`, and creates no rows of
//! reports.

pub mod actors;
pub mod carrier;
mod channels;
pub mod connection;
pub mod driver;
pub mod duplex;
pub mod endpoints;
pub mod groups;
mod head_tail_ring;
#[cfg(feature = "iceoryx2")]
pub mod iceoryx;
mod kernel {
    //! Transports of the kernel: sockets and pipes.
    //!
    //! All of them are polled and never block, because a wake-up by the kernel would take longer
    //! than any of their calls. Their buffers are as large as the kernel allows.

    pub(crate) mod datagram;
    pub(crate) mod stream;
}
pub mod large;
mod open;
pub mod packet;
pub mod rendezvous;
pub mod wakeup;
