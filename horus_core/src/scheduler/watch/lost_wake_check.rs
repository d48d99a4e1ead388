//! Checks the topics of a node whose thread sleeps until messages arrive. WHY: the notification
//! that wakes the thread may be lost, and the file of a topic may have been replaced.

use std::sync::Arc;

use horus_shm::Watch;

use crate::scheduler::run::commands::Commands;
use crate::topic::WaitSet;

/// Checks the topics of a sleeping node, and wakes the node's thread if one of them has messages.
pub(crate) struct LostWakeCheck {
    watches: Vec<Watch>,
    commands: Arc<Commands>,
}

impl LostWakeCheck {
    /// Creates the check for the topics in `wake`. `commands` are the commands of the node that has
    /// these topics, and are used to wake its thread. Returns `None` if there are no topics.
    pub(crate) fn new(wake: &WaitSet, commands: &Arc<Commands>) -> Option<Self> {
        let watches = wake.watches().to_vec();
        (!watches.is_empty()).then(|| Self {
            watches,
            commands: Arc::clone(commands),
        })
    }

    /// Wakes the thread of the node if it sleeps although a topic has messages. Takes some
    /// nanoseconds for each topic.
    pub(crate) fn wake_for_messages(&mut self) {
        self.watches.iter_mut().for_each(Watch::follow_consumer);
        if self.watches.iter().any(Watch::is_due) {
            self.commands.wake();
        }
    }
}
