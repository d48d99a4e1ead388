//! Runs nodes whose ticks are asyncio coroutines, as asynchronous tasks of the scheduler.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use horus_core::scheduler::{
    AsyncNode, AsyncNodeAdapter, Context, Node, NodeError, NodeResult, TickFuture,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::scheduler::drop_attached::DropAttached;
use crate::scheduler::held::GcVisitedObject;
use crate::scheduler::node::{PythonNode, interpreter_ended_error};
use crate::scheduler::node_owner::NodePurpose;
use crate::scheduler::python_calls::try_with_python;
use crate::scheduler::run_exceptions::RunExceptions;

/// A node whose ticks are asyncio coroutines.
#[derive(Debug)]
struct AsyncPythonNode {
    /// The node whose tick resumes the coroutine until the coroutine waits. It calls `Ticks.turn`
    /// of the Python module `horus._loop`.
    node: PythonNode,
    ticks: DropAttached<Arc<Py<PyAny>>>,
}

/// A Python object of the class `horus.Node`, converted to a node that the scheduler accepts.
#[derive(Debug)]
pub(crate) enum PreparedNode {
    Plain(PythonNode),
    Async(AsyncNodeAdapter),
}

impl PreparedNode {
    /// Converts a node. The result is asynchronous if the settings of the node contain `ticks`, the
    /// Python object that runs its coroutines. Otherwise it is a plain node. Appends the Python
    /// objects of the node to `held`.
    pub(crate) fn new(
        node: &Bound<'_, PyAny>,
        settings: &Bound<'_, PyDict>,
        (run_exceptions, purpose): (&Arc<RunExceptions>, NodePurpose),
        held: &mut Vec<GcVisitedObject>,
    ) -> PyResult<Self> {
        let made = PythonNode::new(node, settings, run_exceptions, purpose)?;
        held.push(GcVisitedObject::Calls(Arc::clone(&made.calls)));
        Ok(match settings.get_item("ticks")? {
            Some(ticks) => {
                let ticks = Arc::new(ticks.unbind());
                held.push(GcVisitedObject::Object(Arc::clone(&ticks)));
                Self::Async(AsyncNodeAdapter::new(AsyncPythonNode::new(made, ticks)))
            }
            None => Self::Plain(made),
        })
    }
}

/// A guard for a tick that has begun. If the guard is dropped before the tick is over, the
/// coroutine of the tick is cancelled.
#[derive(Debug)]
struct CancelTickGuard<'a> {
    node: &'a AsyncPythonNode,
    is_over: bool,
}

impl Drop for CancelTickGuard<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.node.call_ticks_method("cancel");
        }
    }
}

impl AsyncPythonNode {
    const fn new(node: PythonNode, ticks: Arc<Py<PyAny>>) -> Self {
        let ticks = DropAttached::new(ticks);
        Self { node, ticks }
    }

    async fn run_tick(&self, context: &mut Context<'_>) -> NodeResult {
        let mut tick = CancelTickGuard {
            node: self,
            is_over: false,
        };
        // WHY not kept between two ticks: Python may close the event loop there.
        let mut events = None;
        loop {
            let turn = self
                .node
                .call_tick(context, |idle| idle.extract::<Option<f64>>());
            let Ok(Some(Some(idle))) = turn else {
                tick.is_over = true;
                return turn.map(drop);
            };
            let events = match &mut events {
                Some(events) => events,
                none => none.insert(self.event_loop_fd()?),
            };
            let idle = Duration::try_from_secs_f64(idle).unwrap_or(Duration::MAX);
            if let Ok(ready) = timeout(idle, events.readable()).await {
                ready?.clear_ready();
            }
        }
    }

    /// Returns a duplicate of the event loop's file descriptor, registered with the async runtime.
    /// It is readable when the loop has events.
    fn event_loop_fd(&self) -> Result<AsyncFd<OwnedFd>, NodeError> {
        let number = try_with_python(|py| -> PyResult<RawFd> {
            self.ticks.call_method0(py, "fileno")?.extract(py)
        });
        let number = number
            .ok_or_else(interpreter_ended_error)?
            .map_err(io::Error::other)?;
        // SAFETY: the loop is open, because its turn has just returned, and only this thread closes
        // it.
        let events = unsafe { BorrowedFd::borrow_raw(number) };
        // WHY a duplicate: Python code cannot close it.
        let events = events.try_clone_to_owned()?;
        // SAFETY: `AsyncFd` owns the descriptor, which stays the same.
        let events = unsafe { AsyncFd::register_with_interest(events, Interest::READABLE) };
        Ok(events.map_err(io::Error::from)?)
    }

    /// Calls a method of the Python object `ticks`. An exception is passed to `sys.unraisablehook`.
    fn call_ticks_method(&self, method: &str) {
        let _ = self.node.try_with_python(|py| {
            if let Err(error) = self.ticks.call_method0(py, method) {
                error.write_unraisable(py, Some(self.ticks.bind(py)));
            }
        });
    }
}

impl AsyncNode for AsyncPythonNode {
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> TickFuture<'a> {
        Box::pin(self.run_tick(context))
    }

    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.node.init(context)
    }

    fn shutdown(&mut self) -> NodeResult {
        // WHY first: the tick cleans up with what the hook may close.
        self.call_ticks_method("finish_cancelled");
        let outcome = self.node.shutdown();
        self.call_ticks_method("close");
        outcome
    }

    fn enter_safe_state(&mut self) {
        self.node.enter_safe_state();
    }

    fn is_safe_state(&self) -> bool {
        self.node.is_safe_state()
    }

    fn on_error(&mut self, error: &NodeError) {
        self.node.on_error(error);
    }
}

impl Drop for AsyncPythonNode {
    fn drop(&mut self) {
        self.call_ticks_method("close");
    }
}
