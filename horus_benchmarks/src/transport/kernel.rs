//! Sockets, pipes and message queues of the kernel.
//!
//! All are polled and never block: a wake-up by the kernel would take longer than any of them.
//! Their buffers are as large as the kernel allows.

pub(crate) mod datagram;
pub(crate) mod queue;
pub(crate) mod stream;
