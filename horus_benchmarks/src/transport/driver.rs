//! Runs the timed loops over an endpoint of any type, for messages of any type.

use serde::{Deserialize, Serialize};

use crate::measure::endpoint::Endpoint;
use crate::measure::loopback;
use crate::measure::micro::{BatchPlan, BatchResult};
use crate::measure::payload::Payload;
use crate::measure::stats::Samples;
use crate::measure::stream::{self, SenderResult, StreamPlan, StreamResult};
use crate::measure::tsc::TickSource;
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::{
    RoundPlan, RoundResult, WorkloadError, refused_call_error, run_echoing_end, run_measuring_end,
};
use crate::transport::duplex::{self, DuplexEnd};
use crate::transport::rendezvous::OpenResult;

/// The counter that times the loops of a driver, and a watch that ends their waits if the other
/// side has died.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct LoopTimer {
    pub source: TickSource,
    pub watch: OtherEndWatch,
}

/// A task for one side of a connection. The other side runs the matching task.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Task {
    /// Runs [`run_measuring_end`].
    Ping(RoundPlan),
    /// Runs [`run_echoing_end`].
    Echo(RoundPlan),
    /// Runs [`stream::stream_send`] or, on a ring on which both sides send, the same as
    /// [`Task::Receive`].
    Send(StreamPlan),
    /// Runs [`stream::stream_receive`] or, on a ring on which both sides send, an exchange.
    /// Compares the losses with those that the endpoint counted.
    Receive(StreamPlan),
    /// Sends and receives single messages in one thread, from this sequence number on. Runs
    /// [`loopback::send_and_receive`].
    Loop(BatchPlan, u64),
    /// Sends and receives a stream in one thread. Runs [`loopback::stream_in_bursts`].
    LoopStream(StreamPlan),
}

/// The measurements of a side that has run a [`Task`].
#[derive(Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the types say it")]
pub enum TaskResult {
    RoundResult(RoundResult),
    SenderResult(SenderResult),
    StreamResult(StreamResult),
    BatchResult(BatchResult),
}

/// The result of a task, or the reason why the task failed.
pub type DriverResult = Result<TaskResult, WorkloadError>;

/// A function that runs the tasks of one side over its endpoint. It returns
/// [`WorkloadError::Unsuited`] for a task that the endpoint does not support.
pub type Driver = Box<dyn FnMut(&Task, &LoopTimer) -> DriverResult>;

/// A driver that can be sent to another thread.
pub type SendableDriver = Box<dyn FnMut(&Task, &LoopTimer) -> DriverResult + Send>;

// WHY several functions: each loop is compiled for every carrier and message size, and most
// combinations would never run.

/// Returns a driver for `end`, which is one side of a connection.
pub fn one_side_driver<P: Payload>(end: impl Endpoint<P> + 'static) -> Driver {
    Box::new(one_side_task_runner::<P>(end))
}

/// Returns a driver for `end`, which may be in another thread.
pub fn sendable_driver<P: Payload>(end: impl Endpoint<P> + Send + 'static) -> SendableDriver {
    Box::new(one_side_task_runner::<P>(end))
}

/// Returns a driver for a side with a loop of its own: it calls `pass_message` with the number of
/// each message of a round, and records the ticks that were timed, if any.
pub(super) fn message_driver(
    mut pass_message: impl FnMut(u64, &LoopTimer) -> Result<Option<u64>, WorkloadError> + 'static,
) -> Driver {
    Box::new(move |task, timer| {
        let (Task::Ping(plan) | Task::Echo(plan)) = task else {
            return Err(WorkloadError::Unsuited);
        };
        let mut samples = Samples::new();
        for seq in plan.first_seq..plan.next_seq() {
            let ticks = pass_message(seq, timer)?;
            if let Some(ticks) = ticks.filter(|_| plan.is_timed(seq)) {
                samples.record(ticks);
            }
        }
        Ok(TaskResult::RoundResult(RoundResult::of_complete_round(
            plan, samples,
        )))
    })
}

