//! Rows as JSON, tables, goals, the page and the tables of the documents. Nothing here measures;
//! this room imports only `measure`.

pub mod figures;
pub mod goals;
pub mod histograms;
pub mod readme;
pub mod research;
pub mod rows;
pub mod table;
mod template;
pub mod versus;
