//! The children of an actor: they end before it, and it fails with them.

use std::any::Any;

use horus_shm::internals::heap::ControlHandle;

use crate::actor::group::{ActorGroup, Control};
use crate::actor::watch::{ActorId, Down};

/// A child of an actor.
pub(super) struct Child {
    handle: ControlHandle<ActorGroup>,
    /// An address of the child, which keeps it alive.
    _keeps: Box<dyn Any + Send>,
}

impl Child {
    pub(super) fn new(handle: ControlHandle<ActorGroup>, keeps: impl Any + Send) -> Self {
        Self {
            handle,
            _keeps: Box::new(keeps),
        }
    }
}

/// The children of an actor, in the order in which they were spawned.
#[derive(Default)]
pub(super) struct Children(Vec<Child>);

impl Children {
    pub(super) fn add(&mut self, child: Child) {
        self.0.push(child);
    }

    /// Removes a child that has ended; returns false if it was none.
    pub(super) fn remove(&mut self, down: &Down) -> bool {
        let is_it = |child: &Child| ActorId(child.handle.id()) == down.id();
        let found = self.0.iter().position(is_it);
        found.is_some_and(|at| {
            self.0.remove(at);
            true
        })
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes all children end, the last one first.
    pub(super) fn end(&self) {
        for child in self.0.iter().rev() {
            // WHY ignored: it has ended already.
            drop(child.handle.send(Control::End));
        }
    }

    /// Makes all children end, and forgets them.
    pub(super) fn abandon(&mut self) {
        self.end();
        self.0.clear();
    }
}
