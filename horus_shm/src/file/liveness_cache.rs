//! A cache of the processes that were found alive.

use std::collections::HashMap;

use crate::file::counters::Participant;
use crate::file::segment::TopicMemory;

/// Remembers which processes were found alive, so that a look at many topics asks the system once
/// about each process instead of once for each of its publishers and subscribers.
///
/// Use one for one look, and a new one for the next: a process that dies meanwhile still counts as
/// alive.
#[derive(Debug, Default)]
pub struct LivenessCache {
    /// The live processes, by the random id of their registry and their owner word.
    alive: HashMap<([u8; 16], u64), Participant>,
}

impl LivenessCache {
    /// Returns the process that an owner word of `topic` names, if it is alive.
    pub(super) fn participant(&mut self, topic: &TopicMemory, owner: u64) -> Option<Participant> {
        // WHY not on the heap: there all participants are this process.
        let Some(file) = topic.file() else {
            return topic.participant(owner);
        };
        let key = (file.namespace.registry().id(), owner);
        if let Some(participant) = self.alive.get(&key) {
            return Some(participant.clone());
        }
        let participant = topic.participant(owner)?;
        self.alive.insert(key, participant.clone());
        Some(participant)
    }
}
