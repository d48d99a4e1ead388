//! Every row is a line with all columns.

use horus_benchmarks::measure::stats::Samples;
use horus_benchmarks::report::research::csv::*;
use horus_benchmarks::report::research::record::ProgramRecord;
use horus_benchmarks::report::research::record::RunRecord;
use horus_benchmarks::report::rows::Row;

#[test]
fn every_row_is_a_line_with_all_columns() {
    let mut samples = Samples::new();
    (1..=100).for_each(|value| samples.record(value));
    let mut program = ProgramRecord {
        name: "x".to_owned(),
        ..ProgramRecord::default()
    };
    let basis = serde_json::json!({ "a": "RTT/2, \"quoted\"" });
    program.settings.insert("basis".to_owned(), basis);
    program.rows = vec![
        Row::from_samples("a", &samples, 1.0),
        Row {
            id: "b".to_owned(),
            msgs_per_s: Some(2e6),
            ..Row::default()
        },
    ];
    let run = RunRecord {
        programs: vec![program],
    };
    let text = render(&run);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("program,id,sent,received,lost,unit,min,p1,p5,"));
    assert!(
        lines[1].starts_with("x,a,100,100,0,ns,1,1,5,25,50,"),
        "{}",
        lines[1]
    );
    assert!(
        lines[1].ends_with(",\"RTT/2, \"\"quoted\"\"\""),
        "{}",
        lines[1]
    );
    // It has no messages.
    assert!(lines[2].starts_with("x,b,,,,,"), "{}", lines[2]);
    assert!(lines[2].contains(",2000000,"), "{}", lines[2]);
    let columns = |line: &str| line.split(',').count();
    assert_eq!(columns(lines[0]), columns(lines[2]));
}
