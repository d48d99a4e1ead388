//! The charts of the report's page: decides which rows become curves, and in which chart a curve is
//! drawn.

use serde::Serialize;

use crate::report::histograms;
use crate::report::research::chart::{Axis, Chart, SERIES_MAX};
use crate::report::research::record::ProgramRecord;
use crate::report::rows::Row;
use crate::report::template::{format_number, format_rate, format_time};

/// Number of points that a percentile curve has for each factor of ten in the fraction of slower
/// samples.
const CURVE_STEPS: u32 = 20;

/// Minimum number of points for drawing a curve over message sizes or over numbers of endpoints.
const POINTS_MIN: usize = 3;

/// A chart with the texts that explain it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figure {
    title: String,
    /// The name of the program and the ids of the rows that the chart shows.
    source: String,
    /// The name of each curve, in the order of the curves' colours.
    legend: Vec<String>,
    chart: Chart,
}

const LATENCY_AXIS: Axis = Axis {
    label: "latency (ns, µs, ms)",
    is_log: true,
    format: format_time,
};
const MEDIAN_AXIS: Axis = Axis {
    label: "median latency (ns, µs, ms)",
    ..LATENCY_AXIS
};
const PERCENTILE_AXIS: Axis = Axis {
    label: "percentile of all samples",
    is_log: false,
    format: |nines| {
        let decimals = (nines - 2.0).max(0.0).round() as usize;
        format!("{:.decimals$} %", 100.0 * (1.0 - 10f64.powf(-nines)))
    },
};
const BYTES_AXIS: Axis = Axis {
    label: "message size (bytes)",
    is_log: true,
    format: format_bytes,
};
const RATE_AXIS: Axis = Axis {
    label: "messages per second, received",
    is_log: false,
    format: format_rate,
};

/// A curve of a chart: its name, its points, and the ids of the rows from which the points come.
#[derive(Default)]
struct Curve<'a> {
    name: String,
    points: Vec<(f64, f64)>,
    ids: Vec<&'a str>,
}

impl Figure {
    fn new(
        program: &ProgramRecord,
        title: &str,
        axes: [Axis; 2],
        curves: Vec<Curve<'_>>,
    ) -> Option<Figure> {
        let ids: Vec<&str> = curves.iter().flat_map(|curve| curve.ids.clone()).collect();
        let dots = axes[0].label != PERCENTILE_AXIS.label;
        let parts = curves.into_iter().map(|curve| (curve.name, curve.points));
        let (legend, points): (Vec<_>, Vec<_>) = parts.unzip();
        Some(Figure {
            title: format!("{}: {title}", program.name),
            source: format!("{}: {}", program.name, ids.join(", ")),
            legend,
            chart: Chart::new(axes, &points, dots)?,
        })
    }
}

/// Returns the group of curves with the key `key`. Creates the group if it does not exist.
fn group_of_key<T: Default>(groups: &mut Vec<(String, T)>, key: String) -> &mut T {
    let found = groups.iter().position(|(other, _)| *other == key);
    let index = found.unwrap_or_else(|| {
        groups.push((key, T::default()));
        groups.len() - 1
    });
    &mut groups[index].1
}

/// Draws percentile curves. One figure shows all rows of a program that differ only in the carrier,
/// which is the ring, topic or socket that transports the messages. Figures for 16-byte messages,
/// and for programs without message sizes, come first.
pub(super) fn draw_percentiles<'p>(program: &'p ProgramRecord) -> Vec<Figure> {
    let mut groups: Vec<(String, Vec<&'p Row>)> = Vec::new();
    for row in program.rows.iter().filter(|row| row.ns.is_some()) {
        let mut parts: Vec<&str> = row.id.split('/').collect();
        let index = subject_part_index(&parts);
        parts[index] = "*";
        group_of_key(&mut groups, parts.join("/")).push(row);
    }
    groups.sort_by_key(|(key, _)| message_bytes_in_id(key).is_some_and(|size| size != 16.0));
    let figures = groups.iter().flat_map(|(key, rows)| {
        rows.chunks(SERIES_MAX).filter_map(move |rows| {
            let curve = |row: &&'p Row| Curve {
                name: subject_in_id(&row.id).to_owned(),
                points: percentile_curve(program, row),
                ids: vec![&row.id],
            };
            let curves = rows.iter().map(curve).collect();
            Figure::new(program, key, [PERCENTILE_AXIS, LATENCY_AXIS], curves)
        })
    });
    figures.collect()
}

