//! Runs nodes whose ticks are coroutines of asyncio as tasks of the scheduler.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use horus_core::scheduler::{AsyncNode, Context, Node, NodeError, NodeResult, TaskNode, Underway};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::scheduler::interruption::Interruption;
use crate::scheduler::node::{PythonNode, ended};
use crate::scheduler::python_calls::attached;

/// A node whose ticks are coroutines.
#[derive(Debug)]
struct PythonTask {
    /// Its tick goes on with the coroutine until that waits: `Ticks.turn` of `horus._loop`.
    node: PythonNode,
    ticks: Py<PyAny>,
}

/// A `horus.Node` in the form that the scheduler takes.
#[derive(Debug)]
pub(crate) enum PreparedNode {
    Plain(PythonNode),
    Task(TaskNode),
}

impl PreparedNode {
    /// Of a `horus.Node` and its settings.
    pub(crate) fn new(
        node: &Bound<'_, PyAny>,
        settings: &Bound<'_, PyDict>,
        interruption: &Arc<Interruption>,
    ) -> PyResult<Self> {
        let made = PythonNode::new(node, settings, interruption)?;
        Ok(match settings.get_item("ticks")? {
            Some(ticks) => Self::Task(TaskNode::new(PythonTask::new(made, ticks.unbind()))),
            None => Self::Plain(made),
        })
    }
}

/// A tick under way: if it is dropped, its coroutine is cancelled.
#[derive(Debug)]
struct Tick<'a> {
    node: &'a PythonTask,
    is_over: bool,
}

impl Drop for Tick<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.node.tell("cancel");
        }
    }
}

impl PythonTask {
    const fn new(node: PythonNode, ticks: Py<PyAny>) -> Self {
        Self { node, ticks }
    }

    async fn drive(&self, context: &mut Context<'_>) -> NodeResult {
        let mut tick = Tick { node: self, is_over: false };
        // WHY not kept: between two ticks, Python may close the loop.
        let mut events = None;
        loop {
            let turn = self.node.call_tick(context, |idle| idle.extract::<Option<f64>>());
            let Ok(Some(Some(idle))) = turn else {
                tick.is_over = true;
                return turn.map(drop);
            };
            let events = match &mut events {
                Some(events) => events,
                none => none.insert(self.watch()?),
            };
            let idle = Duration::try_from_secs_f64(idle).unwrap_or(Duration::MAX);
            if let Ok(ready) = timeout(idle, events.readable()).await {
                ready?.clear_ready();
            }
        }
    }

    /// Returns the descriptor that is readable when there are events for the loop.
    fn watch(&self) -> Result<AsyncFd<OwnedFd>, NodeError> {
        let number = attached(|py| -> PyResult<RawFd> {
            self.ticks.call_method0(py, "fileno")?.extract(py)
        });
        let number = number.ok_or_else(ended)?.map_err(io::Error::other)?;
        // SAFETY: the loop is open, for it was just turned, and only this thread closes it.
        let events = unsafe { BorrowedFd::borrow_raw(number) };
        // WHY a descriptor of its own: nothing that Python does then closes this one.
        let events = events.try_clone_to_owned()?;
        // SAFETY: it owns the descriptor, and always names the same one.
        let events = unsafe { AsyncFd::register_with_interest(events, Interest::READABLE) };
        Ok(events.map_err(io::Error::from)?)
    }

    /// Calls what cannot fail; if it does, Python is told.
    fn tell(&self, method: &str) {
        let _ = attached(|py| {
            if let Err(error) = self.ticks.call_method0(py, method) {
                error.write_unraisable(py, Some(self.ticks.bind(py)));
            }
        });
    }
}

impl AsyncNode for PythonTask {
    fn tick<'a>(&'a mut self, context: &'a mut Context<'_>) -> Underway<'a> {
        Box::pin(self.drive(context))
    }

    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.node.init(context)
    }

    fn shutdown(&mut self) -> NodeResult {
        let outcome = self.node.shutdown();
        self.tell("close");
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

impl Drop for PythonTask {
    fn drop(&mut self) {
        self.tell("close");
    }
}
