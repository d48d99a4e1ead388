//! Handles: numbers that refer to values of this library in programs of other languages.
//!
//! ```text
//! 63      56 55            32 31                      0
//! |  kind   |   generation   |         index          |
//! ```
//!
//! A call looks a handle up in a table whose entries are never freed. So a caller may pass any
//! number: for a null, stale or forged handle, or for a handle of another kind, the call returns an
//! error. A call stores the handle that it uses in a hazard word of its thread, and then loads the
//! entry (see [`hazard`]). To close a handle, a thread marks the entry and makes the kernel execute
//! a barrier on all threads. Then the thread waits until no hazard word holds the handle. So a call
//! never uses a dropped value, and its only additional cost is that store.

mod hazard;
#[cfg(test)]
mod model_tests;
mod shared;
mod spare;
mod sync;
mod table;

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

use sync::Word;
use table::Table;

pub(crate) use shared::{SharedGuard, SharedSlab};
use table::HANDLES_MAX;

const KIND_SHIFT: u32 = 56;
const GENERATION_SHIFT: u32 = 32;
const GENERATION_MAX: u32 = (1 << 24) - 1;

/// The reason why a call cannot use a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum HandleError {
    /// The handle is 0, which is the null handle, or `u64::MAX`, which is no handle of any kind.
    #[error("the handle is null: open one first")]
    Null,
    /// The handle refers to a value of another kind, for example to a publisher instead of a
    /// subscriber.
    #[error("the handle is of kind {found}, but the call needs one of kind {wanted}")]
    Kind {
        /// The kind that the handle states.
        found: u8,
        /// The kind of handle that the call needs.
        wanted: u8,
    },
    /// The handle was closed, or it was never open.
    #[error("the handle was closed, or never came from this library")]
    Stale,
    /// The calling thread is already in another call that uses the handle.
    #[error("the handle is in use by a call of this thread: use or close it after that call")]
    Busy,
    /// Another thread is in a call that uses the handle. This is only detected in checked builds.
    #[error("another thread uses the handle: give each thread one of its own")]
    Shared,
    /// The calling thread is using too many handles at the same time.
    #[error(
        "calls are nested too deeply: {} handles are in use by this thread",
        hazard::HANDLES_IN_USE_BY_THREAD_MAX
    )]
    Nested,
    /// The table has no free entry: too many handles of this kind are open.
    #[error("{HANDLES_MAX} handles of this kind are open: close some")]
    TooMany,
    /// The kernel refused to execute a barrier. Calls may still use the value, so it is never
    /// freed.
    #[error("the kernel refused a memory barrier: the handle is closed, its value leaks")]
    NoBarrier,
}

/// An entry of a handle table: the state of a handle, and the value to which the handle refers.
#[derive(Debug)]
// WHY in this order: a call loads the first words, and then the value.
#[repr(C)]
struct HandleEntry<T> {
    /// The handle of the entry while the entry is open, otherwise 0.
    state: AtomicU64,
    /// Number of values that the entry has held so far. A handle contains this number, so that a
    /// closed handle differs from the later handles of the same entry.
    generation: AtomicU64,
    /// Link in the list of free entries: the index of the next free entry plus 1, or 0 at the end
    /// of the list.
    next: AtomicU64,
    /// Number of the thread whose call uses the value, or 0 if no call uses it. Only set in checked
    /// builds.
    user: AtomicU64,
    value: UnsafeCell<Option<T>>,
}

impl<T> HandleEntry<T> {
    const fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            next: AtomicU64::new(0),
            user: AtomicU64::new(0),
            value: UnsafeCell::new(None),
        }
    }
}

/// True in checked builds, which detect that two threads use one handle at the same time.
const DETECTS_CONCURRENT_USE: bool = cfg!(any(debug_assertions, feature = "checked"));

/// A table of values of one kind and their handles. Only one call at a time can use a value. A slab
/// is meant to be a `static`.
#[derive(Debug)]
pub(crate) struct Slab<T: 'static> {
    table: Table<T>,
}

impl<T: Send> Slab<T> {
    /// Creates an empty slab. `kind` is a number other than 0, which is part of each handle and
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

