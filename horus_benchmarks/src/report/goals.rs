//! The goals for the most important rows of the reports, and their comparison with the measured
//! values. A missed goal is not an error, but a report always says that it was missed, whatever the
//! reason.

use minijinja::context;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::measure::state::MachineState;
use crate::report::rows::{self, Report, Row};
use crate::report::table::empty_table;
use crate::report::template::fill_template;
use crate::report::versus;

/// Key in the JSON settings of a report. Under it, the report stores for each row the smallest, the
/// median and the largest floor (fastest possible exchange between two cores) of its rounds, in
/// nanoseconds.
pub const FLOOR_NS_KEY: &str = "floor_ns";

/// Key in the JSON settings of a report. Under it, the report stores for each row the ratio to the
/// floor (fastest possible exchange between two cores) in each [`MachineState`].
pub const FLOOR_RATIO_BY_STATE_KEY: &str = "floor_ratio_by_state";

/// A quantity for which there are goals, with templates for the texts about a goal.
#[derive(Debug, Clone, Copy)]
struct LimitedQuantity {
    /// JSON pointer to the quantity in the value that [`row_with_ratios`] returns.
    pointer: &'static str,
    is_met: fn(value: f64, limit: f64) -> bool,
    /// Template for the text that states the goal, which is the limit of the quantity.
    goal: &'static str,
    /// Template for the text that states the measured value of the quantity.
    measured: &'static str,
}

const BELOW: fn(f64, f64) -> bool = |value, limit| value < limit;
const AT_MOST: fn(f64, f64) -> bool = |value, limit| value <= limit;
const AT_LEAST: fn(f64, f64) -> bool = |value, limit| value >= limit;

const fn quantity(
    pointer: &'static str,
    is_met: fn(f64, f64) -> bool,
    goal: &'static str,
    measured: &'static str,
) -> LimitedQuantity {
    LimitedQuantity {
        pointer,
        is_met,
        goal,
        measured,
    }
}

const P50: LimitedQuantity = quantity(
    "/ns/p50",
    BELOW,
    "< {{ limit|fixed(0) }} ns",
    "{{ value|fixed(2) }} ns",
);
const P99: LimitedQuantity = quantity(
    "/ns/p99",
    BELOW,
    "p99 < {{ (limit / 1000)|fixed(1) }} us",
    "{{ (value / 1000)|fixed(1) }} us",
);
const MEAN: LimitedQuantity = quantity(
    "/ns/mean",
    BELOW,
    "mean < {{ limit|fixed(0) }} ns",
    "{{ value|fixed(1) }} ns",
);
/// The memory that an actor takes, in bytes.
const BYTES_PER_ACTOR: LimitedQuantity = quantity(
    "/bytes_each",
    AT_MOST,
    "<= {{ limit|fixed(0) }} B each",
    "{{ value|fixed(1) }} B",
);
/// The largest resident memory of the process, in MiB.
const PEAK_MEMORY: LimitedQuantity = quantity(
    "/peak_mib",
    AT_MOST,
    "<= {{ limit|fixed(0) }} MiB",
    "{{ value|fixed(1) }} MiB",
);
/// The duration of a scheduler's round divided by the number of its nodes, in nanoseconds.
const NS_PER_NODE: LimitedQuantity = quantity(
    "/ns_per_node",
    AT_MOST,
    "<= {{ limit|fixed(0) }} ns a node",
    "{{ value|fixed(1) }} ns",
);
/// The processor time of the measured thread, as a percentage of one processor.
const CPU_TIME: LimitedQuantity = quantity(
    "/cpu_percent",
    AT_MOST,
    "<= {{ limit|fixed(0) }} % CPU",
    "{{ value|fixed(2) }} %",
);
/// Difference between the number of ticks and the number of periods that have passed according to
/// the kernel's clock.
const DRIFT_TICKS: LimitedQuantity = quantity(
    "/drift_ticks",
    |value, limit| value.abs() <= limit,
    "+-{{ limit|fixed(0) }} ticks",
    "{{ value|signed }}",
);
const RATE: LimitedQuantity = quantity(
    "/msgs_per_s",
    AT_LEAST,
    ">= {{ (limit / 1000000)|fixed(1) }} M/s",
    "{{ (value / 1000000)|fixed(1) }} M/s",
);
const FLOOR_RATIO: LimitedQuantity = ratio_quantity("/floor", "<= {{ limit|fixed(2) }} x floor");
const FUTEX_RATIO: LimitedQuantity = ratio_quantity(
    "/ratio_to/wakeup~1futex",
    "<= {{ limit|fixed(2) }} x wakeup/futex",
);
const ICEORYX2_RATIO: LimitedQuantity = ratio_quantity(
    "/ratio_to/wakeup~1iceoryx2",
    "<= {{ limit|fixed(2) }} x wakeup/iceoryx2",
);
const MEMORY_RATIO: LimitedQuantity = ratio_quantity(
    "/ratio_to/memory of the best peer",
    "<= {{ limit|fixed(2) }} x memory of the best peer",
);

