//! Ours beside theirs: rows `vs_<peer>/…`, and what each has to be at least.

use crate::measure::stats::{self, Ratio};
use crate::report::figures::Figures;
use crate::report::goals;
use crate::report::rows::Row;

/// The quantity that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Nanoseconds: the fewer the better.
    Latency,
    /// Messages a second: the more the better.
    Throughput,
}

impl Measure {
    /// As it is written in ids.
    pub const fn id(self) -> &'static str {
        match self {
            Measure::Latency => "latency",
            Measure::Throughput => "throughput",
        }
    }
}

/// The least ratio of a row, by the beginning of its id; the first one that fits counts.
const GOALS: [(&str, f64); 29] = [
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
    // WHY so strict: it is what a program would write by itself, and does less.
    ("vs_head_tail_ring/topic/", 1.0),
    ("vs_head_tail_ring/topic_reliable/", 1.0),
    ("vs_udp/topic/latency/8B", 10.0),
    ("vs_udp/topic/latency/32B", 10.0),
    ("vs_udp/topic/throughput/8B", 10.0),
    ("vs_udp/topic/throughput/32B", 10.0),
];

/// A row of what was measured in rounds next to each other: `ours` and `theirs` by round. `None`
/// without rounds.
pub fn row(id: &str, measure: Measure, figures: [&[f64]; 2]) -> Option<Row> {
    let [ours, theirs] = figures;
    let better = |(&ours, &theirs): (&f64, &f64)| match measure {
        Measure::Latency => (ours, theirs),
        Measure::Throughput => (theirs, ours),
    };
    let pairs: Vec<(f64, f64)> = ours.iter().zip(theirs).map(better).collect();
    let Ratio { median, low, high } = stats::paired_ratio(&pairs, stats::SEED)?;
    let figures = Figures {
        ours: Some(stats::median(&mut ours.to_vec())),
        theirs: Some(stats::median(&mut theirs.to_vec())),
        ratio: Some(median),
        ratio_ci: Some([low, high]),
        ..Figures::default()
    };
    Some(Row {
        id: id.to_owned(),
        figures,
        ..Row::default()
    })
}

/// The goal, the ratio and the verdict; `None` if nothing is wanted of this row.
pub(crate) fn judge(row: &Row) -> Option<[String; 3]> {
    let &(_, min) = GOALS
        .iter()
        .find(|(prefix, _)| row.id.starts_with(prefix))?;
    let found = row.figures.ratio?;
    let interval = row.figures.ratio_ci?;
    let word = goals::word(found >= min, min, interval);
    // WHY: a goal below one may be met by what is slower than theirs.
    let ahead = match interval {
        _ if found < min || min >= 1.0 => "",
        [_, high] if high < 1.0 => "; theirs is ahead",
        [low, _] if low <= 1.0 => "; neither is ahead",
        _ => "",
    };
    let [low, high] = interval;
    let measured = format!("{found:.2} [{low:.2}, {high:.2}]");
    Some([
        format!(">= {min:.1} x theirs"),
        measured,
        format!("{word}{ahead}"),
    ])
}

/// Returns a time or a rate of such a row, for people.
pub(crate) fn figure(id: &str, figure: f64) -> String {
    match id.contains(Measure::Throughput.id()) {
        true => format!("{:.2}M/s", figure / 1e6),
        false => format!("{figure:.1} ns"),
    }
}
