//! The charts of the report's page: decides which rows become curves, and in which chart a curve is
//! drawn.

use serde::Serialize;

use crate::report::histograms;
use crate::report::research::chart::{Axis, Chart, SERIES_MAX};
use crate::report::research::record::ProgramRecord;
use crate::report::rows::Row;
use crate::report::template::{format_number, format_rate, format_time};

/// Number of points of a percentile curve from 90 % to 99 %, from 99 % to 99.9 %, and so on.
const CURVE_POINTS_PER_DECADE: u32 = 20;

/// Minimum number of points for drawing a curve over message sizes or over numbers of endpoints.
const POINTS_MIN: usize = 3;

/// The kind of charts with percentile curves.
const PERCENTILES: &str = "percentiles";

/// A chart with the texts that explain it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figure {
    /// [`PERCENTILES`], or the kind of one of the [`CURVE_CHARTS`].
    kind: &'static str,
    program: String,
    title: String,
    /// The name of the program and the ids of the rows that the chart shows.
    source: String,
    /// The name of each curve, in the order of the curves' colours.
    legend: Vec<String>,
    chart: Chart,
}

/// The axes of percentile curves, which read no single value of a row.
const PERCENTILE_AXES: [Axis; 2] = [
    Axis::linear("percentile of all samples", format_nines, |_| None),
    Axis::log("latency (ns, µs, ms)", format_time, |_| None),
];

const MEDIAN: Axis = Axis::log("median latency (ns, µs, ms)", format_time, |row| {
    Some(row.ns?.p50)
});
const RATE: Axis = Axis::linear("messages per second, received", format_rate, |row| {
    row.msgs_per_s
});
const LOG_RATE: Axis = Axis::log(RATE.label, RATE.format, RATE.read);
const BYTES: Axis = Axis::log("message size (bytes)", format_bytes, |row| {
    message_bytes_in_id(&row.id)
});
const PRODUCERS: Axis = Axis::linear("producing threads", format_number, |row| {
    let (producers, consumers) = endpoint_counts_in_id(&row.id)?;
    (consumers == 1.0).then_some(producers)
});
const CONSUMERS: Axis = Axis::linear("consuming threads", format_number, |row| {
    let (producers, consumers) = endpoint_counts_in_id(&row.id)?;
    (producers == 1.0).then_some(consumers)
});
const THREADS: Axis = Axis::linear("threads of each", format_number, |row| {
    let (producers, consumers) = endpoint_counts_in_id(&row.id)?;
    (producers == consumers).then_some(producers)
});
const ENDPOINTS: Axis = Axis::log("topics, publishers or subscribers", format_number, |row| {
    count_in_id(&row.id)
});

/// The charts with curves over a number that is in the ids of rows, such as the message size. For
/// each one: its kind, its title, and its axes.
const CURVE_CHARTS: [(&str, &str, [Axis; 2]); 6] = [
    ("by_size", "median latency by size", [BYTES, MEDIAN]),
    ("by_size", "throughput by size", [BYTES, LOG_RATE]),
    ("scaling", "producers, one consumer", [PRODUCERS, RATE]),
    ("scaling", "consumers, one producer", [CONSUMERS, RATE]),
    ("scaling", "as many producers as consumers", [THREADS, RATE]),
    (
        "scaling",
        "cost of a message in one thread",
        [ENDPOINTS, MEDIAN],
    ),
];

/// A curve of a chart: its points, and the ids of the rows from which the points come.
#[derive(Default)]
struct Curve<'a> {
    points: Vec<(f64, f64)>,
    ids: Vec<&'a str>,
}

/// Curves with their names, in the order of their rows.
type NamedCurves<'a> = Vec<(String, Curve<'a>)>;

