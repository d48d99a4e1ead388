//! A motor of tests: a node or actor that notes when it is made safe and shut down.

use std::sync::{Arc, Mutex};
use std::thread;

use horus_core::actor::{Actor, Context as ActorContext};
use horus_core::scheduler::{Context, Node, NodeResult};

/// The calls of nodes and actors: the name of each, the method, and the name of the thread.
#[derive(Clone, Default)]
pub(crate) struct Calls(pub(crate) Arc<Mutex<Vec<(String, &'static str, String)>>>);

impl Calls {
    pub(crate) fn note(&self, name: &str, call: &'static str) {
        let thread = thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push((name.to_owned(), call, thread));
    }

    /// Returns the calls of the node or actor `name`, in their order.
    pub(crate) fn of(&self, name: &str) -> Vec<&'static str> {
        let all = self.0.lock().unwrap();
        let own = all.iter().filter(|(caller, ..)| caller == name);
        own.map(|(_, call, _)| *call).collect()
    }
}

/// A node or actor that notes its calls.
pub(crate) struct Motor {
    name: String,
    calls: Calls,
}

impl Motor {
    pub(crate) fn new(name: &str, calls: &Calls) -> Self {
        Self {
            name: name.to_owned(),
            calls: calls.clone(),
        }
    }
}

impl Node for Motor {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.calls.note(&self.name, "safe");
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls.note(&self.name, "shutdown");
        Ok(())
    }
}

impl Actor for Motor {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut ActorContext<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.calls.note(&self.name, "safe");
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls.note(&self.name, "shutdown");
        Ok(())
    }
}
