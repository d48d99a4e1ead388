//! Charts as SVG for a page: curves and bars, on linear or logarithmic axes.
//!
//! Colours are not in the picture: it holds stand-ins that the page's style sheet replaces, so that
//! one picture is readable in light and in dark. Legends are the page's, too.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Colours of series that can be told apart; a chart has at most so many.
pub const SERIES_MAX: usize = 8;

/// Stand-in for the colour of text and axes.
pub const INK: RGBColor = RGBColor(1, 1, 1);

/// Stand-in for the colour of grid lines.
pub const GRID: RGBColor = RGBColor(2, 2, 2);

const WIDTH: u32 = 860;
const CURVES_HEIGHT: u32 = 380;
const BAR_HEIGHT: u32 = 26;
const FONT: &str = "sans-serif";
const FONT_SIZE: u32 = 15;

/// Why a chart could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// There is nothing to show, or nothing that the axes can show.
    #[error("no data that can be drawn")]
    Empty,
    /// The drawing library refused.
    #[error("cannot be drawn: {0}")]
    Drawing(String),
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By factors.
    Log,
}

/// What an axis shows.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    /// What is measured, and its unit: `latency (ns)`.
    pub label: &'static str,
    /// How it is divided.
    pub scale: Scale,
    /// A value, as it is written beside the axis.
    pub format: fn(f64) -> String,
}

/// Stand-in for the colour of a series.
pub fn colour(series: usize) -> RGBColor {
    RGBColor(3, 3, (series % SERIES_MAX) as u8)
}

/// The stand-in as it is written in SVG.
pub fn stand_in(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// Curves over `x`; points that a logarithmic axis cannot show are left out.
pub fn curves(
    x: Axis,
    y: Axis,
    series: &[Vec<(f64, f64)>],
    markers: bool,
) -> Result<String, ChartError> {
    let visible =
        |scale: Scale, value: f64| value.is_finite() && (scale == Scale::Linear || value > 0.0);
    let series: Vec<Vec<(f64, f64)>> = series
        .iter()
        .map(|points| {
            let points = points.iter().copied();
            points.filter(|&(a, b)| visible(x.scale, a) && visible(y.scale, b)).collect()
        })
        .collect();
    let xs = range(x.scale, series.iter().flatten().map(|point| point.0))?;
    let ys = range(y.scale, series.iter().flatten().map(|point| point.1))?;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, CURVES_HEIGHT)).into_drawing_area();
        let plot = Curves { x, y, series: &series, markers };
        match (x.scale, y.scale) {
            (Scale::Linear, Scale::Linear) => plot.draw(&root, xs, ys),
            (Scale::Linear, Scale::Log) => plot.draw(&root, xs, ys.log_scale()),
            (Scale::Log, Scale::Linear) => plot.draw(&root, xs.log_scale(), ys),
            (Scale::Log, Scale::Log) => plot.draw(&root, xs.log_scale(), ys.log_scale()),
        }?;
        root.present().map_err(drawing)?;
    }
    Ok(text)
}

struct Curves<'a> {
    x: Axis,
    y: Axis,
    series: &'a [Vec<(f64, f64)>],
    markers: bool,
}

impl Curves<'_> {
    fn draw<X, Y>(
        &self,
        root: &DrawingArea<SVGBackend<'_>, Shift>,
        xs: X,
        ys: Y,
    ) -> Result<(), ChartError>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut chart = ChartBuilder::on(root)
            .margin(12)
            .margin_right(30)
            .x_label_area_size(46)
            .y_label_area_size(84)
            .build_cartesian_2d(xs, ys)
            .map_err(drawing)?;
        let (format_x, format_y) = (self.x.format, self.y.format);
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style(text_style())
            .axis_desc_style(text_style())
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .x_labels(8)
            .y_labels(8)
            .x_label_formatter(&|value| format_x(*value))
            .y_label_formatter(&|value| format_y(*value))
            .draw()
            .map_err(drawing)?;
        for (index, points) in self.series.iter().enumerate() {
            let style = colour(index).stroke_width(2);
            chart.draw_series(LineSeries::new(points.iter().copied(), style)).map_err(drawing)?;
            if self.markers {
                let dots = points.iter().map(|&at| Circle::new(at, 4, colour(index).filled()));
                chart.draw_series(dots).map_err(drawing)?;
            }
        }
        Ok(())
    }
}

/// A bar, with an interval if it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// How long it is.
    pub value: f64,
    /// The interval drawn across its end.
    pub interval: Option<[f64; 2]>,
    /// Which colour it has.
    pub series: usize,
}

/// Horizontal bars, one below the other, each with its value written beside it. With `mark`, a line
/// across all of them.
pub fn bars(x: Axis, bars: &[Bar], mark: Option<f64>) -> Result<String, ChartError> {
    let shown: Vec<&Bar> = bars
        .iter()
        .filter(|bar| bar.value.is_finite() && (x.scale == Scale::Linear || bar.value > 0.0))
        .collect();
    let ends = shown.iter().flat_map(|bar| {
        [Some(bar.value), bar.interval.map(|interval| interval[1])].into_iter().flatten()
    });
    let xs = range(x.scale, ends.chain(mark))?;
    let mut text = String::new();
    {
        let height = BAR_HEIGHT * shown.len() as u32 + 66;
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        let plot = Bars { x, bars: &shown, mark };
        match x.scale {
            Scale::Linear => plot.draw(&root, xs.clone(), xs.start),
            Scale::Log => plot.draw(&root, xs.clone().log_scale(), xs.start),
        }?;
        root.present().map_err(drawing)?;
    }
    Ok(text)
}

struct Bars<'a> {
    x: Axis,
    bars: &'a [&'a Bar],
    mark: Option<f64>,
}

