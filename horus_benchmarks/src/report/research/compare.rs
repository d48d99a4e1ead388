//! Compares two runs of the benchmarks, and finds the rows that became slower by more than noise.

use crate::measure::state::MachineState;
use crate::report::goals::{self, Verdict};
use crate::report::research::quantity::{ComparedQuantity, QUANTITIES, ValueWithInterval};
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

/// A quantity, its old value, and its new value, which may be missing.
type ComparedValues = (
    ComparedQuantity,
    ValueWithInterval,
    Option<ValueWithInterval>,
);

/// A row that one or both of the compared runs have, and one quantity by which it was compared.
#[derive(Debug, Clone)]
pub struct ComparedRow {
    /// The name of the program that measured the row, and the id of the row.
    pub id: String,
    /// The floor, in nanoseconds, of the machine's state in which the values were compared; `None`
    /// if they were compared without regard to the states of the machine.
    pub floor_ns: Option<f64>,
    /// The quantity, and its old and new value; `None` if one run lacks the row, or if the runs
    /// have no quantity or no state of the machine in common.
    pub figures: Option<ComparedValues>,
    /// The way in which the quantity changed from the old run to the new one.
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
        let mut rows: Vec<ComparedRow> = old
            .rows()
            .flat_map(|(program, row)| {
                compare_row((program, row), find_row(new, program, row), same_cpu)
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
                RowChange::OtherState | RowChange::NotCompared | RowChange::Same => continue,
            };
            let state = row
                .floor_ns
                .map_or_else(String::new, |floor_ns| format!(" (floor {floor_ns:.0} ns)"));
            let figures = row.figures.map_or_else(String::new, describe_values);
            say(format!("{word:<11} {}{state}{figures}", row.id));
        }
        let missed = self.missed_goals.iter();
        missed.for_each(|line| say(format!("goal missed {line}")));
        let losses = self.new_losses.iter();
        losses.for_each(|line| say(format!("losses      {line}")));
        let count = |change| self.rows.iter().filter(|row| row.change == change).count();
        say(format!(
            "{} regressions, {} missing, {} better, {} new, {} in other states of the machine, \
             {} not compared, {} within noise",
            count(RowChange::Regression),
            count(RowChange::Missing),
            count(RowChange::Better),
            count(RowChange::New),
            count(RowChange::OtherState),
            count(RowChange::NotCompared),
            count(RowChange::Same)
        ));
        text
    }
}

/// Returns a text with the old and the new value of a quantity.
fn describe_values((measure, old, new): ComparedValues) -> String {
    let before = old.format(measure);
    let Some(new) = new else {
        return format!("  {before} -> no value above 0");
    };
    let change = match measure.noise {
        Some(_) => format!("{:+.0}", new.value - old.value),
        None => format!("{:+.1} %", (new.value / old.value - 1.0) * 100.0),
    };
    format!("  {before} -> {} ({change})", new.format(measure))
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
    let pairs = old.programs.iter().filter_map(|program| {
        let other = new.program(&program.name)?;
        Some((&program.name, program.verdicts(), other.verdicts()))
    });
    let lines = pairs.flat_map(|(name, before, after)| {
        let missed = |one: Verdict| {
            let is_same = |other: &&Verdict| other.id == one.id && other.goal == one.goal;
            let now = after.iter().find(is_same)?;
            let Verdict {
                id,
                goal,
                measured,
                verdict,
            } = now;
            (one.is_met() && !now.is_met()).then(|| {
                let was = &one.measured;
                format!("{name}: {id}  {goal}: {was} -> {measured}: {verdict}")
            })
        };
        before.into_iter().filter_map(missed).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Returns a text for each row that lost messages in the new run and none in the old one.
fn list_new_losses(old: &RunRecord, new: &RunRecord) -> Vec<String> {
    let lossless = old.rows().filter(|(_, row)| row.lost() == 0);
    let lines = lossless.filter_map(|(program, row)| {
        let (_, found) = find_row(new, program, row)?;
        let (sent, lost) = (found.sent(), found.lost());
        let line = || {
            format!(
                "{}: {}  {lost} of {sent}, none before",
                program.name, row.id
            )
        };
        (lost > 0).then(line)
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
    let whole = |figures, change| ComparedRow::of_row(program, row, figures, change);
    let Some((other_program, other)) = found else {
        return vec![whole(None, RowChange::Missing)];
    };
    let mut has_general = false;
    let mut all = Vec::new();
    for measure in QUANTITIES {
        let Some(old) = (measure.read)(row, &program.settings) else {
            continue;
        };
        let new = (measure.read)(other, &other_program.settings);
        // WHY also without a new value: the new run may have another general quantity.
        let is_wanted = (measure.is_general && (new.is_none() || !has_general))
            || goals::has_goal(&row.id, measure.goal_pointer);
        if !is_wanted || !(same_cpu || measure.is_ratio) {
            continue;
        }
        has_general |= measure.is_general && new.is_some();
        let Some(new) = new else {
            all.push(whole(Some((measure, old, None)), RowChange::Missing));
            continue;
        };
        let states =
            [program, other_program].map(|one| goals::recorded_states(&one.settings, &row.id));
        if !(measure.is_general && measure.is_ratio) || states.iter().any(Vec::is_empty) {
            let change = judge_change(measure, old, new);
            all.push(whole(Some((measure, old, Some(new))), change));
            continue;
        }
        let in_states = compare_states(measure, &states);
        let worst = in_states.into_iter().min_by_key(|(change, ..)| *change);
        all.push(worst.map_or_else(
            || whole(None, RowChange::OtherState),
            |(change, floor_ns, old, new)| ComparedRow {
                floor_ns: Some(floor_ns),
                ..whole(Some((measure, old, Some(new))), change)
            },
        ));
    }
    if all.is_empty() {
        all.push(whole(None, RowChange::NotCompared));
    }
    all
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
    if let Some(noise) = measure.noise {
        return match new.value - old.value {
            worse if worse > noise => RowChange::Regression,
            better if better < -noise => RowChange::Better,
            _ => RowChange::Same,
        };
    }
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
