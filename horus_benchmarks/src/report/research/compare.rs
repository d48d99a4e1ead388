//! Compares two runs of the benchmarks, and finds the rows that became slower by more than noise.

use minijinja::value::Serde;
use serde::Serialize;

use crate::measure::stats;
use crate::report::goals::{self, MeasuredValue, Quantity, Verdict};
use crate::report::research::record::{ProgramRecord, RunRecord};
use crate::report::rows::Row;
use crate::report::template::new_template_engine;

/// Relative change below which a difference always counts as noise.
pub const NOISE_RELATIVE_CHANGE_MAX: f64 = 0.05;

/// Relative change below which a difference counts as noise if one side has a single run, or if
/// the quantity is one of a whole run, such as a 99th percentile. WHY: a
/// confidence interval describes one run, and the next run of the same commit on the same machine
/// may differ by far more.
const NOISE_RELATIVE_CHANGE_OF_ONE_RUN_MAX: f64 = 0.25;

/// The template of the text that [`RunComparison::render`] returns.
const COMPARISON_TEMPLATE: &str = include_str!("compare.txt");

/// The difference in one row between the old and the new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum RowChange {
    /// The quantity became worse by more than noise.
    Regression,
    /// The old run has the row or its quantity, but the new run does not.
    Missing,
    /// The quantity became better by more than noise.
    Better,
    /// The new run has the row, but the old run does not.
    New,
    /// The machine was in other states in the new run than in the old one, so that the two cannot
    /// be compared.
    OtherState,
    /// The two runs have no quantity of the row that can be compared, or measured it in other ways.
    NotCompared,
    /// The difference cannot be distinguished from noise.
    Same,
    /// There were too few rounds for a confidence interval, or the record has none.
    NoInterval,
}

/// A row that one or both of the compared runs have, and one quantity by which it was compared.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedRow {
    /// The name of the program that measured the row, and the id of the row.
    pub id: String,
    /// The floor, in nanoseconds, of the machine's state in which the values were compared; `None`
    /// if they were compared without regard to the states of the machine.
    pub floor_ns: Option<f64>,
    /// A text with the old and the new value of the quantity; `None` if one run lacks the row, or
    /// if the runs have no quantity or no state of the machine in common.
    pub values_text: Option<String>,
    /// The way in which the quantity changed from the old run to the new one.
    pub change: RowChange,
}

impl ComparedRow {
    /// Returns a row without a quantity.
    fn new(program: &ProgramRecord, row: &Row, change: RowChange) -> ComparedRow {
        ComparedRow {
            id: format!("{}: {}", program.name, row.id),
            floor_ns: None,
            values_text: None,
            change,
        }
    }
}

/// The comparison of the benchmark runs of two commits, row by row.
#[derive(Debug, Clone, Serialize)]
pub struct RunComparison {
    /// The rows of both runs, including those that only one run has. A row that was compared by
    /// several quantities is there once for each. Those that became worse come first.
    pub rows: Vec<ComparedRow>,
    /// A text for each goal that the first old run met and the first new run missed, even if by
    /// less than noise. Empty for different kinds of CPUs.
    pub missed_goals: Vec<String>,
    /// A text for each row that lost messages in the first new run and none in the first old one.
    pub new_losses: Vec<String>,
    /// Names of the programs that failed in the new run but not in the old run.
    pub failed: Vec<String>,
    /// True if both runs were made on the same kind of CPU. Only then can times and rates be
    /// compared.
    pub same_cpu: bool,
}

