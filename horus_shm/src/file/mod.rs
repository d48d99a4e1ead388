//! Topic files and lane files: their names and directories, and how they are created, opened,
//! mapped and removed.
//!
//! The layout of a file's content belongs to `protocol`; sending and receiving belong to
//! `endpoint`.

pub(crate) mod counters;
pub(crate) mod error;
pub(crate) mod extent;
pub mod header;
pub(crate) mod label;
pub(crate) mod lane_name;
pub(crate) mod latch_key;
pub(crate) mod liveness_cache;
pub(crate) mod match_settings;
pub(crate) mod name;
pub(crate) mod name_watch;
pub(crate) mod namespace;
pub(crate) mod offer;
pub(crate) mod open;
pub(crate) mod segment;
pub(crate) mod session;
pub(crate) mod sweep;
pub(crate) mod topic_files;
pub(crate) mod topic_type;
