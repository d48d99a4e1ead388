//! The README's latency table is the one that its record makes.

use std::path::Path;

use horus_benchmarks::readme::is_current;
use horus_benchmarks::report::Report;

#[test]
fn the_readme_shows_what_its_record_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (_, link) = readme.split_once("[record](").expect("the table names its record");
    let (record, _) = link.split_once(')').unwrap();
    let report = std::fs::read_to_string(root.join(record)).unwrap();
    let report: Report = serde_json::from_str(&report).unwrap();
    assert!(is_current(&readme, &report, record).unwrap(), "run `make readme`");
    let typed = readme.replacen("230", "231", 1);
    assert!(!is_current(&typed, &report, record).unwrap(), "a typed number must be seen");
}
