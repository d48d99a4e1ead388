//! The goals for the most important rows of the reports, and their comparison with the measured
//! values. A missed goal is not an error, but a report always says that it was missed, whatever the
//! reason.

use std::sync::LazyLock;

use minijinja::context;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::measure::state::{self, MachineState};
use crate::measure::stats;
use crate::measure::stream::StreamRecord;
use crate::report::rows::{self, Report, Row};
use crate::report::table::table_with_columns;
use crate::report::template::fill_template;

/// Key in the settings of a report for the smallest, the median and the largest floor (fastest
/// possible exchange between two cores) of each row's rounds, in nanoseconds.
pub const FLOOR_NS_KEY: &str = "floor_ns";

/// Key in the settings of a report for the ratio of each row to the floor in each [`MachineState`].
pub const FLOOR_RATIO_BY_STATE_KEY: &str = "floor_ratio_by_state";

/// Key in the settings of a report for the rate of each row in each [`MachineState`].
pub const RATE_BY_STATE_KEY: &str = "rate_by_state";

/// Key in the settings of a report for the [`StreamRecord`]s of each row. The states of a row
/// without [`RATE_BY_STATE_KEY`] are computed from them.
pub const STREAMS_KEY: &str = "streams";

/// Key in the settings of a report for ratios between rows, each with its 95 % confidence interval.
pub const RATIOS_KEY: &str = "ratio_to";

/// Key below [`RATIOS_KEY`] for the memory of our actors, divided by the memory of the best peer.
/// The best peer is the actor runtime of another crate that needs the least memory.
pub const BEST_PEER_MEMORY_KEY: &str = "memory of the best peer";

/// Key in the settings of a report for the [`Verdict`]s of its run, which refer to the goals at the
/// time of the run.
pub const VERDICTS_KEY: &str = "goals";

/// Id of the row with the percentage of time in which a CPU runs no thread at all.
pub const STALLS_ROW_ID: &str = "floor/stalls";

/// Last part of the id of a row that contains only samples from times in which the machine was
/// quiet.
pub const QUIET_ROW_ID_SUFFIX: &str = "/quiet";

/// First word of the verdict on a goal that was met.
const MET_VERDICT: &str = "met";

/// First word of the verdict on a goal that was not met.
const MISSED_VERDICT: &str = "missed";

/// The verdict on a goal for a value of so few rounds that it has no confidence interval. The goal
/// counts neither as met nor as missed.
const TOO_FEW_ROUNDS_VERDICT: &str = "too few rounds for a verdict";

/// The name of the ratio to a peer.
const RATIO_QUANTITY: &str = "ratio";

/// All quantities and goals.
static GOALS: LazyLock<Goals> = LazyLock::new(|| {
    serde_json::from_str(include_str!("goals.json")).expect("a constant, valid list")
});

#[derive(Deserialize)]
struct Goals {
    quantities: Vec<Quantity>,
    /// For each goal: the id of the row, the name of the quantity that is limited, and the limit.
    rows: Vec<(String, String, f64)>,
    /// The goals for rows that compare our library with a peer's. The first one that matches
    /// counts.
    comparisons: Vec<ComparisonGoal>,
}

/// The minimum `ratio` of all rows whose ids begin with `ids`.
#[derive(Deserialize)]
struct ComparisonGoal {
    ids: String,
    min: f64,
}

/// A quantity for which there are goals, or by which the rows of two runs are compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quantity {
    name: String,
    /// JSON pointer to the quantity in the value that [`row_json_with_ratios`] returns. There is a
    /// number, or a list of a number and both ends of its confidence interval.
    value: String,
    /// JSON pointer to the confidence interval, if it is not beside the number.
    interval: Option<String>,
    limit: LimitKind,
    /// True if two runs are compared by the quantity even in rows without a goal for it.
    #[serde(default)]
    pub(crate) is_general: bool,
    /// True if the quantity is a ratio. Only ratios can be compared between different machines.
    #[serde(default)]
    pub(crate) is_ratio: bool,
    /// Key in the settings of a report for the values of each row in each [`MachineState`], if
    /// reports have them.
    states: Option<String>,
    /// The change between two runs that counts as noise, in the unit of the quantity; `None` if
    /// noise is a relative change. WHY: the value may be 0.
    pub(crate) noise: Option<f64>,
    /// Template for the text that states the goal, which is the limit of the quantity.
    goal: String,
    /// Template for the text that states the measured value beside a goal.
    measured: String,
    /// Template for the text that states the value in a comparison of two runs.
    compared: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LimitKind {
    Below,
    AtMost,
    AtLeast,
}

