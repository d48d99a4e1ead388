//! Histograms that are written can be read.

use std::io::{self};

use horus_benchmarks::measure::stats::Samples;
use horus_benchmarks::report::histograms::*;
use horus_benchmarks::report::rows::Row;

use crate::histogram_log::read_histogram_log;

fn row(id: &str, values: std::ops::RangeInclusive<u64>) -> Row {
    let mut samples = Samples::new();
    values.for_each(|value| samples.record(value));
    Row::from_samples(id, &samples, 0.5)
}

#[test]
fn what_is_written_is_read_again_in_picoseconds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.hlog");
    let rows = [row("a/16B", 1..=1000), Row::default(), row("b/16B", 7..=7)];
    write_histogram_log(&rows, &path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("Tag=a/16B,") && text.contains("picoseconds"),
        "{text}"
    );
    let read = read_histogram_log(&path).unwrap();
    assert_eq!(
        read.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["a/16B", "b/16B"]
    );
    let a = &read[0].1;
    assert_eq!(a.len(), 1000);
    assert!((a.value_at_quantile(0.5) as f64 - 250e3).abs() < 500.0);
    let ends = [a.min(), a.max()].map(|ps| ps as f64 / 1e3);
    assert!((ends[0] - 0.5).abs() < 0.01 && (ends[1] - 500.0).abs() < 0.5);
}

#[test]
fn rows_without_samples_make_no_file_and_other_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.hlog");
    write_histogram_log(&[Row::default()], &path).unwrap();
    assert!(!path.exists());
    std::fs::write(&path, "Tag=a,0.0,0.0,1.0,nonsense!\n").unwrap();
    assert_eq!(
        read_histogram_log(&path).unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
}
