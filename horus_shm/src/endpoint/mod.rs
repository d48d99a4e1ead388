//! Endpoints that callers use: producers, consumers, loans, samples, and the typed rings made of
//! them.
//!
//! This is the top room (folder) of the crate: it may import all others, and none of them imports
//! it.

pub(crate) mod consumer;
pub(crate) mod loan;
pub(crate) mod producer;
pub(crate) mod reader_slot;
pub mod ring;
pub(crate) mod sample;