    /// Returns a guard that gives access to the value of `handle` for the duration of a call. Never
    /// blocks. Costs two stores and a few loads. No other thread writes the cache lines that these
    /// loads read.
    ///
    /// # Errors
    ///
    /// [`HandleError`] if the handle is not open, is in use by this thread, or has another kind.
    ///
    /// # Safety
    ///
    /// No other thread has a guard of the same handle. (A second call of this thread gets
    /// [`HandleError::Busy`].)
    #[inline]
    pub(crate) unsafe fn borrow_value(
        &self,
        handle: u64,
    ) -> Result<HandleGuard<'_, T>, HandleError> {
        let record = hazard::HazardRecord::of_this_thread();
        let Some(entry) = self.table.entry(handle) else {
            return Err(self.handle_error(handle));
        };
        let word = record.find_free_word(handle)?;
        if !hazard::try_begin_use(word, &entry.state, handle, record.choose_fence()) {
            return Err(self.handle_error(handle));
        }
        let guard = HandleGuard {
            entry,
            word,
            handle,
        };
        if DETECTS_CONCURRENT_USE && !guard.try_set_user(record) {
            std::mem::forget(guard);
            hazard::end_use(word);
            return Err(HandleError::Shared);
        }
        Ok(guard)
    }

    /// Closes `handle` and returns its value. Waits for the calls that use the handle at this time;
    /// later calls get an error. Takes a few microseconds in addition to that wait.
    ///
    /// # Errors
    ///
    /// [`HandleError`] if `handle` is not an open handle of this slab. If two threads close
    /// `handle`, one of them gets [`HandleError::Stale`].
    pub(crate) fn close(&self, handle: u64) -> Result<T, HandleError> {
        close(&self.table, handle)
    }

    /// Returns the reason why `handle` is not an open handle of this slab.
    #[cold]
    fn handle_error(&self, handle: u64) -> HandleError {
        self.table.handle_error(handle)
    }
}

/// Closes `handle`, waits for the calls that use it, and takes its value out of `table`.
fn close<T: Send>(table: &Table<T>, handle: u64) -> Result<T, HandleError> {
    let entry = table
        .entry(handle)
        .ok_or_else(|| table.handle_error(handle))?;
    if hazard::HazardRecord::of_this_thread().uses_handle(handle) {
        return Err(HandleError::Busy);
    }
    if !hazard::try_mark_handle_closed(&entry.state, handle) {
        return Err(table.handle_error(handle));
    }
    hazard::wait_for_end_of_calls(handle)?;
    // SAFETY: this thread closed the handle, and no call uses it any more.
    unsafe { table.take(handle) }.ok_or(HandleError::Stale)
}

/// A guard that gives access to a value for the duration of a call. A thread that closes the handle
/// waits until the guard is dropped.
pub(crate) struct HandleGuard<'a, T> {
    entry: &'a HandleEntry<T>,
    word: &'a AtomicU64,
    handle: u64,
}

impl<T> HandleGuard<'_, T> {
    /// Stores the number of this thread in the entry as its user. Returns false if another thread
    /// uses the value.
    fn try_set_user(&self, record: &hazard::HazardRecord) -> bool {
        self.entry
            .user
            .compare_exchange_relaxed(0, record.thread_number())
    }

    /// Returns true if another thread is waiting to close the handle. A blocking call should then
    /// return.
    #[must_use]
    pub(crate) fn is_closing(&self) -> bool {
        // Relaxed: the caller checks again.
        self.entry.state.get() != self.handle
    }
}

impl<T> Deref for HandleGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the hazard word keeps the value, and there is no other guard: none of another
        // thread by the contract of `borrow_value`, and none of another call of this thread by
        // `find_free_word`.
        let value = unsafe { &*self.entry.value.get() };
        value.as_ref().expect("an open handle has a value")
    }
}

impl<T> DerefMut for HandleGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        let value = unsafe { &mut *self.entry.value.get() };
        value.as_mut().expect("an open handle has a value")
    }
}

impl<T> Drop for HandleGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if DETECTS_CONCURRENT_USE {
            self.entry.user.set(0);
        }
        hazard::end_use(self.word);
    }
}

impl<T> fmt::Debug for HandleGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandleGuard({:#x})", self.handle)
    }
}

/// A table of values of one kind and their handles. A value can only be stored and taken out again;
/// no call uses it in between. A table is meant to be a `static`.
#[derive(Debug)]
pub(crate) struct TransferTable<T: 'static> {
    table: Table<T>,
}

impl<T: Send> TransferTable<T> {
    /// Creates an empty table. `kind` is a number other than 0, which is part of each handle and
    /// differs from the kinds of all other tables.
    #[must_use]
    pub(crate) const fn new(handle_kind: u8) -> Self {
        Self {
            table: Table::new(handle_kind),
        }
    }

    /// Stores `value` in the table, and returns a new handle for it. Never blocks.
    ///
    /// # Errors
    ///
    /// [`HandleError::TooMany`] if the table has no free entry left.
    pub(crate) fn put(&self, value: T) -> Result<u64, HandleError> {
        self.table.put(value)
    }

