//! Samples: the measured values of one window, from which percentiles are computed.

/// Maximum number of values that are kept. WHY a limit: a window may be long, and messages may come
/// at millions per second.
const KEPT_VALUES_MAX: usize = 1 << 18;

/// The values that were measured in one window. Counts all of them, and knows the smallest and the
/// largest one. For percentiles, keeps up to [`KEPT_VALUES_MAX`] that are evenly spaced.
#[derive(Debug)]
pub(super) struct Samples<T> {
    number: u64,
    ends: Option<(T, T)>,
    kept: Vec<T>,
    /// One of every `stride` values is kept. The stride doubles when [`KEPT_VALUES_MAX`] values are
    /// kept.
    stride: u64,
}

impl<T> Default for Samples<T> {
    fn default() -> Self {
        Self {
            number: 0,
            ends: None,
            kept: Vec::new(),
            stride: 1,
        }
    }
}

impl<T: Copy + Ord> Samples<T> {
    pub(super) fn add(&mut self, value: T) {
        self.ends = Some(match self.ends {
            Some((min, max)) => (min.min(value), max.max(value)),
            None => (value, value),
        });
        if self.number.is_multiple_of(self.stride) {
            if self.kept.len() == KEPT_VALUES_MAX {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            self.kept.push(value);
        }
        self.number += 1;
    }

    /// Returns the number of values.
    pub(super) const fn count(&self) -> u64 {
        self.number
    }

    pub(super) fn min(&self) -> Option<T> {
        self.ends.map(|(min, _)| min)
    }

    pub(super) fn max(&self) -> Option<T> {
        self.ends.map(|(_, max)| max)
    }

    /// Returns a percentile of the kept values for each of `percents`, from 0 to 100; `None` if
    /// there are no values.
    pub(super) fn percentiles<const N: usize>(&mut self, percents: [f64; N]) -> [Option<T>; N] {
        self.kept.sort_unstable();
        percents.map(|percent| {
            let index = (percent / 100.0 * self.kept.len() as f64).ceil() as usize;
            self.kept.get(index.max(1) - 1).copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_kept_as_they_are() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentiles([50.0]), [None]);
        assert_eq!((samples.count(), samples.min()), (0, None));
        [40, 10, 30, 20]
            .into_iter()
            .for_each(|value| samples.add(value));
        assert_eq!((samples.min(), samples.max()), (Some(10), Some(40)));
        assert_eq!(samples.percentiles([50.0, 99.0]), [Some(20), Some(40)]);
    }

    #[test]
    fn many_values_take_bounded_memory() {
        let number = 5 * KEPT_VALUES_MAX as u64;
        let mut samples = Samples::default();
        samples.add(number * 10);
        (1..number).for_each(|value| samples.add(value));
        assert!(
            samples.kept.len() <= KEPT_VALUES_MAX,
            "{}",
            samples.kept.len()
        );
        assert!(
            samples.kept.len() > KEPT_VALUES_MAX / 2,
            "{}",
            samples.kept.len()
        );
        assert_eq!(samples.count(), number);
        assert_eq!((samples.min(), samples.max()), (Some(1), Some(number * 10)));
        let [p50] = samples.percentiles([50.0]);
        let distance = p50.unwrap().abs_diff(number / 2);
        assert!(distance <= number / 1000, "{p50:?} of {number}");
    }
}
