//! Sockets, pipes and message queues of the kernel.
//!
//! All are polled, never blocked on: a wake-up by the kernel would cost more than any of them. They
//! have the largest buffers that the kernel grants.

pub(crate) mod datagram;
pub(crate) mod queue;
pub(crate) mod stream;
