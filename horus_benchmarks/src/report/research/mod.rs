//! One report of a whole run: reads the records of all programs, and writes an HTML page and a CSV
//! file, or compares two runs.
//!
//! Records are read leniently, because some of them are written by programs in other languages. The
//! page shows each part that cannot be read, and each program that failed, as a problem. Every
//! value on the page comes from one of the records, under the id that is shown next to it.

mod chart;
pub mod compare;
pub mod csv;
mod figure;
pub mod page;
pub mod record;
