//! Mutation tests of models: runs models with a deliberate defect, such as a weaker memory
//! ordering, which a model has to detect.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::atomic::Ordering;
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

thread_local! {
    static CURRENT_MUTANT: Cell<Option<Mutant>> = const { Cell::new(None) };
    static VISITED_ORDERING_SITES: RefCell<BTreeSet<OrderingSite>> =
        const { RefCell::new(BTreeSet::new()) };
    static ARE_PANICS_SILENT: Cell<bool> = const { Cell::new(false) };
    static EXECUTIONS_OF_RUN: Cell<u64> = const { Cell::new(0) };
    static EXECUTIONS_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// The most executions of each model in the rounds of the search for one that detects a mutant. WHY
/// rounds: most mutants fail one of the first executions of some model, and others have millions.
const EXECUTIONS_MAX_BY_ROUND: [u64; 3] = [200, 10_000, u64::MAX];

/// The payload of the panic that ends a run with [`EXECUTIONS_MAX`] executions.
struct ExecutionLimitReached;

/// A line of source code that uses a named memory ordering, or performs a named step of a protocol
/// (see [`is_step_left_out`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderingSite {
    /// Name of the ordering that the line uses, or of the step that it performs.
    pub label: &'static str,
    /// Path of the source file that contains the line.
    pub file: &'static str,
    /// Number of the line in its source file, counted from 1.
    pub line: u32,
}

/// A deliberate defect in the code under test. The tests have to detect it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Replaces the named ordering by `Relaxed` on all lines that use it. If the ordering belongs
    /// to a fence, leaves out the fence.
    Edge(&'static str),
    /// Replaces a named ordering by `Relaxed` on only one line. If the ordering belongs to a fence,
    /// leaves out the fence; if the line performs a named step, leaves out the step.
    Site(OrderingSite),
    /// Leaves out a named step of a protocol. The code that performs the step calls
    /// [`is_step_left_out`] first.
    Flaw(&'static str),
}

impl Mutant {
    /// Returns true if this mutant weakens the ordering at `site`, or leaves out the step there.
    /// Only models that execute such a line can detect the mutant.
    fn affects(self, site: &OrderingSite) -> bool {
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
            Self::Site(OrderingSite { label, file, line }) => {
                let file = file.rsplit('/').next().unwrap_or(file);
                f.pad(&format!("{label} at {file}:{line}"))
            }
        }
    }
}

/// Returns the ordering that the running model has to use for the ordering named `label`. This is
/// `original`, or `Relaxed` if the current mutant weakens that ordering. In a run without a mutant,
/// also records the line of the caller as an [`OrderingSite`].
#[track_caller]
pub fn mutated_ordering(label: &'static str, original: Ordering) -> Ordering {
    let caller = Location::caller();
    let site = OrderingSite {
        label,
        file: caller.file(),
        line: caller.line(),
    };
    if is_mutated(site) {
        Ordering::Relaxed
    } else {
        original
    }
}

/// Returns true if the current mutant leaves out the protocol step with the name `label`. In a run
/// without a mutant, also records the line of the caller as an [`OrderingSite`].
#[track_caller]
pub fn is_step_left_out(label: &'static str) -> bool {
    let caller = Location::caller();
    is_mutated(OrderingSite {
        label,
        file: caller.file(),
        line: caller.line(),
    })
}

fn is_mutated(site: OrderingSite) -> bool {
    if let Some(mutant) = CURRENT_MUTANT.get() {
        return mutant.affects(&site);
    }
    VISITED_ORDERING_SITES.with_borrow_mut(|sites| sites.insert(site));
    false
}

/// Adds 1 to the number of executions that the running model has explored. Ends the run by a panic
/// if there are enough.
pub fn count_execution() {
    if EXECUTIONS_OF_RUN.get() == EXECUTIONS_MAX.get() {
        panic::resume_unwind(Box::new(ExecutionLimitReached));
    }
    EXECUTIONS_OF_RUN.set(EXECUTIONS_OF_RUN.get() + 1);
}