    /// Closes `handle` and returns its value. Never blocks.
    ///
    /// # Errors
    ///
    /// [`HandleError`] if `handle` is not an open handle of this table. If two threads take the
    /// value, one of them gets [`HandleError::Stale`].
    pub(crate) fn take(&self, handle: u64) -> Result<T, HandleError> {
        let entry = self
            .table
            .entry(handle)
            .ok_or_else(|| self.table.handle_error(handle))?;
        if !hazard::try_mark_handle_closed(&entry.state, handle) {
            return Err(self.table.handle_error(handle));
        }
        // SAFETY: this thread closed the handle, and no call accesses values in this table.
        unsafe { self.table.take(handle) }.ok_or(HandleError::Stale)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    /// SAFETY: only for tests in which no other thread has a guard of the handle.
    fn enter<T: Send>(slab: &Slab<T>, handle: u64) -> Result<HandleGuard<'_, T>, HandleError> {
        // SAFETY: no other thread has a guard of the handle, by the contract above.
        unsafe { slab.borrow_value(handle) }
    }

    #[test]
    fn a_handle_stands_for_its_value_until_it_is_closed() {
        static SLAB: Slab<String> = Slab::new(9);
        let handle = SLAB.open("a".to_owned()).unwrap();
        enter(&SLAB, handle).unwrap().push('b');
        assert_eq!(*enter(&SLAB, handle).unwrap(), "ab");
        assert_eq!(SLAB.close(handle).unwrap(), "ab");
        for error in [
            enter(&SLAB, handle).unwrap_err(),
            SLAB.close(handle).unwrap_err(),
        ] {
            assert_eq!(error, HandleError::Stale);
        }
        let again = SLAB.open("c".to_owned()).unwrap();
        assert_eq!(again as u32, handle as u32, "the entry is used again");
        assert_ne!(again, handle);
        assert_eq!(enter(&SLAB, handle).unwrap_err(), HandleError::Stale);
        assert_eq!(enter(&SLAB, 0).unwrap_err(), HandleError::Null);
        let found = 8;
        let wanted = 9;
        let foreign = again ^ 1 << KIND_SHIFT;
        assert_eq!(
            enter(&SLAB, foreign).unwrap_err(),
            HandleError::Kind { found, wanted }
        );
        for index in [1, 255, 256, HANDLES_MAX as u64, u64::from(u32::MAX)] {
            let forged = again & !u64::from(u32::MAX) | index;
            assert_eq!(
                enter(&SLAB, forged).unwrap_err(),
                HandleError::Stale,
                "{index}"
            );
        }
    }

    /// Checks that a call can end before an older call of its thread, whose hazard word stays set.
    #[test]
    fn a_handle_has_one_guard_in_any_order_of_returns() {
        static SLAB: Slab<u8> = Slab::new(9);
        let handles = [
            SLAB.open(0).unwrap(),
            SLAB.open(1).unwrap(),
            SLAB.open(2).unwrap(),
        ];
        for first in 0..3 {
            let mut guards = handles.map(|handle| Some(enter(&SLAB, handle).unwrap()));
            guards[first] = None;
            for (index, &handle) in handles.iter().enumerate() {
                let found = enter(&SLAB, handle).map(drop);
                let wanted = if index == first {
                    Ok(())
                } else {
                    Err(HandleError::Busy)
                };
                assert_eq!(
                    found, wanted,
                    "handle {index}, after the end of call {first}"
                );
            }
        }
        assert!(handles.iter().all(|&handle| SLAB.close(handle).is_ok()));
    }

    /// Checks that the hazard words of a thread that ended without dropping a guard are given to no
    /// other thread.
    #[test]
    fn a_thread_that_ends_within_a_call_keeps_its_words() {
        // WHY a kind of its own: other tests would wait for this call to end.
        static SLAB: Slab<u8> = Slab::new(78);
        let handle = SLAB.open(7).unwrap();
        let ends_within_a_call = move || {
            std::mem::forget(enter(&SLAB, handle).unwrap());
            hazard::HazardRecord::of_this_thread().thread_number()
        };
        let number = thread::spawn(ends_within_a_call).join().unwrap();
        let mine = || hazard::HazardRecord::of_this_thread().thread_number();
        let others: Vec<_> = (0..16)
            .map(|_| thread::spawn(mine).join().unwrap())
            .collect();
        assert!(!others.contains(&number), "{number} is among {others:?}");
    }

