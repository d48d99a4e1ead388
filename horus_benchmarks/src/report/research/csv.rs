//! All rows of a run as CSV, one line each, for spreadsheets and scripts.

use crate::report::research::record::{Program, Run};
use crate::report::rows::Row;

/// A column: its name, and its text for a row (empty where it does not apply).
type Column = (&'static str, fn(&Program, &Row) -> String);

const COLUMNS: [Column; 34] = [
    ("program", |program, _| program.name.clone()),
    ("id", |_, row| row.id.clone()),
    ("sent", |_, row| row.sent.to_string()),
    ("received", |_, row| row.received.to_string()),
    ("lost", |_, row| row.lost.to_string()),
    ("unit", |_, row| if row.ns.is_some() { "ns".to_owned() } else { String::new() }),
    ("min", |_, row| number(row.ns.map(|ns| ns.min))),
    ("p1", |_, row| number(row.ns.and_then(|ns| ns.p1))),
    ("p5", |_, row| number(row.ns.and_then(|ns| ns.p5))),
    ("p25", |_, row| number(row.ns.and_then(|ns| ns.p25))),
    ("p50", |_, row| number(row.ns.map(|ns| ns.p50))),
    ("p50_low", |_, row| number(row.spread.map(|spread| spread.p50_ci[0]))),
    ("p50_high", |_, row| number(row.spread.map(|spread| spread.p50_ci[1]))),
    ("p75", |_, row| number(row.ns.and_then(|ns| ns.p75))),
    ("p90", |_, row| number(row.ns.map(|ns| ns.p90))),
    ("p95", |_, row| number(row.ns.map(|ns| ns.p95))),
    ("p99", |_, row| number(row.ns.map(|ns| ns.p99))),
    ("p99_9", |_, row| number(row.ns.map(|ns| ns.p99_9))),
    ("p99_99", |_, row| number(row.ns.map(|ns| ns.p99_99))),
    ("max", |_, row| number(row.ns.map(|ns| ns.max))),
    ("mean", |_, row| number(row.ns.map(|ns| ns.mean))),
    ("cv", |_, row| number(row.spread.and_then(|spread| spread.cv))),
    ("rounds", |_, row| row.spread.map_or_else(String::new, |spread| spread.rounds.to_string())),
    ("rounds_cv", |_, row| number(row.spread.and_then(|spread| spread.rounds_cv))),
    ("filtered_p50", |_, row| number(row.filtered_ns.map(|filtered| filtered.ns.p50))),
    ("filtered_p99", |_, row| number(row.filtered_ns.map(|filtered| filtered.ns.p99))),
    ("filtered_removed", |_, row| {
        row.filtered_ns.map_or_else(String::new, |filtered| filtered.removed.to_string())
    }),
    ("send_p50", |_, row| number(row.send_ns.map(|send| send.p50))),
    ("msgs_per_s", |_, row| number(row.msgs_per_s)),
    ("floor_ratio", |_, row| number(row.floor_ratio)),
    ("floor_ratio_low", |_, row| number(row.floor_ratio_ci.map(|ci| ci[0]))),
    ("floor_ratio_high", |_, row| number(row.floor_ratio_ci.map(|ci| ci[1]))),
    ("oversubscribed", |_, row| {
        if row.oversubscribed { "oversubscribed".to_owned() } else { String::new() }
    }),
    ("basis", |program, row| program.basis(&row.id).to_owned()),
];

/// The whole run: a line of names, then a line a row.
pub fn render(run: &Run) -> String {
    let mut text = line(COLUMNS.iter().map(|(name, _)| (*name).to_owned()));
    for (program, row) in run.rows() {
        text.push_str(&line(COLUMNS.iter().map(|(_, cell)| cell(program, row))));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let mut text = cells.map(|cell| quote(&cell)).collect::<Vec<_>>().join(",");
    text.push('\n');
    text
}

/// As RFC 4180 has it.
fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stats::Samples;

    #[test]
    fn every_row_is_a_line_with_all_columns() {
        let mut samples = Samples::new();
        (1..=100).for_each(|value| samples.record(value));
        let mut program = Program { name: "x".to_owned(), ..Program::default() };
        let basis = serde_json::json!({ "a": "RTT/2, \"quoted\"" });
        program.settings.insert("basis".to_owned(), basis);
        program.rows = vec![
            Row::samples("a", &samples, 1.0),
            Row { id: "b".to_owned(), msgs_per_s: Some(2e6), ..Row::default() },
        ];
        let run = Run { programs: vec![program], ..Run::default() };
        let text = render(&run);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("program,id,sent,received,lost,unit,min,p1,p5,"));
        assert!(lines[1].starts_with("x,a,100,100,0,ns,1,1,5,25,50,"), "{}", lines[1]);
        assert!(lines[1].ends_with(",\"RTT/2, \"\"quoted\"\"\""), "{}", lines[1]);
        assert!(lines[2].contains(",2000000,"), "{}", lines[2]);
        let columns = |line: &str| line.split(',').count();
        assert_eq!(columns(lines[0]), columns(lines[2]));
    }
}
