//! Runs the timed loops over an endpoint, whatever its type and the type of its messages.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::measure::endpoint::Endpoint;
use crate::measure::loopback;
use crate::measure::micro::{Micro, MicroPlan};
use crate::measure::payload::Payload;
use crate::measure::stream::{self, Sent, StreamPlan, Streamed};
use crate::measure::tsc::TickSource;
use crate::measure::wait::Watch;
use crate::measure::workload::{Echo, Round, RoundPlan, WorkloadError, far_end, near_end};
use crate::transport::duplex;

/// The counter that times the loops, and the watch that ends their waits if the other side is gone.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Timer {
    pub source: TickSource,
    pub watch: Watch,
}

/// The work of one side.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Task {
    /// Runs [`near_end`] of a round.
    Ping(RoundPlan),
    /// Runs [`far_end`] of a round.
    Echo(RoundPlan),
    /// Runs [`stream::stream_send`].
    Send(StreamPlan),
    /// Runs [`stream::stream_receive`]; the losses are compared with the endpoint's own count.
    Receive(StreamPlan),
    /// Runs an exchange over a shared ring, in which both sides send, as the side that sends first.
    /// The losses are compared with the endpoint's own count.
    ExchangeFirst(StreamPlan),
    /// Runs an exchange over a shared ring as the side that sends second.
    ExchangeSecond(StreamPlan),
}

/// The result of a [`Task`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the types say it")]
pub enum Done {
    Round(Round),
    Echo(Echo),
    Sent(Sent),
    Streamed(Streamed),
}

/// Runs the timed loops over an endpoint. A loop that the endpoint does not support returns an
/// error.
///
/// WHY several implementations: each loop is compiled for every carrier and message size, and most
/// combinations would never run.
pub trait Driver {
    /// Does the work of one side.
    fn run(&mut self, _task: &Task, _timer: &Timer) -> Result<Done, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    /// Runs [`loopback::send_and_receive`].
    fn loop_round(&mut self, _plan: &MicroPlan, _first_seq: u64) -> Result<Micro, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    /// Runs [`loopback::stream`].
    fn loop_stream(
        &mut self,
        _plan: &StreamPlan,
        _source: TickSource,
    ) -> Result<Streamed, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }
}

/// A marker for the type `P` of the messages in a struct that stores no message.
type MessageType<P> = PhantomData<fn(P)>;

/// Drives one side of a connection.
struct OneSide<P, E>(E, MessageType<P>);

/// Drives one side of a connection whose sides share a ring.
struct DuplexSide<P, E>(E, MessageType<P>);

/// Drives both ends of one ring in one thread.
struct BothEnds<P, E>(E, MessageType<P>);

/// Returns a driver of one side of a connection.
pub fn one_side<P: Payload + 'static>(end: impl Endpoint<P> + 'static) -> Box<dyn Driver> {
    Box::new(OneSide::<P, _>(end, PhantomData))
}

/// Like [`one_side`], for a side that is sent to another thread.
pub fn one_side_send<P: Payload + 'static>(
    end: impl Endpoint<P> + Send + 'static,
) -> Box<dyn Driver + Send> {
    Box::new(OneSide::<P, _>(end, PhantomData))
}

/// Returns a driver of one side of a ring on which both sides publish and subscribe. `first`
/// differs between the two sides, so that their messages can be told apart.
pub fn duplex_side<P: Payload + 'static>(
    (out, back): (impl Endpoint<P> + 'static, impl Endpoint<P> + 'static),
    first: bool,
) -> Box<dyn Driver> {
    Box::new(DuplexSide::<P, _>(
        duplex::side(out, back, first),
        PhantomData,
    ))
}

/// Returns a driver of both ends of a ring in one thread.
pub fn both_ends<P: Payload + 'static>(ends: impl Endpoint<P> + 'static) -> Box<dyn Driver> {
    Box::new(BothEnds::<P, _>(ends, PhantomData))
}

impl<P: Payload, E: Endpoint<P>> Driver for OneSide<P, E> {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let (end, Timer { source, watch }) = (&mut self.0, timer);
        match task {
            Task::Send(plan) => stream::stream_send::<P>(end, plan, *source, watch).map(Done::Sent),
            Task::Receive(plan) => receive_audited::<P, _>(end, |end| {
                stream::stream_receive::<P>(end, plan, *source, watch)
            }),
            _ => ping_pong::<P>(end, task, timer),
        }
    }
}

impl<P: Payload, E: Endpoint<P>> Driver for DuplexSide<P, E> {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let (plan, first) = match task {
            Task::ExchangeFirst(plan) => (plan, true),
            Task::ExchangeSecond(plan) => (plan, false),
            _ => return ping_pong::<P>(&mut self.0, task, timer),
        };
        receive_audited::<P, _>(&mut self.0, |end| {
            duplex::exchange::<P>(end, plan, first, timer.source, &timer.watch)
        })
    }
}

fn ping_pong<P: Payload>(
    end: &mut impl Endpoint<P>,
    task: &Task,
    Timer { source, watch }: &Timer,
) -> Result<Done, WorkloadError> {
    match task {
        Task::Ping(plan) => near_end::<P>(end, plan, *source, watch).map(Done::Round),
        Task::Echo(plan) => far_end::<P>(end, plan, *source, watch).map(Done::Echo),
        _ => Err(WorkloadError::Unsuited),
    }
}

impl<P: Payload, E: Endpoint<P>> Driver for BothEnds<P, E> {
    fn loop_round(&mut self, plan: &MicroPlan, first_seq: u64) -> Result<Micro, WorkloadError> {
        loopback::send_and_receive::<P>(&mut self.0, plan, first_seq)
    }

    fn loop_stream(
        &mut self,
        plan: &StreamPlan,
        source: TickSource,
    ) -> Result<Streamed, WorkloadError> {
        loopback::stream::<P>(&mut self.0, plan, source)
    }
}

/// Runs `receive`, and compares the losses with the endpoint's own count, if it counts them.
fn receive_audited<P, E: Endpoint<P>>(
    end: &mut E,
    receive: impl FnOnce(&mut E) -> Result<Streamed, WorkloadError>,
) -> Result<Done, WorkloadError> {
    let before = end.lost();
    let streamed = receive(end)?;
    let counted = end.lost() - before;
    if streamed.lost == counted || !E::COUNTS_LOSSES {
        return Ok(Done::Streamed(streamed));
    }
    Err(WorkloadError::Miscounted {
        lost: streamed.lost,
        counted,
    })
}
