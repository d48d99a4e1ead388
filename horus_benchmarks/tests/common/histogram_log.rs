//! Reads the histograms that the programs write, as other HDR tools do.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

/// Reads the histograms in the log file `path`. Returns the tag and the values of each histogram;
/// the values are in picoseconds.
pub(crate) fn read_histogram_log(path: &Path) -> io::Result<Vec<(String, Histogram<u64>)>> {
    let text = fs::read(path)?;
    let mut deserializer = Deserializer::new();
    let mut histograms = Vec::new();
    for entry in IntervalLogIterator::new(&text) {
        let LogEntry::Interval(interval) = entry.map_err(invalid_data_error)? else {
            continue;
        };
        let Some(tag) = interval.tag() else { continue };
        let bytes = STANDARD.decode(interval.encoded_histogram());
        let bytes = bytes.map_err(invalid_data_error)?;
        let histogram = deserializer.deserialize(&mut bytes.as_slice());
        histograms.push((
            tag.as_str().to_owned(),
            histogram.map_err(invalid_data_error)?,
        ));
    }
    Ok(histograms)
}

fn invalid_data_error(error: impl Debug) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{error:?}"))
}