/// A model: a property of an algorithm, and a function that checks the property in all executions
/// that it explores.
#[derive(Debug)]
pub struct Model {
    name: &'static str,
    explore: fn(),
    sound: OnceLock<ModelResult>,
}

/// The result of one run of a model, with or without a mutant.
#[derive(Debug, Clone)]
struct ModelResult {
    sites: BTreeSet<OrderingSite>,
    executions: u64,
    took: Duration,
    /// The panic message of the execution that failed; `None` if all executions passed.
    failure: Option<String>,
    /// The run ended before the model had explored all executions, none of which failed so far.
    is_cut_off: bool,
}

impl Model {
    /// Creates the model with the name `name`. `explore` runs all executions of the model, and
    /// panics if one of them fails.
    #[must_use]
    pub const fn new(name: &'static str, explore: fn()) -> Self {
        Self {
            name,
            explore,
            sound: OnceLock::new(),
        }
    }

    /// Returns the result of the model without a mutant. Runs the model only at the first call, and
    /// keeps the result.
    fn result_without_mutant(&self) -> &ModelResult {
        self.sound
            .get_or_init(|| self.run_with_mutant(None, u64::MAX))
    }

    /// Runs the model with `mutant`, or without one if `mutant` is `None`, for at most
    /// `executions_max` executions. Returns the result of the run.
    fn run_with_mutant(&self, mutant: Option<Mutant>, executions_max: u64) -> ModelResult {
        silence_panics();
        VISITED_ORDERING_SITES.take();
        EXECUTIONS_OF_RUN.set(0);
        EXECUTIONS_MAX.set(executions_max);
        CURRENT_MUTANT.set(mutant);
        ARE_PANICS_SILENT.set(true);
        let start = Instant::now();
        let outcome = panic::catch_unwind(AssertUnwindSafe(self.explore));
        let took = start.elapsed();
        ARE_PANICS_SILENT.set(false);
        CURRENT_MUTANT.set(None);
        let is_cut_off = matches!(&outcome, Err(cause) if cause.is::<ExecutionLimitReached>());
        let failure = outcome.err().filter(|_| !is_cut_off).map(|cause| {
            let text = cause.downcast_ref::<String>().cloned();
            text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_else(|| "a panic without text".to_owned())
        });
        ModelResult {
            sites: VISITED_ORDERING_SITES.take(),
            executions: EXECUTIONS_OF_RUN.get(),
            took,
            failure,
            is_cut_off,
        }
    }
}

/// Returns the first model that fails with `mutant`, although it does not fail without a mutant,
/// and the result of that model. Tries the models with the fewest executions first, and some
/// executions of each before all of any.
fn find_failing_model(
    models: &'static [Model],
    mutant: Mutant,
) -> Option<(&'static Model, ModelResult)> {
    let able = |model: &&Model| {
        let sound = model.result_without_mutant();
        sound.failure.is_none() && sound.sites.iter().any(|site| mutant.affects(site))
    };
    let mut able: Vec<_> = models.iter().filter(able).collect();
    able.sort_by_key(|model| model.result_without_mutant().executions);
    for executions_max in EXECUTIONS_MAX_BY_ROUND {
        let mut cut_off = Vec::new();
        for model in able {
            let run = model.run_with_mutant(Some(mutant), executions_max);
            if run.failure.is_some() {
                return Some((model, run));
            }
            if run.is_cut_off {
                cut_off.push(model);
            }
        }
        able = cut_off;
    }
    None
}

/// Installs a panic hook that prints no panic messages of explored executions. WHY: with a mutant,
/// executions are expected to fail.
fn silence_panics() {
    static PANIC_HOOK_INSTALLATION: Once = Once::new();
    PANIC_HOOK_INSTALLATION.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !ARE_PANICS_SILENT.get() {
                loud(info);
            }
        }));
    });
}

/// Runs the model with the name `name` in `models` without a mutant, and prints how many executions
/// it has explored.
///
/// # Panics
///
/// Panics if an execution fails.
pub fn check_model(models: &'static [Model], name: &str) {
    let model = models
        .iter()
        .find(|model| model.name == name)
        .expect("a listed model");
    let run = model.result_without_mutant();
    println!("{name}: {} executions in {:.1?}", run.executions, run.took);
    if let Some(failure) = &run.failure {
        panic!("execution {} of {name}: {failure}", run.executions);
    }
}

