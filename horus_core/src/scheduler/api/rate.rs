//! Rates: how many times per second a node runs.

use std::fmt;
use std::time::Duration;

/// A number of times per second, stored exactly in millionths of a hertz.
///
/// ```
/// use horus_core::scheduler::{Hertz, Rate};
///
/// assert_eq!(100.hz().period().as_millis(), 10);
/// assert_eq!(0.5.hz().period().as_secs(), 2);
/// assert_eq!(1.khz(), 1000.hz());
/// // `build` of a node and `Scheduler::main_rate` refuse an invalid rate.
/// let error = (-1).hz().check().unwrap_err();
/// assert!(error.to_string().ends_with("and not -1"), "{error}");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    /// The rate in millionths of a hertz; 0 if the rate is invalid.
    microhertz: u64,
    /// The bits ([`f64::to_bits`]) of the number of hertz from which an invalid rate was made; 0 if
    /// the rate is valid.
    invalid_bits: u64,
}

/// The error for a rate that is not between 0.000001 Hz and 1 MHz, or not a number.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a rate has to be a number from 0.000001 Hz to 1 MHz, and not {}", self.hertz())]
#[non_exhaustive]
pub struct RateError {
    bits: u64,
}

impl RateError {
    /// Returns the invalid number of hertz from which the rate was made.
    #[must_use]
    pub const fn hertz(self) -> f64 {
        f64::from_bits(self.bits)
    }
}

impl Rate {
    /// The lowest rate: once in a million seconds.
    pub const MIN: Self = Self::from_microhertz(1);
    /// The highest rate: once in a microsecond.
    pub const MAX: Self = Self::from_microhertz(1_000_000 * MICROHERTZ_PER_HERTZ);

    const fn from_microhertz(microhertz: u64) -> Self {
        Self {
            microhertz,
            invalid_bits: 0,
        }
    }

    /// Creates a rate of `hertz` times per second, rounded to a millionth of a hertz. An invalid
    /// number makes an invalid rate, which [`Self::check`] detects.
    #[must_use]
    pub fn hz(hertz: f64) -> Self {
        let microhertz = (hertz * MICROHERTZ_PER_HERTZ as f64).round();
        // WHY: a value that is out of range or not a number becomes 0, which `check` refuses.
        if !(1.0..=Self::MAX.microhertz as f64).contains(&microhertz) {
            return Self {
                microhertz: 0,
                invalid_bits: hertz.to_bits(),
            };
        }
        Self::from_microhertz(microhertz as u64)
    }

    /// Creates a rate of once in each `period`.
    #[must_use]
    pub fn every(period: Duration) -> Self {
        Self::hz(1.0 / period.as_secs_f64())
    }

    /// Returns the rate itself if it is valid.
    ///
    /// # Errors
    ///
    /// Returns [`RateError`] if the rate was made from a value that is not between 0.000001 Hz and
    /// 1 MHz.
    pub const fn check(self) -> Result<Self, RateError> {
        if self.microhertz == 0 {
            Err(RateError {
                bits: self.invalid_bits,
            })
        } else {
            Ok(self)
        }
    }

    /// Returns the time from one tick to the next, rounded to a nanosecond. Returns
    /// [`Duration::MAX`] if the rate is invalid.
    #[must_use]
    pub const fn period(self) -> Duration {
        if self.microhertz == 0 {
            return Duration::MAX;
        }
        Duration::from_nanos((PERIOD_NS_TIMES_MICROHERTZ + self.microhertz / 2) / self.microhertz)
    }

    /// Returns the rate in hertz: the number of times per second.
    #[must_use]
    pub fn hertz(self) -> f64 {
        self.microhertz as f64 / MICROHERTZ_PER_HERTZ as f64
    }

    /// Returns the exact period as the tuple `(q, r, d)`, which stands for `q + r / d` nanoseconds.
    pub(crate) const fn period_ns_as_mixed_fraction(self) -> (u64, u64, u64) {
        let d = self.microhertz;
        (
            PERIOD_NS_TIMES_MICROHERTZ / d,
            PERIOD_NS_TIMES_MICROHERTZ % d,
            d,
        )
    }
}

const MICROHERTZ_PER_HERTZ: u64 = 1_000_000;
/// Number of nanoseconds in a second, times a million. Dividing it by a rate in microhertz gives
/// the period in nanoseconds.
const PERIOD_NS_TIMES_MICROHERTZ: u64 = 1_000_000_000 * MICROHERTZ_PER_HERTZ;

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.hertz())
    }
}

/// Converts a number into a [`Rate`], for example `100.hz()` or `2.5.khz()`.
pub trait Hertz {
    /// Returns a rate of `self` times per second.
    fn hz(self) -> Rate;

    /// Returns a rate of `self` thousand times per second.
    fn khz(self) -> Rate;
}

macro_rules! hertz {
    ($($number:ident)+) => {$(
        impl Hertz for $number {
            fn hz(self) -> Rate {
                Rate::hz(self as f64)
            }

            fn khz(self) -> Rate {
                Rate::hz(self as f64 * 1000.0)
            }
        }
    )+};
}

hertz! { i32 u32 u64 f32 f64 }
