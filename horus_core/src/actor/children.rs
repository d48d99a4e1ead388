//! The children of an actor. They end before their parent. If one of them fails and is not
//! restarted, the parent fails too.

use std::any::Any;
use std::collections::BTreeMap;

use horus_shm::internals::heap::ControlHandle;

use crate::actor::group::{ActorGroup, ControlMessage};

/// An actor that was spawned by another actor, and that ends with it.
pub(super) struct Child {
    /// The generation of the parent that has spawned the child.
    generation: u32,
    handle: ControlHandle<ActorGroup>,
    /// An address of the child, which keeps the child alive.
    _child_address: Box<dyn Any + Send>,
}

impl Child {
    pub(super) fn new(
        handle: ControlHandle<ActorGroup>,
        generation: u32,
        child_address: impl Any + Send,
    ) -> Self {
        Self {
            generation,
            handle,
            _child_address: Box::new(child_address),
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
    /// The children by their numbers. WHY a map: a parent of very many children removes each of
    /// them by its number.
    list: BTreeMap<u64, Child>,
    /// Number of children that were ever added, including those that have ended. The child that was
    /// added last has this number.
    added: u64,
}

impl Children {
    /// Adds a child, and returns the number that identifies it in this list.
    pub(super) fn add(&mut self, child: Child) -> u64 {
        self.added += 1;
        self.list.insert(self.added, child);
        self.added
    }

    /// Removes the child with this number after it has ended. Returns false if no child has this
    /// number. Takes a time that hardly grows with the number of children.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        self.list.remove(&number).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Sends every child the request to end, in the reverse order of spawning.
    pub(super) fn request_end_of_all(&self) {
        self.list.values().rev().for_each(Child::request_end);
    }

    /// Sends the children that the parent has spawned in this generation the request to end, and
    /// removes them from this list.
    pub(super) fn end_and_forget_generation(&mut self, generation: u32) {
        let is_meant = |child: &&Child| child.generation == generation;
        self.list
            .values()
            .rev()
            .filter(is_meant)
            .for_each(Child::request_end);
        self.list.retain(|_, child| child.generation != generation);
    }

    /// Sends every child the request to end, and removes all children from this list.
    pub(super) fn end_and_forget_all(&mut self) {
        self.request_end_of_all();
        self.list.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use horus_testing::thread_cpu_time;

    use super::*;
    use crate::actor::group_settings::GroupSettings;
    use crate::actor::{Actor, Actors, Context};
    use crate::scheduler::api::node::NodeResult;

    struct Silent;

    impl Actor for Silent {
        type Message = ();

        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
            Ok(())
        }
    }

    /// Returns the shortest CPU time of some rounds in which `count` children are removed, in the
    /// order in which they were spawned.
    fn removal_time(count: u64) -> Duration {
        let group = ActorGroup::new("fleet", 1, GroupSettings::default());
        let actor = Actors::from_group(group).spawn(Silent).unwrap();
        let round = |_| {
            let mut children = Children::default();
            for _ in 0..count {
                children.add(Child::new(actor.control_handle(), 0, ()));
            }
            let begin = thread_cpu_time();
            assert!((1..=count).all(|number| children.remove(number)));
            let time = thread_cpu_time() - begin;
            assert!(children.is_empty() && !children.remove(1));
            time
        };
        (0..5).map(round).min().unwrap()
    }

    /// Sixteen times as many children take about sixteen times as long. If each removal looked at
    /// or moved all others, it would be 256 times.
    #[test]
    fn the_removal_of_a_child_does_not_look_at_all_others() {
        let (few, many) = (removal_time(2000), removal_time(32_000));
        assert!(many < 100 * few, "{few:?} and {many:?}");
    }
}