impl RunComparison {
    /// Compares all rows of several runs of one commit with those of several runs of another one.
    /// If the runs were made on different kinds of CPUs, compares only ratios.
    ///
    /// # Panics
    ///
    /// If one side has no runs.
    pub fn of_runs(old: &[RunRecord], new: &[RunRecord]) -> RunComparison {
        let runs = || old.iter().chain(new);
        let same_cpu = runs().all(|run| run.cpu_model() == old[0].cpu_model());
        let of_old = old[0].rows().flat_map(|(program, row)| {
            let find = |run| find_row(run, program, row);
            let old_rows: Vec<_> = old.iter().filter_map(find).collect();
            let new_rows: Vec<_> = new.iter().filter_map(find).collect();
            compare_row(&old_rows, &new_rows, same_cpu)
        });
        let mut rows: Vec<ComparedRow> = of_old.collect();
        let added = new[0].rows();
        let added = added.filter(|(program, row)| find_row(&old[0], program, row).is_none());
        rows.extend(added.map(|(program, row)| ComparedRow::new(program, row, RowChange::New)));
        rows.sort_by_key(|row| row.change);
        let programs = new.iter().flat_map(|run| &run.programs);
        let failed = programs.filter(|one| {
            let mut before = old.iter().flat_map(|run| &run.programs);
            let before = before.find(|other| other.name == one.name);
            !one.is_complete() && before.is_none_or(ProgramRecord::is_complete)
        });
        let mut failed: Vec<String> = failed.map(|one| one.name.clone()).collect();
        failed.dedup();
        let missed_goals = same_cpu.then(|| list_missed_goals(&old[0], &new[0]));
        RunComparison {
            rows,
            missed_goals: missed_goals.unwrap_or_default(),
            new_losses: list_new_losses(&old[0], &new[0]),
            failed,
            same_cpu,
        }
    }

    /// Returns true if a quantity became worse or is missing in the new run, or if a program failed
    /// only in the new run. New losses do not count. WHY: a program fails if it loses a message
    /// that it must not lose.
    pub fn is_worse(&self) -> bool {
        let worse = [RowChange::Regression, RowChange::Missing];
        !self.failed.is_empty() || self.rows.iter().any(|row| worse.contains(&row.change))
    }

    /// Returns the comparison as text: the rows that changed, then the number of rows that did not
    /// change.
    pub fn render(&self) -> String {
        let text = new_template_engine().render_str(COMPARISON_TEMPLATE, Serde(self));
        text.expect("a constant, valid template") + "\n"
    }
}

/// Returns a text with the old and the new value of a quantity.
fn describe_values(quantity: &Quantity, old: MeasuredValue, new: Option<MeasuredValue>) -> String {
    let before = quantity.describe_value(old);
    let Some(new) = new else {
        return format!("  {before} -> no value above 0");
    };
    let change = match quantity.noise {
        Some(_) => format!("{:+.0}", new.value - old.value),
        None => format!("{:+.1} %", (new.value / old.value - 1.0) * 100.0),
    };
    format!("  {before} -> {} ({change})", quantity.describe_value(new))
}

/// Returns the row with the id of `row` in `run`, and the record of the same program there.
fn find_row<'a>(
    run: &'a RunRecord,
    program: &ProgramRecord,
    row: &Row,
) -> Option<(&'a ProgramRecord, &'a Row)> {
    let other = run.program(&program.name)?;
    Some((other, other.row(&row.id)?))
}

/// Returns a text for each goal that the old run met and the new run missed. Leaves out goals whose
/// limit has changed.
fn list_missed_goals(old: &RunRecord, new: &RunRecord) -> Vec<String> {
    let mut texts = Vec::new();
    for program in &old.programs {
        let Some(other) = new.program(&program.name) else {
            continue;
        };
        let after = other.verdicts();
        for was in program.verdicts() {
            let is_same = |one: &&Verdict| one.id == was.id && one.goal == was.goal;
            let now = after.iter().find(is_same);
            if let Some(now) = now.filter(|now| was.is_met() && now.is_missed()) {
                texts.push(format!(
                    "{}: {}  {}: {} -> {}: {}",
                    program.name, now.id, now.goal, was.measured, now.measured, now.verdict
                ));
            }
        }
    }
    texts
}

