//! The Python class `Scheduler`: adds nodes, runs them, and ends the run.

mod run_end;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_core::scheduler::{Handle, Rate, Running, Scheduler, StartError};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::BusyError;
use crate::namespace::PyNamespace;
use crate::scheduler::async_node::PreparedNode;
use crate::scheduler::error::{PlanError, SchedulerError, scheduler_error};
use crate::scheduler::events::start_event_thread;
use crate::scheduler::held::GcVisitedObjects;
use crate::scheduler::node_owner::{NodePurpose, NodesWokenByTopics, open_topics_and_take_node};
use crate::scheduler::own_calls::is_in_python_call_of;
use crate::scheduler::python_calls::{self, TickThreadGuard};
use crate::scheduler::report::PyReport;
use crate::scheduler::run_exceptions::{RunExceptions, result_of_with_block_exit};
use crate::scheduler::safe_state;
use crate::scheduler::settings;
use crate::topic::endpoint::{Exclusive, ExclusiveGuard};
use crate::wait::duration::duration_from_secs;
use crate::wait::gil::{self, run_detached};

/// The time between two checks for signals while a scheduler runs. A Ctrl-C takes effect after at
/// most this time, and the time that the run takes to end.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(30);
/// Maximum time for which the exit of the interpreter waits for threads that run schedulers.
const INTERPRETER_EXIT_WAIT_MAX: Duration = Duration::from_secs(2);

/// The stages in the life of a scheduler.
#[derive(Debug)]
enum SchedulerStage {
    New(Box<Scheduler>),
    Running(Box<Running>),
    /// A node failed, and `start` or `tick_once` has already raised that failure. `finish` then
    /// raises nothing, and only returns the report.
    Failed,
    Over,
}

/// All schedulers that run at present. They are ended when the interpreter exits.
static RUNNING_SCHEDULERS: Mutex<Vec<Py<PyScheduler>>> = Mutex::new(Vec::new());

/// A set of nodes, and the threads that run them.
#[pyclass(frozen, name = "Scheduler", module = "horus", weakref)]
#[derive(Debug)]
pub(crate) struct PyScheduler {
    stage: Exclusive<SchedulerStage>,
    handle: Handle,
    run_exceptions: Arc<RunExceptions>,
    namespace: Option<Py<PyNamespace>>,
    name: Mutex<String>,
    report: Mutex<Option<Py<PyReport>>>,
    /// The thread that calls the Python function `on_event`; `None` if the scheduler has no such
    /// function, or does not run.
    event_thread: Mutex<Option<JoinHandle<()>>>,
    /// The Python function `on_event`, until the run starts.
    on_event: Mutex<Option<Py<PyAny>>>,
    held: GcVisitedObjects,
    woken_nodes: NodesWokenByTopics,
    generation: usize,
}

#[pymethods]
impl PyScheduler {
    #[new]
    #[pyo3(signature = (
        name = None, namespace = None, *, main_rate = None, compute_threads = None,
        stop_on_signals = false, on_event = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    pub(crate) fn new(
        py: Python<'_>,
        name: Option<String>,
        namespace: Option<Py<PyNamespace>>,
        main_rate: Option<f64>,
        compute_threads: Option<usize>,
        stop_on_signals: bool,
        on_event: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let mut scheduler = run_detached(py, Scheduler::new);
        let name = name.map_or_else(|| settings::program_name(py), Ok)?;
        scheduler.name(&name);
        if let Some(namespace) = &namespace {
            scheduler.namespace(&namespace.get().inner);
        }
        if let Some(hertz) = main_rate {
            let set = scheduler.main_rate(Rate::hz(hertz));
            set.map_err(|error| scheduler_error(format!("main_rate: {error}")))?;
        }
        if let Some(threads) = compute_threads {
            scheduler.compute_threads(threads);
        }
        if stop_on_signals {
            scheduler.stop_on_signals();
        }
        if let Some(tell) = &on_event
            && !tell.bind(py).is_callable()
        {
            let found = tell.bind(py).repr()?;
            return Err(PyTypeError::new_err(format!(
                "on_event is {found}, which is no callable"
            )));
        }
        let handle = scheduler.handle();
        let run_exceptions = RunExceptions::new(handle.clone());
        Ok(Self {
            run_exceptions,
            handle,
            stage: Exclusive::new("the scheduler", SchedulerStage::New(Box::new(scheduler))),
            namespace,
            name: Mutex::new(name),
            report: Mutex::new(None),
            event_thread: Mutex::default(),
            on_event: Mutex::new(on_event),
            held: GcVisitedObjects::default(),
            woken_nodes: NodesWokenByTopics::default(),
            generation: python_calls::fork_generation(),
        })
    }

