//! Transports of the kernel: sockets, pipes and message queues.
//!
//! All of them are polled and never block, because a wake-up by the kernel would take longer than
//! any of their calls. Their buffers are as large as the kernel allows.

pub(crate) mod datagram;
pub(crate) mod queue;
pub(crate) mod stream;