/// A measured value and its confidence interval, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeasuredValue {
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
}

impl MeasuredValue {
    /// Returns the value in a state of the machine, and its interval.
    pub(crate) fn from_state(state: &MachineState) -> MeasuredValue {
        MeasuredValue {
            value: state.ratio,
            interval: state.ratio_interval(),
        }
    }
}

impl Quantity {
    /// Reads the quantity from the value that [`row_json_with_ratios`] returns.
    fn read_value(&self, row: &Value) -> Option<MeasuredValue> {
        let found = row.pointer(&self.value)?;
        if let Ok([value, low, high]) = <[f64; 3]>::deserialize(found) {
            let interval = Some([low, high]);
            return Some(MeasuredValue { value, interval });
        }
        let value = found.as_f64()?;
        let interval = self.interval.as_ref().and_then(|at| row.pointer(at));
        let interval = interval.and_then(|found| Deserialize::deserialize(found).ok());
        Some(MeasuredValue { value, interval })
    }

    /// Reads a value that can be compared with that of another run, which must be above 0. A
    /// quantity whose noise is not relative is compared by its distance from 0.
    pub(crate) fn read_comparable_value(&self, row: &Value) -> Option<MeasuredValue> {
        let found = self.read_value(row)?;
        if self.noise.is_some() {
            let value = found.value.abs();
            return Some(MeasuredValue { value, ..found });
        }
        (found.value > 0.0).then_some(found)
    }

    fn is_met(&self, value: f64, limit: f64) -> bool {
        match self.limit {
            LimitKind::Below => value < limit,
            LimitKind::AtMost => value.abs() <= limit,
            LimitKind::AtLeast => value >= limit,
        }
    }

    pub(crate) fn more_is_better(&self) -> bool {
        self.limit == LimitKind::AtLeast
    }

    /// Returns true if the quantity has a confidence interval, provided that there were enough
    /// rounds. The others are values of a whole run, such as a 99th percentile or a mean.
    pub(crate) fn has_confidence_interval(&self) -> bool {
        self.interval.is_some() || self.is_ratio
    }

    /// Returns the states of the machine in which the row `id` was measured, with the value of the
    /// quantity in each. Returns an empty list if `settings` do not have them.
    pub(crate) fn machine_states(
        &self,
        settings: &Map<String, Value>,
        id: &str,
    ) -> Vec<MachineState> {
        let Some(key) = &self.states else {
            return Vec::new();
        };
        let recorded = rows::row_setting(settings, key, id);
        recorded.unwrap_or_else(|| match &**key {
            RATE_BY_STATE_KEY => machine_states_of_streams(settings, id),
            _ => Vec::new(),
        })
    }

    /// Returns true if the row `id` has a goal for this quantity.
    pub(crate) fn has_goal_for_row(&self, id: &str) -> bool {
        let mut goals = GOALS.rows.iter();
        goals.any(|(row, quantity, _)| row == id && *quantity == self.name)
    }

    /// Returns the text that states a value and its interval in a comparison of two runs.
    pub(crate) fn describe_value(&self, found: MeasuredValue) -> String {
        let text = |value: f64| fill_template(&self.compared, context! { value });
        let text = |value| text(value).expect("a constant, valid template");
        let ends = found.interval.map(|ends| ends.map(text));
        let ends = ends.map(|[low, high]| format!(" [{low}, {high}]"));
        text(found.value) + &ends.unwrap_or_default()
    }

