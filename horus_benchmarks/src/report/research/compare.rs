//! Compares two runs of the benchmarks, and finds the rows that became slower by more than noise.

use crate::measure::state::MachineState;
use crate::report::goals;
use crate::report::research::record::{ProgramRecord, RunRecord};
use crate::report::rows::Row;
use crate::report::template::{format_rate, format_time};

/// Relative change below which a difference always counts as noise. WHY: a confidence interval
/// describes one run, and the next run on the same machine may differ by more.
pub const NOISE_CHANGE_MAX: f64 = 0.05;

/// Relative change below which a difference counts as noise if one of the two values has no
/// confidence interval.
const NOISE_CHANGE_WITHOUT_INTERVAL_MAX: f64 = 0.25;

/// A quantity by which rows are compared.
#[derive(Debug, Clone, Copy)]
pub struct ComparedQuantity {
    read: fn(&Row) -> Option<ValueWithInterval>,
    format: fn(f64) -> String,
    /// True if the quantity is a ratio, which can be compared between different machines.
    is_ratio: bool,
    more_is_better: bool,
}

/// All quantities: the ratio of a peer's time to ours or of our rate to the peer's, the ratio to
/// the floor, the median time, and the rate. A row is compared by the first one that both runs
/// have.
const QUANTITIES: [ComparedQuantity; 4] = [
    ComparedQuantity {
        read: |row| ValueWithInterval::above_0(row.figures.ratio, row.figures.ratio_ci),
        format: |value| format!("{value:.2} x theirs"),
        is_ratio: true,
        more_is_better: true,
    },
    ComparedQuantity {
        read: |row| ValueWithInterval::above_0(row.floor_ratio, row.floor_ratio_ci),
        format: |value| format!("{value:.2} x floor"),
        is_ratio: true,
        more_is_better: false,
    },
    ComparedQuantity {
        read: |row| {
            ValueWithInterval::above_0(row.ns.map(|ns| ns.p50), row.spread.map(|one| one.p50_ci))
        },
        format: format_time,
        is_ratio: false,
        more_is_better: false,
    },
    ComparedQuantity {
        read: |row| ValueWithInterval::above_0(row.msgs_per_s, row.msgs_per_s_ci),
        format: format_rate,
        is_ratio: false,
        more_is_better: true,
    },
];

/// The difference in one row between the old and the new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowChange {
    /// The row became slower by more than noise.
    Regression,
    /// The old run has the row, but the new run does not.
    Missing,
    /// The row became faster by more than noise.
    Better,
    /// The new run has the row, but the old run does not.
    New,
    /// The machine was in other states in the new run than in the old one, so that the two cannot
    /// be compared.
    OtherState,
    /// The difference cannot be distinguished from noise.
    Same,
}

/// A quantity, and its old and new value.
type ComparedValues = (ComparedQuantity, ValueWithInterval, ValueWithInterval);

/// A row that one or both of the compared runs have.
#[derive(Debug, Clone)]
pub struct ComparedRow {
    /// The name of the program that measured the row, and the id of the row.
    pub id: String,
    /// The floor, in nanoseconds, of the machine's state in which the values were compared; `None`
    /// if they were compared without regard to the states of the machine.
    pub floor_ns: Option<f64>,
    /// The quantity by which the row was compared, and its old and new value; `None` if one run
    /// lacks the row, or if the machine was in no state ([`MachineState`]) that the two runs have
    /// in common.
    pub figures: Option<ComparedValues>,
    /// The way in which the row changed from the old run to the new one.
    pub change: RowChange,
}

impl ComparedRow {
    /// Returns a row that was compared without regard to the states of the machine.
    fn of_row(
        program: &ProgramRecord,
        row: &Row,
        figures: Option<ComparedValues>,
        change: RowChange,
    ) -> ComparedRow {
        ComparedRow {
            id: format!("{}: {}", program.name, row.id),
            floor_ns: None,
            figures,
            change,
        }
    }
}

/// A value and its 95 % confidence interval, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueWithInterval {
    value: f64,
    interval: Option<[f64; 2]>,
}

/// The comparison of two benchmark runs, row by row.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// The rows of both runs, including those that only one run has. The rows that became slower
    /// come first.
    pub rows: Vec<ComparedRow>,
    /// Names of the programs that failed in the new run but not in the old run.
    pub failed: Vec<String>,
    /// True if both runs were made on the same kind of CPU. Only then can times and rates be
    /// compared.
    pub same_cpu: bool,
}