    /// The name. Once the scheduler runs, it may have a number appended that makes it unique.
    #[getter]
    pub(crate) fn name(&self) -> String {
        lock(&self.name).clone()
    }

    /// The report of the run; `None` before the run is over.
    #[getter]
    fn report(&self, py: Python<'_>) -> Option<Py<PyReport>> {
        lock(&self.report)
            .as_ref()
            .map(|report| report.clone_ref(py))
    }

    /// Adds a node, and opens its topics in the scheduler's namespace. Returns the node.
    fn add<'py>(slf: &Bound<'py, Self>, node: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        open_topics_and_take_node(slf, &node, NodePurpose::Addition, |settings| {
            this.configure(node.py(), |scheduler| {
                let mut held = Vec::new();
                let owner = (&this.run_exceptions, NodePurpose::Addition);
                let prepared = PreparedNode::new(&node, settings, owner, &mut held)?;
                let name: String = settings::required_setting(settings, "name")?;
                let builder = settings::apply_settings(scheduler.node(&name), settings)?;
                let builder = match settings.get_item("safe_state")? {
                    Some(enter) => safe_state::add_safe_state(builder, &enter, &mut held)?,
                    None => builder,
                };
                let built = match prepared {
                    PreparedNode::Async(node) => builder.async_io().build(node),
                    PreparedNode::Plain(node) => builder.build(node),
                };
                built.map_err(|error| PlanError::new_err(error.to_string()))?;
                this.held.add(held);
                this.woken_nodes.add(&name, settings)
            })
        })?;
        Ok(node)
    }

    /// Makes every node shut down after its current tick; then `run` returns.
    fn stop(&self) -> PyResult<()> {
        self.check_not_forked()?;
        self.handle.stop();
        Ok(())
    }

    /// Initialises the nodes, in order, and starts their threads. Raises `NodeFailedError` if the
    /// `init` of a node failed and thereby ended the run.
    pub(crate) fn start(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (this, py) = (slf.get(), slf.py());
        let mut entered = this.enter_stage(py)?;
        this.start_if_new(slf, entered.get())?;
        if this
            .handle
            .reason()
            .is_none_or(|reason| !reason.is_failure())
        {
            return Ok(());
        }
        // WHY: the program may not call the scheduler again.
        this.end_failed_run(py, entered.get())
    }

    /// Ticks once, on this thread, every node that has no thread: that has neither a rate, nor a
    /// waking topic, nor another setting that gives it a thread. Returns false if the run has to
    /// stop: call `finish` then. Raises `NodeFailedError` if a node failed and thereby ended the
    /// run.
    fn tick_once(&self, py: Python<'_>) -> PyResult<bool> {
        self.check_not_in_own_call()?;
        let mut entered = self.enter_stage(py)?;
        match entered.get() {
            SchedulerStage::Running(running) => {
                // WHY not `tick_once`: it would end a run that has failed, and so wait for threads
                // that need the GIL.
                if let Some(goes_on) = running.try_tick_once() {
                    return Ok(goes_on);
                }
                self.end_failed_run(py, entered.get()).map(|()| false)
            }
            SchedulerStage::New(_) => Err(not_started_error()),
            SchedulerStage::Failed | SchedulerStage::Over => Err(run_over_error()),
        }
    }

    /// Runs until a node, a handle, a command or a signal stops it. Raises `NodeFailedError` if a
    /// node failed, unless `check` is false.
    #[pyo3(signature = (*, check = true))]
    fn run(slf: &Bound<'_, Self>, check: bool) -> PyResult<Py<PyReport>> {
        if slf.get().handle.nodes().is_empty() {
            return Err(scheduler_error(StartError::NoNodes));
        }
        Self::run_until(slf, None, check)
    }

    /// Runs for at most `duration` seconds. Raises the same errors as `run`.
    #[pyo3(signature = (duration, *, check = true))]
    fn run_for(slf: &Bound<'_, Self>, duration: f64, check: bool) -> PyResult<Py<PyReport>> {
        Self::run_until(
            slf,
            Instant::now().checked_add(duration_from_secs(duration)?),
            check,
        )
    }

    /// Stops the run, shuts all nodes down in reverse order, and returns the report. Raises the
    /// same errors as `run`, except for a failure that `start` or `tick_once` has already raised.
    #[pyo3(signature = (*, check = true))]
    pub(crate) fn finish(&self, py: Python<'_>, check: bool) -> PyResult<Py<PyReport>> {
        self.check_not_in_own_call()?;
        let mut entered = self.enter_stage(py)?;
        if matches!(entered.get(), SchedulerStage::Failed) {
            *entered.get() = SchedulerStage::Over;
            return self.report(py).ok_or_else(run_over_error);
        }
        self.finish_run(py, entered.get(), None, check)
    }

    /// Simulates `duration` seconds as fast as possible, on this thread alone. Raises the same
    /// errors as `run`.
    #[pyo3(signature = (duration, seed = 0, epoch_ns = 0, *, check = true))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn simulate(
        &self,
        py: Python<'_>,
        duration: f64,
        seed: u64,
        epoch_ns: u64,
        check: bool,
    ) -> PyResult<Py<PyReport>> {
        let time = duration_from_secs(duration)?;
        let mut entered = self.enter_stage(py)?;
        if let SchedulerStage::New(scheduler) = entered.get() {
            self.prepare_run(py, scheduler)?;
        }
        let scheduler = match std::mem::replace(entered.get(), SchedulerStage::Over) {
            SchedulerStage::New(scheduler) => scheduler,
            stage => {
                *entered.get() = stage;
                let text = "it has been started: make a new one";
                return Err(SchedulerError::new_err(text));
            }
        };
        let report = run_detached(py, || scheduler.simulate(time, seed, epoch_ns));
        self.store_report_or_raise(py, report, None, check)
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        Self::start(&slf)?;
        Ok(slf)
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let is_error = !exception.iter().all(|part| part.is_none());
        result_of_with_block_exit(py, exception, self.end_run_of_with_block(py, !is_error))
    }

    /// Shows its references to Python's garbage collector.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Ok(on_event) = self.on_event.try_lock() {
            visit.call(&*on_event)?;
        }
        self.held.traverse(&visit)
    }

    /// Drops the nodes of a scheduler that only a reference cycle keeps alive.
    fn __clear__(&self) {
        Python::attach(|py| {
            let on_event = lock(&self.on_event).take();
            drop(on_event);
            self.held.clear();
            self.drop_nodes_and_run(py);
        });
    }

    fn __repr__(&self) -> String {
        format!(
            "<horus.Scheduler '{}' of {} nodes>",
            self.name(),
            self.handle.nodes().len()
        )
    }
}

