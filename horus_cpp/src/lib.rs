//! The C ABI of horus: what `include/horus/horus.h` declares, and documents for those who call it.
//!
//! Every function guards against panics, looks its handles up, checks its pointers, calls
//! `horus_core`, and returns a number. One file for each noun; what nodes and the scheduler need
//! goes into files of their own beside them.

mod ffi;
mod info;
mod namespace;
mod publisher;
mod qos;
mod status;
mod subscriber;
mod topic;
mod version;
mod wait_set;

pub use info::{HorusStats, HorusTopicInfo};
pub use namespace::*;
pub use publisher::*;
pub use qos::*;
pub use status::*;
pub use subscriber::*;
pub use topic::*;
pub use version::*;
pub use wait_set::*;
