//! Messages that end in data, as images: a header, whose fields are attributes, and an array.

pub(crate) mod base;
pub(crate) mod data;
pub(crate) mod draft;
pub(crate) mod hold;
pub(crate) mod loan;
pub(crate) mod memory;
pub(crate) mod view;

pub(crate) use data::{borrowed, check, parts, received};
pub(crate) use loan::{end_loan, exported};
