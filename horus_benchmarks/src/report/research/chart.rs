//! Computes the positions of curves and axis labels in a chart with two logarithmic axes. The
//! template of the report's page draws them.

use serde::Serialize;

/// The area of the plot inside the chart, in SVG units: left, top, right and bottom.
pub(super) const PLOT_AREA: [f64; 4] = [84.0, 12.0, 830.0, 330.0];

/// The name of an axis, which is its quantity and unit, and the function that formats its labels.
pub(super) type Axis = (&'static str, fn(f64) -> String);

/// A chart with curves on two axes. All coordinates are in SVG units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Chart {
    x: AxisLabels,
    y: AxisLabels,
    curves: Vec<Vec<(f64, f64)>>,
}

/// The name of an axis, and its labels with their coordinates.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AxisLabels {
    label: &'static str,
    ticks: Vec<(f64, String)>,
}

/// The range of values that an axis shows, and the coordinates of both ends of that range.
struct AxisScale {
    low: f64,
    high: f64,
    ends: [f64; 2],
}

impl AxisScale {
    /// Returns a scale that covers all `values`; `None` if there are no values. `axis_ends` are the
    /// coordinates of the axis.
    fn covering(values: impl Iterator<Item = f64>, axis_ends: [f64; 2]) -> Option<AxisScale> {
        let ranges = values.map(|value| (value / 1.5, value * 1.5));
        let (low, high) = ranges.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))?;
        Some(AxisScale {
            low,
            high,
            ends: axis_ends,
        })
    }

    /// Returns the coordinate of `value` on the axis.
    fn coordinate_of(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        let [from, to] = self.ends;
        ((from + share * (to - from)) * 10.0).round() / 10.0
    }

    /// Returns the values at which the axis has labels. They are round numbers.
    fn label_values(&self) -> Vec<f64> {
        let factors: &[i32] = match (self.high / self.low).log10() {
            ..1.0 => &[1, 2, 3, 4, 5, 6, 8],
            ..3.0 => &[1, 2, 5],
            _ => &[1],
        };
        let units = (self.low.log10().floor() as i32..).map(|power| 10f64.powi(power));
        let all = units.flat_map(|unit| factors.iter().map(move |&n| f64::from(n) * unit));
        all.skip_while(|value| *value < self.low)
            .take_while(|value| *value <= self.high)
            .collect()
    }

    fn labels(&self, (label, format): Axis) -> AxisLabels {
        let tick = |value| (self.coordinate_of(value), format(value));
        let ticks = self.label_values().into_iter().map(tick).collect();
        AxisLabels { label, ticks }
    }
}

impl Chart {
    /// Makes a chart of the curves in `series`. Ignores points that are not above 0 on both axes,
    /// and returns `None` if no point remains.
    pub(super) fn new([x_axis, y_axis]: [Axis; 2], series: &[Vec<(f64, f64)>]) -> Option<Chart> {
        let can_show = |value: f64| value.is_finite() && value > 0.0;
        let visible = |&&(x, y): &&(f64, f64)| can_show(x) && can_show(y);
        let points = || series.iter().flatten().filter(visible);
        let [left, top, right, bottom] = PLOT_AREA;
        let x = AxisScale::covering(points().map(|point| point.0), [left, right])?;
        let y = AxisScale::covering(points().map(|point| point.1), [bottom, top])?;
        let place = |&(a, b): &(f64, f64)| (x.coordinate_of(a), y.coordinate_of(b));
        let curve = |points: &Vec<_>| points.iter().filter(visible).map(place).collect();
        Some(Chart {
            x: x.labels(x_axis),
            y: y.labels(y_axis),
            curves: series.iter().map(curve).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::template::{format_number, format_time};

    const AXES: [Axis; 2] = [("threads", format_number), ("latency (ns)", format_time)];

    #[test]
    fn curves_show_every_series_and_the_units_of_both_axes() {
        let series = [
            vec![(1.0, 10.0), (2.0, 2000.0)],
            vec![(1.0, 5.0), (2.0, 0.0), (3.0, 7.0)],
        ];
        let chart = Chart::new(AXES, &series).unwrap();
        assert_eq!((chart.x.label, chart.y.label), ("threads", "latency (ns)"));
        let ticks: Vec<&str> = chart.y.ticks.iter().map(|(_, text)| &**text).collect();
        assert_eq!(
            ticks,
            [
                "5 ns", "10 ns", "20 ns", "50 ns", "100 ns", "200 ns", "500 ns", "1 µs", "2 µs"
            ]
        );
        let points: Vec<usize> = chart.curves.iter().map(Vec::len).collect();
        assert_eq!(points, [2, 2], "the zero has no place on this axis");
        let [left, top, right, bottom] = PLOT_AREA;
        for &(x, y) in chart.curves.iter().flatten() {
            assert!(left < x && x < right && top < y && y < bottom, "{x} {y}");
        }
        let [low, high] = [chart.curves[1][0], chart.curves[0][1]];
        assert!(low.0 < high.0 && low.1 > high.1, "{low:?} {high:?}");
    }

    #[test]
    fn without_data_there_is_no_chart() {
        assert_eq!(Chart::new(AXES, &[]), None);
        assert_eq!(Chart::new(AXES, &[vec![(1.0, 0.0)]]), None);
    }

    #[test]
    fn labels_are_round_numbers_within_the_axis() {
        let ticks = |low, high| {
            let ends = [0.0, 1.0];
            AxisScale { low, high, ends }.label_values()
        };
        assert_eq!(ticks(2.1, 4.7), [3.0, 4.0]);
        assert_eq!(ticks(9.0, 100.0), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ticks(9.0, 60_000.0), [10.0, 100.0, 1000.0, 10_000.0]);
    }
}
