//! Fills templates with values from the JSON of a row, and formats numbers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use serde::{Deserialize, Serialize};

/// The columns of the tables in which all rows have the same form, by the name of the table.
static COLUMNS_BY_TABLE: LazyLock<BTreeMap<String, TableColumns>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("columns.json")).expect("a constant, valid list")
});

/// The columns of a table. For each one: a heading, and a template that is filled from a row.
#[derive(Debug, Deserialize)]
pub(crate) struct TableColumns(Vec<(String, String)>);

impl TableColumns {
    /// Returns the columns of the table `name`.
    ///
    /// # Panics
    ///
    /// If there is no table with this name.
    pub(crate) fn of_table(name: &str) -> &'static TableColumns {
        &COLUMNS_BY_TABLE[name]
    }

    pub(crate) fn headings(&self) -> Vec<&str> {
        self.0.iter().map(|(heading, _)| &**heading).collect()
    }

    /// Returns the cells of a line of the table. A cell is `None` if `row` lacks a value of its
    /// template.
    pub(crate) fn cells(&self, row: impl Serialize) -> Vec<Option<String>> {
        let row = Value::from(Serde(row));
        let templates = self.0.iter().map(|(_, template)| template);
        templates
            .map(|template| fill_template(template, row.clone()))
            .collect()
    }
}

/// The engine for templates in which every value is required.
static STRICT_TEMPLATE_ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = new_template_engine();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_formatter(write_required_value);
    engine
});

/// Creates an engine for templates that knows the formats of numbers as filters. For example,
/// `{{ ns.p50|time }}` shows a number of nanoseconds with a suitable unit.
pub(crate) fn new_template_engine() -> Environment<'static> {
    let mut engine = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    let syntax = syntax.trim_blocks(true).lstrip_blocks(true).build();
    engine.set_syntax(syntax.expect("the delimiters are the usual ones"));
    engine.add_filter("digits", format_number);
    engine.add_filter("fixed", |number: f64, decimals: usize| {
        format!("{number:.decimals$}")
    });
    engine.add_filter("ns", format_ns);
    engine.add_filter("rate", format_rate);
    engine.add_filter("raw", |number: f64| number.to_string());
    engine.add_filter("short", |ns: f64| match ns {
        ns if ns < 10.0 => format!("{ns:.1} ns"),
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns => format!("{:.1} µs", ns / 1e3),
    });
    engine.add_filter("signed", |number: f64| format!("{number:+.2}"));
    engine.add_filter("small", |number: f64| match number.abs() {
        size if size != 0.0 && size < 0.1 => format!("{number:.4}"),
        _ => format_number(number),
    });
    engine.add_filter("time", format_time);
    engine
}

/// Fills a template with the fields of `value`. Returns `None` if a value of the template is
/// missing, null or an empty text.
pub(crate) fn fill_template(template: &str, value: impl Into<Value>) -> Option<String> {
    STRICT_TEMPLATE_ENGINE.render_str(template, value).ok()
}

fn write_required_value(
    out: &mut Output<'_>,
    _: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    if value.is_undefined() || value.is_none() || value.as_str() == Some("") {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    Ok(write!(out, "{value}")?)
}

/// Formats nanoseconds without the unit. The result has two decimals below 10 ns, one below 100 ns,
/// and none above.
pub(crate) fn format_ns(ns: f64) -> String {
    let decimals = usize::from(ns < 10.0) + usize::from(ns < 100.0);
    format!("{ns:.decimals$}")
}

/// Formats a time with a unit in which the number is short. `ns` is the time in nanoseconds.
pub(crate) fn format_time(ns: f64) -> String {
    format_in_units(ns, ["ns", "µs", "ms", "s"])
}

/// Formats a rate in messages per second with a suitable prefix of the unit.
pub(crate) fn format_rate(per_s: f64) -> String {
    format_in_units(per_s, ["/s", "k/s", "M/s", "G/s"])
}

fn format_in_units(value: f64, units: [&str; 4]) -> String {
    let mut scaled = value;
    for unit in &units[..3] {
        if scaled.abs() < 1e3 {
            return format!("{} {unit}", format_number(scaled));
        }
        scaled /= 1e3;
    }
    format!("{} {}", format_number(scaled), units[3])
}

/// Formats a number with three significant digits.
pub(crate) fn format_number(value: f64) -> String {
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_is_filled_or_empty() {
        let row = json!({ "id": "a", "ns": { "p50": 1234.5 }, "ci": [0.5, 20.0], "none": null });
        let row = Value::from(Serde(row));
        let fill = |template| fill_template(template, row.clone());
        for (template, text) in [
            ("{{ id }}: {{ ns.p50|time }}", "a: 1.23 µs"),
            ("{{ ci[0]|fixed(2) }} – {{ ci[1]|raw }}", "0.50 – 20"),
            (
                "{{ ns.p50|short }}, {{ ns.p50|signed }}",
                "1.2 µs, +1234.50",
            ),
            ("{{ (ci[0] / 10)|small }}", "0.0500"),
        ] {
            assert_eq!(fill(template).as_deref(), Some(text));
        }
        for template in ["{{ ns.p99|time }}", "{{ id|ns }}", "{{ x }}", "{{ none }}"] {
            assert_eq!(fill(template), None, "{template}");
        }
    }

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        let times = [2.345, 45.67, 1234.0, 2e6].map(format_time);
        assert_eq!(times, ["2.35 ns", "45.7 ns", "1.23 µs", "2 ms"]);
        assert_eq!([1.5e6, 3e12].map(format_rate), ["1.5 M/s", "3000 G/s"]);
        let numbers = [0.0, 99.99, 1000.4].map(format_number);
        assert_eq!(numbers, ["0", "100", "1000"]);
        let ns = [1.234, 12.34, 1234.5].map(format_ns);
        assert_eq!(ns, ["1.23", "12.3", "1234"]);
    }
}
