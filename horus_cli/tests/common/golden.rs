//! Golden files: the output of commands, with what differs from run to run replaced.

use std::path::Path;

/// The keys of JSON objects whose values differ from run to run.
const VARYING: [&str; 18] = [
    "pid",
    "owner_id",
    "start_time",
    "name",
    "file_bytes",
    "allocated_bytes",
    "age_ns",
    "wakes",
    "window_ns",
    "rate_hz",
    "bytes_per_second",
    "samples",
    "p50_ns",
    "p99_ns",
    "max_ns",
    "asleep",
    "uptime_ns",
    "min_ns",
];

/// Compares JSON with the golden file `name`. Values of [`VARYING`] keys do not count, unless they
/// are `null`.
#[track_caller]
pub(crate) fn check_json(name: &str, json: &str) {
    check_json_except(name, json, &[]);
}

/// Like [`check_json`], and values of `more` keys do not count either; they may be arrays of
/// numbers.
#[track_caller]
pub(crate) fn check_json_except(name: &str, json: &str, more: &[&str]) {
    let mut text = String::new();
    let mut rest = json;
    while let Some((before, after)) = rest.split_once("\":") {
        text += before;
        text += "\":";
        rest = after;
        let key = before.rsplit('"').next().unwrap();
        let is_scalar = !after.starts_with(['{', '[']) && !after.starts_with("null");
        if VARYING.contains(&key) && is_scalar || more.contains(&key) {
            let end = match after.chars().next() {
                Some('"') => 2 + after[1..].find('"').unwrap(),
                Some('[') => 1 + after.find(']').unwrap(),
                _ => after.find([',', '}', ']']).unwrap(),
            };
            text += "…";
            rest = &after[end..];
        }
    }
    check(&format!("{name}.json"), &(text + rest));
}

/// Compares text with the golden file `name`. Each of `varying` counts as `…`, and any number of
/// spaces as two if there are at least two.
#[track_caller]
pub(crate) fn check_text(name: &str, text: &str, varying: &[&str]) {
    let mut text = text.to_owned();
    for varying in varying {
        text = text.replace(varying, "…");
    }
    let lines = text.lines().map(|line| {
        let (indent, line) = line.split_at(line.len() - line.trim_start().len());
        let cells = line
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty());
        format!("{indent}{}\n", cells.collect::<Vec<_>>().join("  "))
    });
    check(&format!("{name}.txt"), &lines.collect::<String>());
}

#[track_caller]
fn check(file: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    if std::env::var_os("HORUS_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, golden,
        "{file} differs; write it anew with HORUS_WRITE_GOLDEN=1 if that is meant"
    );
}
