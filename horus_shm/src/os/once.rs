//! Statics that are set once, without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A static that is set at most once in a process.
///
/// WHY not a `OnceLock`: a child that is forked while another thread sets one waits for the end of
/// that for ever. Here no thread waits, so several may compute the value; the first one sets it.
///
/// WHY not a `ForkLocal<OnceLock>`: a forked child would not have the value of its parent, such as
/// the settings of the log, but an empty static.
#[derive(Debug)]
pub struct SetOnce<T: 'static> {
    value: AtomicPtr<T>,
}

impl<T: Send + Sync + 'static> SetOnce<T> {
    /// Creates a static that is not set.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "it is for statics, which need a const function"
    )]
    pub const fn new() -> Self {
        Self {
            value: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the value, if it is set. Costs one load. A signal handler may call it.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // ORDERING(set-once): Acquire. Pairs with the exchange in `get_or_set`: a thread that sees
        // the pointer sees the value behind it.
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: null, or made by `Box::into_raw` in `get_or_set`, only shared since then, and
        // never freed.
        unsafe { value.as_ref() }
    }

    /// Sets the value to `value` unless it is set, and returns it. Allocates memory only if the
    /// value was not set.
    pub fn get_or_set(&self, value: T) -> &'static T {
        if let Some(earlier) = self.get() {
            return earlier;
        }
        let fresh = Box::into_raw(Box::new(value));
        // ORDERING(set-once): Release on success, Acquire on failure: the two halves of the pair
        // with `get` and with the exchange of another thread.
        let order = (Ordering::Release, Ordering::Acquire);
        let exchanged = self
            .value
            .compare_exchange(ptr::null_mut(), fresh, order.0, order.1);
        let value = match exchanged {
            Ok(_) => fresh,
            Err(earlier) => {
                // SAFETY: made by `Box::into_raw` above and not published.
                drop(unsafe { Box::from_raw(fresh) });
                earlier
            }
        };
        // SAFETY: not null, and otherwise as in `get`.
        unsafe { &*value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_value_is_kept() {
        static NUMBER: SetOnce<u32> = SetOnce::new();
        assert_eq!(NUMBER.get(), None);
        assert_eq!(NUMBER.get_or_set(1), &1);
        assert_eq!(NUMBER.get_or_set(2), &1);
        assert_eq!(NUMBER.get(), Some(&1));
    }
}