impl Bars<'_> {
    /// Bars begin at `from`, the lower end of the axis.
    fn draw<X>(
        &self,
        root: &DrawingArea<SVGBackend<'_>, Shift>,
        xs: X,
        from: f64,
    ) -> Result<(), ChartError>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        let mut chart = ChartBuilder::on(root)
            .margin(8)
            .margin_right(90)
            .x_label_area_size(46)
            .y_label_area_size(300)
            .build_cartesian_2d(xs, self.bars.len() as f64..0.0)
            .map_err(drawing)?;
        let format = self.x.format;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style(text_style())
            .axis_desc_style(text_style())
            .x_desc(self.x.label)
            .x_labels(8)
            .y_labels(0)
            .x_label_formatter(&|value| format(*value))
            .draw()
            .map_err(drawing)?;
        for (index, bar) in self.bars.iter().enumerate() {
            let (top, middle) = (index as f64, index as f64 + 0.5);
            let body = Rectangle::new(
                [(from, top + 0.16), (bar.value, top + 0.84)],
                colour(bar.series).filled(),
            );
            chart.draw_series([body]).map_err(drawing)?;
            let mut end = bar.value;
            if let Some([low, high]) = bar.interval {
                end = end.max(high);
                let line = PathElement::new([(low.max(from), middle), (high, middle)], INK);
                chart.draw_series([line]).map_err(drawing)?;
            }
            let beside = |pos: HPos| text_style().pos(Pos::new(pos, VPos::Center));
            let name = EmptyElement::at((from, middle))
                + Text::new(bar.label.clone(), (-8, 0), beside(HPos::Right));
            let value = EmptyElement::at((end, middle))
                + Text::new(format(bar.value), (6, 0), beside(HPos::Left));
            chart.draw_series([name]).map_err(drawing)?;
            chart.draw_series([value]).map_err(drawing)?;
        }
        if let Some(mark) = self.mark {
            let line = PathElement::new([(mark, 0.0), (mark, self.bars.len() as f64)], INK);
            chart.draw_series([line]).map_err(drawing)?;
        }
        Ok(())
    }
}

fn text_style() -> TextStyle<'static> {
    (FONT, FONT_SIZE).into_font().color(&INK)
}

/// What an axis has to reach from and to, with some room.
fn range(scale: Scale, values: impl Iterator<Item = f64>) -> Result<Range<f64>, ChartError> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return Err(ChartError::Empty);
    }
    Ok(match scale {
        Scale::Linear => low.min(0.0)..if high > 0.0 { high * 1.08 } else { 1.0 },
        Scale::Log => low / 1.5..high * 1.5,
    })
}

fn drawing(error: impl std::fmt::Display) -> ChartError {
    ChartError::Drawing(error.to_string())
}

/// Nanoseconds in the unit that suits them.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size < 1e3 => (ns, "ns"),
        size if size < 1e6 => (ns / 1e3, "µs"),
        size if size < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// A rate in messages a second.
pub fn rate(per_s: f64) -> String {
    let (value, unit) = match per_s.abs() {
        size if size < 1e3 => (per_s, "/s"),
        size if size < 1e6 => (per_s / 1e3, "k/s"),
        size if size < 1e9 => (per_s / 1e6, "M/s"),
        _ => (per_s / 1e9, "G/s"),
    };
    format!("{} {unit}", digits(value))
}

/// How many times something.
pub fn times(ratio: f64) -> String {
    format!("{} ×", digits(ratio))
}

/// As many digits as mean something: three.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size == 0.0 || size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: Axis = Axis { label: "latency (ns)", scale: Scale::Log, format: time };
    const COUNT: Axis = Axis { label: "threads", scale: Scale::Linear, format: digits };

    #[test]
    fn curves_show_every_series_and_the_units_of_both_axes() {
        let series = [vec![(1.0, 10.0), (2.0, 2000.0)], vec![(1.0, 5.0), (2.0, 0.0), (3.0, 7.0)]];
        let svg = curves(COUNT, NS, &series, true).unwrap();
        for wanted in ["latency (ns)", "threads", "100 ns", "1 µs"] {
            assert!(svg.contains(wanted), "no {wanted} in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 4, "the zero has no place on this axis");
        for index in 0..2 {
            assert!(svg.contains(&format!("stroke=\"{}\"", stand_in(colour(index)))), "{svg}");
        }
    }

    #[test]
    fn bars_have_their_labels_values_and_intervals() {
        let all = ["a", "b"].map(|label| Bar {
            label: label.to_owned(),
            value: 1.25,
            interval: Some([1.2, 1.3]),
            series: 1,
        });
        let axis = Axis { label: "× floor", scale: Scale::Linear, format: times };
        let svg = bars(axis, &all, Some(1.0)).unwrap();
        assert_eq!(svg.matches(&stand_in(colour(1))).count(), 2, "{svg}");
        assert_eq!(svg.matches("1.25 ×").count(), 2, "{svg}");
        assert!(svg.contains("× floor"));
    }

    #[test]
    fn without_data_there_is_no_chart() {
        assert_eq!(curves(COUNT, NS, &[], false), Err(ChartError::Empty));
        assert_eq!(curves(COUNT, NS, &[vec![(1.0, 0.0)]], false), Err(ChartError::Empty));
        assert_eq!(bars(NS, &[], None), Err(ChartError::Empty));
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!([time(2.345), time(45.67), time(1234.0)], ["2.35 ns", "45.7 ns", "1.23 µs"]);
        assert_eq!([time(2e6), rate(1.5e6), times(20.0)], ["2 ms", "1.5 M/s", "20 ×"]);
        assert_eq!([digits(0.0), digits(99.99), digits(1000.4)], ["0", "100", "1000"]);
    }
}