/// Returns a text for each row that lost messages in the new run and none in the old one.
fn list_new_losses(old: &RunRecord, new: &RunRecord) -> Vec<String> {
    let lossless = old.rows().filter(|(_, row)| row.lost_messages() == 0);
    let lines = lossless.filter_map(|(program, row)| {
        let (_, found) = find_row(new, program, row)?;
        let (sent, lost) = (found.sent_messages(), found.lost_messages());
        let text = || {
            format!(
                "{}: {}  {lost} of {sent}, none before",
                program.name, row.id
            )
        };
        (lost > 0).then(text)
    });
    lines.collect()
}

/// A row in one run, and the record of its program.
type RowOfRun<'a> = (&'a ProgramRecord, &'a Row);

/// Compares a row of the old runs with the same row of the new runs, by the first general quantity
/// that both have, and by each one for which the row has a goal.
fn compare_row(
    old_rows: &[RowOfRun<'_>],
    new_rows: &[RowOfRun<'_>],
    same_cpu: bool,
) -> Vec<ComparedRow> {
    let (program, row) = old_rows[0];
    if new_rows.is_empty() {
        return vec![ComparedRow::new(program, row, RowChange::Missing)];
    }
    let method = describe_method(old_rows[0]);
    if new_rows.iter().any(|new| describe_method(*new) != method) {
        let values_text = Some("  measured in another way".to_owned());
        return vec![ComparedRow {
            values_text,
            ..ComparedRow::new(program, row, RowChange::NotCompared)
        }];
    }
    let mut has_general = false;
    let mut all = Vec::new();
    for quantity in goals::all_quantities() {
        let Some(old) = read_values_of_runs(quantity, old_rows) else {
            continue;
        };
        let new = read_values_of_runs(quantity, new_rows);
        // WHY also without a new value: the new run may have another general quantity.
        let is_wanted = (quantity.is_general && (new.is_none() || !has_general))
            || quantity.has_goal_for_row(&row.id);
        if !is_wanted || !(same_cpu || quantity.is_ratio) {
            continue;
        }
        has_general |= quantity.is_general && new.is_some();
        let compared = match new {
            Some(new) => compare_values(quantity, old_rows, new_rows, (old, new)),
            None => vec![ComparedRow {
                values_text: Some(describe_values(quantity, old, None)),
                ..ComparedRow::new(program, row, RowChange::Missing)
            }],
        };
        let worst = compared.into_iter().min_by_key(|one| one.change);
        all.push(worst.unwrap_or_else(|| ComparedRow::new(program, row, RowChange::OtherState)));
    }
    if all.is_empty() {
        all.push(ComparedRow::new(program, row, RowChange::NotCompared));
    }
    all
}

/// Returns the text that says how a row was measured, without its numbers. Returns no text for a
/// comparison with the best peer, which may be another one in each run.
fn describe_method((program, row): RowOfRun<'_>) -> String {
    let method = match row.id.starts_with("vs_best_peer/") {
        true => "",
        false => program.measurement_method(&row.id),
    };
    method
        .chars()
        .filter(|letter| !letter.is_ascii_digit() && *letter != '.')
        .collect()
}

/// Returns the value of a quantity in several runs, without regard to the states of the machine;
/// `None` if no run has a value.
fn read_values_of_runs(quantity: &Quantity, runs: &[RowOfRun<'_>]) -> Option<MeasuredValue> {
    let rows = runs
        .iter()
        .map(|(program, row)| goals::row_json_with_ratios(row, &program.settings));
    merge_values_of_runs(rows.filter_map(|row| quantity.read_comparable_value(&row)))
}

/// Returns the median of the values of several runs, and the range that contains their intervals,
/// if all have one. Returns `None` if there are no values.
fn merge_values_of_runs(values: impl Iterator<Item = MeasuredValue>) -> Option<MeasuredValue> {
    let values: Vec<MeasuredValue> = values.collect();
    let intervals: Option<Vec<[f64; 2]>> = values.iter().map(|one| one.interval).collect();
    let interval = intervals.and_then(|all| {
        let hull = |one: [f64; 2], other: [f64; 2]| [one[0].min(other[0]), one[1].max(other[1])];
        all.into_iter().reduce(hull)
    });
    let mut medians: Vec<f64> = values.iter().map(|one| one.value).collect();
    (!medians.is_empty()).then(|| MeasuredValue {
        value: stats::median(&mut medians),
        interval,
    })
}

/// Compares a quantity in each state of the machine that both sides were in, or by
/// `overall_values`, the values of all rounds, if a run has no states. Returns a row for each.
fn compare_values(
    quantity: &Quantity,
    old_rows: &[RowOfRun<'_>],
    new_rows: &[RowOfRun<'_>],
    overall_values: (MeasuredValue, MeasuredValue),
) -> Vec<ComparedRow> {
    let (program, row) = old_rows[0];
    let states =
        |(program, row): &RowOfRun<'_>| quantity.machine_states(&program.settings, &row.id);
    let states_of = |runs: &[RowOfRun<'_>]| runs.iter().map(states).collect::<Vec<_>>();
    let [old_states, new_states] = [old_rows, new_rows].map(states_of);
    let judge = |old: MeasuredValue, new: MeasuredValue, runs: usize, floor_ns| ComparedRow {
        floor_ns,
        values_text: Some(describe_values(quantity, old, Some(new))),
        ..ComparedRow::new(program, row, judge_change(quantity, old, new, runs))
    };
    if old_states.iter().chain(&new_states).any(Vec::is_empty) {
        return vec![judge(
            overall_values.0,
            overall_values.1,
            old_rows.len().min(new_rows.len()),
            None,
        )];
    }
    let [old_states, new_states] = [old_states.concat(), new_states.concat()];
    let mut compared = Vec::new();
    for (index, state) in old_states.iter().enumerate() {
        if old_states[..index]
            .iter()
            .any(|other| other.is_same_as(state))
        {
            continue;
        }
        let [old, new] = [&old_states, &new_states].map(|states| {
            let own = states.iter().filter(|other| other.is_same_as(state));
            own.map(MeasuredValue::from_state).collect::<Vec<_>>()
        });
        let runs = old.len().min(new.len());
        if let (Some(old), Some(new)) = (
            merge_values_of_runs(old.into_iter()),
            merge_values_of_runs(new.into_iter()),
        ) {
            compared.push(judge(old, new, runs, Some(state.floor_ns)));
        }
    }
    compared
}

/// Returns [`RowChange::Regression`] or [`RowChange::Better`] if the ranges of the old and the new
/// values do not overlap, and the values differ by more than noise. `run_count` is the number of
/// runs on the side that has fewer.
fn judge_change(
    quantity: &Quantity,
    old: MeasuredValue,
    new: MeasuredValue,
    run_count: usize,
) -> RowChange {
    if let Some(noise) = quantity.noise {
        return match new.value - old.value {
            worse if worse > noise => RowChange::Regression,
            better if better < -noise => RowChange::Better,
            _ => RowChange::Same,
        };
    }
    let slower = if quantity.more_is_better() {
        old.value / new.value
    } else {
        new.value / old.value
    };
    let apart = match (old.interval, new.interval) {
        (Some(old), Some(new)) => old[1] < new[0] || new[1] < old[0],
        _ if quantity.has_confidence_interval() => return RowChange::NoInterval,
        _ => true,
    };
    let noise = match run_count {
        2.. if quantity.has_confidence_interval() => NOISE_RELATIVE_CHANGE_MAX,
        _ => NOISE_RELATIVE_CHANGE_OF_ONE_RUN_MAX,
    };
    match slower {
        slower if apart && slower > 1.0 + noise => RowChange::Regression,
        slower if apart && slower < 1.0 / (1.0 + noise) => RowChange::Better,
        _ => RowChange::Same,
    }
}
