//! Handles: numbers that stand for values in programs of other languages.
//!
//! ```text
//! 63      56 55            32 31                      0
//! |  kind   |   generation   |         index          |
//! ```
//!
//! A number is looked up in a table of which no entry is ever freed, so any number is either that
//! of an open value or an error: null, stale, forged and of another kind alike. A call says in a
//! word of its thread which handle it uses, and looks at the entry afterwards ([`hazard`]). Who
//! closes a handle marks the entry, has the kernel make a barrier on all threads, and waits for
//! those words: a call never meets a value that is gone, and pays for that with a store.

pub mod hazard;
mod shared;
mod table;

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

use crate::sync::Word;
use table::Table;

pub use shared::Shared;
pub use table::HANDLES_MAX;

const KIND_SHIFT: u32 = 56;
const GENERATION_SHIFT: u32 = 32;
const GENERATION_MAX: u32 = (1 << 24) - 1;

/// Why a handle cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// It is 0.
    #[error("the handle is null: open one first")]
    Null,
    /// It stands for something else.
    #[error("the handle is of kind {found}, and one of kind {wanted} is needed")]
    Kind {
        /// What it says.
        found: u8,
        /// What the call is about.
        wanted: u8,
    },
    /// It was closed, or never open.
    #[error("the handle was closed, or never came from this library")]
    Stale,
    /// The calling thread is in a call that uses it already.
    #[error("a call that uses the handle has called back: it cannot be used or closed in there")]
    Busy,
    /// Another thread is in a call that uses it. Only found in checked builds.
    #[error("another thread uses the handle: give each thread one of its own")]
    Shared,
    /// The calling thread uses too many handles at a time.
    #[error(
        "calls are nested too deeply: {} handles are in use by this thread",
        hazard::NESTED_MAX
    )]
    Nested,
    /// There are too many handles of a kind.
    #[error("{HANDLES_MAX} handles of this kind are open: close some")]
    TooMany,
    /// The kernel makes no barrier, so it cannot be known who uses the value: it stays.
    #[error("the kernel refused a memory barrier: the handle is closed, its value leaks")]
    NoBarrier,
}

/// What an entry is about.
#[derive(Debug)]
// WHY in this order: a call looks at the first words, and then at the value.
#[repr(C)]
struct Entry<T> {
    /// The handle while it is open, else 0.
    state: AtomicU64,
    /// Generations that were used up.
    generation: AtomicU64,
    /// Where it lies among entries that are free: the next one's index and one, or 0.
    next: AtomicU64,
    /// The thread that is in a call, in checked builds.
    user: AtomicU64,
    value: UnsafeCell<Option<T>>,
}

impl<T> Entry<T> {
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

/// True where a second thread in a call is looked for.
const IS_CHECKED: bool = cfg!(any(debug_assertions, feature = "checked"));

/// Values of one kind and their handles. Meant for a `static`.
#[derive(Debug)]
pub struct Slab<T: 'static> {
    table: Table<T>,
}

impl<T: Send> Slab<T> {
    /// A slab of nothing. `kind`, not 0, tells its handles from all others.
    #[must_use]
    pub const fn new(kind: u8) -> Self {
        assert!(kind != 0, "0 is the kind of null");
        Self { table: Table::new(kind) }
    }

    /// Keeps `value`, and returns the handle that stands for it.
    ///
    /// # Errors
    ///
    /// [`HandleError::TooMany`].
    pub fn open(&self, value: T) -> Result<u64, HandleError> {
        self.table.put(value)
    }

