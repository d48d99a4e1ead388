//! Compares two runs, and finds the rows that became slower by more than noise.

use crate::report::research::record::{ProgramRecord, RunRecord};
use crate::report::rows::Row;
use crate::report::template::{format_rate, format_time};

/// Relative change below which a difference counts as noise, whatever the intervals are. WHY: an
/// interval describes one run, and the next run on the same machine may differ by more.
pub const NOISE_MIN: f64 = 0.05;

/// Relative change below which a difference is noise if one of the two values has no interval.
const NOISE_WITHOUT_INTERVAL: f64 = 0.25;

/// The quantity that is compared for a row. The first of these quantities that both runs have is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedQuantity {
    /// The ratio to the floor, which is comparable between different machines.
    Floor,
    /// The peer's time divided by ours, or our rate divided by the peer's.
    Theirs,
    /// The median time.
    Time,
    /// Messages per second.
    Rate,
}

/// The difference in one row between the old and the new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowChange {
    /// Slower than before by more than noise.
    Regression,
    /// The row is missing in the new run.
    Missing,
    /// Faster than before by more than noise.
    Better,
    /// The row was missing in the old run.
    New,
    /// The difference cannot be distinguished from noise.
    Same,
}

/// A row that one or both runs have.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRow {
    /// The name of the program and the id of the row.
    pub id: String,
    /// The quantity, and its old and new value; `None` if one run lacks the row.
    pub figures: Option<(ComparedQuantity, IntervalValue, IntervalValue)>,
    /// The kind of change.
    pub change: RowChange,
}

/// A value and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalValue {
    value: f64,
    interval: Option<[f64; 2]>,
}

/// The comparison of two runs, row by row.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// The rows of both runs, including rows that only one run has. Regressions come first.
    pub rows: Vec<ComparedRow>,
    /// Names of the programs that failed in the new run but not in the old one.
    pub failed: Vec<String>,
    /// True if both runs were made on the same kind of CPU, so that times and rates can be
    /// compared.
    pub same_cpu: bool,
}

impl RunComparison {
    /// Compares all rows of two runs. If the runs were made on different CPUs, compares only
    /// ratios.
    pub fn new(old: &RunRecord, new: &RunRecord) -> RunComparison {
        let cpu = |run: &RunRecord| {
            run.first_with_machine()?
                .machine_text("cpu")
                .map(str::to_owned)
        };
        let same_cpu = cpu(old) == cpu(new);
        let mut rows: Vec<ComparedRow> = old
            .rows()
            .map(|(program, row)| {
                let other = new.program(&program.name);
                let found = other.and_then(|other| other.row(&row.id));
                compare_row(program, row, found, same_cpu)
            })
            .collect();
        rows.extend(new.rows().filter_map(|(program, row)| {
            let known = old
                .program(&program.name)
                .is_some_and(|one| one.row(&row.id).is_some());
            let id = format!("{}: {}", program.name, row.id);
            (!known).then_some(ComparedRow {
                id,
                figures: None,
                change: RowChange::New,
            })
        }));
        rows.sort_by_key(|row| row.change);
        let failed = new
            .programs
            .iter()
            .filter(|one| !one.is_complete())
            .filter(|one| {
                let before = old.programs.iter().find(|other| other.name == one.name);
                before.is_none_or(ProgramRecord::is_complete)
            });
        RunComparison {
            rows,
            failed: failed.map(|one| one.name.clone()).collect(),
            same_cpu,
        }
    }

    /// Returns true if a row became slower or is missing in the new run, or if a program failed
    /// only in the new run.
    pub fn is_worse(&self) -> bool {
        let worse = [RowChange::Regression, RowChange::Missing];
        !self.failed.is_empty() || self.rows.iter().any(|row| worse.contains(&row.change))
    }

