//! A cache of the processes that were found to be alive, which saves repeated checks.

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
    /// The processes found to be alive. The keys are the id of the process registry and the owner
    /// word, which identifies a process in it.
    alive: HashMap<([u8; 16], u64), Participant>,
}

impl LivenessCache {
    /// Returns the process that the owner word `owner` identifies in `topic`; `None` if that
    /// process is dead. Checks only processes that are not in the cache.
    pub(super) fn live_participant(
        &mut self,
        topic: &TopicMemory,
        owner: u64,
    ) -> Option<Participant> {
        // WHY not on the heap: there all participants are this process.
        let Some(file) = topic.file() else {
            return topic.live_participant(owner);
        };
        let key = (file.namespace.registry().id(), owner);
        if let Some(participant) = self.alive.get(&key) {
            return Some(participant.clone());
        }
        let participant = topic.live_participant(owner)?;
        self.alive.insert(key, participant.clone());
        Some(participant)
    }
}
