//! Uses the event service of iceoryx2 to wake a process. An event carries no message, so the
//! message is passed in our own shared memory.

use std::sync::Arc;

use iceoryx2::prelude::{ServiceName, ipc_threadsafe};
use iceoryx2::service::port_factory::event::PortFactory;

use super::kernel::{fetch_message, post_message};
use super::{AnyError, Lines, Sleeper, WakeSender, make_sleeper};
use crate::measure::wait::{STALL_LIMIT, WaitError};
use crate::transport::iceoryx;
use crate::transport::rendezvous::Rendezvous;

type Service = ipc_threadsafe::Service;

fn open_event_service(rendezvous: &Rendezvous<'_>) -> Result<PortFactory<Service>, AnyError> {
    let node = iceoryx::create_node_in::<Service>(rendezvous.namespace)?;
    let builder = node.service_builder(&ServiceName::new(&rendezvous.shared_direction().name)?);
    Ok(builder.event().open_or_create()?)
}

pub(super) fn open_waker(
    rendezvous: &Rendezvous<'_>,
    lines: &Lines,
) -> Result<WakeSender, AnyError> {
    let notifier = open_event_service(rendezvous)?
        .notifier_builder()
        .create()?;
    let lines = Arc::clone(lines);
    Ok(Box::new(move |message| {
        post_message(&lines, message);
        notifier.notify()?;
        Ok(())
    }))
}

pub(super) fn open_sleeper(
    rendezvous: &Rendezvous<'_>,
    lines: &Lines,
) -> Result<Sleeper, AnyError> {
    let listener = open_event_service(rendezvous)?
        .listener_builder()
        .create()?;
    let lines = Arc::clone(lines);
    Ok(make_sleeper(move || {
        if listener.timed_wait(|_| {}, STALL_LIMIT)? == 0 {
            return Err(WaitError::Stalled.into());
        }
        Ok(fetch_message(&lines))
    }))
}
