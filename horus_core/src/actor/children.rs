//! The children of an actor. They end before their parent. If one of them fails and is not
//! restarted, the parent fails too.

use std::any::Any;

use horus_shm::internals::heap::ControlHandle;

use crate::actor::group::{ActorGroup, ControlMessage};

/// An actor that was spawned by another actor, and that ends with it.
pub(super) struct Child {
    number: u64,
    /// The generation of the parent that has spawned the child.
    generation: u32,
    handle: ControlHandle<ActorGroup>,
    /// An address of the child, which keeps the child alive.
    _keeps: Box<dyn Any + Send>,
}

impl Child {
    pub(super) fn new(
        handle: ControlHandle<ActorGroup>,
        generation: u32,
        keeps: impl Any + Send,
    ) -> Self {
        Self {
            number: 0,
            generation,
            handle,
            _keeps: Box::new(keeps),
        }
    }

    /// Sends the child the request to end.
    fn request_end(&self) {
        // WHY ignored: it has ended already.
        drop(self.handle.send(ControlMessage::End));
    }
}

/// The actors that one actor has spawned as its children, in the order of spawning.
#[derive(Default)]
pub(super) struct Children {
    list: Vec<Child>,
    /// Number of children that were ever added, including those that have ended. The child that was
    /// added last has this number.
    added: u64,
}

impl Children {
    /// Adds a child, and returns the number that identifies it in this list.
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

    /// Sends every child the request to end, in the reverse order of spawning.
    pub(super) fn request_end_of_all(&self) {
        self.list.iter().rev().for_each(Child::request_end);
    }

    /// Sends the children that the parent has spawned in this generation the request to end, and
    /// removes them from this list.
    pub(super) fn end_and_forget_generation(&mut self, generation: u32) {
        let is_meant = |child: &&Child| child.generation == generation;
        self.list
            .iter()
            .rev()
            .filter(is_meant)
            .for_each(Child::request_end);
        self.list.retain(|child| child.generation != generation);
    }

    /// Sends every child the request to end, and removes all children from this list.
    pub(super) fn end_and_forget_all(&mut self) {
        self.request_end_of_all();
        self.list.clear();
    }
}
