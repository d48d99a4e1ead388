//! Writes histograms of all samples to files that HDR tools can read. The files have the V2 log
//! format of HdrHistogram, with one entry for each row.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::iterators::IterationValue;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use crate::measure::stats::Samples;
use crate::report::rows::Row;

/// Number of picoseconds in a nanosecond. Values in the file are in picoseconds, so that even times
/// of two nanoseconds keep enough digits.
const PS_PER_NS: f64 = 1e3;

/// Number of points of a percentile curve from 50 % to 75 %, from 75 % to 87.5 %, and so on.
const CURVE_POINTS_PER_HALVING: u32 = 6;

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

/// Reads the histograms in the log file `path`. Returns the tag and the values of each histogram;
/// the values are in picoseconds.
pub fn read_histogram_log(path: &Path) -> io::Result<Vec<(String, Histogram<u64>)>> {
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

/// Returns the points of a percentile curve. Each point is a value in nanoseconds, preceded by the
/// number of samples of which one is above that value. These numbers go from 1 to the number of
/// all samples.
pub fn percentile_curve_points(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    let all = histogram.len() as f64;
    let steps = histogram.iter_quantiles(CURVE_POINTS_PER_HALVING);
    let point = |step: IterationValue<u64>| {
        let one_above = (1.0 / (1.0 - step.quantile_iterated_to())).min(all);
        (one_above, step.value_iterated_to() as f64 / PS_PER_NS)
    };
    steps.map(point).collect()
}
