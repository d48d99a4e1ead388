//! Topics as Python objects: publishers, subscribers, both in one, wait sets.

pub(crate) mod codec;
pub(crate) mod endpoint;
pub(crate) mod handles;
pub(crate) mod inbox;
pub(crate) mod introspect;
pub(crate) mod outbox;
pub(crate) mod qos;
pub(crate) mod send_recv;
pub(crate) mod stats;
pub(crate) mod wait_set;
