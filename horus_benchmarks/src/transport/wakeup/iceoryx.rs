//! The event service of iceoryx2. It carries no message, so that lies beside it, in our own memory.

use std::sync::Arc;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::{ServiceName, ipc_threadsafe};

use super::kernel::{fetch, post};
use super::{Sleeper, Waker, stalled};
use crate::measure::lines::SharedLines;
use crate::measure::wait::STALL_LIMIT;
use crate::transport::iceoryx;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::Place;

type Service = ipc_threadsafe::Service;

/// Both ends of an event.
pub(super) struct Event {
    notifier: Notifier<Service>,
    listener: Option<Listener<Service>>,
    lines: Arc<SharedLines>,
}

impl Event {
    /// Opens the end of a side: the near one notifies, the far one listens.
    pub(super) fn open(place: &Place<'_>, lines: &Arc<SharedLines>) -> Result<Self, String> {
        let open = || -> Result<Self, Box<dyn std::error::Error>> {
            let node = iceoryx::node_in::<Service>(place.namespace())?;
            let name = ServiceName::new(&place.there())?;
            let event = node.service_builder(&name).event().open_or_create()?;
            let notifier = event.notifier_builder().create()?;
            let listens = !place.is_near();
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
