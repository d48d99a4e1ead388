//! The scheduler that has a Python node. WHY it is known: the node has one set of topics, so that
//! only one scheduler at a time may run it. Also the nodes of a scheduler that topics wake.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefMethods, PyWeakrefReference};

use crate::scheduler::error::PlanError;
use crate::scheduler::py_scheduler::PyScheduler;

/// The purpose for which a scheduler takes a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodePurpose {
    Addition,
    /// The node replaces another one of the same scheduler. It may have been in this scheduler
    /// before.
    Replacement,
}

/// Opens the topics of a node, and calls `take` with its settings, which gives the node to the
/// scheduler. If `take` fails, closes the topics.
///
/// # Errors
///
/// `PlanError` if another scheduler has the node and its run is not over; errors of the topics, the
/// settings and `take`.
pub(crate) fn open_topics_and_take_node<R>(
    scheduler: &Bound<'_, PyScheduler>,
    node: &Bound<'_, PyAny>,
    purpose: NodePurpose,
    take: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<R>,
) -> PyResult<R> {
    let py = node.py();
    py.import("horus._node")?
        .call_method1("expect_node", (node,))?;
    check_node_is_unused(scheduler, node, purpose)?;
    let settings = node.call_method1("_settings", (scheduler.get().namespace(py),))?;
    match take(settings.cast::<PyDict>()?) {
        Ok(taken) => {
            node.call_method1("_keep_opened", (PyWeakrefReference::new(scheduler)?,))?;
            Ok(taken)
        }
        Err(error) => {
            node.call_method0("_close_opened")?;
            Err(error)
        }
    }
}

fn check_node_is_unused(
    scheduler: &Bound<'_, PyScheduler>,
    node: &Bound<'_, PyAny>,
    purpose: NodePurpose,
) -> PyResult<()> {
    let owner = node.getattr("_in_scheduler")?;
    if owner.is_none() {
        return Ok(());
    }
    let owner = owner.call0()?;
    let Ok(owner) = owner.cast::<PyScheduler>() else {
        // The scheduler was dropped.
        return Ok(());
    };
    let returns = purpose == NodePurpose::Replacement && owner.is(scheduler);
    if returns || owner.get().has_released_nodes(node.py()) {
        return Ok(());
    }
    let name: String = node.getattr("name")?.extract()?;
    Err(PlanError::new_err(format!(
        "node '{name}' is in scheduler '{}' already, whose run is not over: create another node \
         for this scheduler",
        owner.get().name()
    )))
}

/// The nodes of a scheduler that topics wake, each with its name and the subscribers that wake it.
/// A node and its replacements have the same name, and share these subscribers.
#[derive(Debug, Default)]
pub(crate) struct NodesWokenByTopics(Mutex<Vec<NodeWokenByTopics>>);

/// The name of a node, and the Python objects of the subscribers that wake it. WHY weak: the node
/// keeps them open for as long as the scheduler runs it.
type NodeWokenByTopics = (String, Vec<Py<PyWeakrefReference>>);

impl NodesWokenByTopics {
    /// Adds the node `name`, which has these settings, if topics wake it.
    pub(super) fn add(&self, name: &str, settings: &Bound<'_, PyDict>) -> PyResult<()> {
        let subscribers = waking_subscribers(settings)?;
        if subscribers.is_empty() {
            return Ok(());
        }
        let references = subscribers.iter().map(PyWeakrefReference::new);
        let references = references.map(|reference| reference.map(Bound::unbind));
        let node = (name.to_owned(), references.collect::<PyResult<_>>()?);
        self.lock().push(node);
        Ok(())
    }

    /// Returns true if topics wake the node `name`, and if the same subscribers wake a node with
    /// these settings.
    pub(super) fn has_same_waking_subscribers(
        &self,
        name: &str,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<bool> {
        let py = settings.py();
        let new = waking_subscribers(settings)?;
        let old: Option<Vec<_>> = {
            let nodes = self.lock();
            let node = nodes.iter().find(|(known, _)| known == name);
            node.map(|(_, old)| old.iter().map(|one| one.clone_ref(py)).collect())
        };
        let Some(old) = old else { return Ok(false) };
        let is_old = |one: &Bound<'_, PyAny>| {
            let mut alive = old.iter().filter_map(|other| other.bind(py).upgrade());
            alive.any(|other| one.is(&other))
        };
        Ok(old.len() == new.len() && new.iter().all(is_old))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<NodeWokenByTopics>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the Python objects of the subscribers that wake a node with these settings.
fn waking_subscribers<'py>(settings: &Bound<'py, PyDict>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    settings
        .get_item("on")?
        .map_or(Ok(Vec::new()), |on| on.extract())
}
