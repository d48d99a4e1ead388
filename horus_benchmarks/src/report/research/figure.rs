//! Figures of the page: which rows go into which chart.

use std::collections::BTreeMap;

use crate::report::histograms;
use crate::report::research::chart::{self, Axis, Bar, SERIES_MAX, Scale};
use crate::report::research::record::{Program, Run};
use crate::report::rows::Row;

/// Points of a percentile curve for each further nine.
const STEPS: u32 = 20;

/// A picture with what is needed to understand it.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Where its figures stand: programs and ids of rows.
    pub source: String,
    /// The picture.
    pub svg: String,
    /// What each colour is, in the order of the colours.
    pub legend: Vec<String>,
}

const LATENCY: Axis =
    Axis { label: "latency (ns, µs, ms)", scale: Scale::Log, format: chart::time };
const PERCENTILE: Axis = Axis {
    label: "percentile of all samples",
    scale: Scale::Linear,
    format: |nines| {
        if nines < 0.005 { "0 %".to_owned() } else { format!("{} %", percent_of(nines)) }
    },
};
const FLOORS: Axis = Axis {
    label: "times the two-line floor of the same run (line: the floor; whisker: 95 %)",
    scale: Scale::Linear,
    format: chart::times,
};
const BYTES: Axis = Axis { label: "message size (bytes)", scale: Scale::Log, format: bytes };
const RATE: Axis =
    Axis { label: "messages per second, received", scale: Scale::Linear, format: chart::rate };

/// Percentile curves: one figure for the rows of a program that differ only in what carries the
/// message. Those of 16 bytes, and of programs that know no sizes, come first.
pub fn percentiles(program: &Program) -> Vec<Figure> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in program.rows.iter().filter(|row| row.ns.is_some()) {
        let key = without_subject(&row.id);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups.sort_by_key(|(key, _)| size_of(key).is_some_and(|size| size != 16.0));
    let figures = groups.iter().flat_map(|(key, rows)| {
        rows.chunks(SERIES_MAX).filter_map(move |rows| {
            let curves: Vec<Vec<(f64, f64)>> = rows.iter().map(|row| curve(program, row)).collect();
            let svg = chart::curves(PERCENTILE, LATENCY, &curves, false).ok()?;
            let legend = rows.iter().map(|row| subject(&row.id).to_owned()).collect();
            let source = source(program, &rows.iter().map(|row| &*row.id).collect::<Vec<_>>());
            Some(Figure { title: format!("{}: {key}", program.name), source, svg, legend })
        })
    });
    figures.collect()
}

/// All samples as a curve over the number of nines; of rows without a histogram, the percentiles
/// that the record has.
fn curve(program: &Program, row: &Row) -> Vec<(f64, f64)> {
    if let Some(histogram) = program.histograms.get(&row.id) {
        let points = histograms::curve(histogram, STEPS);
        return points.into_iter().map(|(above, ns)| (-above.log10(), ns)).collect();
    }
    let Some(ns) = row.ns else { return Vec::new() };
    let points = [
        (0.0, Some(ns.min)),
        (0.01, ns.p1),
        (0.05, ns.p5),
        (0.25, ns.p25),
        (0.5, Some(ns.p50)),
        (0.75, ns.p75),
        (0.9, Some(ns.p90)),
        (0.95, Some(ns.p95)),
        (0.99, Some(ns.p99)),
        (0.999, Some(ns.p99_9)),
        (0.9999, Some(ns.p99_99)),
        (1.0 - 1.0 / row.sent.max(2) as f64, Some(ns.max)),
    ];
    points.into_iter().filter_map(|(below, ns)| Some((-(1.0f64 - below).log10(), ns?))).collect()
}

