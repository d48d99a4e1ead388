//! Compares two runs of the benchmarks, and finds the rows that became slower by more than noise.

use crate::measure::state::MachineState;
use crate::report::goals::{self, Measured, Quantity, Verdict};
use crate::report::research::record::{ProgramRecord, RunRecord};
use crate::report::rows::Row;

/// Relative change below which a difference always counts as noise. WHY: a confidence interval
/// describes one run, and the next run on the same machine may differ by more.
pub const NOISE_CHANGE_MAX: f64 = 0.05;

/// Relative change below which a difference counts as noise if one of the two values has no
/// confidence interval.
const NOISE_CHANGE_WITHOUT_INTERVAL_MAX: f64 = 0.25;

/// The difference in one row between the old and the new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The two runs have no quantity of the row that can be compared.
    NotCompared,
    /// The difference cannot be distinguished from noise.
    Same,
}

/// All changes, from the worst to the best. For each one: the word before a row that changed, empty
/// if the row is not listed, and the words behind the number of such rows.
const CHANGES: [(RowChange, &str, &str); 7] = [
    (RowChange::Regression, "REGRESSION", "regressions"),
    (RowChange::Missing, "MISSING", "missing"),
    (RowChange::Better, "better", "better"),
    (RowChange::New, "new", "new"),
    (RowChange::OtherState, "", "in other states of the machine"),
    (RowChange::NotCompared, "", "not compared"),
    (RowChange::Same, "", "within noise"),
];

/// A row that one or both of the compared runs have, and one quantity by which it was compared.
#[derive(Debug, Clone)]
pub struct ComparedRow {
    /// The name of the program that measured the row, and the id of the row.
    pub id: String,
    /// The floor, in nanoseconds, of the machine's state in which the values were compared; `None`
    /// if they were compared without regard to the states of the machine.
    pub floor_ns: Option<f64>,
    /// A text with the old and the new value of the quantity; `None` if one run lacks the row, or
    /// if the runs have no quantity or no state of the machine in common.
    pub figures: Option<String>,
    /// The way in which the quantity changed from the old run to the new one.
    pub change: RowChange,
}

impl ComparedRow {
    /// Returns a row without a quantity.
    fn new(program: &ProgramRecord, row: &Row, change: RowChange) -> ComparedRow {
        ComparedRow {
            id: format!("{}: {}", program.name, row.id),
            floor_ns: None,
            figures: None,
            change,
        }
    }
}

/// The comparison of two benchmark runs, row by row.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// The rows of both runs, including those that only one run has. A row that was compared by
    /// several quantities is there once for each. Those that became worse come first.
    pub rows: Vec<ComparedRow>,
    /// A text for each goal that the old run met and the new run missed, even if by less than
    /// noise. Empty for different kinds of CPUs.
    pub missed_goals: Vec<String>,
    /// A text for each row that lost messages in the new run and none in the old one.
    pub new_losses: Vec<String>,
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
        let of_old = old.rows().flat_map(|(program, row)| {
            compare_row((program, row), find_row(new, program, row), same_cpu)
        });
        let mut rows: Vec<ComparedRow> = of_old.collect();
        let added = new.rows();
        let added = added.filter(|(program, row)| find_row(old, program, row).is_none());
        rows.extend(added.map(|(program, row)| ComparedRow::new(program, row, RowChange::New)));
        rows.sort_by_key(|row| row.change);
        let failed = new.programs.iter().filter(|one| {
            let before = old.programs.iter().find(|other| other.name == one.name);
            !one.is_complete() && before.is_none_or(ProgramRecord::is_complete)
        });
        let missed_goals = same_cpu.then(|| list_missed_goals(old, new));
        RunComparison {
            rows,
            missed_goals: missed_goals.unwrap_or_default(),
            new_losses: list_new_losses(old, new),
            failed: failed.map(|one| one.name.clone()).collect(),
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
        let mut lines = Vec::new();
        if !self.same_cpu {
            lines.push("different CPUs: only ratios are compared".to_owned());
        }
        lines.extend(self.failed.iter().map(|name| format!("FAILED      {name}")));
        for (change, word, _) in CHANGES.iter().filter(|(_, word, _)| !word.is_empty()) {
            for row in self.rows.iter().filter(|row| row.change == *change) {
                let state = row.floor_ns.map(|ns| format!(" (floor {ns:.0} ns)"));
                let state = state.unwrap_or_default();
                let figures = row.figures.as_deref().unwrap_or_default();
                lines.push(format!("{word:<11} {}{state}{figures}", row.id));
            }
        }
        let missed = self.missed_goals.iter();
        lines.extend(missed.map(|text| format!("goal missed {text}")));
        let losses = self.new_losses.iter();
        lines.extend(losses.map(|text| format!("losses      {text}")));
        let counts = CHANGES.map(|(change, _, words)| {
            let rows = self.rows.iter().filter(|row| row.change == change);
            format!("{} {words}", rows.count())
        });
        lines.push(counts.join(", "));
        lines.join("\n") + "\n"
    }
}