impl Figure {
    /// Returns a figure of the curves, or `None` if they have no point that can be shown.
    fn new(
        program: &ProgramRecord,
        kind: &'static str,
        title: &str,
        axes: [Axis; 2],
        curves: &[(String, Curve<'_>)],
    ) -> Option<Figure> {
        let ids: Vec<&str> = curves.iter().flat_map(|(_, one)| one.ids.clone()).collect();
        let points: Vec<_> = curves.iter().map(|(_, one)| one.points.clone()).collect();
        let dots = kind != PERCENTILES;
        Some(Figure {
            kind,
            program: program.name.clone(),
            title: format!("{}: {title}", program.name),
            source: format!("{}: {}", program.name, ids.join(", ")),
            legend: curves.iter().map(|(name, _)| name.clone()).collect(),
            chart: Chart::new(axes, &points, dots)?,
        })
    }
}

/// Draws all charts of a program's rows.
pub(super) fn draw_figures(program: &ProgramRecord) -> Vec<Figure> {
    let mut figures = draw_percentiles(program);
    for (kind, title, axes) in CURVE_CHARTS {
        figures.extend(draw_curves(program, kind, title, axes));
    }
    figures
}

/// Groups curves into charts. `place` returns for a row the key of its chart, the name of its
/// curve, and its points on the curve; `None` if the row is not shown.
fn group_curves<'p>(
    program: &'p ProgramRecord,
    place: impl Fn(&'p Row) -> Option<(String, String, Vec<(f64, f64)>)>,
) -> Vec<(String, NamedCurves<'p>)> {
    let mut charts: Vec<(String, NamedCurves<'p>)> = Vec::new();
    for row in &program.rows {
        if let Some((key, name, points)) = place(row) {
            let curve = value_of_key(value_of_key(&mut charts, key), name);
            curve.points.extend(points);
            curve.ids.push(&row.id);
        }
    }
    charts
}

/// Returns the value with the key `key`. Adds a default value if there is none.
fn value_of_key<T: Default>(values: &mut Vec<(String, T)>, key: String) -> &mut T {
    let found = values.iter().position(|(other, _)| *other == key);
    let index = found.unwrap_or_else(|| {
        values.push((key, T::default()));
        values.len() - 1
    });
    &mut values[index].1
}

/// Draws percentile curves. One figure shows all rows of a program that differ only in the carrier,
/// which is the ring, topic or socket that transports the messages. Figures for 16-byte messages,
/// and for programs without message sizes, come first.
fn draw_percentiles(program: &ProgramRecord) -> Vec<Figure> {
    let mut charts = group_curves(program, |row| {
        row.ns?;
        let (key, subject) = split_subject(&row.id);
        Some((key, subject.to_owned(), percentile_curve(program, row)))
    });
    charts.sort_by_key(|(key, _)| message_bytes_in_id(key).is_some_and(|size| size != 16.0));
    let figures = charts.iter().flat_map(|(key, curves)| {
        let parts = curves.chunks(SERIES_MAX);
        parts.filter_map(|curves| Figure::new(program, PERCENTILES, key, PERCENTILE_AXES, curves))
    });
    figures.collect()
}

/// Returns the curve of a row over the number of nines of the percentile (99 % has two). It is
/// drawn from the row's histogram, or, if there is none, from the percentiles in the record.
fn percentile_curve(program: &ProgramRecord, row: &Row) -> Vec<(f64, f64)> {
    if let Some(histogram) = program.histograms.get(&row.id) {
        let points = histograms::curve_points(histogram, CURVE_POINTS_PER_DECADE);
        return points
            .into_iter()
            .map(|(above, ns)| (-above.log10(), ns))
            .collect();
    }
    let Some(ns) = row.ns else { return Vec::new() };
    let points = [
        (0.0, Some(ns.min)),
        (0.25, ns.p25),
        (0.5, Some(ns.p50)),
        (0.75, ns.p75),
        (0.9, Some(ns.p90)),
        (0.95, Some(ns.p95)),
        (0.99, Some(ns.p99)),
        (0.999, Some(ns.p99_9)),
        (0.9999, Some(ns.p99_99)),
        (1.0 - 1.0 / row.sent().max(2) as f64, Some(ns.max)),
    ];
    points
        .into_iter()
        .filter_map(|(below, ns)| Some((-(1.0f64 - below).log10(), ns?)))
        .collect()
}

/// Draws the charts of one entry of [`CURVE_CHARTS`]. Each chart shows one group of rows, such as
/// `one_way/cross_process`, with a curve for each subject, such as `topic`. Curves with fewer than
/// [`POINTS_MIN`] points are left out, and so are those beyond the first [`SERIES_MAX`].
fn draw_curves(
    program: &ProgramRecord,
    kind: &'static str,
    title: &str,
    axes: [Axis; 2],
) -> Vec<Figure> {
    let [x, y] = axes;
    let charts = group_curves(program, |row| {
        let (key, subject) = id_without_numbers(&row.id);
        Some((key, subject, vec![((x.read)(row)?, (y.read)(row)?)]))
    });
    let figures = charts.into_iter().filter_map(|(key, mut curves)| {
        curves.retain(|(_, curve)| curve.points.len() >= POINTS_MIN);
        curves.truncate(SERIES_MAX);
        for (_, curve) in &mut curves {
            curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Figure::new(program, kind, &format!("{title} ({key})"), axes, &curves)
    });
    figures.collect()
}

/// Returns the id of a row with `*` in place of its subject, and the subject: the part before the
/// message size, such as `topic` in `one_way/cross_process/topic/16B`. If the id has no message
/// size, the subject is its last part.
fn split_subject(id: &str) -> (String, &str) {
    let mut parts: Vec<&str> = id.split('/').collect();
    let last = parts.len() - 1;
    let index = last - usize::from(last > 0 && message_bytes_in_id(id).is_some());
    let subject = std::mem::replace(&mut parts[index], "*");
    (parts.join("/"), subject)
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

/// Returns the numbers of producers and consumers in a row's id, such as `4p2c` or `fanout_2p2s`;
/// `None` if the id has no such numbers.
fn endpoint_counts_in_id(id: &str) -> Option<(f64, f64)> {
    id.split(['/', '_']).find_map(|part| {
        let (producers, consumers) = part.split_once('p')?;
        let consumers = consumers.trim_start_matches('x').strip_suffix(['c', 's'])?;
        Some((producers.parse().ok()?, consumers.parse().ok()?))
    })
}

/// Returns the number of topics, publishers or subscribers at the end of an id such as
/// `cost/topics/100`.
fn count_in_id(id: &str) -> Option<f64> {
    let (_, count) = id.strip_prefix("cost/")?.split_once('/')?;
    count.parse().ok()
}

/// Removes the message size and the numbers of endpoints from an id. Returns the last part of what
/// remains, and the parts before it.
fn id_without_numbers(id: &str) -> (String, String) {
    let is_number = |part: &str| {
        message_bytes_in_id(part).is_some()
            || endpoint_counts_in_id(part).is_some() && !part.contains('_')
    };
    let id = match count_in_id(id) {
        Some(_) => id.rsplit_once('/').map_or(id, |(before, _)| before),
        None => id,
    };
    let mut parts: Vec<&str> = id.split('/').filter(|part| !is_number(part)).collect();
    let subject = parts.pop().unwrap_or_default().to_owned();
    (parts.join("/"), subject)
}

/// Formats a number of nines as a percentage: two nines are 99 %.
fn format_nines(nines: f64) -> String {
    let decimals = (nines - 2.0).max(0.0).round() as usize;
    format!("{:.decimals$} %", 100.0 * (1.0 - 10f64.powf(-nines)))
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
    fn rows_that_differ_only_in_their_subject_share_a_figure() {
        let ids = [
            "one_way/p/a/304B",
            "one_way/p/a/16B",
            "one_way/p/b/16B",
            "wakeup/futex",
        ];
        let all = draw_percentiles(&program(ids.iter().map(|id| row(id, 100)).collect()));
        let titles: Vec<&str> = all.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(
            titles,
            ["x: one_way/p/*/16B", "x: wakeup/*", "x: one_way/p/*/304B"]
        );
        assert_eq!(all[0].legend, ["a", "b"]);
        assert_eq!(all[0].source, "x: one_way/p/a/16B, one_way/p/b/16B");
        let many = (0..SERIES_MAX + 1)
            .map(|index| row(&format!("k/{index}"), 50))
            .collect();
        assert_eq!(draw_percentiles(&program(many)).len(), 2);
    }

    #[test]
    fn curves_over_sizes_and_threads_need_three_points() {
        let rate = |id: &str| Row {
            id: id.to_owned(),
            msgs_per_s: Some(1e6),
            ..Row::default()
        };
        let draw = |rows: &[Row], kind: &str| {
            let mut figures = draw_figures(&program(rows.to_vec()));
            figures.retain(|figure| figure.kind == kind);
            figures
        };
        let rows = ["4KB", "64KB", "1024KB"].map(|size| rate(&format!("throughput/p/loan/{size}")));
        assert_eq!(draw(&rows, "by_size").len(), 1);
        assert_eq!(draw(&rows[1..], "by_size").len(), 0);
        let ends = ["1p1c", "2p1c", "4p1c", "1p2c", "2p2c"];
        let rows = ends.map(|ends| rate(&format!("throughput/cross_thread/fanout/{ends}/16B")));
        let all = draw(&rows, "scaling");
        let titles: Vec<&str> = all.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(
            titles,
            ["x: producers, one consumer (throughput/cross_thread)"]
        );
    }

    #[test]
    fn ids_say_what_they_are_of() {
        let (key, subject) = split_subject("one_way/cross_process/topic/16B");
        assert_eq!((&*key, subject), ("one_way/cross_process/*/16B", "topic"));
        assert_eq!(split_subject("wakeup/futex").1, "futex");
        for (id, bytes) in [
            ("a/64KB", Some(65536.0)),
            ("a/b", None),
            ("x/304B", Some(304.0)),
        ] {
            assert_eq!(message_bytes_in_id(id), bytes, "{id}");
        }
        for (id, counts) in [
            ("t/fanout/8p4c", Some((8.0, 4.0))),
            ("t/fanout_shm_2p2s/16B", Some((2.0, 2.0))),
            ("one_way/spsc/16B", None),
        ] {
            assert_eq!(endpoint_counts_in_id(id), counts, "{id}");
        }
        let (key, subject) = id_without_numbers("t/p/fanout_2p2s/16B");
        assert_eq!((&*key, &*subject), ("t/p", "fanout_2p2s"));
        assert_eq!(id_without_numbers("scalability/threads/4p2c").1, "threads");
    }
}
