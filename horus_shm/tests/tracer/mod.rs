//! A process under a tracer, the parts that it plays, and what is checked of those that survive it.
//!
//! A tracer needs a CPU whose instructions it knows. The parts, and the processes that play them
//! without a tracer, are the same on every CPU.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

#[cfg(target_arch = "x86_64")]
pub mod changes;
pub mod ends;
#[cfg(target_arch = "x86_64")]
pub mod inject;
#[cfg(target_arch = "x86_64")]
pub mod route;
pub mod survivors;
mod ticket;
#[cfg(target_arch = "x86_64")]
mod victim;

#[cfg(target_arch = "x86_64")]
#[allow(unused_imports, reason = "each test file uses a part")]
pub use victim::{EXIT_CODE, Stop, Victim, be_traced, mark};