    #[test]
    fn a_handle_in_use_is_not_used_or_closed_by_the_same_thread() {
        static SLAB: Slab<u8> = Slab::new(9);
        let handles: Vec<_> = (0..=hazard::HANDLES_IN_USE_BY_THREAD_MAX as u8)
            .map(|n| SLAB.open(n).unwrap())
            .collect();
        let guard = enter(&SLAB, handles[0]).unwrap();
        assert_eq!(enter(&SLAB, handles[0]).unwrap_err(), HandleError::Busy);
        assert_eq!(SLAB.close(handles[0]).unwrap_err(), HandleError::Busy);
        assert!(!guard.is_closing());
        let nested = handles[1..].iter().map(|&handle| enter(&SLAB, handle));
        let nested: Vec<_> = nested.collect();
        let (last, others) = nested.split_last().unwrap();
        assert!(others.iter().all(Result::is_ok));
        assert_eq!(*last.as_ref().unwrap_err(), HandleError::Nested);
        drop((nested, guard));
        for (value, handle) in (0..).zip(handles) {
            assert_eq!(SLAB.close(handle), Ok(value));
        }
    }

    /// A value that sets its flag when it is dropped.
    struct Noted(Arc<AtomicU64>);

    impl Drop for Noted {
        fn drop(&mut self) {
            // Relaxed: the threads are joined.
            self.0.set(1);
        }
    }

    #[test]
    fn closing_waits_for_the_call_of_another_thread() {
        static SLAB: Slab<Noted> = Slab::new(9);
        let is_dropped = Arc::new(AtomicU64::new(0));
        let handle = SLAB.open(Noted(Arc::clone(&is_dropped))).unwrap();
        let (entered, has_entered) = channel();
        let user = thread::spawn(move || {
            let guard = enter(&SLAB, handle).unwrap();
            entered.send(()).unwrap();
            while !guard.is_closing() {
                thread::yield_now();
            }
            // The closer is waiting, and cannot have taken the value.
            (0..1000).for_each(|_| thread::yield_now());
            guard.0.get()
        });
        has_entered.recv().unwrap();
        drop(SLAB.close(handle).unwrap());
        assert_eq!(user.join().unwrap(), 0, "dropped during the call");
        assert_eq!(is_dropped.get(), 1);
    }

    #[test]
    fn a_second_thread_in_a_call_is_detected_in_checked_builds() {
        static SLAB: Slab<()> = Slab::new(9);
        if !DETECTS_CONCURRENT_USE {
            return;
        }
        let handle = SLAB.open(()).unwrap();
        let guard = enter(&SLAB, handle).unwrap();
        let second = thread::spawn(move || enter(&SLAB, handle).map(drop))
            .join()
            .unwrap();
        assert_eq!(second, Err(HandleError::Shared));
        drop(guard);
        let later = thread::spawn(move || enter(&SLAB, handle).map(drop))
            .join()
            .unwrap();
        assert_eq!(later, Ok(()));
    }

    #[test]
    fn an_entry_without_generations_left_stays_empty() {
        static TABLE: TransferTable<u32> = TransferTable::new(9);
        let first = TABLE.put(1).unwrap();
        let entry = TABLE.table.entry(first).unwrap();
        TABLE.take(first).unwrap();
        entry.generation.set(u64::from(GENERATION_MAX) - 1);
        let last = TABLE.put(2).unwrap();
        assert_eq!(last as u32, first as u32);
        assert_eq!(TABLE.take(last), Ok(2));
        let other = TABLE.put(3).unwrap();
        assert_ne!(other as u32, first as u32, "the entry is used again");
        assert_eq!(TABLE.take(first), Err(HandleError::Stale));
        assert_eq!(TABLE.take(other), Ok(3));
        assert_eq!(TABLE.take(other), Err(HandleError::Stale));
    }

    #[test]
    fn handles_have_a_limit_and_threads_come_and_go() {
        static TABLE: TransferTable<u32> = TransferTable::new(9);
        let handles: Vec<_> = (0..HANDLES_MAX as u32)
            .map(|n| TABLE.put(n).unwrap())
            .collect();
        assert_eq!(TABLE.put(0), Err(HandleError::TooMany));
        let halves = handles.chunks(HANDLES_MAX / 2).map(<[u64]>::to_vec);
        let take_all = |half: Vec<u64>| {
            thread::spawn(move || {
                half.iter()
                    .map(|&h| u64::from(TABLE.take(h).unwrap()))
                    .sum()
            })
        };
        let threads: Vec<thread::JoinHandle<u64>> = halves.map(take_all).collect();
        let sum: u64 = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        assert_eq!(sum, (0..HANDLES_MAX as u64).sum::<u64>());
        assert!(TABLE.put(0).is_ok());
    }
}
