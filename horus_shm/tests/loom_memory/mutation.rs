//! Mutation: a defect in the memory of a model, and the way the models are run against it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::atomic::Ordering;
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use horus_shm::internals::sync::Edge;

thread_local! {
    static MUTANT: Cell<Option<Mutant>> = const { Cell::new(None) };
    static SITES: RefCell<BTreeSet<Site>> = const { RefCell::new(BTreeSet::new()) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static ITERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// One line of the algorithms that uses an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    pub(crate) label: &'static str,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
}

/// The defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// An edge, wherever it is used, becomes relaxed; a fence is left out.
    Edge(&'static str),
    /// The same, but only on one line.
    Site(Site),
    /// A step of a protocol is left out; the code that takes the step checks [`flawed`].
    Flaw(&'static str),
}

impl Mutant {
    /// Returns true if a model that uses `site` may be able to kill this mutant.
    fn concerns(self, site: &Site) -> bool {
        match self {
            Self::Edge(label) | Self::Flaw(label) => label == site.label,
            Self::Site(mutated) => mutated == *site,
        }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edge(label) | Self::Flaw(label) => f.pad(label),
            Self::Site(Site { label, file, line }) => {
                let file = file.rsplit('/').next().unwrap_or(file);
                f.pad(&format!("{label} at {file}:{line}"))
            }
        }
    }
}

/// Returns the ordering of an edge in the running model.
#[track_caller]
pub(crate) fn ordering(edge: Edge) -> Ordering {
    let caller = Location::caller();
    let site = Site { label: edge.label, file: caller.file(), line: caller.line() };
    if weakened(site) { Ordering::Relaxed } else { edge.ordering }
}

/// Returns true if the step `label` is to be left out.
#[track_caller]
pub(crate) fn flawed(label: &'static str) -> bool {
    let caller = Location::caller();
    weakened(Site { label, file: caller.file(), line: caller.line() })
}

fn weakened(site: Site) -> bool {
    if let Some(mutant) = MUTANT.get() {
        return mutant.concerns(&site);
    }
    SITES.with_borrow_mut(|sites| sites.insert(site));
    false
}

/// Explores `execution`, with loom with at most `preemptions` involuntary switches.
pub(crate) fn explore(preemptions: usize, execution: impl Fn() + Send + Sync + 'static) {
    crate::checker::explore(preemptions, move || {
        ITERATIONS.set(ITERATIONS.get() + 1);
        super::spare_all();
        execution();
    });
}

/// A property with the explorations that check it.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) explore: fn(),
    pub(crate) sound: OnceLock<Run>,
}

/// The result of a model.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) sites: BTreeSet<Site>,
    pub(crate) iterations: u64,
    pub(crate) took: Duration,
    /// The message of the failed execution.
    pub(crate) failure: Option<String>,
}

impl Model {
    pub(crate) const fn new(name: &'static str, explore: fn()) -> Self {
        Self { name, explore, sound: OnceLock::new() }
    }

    /// Returns the run without a mutant, which is made once.
    pub(crate) fn sound(&self) -> &Run {
        self.sound.get_or_init(|| self.run(None))
    }

    /// Runs the model on a memory with `mutant` in it.
    pub(crate) fn run(&self, mutant: Option<Mutant>) -> Run {
        silence();
        SITES.take();
        ITERATIONS.set(0);
        MUTANT.set(mutant);
        QUIET.set(true);
        let start = Instant::now();
        let outcome = panic::catch_unwind(AssertUnwindSafe(self.explore));
        let took = start.elapsed();
        QUIET.set(false);
        MUTANT.set(None);
        let failure = outcome.err().map(|cause| {
            let text = cause.downcast_ref::<String>().cloned();
            text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_else(|| "a panic without text".to_owned())
        });
        Run { sites: SITES.take(), iterations: ITERATIONS.get(), took, failure }
    }
}

/// Returns the first of `models` that fails with `mutant`, and not without; the cheapest first.
pub(crate) fn killer(models: &'static [Model], mutant: Mutant) -> Option<(&'static Model, Run)> {
    let able = |model: &&Model| {
        let sound = model.sound();
        sound.failure.is_none() && sound.sites.iter().any(|site| mutant.concerns(site))
    };
    let mut able: Vec<_> = models.iter().filter(able).collect();
    able.sort_by_key(|model| model.sound().iterations);
    able.into_iter().find_map(|model| {
        let run = model.run(Some(mutant));
        run.failure.is_some().then_some((model, run))
    })
}

/// Suppresses the panic messages of explored executions.
fn silence() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
}