impl RunComparison {
    /// Compares all rows of two runs. If the runs were made on different kinds of CPUs, compares
    /// only ratios.
    pub fn new(old: &RunRecord, new: &RunRecord) -> RunComparison {
        let same_cpu = old.cpu_model() == new.cpu_model();
        let mut rows: Vec<ComparedRow> = old
            .rows()
            .map(|(program, row)| {
                let other = new.program(&program.name);
                let found = other.and_then(|other| Some((other, other.row(&row.id)?)));
                compare_row((program, row), found, same_cpu)
            })
            .collect();
        rows.extend(new.rows().filter_map(|(program, row)| {
            let before = old.program(&program.name);
            let is_known = before.is_some_and(|one| one.row(&row.id).is_some());
            (!is_known).then(|| ComparedRow::of_row(program, row, None, RowChange::New))
        }));
        rows.sort_by_key(|row| row.change);
        let failed = new.programs.iter().filter(|one| {
            let before = old.programs.iter().find(|other| other.name == one.name);
            !one.is_complete() && before.is_none_or(ProgramRecord::is_complete)
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

    /// Returns the comparison as text: the rows that changed, then the number of rows that did not
    /// change.
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
                RowChange::OtherState | RowChange::Same => continue,
            };
            let state = row
                .floor_ns
                .map_or_else(String::new, |floor_ns| format!(" (floor {floor_ns:.0} ns)"));
            let figures = row.figures.map_or_else(String::new, |(measure, old, new)| {
                let percent = (new.value / old.value - 1.0) * 100.0;
                let old = old.format(measure);
                let new = new.format(measure);
                format!("  {old} -> {new} ({percent:+.1} %)")
            });
            say(format!("{word:<11} {}{state}{figures}", row.id));
        }
        let count = |change| self.rows.iter().filter(|row| row.change == change).count();
        say(format!(
            "{} regressions, {} missing, {} better, {} new, {} in other states of the machine, \
             {} within noise",
            count(RowChange::Regression),
            count(RowChange::Missing),
            count(RowChange::Better),
            count(RowChange::New),
            count(RowChange::OtherState),
            count(RowChange::Same)
        ));
        text
    }
}

impl ValueWithInterval {
    /// Returns a value with its confidence interval; `None` if there is no value above 0.
    fn above_0(value: Option<f64>, interval: Option<[f64; 2]>) -> Option<ValueWithInterval> {
        let value = value.filter(|value| *value > 0.0)?;
        Some(ValueWithInterval { value, interval })
    }

    /// Returns the ratio of a row in one state of the machine.
    fn of_state(state: &MachineState) -> ValueWithInterval {
        ValueWithInterval {
            value: state.ratio,
            interval: state.ratio_ci,
        }
    }

    fn format(self, measure: ComparedQuantity) -> String {
        let text = measure.format;
        let ends = self
            .interval
            .map(|ends| format!(" [{}, {}]", text(ends[0]), text(ends[1])));
        format!("{}{}", text(self.value), ends.unwrap_or_default())
    }
}

fn compare_row(
    (program, row): (&ProgramRecord, &Row),
    found: Option<(&ProgramRecord, &Row)>,
    same_cpu: bool,
) -> ComparedRow {
    let whole = |figures, change| ComparedRow::of_row(program, row, figures, change);
    let Some((other_program, other)) = found else {
        return whole(None, RowChange::Missing);
    };
    let is_comparable = |measure: &ComparedQuantity| same_cpu || measure.is_ratio;
    let figures = QUANTITIES
        .into_iter()
        .filter(is_comparable)
        .find_map(|measure| {
            let old = (measure.read)(row)?;
            Some((measure, old, (measure.read)(other)?))
        });
    let Some((measure, old, new)) = figures else {
        return whole(None, RowChange::Same);
    };
    let states = [program, other_program].map(|one| goals::recorded_states(&one.settings, &row.id));
    if !measure.is_ratio || states.iter().any(Vec::is_empty) {
        return whole(figures, judge_change(measure, old, new));
    }
    let in_states = compare_states(measure, &states);
    let worst = in_states.into_iter().min_by_key(|(change, ..)| *change);
    worst.map_or_else(
        || whole(None, RowChange::OtherState),
        |(change, floor_ns, old, new)| ComparedRow {
            floor_ns: Some(floor_ns),
            ..whole(Some((measure, old, new)), change)
        },
    )
}

/// Compares the ratios of one row in each state of the machine that both runs have. Returns for
/// each such state the change, the floor in nanoseconds, and the old and the new ratio.
fn compare_states(
    measure: ComparedQuantity,
    [old, new]: &[Vec<MachineState>; 2],
) -> Vec<(RowChange, f64, ValueWithInterval, ValueWithInterval)> {
    let common = old.iter().filter_map(|state| {
        let other = new.iter().find(|other| other.is_same_as(state))?;
        let [before, after] = [state, other].map(ValueWithInterval::of_state);
        let change = judge_change(measure, before, after);
        Some((change, state.floor_ns, before, after))
    });
    common.collect()
}

/// Returns [`RowChange::Regression`] or [`RowChange::Better`] if the confidence intervals of the
/// old and the new value do not overlap and the values differ by more than noise. Otherwise returns
/// [`RowChange::Same`].
fn judge_change(
    measure: ComparedQuantity,
    old: ValueWithInterval,
    new: ValueWithInterval,
) -> RowChange {
    let slower = if measure.more_is_better {
        old.value / new.value
    } else {
        new.value / old.value
    };
    let (apart, noise) = match (old.interval, new.interval) {
        (Some(old), Some(new)) => (old[1] < new[0] || new[1] < old[0], NOISE_CHANGE_MAX),
        _ => (true, NOISE_CHANGE_WITHOUT_INTERVAL_MAX),
    };
    match slower {
        slower if apart && slower > 1.0 + noise => RowChange::Regression,
        slower if apart && slower < 1.0 / (1.0 + noise) => RowChange::Better,
        _ => RowChange::Same,
    }
}
