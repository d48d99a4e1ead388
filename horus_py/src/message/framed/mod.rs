//! Messages with trailing data, such as images: a header, whose fields are attributes, and an
//! array.

pub(crate) mod base;
pub(crate) mod data;
pub(crate) mod draft;
pub(crate) mod keepalive;
pub(crate) mod loan;
pub(crate) mod memory;
pub(crate) mod tail;
pub(crate) mod view;

pub(crate) use data::{check_data_size, header_and_data, message_from_buffer, message_from_sample};
pub(crate) use loan::{end_loan, live_loan_view};
