//! The endpoints that programs use: producers and consumers of rings, loans, samples, and typed
//! rings.
//!
//! This is the top room (folder) of the crate: it may import all others, and none of them imports
//! it.

pub(crate) mod consumer;
pub(crate) mod loan;
pub(crate) mod producer;
pub(crate) mod publisher_progress;
pub(crate) mod reader_slot;
pub mod ring;
pub(crate) mod sample;
