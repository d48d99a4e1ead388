//! Defers Python's signal handlers while nodes enter their safe states or are shut down.
//!
//! WHY: Python calls handlers between two bytecodes of the main thread. The exception of a handler,
//! such as `KeyboardInterrupt`, would leave a safe state of several commands after the first ones.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use horus_core::SignalAction;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// The numbers of signals that ask a program to end. They are the same on all architectures.
const SIGINT: c_int = 2;
const SIGTERM: c_int = 15;

/// A SIGINT or SIGTERM is not deferred if it comes so long after the first signal, or later: it
/// interrupts a function that does not return.
const SIGNAL_DEFERRAL_MAX: Duration = Duration::from_millis(500);

/// True while handlers are deferred. WHY one for the process: only the main thread defers them, and
/// a node may run another scheduler.
static ARE_HANDLERS_DEFERRED: AtomicBool = AtomicBool::new(false);

/// The handlers that are deferred, and the signals that have arrived meanwhile.
#[derive(Debug)]
struct DeferredHandlers {
    handlers: Vec<(c_int, Py<PyAny>)>,
    arrived: Mutex<ArrivedSignals>,
}

#[derive(Debug, Default)]
struct ArrivedSignals {
    /// The time of the first signal that asks the program to end; `None` if there was none.
    first_end: Option<Instant>,
    signals: Vec<c_int>,
}

impl DeferredHandlers {
    fn lock(&self) -> MutexGuard<'_, ArrivedSignals> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a signal that has arrived, so that its handler is called later. If it is a SIGINT or
    /// SIGTERM, and the first of these came [`SIGNAL_DEFERRAL_MAX`] ago or earlier, calls its
    /// handler at once instead.
    fn defer_or_handle_signal(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        let signal: c_int = arguments.get_item(0)?.extract()?;
        let mut arrived = self.lock();
        let asks_for_end = [SIGINT, SIGTERM].contains(&signal);
        let first_end = arrived.first_end.filter(|_| asks_for_end);
        if first_end.is_none_or(|first| first.elapsed() < SIGNAL_DEFERRAL_MAX) {
            if asks_for_end {
                arrived.first_end.get_or_insert_with(Instant::now);
            }
            arrived.signals.push(signal);
            return Ok(());
        }
        drop(arrived);
        let own = self.handlers.iter().find(|(number, _)| *number == signal);
        own.map_or(Ok(()), |(_, handler)| {
            handler.call1(arguments.py(), arguments).map(drop)
        })
    }
}

/// A guard that defers the signal handlers of Python until [`Self::end`].
#[derive(Debug)]
pub(crate) struct SignalDeferralGuard {
    deferred: Arc<DeferredHandlers>,
    /// The function that takes the place of the handlers; `None` once they are restored.
    note: Option<Py<PyAny>>,
    /// The exception of a handler that was called before the handlers were deferred.
    early: Option<PyErr>,
}

impl SignalDeferralGuard {
    /// Defers the handlers that are Python functions. Returns `None` on another thread than the
    /// main thread, which calls no handlers, or if they are deferred already. `was_interrupted` is
    /// true if a signal has asked the program to end before.
    pub(crate) fn begin(py: Python<'_>, was_interrupted: bool) -> Option<Self> {
        // Relaxed: only the main thread changes it.
        if !is_main_thread(py).unwrap_or(false) || ARE_HANDLERS_DEFERRED.load(Ordering::Relaxed) {
            return None;
        }
        Self::defer(py, was_interrupted).ok()
    }

    fn defer(py: Python<'_>, was_interrupted: bool) -> PyResult<Self> {
        let module = py.import("_signal")?;
        let mut handlers = Vec::new();
        for signal in module.call_method0("valid_signals")?.try_iter()? {
            let signal: c_int = signal?.extract()?;
            let handler = module.call_method1("getsignal", (signal,))?;
            if handler.is_callable() {
                handlers.push((signal, handler.unbind()));
            }
        }
        let first_end = was_interrupted.then(Instant::now);
        let arrived = ArrivedSignals {
            first_end,
            ..ArrivedSignals::default()
        };
        let deferred = Arc::new(DeferredHandlers {
            handlers,
            arrived: Mutex::new(arrived),
        });
        let noting = Arc::clone(&deferred);
        let note = move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            noting.defer_or_handle_signal(arguments)
        };
        let note = PyCFunction::new_closure(py, None, None, note)?;
        // Relaxed: as in `begin`.
        ARE_HANDLERS_DEFERRED.store(true, Ordering::Relaxed);
        let mut early = None;
        for (signal, _) in &deferred.handlers {
            if let Err(error) = set_handler(&module, *signal, note.as_any()) {
                early.get_or_insert(error);
            }
        }
        let note = Some(note.into_any().unbind());
        Ok(Self {
            deferred,
            note,
            early,
        })
    }

    /// Restores the handlers, unless the program has set others meanwhile. Then calls those of the
    /// signals that have arrived. Returns the first exception of a handler.
    pub(crate) fn end(mut self, py: Python<'_>) -> Option<PyErr> {
        let mut early = self.early.take();
        if let Some(error) = self.restore(py) {
            early.get_or_insert(error);
        }
        for signal in self.take_signals() {
            raise_signal(signal);
            if let Err(error) = py.check_signals() {
                early.get_or_insert(error);
            }
        }
        early
    }

    fn take_signals(&self) -> Vec<c_int> {
        std::mem::take(&mut self.deferred.lock().signals)
    }

    /// Restores the handlers, unless the program has set others meanwhile. Does nothing the second
    /// time. Returns the first exception of a handler.
    fn restore(&mut self, py: Python<'_>) -> Option<PyErr> {
        let Self { deferred, note, .. } = self;
        let note = note.take()?;
        let mut early = None;
        if let Ok(module) = py.import("_signal") {
            for (signal, handler) in &deferred.handlers {
                let present = module.call_method1("getsignal", (*signal,));
                if present.is_ok_and(|present| present.is(&note))
                    && let Err(error) = set_handler(&module, *signal, handler.bind(py))
                {
                    early.get_or_insert(error);
                }
            }
        }
        // Relaxed: as in `begin`.
        ARE_HANDLERS_DEFERRED.store(false, Ordering::Relaxed);
        early
    }
}

impl Drop for SignalDeferralGuard {
    /// If a panic has left the function that the handlers were deferred for, restores them, and
    /// makes Python call those of the signals that have arrived, at the next opportunity.
    fn drop(&mut self) {
        if self.note.is_some() {
            Python::try_attach(|py| self.restore(py));
            self.take_signals().into_iter().for_each(raise_signal);
        }
    }
}

/// Makes Python call the handler of a signal when it looks for signals the next time.
fn raise_signal(signal: c_int) {
    // SAFETY: may be called by any thread; an unknown number is ignored.
    unsafe { ffi::PyErr_SetInterruptEx(signal) };
}

/// Returns true on the main thread of Python.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

/// Makes `handler` the Python handler of the signal, and keeps the action of the operating system
/// for it. WHY: that action may belong to a scheduler that stops on signals.
fn set_handler(
    module: &Bound<'_, PyModule>,
    signal: c_int,
    handler: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let action = SignalAction::load_current(signal);
    let set = || module.call_method1("signal", (signal, handler));
    // WHY again: Python first calls handlers of signals that have arrived before, and sets nothing
    // if one raises an exception.
    let outcome = match set() {
        Ok(_) => Ok(()),
        Err(error) => set().and(Err(error)),
    };
    if let Ok(action) = action {
        action.restore();
    }
    outcome
}