/// Bars of the ratio to the floor, one figure for each placement and size.
pub fn floor_ratios(run: &Run) -> Vec<Figure> {
    let mut groups: BTreeMap<String, Vec<(&Program, &Row)>> = BTreeMap::new();
    for (program, row) in run.rows().filter(|(_, row)| row.floor_ratio.is_some()) {
        if row.id.starts_with("floor/") || program.interval(&row.id, "ratio_ci").is_some() {
            continue;
        }
        groups
            .entry(format!("{}: {}", program.name, without_subject(&row.id)))
            .or_default()
            .push((program, row));
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(key, _)| size_of(key) != Some(16.0));
    let figures = groups.into_iter().filter_map(|(title, rows)| {
        let bars: Vec<Bar> = rows
            .iter()
            .filter_map(|(_, row)| {
                let label = subject(&row.id).to_owned();
                Some(Bar {
                    label,
                    value: row.floor_ratio?,
                    interval: row.floor_ratio_ci,
                    series: 0,
                })
            })
            .collect();
        let svg = chart::bars(FLOORS, &bars, Some(1.0)).ok()?;
        let ids: Vec<&str> = rows.iter().map(|(_, row)| &*row.id).collect();
        let source = source(rows[0].0, &ids);
        Some(Figure { title, source, svg, legend: Vec::new() })
    });
    figures.collect()
}

/// Median latency and throughput over the size of the message, where there are three sizes or more.
pub fn by_size(program: &Program) -> Vec<Figure> {
    let latency = |row: &Row| row.ns.map(|ns| ns.p50);
    let (mut y, mut all) = (LATENCY, Vec::new());
    y.label = "median latency (ns, µs, ms)";
    all.extend(over(program, (BYTES, &size_of), (y, &latency), "median latency by size"));
    let rate = Axis { scale: Scale::Log, ..RATE };
    let per_s = |row: &Row| row.msgs_per_s;
    all.extend(over(program, (BYTES, &size_of), (rate, &per_s), "throughput by size"));
    all
}

/// Throughput over the number of producers, of consumers, and of both.
pub fn scaling(program: &Program) -> Vec<Figure> {
    type Pick = fn(f64, f64) -> Option<f64>;
    let threads: [(&str, &'static str, Pick); 3] = [
        ("producers, one consumer", "producing threads", |p, c| (c == 1.0).then_some(p)),
        ("consumers, one producer", "consuming threads", |p, c| (p == 1.0).then_some(c)),
        ("as many producers as consumers", "threads of each", |p, c| (p == c).then_some(p)),
    ];
    let figures = threads.into_iter().flat_map(|(title, label, pick)| {
        let x = Axis { label, scale: Scale::Linear, format: chart::digits };
        let place = move |id: &str| ends_of(id).and_then(|(p, c)| pick(p, c));
        over(program, (x, &place), (RATE, &|row: &Row| row.msgs_per_s), title)
    });
    figures.collect()
}

/// An axis, and where a row lies on it.
type AxisOf<'a, T> = (Axis, &'a dyn for<'b> Fn(&'b T) -> Option<f64>);

/// A curve and its name.
type Curve = (String, Vec<(f64, f64)>);

/// One figure for each kind and placement: a curve for each subject over what `x` says of an id.
fn over(
    program: &Program,
    (x, x_of): AxisOf<'_, str>,
    (y, y_of): AxisOf<'_, Row>,
    title: &str,
) -> Vec<Figure> {
    let mut groups: Vec<(String, Vec<Curve>, Vec<&str>)> = Vec::new();
    for row in &program.rows {
        let (Some(at), Some(value)) = (x_of(&row.id), y_of(row)) else { continue };
        let (group, subject) = without_numbers(&row.id);
        let index = groups.iter().position(|(key, ..)| *key == group).unwrap_or_else(|| {
            groups.push((group, Vec::new(), Vec::new()));
            groups.len() - 1
        });
        let (_, series, ids) = &mut groups[index];
        ids.push(&row.id);
        match series.iter_mut().find(|(name, _)| *name == subject) {
            Some((_, points)) => points.push((at, value)),
            None => series.push((subject, vec![(at, value)])),
        }
    }
    let figures = groups.into_iter().filter_map(|(group, mut series, ids)| {
        series.retain(|(_, points)| points.len() >= 3);
        series.truncate(SERIES_MAX);
        let (legend, mut points): (Vec<String>, Vec<Vec<(f64, f64)>>) = series.into_iter().unzip();
        points.iter_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
        let svg = chart::curves(x, y, &points, true).ok()?;
        let title = format!("{}: {title} ({group})", program.name);
        Some(Figure { title, source: source(program, &ids), svg, legend })
    });
    figures.collect()
}

/// Bars, the ids they are of, and the program that measured these.
type Contest<'a> = (Vec<Bar>, Vec<String>, &'a str);

