//! The parts of one run of a benchmark binary: its command line, processes, session and hardware
//! floor. This module imports only `measure` and `report`.

pub mod args;
pub mod bounce;
pub mod child;
pub mod far_end;
pub mod floor;
pub mod namespace;
pub mod session;
