//! The C ABI of horus. `include/horus/horus.h` declares the functions and documents them for
//! callers.
//!
//! Every function looks up its handles, checks its pointers, calls `horus_core` and returns a
//! number. It catches panics, so that no panic reaches the caller. Each type of the ABI has its own
//! source file.

#[cfg(test)]
use horus_testing as _;

mod callback;
mod context;
mod endpoint_events;
mod endpoint_wait;
mod event;
mod ffi;
mod handle;
mod info;
mod inspect;
mod log;
mod namespace;
mod node;
mod publisher;
mod qos;
mod report;
mod scheduler;
mod status;
mod subscriber;
mod topic;
mod version;
mod wait_set;

pub use context::*;
pub use endpoint_events::*;
pub use event::HorusEvent;
pub use ffi::{HORUS_COUNT_ZERO, HORUS_COUNT64_ZERO, HORUS_PRIORITY_ZERO, HORUS_TIME_ZERO};
pub use info::{HorusStats, HorusTopicInfo};
pub use inspect::*;
pub use log::*;
pub use namespace::*;
pub use node::*;
pub use publisher::*;
pub use qos::*;
pub use report::*;
pub use scheduler::*;
pub use status::*;
pub use subscriber::*;
pub use topic::*;
pub use version::*;
pub use wait_set::*;
