//! Schedulers as Python objects, and nodes whose ticks are Python.

pub(crate) mod handle;
pub(crate) mod node;
pub(crate) mod py_scheduler;
pub(crate) mod python_calls;
pub(crate) mod remote;
pub(crate) mod report;
pub(crate) mod safe_state;
pub(crate) mod settings;
pub(crate) mod task;
