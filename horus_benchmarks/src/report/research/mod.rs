//! One report of a whole run: every program's record, read again, as a page, as CSV, and compared.
//!
//! Records are read leniently, since some are of programs in other languages: what cannot be read
//! is shown as a problem on the page, and so is a program that failed. Nothing is hidden, and
//! nothing is typed: every figure on the page stands in one of the records, under the id that is
//! written beside it.

mod chart;
pub mod compare;
pub mod csv;
mod figure;
mod html;
pub mod page;
pub mod record;
mod tables;