/// Returns a text with the old and the new value of a quantity.
fn describe_values(quantity: &Quantity, old: Measured, new: Option<Measured>) -> String {
    let before = quantity.describe(old);
    let Some(new) = new else {
        return format!("  {before} -> no value above 0");
    };
    let change = match quantity.noise {
        Some(_) => format!("{:+.0}", new.value - old.value),
        None => format!("{:+.1} %", (new.value / old.value - 1.0) * 100.0),
    };
    format!("  {before} -> {} ({change})", quantity.describe(new))
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
            if let Some(now) = now.filter(|now| was.is_met() && !now.is_met()) {
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
    let lossless = old.rows().filter(|(_, row)| row.lost() == 0);
    let lines = lossless.filter_map(|(program, row)| {
        let (_, found) = find_row(new, program, row)?;
        let (sent, lost) = (found.sent(), found.lost());
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

/// Compares a row of the old run with the same row of the new run, by the first general quantity
/// that both have, and by each one for which the row has a goal.
fn compare_row(
    (program, row): (&ProgramRecord, &Row),
    found: Option<(&ProgramRecord, &Row)>,
    same_cpu: bool,
) -> Vec<ComparedRow> {
    let Some((other_program, other)) = found else {
        return vec![ComparedRow::new(program, row, RowChange::Missing)];
    };
    let old_row = goals::row_with_ratios(row, &program.settings);
    let new_row = goals::row_with_ratios(other, &other_program.settings);
    let states = [program, other_program].map(|one| goals::recorded_states(&one.settings, &row.id));
    let mut has_general = false;
    let mut all = Vec::new();
    for quantity in goals::quantities() {
        let Some(old) = quantity.read_comparable(&old_row) else {
            continue;
        };
        let new = quantity.read_comparable(&new_row);
        // WHY also without a new value: the new run may have another general quantity.
        let is_wanted =
            (quantity.is_general && (new.is_none() || !has_general)) || quantity.has_goal(&row.id);
        if !is_wanted || !(same_cpu || quantity.is_ratio) {
            continue;
        }
        has_general |= quantity.is_general && new.is_some();
        let pairs = match new {
            Some(_)
                if quantity.is_recorded_by_machine_state()
                    && states.iter().all(|one| !one.is_empty()) =>
            {
                pair_states(&states)
            }
            new => vec![(None, old, new)],
        };
        let compared = pairs.into_iter().map(|(floor_ns, old, new)| ComparedRow {
            floor_ns,
            figures: Some(describe_values(quantity, old, new)),
            ..ComparedRow::new(program, row, judge_change(quantity, old, new))
        });
        let worst = compared.min_by_key(|one| one.change);
        all.push(worst.unwrap_or_else(|| ComparedRow::new(program, row, RowChange::OtherState)));
    }
    if all.is_empty() {
        all.push(ComparedRow::new(program, row, RowChange::NotCompared));
    }
    all
}

/// Returns the ratios of one row in each state of the machine that both runs have, preceded by the
/// floor of the state in nanoseconds.
fn pair_states(
    [old, new]: &[Vec<MachineState>; 2],
) -> Vec<(Option<f64>, Measured, Option<Measured>)> {
    let ratio = |state: &MachineState| Measured {
        value: state.ratio,
        interval: state.ratio_ci,
    };
    let common = old.iter().filter_map(|state| {
        let other = new.iter().find(|other| other.is_same_as(state))?;
        Some((Some(state.floor_ns), ratio(state), Some(ratio(other))))
    });
    common.collect()
}

/// Returns [`RowChange::Regression`] or [`RowChange::Better`] if the confidence intervals of the
/// old and the new value do not overlap and the values differ by more than noise. Otherwise returns
/// [`RowChange::Same`], or [`RowChange::Missing`] if there is no new value.
fn judge_change(quantity: &Quantity, old: Measured, new: Option<Measured>) -> RowChange {
    let Some(new) = new else {
        return RowChange::Missing;
    };
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
