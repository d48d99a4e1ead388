//! Rows that compare our library with a peer's library, whose ids begin with `vs_<peer>/`. Also the
//! minimum ratio that each row should have.

use crate::measure::state::MachineState;
use crate::measure::stats::{self, Ratio};
use crate::report::figures::Figures;
use crate::report::goals;
use crate::report::rows::Row;

/// The quantity in which two libraries are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatencyOrThroughput {
    /// A time in nanoseconds. A smaller value is better.
    Latency,
    /// A number of messages per second. A larger value is better.
    Throughput,
}

impl LatencyOrThroughput {
    /// Returns the name of the quantity in the ids of rows.
    pub const fn id(self) -> &'static str {
        match self {
            LatencyOrThroughput::Latency => "latency",
            LatencyOrThroughput::Throughput => "throughput",
        }
    }
}

/// Prefixes of row ids, each with the minimum ratio for rows whose id begins with it. The first
/// prefix that matches counts.
const RATIO_GOALS: [(&str, f64); 44] = [
    ("vs_iceoryx2/same_thread/16B", 20.0),
    ("vs_iceoryx2/cross_thread/16B", 3.5),
    ("vs_iceoryx2/cross_process/16B", 3.5),
    ("vs_iceoryx2/cross_process/1480B", 2.0),
    ("vs_iceoryx2/mpmc_2p2s/16B", 2.0),
    ("vs_iceoryx2/throughput/8B", 40.0),
    ("vs_iceoryx2/wakeup", 1.0),
    ("vs_iceoryx2/loan/", 1.0),
    ("vs_rtrb/spsc/latency/", 1.0),
    ("vs_rtrb/spsc/throughput/", 0.9),
    ("vs_disruptor/spsc/latency/", 1.0),
    ("vs_disruptor/spsc/throughput/", 0.9),
    ("vs_crossbeam/mpsc/", 1.0),
    ("vs_std/mpsc/", 1.0),
    ("vs_kanal/spsc/", 1.0),
    ("vs_kanal/mpsc/", 1.0),
    ("vs_flume/spsc/", 1.0),
    ("vs_flume/mpsc/", 1.0),
    ("vs_flume/fanout/", 1.0),
    ("vs_crossbeam/fanout/", 1.0),
    ("vs_std/fanout/", 1.0),
    ("vs_kanal/fanout/", 1.0),
    ("vs_crossbeam/fanout_broadcast/", 1.0),
    // WHY so strict: programs write such rings themselves, and they do less than our topics.
    ("vs_head_tail_ring/topic/", 1.0),
    ("vs_head_tail_ring/topic_reliable/", 1.0),
    ("vs_udp/topic/latency/8B", 10.0),
    ("vs_udp/topic/latency/32B", 10.0),
    ("vs_udp/topic/throughput/8B", 10.0),
    ("vs_udp/topic/throughput/32B", 10.0),
    ("vs_best_peer/create/", 2.9),
    ("vs_best_peer/tell/st", 2.0),
    ("vs_best_peer/tell/mt", 1.4),
    // WHY not `ask/st`: ours does other work there.
    ("vs_best_peer/ask_task/st", 5.0),
    ("vs_best_peer/ask/mt", 2.9),
    ("vs_best_peer/ask_outside/", 5.0),
    ("vs_best_peer/thread_ring/", 2.9),
    ("vs_best_peer/ping_pong/", 2.9),
    ("vs_best_peer/parallel_ring/", 2.0),
    ("vs_best_peer/counting/", 2.0),
    ("vs_best_peer/producer_consumer/", 2.0),
    ("vs_best_peer/blitz/st/throughput", 0.65),
    ("vs_best_peer/blitz/mt/throughput", 1.5),
    ("vs_best_peer/blitz/st/all", 1.7),
    ("vs_best_peer/blitz/mt/all", 1.7),
];

/// Returns for each round the divisor and the dividend of the ratio. The ratio is above 1 if our
/// value is better. `figures` has our values and then the peer's, one of each for every round.
///
/// # Panics
///
/// If the two have different numbers of rounds.
pub(crate) fn ratio_pairs(measure: LatencyOrThroughput, figures: [&[f64]; 2]) -> Vec<(f64, f64)> {
    let [ours, theirs] = figures;
    assert_eq!(ours.len(), theirs.len(), "each round has both values");
    let better = |(&ours, &theirs): (&f64, &f64)| match measure {
        LatencyOrThroughput::Latency => (ours, theirs),
        LatencyOrThroughput::Throughput => (theirs, ours),
    };
    ours.iter().zip(theirs).map(better).collect()
}

/// Makes a row that compares values measured in adjacent rounds. `figures` has our values and then
/// the peer's, one of each for every round. A round whose divisor is not above 0, such as one in
/// which the peer received nothing, has no ratio. Returns `None` if no round has a ratio.
pub fn comparison_row(id: &str, measure: LatencyOrThroughput, figures: [&[f64]; 2]) -> Option<Row> {
    let [ours, theirs] = figures;
    let pairs = ratio_pairs(measure, figures);
    let kept = pairs.iter().filter(|(divisor, _)| *divisor > 0.0).count();
    let dropped = pairs.len() - kept;
    let Ratio { median, low, high } = stats::paired_ratio(&pairs, stats::BOOTSTRAP_SEED)?;
    let has_interval = kept >= stats::INTERVAL_VALUES_MIN;
    let figures = Figures {
        ours: Some(stats::median(&mut ours.to_vec())),
        theirs: Some(stats::median(&mut theirs.to_vec())),
        ratio: Some(median),
        ratio_ci: has_interval.then_some([low, high]),
        rounds_dropped: Some(dropped as u64).filter(|dropped| *dropped > 0),
        ..Figures::default()
    };
    Some(Row {
        id: id.to_owned(),
        figures,
        ..Row::default()
    })
}

/// Returns the texts of the goal, of the ratio and of the verdict; `None` if there is no goal for
/// this row. `states` has the ratio of the row in each state of the machine.
pub(crate) fn judge_ratio(row: &Row, states: &[MachineState]) -> Option<[String; 3]> {
    let &(_, min) = RATIO_GOALS
        .iter()
        .find(|(prefix, _)| row.id.starts_with(prefix))?;
    let found = row.figures.ratio?;
    let interval = row.figures.ratio_ci;
    let word = goals::verdict_text(found >= min, min, interval.unwrap_or([found; 2]));
    // WHY: a goal below 1 may be met although ours is slower than theirs.
    let ahead = match interval.unwrap_or([found; 2]) {
        _ if interval.is_none() => "; too few rounds for an interval",
        _ if found < min || min >= 1.0 => "",
        [_, high] if high < 1.0 => "; theirs is ahead",
        [low, _] if low <= 1.0 => "; neither is ahead",
        _ => "",
    };
    let by_state = goals::judge_states(states, |ratio| ratio >= min, min);
    let measured = interval.map_or_else(
        || format!("{found:.2}"),
        |[low, high]| format!("{found:.2} [{low:.2}, {high:.2}]"),
    );
    let dropped = row
        .figures
        .rounds_dropped
        .map_or_else(String::new, |dropped| {
            format!("; {dropped} rounds without a value of the divisor are left out")
        });
    let verdict = by_state.unwrap_or_else(|| format!("{word}{ahead}"));
    Some([
        format!(">= {min:?} x theirs"),
        measured,
        format!("{verdict}{dropped}"),
    ])
}
