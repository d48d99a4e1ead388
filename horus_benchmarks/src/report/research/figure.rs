//! The charts of the report's page: decides which rows become curves, and in which chart a curve is
//! drawn.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::research::chart::{Axis, Chart};
use crate::report::research::record::ProgramRecord;
use crate::report::rows::Row;
use crate::report::template::{format_number, format_rate, format_time};

/// Maximum number of curves in a chart, which is the number of colours that a reader can
/// distinguish.
const CURVES_PER_CHART_MAX: usize = 8;

/// Minimum number of points for drawing a curve.
const POINTS_PER_CURVE_MIN: usize = 3;

/// The kind of charts with percentile curves.
const PERCENTILES_KIND: &str = "percentiles";

/// A chart with the texts that explain it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct CaptionedChart {
    /// [`PERCENTILES_KIND`], or the kind of one of the [`CURVE_CHARTS`].
    kind: &'static str,
    program: String,
    title: String,
    /// The name of the program and the ids of the rows that the chart shows.
    source: String,
    /// The name of each curve, in the order of the curves' colours.
    legend: Vec<String>,
    chart: Chart,
}

/// An axis, and the function that reads the value of a row; `None` if the axis does not show it.
type RowAxis = (Axis, fn(&Row) -> Option<f64>);

const PERCENTILE_AXES: [Axis; 2] = [
    ("percentile of all samples", format_percentile),
    ("latency (ns, µs, ms)", format_time),
];

const MEDIAN_LATENCY_AXIS: RowAxis = (("median latency (ns, µs, ms)", format_time), |row| {
    Some(row.ns?.p50)
});
const RATE_AXIS: RowAxis = (("messages per second, received", format_rate), |row| {
    row.msgs_per_s
});
const MESSAGE_BYTES_AXIS: RowAxis = (("message size (bytes)", format_bytes), |row| {
    message_bytes_in_id(&row.id)
});
const PRODUCERS_AXIS: RowAxis = (("producing threads", format_number), |row| {
    let (producers, consumers) = endpoint_counts_in_id(&row.id)?;
    (consumers == 1.0).then_some(producers)
});
const CONSUMERS_AXIS: RowAxis = (("consuming threads", format_number), |row| {
    let (producers, consumers) = endpoint_counts_in_id(&row.id)?;
    (producers == 1.0).then_some(consumers)
});
const THREADS_AXIS: RowAxis = (("threads of each", format_number), |row| {
    let (producers, consumers) = endpoint_counts_in_id(&row.id)?;
    (producers == consumers).then_some(producers)
});
const OBJECT_COUNT_AXIS: RowAxis = (
    ("topics, publishers or subscribers", format_number),
    |row| object_count_in_id(&row.id),
);

/// The charts with curves over a number that is in the ids of rows, such as the message size. For
/// each one: its kind, its title, and its axes.
const CURVE_CHARTS: [(&str, &str, [RowAxis; 2]); 6] = [
    (
        "by_size",
        "median latency by size",
        [MESSAGE_BYTES_AXIS, MEDIAN_LATENCY_AXIS],
    ),
    (
        "by_size",
        "throughput by size",
        [MESSAGE_BYTES_AXIS, RATE_AXIS],
    ),
    (
        "scaling",
        "producers, one consumer",
        [PRODUCERS_AXIS, RATE_AXIS],
    ),
    (
        "scaling",
        "consumers, one producer",
        [CONSUMERS_AXIS, RATE_AXIS],
    ),
    (
        "scaling",
        "as many producers as consumers",
        [THREADS_AXIS, RATE_AXIS],
    ),
    (
        "scaling",
        "cost of a message in one thread",
        [OBJECT_COUNT_AXIS, MEDIAN_LATENCY_AXIS],
    ),
];

/// A curve of a chart: its points, and the ids of the rows from which the points come.
#[derive(Default)]
struct Curve<'a> {
    points: Vec<(f64, f64)>,
    ids: Vec<&'a str>,
}

