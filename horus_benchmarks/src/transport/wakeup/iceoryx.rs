//! The event service of iceoryx2. An event carries no message, so the message is in our own shared
//! memory.

use std::sync::Arc;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::{ServiceName, ipc_threadsafe};

use super::kernel::{fetch, post};
use super::{AnyError, Sleeper, Waker};
use crate::measure::lines::SharedLines;
use crate::measure::wait::{STALL_LIMIT, WaitError};
use crate::transport::iceoryx;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::ConnectionSide;

type Service = ipc_threadsafe::Service;

/// One end of an event.
pub(super) struct Event {
    notifier: Notifier<Service>,
    listener: Option<Listener<Service>>,
    lines: Arc<SharedLines>,
}

impl Event {
    /// Opens this side's end: the near side notifies, the far side listens.
    pub(super) fn open(
        place: &ConnectionSide<'_>,
        lines: &Arc<SharedLines>,
    ) -> Result<Self, AnyError> {
        let node = iceoryx::node_in::<Service>(place.namespace()).map_err(|e| e.to_string())?;
        let event = node
            .service_builder(&ServiceName::new(&place.there())?)
            .event()
            .open_or_create()?;
        let notifier = event.notifier_builder().create()?;
        let listens = !place.is_near();
        let listener = listens
            .then(|| event.listener_builder().create())
            .transpose()?;
        Ok(Self {
            notifier,
            listener,
            lines: Arc::clone(lines),
        })
    }
}

impl Waker for Event {
    fn send(&mut self, message: Packet16) -> Result<(), AnyError> {
        post(&self.lines, message);
        self.notifier.notify()?;
        Ok(())
    }
}

impl Sleeper for Event {
    fn sleep(&mut self) -> Result<Packet16, AnyError> {
        let listener = self.listener.as_ref().ok_or("this end does not listen")?;
        if listener.timed_wait(|_| {}, STALL_LIMIT)? == 0 {
            return Err(WaitError::Stalled.into());
        }
        Ok(fetch(&self.lines))
    }
}
