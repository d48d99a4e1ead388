//! Models of handles, which check two properties: a call never sees a dropped value, and a free
//! entry is given to one thread at a time.
//!
//! Each model states one property. It runs the real algorithms on atomics of the model checker
//! loom, which explores every relevant interleaving. The tests below weaken the memory orderings
//! one at a time, and require that a model then fails.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use horus_testing::models;
use horus_testing::mutation::{self, Mutant, assert_all_killed, ordering_sites};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{self, AtomicU64};
use loom::thread;

use super::sync::{Edge, Word, edge};
use super::{hazard, spare};

models! {
    crate::handle::model_tests:
        a_call_never_meets_a_value_that_is_gone,
        a_call_within_another_is_waited_for,
        a_handle_is_closed_once,
        a_free_entry_has_one_owner;
}

/// Checks that for each named ordering some model fails if the ordering is weakened wherever it is
/// used.
#[test]
fn every_weakened_edge_turns_a_model_red() {
    let edges = edge::MODELLED_EDGES
        .into_iter()
        .map(|edge| Mutant::Edge(edge.label));
    assert_all_killed("weakened to relaxed", &MODELS, edges);
}

/// Checks that for each single use of a named ordering some model fails if only that use is
/// weakened.
#[test]
fn every_use_of_an_edge_is_needed() {
    let uses = ordering_sites(&MODELS)
        .into_iter()
        .filter(|site| !site.file.ends_with("_tests.rs"));
    assert_all_killed("weakened on one line", &MODELS, uses.map(Mutant::Site));
}

/// Explores every execution of a model in which threads are preempted at most `preemptions_max`
/// times. The environment variable `LOOM_MAX_PREEMPTIONS` replaces that limit.
fn explore_interleavings(preemptions_max: usize, execution: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions_max));
    builder.max_branches = 20_000;
    builder.check(move || {
        mutation::count_execution();
        execution();
    });
}

/// A shared word of the models, which loom simulates.
#[derive(Debug)]
struct LoomWord(AtomicU64);

impl LoomWord {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }
}

impl Word for LoomWord {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    #[track_caller]
    fn load(&self, edge: Edge) -> u64 {
        self.0.load(ordering(edge))
    }

    #[track_caller]
    fn store(&self, value: u64, edge: Edge) {
        self.0.store(value, ordering(edge));
    }

    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool {
        let relaxed = Ordering::Relaxed;
        self.0.compare_exchange(old, new, relaxed, relaxed).is_ok()
    }

    #[track_caller]
    fn compare_exchange_ordered(&self, old: u64, new: u64, edge: Edge) -> bool {
        self.0
            .compare_exchange(old, new, ordering(edge), Ordering::Relaxed)
            .is_ok()
    }
}

/// Executes a fence of the models, which loom simulates.
#[track_caller]
fn fence(edge: Edge) {
    let ordering = ordering(edge);
    // WHY: there is no relaxed fence, so a weakened one is left out.
    if ordering != Ordering::Relaxed {
        atomic::fence(ordering);
    }
}

/// Returns the memory ordering of an edge in the running model. It is relaxed if the running mutant
/// weakens that edge.
#[track_caller]
fn ordering(edge: Edge) -> Ordering {
    mutation::mutated_ordering(edge.label, edge.ordering)
}

const HANDLE: u64 = 7;

/// A second handle, which is used by the outer call of [`ModelEntry::call_within_other_call`].
const OTHER_HANDLE: u64 = 8;

/// An entry for [`HANDLE`], and the hazard words of two threads. Each thread has two words.
struct ModelEntry {
    state: LoomWord,
    words: [[LoomWord; 2]; 2],
    value: UnsafeCell<u64>,
}

impl ModelEntry {
    fn new() -> Rc<Self> {
        let words = [(); 2].map(|()| [LoomWord::new(0), LoomWord::new(0)]);
        Rc::new(Self {
            state: LoomWord::new(0),
            words,
            value: UnsafeCell::new(0),
        })
    }

    fn open(&self, value: u64) {
        // SAFETY: the entry is not open, so no other thread accesses the value.
        self.value.with_mut(|place| unsafe { *place = value });
        hazard::publish_handle(&self.state, HANDLE);
    }

    /// Makes a call in thread `me`. Returns the value that the call sees; `None` if the handle is
    /// closed.
    fn call(&self, me: usize) -> Option<u64> {
        let word = hazard::find_free_word(&self.words[me], HANDLE).expect("one call at a time");
        hazard::try_begin_use(word, &self.state, HANDLE, fence).then(|| {
            // SAFETY: the hazard word keeps the value alive.
            let value = self.value.with(|place| unsafe { *place });
            hazard::end_use(word);
            value
        })
    }

