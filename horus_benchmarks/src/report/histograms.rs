//! Writes histograms of all samples to files that HDR tools can read. The files have the V2 log
//! format of HdrHistogram, with one entry for each row.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

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
    fn histogram(&self) -> io::Result<Histogram<u64>> {
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
pub fn write_log(rows: &[Row], path: &Path) -> io::Result<()> {
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
        let histogram = timed.histogram()?;
        let tag = Tag::new(&row.id);
        log.write_histogram(&histogram, Duration::ZERO, Duration::ZERO, tag)
            .map_err(|error| io::Error::other(format!("{}: {error:?}", row.id)))?;
    }
    File::create(path)?.write_all(&text)
}

/// Reads the histograms in the log file `path`. Returns the tag and the values of each histogram;
/// the values are in picoseconds.
pub fn read_log(path: &Path) -> io::Result<Vec<(String, Histogram<u64>)>> {
    let mut text = Vec::new();
    File::open(path)?.read_to_end(&mut text)?;
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut deserializer = Deserializer::new();
    let mut histograms = Vec::new();
    for entry in IntervalLogIterator::new(&text) {
        let entry = entry.map_err(|error| wrong(format!("{error:?}")))?;
        let LogEntry::Interval(interval) = entry else {
            continue;
        };
        let Some(tag) = interval.tag() else { continue };
        let bytes = STANDARD
            .decode(interval.encoded_histogram())
            .map_err(|error| wrong(error.to_string()))?;
        let histogram = deserializer
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| wrong(format!("{error:?}")))?;
        histograms.push((tag.as_str().to_owned(), histogram));
    }
    Ok(histograms)
}

/// Returns the points of a percentile curve. Each point is a value in nanoseconds, preceded by the
/// fraction of the samples above that value. The fractions go from 1 down to that of a single
/// sample, with `points_per_decade` points from 0.1 to 0.01, from 0.01 to 0.001, and so on.
pub fn curve_points(histogram: &Histogram<u64>, points_per_decade: u32) -> Vec<(f64, f64)> {
    let count = histogram.len().max(1) as f64;
    let ns = |value: u64| value as f64 / PS_PER_NS;
    let mut points = vec![(1.0, ns(histogram.min()))];
    for step in 1..=(count.log10() * f64::from(points_per_decade)) as u32 {
        let above = 10f64.powf(-f64::from(step) / f64::from(points_per_decade));
        points.push((above, ns(histogram.value_at_quantile(1.0 - above))));
    }
    points.push((1.0 / count, ns(histogram.max())));
    points
}
