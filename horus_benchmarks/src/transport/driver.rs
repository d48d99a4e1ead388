//! The timed loops over an endpoint, whatever its type and the type of its messages are.

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

/// The counter of the loops, and what ends their waits if the other side is gone.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Timer {
    pub source: TickSource,
    pub watch: Watch,
}

/// The work of one of two sides.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Task {
    /// [`near_end`] of a round.
    Ping(RoundPlan),
    /// [`far_end`] of a round.
    Echo(RoundPlan),
    /// [`stream::stream_send`].
    Send(StreamPlan),
    /// [`stream::stream_receive`]; the losses are compared with what the endpoint counted.
    Receive(StreamPlan),
    /// The exchange of the side that sends first, and shares a ring; losses are compared as above.
    ExchangeFirst(StreamPlan),
    /// The same of the other side.
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

/// Runs the timed loops over an endpoint. A loop that does not suit it is an error.
///
/// WHY several implementations: each loop is compiled for every carrier and size, and most would
/// never run.
pub trait Driver {
    /// Does the work of one of two sides.
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

/// The kind of a message, without a message.
type Kind<P> = PhantomData<fn(P)>;

/// Drives one of two sides.
struct Across<P, E>(E, Kind<P>);

/// Drives one of two sides that share a ring.
struct Duplex<P, E>(E, Kind<P>);

/// Drives both ends of one ring.
struct Looped<P, E>(E, Kind<P>);

/// Returns a driver of one of two sides.
pub fn across<P: Payload + 'static>(end: impl Endpoint<P> + 'static) -> Box<dyn Driver> {
    Box::new(Across::<P, _>(end, PhantomData))
}

/// As [`across`], for a side that is handed to another thread.
pub fn across_threads<P: Payload + 'static>(
    end: impl Endpoint<P> + Send + 'static,
) -> Box<dyn Driver + Send> {
    Box::new(Across::<P, _>(end, PhantomData))
}

/// Returns a driver of one of two sides that both publish and subscribe on one ring. The side that
/// came `first` is told apart from the other one.
pub fn sharing<P: Payload + 'static>(
    (out, back): (impl Endpoint<P> + 'static, impl Endpoint<P> + 'static),
    first: bool,
) -> Box<dyn Driver> {
    Box::new(Duplex::<P, _>(duplex::side(out, back, first), PhantomData))
}

/// Returns a driver of a thread that has both ends of a ring.
pub fn looped<P: Payload + 'static>(ends: impl Endpoint<P> + 'static) -> Box<dyn Driver> {
    Box::new(Looped::<P, _>(ends, PhantomData))
}

impl<P: Payload, E: Endpoint<P>> Driver for Across<P, E> {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let (end, Timer { source, watch }) = (&mut self.0, timer);
        match task {
            Task::Send(plan) => stream::stream_send::<P>(end, plan, *source, watch).map(Done::Sent),
            Task::Receive(plan) => audited::<P, _>(end, |end| {
                stream::stream_receive::<P>(end, plan, *source, watch)
            }),
            _ => ping_pong::<P>(end, task, timer),
        }
    }
}

impl<P: Payload, E: Endpoint<P>> Driver for Duplex<P, E> {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let (plan, first) = match task {
            Task::ExchangeFirst(plan) => (plan, true),
            Task::ExchangeSecond(plan) => (plan, false),
            _ => return ping_pong::<P>(&mut self.0, task, timer),
        };
        audited::<P, _>(&mut self.0, |end| {
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

impl<P: Payload, E: Endpoint<P>> Driver for Looped<P, E> {
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

/// Receives, and compares the losses with what the endpoint counted, if it counts them.
fn audited<P, E: Endpoint<P>>(
    end: &mut E,
    receive: impl FnOnce(&mut E) -> Result<Streamed, WorkloadError>,
) -> Result<Done, WorkloadError> {
    let before = end.lost();
    let streamed = receive(end)?;
    let counted = end.lost() - before;
    if streamed.lost == counted || !E::COUNTS {
        return Ok(Done::Streamed(streamed));
    }
    Err(WorkloadError::Miscounted {
        lost: streamed.lost,
        counted,
    })
}
