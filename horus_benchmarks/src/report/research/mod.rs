//! One report of a whole run: reads the records of all programs, and writes an HTML page and a CSV
//! file, or compares two runs.
//!
//! Records are read leniently, since some come from programs in other languages. What cannot be
//! read is shown on the page as a problem, and so is a program that failed. Nothing is hidden, and
//! nothing is typed by hand: every figure on the page is in one of the records, under the id that
//! is shown next to it.

mod chart;
pub mod compare;
pub mod csv;
mod figure;
pub mod page;
pub mod record;
mod tables;
