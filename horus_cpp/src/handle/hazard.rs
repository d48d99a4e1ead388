//! Hazard words: each thread has a few words that hold the handles which its calls are using. A
//! thread that closes a handle waits until no word holds it.
//!
//! [`publish_handle`], [`find_free_word`], [`try_begin_use`], [`end_use`],
//! [`try_mark_handle_closed`] and [`holds_handle`] are generic over the type of the words, so that
//! the loom models run the same code.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64};
use std::thread;
use std::time::Duration;

use horus_core::{can_execute_process_barrier, execute_process_barrier, set_fork_child_hook};

use super::HandleError;
use super::sync::{self, Edge, Word, edge, load_pointer};

/// Maximum number of handles that one thread can use at a time. A thread uses several handles if
/// calls are nested in callbacks.
pub(crate) const HANDLES_IN_USE_BY_THREAD_MAX: usize = 7;

/// Number of times that a thread which closes a handle polls the hazard words without a pause.
/// After these polls, it sleeps between two polls.
const POLLS_BEFORE_SLEEP: u32 = 64;
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Publishes the value of an entry: stores `handle` in `state`, the state word of that entry. Until
/// then, only the caller can access the entry.
pub(crate) fn publish_handle<W: Word>(state: &W, handle: u64) {
    // ORDERING(handle): pairs with the load in `borrow_value` and the exchange in
    // `try_mark_handle_closed`.
    state.store(handle, edge::HANDLE_OPEN);
}

/// Returns a free one among `words`, the hazard words of the calling thread.
///
/// # Errors
///
/// [`HandleError::Busy`] if another call of this thread already uses `handle`;
/// [`HandleError::Nested`] if no word is free.
#[inline(always)]
pub(crate) fn find_free_word<W: Word, const WORDS: usize>(
    words: &[W; WORDS],
    handle: u64,
) -> Result<&W, HandleError> {
    // WHY all of them: calls may end in any order, so each word is independent of the others.
    // Relaxed, here and below: only this thread stores them.
    let used = words.iter().fold(0, |used, word| used | word.get());
    if used == 0 {
        Ok(&words[0])
    } else {
        free_nested_word(words, handle)
    }
}

#[cold]
fn free_nested_word<W: Word>(words: &[W], handle: u64) -> Result<&W, HandleError> {
    if words.iter().any(|word| word.get() == handle) {
        return Err(HandleError::Busy);
    }
    words
        .iter()
        .find(|word| word.get() == 0)
        .ok_or(HandleError::Nested)
}

/// Stores `handle` in the hazard word, then checks that the handle is still open, which means that
/// `state` holds it. If it is not open, frees the word and returns false.
#[inline(always)]
pub(crate) fn try_begin_use<W: Word>(
    word: &W,
    state: &W,
    handle: u64,
    fence: impl FnOnce(Edge),
) -> bool {
    // Relaxed: the fence, or the barrier of a closer, orders it before the load.
    word.set(handle);
    // ORDERING(hazard): pairs with the barrier of a closer, as in Dekker's algorithm: either this
    // call sees that the handle is closed, or the closer sees this call.
    fence(edge::HAZARD_ENTER);
    // ORDERING(handle): pairs with the store that opened it: a thread that sees it sees the value.
    if state.load(edge::HANDLE_SEE) == handle {
        return true;
    }
    end_use(word);
    false
}

/// Ends the use of a handle: clears `word`, the hazard word that holds the handle.
#[inline(always)]
pub(crate) fn end_use<W: Word>(word: &W) {
    // ORDERING(last_use): pairs with the load in `holds_handle`: the call happens before the
    // closing.
    word.store(0, edge::LAST_USE_END);
}

/// Marks the entry of `handle` as closed, which sets its state word `state` to 0. Returns false if
/// the entry was already closed.
pub(crate) fn try_mark_handle_closed<W: Word>(state: &W, handle: u64) -> bool {
    // ORDERING(handle): pairs with the store that opened it.
    state.compare_exchange_ordered(handle, 0, edge::HANDLE_SEE)
}