    /// Returns the verdict on `row`, whose quantity has the limit `limit`. If the machine was in
    /// two states, the quantity has to meet the limit in both. Returns `None` if the row does not
    /// have the quantity.
    fn judge_row(&self, limit: f64, row: &Row, settings: &Map<String, Value>) -> Option<Verdict> {
        let mut found = self.read_value(&row_json_with_ratios(row, settings))?;
        let states = self.machine_states(settings, &row.id);
        let rounds = states.iter().map(|state| state.rounds).sum();
        if !states.is_empty() && !stats::has_enough_values_for_interval(rounds) {
            found.interval = None;
        }
        let text = |found: MeasuredValue| {
            let text = |value: f64| fill_template(&self.measured, context! { limit, value });
            let ends = match found.interval {
                Some([low, high]) => format!(" [{}, {}]", text(low)?, text(high)?),
                None => String::new(),
            };
            Some(text(found.value)? + &ends)
        };
        let in_state = |state: &MachineState| {
            let floor = format!(" (floor {:.0} ns)", state.floor_ns);
            Some(text(MeasuredValue::from_state(state))? + &floor)
        };
        // WHY not of all ratios: a ratio does not depend on the floor as a rate does.
        let by_state = states.len() > 1 || (states.len() == 1 && !self.is_ratio);
        let measured = match by_state {
            true => states
                .iter()
                .map(in_state)
                .collect::<Option<Vec<_>>>()?
                .join(", "),
            false => text(found)?,
        };
        Some(Verdict {
            id: row.id.clone(),
            goal: fill_template(&self.goal, context! { limit })?,
            measured,
            verdict: match states.len() {
                ..2 => self.judge_value(limit, found),
                _ => self.judge_states(limit, &states),
            },
        })
    }

    /// Returns the verdict on a value. It says if `limit` lies within the confidence interval of
    /// the value, and if a peer is not slower although a goal below 1 is met.
    fn judge_value(&self, limit: f64, found: MeasuredValue) -> String {
        let is_met = self.is_met(found.value, limit);
        let word = if is_met { MET_VERDICT } else { MISSED_VERDICT };
        let Some([low, high]) = found.interval else {
            let word = if self.has_confidence_interval() {
                TOO_FEW_ROUNDS_VERDICT
            } else {
                word
            };
            return word.to_owned();
        };
        let within = match low < limit && limit < high {
            true => ", limit within the interval",
            false => "",
        };
        let ahead = match self.name == RATIO_QUANTITY && is_met && limit < 1.0 {
            true if high < 1.0 => "; theirs is ahead",
            true if low <= 1.0 => "; neither is ahead",
            _ => "",
        };
        format!("{word}{within}{ahead}")
    }

    /// Returns the verdicts on the values in all `states` of the machine: missed ones first, and
    /// those of too few rounds last.
    fn judge_states(&self, limit: f64, states: &[MachineState]) -> String {
        let judge = |state: &MachineState| {
            let verdict = match state.has_enough_rounds() {
                // Old records have states without an interval.
                true => self.judge_value(
                    limit,
                    MeasuredValue {
                        interval: state.ratio_ci.or(Some([state.ratio; 2])),
                        value: state.ratio,
                    },
                ),
                false => format!("{TOO_FEW_ROUNDS_VERDICT}: {}", state.rounds),
            };
            format!("{verdict} (floor {:.0} ns)", state.floor_ns)
        };
        let mut verdicts: Vec<String> = states.iter().map(judge).collect();
        let words = [MISSED_VERDICT, MET_VERDICT];
        verdicts.sort_by_key(|text| {
            words
                .iter()
                .position(|word| text.starts_with(word))
                .unwrap_or(2)
        });
        verdicts.join("; ")
    }
}

/// Returns all quantities. A row is compared by the first general one that both runs have, and by
/// each one for which it has a goal.
pub(crate) fn all_quantities() -> &'static [Quantity] {
    &GOALS.quantities
}

/// Returns the quantity with this name, which must exist.
pub(crate) fn quantity_by_name(name: &str) -> &'static Quantity {
    let found = all_quantities().iter().find(|one| one.name == name);
    found.expect("the constant list has all quantities of its goals")
}

/// The result of comparing a goal with the measured value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The id of the row to which the goal applies.
    pub id: String,
    /// The text that states the goal: the limit, with its unit.
    pub goal: String,
    /// The text that states the measured value, with its confidence interval if it has one.
    pub measured: String,
    /// The word `met` or `missed`, or that there were too few rounds, followed by an explanation if
    /// there is one.
    pub verdict: String,
}

