//! Values that any number of threads use at a time, by one handle.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

use super::{Entry, HandleError, Slab, hazard};

impl<T: Send + Sync> Slab<T> {
    /// The value that `handle` stands for, for the length of a call, beside other calls with the
    /// same handle: of other threads, and of this one. Otherwise as [`Slab::enter`], of which
    /// nobody may use the value mutably then.
    ///
    /// # Errors
    ///
    /// [`HandleError`].
    #[inline]
    pub fn share(&self, handle: u64) -> Result<Shared<'_, T>, HandleError> {
        let record = hazard::Record::mine();
        let Some(entry) = self.table.entry(handle) else { return Err(self.refuse(handle)) };
        let word = record.shared_word()?;
        if !hazard::enter(word, &entry.state, handle, record.fence()) {
            return Err(self.refuse(handle));
        }
        Ok(Shared { entry, word })
    }
}

/// A value that others use, too, for the length of a call.
pub struct Shared<'a, T> {
    entry: &'a Entry<T>,
    word: &'a AtomicU64,
}

impl<T> Deref for Shared<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the hazard word keeps the value, and `share` has nobody change it.
        let value = unsafe { &*self.entry.value.get() };
        value.as_ref().expect("an open handle has a value")
    }
}

impl<T> Drop for Shared<'_, T> {
    #[inline]
    fn drop(&mut self) {
        hazard::leave(self.word);
    }
}

impl<T> fmt::Debug for Shared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    static COUNTS: Slab<Mutex<u64>> = Slab::new(77);

    #[test]
    fn one_handle_serves_many_calls_and_is_closed_after_the_last() {
        let handle = COUNTS.open(Mutex::new(0)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
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
        assert_eq!(COUNTS.close(handle).unwrap().into_inner().unwrap(), 4000);
        assert_eq!(COUNTS.share(handle).err(), Some(HandleError::Stale));
        assert_eq!(COUNTS.share(0).err(), Some(HandleError::Null));
    }
}