/// Returns true if the hazard word `word` holds `handle`. The caller must first call
/// [`try_mark_handle_closed`] and execute a barrier.
pub(crate) fn holds_handle<W: Word>(word: &W, handle: u64) -> bool {
    // ORDERING(last_use): pairs with the store in `end_use`.
    word.load(edge::LAST_USE_SEE) == handle
}

/// The hazard words of one thread. A record is never freed. After its thread has ended, another
/// thread reuses it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct HazardRecord {
    words: [AtomicU64; HANDLES_IN_USE_BY_THREAD_MAX],
    /// 1 while the record belongs to a live thread; 0 if another thread can take over the record.
    taken: AtomicU64,
    /// The number of the record, which identifies its thread among all live threads. Numbers start
    /// at 1.
    number: AtomicU64,
    /// Link in the list of all records: the record that was created before this one.
    next: AtomicPtr<HazardRecord>,
    /// True if a thread that closes a handle makes the kernel execute a barrier on all threads.
    /// Calls then need no fence.
    uses_barriers: bool,
}

static FIRST_RECORD: AtomicPtr<HazardRecord> = AtomicPtr::new(ptr::null_mut());
static HAZARD_RECORDS_CREATED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    // WHY two: the one that is read in each call has no destructor, so that no check is needed
    // whether it still exists.
    static THREAD_RECORD: Cell<*const HazardRecord> = const { Cell::new(ptr::null()) };
    static FREE_RECORD_AT_THREAD_END: FreeRecordAtThreadEnd = const { FreeRecordAtThreadEnd };
}

/// A value whose drop frees the record of a thread when the thread ends. A thread that ends within
/// a call keeps its record, because the guard of that call still refers to a word of the record.
struct FreeRecordAtThreadEnd;

impl Drop for FreeRecordAtThreadEnd {
    fn drop(&mut self) {
        let record = THREAD_RECORD.replace(ptr::null());
        // SAFETY: null, or leaked by `HazardRecord::create`.
        let record = unsafe { record.as_ref() };
        // Relaxed: only this thread stores them.
        let is_free = |record: &&HazardRecord| record.words.iter().all(|word| word.get() == 0);
        if let Some(record) = record.filter(is_free) {
            // ORDERING(record): pairs with the exchange in `claim_free`.
            Word::store(&record.taken, 0, edge::RECORD_RETURN);
        }
    }
}

