//! Nodes, and what runs them.

mod plan;
mod policy;
mod rate;
mod timeline;

pub use plan::{Class, NAME_BYTES_MAX, PlanError};
pub use policy::{FailurePolicy, Miss};
pub use rate::{Hertz, Rate, RateError};
pub use timeline::Timeline;
