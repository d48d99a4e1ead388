//! Runs the timed loops over an endpoint of any type, for messages of any type.

use serde::{Deserialize, Serialize};

use crate::measure::endpoint::Endpoint;
use crate::measure::loopback;
use crate::measure::micro::{MicroPlan, MicroResult};
use crate::measure::payload::Payload;
use crate::measure::stream::{self, SenderResult, StreamPlan, StreamResult};
use crate::measure::tsc::TickSource;
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::{Echo, Round, RoundPlan, WorkloadError, run_far_end, run_near_end};
use crate::transport::duplex;

/// The counter that times the loops of a driver, and a watch that ends the waits in these loops if
/// the other side has died.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct LoopTimer {
    pub source: TickSource,
    pub watch: OtherEndWatch,
}

/// A task for one side of a connection. The other side runs the matching task.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Task {
    /// Runs the measuring end of a round of ping-pong with [`run_near_end`].
    Ping(RoundPlan),
    /// Runs the echoing end of a round of ping-pong with [`run_far_end`].
    Echo(RoundPlan),
    /// Sends a stream of messages with [`stream::stream_send`].
    Send(StreamPlan),
    /// Receives a stream of messages with [`stream::stream_receive`]. Compares the number of lost
    /// messages with the number that the endpoint has counted.
    Receive(StreamPlan),
    /// Exchanges messages over a ring on which both sides send. This side sends the first message.
    /// Compares the number of lost messages with the number that the endpoint has counted.
    ExchangeFirst(StreamPlan),
    /// Exchanges messages over a ring on which both sides send. This side sends the second message.
    /// Compares the number of lost messages with the number that the endpoint has counted.
    ExchangeSecond(StreamPlan),
    /// Sends messages and receives them in one thread with [`loopback::send_and_receive`]. The
    /// number is the sequence number of the first message.
    Loop(MicroPlan, u64),
    /// Sends a stream and receives it in one thread with [`loopback::stream_in_bursts`].
    LoopStream(StreamPlan),
}

/// The measurements of a side that has run a [`Task`].
#[derive(Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the types say it")]
pub enum TaskResult {
    Round(Round),
    Echo(Echo),
    SenderResult(SenderResult),
    StreamResult(StreamResult),
    MicroResult(MicroResult),
}

/// The result of a task, or the reason why the task failed.
pub type DriverResult = Result<TaskResult, WorkloadError>;

/// A function that runs the tasks of one side over its endpoint. For a task that the endpoint does
/// not support, it returns [`WorkloadError::Unsuited`].
pub type Driver = Box<dyn FnMut(&Task, &LoopTimer) -> DriverResult>;

/// A driver, as [`Driver`] is, that can be sent to another thread.
pub type SendDriver = Box<dyn FnMut(&Task, &LoopTimer) -> DriverResult + Send>;

// WHY several functions: each loop is compiled for every carrier and message size, and most
// combinations would never run.

/// Returns a driver for `end`, which is one side of a connection.
pub fn one_side_driver<P: Payload + 'static>(end: impl Endpoint<P> + 'static) -> Driver {
    Box::new(single_side_driver::<P>(end))
}

/// Returns a driver for `end`, which is one side of a connection and may be in another thread.
pub fn sendable_driver<P: Payload + 'static>(end: impl Endpoint<P> + Send + 'static) -> SendDriver {
    Box::new(single_side_driver::<P>(end))
}

fn single_side_driver<P: Payload>(
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
            _ => ping_pong::<P>(end, task, timer),
        }
    }
}

/// Returns a driver for one side of a connection that uses a single ring or topic in both
/// directions. Each side publishes with `out` and subscribes with `back`, so it also receives its
/// own messages. `first` must be true for one side and false for the other. It marks the messages
/// of a side, and the side for which it is true sends first.
pub fn duplex_side_driver<P: Payload + 'static>(
    (out, back): (impl Endpoint<P> + 'static, impl Endpoint<P> + 'static),
    first: bool,
) -> Driver {
    let mut end = duplex::duplex_ends::<P, _, _>(out, back, first);
    Box::new(move |task, timer| {
        let (Task::ExchangeFirst(plan) | Task::ExchangeSecond(plan)) = task else {
            return ping_pong::<P>(&mut end, task, timer);
        };
        receive_and_compare_losses::<P, _>(&mut end, |end| {
            duplex::exchange::<P>(end, plan, first, timer.source, &timer.watch)
        })
    })
}

/// Returns a driver for a ring whose two ends are both in one thread.
pub fn both_ends_driver<P: Payload + 'static>(mut ends: impl Endpoint<P> + 'static) -> Driver {
    Box::new(move |task, timer| match task {
        Task::Loop(plan, first_seq) => loopback::send_and_receive::<P>(&mut ends, plan, *first_seq)
            .map(TaskResult::MicroResult),
        Task::LoopStream(plan) => loopback::stream_in_bursts::<P>(&mut ends, plan, timer.source)
            .map(TaskResult::StreamResult),
        _ => Err(WorkloadError::Unsuited),
    })
}

fn ping_pong<P: Payload>(
    end: &mut impl Endpoint<P>,
    task: &Task,
    LoopTimer { source, watch }: &LoopTimer,
) -> DriverResult {
    match task {
        Task::Ping(plan) => run_near_end::<P>(end, plan, *source, watch).map(TaskResult::Round),
        Task::Echo(plan) => run_far_end::<P>(end, plan, *source, watch).map(TaskResult::Echo),
        _ => Err(WorkloadError::Unsuited),
    }
}

/// Runs `receive`. If the endpoint counts its losses, compares the losses that `receive` found with
/// that count.
fn receive_and_compare_losses<P, E: Endpoint<P>>(
    end: &mut E,
    receive: impl FnOnce(&mut E) -> Result<StreamResult, WorkloadError>,
) -> DriverResult {
    let before = end.lost();
    let streamed = receive(end)?;
    let counted = end.lost() - before;
    if streamed.lost == counted || !E::COUNTS_LOSSES {
        return Ok(TaskResult::StreamResult(streamed));
    }
    Err(WorkloadError::Miscounted {
        lost: streamed.lost,
        counted,
    })
}
