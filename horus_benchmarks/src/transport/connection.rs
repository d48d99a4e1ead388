//! A connection between two sides of a benchmark: the near side in this thread, and the far side in
//! another thread or in a child process.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;

use horus_shm::Namespace;
use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::measure::micro::{BatchPlan, BatchResult};
use crate::measure::pin::CpuPair;
use crate::measure::stream::{SenderResult, StreamPlan, StreamResult};
use crate::measure::tsc::TickSource;
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::{RoundPlan, RoundResult, TimedPart, WorkloadError};
use crate::run::args::MeasurementEffort;
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::far_end::{self, FarEndHandle, Placement};
use crate::run::namespace::PrivateNamespace;
use crate::transport::carrier::{Carrier, Transport};
use crate::transport::driver::{Driver, LoopTimer, SendableDriver, Task, TaskResult};
use crate::transport::rendezvous::{Rendezvous, SideRole, next_connection_number};

/// Name of the role of a child process that is the far side of a connection.
pub const CONNECTION_ROLE: &str = "connection";

/// The error for a call that needs an open transport.
const NO_TRANSPORT_ERROR: &str = "no transport is open";

#[derive(Serialize, Deserialize)]
enum ConnectionJob {
    Open {
        transport: Transport,
        number: u64,
        /// The driver of the far side, unless it has to create that itself.
        #[serde(skip)]
        far: Option<SendableDriver>,
    },
    Run {
        task: Task,
        source: TickSource,
        pauses: u32,
    },
    Close,
}

/// The answer of the far side to a job: the result, if the job was a task.
type FarSideAnswer = Option<TaskResult>;

/// Both sides of a connection. One transport is open at a time. The far side sleeps between rounds.
#[expect(missing_debug_implementations, reason = "a driver is a function")]
pub struct Connection {
    namespace: Arc<Namespace>,
    far_end: FarEndHandle<ConnectionJob, FarSideAnswer>,
    source: TickSource,
    /// The number of pause instructions that both sides execute after a poll that found nothing,
    /// from the next task on.
    pub pauses_after_poll: u32,
    near: Option<NearSide>,
}

struct NearSide {
    driver: Driver,
    transport: Transport,
    next_seq: u64,
}

impl Drop for Connection {
    /// Closes both sides. WHY explicitly: a far process is killed when it is dropped, and not every
    /// library removes its files then.
    fn drop(&mut self) {
        // An error has been reported by the call that it ended.
        let _ = self.close();
    }
}

