//! A node as the threads know it that do not run it.

use std::sync::Arc;

use crate::scheduler::api::metrics::Pulse;
use crate::scheduler::api::plan::Wish;
use crate::scheduler::run::commands::Orders;

/// What is known of a node by those who do not run it.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    pub(crate) wish: Wish,
    pub(crate) orders: Arc<Orders>,
    pub(crate) pulse: Arc<Pulse>,
}
