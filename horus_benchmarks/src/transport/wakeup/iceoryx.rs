//! Uses the event service of iceoryx2 to wake a process. An event carries no message, so the
//! message is passed in our own shared memory.

use std::sync::Arc;

use iceoryx2::prelude::{ServiceName, ipc};

use super::kernel::{fetch_message, post_message};
use super::{SharedLines, WakeupEnd};
use crate::Outcome;
use crate::measure::wait::{WAIT_TIMEOUT, WaitError};
use crate::transport::iceoryx;
use crate::transport::rendezvous::Rendezvous;

pub(super) fn open_event(rendezvous: &Rendezvous<'_>, lines: &SharedLines) -> Outcome<WakeupEnd> {
    let node = iceoryx::create_node_in::<ipc::Service>(rendezvous.namespace)?;
    let builder = node.service_builder(&ServiceName::new(&rendezvous.shared_direction().name)?);
    let service = builder.event().open_or_create()?;
    let lines = Arc::clone(lines);
    if rendezvous.is_near_end() {
        let notifier = service.notifier_builder().create()?;
        return Ok(WakeupEnd::waker(move |message| {
            post_message(&lines, message);
            notifier.notify()?;
            Ok(())
        }));
    }
    let listener = service.listener_builder().create()?;
    Ok(WakeupEnd::sleeper(move || {
        if listener.timed_wait(|_| {}, WAIT_TIMEOUT)? == 0 {
            return Err(WaitError::Stalled.into());
        }
        Ok(fetch_message(&lines))
    }))
}