/// Returns a [`LimitedQuantity`] for a ratio that must not exceed a maximum. The ratio has a 95 %
/// confidence interval.
const fn ratio_quantity(pointer: &'static str, goal: &'static str) -> LimitedQuantity {
    quantity(
        pointer,
        AT_MOST,
        goal,
        "{{ value|fixed(2) }} [{{ low|fixed(2) }}, {{ high|fixed(2) }}]",
    )
}

/// Key in the JSON settings of a report. Under it, the report stores for each pair of compared rows
/// the median ratio and its 95 % confidence interval.
pub const RATIOS_KEY: &str = "ratio_to";

/// Key below [`RATIOS_KEY`] for the memory of our actors, divided by the memory of the best peer.
/// The best peer is the actor runtime of another crate that needs the least memory.
pub const BEST_PEER_MEMORY_KEY: &str = "memory of the best peer";

/// The goals. For each one: the id of the row, the quantity that is limited, and the limit.
const GOALS: [(&str, LimitedQuantity, f64); 58] = [
    ("one_way/same_thread/spsc_shm/16B", P50, 10.0),
    ("one_way/same_thread/fanout_shm/16B", P50, 10.0),
    ("one_way/same_thread/topic/16B", P50, 10.0),
    ("one_way/cross_process/spsc_shm/16B", FLOOR_RATIO, 1.20),
    ("one_way/cross_process/fanout_shm/16B", FLOOR_RATIO, 1.25),
    ("one_way/cross_process/topic/16B", FLOOR_RATIO, 1.25),
    ("one_way/cross_process/spsc_shm/1480B", FLOOR_RATIO, 4.0),
    ("one_way/cross_process/fanout_shm/1480B", FLOOR_RATIO, 4.0),
    ("one_way/cross_process/topic/1480B", FLOOR_RATIO, 4.0),
    ("throughput/cross_process/spsc_shm/16B", RATE, 60e6),
    ("throughput/cross_process/spsc_shm/304B", RATE, 20e6),
    ("one_way/same_thread/direct/16B", P50, 3.0),
    ("wakeup/topic/16B", FUTEX_RATIO, 1.25),
    ("wakeup/topic/16B", ICEORYX2_RATIO, 1.0),
    ("tick/rust/50_nodes", NS_PER_NODE, 40.0),
    ("tick/rust/1000_nodes", NS_PER_NODE, 40.0),
    ("tick/rust/50_nodes/kernel_clock", NS_PER_NODE, 60.0),
    ("lateness/1kHz", P99, 20e3),
    ("lateness/1kHz/quiet", P99, 20e3),
    ("lateness/1kHz", CPU_TIME, 8.0),
    ("lateness/1kHz", DRIFT_TICKS, 1.0),
    ("lateness/1kHz/awake", P99, 20e3),
    ("lateness/1kHz/awake/quiet", P99, 20e3),
    ("lateness/1kHz/awake", CPU_TIME, 8.0),
    ("lateness/1kHz/awake", DRIFT_TICKS, 1.0),
    ("event/wake/16B", FUTEX_RATIO, 2.0),
    ("thread_ring/st/ours", P50, 40.0),
    ("thread_ring/mt/ours", P50, 40.0),
    ("ping_pong/st/ours", P50, 40.0),
    ("ping_pong/mt/ours", P50, 40.0),
    ("parallel_ring/st/ours", P50, 25.0),
    ("parallel_ring/mt/ours", P50, 20.0),
    ("tell/st/ours", P50, 30.0),
    ("tell/mt/ours", P50, 50.0),
    ("ask_task/st/ours", P50, 80.0),
    ("ask/mt/ours", P50, 150.0),
    ("ask_outside/mt/ours", P50, 250.0),
    ("ask_outside/mt/ours", MEAN, 500.0),
    ("create/st/ours", P50, 120.0),
    ("create/st/ours", BYTES_PER_ACTOR, 150.0),
    ("create/mt/ours", P50, 120.0),
    ("create/mt/ours", BYTES_PER_ACTOR, 150.0),
    ("counting/st/ours", P50, 25.0),
    ("counting/mt/ours", P50, 40.0),
    ("counting_all/st/ours", P50, 15.0),
    ("counting_all/mt/ours", P50, 25.0),
    ("producer_consumer/st/ours", P50, 25.0),
    ("producer_consumer/mt/ours", P50, 40.0),
    ("producer_consumer_all/st/ours", P50, 15.0),
    ("producer_consumer_all/mt/ours", P50, 25.0),
    ("blitz/st/ours", RATE, 12e6),
    ("blitz/st/ours", P50, 110e6),
    ("blitz/st/ours", PEAK_MEMORY, 80.0),
    ("blitz/st/ours", MEMORY_RATIO, 0.7),
    ("blitz/mt/ours", RATE, 12e6),
    ("blitz/mt/ours", P50, 110e6),
    ("blitz/mt/ours", PEAK_MEMORY, 80.0),
    ("blitz/mt/ours", MEMORY_RATIO, 0.7),
];

