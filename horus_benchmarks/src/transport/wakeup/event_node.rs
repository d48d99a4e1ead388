//! A receiver that is a node of a scheduler in the far process. A topic wakes the node.

use std::sync::mpsc::{self, Sender};

use horus_core::scheduler::{Context, Node, NodeResult, Scheduler};
use horus_core::topic::Subscriber;
use horus_shm::internals::thread as thread_id;

use super::{WakeupEnd, topics};
use crate::Outcome;
use crate::measure::tsc::{TickSource, Ticks};
use crate::measure::wait::WAIT_TIMEOUT;
use crate::transport::carrier::WakeupMechanism;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::Rendezvous;

/// A node that passes on each message, and the time at which the node's tick began.
struct ForwardingNode {
    source: TickSource,
    subscriber: Subscriber<Packet16>,
    messages: Sender<(Packet16, Ticks)>,
    thread: Sender<u32>,
}

impl Node for ForwardingNode {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.thread.send(thread_id::id())?;
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        let end = self.source.read_at_end();
        if let Some(message) = self.subscriber.recv() {
            self.messages.send((message, end))?;
        }
        Ok(())
    }
}

/// Starts a scheduler with a node that waits for messages.
pub(super) fn start_event_node(rendezvous: &Rendezvous<'_>) -> Outcome<WakeupEnd> {
    let subscriber = topics::mechanism_subscriber(rendezvous, WakeupMechanism::EventNode)?;
    let ((messages, woken), (thread, threads)) = (mpsc::channel(), mpsc::channel());
    let mut scheduler = Scheduler::new();
    scheduler.namespace(rendezvous.namespace);
    scheduler
        .node("woken")
        .on(&subscriber)
        .build(ForwardingNode {
            source: TickSource::detect(),
            subscriber,
            messages,
            thread,
        })?;
    let running = scheduler.start()?;
    let thread = threads.recv_timeout(WAIT_TIMEOUT)?;
    let sleep = move |_| {
        let _kept = &running;
        Ok(woken.recv_timeout(WAIT_TIMEOUT)?)
    };
    Ok(WakeupEnd::Sleeper(Box::new(sleep), thread))
}
