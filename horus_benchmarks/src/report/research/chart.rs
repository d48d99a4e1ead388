//! Computes the positions of curves and axis labels in a chart. The template of the report's page
//! draws them.

use serde::Serialize;

use crate::report::rows::Row;

/// Maximum number of curves in a chart, which is the number of colours that a reader can
/// distinguish.
pub(super) const SERIES_MAX: usize = 8;

/// The area of the plot inside the chart, in SVG units: left, top, right and bottom.
pub(super) const PLOT_AREA: [f64; 4] = [84.0, 12.0, 830.0, 330.0];

/// Approximate number of labels that each axis of a chart has.
const LABEL_COUNT: f64 = 8.0;

type FormatFn = fn(f64) -> String;

type ReadFn = fn(&Row) -> Option<f64>;

#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// The name of the axis: its quantity and unit, such as `latency (ns)`.
    pub(super) label: &'static str,
    /// True if the axis is logarithmic.
    pub(super) is_log: bool,
    /// Formats a value for a label of the axis.
    pub(super) format: FormatFn,
    /// Reads the value of a row; `None` if the axis does not show the row.
    pub(super) read: ReadFn,
}

/// A chart with curves on two axes. All coordinates are in SVG units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Chart {
    x: AxisLabels,
    y: AxisLabels,
    curves: Vec<Vec<(f64, f64)>>,
    /// True if each point is drawn as a dot, because there are few points.
    dots: bool,
}

/// The name of an axis, and its labels with their coordinates.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AxisLabels {
    label: &'static str,
    ticks: Vec<(f64, String)>,
}

/// An axis with the range of values that it shows, and the coordinates of both ends of that range.
struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
    ends: [f64; 2],
}

impl Axis {
    pub(super) const fn linear(label: &'static str, format: FormatFn, read: ReadFn) -> Axis {
        let is_log = false;
        Axis {
            label,
            is_log,
            format,
            read,
        }
    }

    pub(super) const fn log(label: &'static str, format: FormatFn, read: ReadFn) -> Axis {
        Axis {
            is_log: true,
            ..Axis::linear(label, format, read)
        }
    }

    /// Returns true if `value` can be shown on the axis. A logarithmic axis cannot show 0 or
    /// negative values.
    fn can_show(self, value: f64) -> bool {
        value.is_finite() && (!self.is_log || value > 0.0)
    }
}

impl Scale {
    /// Returns a scale for `axis` that covers all `values`; `None` if there are no values. `ends`
    /// are the coordinates of the axis.
    fn covering(axis: Axis, values: impl Iterator<Item = f64>, ends: [f64; 2]) -> Option<Scale> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let has_any = low <= high;
        let (low, high) = match axis.is_log {
            true => (low / 1.5, high * 1.5),
            false => (low.min(0.0), if high > 0.0 { high * 1.08 } else { 1.0 }),
        };
        has_any.then_some(Scale {
            axis,
            low,
            high,
            ends,
        })
    }

    /// Returns the coordinate of `value` on the axis.
    fn coordinate_of(&self, value: f64) -> f64 {
        let scaled = |v: f64| if self.axis.is_log { v.ln() } else { v };
        let share = (scaled(value) - scaled(self.low)) / (scaled(self.high) - scaled(self.low));
        let [from, to] = self.ends;
        ((from + share * (to - from)) * 10.0).round() / 10.0
    }

    /// Returns the values at which the axis has labels. They are round numbers.
    fn label_values(&self) -> Vec<f64> {
        if !self.axis.is_log {
            let rough = (self.high - self.low) / LABEL_COUNT;
            let unit = 10f64.powf(rough.log10().floor());
            let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit);
            let step = steps.into_iter().find(|step| *step >= rough);
            let step = step.unwrap_or(rough);
            let first = (self.low / step).ceil() as i64;
            let all = (first..).map(|n| n as f64 * step);
            return all.take_while(|v| *v <= self.high).collect();
        }
        let decades = (self.high / self.low).log10();
        let factors = if decades < 3.0 {
            &[1.0, 2.0, 5.0][..]
        } else {
            &[1.0]
        };
        let all = (self.low.log10().floor() as i32..).map(|power| 10f64.powi(power));
        let all = all.flat_map(|unit| factors.iter().map(move |factor| factor * unit));
        all.skip_while(|v| *v < self.low)
            .take_while(|v| *v <= self.high)
            .collect()
    }

    fn labels(&self) -> AxisLabels {
        let tick = |value| (self.coordinate_of(value), (self.axis.format)(value));
        AxisLabels {
            label: self.axis.label,
            ticks: self.label_values().into_iter().map(tick).collect(),
        }
    }
}

impl Chart {
    /// Makes a chart of the curves in `series`. If `dots` is true, each point is drawn as a dot.
    /// Ignores points that an axis cannot show, and returns `None` if no point remains.
    pub(super) fn new([x, y]: [Axis; 2], series: &[Vec<(f64, f64)>], dots: bool) -> Option<Chart> {
        let visible = |&&(a, b): &&(f64, f64)| x.can_show(a) && y.can_show(b);
        let points = || series.iter().flatten().filter(visible);
        let [left, top, right, bottom] = PLOT_AREA;
        let x = Scale::covering(x, points().map(|point| point.0), [left, right])?;
        let y = Scale::covering(y, points().map(|point| point.1), [bottom, top])?;
        let place = |&(a, b): &(f64, f64)| (x.coordinate_of(a), y.coordinate_of(b));
        let curve = |points: &Vec<_>| points.iter().filter(visible).map(place).collect();
        Some(Chart {
            x: x.labels(),
            y: y.labels(),
            curves: series.iter().map(curve).collect(),
            dots,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::template::{format_number, format_time};

    const NS: Axis = Axis::log("latency (ns)", format_time, |_| None);
    const COUNT: Axis = Axis::linear("threads", format_number, |_| None);

    #[test]
    fn curves_show_every_series_and_the_units_of_both_axes() {
        let series = [
            vec![(1.0, 10.0), (2.0, 2000.0)],
            vec![(1.0, 5.0), (2.0, 0.0), (3.0, 7.0)],
        ];
        let chart = Chart::new([COUNT, NS], &series, true).unwrap();
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
        assert_eq!(Chart::new([COUNT, NS], &[], false), None);
        assert_eq!(Chart::new([COUNT, NS], &[vec![(1.0, 0.0)]], false), None);
    }

    #[test]
    fn labels_are_round_numbers_within_the_axis() {
        let ticks = |axis, low, high| {
            let values = [low, high].into_iter();
            let scale = Scale::covering(axis, values, [0.0, 1.0]).unwrap();
            Scale { low, high, ..scale }.label_values()
        };
        assert_eq!(ticks(COUNT, 0.0, 8.6), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(NS, 9.0, 60.0), [10.0, 20.0, 50.0]);
        assert_eq!(ticks(NS, 9.0, 60_000.0), [10.0, 100.0, 1000.0, 10_000.0]);
    }
}