    /// Makes a call as [`ModelEntry::call`] does, within an outer call that uses [`OTHER_HANDLE`].
    /// The outer call ends first. Checks that the thread cannot make a second call with the same
    /// handle until the inner call ends.
    fn call_within_other_call(&self, me: usize) -> Option<u64> {
        let words = &self.words[me];
        let outer = hazard::find_free_word(words, OTHER_HANDLE).expect("the first call");
        // WHY Relaxed: no thread closes the other handle.
        outer.set(OTHER_HANDLE);
        let inner = hazard::find_free_word(words, HANDLE).expect("a word for each call");
        let entered = hazard::try_begin_use(inner, &self.state, HANDLE, fence);
        hazard::end_use(outer);
        entered.then(|| {
            assert!(
                hazard::find_free_word(words, HANDLE).is_err(),
                "two calls with one handle"
            );
            // SAFETY: the hazard word keeps the value alive.
            let value = self.value.with(|place| unsafe { *place });
            hazard::end_use(inner);
            value
        })
    }

    /// Closes the handle without waiting for calls, and returns the value; `None` if another thread
    /// closed the handle.
    fn take(&self) -> Option<u64> {
        hazard::try_mark_handle_closed(&self.state, HANDLE).then(|| {
            // SAFETY: this thread closed the handle, and there are no calls.
            self.value.with(|place| unsafe { *place })
        })
    }

    /// Closes the handle and drops the value. Returns false if another thread closed the handle.
    fn close(&self) -> bool {
        if !hazard::try_mark_handle_closed(&self.state, HANDLE) {
            return false;
        }
        fence(edge::HAZARD_CLOSE);
        for word in self.words.iter().flatten() {
            while hazard::holds_handle(word, HANDLE) {
                thread::yield_now();
            }
        }
        // SAFETY: this thread closed the handle, and no call uses it.
        self.value.with_mut(|place| unsafe { *place = 0 });
        true
    }
}

/// Checks that a call sees either a closed handle or the whole value. The value must not be dropped
/// before the call ends.
pub(super) fn a_call_never_meets_a_value_that_is_gone() {
    explore_interleavings(3, || {
        let entry = ModelEntry::new();
        let theirs = Rc::clone(&entry);
        let calling = thread::spawn(move || {
            for _ in 0..2 {
                assert!(matches!(theirs.call(0), None | Some(42)), "a dropped value");
            }
        });
        entry.open(42);
        assert!(entry.close());
        assert_eq!(entry.call(1), None);
        calling.join().unwrap();
    });
}

/// Checks that the value is not dropped before an inner call ends, even if the outer call around it
/// ends first.
pub(super) fn a_call_within_another_is_waited_for() {
    explore_interleavings(3, || {
        let entry = ModelEntry::new();
        let theirs = Rc::clone(&entry);
        let calling = thread::spawn(move || {
            assert!(
                matches!(theirs.call_within_other_call(0), None | Some(42)),
                "a dropped value"
            );
        });
        entry.open(42);
        assert!(entry.close());
        calling.join().unwrap();
    });
}

/// Checks that exactly one of two threads that close a handle and take its value gets the value.
pub(super) fn a_handle_is_closed_once() {
    explore_interleavings(3, || {
        let entry = ModelEntry::new();
        let theirs = Rc::clone(&entry);
        let taking = thread::spawn(move || theirs.take());
        entry.open(42);
        let both = [entry.take(), taking.join().unwrap()];
        assert!(
            both == [Some(42), None] || both == [None, Some(42)],
            "{both:?}"
        );
    });
}

/// Checks that two threads never own the same entry while they pop entries from the list of free
/// entries and push them back.
pub(super) fn a_free_entry_has_one_owner() {
    explore_interleavings(3, || {
        let free = Rc::new(LoomWord::new(0));
        let next = Rc::new([LoomWord::new(0), LoomWord::new(0)]);
        let values = Rc::new([UnsafeCell::new(0_u64), UnsafeCell::new(0)]);
        spare::push_entry(&*free, &next[0], 0);
        spare::push_entry(&*free, &next[1], 1);
        let turn = {
            let free = Rc::clone(&free);
            let next = Rc::clone(&next);
            let values = Rc::clone(&values);
            move |me: u64| {
                let Some(index) = spare::pop_entry(&*free, |index| next.get(index as usize)) else {
                    panic!("two threads, two entries, and there is none");
                };
                let place = &values[index as usize];
                // SAFETY: only this thread has the entry.
                place.with_mut(|place| unsafe { *place = me });
                spare::push_entry(&*free, &next[index as usize], index);
            }
        };
        let theirs = turn.clone();
        let other = thread::spawn(move || {
            theirs(1);
            theirs(1);
        });
        turn(2);
        other.join().unwrap();
    });
}
