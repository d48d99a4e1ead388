//! Back-off for attempts that often fail: after each failure, the caller skips more occasions
//! before it tries again.

/// An exponential back-off that counts occasions instead of time. Before the next attempt, it skips
/// 1 occasion after a failure, 3 after the second failure in a row, 7 after the third, and so on,
/// up to `MAX`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff<const MAX: u32> {
    /// Number of occasions to skip before the next attempt.
    left: u32,
    /// The number of occasions that were to be skipped after the last failure. The next failure
    /// about doubles it.
    last: u32,
}

impl<const MAX: u32> Backoff<MAX> {
    /// Creates a state in which the next occasion is due, so that the caller makes an attempt.
    #[must_use]
    pub const fn new() -> Self {
        Self { left: 0, last: 0 }
    }

    /// Creates a state in which the next `u32::MAX` occasions are skipped, so that in practice no
    /// attempt is made.
    #[must_use]
    pub const fn never_due() -> Self {
        Self {
            left: u32::MAX,
            last: MAX,
        }
    }

    /// Returns true if the caller should make an attempt on this occasion. Otherwise counts the
    /// occasion as skipped.
    #[inline(always)]
    pub const fn is_due(&mut self) -> bool {
        if self.left == 0 {
            return true;
        }
        self.left -= 1;
        false
    }

    /// Records that an attempt has succeeded. The next occasion is then due, too.
    pub const fn record_success(&mut self) {
        *self = Self::new();
    }

    /// Records that an attempt has failed. More occasions are then skipped before the next attempt
    /// than after the previous failure.
    pub const fn record_failure(&mut self) {
        let next = 2 * self.last + 1;
        self.last = if next < MAX { next } else { MAX };
        self.left = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_lets_more_occasions_pass() {
        let mut backoff = Backoff::<5>::new();
        let passed = |backoff: &mut Backoff<5>| {
            let mut count = 0;
            while !backoff.is_due() {
                count += 1;
            }
            count
        };
        for wanted in [0, 1, 3, 5, 5] {
            assert_eq!(passed(&mut backoff), wanted);
            backoff.record_failure();
        }
        backoff.record_success();
        assert_eq!(passed(&mut backoff), 0);
        backoff.record_failure();
        assert_eq!(passed(&mut backoff), 1);
        assert!(!Backoff::<5>::never_due().is_due());
    }
}
