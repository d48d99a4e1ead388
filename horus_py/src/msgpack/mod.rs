//! Python objects as MessagePack, and back.

pub(crate) mod ext;
pub(crate) mod keys;
pub(crate) mod layout;
pub(crate) mod pack;
pub(crate) mod unpack;
