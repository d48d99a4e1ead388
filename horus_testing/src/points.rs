//! Samples of the points of a sweep, such as the system calls at which a process is killed.
//!
//! `make test` visits some of the points, others in each run; `make torture` visits all of them.

use std::env;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Name of the environment variable that selects the points: `all`, or the number that an earlier
/// run has printed, whose points are then visited again.
const POINTS_VARIABLE: &str = "HORUS_TEST_POINTS";

/// The count of numbers that select a sample. Every stride up to ten divides it, so that each point
/// is equally likely.
const SAMPLE_NUMBER_COUNT: usize = 2520;

/// Returns true if the environment variable `HORUS_TORTURE` selects the long versions of tests.
#[must_use]
pub fn is_torture() -> bool {
    env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1")
}

/// Returns true if this run visits all points of all sweeps.
#[must_use]
pub fn visits_all_points() -> bool {
    PointSelection::current() == PointSelection::All
}

/// The points of all sweeps of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PointSelection {
    All,
    Number(usize),
}

impl PointSelection {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let number = text.parse().map(Self::Number);
        number.map_err(|_| format!("{POINTS_VARIABLE} is '{text}': wanted 'all' or a number"))
    }

    /// Returns the selection of the environment, or else a random one.
    fn current() -> Self {
        static CURRENT: OnceLock<PointSelection> = OnceLock::new();
        *CURRENT.get_or_init(|| match env::var(POINTS_VARIABLE) {
            Ok(text) => Self::parse(&text).unwrap_or_else(|error| panic!("{error}")),
            Err(_) if is_torture() => Self::All,
            Err(_) => {
                Self::Number(RandomState::new().hash_one(0_u8) as usize % SAMPLE_NUMBER_COUNT)
            }
        })
    }
}

/// The points of a sweep that this run visits, as numbers from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointSample {
    first: usize,
    stride: usize,
    selection: PointSelection,
}

impl PointSample {
    /// Selects every `stride`-th point; every point with `HORUS_TORTURE=1`. Prints how to repeat
    /// the sample, which the test harness shows if the test fails.
    #[must_use]
    pub fn every(stride: usize) -> Self {
        let sample = Self::new(stride, PointSelection::current());
        println!("{sample}");
        sample
    }

    /// Selects every point.
    #[must_use]
    pub fn all() -> Self {
        Self::new(1, PointSelection::All)
    }

    fn new(stride: usize, selection: PointSelection) -> Self {
        let (first, stride) = match selection {
            PointSelection::All => (0, 1),
            PointSelection::Number(number) => (number % stride, stride),
        };
        Self {
            first,
            stride,
            selection,
        }
    }

    /// Returns the same sample of points that are numbered from `first_number` on.
    #[must_use]
    pub fn numbered_from(self, first_number: usize) -> Self {
        let first = (self.first + self.stride - first_number % self.stride) % self.stride;
        Self { first, ..self }
    }

    /// Returns the distance between two points of the sample.
    #[must_use]
    pub fn stride(self) -> usize {
        self.stride
    }

    /// Returns true if the sample has the point with the number `point`.
    #[must_use]
    pub fn contains(self, point: usize) -> bool {
        point % self.stride == self.first
    }

    /// Returns the points of the sample, without end.
    pub fn points(self) -> impl Iterator<Item = usize> {
        (self.first..).step_by(self.stride)
    }

    /// Returns the items whose numbers are points of the sample.
    pub fn select_items<T>(self, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        items.into_iter().skip(self.first).step_by(self.stride)
    }
}

impl fmt::Display for PointSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, stride, .. } = self;
        match self.selection {
            PointSelection::All => write!(f, "every point is visited"),
            PointSelection::Number(number) => write!(
                f,
                "one of {stride} points is visited, from point {first} on; to visit the same ones \
                 again, set {POINTS_VARIABLE}={number}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_in_one_of_the_samples() {
        for stride in 1..=10 {
            let samples = (0..SAMPLE_NUMBER_COUNT).map(|number| {
                let sample = PointSample::new(stride, PointSelection::Number(number));
                let points: Vec<_> = sample.points().take_while(|&point| point < 40).collect();
                assert!(
                    sample.select_items(0..40).eq(points.iter().copied()),
                    "{sample:?}"
                );
                let contained = (0..40).filter(|&point| sample.contains(point));
                assert!(contained.eq(points.iter().copied()), "{sample:?}");
                points
            });
            let mut visits = [0; 40];
            samples.flatten().for_each(|point| visits[point] += 1);
            assert_eq!(visits, [SAMPLE_NUMBER_COUNT / stride; 40], "{stride}");
        }
    }

    #[test]
    fn a_shifted_sample_has_the_same_points() {
        for (stride, number, by) in [(3, 0, 0), (3, 0, 1), (3, 2, 1), (4, 1, 7), (1, 5, 9)] {
            let sample = PointSample::new(stride, PointSelection::Number(number));
            let shifted = sample.numbered_from(by);
            for point in 0..20 {
                let is_same = shifted.contains(point) == sample.contains(point + by);
                assert!(is_same, "{sample:?} {by} {point}");
            }
        }
    }

    #[test]
    fn all_points_are_a_sample_too() {
        let all = PointSample::new(7, PointSelection::All);
        assert_eq!(all, PointSample::all());
        assert!(all.points().take(9).eq(0..9));
        assert_eq!(PointSelection::parse("all"), Ok(PointSelection::All));
        assert_eq!(PointSelection::parse("12"), Ok(PointSelection::Number(12)));
        let error = PointSelection::parse("some").unwrap_err();
        assert_eq!(
            error,
            "HORUS_TEST_POINTS is 'some': wanted 'all' or a number"
        );
    }
}
