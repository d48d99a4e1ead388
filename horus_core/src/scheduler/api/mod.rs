//! The types with which programs describe and observe nodes: settings, contexts, metrics and
//! reports.
//!
//! The code here makes no system calls. The only data that threads share are the metrics, the
//! positions of checkpoints and the times of inputs. This module imports no other part of the
//! scheduler.

pub(crate) mod checkpoints;
pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod input;
pub(crate) mod metrics;
pub(crate) mod node;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod random;
pub(crate) mod rate;
pub(crate) mod report;
pub(crate) mod safe_state;
pub(crate) mod subscription;
pub(crate) mod timeline;
