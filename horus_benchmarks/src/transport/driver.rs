//! The timed loops over an endpoint, whatever its type and the type of its messages are.

use std::marker::PhantomData;

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
pub struct Timer {
    /// The counter.
    pub source: TickSource,
    /// Ends the waits.
    pub watch: Watch,
}

/// Runs the timed loops over an endpoint. A loop that does not suit it is an error.
///
/// WHY several implementations: each loop is compiled for every carrier and size, and most would
/// never run.
pub trait Driver {
    /// Runs [`near_end`] of a round.
    fn ping(&mut self, _plan: &RoundPlan, _timer: &Timer) -> Result<Round, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    /// Runs [`far_end`] of a round.
    fn echo(&mut self, _plan: &RoundPlan, _timer: &Timer) -> Result<Echo, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    /// Runs [`stream::stream_send`].
    fn send_stream(&mut self, _plan: &StreamPlan, _timer: &Timer) -> Result<Sent, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    /// Runs [`stream::stream_receive`]; compares the losses with what the endpoint counted.
    fn receive_stream(
        &mut self,
        _plan: &StreamPlan,
        _timer: &Timer,
    ) -> Result<Streamed, WorkloadError> {
        Err(WorkloadError::Unsuited)
    }

    /// Runs the exchange of two sides that share a ring; compares the losses as above.
    fn exchange(
        &mut self,
        _plan: &StreamPlan,
        _first: bool,
        _timer: &Timer,
    ) -> Result<Streamed, WorkloadError> {
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
    fn ping(&mut self, plan: &RoundPlan, timer: &Timer) -> Result<Round, WorkloadError> {
        near_end::<P>(&mut self.0, plan, timer.source, &timer.watch)
    }

    fn echo(&mut self, plan: &RoundPlan, timer: &Timer) -> Result<Echo, WorkloadError> {
        far_end::<P>(&mut self.0, plan, timer.source, &timer.watch)
    }

    fn send_stream(&mut self, plan: &StreamPlan, timer: &Timer) -> Result<Sent, WorkloadError> {
        stream::stream_send::<P>(&mut self.0, plan, timer.source, &timer.watch)
    }

    fn receive_stream(
        &mut self,
        plan: &StreamPlan,
        timer: &Timer,
    ) -> Result<Streamed, WorkloadError> {
        audited::<P, _>(&mut self.0, |end| {
            stream::stream_receive::<P>(end, plan, timer.source, &timer.watch)
        })
    }
}

impl<P: Payload, E: Endpoint<P>> Driver for Duplex<P, E> {
    fn ping(&mut self, plan: &RoundPlan, timer: &Timer) -> Result<Round, WorkloadError> {
        near_end::<P>(&mut self.0, plan, timer.source, &timer.watch)
    }

    fn echo(&mut self, plan: &RoundPlan, timer: &Timer) -> Result<Echo, WorkloadError> {
        far_end::<P>(&mut self.0, plan, timer.source, &timer.watch)
    }

    fn exchange(
        &mut self,
        plan: &StreamPlan,
        first: bool,
        timer: &Timer,
    ) -> Result<Streamed, WorkloadError> {
        audited::<P, _>(&mut self.0, |end| {
            duplex::exchange::<P>(end, plan, first, timer.source, &timer.watch)
        })
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
) -> Result<Streamed, WorkloadError> {
    let before = end.lost();
    let streamed = receive(end)?;
    let counted = end.lost() - before;
    if streamed.lost == counted || !E::COUNTS {
        return Ok(streamed);
    }
    Err(WorkloadError::Miscounted { lost: streamed.lost, counted })
}