    /// The value that `handle` stands for, for the length of a call. Never blocks; two stores and
    /// a few loads, none of them shared.
    ///
    /// # Errors
    ///
    /// [`HandleError`].
    ///
    /// # Safety
    ///
    /// No other thread has a guard of the same handle.
    #[inline]
    pub unsafe fn enter(&self, handle: u64) -> Result<Guard<'_, T>, HandleError> {
        let record = hazard::Record::mine();
        let Some(entry) = self.table.entry(handle) else { return Err(self.refuse(handle)) };
        let word = record.free_word(handle)?;
        if !hazard::enter(word, &entry.state, handle, record.fence()) {
            return Err(self.refuse(handle));
        }
        let guard = Guard { entry, word, handle };
        if IS_CHECKED && !guard.claim(record) {
            std::mem::forget(guard);
            hazard::leave(word);
            return Err(HandleError::Shared);
        }
        Ok(guard)
    }

    /// Closes `handle` and returns its value. Calls that use it now are waited for; those that
    /// come later get an error. Some microseconds, and as long as such calls take.
    ///
    /// # Errors
    ///
    /// [`HandleError`]; of two threads one gets [`HandleError::Stale`].
    pub fn close(&self, handle: u64) -> Result<T, HandleError> {
        let entry = self.table.entry(handle).ok_or_else(|| self.refuse(handle))?;
        if hazard::Record::mine().uses(handle) {
            return Err(HandleError::Busy);
        }
        if !hazard::mark(&entry.state, handle) {
            return Err(self.refuse(handle));
        }
        hazard::wait_for_calls(handle)?;
        // SAFETY: this thread closed the handle, and no call uses it any more.
        unsafe { self.table.take(handle) }.ok_or(HandleError::Stale)
    }

    /// True if `handle` stands for a value at the moment. About a nanosecond.
    #[inline]
    #[must_use]
    pub fn is_open(&self, handle: u64) -> bool {
        // Relaxed: nothing is concluded about the value.
        self.table.entry(handle).is_some_and(|entry| entry.state.get() == handle)
    }

    /// Why `handle` is none of this slab.
    #[cold]
    fn refuse(&self, handle: u64) -> HandleError {
        self.table.refuse(handle)
    }
}

/// A value for the length of a call; whoever closes the handle waits for it.
pub struct Guard<'a, T> {
    entry: &'a Entry<T>,
    word: &'a AtomicU64,
    handle: u64,
}

impl<T> Guard<'_, T> {
    /// Notes the thread that is in a call; false if there is one.
    fn claim(&self, record: &hazard::Record) -> bool {
        self.entry.user.replace(0, record.number())
    }

    /// True once another thread waits to close the handle: a call that blocks gives up then.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        // Relaxed: it is asked again.
        self.entry.state.get() != self.handle
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the hazard word keeps the value, and nobody else has a guard.
        let value = unsafe { &*self.entry.value.get() };
        value.as_ref().expect("an open handle has a value")
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        let value = unsafe { &mut *self.entry.value.get() };
        value.as_mut().expect("an open handle has a value")
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if IS_CHECKED {
            self.entry.user.set(0);
        }
        hazard::leave(self.word);
    }
}

impl<T> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({:#x})", self.handle)
    }
}

/// Values that are only put in and taken out again, never used in between. Meant for a `static`.
#[derive(Debug)]
pub struct Vault<T: 'static> {
    table: Table<T>,
}

impl<T: Send> Vault<T> {
    /// A vault of nothing. `kind`, not 0, tells its handles from all others.
    #[must_use]
    pub const fn new(kind: u8) -> Self {
        assert!(kind != 0, "0 is the kind of null");
        Self { table: Table::new(kind) }
    }

    /// Keeps `value`, and returns the handle that stands for it. Never blocks.
    ///
    /// # Errors
    ///
    /// [`HandleError::TooMany`].
    pub fn put(&self, value: T) -> Result<u64, HandleError> {
        self.table.put(value)
    }

    /// The value that `handle` stands for, which ends by that. Never blocks.
    ///
    /// # Errors
    ///
    /// [`HandleError`]; of two threads one gets [`HandleError::Stale`].
    pub fn take(&self, handle: u64) -> Result<T, HandleError> {
        let entry = self.table.entry(handle).ok_or_else(|| self.table.refuse(handle))?;
        if !hazard::mark(&entry.state, handle) {
            return Err(self.table.refuse(handle));
        }
        // SAFETY: this thread closed the handle, and nobody enters values of a vault.
        unsafe { self.table.take(handle) }.ok_or(HandleError::Stale)
    }
}
