//! The event service of iceoryx2. It carries no message, so that lies beside it, in our own memory.

use std::sync::Arc;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::{LogLevel, NodeBuilder, ServiceName, ipc_threadsafe, set_log_level};

use super::kernel::{fetch, post};
use super::{Sleeper, Waker, stalled};
use crate::floor::SharedLines;
use crate::packet::Packet16;
use crate::wait::STALL_LIMIT;

type Service = ipc_threadsafe::Service;

/// Both ends of an event.
pub(super) struct Event {
    notifier: Notifier<Service>,
    listener: Option<Listener<Service>>,
    lines: Arc<SharedLines>,
}

impl Event {
    /// The end that notifies.
    pub(super) fn notifier(lines: &Arc<SharedLines>) -> Result<Self, String> {
        Self::open(lines, false)
    }

    /// The end that listens.
    pub(super) fn listener(lines: &Arc<SharedLines>) -> Result<Self, String> {
        Self::open(lines, true)
    }

    fn open(lines: &Arc<SharedLines>, listens: bool) -> Result<Self, String> {
        // WHY: one for each run. The child knows its parent, and the parent itself.
        let run = if listens { std::os::unix::process::parent_id() } else { std::process::id() };
        set_log_level(LogLevel::Error);
        let open = || -> Result<Self, Box<dyn std::error::Error>> {
            let node = NodeBuilder::new().create::<Service>()?;
            let name = ServiceName::new(&format!("horus_wakeup_{run}"))?;
            let event = node.service_builder(&name).event().open_or_create()?;
            let notifier = event.notifier_builder().create()?;
            let listener = listens.then(|| event.listener_builder().create()).transpose()?;
            Ok(Self { notifier, listener, lines: Arc::clone(lines) })
        };
        open().map_err(|error| error.to_string())
    }
}

impl Waker for Event {
    fn send(&mut self, message: Packet16) -> Result<(), String> {
        post(&self.lines, message);
        self.notifier.notify().map(drop).map_err(|error| error.to_string())
    }
}

impl Sleeper for Event {
    fn sleep(&mut self) -> Result<Packet16, String> {
        let listener = self.listener.as_ref().ok_or("this end does not listen")?;
        let events = listener.timed_wait(|_| {}, STALL_LIMIT);
        if events.map_err(|error| error.to_string())? == 0 {
            return Err(stalled());
        }
        Ok(fetch(&self.lines))
    }
}