/// Returns the curve of a row over the number of nines of the percentile (99 % has two). It is
/// drawn from the row's histogram, or, if there is none, from the percentiles in the record.
fn percentile_curve(program: &ProgramRecord, row: &Row) -> Vec<(f64, f64)> {
    if let Some(histogram) = program.histograms.get(&row.id) {
        let points = histograms::curve_points(histogram, CURVE_STEPS);
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

/// Draws charts of the median latency and of the throughput as functions of the message size.
pub(super) fn draw_by_size(program: &ProgramRecord) -> Vec<Figure> {
    let rates = Axis {
        is_log: true,
        ..RATE_AXIS
    };
    let mut all = draw_curves(
        program,
        "median latency by size",
        [BYTES_AXIS, MEDIAN_AXIS],
        |row| Some((message_bytes_in_id(&row.id)?, row.ns?.p50)),
    );
    all.extend(draw_curves(
        program,
        "throughput by size",
        [BYTES_AXIS, rates],
        |row| Some((message_bytes_in_id(&row.id)?, row.msgs_per_s?)),
    ));
    all
}

/// Draws charts of the throughput as a function of the number of producers, of consumers, and of
/// both.
pub(super) fn draw_scaling(program: &ProgramRecord) -> Vec<Figure> {
    type CoordinateFn = fn(f64, f64) -> Option<f64>;
    let threads: [(&str, &'static str, CoordinateFn); 3] = [
        ("producers, one consumer", "producing threads", |p, c| {
            (c == 1.0).then_some(p)
        }),
        ("consumers, one producer", "consuming threads", |p, c| {
            (p == 1.0).then_some(c)
        }),
        (
            "as many producers as consumers",
            "threads of each",
            |p, c| (p == c).then_some(p),
        ),
    ];
    let figures = threads.into_iter().flat_map(|(title, label, pick)| {
        let x = Axis {
            label,
            is_log: false,
            format: format_number,
        };
        draw_curves(program, title, [x, RATE_AXIS], |row| {
            let (producers, consumers) = endpoint_counts_in_id(&row.id)?;
            Some((pick(producers, consumers)?, row.msgs_per_s?))
        })
    });
    let x = Axis {
        label: "topics, publishers or subscribers",
        is_log: true,
        format: format_number,
    };
    let costs = draw_curves(
        program,
        "cost of a message in one thread",
        [x, MEDIAN_AXIS],
        |row| Some((count_in_id(&row.id)?, row.ns?.p50)),
    );
    figures.chain(costs).collect()
}

/// Draws one chart for each kind and placement of rows. A chart has a curve for each subject, such
/// as `topic`, that has enough points.
fn draw_curves(
    program: &ProgramRecord,
    title: &str,
    axes: [Axis; 2],
    point: impl Fn(&Row) -> Option<(f64, f64)>,
) -> Vec<Figure> {
    let mut groups: Vec<(String, Vec<(String, Curve<'_>)>)> = Vec::new();
    for row in &program.rows {
        let Some(point) = point(row) else { continue };
        let (key, name) = id_without_numbers(&row.id);
        let curve = group_of_key(group_of_key(&mut groups, key), name);
        curve.points.push(point);
        curve.ids.push(&row.id);
    }
    let figures = groups.into_iter().filter_map(|(key, curves)| {
        let named = |(name, curve)| Curve { name, ..curve };
        let mut curves: Vec<Curve<'_>> = curves.into_iter().map(named).collect();
        curves.retain(|curve| curve.points.len() >= POINTS_MIN);
        curves.truncate(SERIES_MAX);
        for curve in &mut curves {
            curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        Figure::new(program, &format!("{title} ({key})"), axes, curves)
    });
    figures.collect()
}

/// Returns the subject of a row: the part of its id before the message size, such as `topic` in
/// `one_way/cross_process/topic/16B`. If the id has no message size, returns its last part.
pub(super) fn subject_in_id(id: &str) -> &str {
    let parts: Vec<&str> = id.split('/').collect();
    parts[subject_part_index(&parts)]
}

/// Returns the index of the part of a row's id that names what was measured: the last part before
/// the message size.
fn subject_part_index(parts: &[&str]) -> usize {
    let last = parts.len() - 1;
    if last > 0 && message_bytes_in_id(parts[last]).is_some() {
        last - 1
    } else {
        last
    }
}

/// Returns the message size at the end of a row's id, in bytes; `None` if the id has no message
/// size.
pub(super) fn message_bytes_in_id(id: &str) -> Option<f64> {
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
        let rows = ["4KB", "64KB", "1024KB"].map(|size| rate(&format!("throughput/p/loan/{size}")));
        assert_eq!(draw_by_size(&program(rows.to_vec())).len(), 1);
        assert_eq!(draw_by_size(&program(rows[1..].to_vec())).len(), 0);
        let ends = ["1p1c", "2p1c", "4p1c", "1p2c", "2p2c"];
        let rows = ends.map(|ends| rate(&format!("throughput/cross_thread/fanout/{ends}/16B")));
        let all = draw_scaling(&program(rows.to_vec()));
        assert_eq!(
            all.len(),
            1,
            "{:?}",
            all.iter().map(|one| &one.title).collect::<Vec<_>>()
        );
        assert!(all[0].title.contains("producers, one consumer"));
    }

    #[test]
    fn ids_say_what_they_are_of() {
        assert_eq!(subject_in_id("one_way/cross_process/topic/16B"), "topic");
        assert_eq!(subject_in_id("wakeup/futex"), "futex");
        assert_eq!(
            [
                message_bytes_in_id("a/64KB"),
                message_bytes_in_id("a/b"),
                message_bytes_in_id("x/304B")
            ],
            [Some(65536.0), None, Some(304.0)]
        );
        assert_eq!(endpoint_counts_in_id("t/fanout/8p4c"), Some((8.0, 4.0)));
        assert_eq!(
            endpoint_counts_in_id("t/fanout_shm_2p2s/16B"),
            Some((2.0, 2.0))
        );
        assert_eq!(endpoint_counts_in_id("one_way/spsc/16B"), None);
        let split = |id: &str| id_without_numbers(id);
        assert_eq!(
            split("t/p/fanout_2p2s/16B"),
            ("t/p".to_owned(), "fanout_2p2s".to_owned())
        );
        assert_eq!(split("scalability/threads/4p2c").1, "threads");
    }
}
