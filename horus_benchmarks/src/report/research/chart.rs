//! Draws curves as SVG, on linear or logarithmic axes. The page's style sheet defines the colours.

use std::fmt::Write as _;

/// Maximum number of curves in a chart: the number of colours that can be told apart.
pub(super) const SERIES_MAX: usize = 8;

/// The area of the plot inside the picture, in SVG units: left, top, right and bottom.
const PLOT: [f64; 4] = [84.0, 12.0, 830.0, 330.0];

const SIZE: [f64; 2] = [860.0, 380.0];

/// Approximate number of labels on an axis.
const LABELS: f64 = 8.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// The quantity and its unit: `latency (ns)`.
    pub(super) label: &'static str,
    /// True for a logarithmic axis.
    pub(super) is_log: bool,
    /// Formats a value for a label.
    pub(super) format: fn(f64) -> String,
}

/// An axis and the range of values on it.
struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
}

impl Scale {
    /// Returns a scale that covers all `values`; `None` if there are none.
    fn over(axis: Axis, values: impl Iterator<Item = f64>) -> Option<Scale> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        let has_any = low <= high;
        let (low, high) = match axis.is_log {
            true => (low / 1.5, high * 1.5),
            false => (low.min(0.0), if high > 0.0 { high * 1.08 } else { 1.0 }),
        };
        has_any.then_some(Scale { axis, low, high })
    }

    /// Maps a value on the axis to a coordinate between `from` and `to`.
    fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let scaled = |v: f64| if self.axis.is_log { v.ln() } else { v };
        let share = (scaled(value) - scaled(self.low)) / (scaled(self.high) - scaled(self.low));
        from + share * (to - from)
    }

    /// Returns the values to label, which are round numbers.
    fn ticks(&self) -> Vec<f64> {
        if !self.axis.is_log {
            let rough = (self.high - self.low) / LABELS;
            let unit = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit);
            let step = step
                .into_iter()
                .find(|step| *step >= rough)
                .unwrap_or(rough);
            let first = (self.low / step).ceil() as i64;
            return (first..)
                .map(|n| n as f64 * step)
                .take_while(|v| *v <= self.high)
                .collect();
        }
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = if decades < 3.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let all = (self.low.log10().floor() as i32..).map(|power| 10f64.powi(power));
        let all = all.flat_map(|unit| factors.iter().map(move |factor| factor * unit));
        all.skip_while(|v| *v < self.low)
            .take_while(|v| *v <= self.high)
            .collect()
    }
}

/// Draws curves, with dots if there are few points. Ignores points that a logarithmic axis cannot
/// show; returns `None` if no point remains.
pub(super) fn curves(
    x: Axis,
    y: Axis,
    series: &[Vec<(f64, f64)>],
    dots: bool,
    label: &str,
) -> Option<String> {
    let visible = |axis: Axis, value: f64| value.is_finite() && (!axis.is_log || value > 0.0);
    let visible = |&&(a, b): &&(f64, f64)| visible(x, a) && visible(y, b);
    let points = || series.iter().flatten().filter(visible);
    let xs = Scale::over(x, points().map(|point| point.0))?;
    let ys = Scale::over(y, points().map(|point| point.1))?;
    let ([left, top, right, bottom], [width, height]) = (PLOT, SIZE);
    let mut svg =
        format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">");
    for tick in xs.ticks() {
        let at = xs.place(tick, left, right);
        let text = (x.format)(tick);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            bottom + 18.0
        );
    }
    for tick in ys.ticks() {
        let at = ys.place(tick, bottom, top);
        let text = (y.format)(tick);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            left - 8.0,
            at + 5.0
        );
    }
    for (index, points) in series.iter().enumerate() {
        let colour = format!(
            "class=\"series\" style=\"stroke:var(--c{})\"",
            index % SERIES_MAX
        );
        let at = |&(a, b): &(f64, f64)| (xs.place(a, left, right), ys.place(b, bottom, top));
        let places: Vec<(f64, f64)> = points.iter().filter(visible).map(at).collect();
        let line: Vec<String> = places
            .iter()
            .map(|(a, b)| format!("{a:.1},{b:.1}"))
            .collect();
        let _ = write!(svg, "<polyline {colour} points=\"{}\"/>", line.join(" "));
        for (a, b) in places.iter().filter(|_| dots) {
            let _ = write!(
                svg,
                "<circle {colour} cx=\"{a:.1}\" cy=\"{b:.1}\" r=\"4\"/>"
            );
        }
    }
    let middle = (left + right) / 2.0;
    let below = height - 8.0;
    let _ = write!(
        svg,
        "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{}</text>\
         <text x=\"14\" y=\"170\" text-anchor=\"middle\" transform=\"rotate(-90 14 170)\">{}</text>\
         </svg>",
        x.label, y.label
    );
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::template::{digits, time};

    const NS: Axis = Axis {
        label: "latency (ns)",
        is_log: true,
        format: time,
    };
    const COUNT: Axis = Axis {
        label: "threads",
        is_log: false,
        format: digits,
    };

    #[test]
    fn curves_show_every_series_and_the_units_of_both_axes() {
        let series = [
            vec![(1.0, 10.0), (2.0, 2000.0)],
            vec![(1.0, 5.0), (2.0, 0.0), (3.0, 7.0)],
        ];
        let svg = curves(COUNT, NS, &series, true, "").unwrap();
        for wanted in [
            "latency (ns)",
            "threads",
            ">100 ns<",
            ">1 µs<",
            "--c0",
            "--c1",
        ] {
            assert!(svg.contains(wanted), "no {wanted} in {svg}");
        }
        assert_eq!(
            svg.matches("<circle").count(),
            4,
            "the zero has no place on this axis"
        );
    }

    #[test]
    fn without_data_there_is_no_chart() {
        assert_eq!(curves(COUNT, NS, &[], false, ""), None);
        assert_eq!(curves(COUNT, NS, &[vec![(1.0, 0.0)]], false, ""), None);
    }

    #[test]
    fn labels_are_round_numbers_within_the_axis() {
        let ticks = |axis, low, high| Scale { axis, low, high }.ticks();
        assert_eq!(ticks(COUNT, 0.0, 8.6), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(NS, 9.0, 60.0), [10.0, 20.0, 50.0]);
        assert_eq!(ticks(NS, 9.0, 60_000.0), [10.0, 100.0, 1000.0, 10_000.0]);
    }
}