/// Id of the row with the percentage of time in which a CPU runs no thread at all.
pub const STALLS_ROW: &str = "floor/stalls";

/// Last part of the id of a row that contains only samples from times in which the machine was
/// quiet.
pub const QUIET_SUFFIX: &str = "/quiet";

/// Key in the JSON settings of a report. Under it, the report stores the [`Verdict`]s of its run,
/// which refer to the goals at the time of the run.
pub const VERDICTS_KEY: &str = "goals";

/// First word of the verdict on a goal that was met.
const MET_WORD: &str = "met";

/// First word of the verdict on a goal that was not met.
const MISSED_WORD: &str = "missed";

/// The result of comparing a goal with the measured value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The id of the row to which the goal applies.
    pub id: String,
    /// The text that states the goal: the limit, with its unit.
    pub goal: String,
    /// The text that states the measured value, with its confidence interval if it has one.
    pub measured: String,
    /// The word `met` or `missed`, followed by an explanation if there is one.
    pub verdict: String,
}

impl Verdict {
    fn new(id: &str, [goal, measured, verdict]: [String; 3]) -> Verdict {
        Verdict {
            id: id.to_owned(),
            goal,
            measured,
            verdict,
        }
    }

    /// Returns true if the measured value meets the goal.
    pub fn is_met(&self) -> bool {
        self.verdict.starts_with(MET_WORD)
    }
}

/// Returns a verdict for each goal whose row is among `rows`. Reads the ratios between rows, and
/// the states of the machine, from `settings`. If the machine was in two states, a ratio has to
/// meet its goal in both.
pub fn verdicts(rows: &[Row], settings: &Map<String, Value>) -> Vec<Verdict> {
    let find = |id: &str| rows.iter().find(|row| row.id == id);
    let stalls = find(STALLS_ROW).and_then(|row| row.figures.stalled_percent);
    let of_goals = GOALS.into_iter().filter_map(|(id, quantity, limit)| {
        let mut verdict = judge_goal(quantity, limit, &row_with_ratios(find(id)?, settings))?;
        let is_met = |ratio| (quantity.is_met)(ratio, limit);
        let by_state = judge_states(&recorded_states(settings, id), is_met, limit);
        if let Some(by_state) = by_state.filter(|_| quantity.pointer == FLOOR_RATIO.pointer) {
            verdict[2] = by_state;
        }
        let is_stalled = stalls.filter(|percent| *percent > 1.0 && !id.ends_with(QUIET_SUFFIX));
        if let Some(percent) = is_stalled.filter(|_| quantity.pointer == P99.pointer)
            && verdict[2] == MISSED_WORD
        {
            verdict[2] =
                format!("{MISSED_WORD}; the CPU stood still in {percent:.1} % of the time");
        }
        Some(Verdict::new(id, verdict))
    });
    let of_contests = rows.iter().filter_map(|row| {
        let states = recorded_states(settings, &row.id);
        Some(Verdict::new(&row.id, versus::judge_ratio(row, &states)?))
    });
    of_goals.chain(of_contests).collect()
}

/// Returns true if the row `id` has a goal for the quantity with this JSON pointer.
pub(crate) fn has_goal(id: &str, pointer: &str) -> bool {
    let mut goals = GOALS.iter();
    goals.any(|(row, quantity, _)| *row == id && quantity.pointer == pointer)
}

/// Returns the ratio of the row `id` to the row `other` and its interval, as `settings` has them;
/// `None` if they are not recorded.
pub(crate) fn recorded_ratio_to(
    settings: &Map<String, Value>,
    id: &str,
    other: &str,
) -> Option<[f64; 3]> {
    let ratios: Value = rows::value_of_row(settings, RATIOS_KEY, id)?;
    <[f64; 3]>::deserialize(ratios.get(other)?).ok()
}