/// Ours beside theirs: two bars a row, one figure for each peer and unit.
pub fn contests(run: &Run) -> Vec<Figure> {
    let mut groups: BTreeMap<(String, bool), Contest<'_>> = BTreeMap::new();
    for (program, row) in run.rows() {
        let value = |name| program.figure(&row.id, name);
        let (Some(ours), Some(theirs)) = (value("ours"), value("theirs")) else { continue };
        let (peer, rest) = row.id.split_once('/').unwrap_or((&row.id, ""));
        let key = (peer.to_owned(), row.id.contains("throughput"));
        let (bars, ids, name) = groups.entry(key).or_default();
        let bar = |label, value, series| Bar { label, value, interval: None, series };
        bars.push(bar(format!("{rest}: ours"), ours, 0));
        bars.push(bar("theirs".to_owned(), theirs, 1));
        ids.push(row.id.clone());
        *name = &program.name;
    }
    let figures = groups.into_iter().filter_map(|((peer, is_rate), (bars, ids, program))| {
        let axis = if is_rate { Axis { scale: Scale::Log, ..RATE } } else { LATENCY };
        let svg = chart::bars(axis, &bars, None).ok()?;
        let better = if is_rate { "throughput, more is better" } else { "latency, less is better" };
        let title = format!("{}: {better}", peer.replace("vs_", "against "));
        let source = format!("{program}: {}", ids.join(", "));
        Some(Figure { title, source, svg, legend: vec!["ours".to_owned(), "theirs".to_owned()] })
    });
    figures.collect()
}

fn source(program: &Program, ids: &[&str]) -> String {
    format!("{}: {}", program.name, ids.join(", "))
}

/// `one_way/cross_process/topic/16B` → `topic`: the part before the size, else the last one.
pub fn subject(id: &str) -> &str {
    let parts: Vec<&str> = id.split('/').collect();
    parts[subject_index(&parts)]
}

/// The id with a star for what carries the message.
fn without_subject(id: &str) -> String {
    let mut parts: Vec<&str> = id.split('/').collect();
    let index = subject_index(&parts);
    parts[index] = "*";
    parts.join("/")
}

fn subject_index(parts: &[&str]) -> usize {
    let last = parts.len() - 1;
    if last > 0 && size_of(parts[last]).is_some() { last - 1 } else { last }
}

/// The size in bytes at the end of an id.
pub fn size_of(id: &str) -> Option<f64> {
    let last = id.rsplit('/').next()?;
    let units = [("KB", 1024.0), ("MB", 1024.0 * 1024.0), ("B", 1.0)];
    units
        .iter()
        .find_map(|(unit, factor)| Some(last.strip_suffix(unit)?.parse::<f64>().ok()? * factor))
}

/// How many producers and consumers a part of an id speaks of: `4p2c`, `fanout_2p2s`.
pub fn ends_of(id: &str) -> Option<(f64, f64)> {
    id.split(['/', '_']).find_map(|part| {
        let (producers, consumers) = part.split_once('p')?;
        let consumers = consumers.trim_start_matches('x').strip_suffix(['c', 's'])?;
        Some((producers.parse().ok()?, consumers.parse().ok()?))
    })
}

/// The id without size and numbers of ends, which are what it is drawn over: all but the last part
/// of what is left, and the last one.
fn without_numbers(id: &str) -> (String, String) {
    let is_number =
        |part: &str| size_of(part).is_some() || ends_of(part).is_some() && !part.contains('_');
    let mut parts: Vec<&str> = id.split('/').filter(|part| !is_number(part)).collect();
    let subject = parts.pop().unwrap_or_default().to_owned();
    (parts.join("/"), subject)
}

fn percent_of(nines: f64) -> String {
    let decimals = (nines - 2.0).max(0.0).round() as usize;
    let text = format!("{:.decimals$}", 100.0 * (1.0 - 10f64.powf(-nines)));
    text
}