/// Returns a driver that calls `open` when the first task arrives. WHY: the near side is opened
/// first, and some of its objects can be opened only when the far side is open, too.
pub(super) fn lazily_opened_driver(open: impl FnOnce() -> OpenResult + 'static) -> Driver {
    let mut open = Some(open);
    let mut driver: Option<Driver> = None;
    Box::new(move |task, timer| {
        if let Some(open) = open.take() {
            driver = Some(open().map_err(refused_call_error)?);
        }
        driver.as_mut().ok_or(WorkloadError::Unsuited)?(task, timer)
    })
}

fn one_side_task_runner<P: Payload>(
    mut end: impl Endpoint<P>,
) -> impl FnMut(&Task, &LoopTimer) -> DriverResult {
    move |task, timer| {
        let (end, LoopTimer { source, watch }) = (&mut end, timer);
        match task {
            Task::Send(plan) => {
                stream::stream_send::<P>(end, plan, *source, watch).map(TaskResult::SenderResult)
            }
            Task::Receive(plan) => receive_and_compare_losses::<P, _>(end, |end| {
                stream::stream_receive::<P>(end, plan, *source, watch)
            }),
            _ => run_ping_pong_task::<P>(end, task, timer),
        }
    }
}

/// Returns a driver for one side of a single ring or topic that serves both directions, so that
/// each side also receives its own messages. `sends_first` is true for the side that sends
/// first.
pub fn duplex_side_driver<P: Payload>(
    ends: (impl Endpoint<P> + 'static, impl Endpoint<P> + 'static),
    sends_first: bool,
) -> Driver {
    let mut end = DuplexEnd::new(ends, sends_first);
    Box::new(move |task, timer| match task {
        Task::Send(plan) | Task::Receive(plan) => {
            receive_and_compare_losses::<P, _>(&mut end, |end| {
                duplex::exchange_streams(end, plan, timer.source, &timer.watch)
            })
        }
        _ => run_ping_pong_task::<P>(&mut end, task, timer),
    })
}

/// Returns a driver for a ring whose two ends are both in one thread.
pub fn both_ends_driver<P: Payload>(mut ends: impl Endpoint<P> + 'static) -> Driver {
    Box::new(move |task, timer| match task {
        Task::Loop(plan, first_seq) => loopback::send_and_receive::<P>(&mut ends, plan, *first_seq)
            .map(TaskResult::BatchResult),
        Task::LoopStream(plan) => loopback::stream_in_bursts::<P>(&mut ends, plan, timer.source)
            .map(TaskResult::StreamResult),
        _ => Err(WorkloadError::Unsuited),
    })
}

fn run_ping_pong_task<P: Payload>(
    end: &mut impl Endpoint<P>,
    task: &Task,
    LoopTimer { source, watch }: &LoopTimer,
) -> DriverResult {
    match task {
        Task::Ping(plan) => {
            run_measuring_end::<P>(end, plan, *source, watch).map(TaskResult::RoundResult)
        }
        Task::Echo(plan) => {
            run_echoing_end::<P>(end, plan, *source, watch).map(TaskResult::RoundResult)
        }
        _ => Err(WorkloadError::Unsuited),
    }
}

/// Runs `receive`. If the endpoint counts its losses, compares the losses that `receive` found with
/// that count.
fn receive_and_compare_losses<P, E: Endpoint<P>>(
    end: &mut E,
    receive: impl FnOnce(&mut E) -> Result<StreamResult, WorkloadError>,
) -> DriverResult {
    let before = end.lost_messages();
    let streamed = receive(end)?;
    let counted = end.lost_messages() - before;
    if streamed.lost == counted || E::MAY_DROP_MESSAGES {
        return Ok(TaskResult::StreamResult(streamed));
    }
    Err(WorkloadError::Miscounted {
        lost: streamed.lost,
        counted,
    })
}