impl HazardRecord {
    /// Returns the record of this thread. Takes over a free record, or creates one, at the first
    /// call of a thread.
    #[inline(always)]
    pub(super) fn of_this_thread() -> &'static Self {
        let mine = THREAD_RECORD.get();
        // SAFETY: null, or leaked by `make`.
        match unsafe { mine.as_ref() } {
            Some(record) => record,
            None => Self::acquire(),
        }
    }

    #[cold]
    fn acquire() -> &'static Self {
        // WHY: without handlers a child would wait for threads that only its parent has. Installing
        // them fails only for lack of memory.
        let _ = set_fork_child_hook(free_words_of_other_threads);
        let record = Self::claim_free().unwrap_or_else(Self::create);
        THREAD_RECORD.set(record);
        // WHY the error is ignored: a thread that is past its destructors keeps its record, which
        // no other thread then reuses.
        let _ = FREE_RECORD_AT_THREAD_END.try_with(|_| ());
        record
    }

    fn claim_free() -> Option<&'static Self> {
        let uses_barriers = can_execute_process_barrier();
        let claim = |record: &&Self| {
            let taken = &record.taken;
            // ORDERING(record): pairs with the store in `FreeRecordAtThreadEnd`.
            let claim = || taken.compare_exchange_ordered(0, 1, edge::RECORD_CLAIM);
            record.uses_barriers == uses_barriers && claim()
        };
        all_records().find(claim)
    }

    fn create() -> &'static Self {
        let record = Box::leak(Box::new(Self {
            words: [const { AtomicU64::new(0) }; HANDLES_IN_USE_BY_THREAD_MAX],
            taken: AtomicU64::new(1),
            number: AtomicU64::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
            uses_barriers: can_execute_process_barrier(),
        }));
        let record: &'static Self = record;
        record
            .number
            .set(sync::next_unique_number(&HAZARD_RECORDS_CREATED));
        let this = ptr::from_ref(record).cast_mut();
        // ORDERING(records): pairs with the loads in `all_records`: a thread that sees the record
        // sees its words.
        sync::push_pointer(&FIRST_RECORD, &record.next, this, edge::RECORDS_PUSH);
        record
    }

    /// Returns the fence that a call executes between its store to the hazard word and its load of
    /// the entry. It is only a compiler fence if closing threads make the kernel execute barriers.
    #[inline(always)]
    pub(super) fn choose_fence(&self) -> impl FnOnce(Edge) + use<> {
        let uses_barriers = self.uses_barriers;
        move |edge| {
            if uses_barriers {
                sync::compiler_fence(edge)
            } else {
                sync::fence(edge)
            }
        }
    }

    /// Returns a free hazard word of this thread. Returns an error if another call of this thread
    /// uses `handle`, or if no word is free.
    #[inline(always)]
    pub(super) fn find_free_word(&self, handle: u64) -> Result<&AtomicU64, HandleError> {
        find_free_word(&self.words, handle)
    }

    /// Returns a free hazard word of this thread, even if other calls of this thread use `handle`.
    /// Returns an error if no word is free.
    #[inline(always)]
    pub(super) fn find_free_word_for_shared_use(&self) -> Result<&AtomicU64, HandleError> {
        // Relaxed: only this thread stores them.
        let free = self.words.iter().find(|word| word.get() == 0);
        free.ok_or(HandleError::Nested)
    }

    /// Returns true if this thread is in a call that uses `handle`.
    pub(super) fn uses_handle(&self, handle: u64) -> bool {
        self.words.iter().any(|word| word.get() == handle)
    }

    /// Returns the number of this thread, which differs from those of all other live threads.
    pub(super) fn thread_number(&self) -> u64 {
        self.number.get()
    }
}

/// Returns the records of all threads, newest first.
fn all_records() -> impl Iterator<Item = &'static HazardRecord> {
    // ORDERING(records): pairs with the exchange in `push_pointer`.
    let mut next = load_pointer(&FIRST_RECORD, edge::RECORDS_SEE);
    std::iter::from_fn(move || {
        // SAFETY: null, or leaked by `HazardRecord::create`.
        let record = unsafe { next.as_ref() }?;
        // ORDERING(records): as above; it was stored before the record was pushed.
        next = load_pointer(&record.next, edge::RECORDS_SEE);
        Some(record)
    })
}

/// Waits until no call uses `handle`, which the caller has marked as closed with
/// [`try_mark_handle_closed`].
///
/// # Errors
///
/// [`HandleError::NoBarrier`] if the kernel refuses to execute a barrier.
pub(super) fn wait_for_end_of_calls(handle: u64) -> Result<(), HandleError> {
    // ORDERING(hazard): SeqCst, between the mark and the loads of the calls. Pairs with the fence
    // in `borrow_value`; where calls have none, the barrier is one on every CPU that runs a thread
    // of this process.
    sync::fence(edge::HAZARD_CLOSE);
    let any_uses_barriers = all_records().any(|record| record.uses_barriers);
    if any_uses_barriers && !execute_process_barrier() {
        return Err(HandleError::NoBarrier);
    }
    for record in all_records() {
        for word in &record.words {
            let mut looks = 0;
            while holds_handle(word, handle) {
                looks += 1;
                if looks < POLLS_BEFORE_SLEEP {
                    thread::yield_now()
                } else {
                    thread::sleep(POLL_INTERVAL)
                }
            }
        }
    }
    Ok(())
}

/// Runs in a forked child, which has only one thread. Frees the words of all other threads, because
/// they do not exist in the child.
fn free_words_of_other_threads() {
    let mine = THREAD_RECORD.get();
    for record in all_records().filter(|record| !ptr::eq(*record, mine)) {
        // Relaxed: there is no other thread.
        record.words.iter().for_each(|word| word.set(0));
        record.taken.set(0);
    }
}