fn bytes(bytes: f64) -> String {
    match bytes {
        size if size < 1024.0 => format!("{size:.0} B"),
        size if size < 1024.0 * 1024.0 => format!("{} KB", chart::digits(size / 1024.0)),
        size => format!("{} MB", chart::digits(size / 1024.0 / 1024.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stats::{Ratio, Samples};

    fn row(id: &str, p50: u64) -> Row {
        let mut samples = Samples::new();
        (p50 - 5..=p50 + 5).for_each(|value| samples.record(value));
        let ratio = Ratio { median: 1.5, low: 1.4, high: 1.6 };
        Row::samples(id, &samples, 1.0).with_floor_ratio(Some(ratio))
    }

    fn program(rows: Vec<Row>) -> Program {
        Program { name: "x".to_owned(), rows, ..Program::default() }
    }

    #[test]
    fn rows_that_differ_only_in_their_subject_share_a_figure() {
        let ids = ["one_way/p/a/304B", "one_way/p/a/16B", "one_way/p/b/16B", "wakeup/futex"];
        let all = percentiles(&program(ids.iter().map(|id| row(id, 100)).collect()));
        let titles: Vec<&str> = all.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(titles, ["x: one_way/p/*/16B", "x: wakeup/*", "x: one_way/p/*/304B"]);
        assert_eq!(all[0].legend, ["a", "b"]);
        assert_eq!(all[0].source, "x: one_way/p/a/16B, one_way/p/b/16B");
        let many = (0..SERIES_MAX + 1).map(|index| row(&format!("k/{index}"), 50)).collect();
        assert_eq!(percentiles(&program(many)).len(), 2);
    }

    #[test]
    fn ratios_of_16_bytes_come_first() {
        let rows = vec![row("one_way/p/a/1480B", 9), row("one_way/p/a/16B", 9)];
        let run = Run { programs: vec![program(rows)], ..Run::default() };
        let all = floor_ratios(&run);
        assert!(all[0].title.contains("16B") && all.len() == 2, "{all:?}");
    }

    #[test]
    fn curves_over_sizes_and_threads_need_three_points() {
        let rate = |id: &str| Row { id: id.to_owned(), msgs_per_s: Some(1e6), ..Row::default() };
        let rows = ["4KB", "64KB", "1024KB"].map(|size| rate(&format!("throughput/p/loan/{size}")));
        assert_eq!(by_size(&program(rows.to_vec())).len(), 1);
        assert_eq!(by_size(&program(rows[1..].to_vec())).len(), 0);
        let ends = ["1p1c", "2p1c", "4p1c", "1p2c", "2p2c"];
        let rows = ends.map(|ends| rate(&format!("throughput/cross_thread/fanout/{ends}/16B")));
        let all = scaling(&program(rows.to_vec()));
        assert_eq!(all.len(), 1, "{:?}", all.iter().map(|one| &one.title).collect::<Vec<_>>());
        assert!(all[0].title.contains("producers, one consumer"));
    }

    #[test]
    fn ours_and_theirs_stand_below_each_other() {
        let mut program =
            program(vec![Row { id: "vs_rtrb/spsc/latency/16B".into(), ..row("a", 9) }]);
        let fields = serde_json::json!({ "ours": 10.0, "theirs": 20.0 });
        program.fields.insert("vs_rtrb/spsc/latency/16B".to_owned(), fields);
        let run = Run { programs: vec![program], ..Run::default() };
        let all = contests(&run);
        assert_eq!(all[0].title, "against rtrb: latency, less is better");
        assert!(all[0].svg.contains("20 ns"), "{}", all[0].svg);
    }

    #[test]
    fn ids_say_what_they_are_of() {
        assert_eq!(subject("one_way/cross_process/topic/16B"), "topic");
        assert_eq!(subject("wakeup/futex"), "futex");
        assert_eq!(
            [size_of("a/64KB"), size_of("a/b"), size_of("x/304B")],
            [Some(65536.0), None, Some(304.0)]
        );
        assert_eq!(ends_of("t/fanout/8p4c"), Some((8.0, 4.0)));
        assert_eq!(ends_of("t/fanout_shm_2p2s/16B"), Some((2.0, 2.0)));
        assert_eq!(ends_of("one_way/spsc/16B"), None);
        let split = |id: &str| without_numbers(id);
        assert_eq!(split("t/p/fanout_2p2s/16B"), ("t/p".to_owned(), "fanout_2p2s".to_owned()));
        assert_eq!(split("scalability/threads/4p2c").1, "threads");
    }
}
