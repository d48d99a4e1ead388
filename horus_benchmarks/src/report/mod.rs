//! Reports: rows as JSON, text tables, goals, the HTML page and the tables in the documents. This
//! module measures nothing, and imports only `measure`.

pub mod additional_values;
pub mod goals;
pub mod histograms;
pub mod readme;
pub mod research;
pub mod rows;
pub mod table;
mod template;
pub mod versus;
