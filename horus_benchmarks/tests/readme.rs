//! The tables of the documents are those that their records make.

use std::path::Path;

use horus_benchmarks::readme::is_current;
use horus_benchmarks::report::Report;

#[test]
fn the_documents_show_what_their_records_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (document, row) in
        [("README.md", "| 2:2, 16 B | "), ("docs/performance.md", "| topic, 16 B | ")]
    {
        let path = root.join(document);
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, link) = text.split_once("[record](").expect("the table names its record");
        let (record, _) = link.split_once(')').unwrap();
        let report = std::fs::read_to_string(path.parent().unwrap().join(record)).unwrap();
        let report: Report = serde_json::from_str(&report).unwrap();
        assert!(is_current(&text, &report, record).unwrap(), "{document}: run `make readme`");
        let typed = text.replacen(row, &format!("{row}1"), 1);
        assert_ne!(typed, text, "{document} has no {row} to change");
        assert!(!is_current(&typed, &report, record).unwrap(), "a typed number must be seen");
    }
}