impl Verdict {
    /// Returns true if the measured value meets the goal.
    pub fn is_met(&self) -> bool {
        self.verdict.starts_with(MET_VERDICT)
    }

    /// Returns true if the measured value does not meet the goal. If there were too few rounds for
    /// a verdict, the goal is neither met nor missed.
    pub fn is_missed(&self) -> bool {
        self.verdict.starts_with(MISSED_VERDICT)
    }
}

/// Returns a verdict for each goal whose row is among `rows`. Reads the ratios between rows, and
/// the states of the machine, from `settings`.
pub fn judge_goals(rows: &[Row], settings: &Map<String, Value>) -> Vec<Verdict> {
    let find = |id: &str| rows.iter().find(|row| row.id == id);
    let stalls = find(STALLS_ROW_ID).and_then(|row| row.additional.stalled_percent);
    let of_goals = GOALS.rows.iter().filter_map(|(id, name, limit)| {
        let mut verdict = quantity_by_name(name).judge_row(*limit, find(id)?, settings)?;
        let is_stalled =
            stalls.filter(|percent| *percent > 1.0 && !id.ends_with(QUIET_ROW_ID_SUFFIX));
        if let Some(percent) = is_stalled.filter(|_| name == "p99" && verdict.is_missed()) {
            let text = format!("; the CPU stood still in {percent:.1} % of the time");
            verdict.verdict.push_str(&text);
        }
        Some(verdict)
    });
    let of_comparisons = rows.iter().filter_map(|row| {
        let mut goals = GOALS.comparisons.iter();
        let min = goals.find(|goal| row.id.starts_with(&goal.ids))?.min;
        let mut verdict = quantity_by_name(RATIO_QUANTITY).judge_row(min, row, settings)?;
        if let Some(dropped) = row.additional.rounds_dropped {
            let text = format!("; {dropped} rounds without a value of the divisor are left out");
            verdict.verdict.push_str(&text);
        }
        Some(verdict)
    });
    of_goals.chain(of_comparisons).collect()
}

/// Computes the states of the machine during the streams of the row `id` that count, with the
/// median rate in each. Returns an empty list if `settings` do not have the streams.
fn machine_states_of_streams(settings: &Map<String, Value>, id: &str) -> Vec<MachineState> {
    let streams: Option<Vec<StreamRecord>> = rows::row_setting(settings, STREAMS_KEY, id);
    let mut streams = streams.unwrap_or_default();
    streams.retain(|stream| stream.counts);
    let floors = streams
        .iter()
        .map(|one| one.floor_ns.iter().sum::<f64>() / 2.0);
    let rates = streams.iter().map(|one| (1.0, one.msgs_per_s));
    state::find_machine_states(&floors.collect::<Vec<_>>(), &rates.collect::<Vec<_>>())
}

/// Returns the JSON of `row`, with its ratios to other rows, each with its 95 % confidence
/// interval. Leaves out an interval of the median that is not one of enough rounds.
pub(crate) fn row_json_with_ratios(row: &Row, settings: &Map<String, Value>) -> Value {
    let mut value = json!(row);
    if !row
        .spread
        .is_some_and(|spread| spread.is_interval_of_rounds())
    {
        value["spread"] = Value::Null;
    }
    value["ratio_to"] = rows::row_setting(settings, RATIOS_KEY, &row.id).unwrap_or_default();
    value
}

/// Returns a table of `verdicts` for the rows of `report`; `None` if there are no verdicts. It also
/// shows the floor of each row, and its ratios if the machine was in two states.
pub fn verdict_table(report: &Report, verdicts: &[Verdict]) -> Option<String> {
    let rows = verdicts.iter().map(|one| {
        let mut value = json!(one);
        value["states"] =
            json!(quantity_by_name(RATIO_QUANTITY).machine_states(&report.settings, &one.id));
        let floor = rows::row_setting(&report.settings, FLOOR_NS_KEY, &one.id);
        value["floor"] = floor.unwrap_or_else(|| json!([]));
        value
    });
    let table = table_with_columns("goals", rows);
    (!verdicts.is_empty()).then(|| format!("Goals\n{table}"))
}
