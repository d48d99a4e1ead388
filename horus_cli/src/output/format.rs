//! Formats numbers, times and names as text that is easy to read.

use std::borrow::Cow;
use std::time::Duration;

use horus_core::introspect::Participant;
use horus_core::log::{EscapedText, UtcTime};

/// Maximum length of a text that an error shows, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// Returns a text for an error, truncated to [`SHOWN_CHARS_MAX`] characters.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Returns a number with a comma after each thousand, such as `1,244,910`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a duration with two or three digits in a suitable unit, such as `186 ns`, `7.1 µs` or
/// `12 ms`.
pub(crate) fn duration(time: Duration) -> String {
    let ns = time.as_nanos() as f64;
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let larger = units.iter().rev().find(|(_, unit_ns)| ns >= *unit_ns);
    let (unit, unit_ns) = larger.unwrap_or(&units[0]);
    let value = ns / unit_ns;
    if value < 10.0 && *unit != "ns" {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Returns a duration as hours, minutes and seconds, such as `00:12:44`.
pub(crate) fn hours_minutes_seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

/// Returns a time in nanoseconds since 1970 as date and time, such as `2025-11-23T12:00:00.123Z`.
pub(crate) fn date_time(timestamp_ns: u64) -> String {
    UtcTime(timestamp_ns).to_string()
}

/// Returns a number of bytes in a suitable binary unit, such as `91 KiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((unit, size)) = units.iter().find(|(_, size)| bytes >= *size) else {
        return format!("{bytes} bytes");
    };
    let value = bytes as f64 / *size as f64;
    if value < 10.0 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Returns a rate in hertz with one decimal place, such as `1000.1 Hz`. A rate below 1 Hz has three
/// decimal places.
pub(crate) fn rate(hertz: f64) -> String {
    if hertz > 0.0 && hertz < 1.0 {
        format!("{hertz:.3} Hz")
    } else {
        format!("{hertz:.1} Hz")
    }
}

/// Returns a text that identifies the process of an endpoint, such as `process 4711 (imu_driver)`.
pub(crate) fn participant(participant: Option<&Participant>) -> String {
    match participant {
        Some(Participant {
            process: Some(process),
            ..
        }) => format!("process {} ({})", process.pid, visible(&process.name)),
        Some(_) => "an unknown process".to_owned(),
        None => "gone".to_owned(),
    }
}

/// Returns `text`, which may come from another program, in a form that is safe to print: characters
/// on which a terminal acts, such as control characters, are replaced by escapes.
pub(crate) fn visible(text: &str) -> String {
    EscapedText(text).to_string()
}

/// Returns `text`, which may have several lines, in a form that is safe to print, as [`visible`]
/// does. Keeps the line ends.
pub(crate) fn visible_lines(text: &str) -> String {
    let lines = text.split('\n').map(visible);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns false for a character that must not be printed as it is: a control character, or a
/// character that changes the direction of text.
pub(crate) fn is_visible(c: char) -> bool {
    EscapedText::is_visible(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        let table = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_244_910, "1,244,910"),
        ];
        for (number, text) in table {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn times_have_a_suitable_unit() {
        let table = [
            (0, "0 ns"),
            (186, "186 ns"),
            (7_100, "7.1 µs"),
            (61_000, "61 µs"),
            (12_000_000, "12 ms"),
            (1_500_000_000, "1.5 s"),
        ];
        for (ns, text) in table {
            assert_eq!(duration(Duration::from_nanos(ns)), text);
        }
        assert_eq!(hours_minutes_seconds(Duration::from_secs(764)), "00:12:44");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_763_899_200, "2025-11-23T12:00:00.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in table {
            assert_eq!(date_time(seconds * 1_000_000_000), text);
        }
    }

    #[test]
    fn sizes_and_rates_are_short() {
        assert_eq!(bytes(304), "304 bytes");
        assert_eq!(bytes(93_184), "91 KiB");
        assert_eq!(bytes(1_310_720), "1.2 MiB");
        assert_eq!(rate(1000.12), "1000.1 Hz");
        assert_eq!(rate(0.2), "0.200 Hz");
    }

    #[test]
    fn a_terminal_acts_on_nothing() {
        assert_eq!(visible("a\x1b[31mb\u{202e}c"), "a\\u{1b}[31mb\\u{202e}c");
        assert_eq!(visible_lines("a\x1b\n\u{7}b\n"), "a\\u{1b}\n\\u{7}b\n");
    }
}
