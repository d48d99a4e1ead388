//! Formats numbers, and fills templates with values from the JSON of a row.

use serde_json::Value;

/// Fills a template with values from `value`. For example, `{/ns/p50:time}` becomes the number at
/// the JSON pointer `/ns/p50`, formatted as a time. Returns `None` if a value is missing.
pub(crate) fn fill_template(template: &str, value: &Value) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, hole)) = rest.split_once('{') {
        let (hole, after) = hole.split_once('}')?;
        let (pointer, format) = hole.split_once(':').unwrap_or((hole, ""));
        text.push_str(before);
        text.push_str(&format_value(value.pointer(pointer)?, format)?);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

fn format_value(value: &Value, format: &str) -> Option<String> {
    if format.is_empty() {
        return match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            other => Some(other.to_string()),
        };
    }
    let number = value.as_f64()?;
    Some(match format {
        "raw" => number.to_string(),
        "ns" => format_ns(number),
        "time" => format_time(number),
        "rate" => format_rate(number),
        "digits" => format_number(number),
        "small" if number != 0.0 && number.abs() < 0.1 => format!("{number:.4}"),
        "small" => format_number(number),
        "percent" => format!("{:.4}", number * 100.0),
        "k" => format!("{:.0}k", number / 1e3),
        "M" => format!("{:.2}M", number / 1e6),
        "M/s" => format!("{:.1} M/s", number / 1e6),
        "us" => format!("{:.1} us", number / 1e3),
        "millions" => format!("{:.0}", number / 1e6),
        "short" if number < 10.0 => format!("{number:.1} ns"),
        "short" if number < 1e3 => format!("{number:.0} ns"),
        "short" => format!("{:.1} µs", number / 1e3),
        "signed" => format!("{number:+.2}"),
        decimals => format!("{number:.*}", decimals.parse().ok()?),
    })
}

/// Formats nanoseconds without the unit. The result has two decimals below 10 ns, one below 100 ns,
/// and none above.
pub(crate) fn format_ns(ns: f64) -> String {
    let decimals = if ns < 10.0 {
        2
    } else {
        usize::from(ns < 100.0)
    };
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
        let row = json!({ "id": "a", "ns": { "p50": 1234.5 }, "ci": [0.5, 20.0], "sent": 3 });
        assert_eq!(
            fill_template("{/id}: {/ns/p50:time} ({/sent})", &row).unwrap(),
            "a: 1.23 µs (3)"
        );
        assert_eq!(
            fill_template("{/ci/0:2} – {/ci/1:raw}", &row).unwrap(),
            "0.50 – 20"
        );
        assert_eq!(
            (
                fill_template("{/ns/p99:time}", &row),
                fill_template("{/id:ns}", &row)
            ),
            (None, None)
        );
    }

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        assert_eq!(
            [format_time(2.345), format_time(45.67), format_time(1234.0)],
            ["2.35 ns", "45.7 ns", "1.23 µs"]
        );
        assert_eq!(
            [format_time(2e6), format_rate(1.5e6), format_rate(3e12)],
            ["2 ms", "1.5 M/s", "3000 G/s"]
        );
        assert_eq!(
            [
                format_number(0.0),
                format_number(99.99),
                format_number(1000.4)
            ],
            ["0", "100", "1000"]
        );
        assert_eq!(
            [format_ns(1.234), format_ns(12.34), format_ns(1234.5)],
            ["1.23", "12.3", "1234"]
        );
    }
}