impl PyScheduler {
    /// Returns the namespace of the topics; `None` for the default one.
    pub(crate) fn namespace(&self, py: Python<'_>) -> Option<Py<PyNamespace>> {
        let namespace = self.namespace.as_ref();
        namespace.map(|namespace| namespace.clone_ref(py))
    }

    /// Calls `change` with the scheduler. Raises an error if the scheduler was already started.
    pub(crate) fn configure<R>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Scheduler) -> PyResult<R>,
    ) -> PyResult<R> {
        let mut entered = self.enter_stage(py)?;
        match entered.get() {
            SchedulerStage::New(scheduler) => change(scheduler),
            _ => Err(SchedulerError::new_err(
                "it has been started: add nodes before that",
            )),
        }
    }

    /// Returns true if the scheduler no longer uses its nodes in this process.
    pub(crate) fn has_released_nodes(&self, py: Python<'_>) -> bool {
        let is_over =
            |stage: &SchedulerStage| matches!(stage, SchedulerStage::Failed | SchedulerStage::Over);
        self.check_not_forked().is_err()
            || (self.enter_stage(py)).is_ok_and(|mut entered| is_over(entered.get()))
    }

    pub(crate) const fn core_handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) const fn run_exceptions(&self) -> &Arc<RunExceptions> {
        &self.run_exceptions
    }

    pub(super) const fn woken_nodes(&self) -> &NodesWokenByTopics {
        &self.woken_nodes
    }

    /// Checks that this process created the scheduler.
    ///
    /// # Errors
    ///
    /// `ForkedError` in a child process that inherited the scheduler through `fork`: its threads do
    /// not exist there, and its locks may be held.
    pub(crate) fn check_not_forked(&self) -> PyResult<()> {
        python_calls::check_not_forked(self.generation, "the scheduler")
    }

    /// Checks that this thread is not in a function of a node or an actor of this scheduler.
    ///
    /// # Errors
    ///
    /// `BusyError` if it is: the end of the run would wait for that function.
    fn check_not_in_own_call(&self) -> PyResult<()> {
        if !is_in_python_call_of(&self.run_exceptions) {
            return Ok(());
        }
        Err(BusyError::new_err(
            "the scheduler is running this function: to end the run here, call stop()",
        ))
    }

    fn enter_stage(&self, py: Python<'_>) -> PyResult<ExclusiveGuard<'_, SchedulerStage>> {
        self.check_not_forked()?;
        self.stage.enter(py).map_err(|error| {
            if !error.is_instance_of::<BusyError>(py) {
                return error;
            }
            BusyError::new_err("the scheduler is running: steer it by stop() and handle()")
        })
    }

    /// Starts the thread for events. From now on, the scheduler is not garbage.
    fn prepare_run(&self, py: Python<'_>, scheduler: &mut Scheduler) -> PyResult<()> {
        let on_event = lock(&self.on_event).as_ref().map(|call| call.clone_ref(py));
        if let Some(on_event) = on_event {
            let exceptions = &self.run_exceptions;
            let thread = start_event_thread(scheduler, &self.name(), on_event, exceptions)?;
            *lock(&self.event_thread) = Some(thread);
        }
        let on_event = lock(&self.on_event).take();
        drop(on_event);
        self.held.clear();
        Ok(())
    }

    /// Drops the nodes and the run, and everything that they refer to.
    fn drop_nodes_and_run(&self, py: Python<'_>) {
        let Ok(mut entered) = self.stage.enter(py) else {
            return;
        };
        let stage = std::mem::replace(entered.get(), SchedulerStage::Over);
        if self.generation == python_calls::fork_generation() {
            // WHY detached: the drop waits for nodes, which need the GIL.
            run_detached(py, || drop(stage));
        } else {
            std::mem::forget(stage);
        }
    }

    /// Starts the scheduler if it has not been started yet.
    fn start_if_new(&self, slf: &Bound<'_, Self>, stage: &mut SchedulerStage) -> PyResult<()> {
        if let SchedulerStage::New(scheduler) = stage {
            self.prepare_run(slf.py(), scheduler)?;
        }
        let scheduler = match std::mem::replace(stage, SchedulerStage::Over) {
            SchedulerStage::New(scheduler) => scheduler,
            SchedulerStage::Running(running) => {
                *stage = SchedulerStage::Running(running);
                return Ok(());
            }
            SchedulerStage::Failed | SchedulerStage::Over => return Err(run_over_error()),
        };
        let running = run_detached(slf.py(), || scheduler.start()).map_err(scheduler_error)?;
        running.name().clone_into(&mut lock(&self.name));
        *stage = SchedulerStage::Running(Box::new(running));
        lock(&RUNNING_SCHEDULERS).push(slf.clone().unbind());
        Ok(())
    }

    fn run_until(
        slf: &Bound<'_, Self>,
        end: Option<Instant>,
        check: bool,
    ) -> PyResult<Py<PyReport>> {
        let this = slf.get();
        let py = slf.py();
        this.check_not_in_own_call()?;
        let mut entered = this.enter_stage(py)?;
        this.start_if_new(slf, entered.get())?;
        let SchedulerStage::Running(running) = entered.get() else {
            return Err(run_over_error());
        };
        let _ticking = TickThreadGuard::new(py)?;
        let interrupt = loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let slice = left.map_or(SIGNAL_CHECK_INTERVAL, |left| {
                left.min(SIGNAL_CHECK_INTERVAL)
            });
            // WHY not `run_for`: `finish_run` ends a run that has failed.
            run_detached(py, || running.continue_for(slice));
            if let Err(error) = py.check_signals() {
                this.handle.stop();
                break Some(error);
            }
            if running.is_stopping() || left == Some(slice) {
                break None;
            }
        };
        this.finish_run(py, entered.get(), interrupt, check)
    }
}