impl Connection {
    /// Starts the far side, pinned to `cpus.far`. The caller must be pinned to `cpus.near`, and the
    /// `main` of this binary must serve [`CONNECTION_ROLE`] in a child process.
    pub fn start(
        placement: Placement,
        cpus: CpuPair,
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Outcome<Connection> {
        let namespace = private.open()?;
        let spec = ChildSpec {
            role: CONNECTION_ROLE,
            cpu: cpus.far,
            share_cpu: cpus.shares_cpu(),
            env: &private.environment(),
        };
        let shared = Arc::clone(&namespace);
        let far_end = FarEndHandle::launch(placement, &spec, move || make_job_runner(shared))?;
        Ok(Connection {
            namespace,
            far_end,
            source,
            pauses_after_poll: 0,
            near: None,
        })
    }

    /// Opens both sides of `transport`. Closes the transport that was open before.
    pub fn open(&mut self, transport: Transport) -> Outcome {
        self.close()?;
        let number = next_connection_number();
        let rendezvous = Rendezvous::new(&self.namespace, number, SideRole::Near);
        let driver = transport.open(&rendezvous)?;
        self.far_end.run_job(ConnectionJob::Open {
            transport,
            number,
            far: rendezvous.far.take(),
        })?;
        self.near = Some(NearSide {
            driver,
            transport,
            next_seq: 1,
        });
        Ok(())
    }

    /// Runs one round of [`run_ping_pong_round`](Self::run_ping_pong_round) that times round trips.
    /// Returns the measurements of the near side.
    pub fn run_round_trips(&mut self, effort: MeasurementEffort) -> Outcome<RoundResult> {
        let MeasurementEffort {
            warm_up, samples, ..
        } = effort;
        Ok(self
            .run_ping_pong_round(TimedPart::RoundTrip, warm_up, samples)?
            .0)
    }

    /// Runs one round of ping-pong over the open transport. Returns the measurements of the near
    /// side and of the far side. Spins. After an error, the transport cannot be used any longer.
    pub fn run_ping_pong_round(
        &mut self,
        timing: TimedPart,
        warm_up: u64,
        samples: u64,
    ) -> Outcome<(RoundResult, RoundResult)> {
        let near = self.near.as_mut().ok_or(NO_TRANSPORT_ERROR)?;
        let plan = RoundPlan {
            timing,
            warm_up,
            samples,
            first_seq: near.next_seq,
        };
        near.next_seq = plan.next_seq();
        match self.run_tasks(Task::Ping(plan), Task::Echo(plan))? {
            (TaskResult::RoundResult(near), TaskResult::RoundResult(far)) => Ok((near, far)),
            (_, other) => Err(unexpected_answer_error(&other)),
        }
    }

    /// Streams `messages` messages from the near side to the far side. If one ring serves both
    /// directions, each side sends half of the messages and receives all, and the result covers
    /// both sides.
    pub fn run_stream(&mut self, messages: u64) -> Outcome<(SenderResult, StreamResult)> {
        let near = self.near.as_mut().ok_or(NO_TRANSPORT_ERROR)?;
        let carrier = near.transport.carrier;
        let producers = carrier.producer_count();
        let plan = StreamPlan {
            messages: messages.max(producers),
            first_seq: near.next_seq,
            producers,
        };
        near.next_seq = plan.last_seq() + 1;
        match self.run_tasks(Task::Send(plan), Task::Receive(plan))? {
            (TaskResult::SenderResult(sent), TaskResult::StreamResult(streamed)) => {
                check_loss(carrier, &streamed)?;
                Ok((sent, streamed))
            }
            (TaskResult::StreamResult(near), TaskResult::StreamResult(far)) => {
                let both = near.combine(far);
                let elapsed_ticks = both.elapsed_ticks;
                Ok((SenderResult { elapsed_ticks }, both))
            }
            (_, other) => Err(unexpected_answer_error(&other)),
        }
    }

    /// Runs a task on each side at the same time. If the wait of the near side timed out, returns
    /// the error of the far side, because that error explains the failure.
    fn run_tasks(&mut self, near: Task, far: Task) -> Outcome<(TaskResult, TaskResult)> {
        let (source, pauses) = (self.source, self.pauses_after_poll);
        let watch = self.far_end.watch.clone().with_pauses_after_poll(pauses);
        let side = self.near.as_mut().ok_or(NO_TRANSPORT_ERROR)?;
        self.far_end.start_job(ConnectionJob::Run {
            task: far,
            source,
            pauses,
        })?;
        match (side.driver)(&near, &LoopTimer { source, watch }) {
            Err(error @ (WorkloadError::CorruptMessage(_) | WorkloadError::Miscounted { .. })) => {
                Err(error.into())
            }
            near => {
                let far = self.far_end.finish_job()?;
                Ok((near?, far.ok_or_else(|| unexpected_answer_error(&"none"))?))
            }
        }
    }

    /// Closes the transport on both sides.
    pub fn close(&mut self) -> Outcome {
        if self.near.take().is_some() {
            self.far_end.run_job(ConnectionJob::Close)?;
        }
        Ok(())
    }
}

fn unexpected_answer_error(answer: &impl fmt::Debug) -> Box<dyn Error> {
    format!("an answer to another job: {answer:?}").into()
}

/// Returns an error if the stream has lost messages although the carrier must not lose any.
fn check_loss(carrier: Carrier, streamed: &StreamResult) -> Outcome {
    if streamed.lost > 0 && carrier.is_lossless() {
        let lost = streamed.lost;
        return Err(format!("{lost} messages were lost on a ring that loses none").into());
    }
    Ok(())
}

/// A transport whose two ends are both in this thread.
#[expect(missing_debug_implementations, reason = "a driver is a function")]
pub struct LoopedTransport {
    driver: Driver,
    carrier: Carrier,
    timer: LoopTimer,
    next_seq: u64,
}

impl LoopedTransport {
    /// Opens both ends of `transport` in this thread.
    pub fn open(
        transport: Transport,
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Outcome<LoopedTransport> {
        let (namespace, number) = (private.open()?, next_connection_number());
        let driver = transport.open(&Rendezvous::new(&namespace, number, SideRole::Loop))?;
        let watch = OtherEndWatch::new(false, || false);
        Ok(LoopedTransport {
            driver,
            carrier: transport.carrier,
            timer: LoopTimer { source, watch },
            next_seq: 1,
        })
    }

    /// Sends messages and receives each of them, in the timed batches of `plan`.
    pub fn run_batches(&mut self, plan: &BatchPlan) -> Outcome<BatchResult> {
        match (self.driver)(&Task::Loop(*plan, self.next_seq), &self.timer)? {
            TaskResult::BatchResult(micro) => {
                self.next_seq += (plan.warm_up + plan.batches) * micro.operations_per_batch;
                Ok(micro)
            }
            other => Err(unexpected_answer_error(&other)),
        }
    }

    /// Sends `messages` messages in bursts, and receives each burst before the next one is sent.
    pub fn run_stream(&mut self, messages: u64) -> Outcome<StreamResult> {
        let plan = StreamPlan {
            messages,
            first_seq: self.next_seq,
            producers: self.carrier.producer_count(),
        };
        self.next_seq += messages;
        match (self.driver)(&Task::LoopStream(plan), &self.timer)? {
            TaskResult::StreamResult(streamed) => {
                check_loss(self.carrier, &streamed)?;
                Ok(streamed)
            }
            other => Err(unexpected_answer_error(&other)),
        }
    }
}

/// Performs the role [`CONNECTION_ROLE`] in a child process, until the parent closes it.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    far_end::serve_jobs(context, || Ok(make_job_runner(Namespace::current()?)))
}

/// Returns a function that runs the jobs of a connection's far side.
fn make_job_runner(
    namespace: Arc<Namespace>,
) -> impl FnMut(ConnectionJob, &OtherEndWatch) -> Outcome<FarSideAnswer> {
    let mut open: Option<Driver> = None;
    move |job, watch| {
        match job {
            ConnectionJob::Open {
                transport,
                number,
                far,
            } => {
                let rendezvous = Rendezvous::new(&namespace, number, SideRole::Far);
                open = Some(match far {
                    Some(driver) => driver,
                    None => transport.open(&rendezvous)?,
                });
            }
            ConnectionJob::Run {
                task,
                source,
                pauses,
            } => {
                let driver = open.as_mut().ok_or(NO_TRANSPORT_ERROR)?;
                let watch = watch.clone().with_pauses_after_poll(pauses);
                return Ok(Some(driver(&task, &LoopTimer { source, watch })?));
            }
            ConnectionJob::Close => open = None,
        }
        Ok(None)
    }
}
