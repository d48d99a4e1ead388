//! Handles whose values are shared: any number of threads can use one handle at the same time.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

use super::table::Table;
use super::{HandleEntry, HandleError, close, hazard};

/// A table of values of one kind and their handles. Any number of calls can use a value at the same
/// time. A table is meant to be a `static`.
///
/// WHY not a `Slab`: the guards of a slab give exclusive access to a value. The guards of this
/// table give only read access, so any number of calls may have one.
#[derive(Debug)]
pub(crate) struct SharedSlab<T: 'static> {
    table: Table<T>,
}

impl<T: Send + Sync> SharedSlab<T> {
    /// Creates an empty table. `kind` is a number other than 0, which is part of each handle and
    /// differs from the kinds of all other tables.
    #[must_use]
    pub(crate) const fn new(handle_kind: u8) -> Self {
        Self {
            table: Table::new(handle_kind),
        }
    }

    /// Stores `value` in the table, and returns a new handle for it.
    ///
    /// # Errors
    ///
    /// [`HandleError::TooMany`] if the table has no free entry left.
    pub(crate) fn open(&self, value: T) -> Result<u64, HandleError> {
        self.table.put(value)
    }

    /// Returns a guard that gives access to the value of `handle` for the duration of a call. Other
    /// calls, on any thread, may use the same handle at the same time. Never blocks.
    ///
    /// # Errors
    ///
    /// [`HandleError`] if `handle` is not an open handle of this table.
    #[inline]
    pub(crate) fn share(&self, handle: u64) -> Result<SharedGuard<'_, T>, HandleError> {
        let record = hazard::HazardRecord::of_this_thread();
        let Some(entry) = self.table.entry(handle) else {
            return Err(self.table.handle_error(handle));
        };
        let word = record.find_free_word_for_shared_use()?;
        if !hazard::try_begin_use(word, &entry.state, handle, record.choose_fence()) {
            return Err(self.table.handle_error(handle));
        }
        Ok(SharedGuard { entry, word })
    }

    /// Closes `handle` and returns its value. Waits for the calls that use the handle at this time;
    /// later calls get an error. Takes a few microseconds in addition to that wait.
    ///
    /// # Errors
    ///
    /// [`HandleError`] if `handle` is not an open handle of this table. If two threads close
    /// `handle`, one of them gets [`HandleError::Stale`].
    pub(crate) fn close(&self, handle: u64) -> Result<T, HandleError> {
        close(&self.table, handle)
    }
}

/// A guard that gives read access to a shared value for the duration of a call.
pub(crate) struct SharedGuard<'a, T> {
    entry: &'a HandleEntry<T>,
    word: &'a AtomicU64,
}

impl<T> Deref for SharedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the hazard word keeps the value, and a `SharedSlab` never lends it mutably.
        let value = unsafe { &*self.entry.value.get() };
        value.as_ref().expect("an open handle has a value")
    }
}

impl<T> Drop for SharedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        hazard::end_use(self.word);
    }
}

impl<T> fmt::Debug for SharedGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedGuard")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Number of calls that each thread makes in the test.
    // WHY fewer under miri: it is a thousand times slower.
    const CALLS: u64 = if cfg!(miri) { 25 } else { 1000 };

    static COUNTS: SharedSlab<Mutex<u64>> = SharedSlab::new(77);

    #[test]
    fn one_handle_serves_many_calls_and_is_closed_after_the_last() {
        let handle = COUNTS.open(Mutex::new(0)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..CALLS {
                        let outer = COUNTS.share(handle).unwrap();
                        *COUNTS.share(handle).unwrap().lock().unwrap() += 1;
                        drop(outer);
                    }
                });
            }
        });
        let held = COUNTS.share(handle).unwrap();
        assert_eq!(COUNTS.close(handle).err(), Some(HandleError::Busy));
        drop(held);
        assert_eq!(
            COUNTS.close(handle).unwrap().into_inner().unwrap(),
            4 * CALLS
        );
        assert_eq!(COUNTS.share(handle).err(), Some(HandleError::Stale));
        assert_eq!(COUNTS.share(0).err(), Some(HandleError::Null));
    }
}
