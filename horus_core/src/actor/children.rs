//! The children of an actor. They end before their parent. If one of them fails and is not
//! restarted, the parent fails too.

use std::any::Any;

use horus_shm::internals::heap::ControlHandle;

use crate::actor::group::{ActorGroup, ControlMessage};

/// A child of an actor.
pub(super) struct Child {
    number: u64,
    handle: ControlHandle<ActorGroup>,
    /// An address of the child, which keeps the child alive.
    _keeps: Box<dyn Any + Send>,
}

impl Child {
    pub(super) fn new(handle: ControlHandle<ActorGroup>, keeps: impl Any + Send) -> Self {
        Self {
            number: 0,
            handle,
            _keeps: Box::new(keeps),
        }
    }
}

/// The children of an actor, in the order in which they were spawned.
#[derive(Default)]
pub(super) struct Children {
    list: Vec<Child>,
    /// Number of children that were ever added. It is also the number of the child that was added
    /// last.
    added: u64,
}

impl Children {
    /// Adds a child, and returns its number.
    pub(super) fn add(&mut self, mut child: Child) -> u64 {
        self.added += 1;
        child.number = self.added;
        self.list.push(child);
        self.added
    }

    /// Removes the child with this number after it has ended. Returns false if no child has this
    /// number.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let found = self.list.iter().position(|child| child.number == number);
        found.is_some_and(|at| {
            self.list.remove(at);
            true
        })
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Makes all children end, in the reverse order of their spawning.
    pub(super) fn end_all(&self) {
        for child in self.list.iter().rev() {
            // WHY ignored: it has ended already.
            drop(child.handle.send(ControlMessage::End));
        }
    }

    /// Makes all children end, and removes them from this list.
    pub(super) fn end_and_forget_all(&mut self) {
        self.end_all();
        self.list.clear();
    }
}