/// Draws all charts of a program's rows.
pub(super) fn draw_all_charts(program: &ProgramRecord) -> Vec<CaptionedChart> {
    let mut figures = draw_charts_of_kind(
        program,
        PERCENTILES_KIND,
        "percentiles",
        PERCENTILE_AXES,
        percentile_curve,
    );
    for (kind, title, [(x, read_x), (y, read_y)]) in CURVE_CHARTS {
        let point = |row: &Row| Some(vec![(read_x(row)?, read_y(row)?)]);
        figures.extend(draw_charts_of_kind(program, kind, title, [x, y], point));
    }
    figures
}

/// Draws all charts of one kind. A chart shows rows that differ only in one name, such as
/// `topic`, with a curve for each name; `read` returns the points of a row. Percentile curves of
/// different message sizes are in separate charts, and those of 16 bytes come first. Leaves out
/// curves with fewer than [`POINTS_PER_CURVE_MIN`] points.
fn draw_charts_of_kind(
    program: &ProgramRecord,
    kind: &'static str,
    title: &str,
    axes: [Axis; 2],
    read: impl Fn(&Row) -> Option<Vec<(f64, f64)>>,
) -> Vec<CaptionedChart> {
    let mut charts: BTreeMap<_, BTreeMap<_, Curve<'_>>> = BTreeMap::new();
    for row in &program.rows {
        let Some(points) = read(row) else { continue };
        let [before, curve_name, number] = split_id_at_curve_name(&row.id);
        let number = if kind == PERCENTILES_KIND { number } else { "" };
        let is_later = message_bytes_in_id(number).is_some_and(|size| size != 16.0);
        let chart = charts.entry((is_later, before, number)).or_default();
        let curve = chart.entry(curve_name).or_default();
        curve.points.extend(points);
        curve.ids.push(&row.id);
    }
    let mut figures = Vec::new();
    for ((_, before, number), mut curves) in charts {
        curves.retain(|_, curve| curve.points.len() >= POINTS_PER_CURVE_MIN);
        let mut curves: Vec<(&str, Curve<'_>)> = curves.into_iter().collect();
        for part in curves.chunks_mut(CURVES_PER_CHART_MAX) {
            for (_, curve) in part.iter_mut() {
                curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            let ids: Vec<&str> = part.iter().flat_map(|(_, one)| one.ids.clone()).collect();
            let points: Vec<_> = part.iter().map(|(_, one)| one.points.clone()).collect();
            figures.extend(Chart::new(axes, &points).map(|chart| CaptionedChart {
                kind,
                program: program.name.clone(),
                title: format!("{}: {title} ({before}*{number})", program.name),
                source: format!("{}: {}", program.name, ids.join(", ")),
                legend: part.iter().map(|(name, _)| (*name).to_owned()).collect(),
                chart,
            }));
        }
    }
    figures
}

/// Returns the percentile curve of a row. Each point is a value in nanoseconds, preceded by the
/// number of samples of which one is above it (100 at the 99th percentile). The curve has no
/// maximum if the record does not say how many samples there were.
fn percentile_curve(row: &Row) -> Option<Vec<(f64, f64)>> {
    let ns = row.ns?;
    let samples = row
        .counts
        .map_or(f64::INFINITY, |counts| counts.sent as f64);
    let points = [
        (1.0, Some(ns.min)),
        (1.0 / 0.75, ns.p25),
        (2.0, Some(ns.p50)),
        (4.0, ns.p75),
        (10.0, Some(ns.p90)),
        (20.0, Some(ns.p95)),
        (100.0, Some(ns.p99)),
        (1e3, Some(ns.p99_9)),
        (1e4, Some(ns.p99_99)),
        (samples, row.counts.and(Some(ns.max))),
    ];
    let known = points.into_iter().filter_map(|(x, ns)| Some((x, ns?)));
    Some(known.filter(|(x, _)| *x <= samples).collect())
}

/// Splits the id of a row before and behind the name of its curve, such as `topic` in
/// `one_way/cross_process/topic/16B`. That name is the last part that is not a number.
fn split_id_at_curve_name(id: &str) -> [&str; 3] {
    let is_number = |part: &str| {
        let bytes = message_bytes_in_id(part).or(object_count_in_id(part));
        bytes.is_some() || endpoint_counts_in_id(part).is_some()
    };
    let end = id.rfind('/').filter(|at| is_number(&id[*at..]));
    let end = end.unwrap_or(id.len());
    let begin = id[..end].rfind('/').map_or(0, |at| at + 1);
    [&id[..begin], &id[begin..end], &id[end..]]
}

/// Returns the message size at the end of a row's id, in bytes; `None` if the id has no message
/// size.
fn message_bytes_in_id(id: &str) -> Option<f64> {
    let last = id.rsplit('/').next()?;
    let units = [("KB", 1024.0), ("MB", 1024.0 * 1024.0), ("B", 1.0)];
    units
        .iter()
        .find_map(|(unit, factor)| Some(last.strip_suffix(unit)?.parse::<f64>().ok()? * factor))
}

/// Returns the numbers of producers and consumers at the end of a row's id, such as `4p2c`; `None`
/// if the id has no such numbers.
fn endpoint_counts_in_id(id: &str) -> Option<(f64, f64)> {
    let (producers, consumers) = id.rsplit('/').next()?.split_once('p')?;
    let consumers = consumers.strip_suffix('c')?;
    Some((producers.parse().ok()?, consumers.parse().ok()?))
}

/// Returns the number of topics, publishers or subscribers at the end of an id such as
/// `cost/topics/100`.
fn object_count_in_id(id: &str) -> Option<f64> {
    id.rsplit('/').next()?.parse().ok()
}

/// Formats the percentile above which there is one of `sample_count` samples: 99 % for 100.
fn format_percentile(sample_count: f64) -> String {
    let decimals = (sample_count.log10() - 2.0).max(0.0).ceil() as usize;
    format!("{:.decimals$} %", 100.0 * (1.0 - 1.0 / sample_count))
}

fn format_bytes(bytes: f64) -> String {
    match bytes {
        size if size < 1024.0 => format!("{size:.0} B"),
        size if size < 1024.0 * 1024.0 => format!("{} KB", format_number(size / 1024.0)),
        size => format!("{} MB", format_number(size / 1024.0 / 1024.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stats::Samples;

    fn row(id: &str, p50: u64) -> Row {
        let mut samples = Samples::new();
        (p50 - 5..=p50 + 5).for_each(|value| samples.record(value));
        Row::from_samples(id, &samples, 1.0)
    }

    fn program(rows: Vec<Row>) -> ProgramRecord {
        ProgramRecord {
            name: "x".to_owned(),
            rows,
            ..ProgramRecord::default()
        }
    }

    #[test]
    fn rows_that_differ_only_in_the_curve_name_share_a_chart() {
        let ids = [
            "one_way/p/a/304B",
            "one_way/p/a/16B",
            "one_way/p/b/16B",
            "wakeup/futex",
        ];
        let all = draw_all_charts(&program(ids.iter().map(|id| row(id, 100)).collect()));
        let titles: Vec<&str> = all.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "x: percentiles (one_way/p/*/16B)",
                "x: percentiles (wakeup/*)",
                "x: percentiles (one_way/p/*/304B)"
            ]
        );
        assert_eq!(all[0].legend, ["a", "b"]);
        assert_eq!(all[0].source, "x: one_way/p/a/16B, one_way/p/b/16B");
        let many = (0..CURVES_PER_CHART_MAX + 1)
            .map(|index| row(&format!("k/of_{index}"), 50))
            .collect();
        assert_eq!(draw_all_charts(&program(many)).len(), 2);
    }

    #[test]
    fn curves_over_sizes_and_threads_need_three_points() {
        let rate = |id: &str| Row {
            id: id.to_owned(),
            msgs_per_s: Some(1e6),
            ..Row::default()
        };
        let draw = |rows: &[Row], kind: &str| {
            let mut figures = draw_all_charts(&program(rows.to_vec()));
            figures.retain(|figure| figure.kind == kind);
            figures
        };
        let rows = ["4KB", "64KB", "1024KB"].map(|size| rate(&format!("throughput/p/loan/{size}")));
        assert_eq!(draw(&rows, "by_size").len(), 1);
        assert_eq!(draw(&rows[1..], "by_size").len(), 0);
        let ends = ["1p1c", "2p1c", "4p1c", "1p2c", "2p2c"];
        let rows = ends.map(|ends| rate(&format!("scalability/threads/{ends}")));
        let all = draw(&rows, "scaling");
        let titles: Vec<&str> = all.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(titles, ["x: producers, one consumer (scalability/*)"]);
    }

    #[test]
    fn a_percentile_curve_rises_up_to_the_number_of_samples() {
        let few = row("a/16B", 100);
        let uncounted = Row {
            counts: None,
            ..few.clone()
        };
        for (row, last) in [(few, 11.0), (uncounted, 1e4)] {
            let curve = percentile_curve(&row).unwrap();
            let rises = curve.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1);
            assert!(rises && curve[curve.len() - 1].0 == last, "{curve:?}");
        }
    }

    #[test]
    fn a_percentile_curve_shows_the_samples_from_the_least_to_the_largest() {
        let mut samples = Samples::new();
        (1..=1000).for_each(|value| samples.record(value));
        let curve = percentile_curve(&Row::from_samples("a/16B", &samples, 0.5)).unwrap();
        let (first, last) = (curve[0], curve[curve.len() - 1]);
        assert!(first.0 == 1.0 && (first.1 - 0.5).abs() < 0.01, "{curve:?}");
        assert!(
            last.0 == 1000.0 && (last.1 - 500.0).abs() < 0.5,
            "{curve:?}"
        );
        let at_90 = curve.iter().find(|point| point.0 >= 10.0).unwrap();
        assert!((at_90.1 - 450.0).abs() < 10.0, "{curve:?}");
    }

    #[test]
    fn ids_say_what_they_are_of() {
        for (id, parts) in [
            ("one_way/p/topic/16B", ["one_way/p/", "topic", "/16B"]),
            ("wakeup/futex", ["wakeup/", "futex", ""]),
            ("t/fanout_2p2s/16B", ["t/", "fanout_2p2s", "/16B"]),
            (
                "scalability/threads/4p2c",
                ["scalability/", "threads", "/4p2c"],
            ),
            ("cost/topics/100", ["cost/", "topics", "/100"]),
            ("large/64KB", ["", "large", "/64KB"]),
        ] {
            assert_eq!(split_id_at_curve_name(id), parts, "{id}");
        }
        for (id, bytes) in [
            ("a/64KB", Some(65536.0)),
            ("a/b", None),
            ("x/304B", Some(304.0)),
        ] {
            assert_eq!(message_bytes_in_id(id), bytes, "{id}");
        }
        for (id, counts) in [
            ("t/fanout/8p4c", Some((8.0, 4.0))),
            ("t/fanout_shm_2p2s/16B", None),
            ("one_way/spsc", None),
        ] {
            assert_eq!(endpoint_counts_in_id(id), counts, "{id}");
        }
        for (count, percentile) in [
            (1.0, "0 %"),
            (20.0, "95 %"),
            (200.0, "99.5 %"),
            (1e3, "99.9 %"),
            (1e5, "99.999 %"),
        ] {
            assert_eq!(format_percentile(count), percentile);
        }
    }
}