impl Drop for PyScheduler {
    fn drop(&mut self) {
        if self.generation == python_calls::fork_generation() {
            self.run_exceptions.drop_handle();
        }
        let _ = Python::try_attach(|py| self.drop_nodes_and_run(py));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn not_started_error() -> PyErr {
    SchedulerError::new_err("it does not run: call start()")
}

#[cold]
fn run_over_error() -> PyErr {
    SchedulerError::new_err("its run is over: make a new scheduler")
}

/// Ends all running schedulers. Python calls it (`atexit`) while the interpreter still works.
#[pyfunction]
pub(super) fn _end_schedulers(py: Python<'_>) {
    let living: Vec<_> = lock(&RUNNING_SCHEDULERS)
        .iter()
        .map(|living| living.clone_ref(py))
        .collect();
    for scheduler in &living {
        let scheduler = scheduler.get();
        scheduler.handle.stop();
        // A scheduler that a thread is running is ended by that thread.
        if let Ok(mut entered) = scheduler.enter_stage(py) {
            let Err(error) = scheduler.finish_run(py, entered.get(), None, true) else {
                continue;
            };
            // WHY no other errors: the interpreter is already exiting, which is what a signal would
            // ask for.
            if lock(&scheduler.report)
                .as_ref()
                .is_some_and(|report| report.get().is_failure())
            {
                error.write_unraisable(py, None);
            }
        }
    }
    let end = Instant::now() + INTERPRETER_EXIT_WAIT_MAX;
    while !lock(&RUNNING_SCHEDULERS).is_empty() && Instant::now() < end {
        py.detach(|| thread::sleep(Duration::from_millis(1)));
    }
    let are_runs_over = lock(&RUNNING_SCHEDULERS).is_empty();
    python_calls::stop_python_calls(py, are_runs_over);
}

/// Forgets all schedulers and all waiting threads in the child after `fork`, where none of their
/// threads exist.
#[pyfunction]
pub(super) fn _forget_schedulers_after_fork() {
    std::mem::forget(std::mem::take(&mut *lock(&RUNNING_SCHEDULERS)));
    python_calls::reset_after_fork();
    gil::reset_after_fork();
}
