//! The event service of iceoryx2. An event carries no message, so the message is in our own shared
//! memory.

use std::sync::Arc;

use iceoryx2::prelude::{ServiceName, ipc_threadsafe};
use iceoryx2::service::port_factory::event::PortFactory;

use super::kernel::{fetch, post};
use super::{AnyError, Lines, Sleeper, Waker, sleeper};
use crate::measure::wait::{STALL_LIMIT, WaitError};
use crate::transport::iceoryx;
use crate::transport::rendezvous::Rendezvous;

type Service = ipc_threadsafe::Service;

fn event(place: &Rendezvous<'_>) -> Result<PortFactory<Service>, AnyError> {
    let node = iceoryx::node_in::<Service>(place.namespace).map_err(|e| e.to_string())?;
    let builder = node.service_builder(&ServiceName::new(&place.shared().name)?);
    Ok(builder.event().open_or_create()?)
}

pub(super) fn waker(place: &Rendezvous<'_>, lines: &Lines) -> Result<Waker, AnyError> {
    let notifier = event(place)?.notifier_builder().create()?;
    let lines = Arc::clone(lines);
    Ok(Box::new(move |message| {
        post(&lines, message);
        notifier.notify()?;
        Ok(())
    }))
}

pub(super) fn sleeper_on(place: &Rendezvous<'_>, lines: &Lines) -> Result<Sleeper, AnyError> {
    let listener = event(place)?.listener_builder().create()?;
    let lines = Arc::clone(lines);
    Ok(sleeper(move || {
        if listener.timed_wait(|_| {}, STALL_LIMIT)? == 0 {
            return Err(WaitError::Stalled.into());
        }
        Ok(fetch(&lines))
    }))
}
