//! The date and the time of a timestamp, as text.

use std::fmt;

/// A time by CLOCK_REALTIME, in nanoseconds since 1970. It is displayed as date and time in UTC.
///
/// ```
/// use horus_core::log::UtcTime;
///
/// let time = UtcTime(1_763_899_200_123_456_789);
/// assert_eq!(time.to_string(), "2025-11-23T12:00:00.123Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(pub u64);

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000_000;
        let (days, seconds_of_day) = (seconds / 86_400, seconds % 86_400);
        // Of the proleptic Gregorian calendar with years that begin in March, so that a leap day is
        // the last day of a year: 400 years have 146 097 days.
        let day = days + 719_468;
        let (era, day_of_era) = (day / 146_097, day % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12 + 1;
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let (hour, minute) = (seconds_of_day / 3600, seconds_of_day / 60 % 60);
        let (second, millisecond) = (seconds_of_day % 60, self.0 / 1_000_000 % 1000);
        write!(
            f,
            "{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}.\
             {millisecond:03}Z"
        )
    }
}
