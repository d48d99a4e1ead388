//! A cache of the processes that were found to be alive.

use std::collections::HashMap;

use crate::file::counters::Participant;
use crate::file::segment::TopicMemory;

/// Remembers which processes were found to be alive. A tool that examines many topics then asks the
/// system only once about each process, not once for each of its publishers and subscribers.
///
/// Use a new cache each time you examine the topics: in an old cache, a process that has died since
/// still counts as alive.
#[derive(Debug, Default)]
pub struct LivenessCache {
    /// The live processes, by the random id of their registry and by their owner word.
    alive: HashMap<([u8; 16], u64), Participant>,
}

impl LivenessCache {
    /// Returns the process for which the owner word `owner` stands in `topic`; `None` if it is
    /// dead.
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