/// Returns the states of the machine in which the row `id` was measured, as `settings` has them.
/// Returns an empty list if they are not recorded.
pub(crate) fn recorded_states(settings: &Map<String, Value>, id: &str) -> Vec<MachineState> {
    rows::value_of_row(settings, FLOOR_RATIO_BY_STATE_KEY, id).unwrap_or_default()
}

/// Returns the text of a verdict on each state of the machine, missed ones first. Returns `None` if
/// the machine was in one state only.
pub(crate) fn judge_states(
    states: &[MachineState],
    is_met: impl Fn(f64) -> bool,
    limit: f64,
) -> Option<String> {
    let mut verdicts: Vec<(bool, String)> = states
        .iter()
        .map(|state| {
            let is_met = is_met(state.ratio);
            let word = verdict_text(is_met, limit, state.interval());
            (is_met, format!("{word} (floor {:.0} ns)", state.floor_ns))
        })
        .collect();
    verdicts.sort_by_key(|(is_met, _)| *is_met);
    let texts: Vec<String> = verdicts.into_iter().map(|(_, text)| text).collect();
    (texts.len() > 1).then(|| texts.join("; "))
}

/// Returns the JSON of `row`, with additional fields for its ratios to the floor and to other rows,
/// each with its 95 % confidence interval.
fn row_with_ratios(row: &Row, settings: &Map<String, Value>) -> Value {
    let mut value = json!(row);
    if let (Some(ratio), Some([low, high])) = (row.floor_ratio, row.floor_ratio_ci) {
        value["floor"] = json!([ratio, low, high]);
    }
    value["ratio_to"] = rows::value_of_row(settings, RATIOS_KEY, &row.id).unwrap_or_default();
    value
}

/// Returns three texts: the goal, the measured value, and the verdict. Returns `None` if the row
/// does not have the value.
fn judge_goal(quantity: LimitedQuantity, limit: f64, row: &Value) -> Option<[String; 3]> {
    let found = row.pointer(quantity.pointer)?;
    let [value, low, high] = match found.as_f64() {
        Some(value) => [value; 3],
        None => <[f64; 3]>::deserialize(found).ok()?,
    };
    let texts = context! { limit, value, low, high };
    Some([
        fill_template(quantity.goal, texts.clone())?,
        fill_template(quantity.measured, texts)?,
        verdict_text((quantity.is_met)(value, limit), limit, [low, high]),
    ])
}

/// Returns a table of `verdicts` for the rows of `report`; `None` if there are no verdicts.
pub fn verdict_table(report: &Report, verdicts: &[Verdict]) -> Option<String> {
    let floor = "floor ns (min/p50/max)";
    let mut table = empty_table(&["id", "goal", "measured", "verdict", floor, "by state"]);
    for one in verdicts {
        let floor = describe_floor(report, &one.id);
        let states = describe_states(report, &one.id);
        table.add_row([
            &one.id,
            &one.goal,
            &one.measured,
            &one.verdict,
            &floor,
            &states,
        ]);
    }
    (!verdicts.is_empty()).then(|| format!("Goals\n{table}"))
}

/// Returns the text of a verdict. The text adds that the verdict is uncertain if `limit` lies
/// within the confidence interval of the measured value, which is from `low` to `high`.
pub(crate) fn verdict_text(is_met: bool, limit: f64, [low, high]: [f64; 2]) -> String {
    let word = if is_met { MET_WORD } else { MISSED_WORD };
    let unsure = if low < limit && limit < high {
        ", limit within the interval"
    } else {
        ""
    };
    format!("{word}{unsure}")
}

/// Returns a text with the smallest, the median and the largest floor of the row `id`, in
/// nanoseconds. The text is empty if the row has no floor.
fn describe_floor(report: &Report, id: &str) -> String {
    let floors: Vec<f64> =
        rows::value_of_row(&report.settings, FLOOR_NS_KEY, id).unwrap_or_default();
    let texts = floors.iter().map(|ns| format!("{ns:.0}"));
    texts.collect::<Vec<_>>().join("/")
}

/// If the machine was in two states, returns the ratio and the floor in each of them, such as `1.34
/// at 52 ns, 1.21 at 240 ns`. Otherwise returns an empty text.
fn describe_states(report: &Report, id: &str) -> String {
    let states = recorded_states(&report.settings, id);
    if states.len() < 2 {
        return String::new();
    }
    let text = |state: &MachineState| format!("{:.2} at {:.0} ns", state.ratio, state.floor_ns);
    states.iter().map(text).collect::<Vec<_>>().join(", ")
}
