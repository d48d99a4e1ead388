//! Writes histograms of all samples to files that HDR tools can read. The files have the V2 log
//! format of HdrHistogram, with one entry for each row.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::measure::stats::Samples;
use crate::report::rows::Row;

/// Number of picoseconds in a nanosecond. Values in the file are in picoseconds, so that even times
/// of two nanoseconds keep enough digits.
const PS_PER_NS: f64 = 1e3;

const SIGNIFICANT_DIGITS: u8 = 3;

/// The samples of a row of the report, with the duration of their unit.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSamples {
    /// The samples, in a unit of `ns_per_unit` nanoseconds.
    pub samples: Samples,
    /// Duration of the samples' unit, in nanoseconds.
    pub ns_per_unit: f64,
}

impl RowSamples {
    /// Returns a histogram of the samples, converted to picoseconds.
    fn picosecond_histogram(&self) -> io::Result<Histogram<u64>> {
        let mut histogram = Histogram::new(SIGNIFICANT_DIGITS).map_err(io::Error::other)?;
        for (value, count) in self.samples.value_counts() {
            let ps = (value as f64 * self.ns_per_unit * PS_PER_NS).round() as u64;
            histogram.record_n(ps, count).map_err(io::Error::other)?;
        }
        Ok(histogram)
    }
}

/// Writes the histograms of all rows that have samples to the file `path`. Each histogram has the
/// id of its row as a tag. Writes no file if no row has samples.
pub fn write_histogram_log(rows: &[Row], path: &Path) -> io::Result<()> {
    let timed: Vec<(&Row, &RowSamples)> = rows
        .iter()
        .filter_map(|row| Some((row, row.samples.as_ref()?)))
        .collect();
    if timed.is_empty() {
        return Ok(());
    }
    let mut serializer = V2DeflateSerializer::new();
    let mut text = Vec::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[values: picoseconds; Interval_Max: nanoseconds; tags: ids of rows]")
        .with_start_time(SystemTime::now())
        .with_max_value_divisor(PS_PER_NS)
        .begin_log_with(&mut text, &mut serializer)?;
    for (row, timed) in timed {
        let histogram = timed.picosecond_histogram()?;
        let tag = Tag::new(&row.id);
        log.write_histogram(&histogram, Duration::ZERO, Duration::ZERO, tag)
            .map_err(|error| io::Error::other(format!("{}: {error:?}", row.id)))?;
    }
    fs::write(path, text)
}
