//! The settings of a group of actors.

use std::time::Duration;

use crate::actor::idle::Idle;
use crate::actor::mailbox::MailboxKind;

/// A function that prepares the calling thread for the code of actors, and then calls its argument
/// once. For example, it attaches the thread to an interpreter.
pub type HandlerWrapper = fn(&mut dyn FnMut());

/// The settings that apply to all actors and threads of a group.
#[derive(Debug, Clone)]
pub(crate) struct GroupSettings {
    /// The kind of mailbox that actors of the group get, unless they are spawned with a different
    /// one.
    pub(crate) mailbox: MailboxKind,
    /// The CPUs to which the group's threads are pinned; empty if they are not pinned.
    pub(crate) cores: Vec<usize>,
    /// The SCHED_FIFO priority of the group's threads; `None` for no real-time priority.
    pub(crate) priority: Option<u8>,
    pub(crate) idle: Idle,
    /// A function inside which the group's threads run handlers, for example to attach the thread
    /// to an interpreter; `None` if they run handlers directly.
    pub(crate) wrap_handlers: Option<HandlerWrapper>,
    /// The maximum duration of a handler. If a handler takes longer, the actor is reported as
    /// stuck.
    pub(crate) watchdog: Duration,
}

/// The default time after which a handler that has not returned is reported as stuck.
const DEFAULT_WATCHDOG: Duration = Duration::from_secs(1);

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            mailbox: MailboxKind::default(),
            cores: Vec::new(),
            priority: None,
            idle: Idle::default(),
            wrap_handlers: None,
            watchdog: DEFAULT_WATCHDOG,
        }
    }
}