    /// Returns a text report: the rows that changed, then the number of rows that did not change.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let mut say = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        if !self.same_cpu {
            say("different CPUs: only ratios are compared".to_owned());
        }
        self.failed
            .iter()
            .for_each(|name| say(format!("FAILED      {name}")));
        for row in &self.rows {
            let word = match row.change {
                RowChange::Regression => "REGRESSION",
                RowChange::Missing => "MISSING",
                RowChange::Better => "better",
                RowChange::New => "new",
                RowChange::Same => continue,
            };
            let figures = row.figures.map_or_else(String::new, |(measure, old, new)| {
                let percent = (new.value / old.value - 1.0) * 100.0;
                let old = old.format(measure);
                let new = new.format(measure);
                format!("  {old} -> {new} ({percent:+.1} %)")
            });
            say(format!("{word:<11} {}{figures}", row.id));
        }
        let count = |change| self.rows.iter().filter(|row| row.change == change).count();
        say(format!(
            "{} regressions, {} missing, {} better, {} new, {} within noise",
            count(RowChange::Regression),
            count(RowChange::Missing),
            count(RowChange::Better),
            count(RowChange::New),
            count(RowChange::Same)
        ));
        text
    }
}

impl IntervalValue {
    fn format(self, measure: ComparedQuantity) -> String {
        let text = |value: f64| match measure {
            ComparedQuantity::Floor => format!("{value:.2} x floor"),
            ComparedQuantity::Theirs => format!("{value:.2} x theirs"),
            ComparedQuantity::Time => format_time(value),
            ComparedQuantity::Rate => format_rate(value),
        };
        let ends = self
            .interval
            .map(|ends| format!(" [{}, {}]", text(ends[0]), text(ends[1])));
        format!("{}{}", text(self.value), ends.unwrap_or_default())
    }
}

fn compare_row(
    program: &ProgramRecord,
    row: &Row,
    found: Option<&Row>,
    same_cpu: bool,
) -> ComparedRow {
    let id = format!("{}: {}", program.name, row.id);
    let Some(other) = found else {
        return ComparedRow {
            id,
            figures: None,
            change: RowChange::Missing,
        };
    };
    let measures = [
        ComparedQuantity::Theirs,
        ComparedQuantity::Floor,
        ComparedQuantity::Time,
        ComparedQuantity::Rate,
    ];
    let figures = measures
        .into_iter()
        .filter(|measure| {
            same_cpu || matches!(measure, ComparedQuantity::Theirs | ComparedQuantity::Floor)
        })
        .find_map(|measure| {
            Some((
                measure,
                read_value(row, measure)?,
                read_value(other, measure)?,
            ))
        });
    let change = figures.map_or(RowChange::Same, |(measure, old, new)| {
        judge_change(measure, old, new)
    });
    ComparedRow {
        id,
        figures,
        change,
    }
}

fn read_value(row: &Row, measure: ComparedQuantity) -> Option<IntervalValue> {
    let (value, interval) = match measure {
        ComparedQuantity::Floor => (row.floor_ratio?, row.floor_ratio_ci),
        ComparedQuantity::Theirs => (row.figures.ratio?, row.figures.ratio_ci),
        ComparedQuantity::Time => (row.ns?.p50, row.spread.map(|spread| spread.p50_ci)),
        ComparedQuantity::Rate => (row.msgs_per_s?, row.msgs_per_s_ci),
    };
    (value > 0.0).then_some(IntervalValue { value, interval })
}

/// Returns [`RowChange::Regression`] or [`RowChange::Better`] if the intervals do not overlap and
/// the values differ by more than noise. Otherwise returns [`RowChange::Same`].
fn judge_change(measure: ComparedQuantity, old: IntervalValue, new: IntervalValue) -> RowChange {
    let more_is_better = matches!(measure, ComparedQuantity::Rate | ComparedQuantity::Theirs);
    let slower = if more_is_better {
        old.value / new.value
    } else {
        new.value / old.value
    };
    let (apart, noise) = match (old.interval, new.interval) {
        (Some(old), Some(new)) => (old[1] < new[0] || new[1] < old[0], NOISE_MIN),
        _ => (true, NOISE_WITHOUT_INTERVAL),
    };
    match slower {
        slower if apart && slower > 1.0 + noise => RowChange::Regression,
        slower if apart && slower < 1.0 / (1.0 + noise) => RowChange::Better,
        _ => RowChange::Same,
    }
}
