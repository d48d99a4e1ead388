//! Messages of fixed fields as Python objects.

pub(crate) mod counts;
pub(crate) mod declaration;
pub(crate) mod dlpack;
pub(crate) mod dtype;
pub(crate) mod field;
pub(crate) mod framed;
pub(crate) mod instance;
pub(crate) mod kind;

pub(crate) use instance::{bytes, bytes_mut, copied, is_message, release, zeroed};