/// Returns all lines of source code that use a named ordering, or perform a named step, while one
/// of `models` runs.
#[must_use]
pub fn ordering_sites(models: &'static [Model]) -> BTreeSet<OrderingSite> {
    let sites = models
        .iter()
        .flat_map(|model| model.result_without_mutant().sites.iter().copied());
    sites.filter(|site| site.file.contains("src")).collect()
}

/// Runs models with each of `mutants`, and prints a table that shows which model detects each
/// mutant.
///
/// # Panics
///
/// Panics if a mutant is not detected by any model.
pub fn assert_all_killed(
    title: &str,
    models: &'static [Model],
    mutants: impl Iterator<Item = Mutant>,
) {
    let mut table = format!("\n{title:<32}killed by\n");
    let mut survivors = Vec::new();
    for mutant in mutants {
        let name = mutant.to_string();
        let killer = find_failing_model(models, mutant);
        let fate = killer.map(|(model, run)| format!("{} ({})", model.name, run.executions));
        let _ = writeln!(table, "{name:<32}{}", fate.as_deref().unwrap_or("SURVIVES"));
        if fate.is_none() {
            survivors.push(name);
        }
    }
    // WHY not `print!`: it is only shown when a test fails, and the table is a result.
    let _ = std::io::stdout().lock().write_all(table.as_bytes());
    assert!(survivors.is_empty(), "no model needs {survivors:?}");
}

/// Defines the static `MODELS`, the list of all models of a test binary, and one test for each
/// model, which runs the model without a deliberate defect. See
/// [`Model`](crate::mutation::Model).
///
/// Each argument is a module, and the functions in it that are models. For example,
/// `models! { lane: send, receive; }` lists the functions `lane::send` and `lane::receive`.
#[macro_export]
macro_rules! models {
    ($($noun:path: $($name:ident),* ;)*) => {
        static MODELS: [$crate::mutation::Model; [$($(stringify!($name)),*),*].len()] = [$($({
            use $noun as noun;
            $crate::mutation::Model::new(stringify!($name), noun::$name)
        }),*),*];

        /// One test for each model, which runs the model without a mutant.
        mod sound {
            $($(
                #[test]
                fn $name() {
                    $crate::mutation::check_model(&super::MODELS, stringify!($name));
                }
            )*)*
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Explores `executions` executions with two steps; the `failing`-th one fails if the second
    /// step is left out.
    fn explore(executions: u64, failing: u64) {
        for execution in 1..=executions {
            count_execution();
            is_step_left_out("needless");
            let is_sound = !is_step_left_out("needed");
            assert!(is_sound || execution != failing, "execution {execution}");
        }
    }

    fn fate(models: &'static [Model], label: &'static str) -> Option<(&'static str, u64)> {
        let killer = find_failing_model(models, Mutant::Flaw(label));
        killer.map(|(model, run)| (model.name, run.executions))
    }

    #[test]
    fn a_mutant_that_fails_early_is_found_before_other_models_are_explored() {
        static MODELS: [Model; 2] = [
            Model::new("blind", || explore(u64::MAX, 0)),
            Model::new("other", || explore(u64::MAX, 3)),
        ];
        // WHY set: the run without a mutant would explore all executions, without end.
        for model in &MODELS {
            let sound = model.run_with_mutant(None, 5);
            assert!(sound.is_cut_off && sound.failure.is_none());
            model.sound.set(sound).unwrap();
        }
        assert_eq!(fate(&MODELS, "needed"), Some(("other", 3)));
    }

    #[test]
    fn a_mutant_that_fails_late_is_found_and_one_that_never_fails_is_not() {
        static MODELS: [Model; 2] = [
            Model::new("blind", || explore(300, 0)),
            Model::new("late", || explore(20_000, 19_999)),
        ];
        assert_eq!(fate(&MODELS, "needed"), Some(("late", 19_999)));
        assert_eq!(fate(&MODELS, "needless"), None);
    }
}
