//! The life of a topic file: names and directories, birth and opening, mapping, removal.
//!
//! What lies in the file is the matter of `protocol`; who sends and receives, that of `endpoint`.

pub(crate) mod contract;
pub(crate) mod counters;
pub(crate) mod error;
pub mod header;
pub(crate) mod label;
pub(crate) mod name;
pub(crate) mod namespace;
pub(crate) mod open;
pub(crate) mod segment;
pub(crate) mod sweep;
pub(crate) mod topic_type;
