//! A connection: the near side in this thread, the far side in another thread or in a child
//! process.

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;

use horus_shm::Namespace;
use serde::{Deserialize, Serialize};

use crate::measure::micro::{Micro, MicroPlan};
use crate::measure::pin::CpuPair;
use crate::measure::stream::{Sent, StreamPlan, Streamed};
use crate::measure::tsc::TickSource;
use crate::measure::wait::Watch;
use crate::measure::workload::{Echo, Round, RoundPlan, Timing, WorkloadError};
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::floor::Placement;
use crate::run::namespace::PrivateNamespace;
use crate::run::peer::{self, Peer, PeerError};
use crate::transport::carrier::{Carrier, Transport};
use crate::transport::driver::{Done, Driver, SendDriver, Task, Timer};
use crate::transport::rendezvous::{ConnectionError, Rendezvous, Role, next_number};

/// The role of a child process that is the far side of a connection.
pub const CONNECTION_ROLE: &str = "connection";

#[derive(Serialize, Deserialize)]
enum Job {
    Open {
        transport: Transport,
        number: u64,
        /// The driver, if the near side has made it.
        #[serde(skip)]
        far: Option<SendDriver>,
    },
    Run {
        task: Task,
        source: TickSource,
    },
    Close,
}

/// The answer of the far side to a job: the result, if the job was a task.
type Answer = Option<Done>;

/// Both sides of a transport; one transport is open at a time. The far side sleeps between rounds.
pub struct Connection {
    namespace: Arc<Namespace>,
    peer: Peer<Job, Answer>,
    source: TickSource,
    near: Option<Near>,
}

struct Near {
    driver: Driver,
    transport: Transport,
    next_seq: u64,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = self.near.as_ref().map(|near| near.transport);
        f.debug_struct("Connection")
            .field("transport", &transport)
            .finish_non_exhaustive()
    }
}

impl Drop for Connection {
    /// Closes both sides. WHY: a far process is killed when dropped, and not every library removes
    /// its files then.
    fn drop(&mut self) {
        // An error has been reported by the call that it ended.
        let _ = self.close();
    }
}

impl Connection {
    /// Starts the far side, pinned to `cpus.far`. The caller must be pinned to `cpus.near`, and its
    /// `main` must serve [`CONNECTION_ROLE`].
    pub fn start(
        placement: Placement,
        cpus: CpuPair,
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Result<Connection, ConnectionError> {
        let namespace = private.open()?;
        let cpu = cpus.far;
        let share_cpu = cpus.oversubscribed();
        let peer = match placement {
            Placement::CrossThread => {
                let namespace = Arc::clone(&namespace);
                Peer::thread(cpu, share_cpu, move || service(namespace))?
            }
            Placement::CrossProcess => {
                let role = CONNECTION_ROLE;
                let env = &private.environment();
                Peer::process(&ChildSpec {
                    role,
                    cpu,
                    share_cpu,
                    memory: None,
                    env,
                })?
            }
        };
        Ok(Connection {
            namespace,
            peer,
            source,
            near: None,
        })
    }

    /// Opens both sides of a transport, in both directions; closes the previous one.
    pub fn open(&mut self, transport: Transport) -> Result<(), ConnectionError> {
        self.close()?;
        let number = next_number();
        let place = Rendezvous::new(&self.namespace, number, Role::Near);
        let driver = transport.open(&place)?;
        self.peer.call(Job::Open {
            transport,
            number,
            far: place.far.take(),
        })?;
        self.near = Some(Near {
            driver,
            transport,
            next_seq: 1,
        });
        Ok(())
    }

    /// Runs one round of ping-pong. Spins all the time. After an error the transport cannot be used
    /// any more.
    pub fn round(
        &mut self,
        timing: Timing,
        warm_up: u64,
        samples: u64,
    ) -> Result<(Round, Echo), ConnectionError> {
        let near = self.near.as_mut().ok_or(ConnectionError::Closed)?;
        let plan = RoundPlan {
            timing,
            warm_up,
            samples,
            first_seq: near.next_seq,
        };
        near.next_seq = plan.next_seq();
        match self.run(Task::Ping(plan), Task::Echo(plan))? {
            (Done::Round(round), Done::Echo(echo)) => Ok((round, echo)),
            (_, other) => Err(unexpected(&other)),
        }
    }

    /// Streams `messages` messages from the near side to the far side. On a duplex carrier each
    /// side sends half of them and receives all; the result then covers both sides.
    pub fn stream(&mut self, messages: u64) -> Result<(Sent, Streamed), ConnectionError> {
        let near = self.near.as_mut().ok_or(ConnectionError::Closed)?;
        let carrier = near.transport.carrier;
        let first_seq = near.next_seq;
        let is_duplex = carrier.is_duplex();
        let (messages, producers) = if is_duplex {
            (messages.max(2), 2)
        } else {
            (messages, carrier.producers())
        };
        let plan = StreamPlan {
            messages,
            first_seq,
            producers,
        };
        near.next_seq = plan.last_seq() + 1;
        let done = match is_duplex {
            true => self.run(Task::ExchangeFirst(plan), Task::ExchangeSecond(plan))?,
            false => self.run(Task::Send(plan), Task::Receive(plan))?,
        };
        match done {
            (Done::Sent(sent), Done::Streamed(streamed)) => {
                check_loss(carrier, &streamed)?;
                Ok((sent, streamed))
            }
            (Done::Streamed(near), Done::Streamed(far)) => {
                let elapsed_ticks = near.elapsed_ticks.max(far.elapsed_ticks);
                let received = near.received + far.received;
                let lost = near.lost + far.lost;
                Ok((
                    Sent { elapsed_ticks },
                    Streamed {
                        received,
                        lost,
                        elapsed_ticks,
                    },
                ))
            }
            (_, other) => Err(unexpected(&other)),
        }
    }

    /// Runs a task on each side at the same time. If the near side failed because it waited in
    /// vain, returns the error of the far side, which has the reason.
    fn run(&mut self, near: Task, far: Task) -> Result<(Done, Done), ConnectionError> {
        let source = self.source;
        let watch = self.peer.watch();
        let side = self.near.as_mut().ok_or(ConnectionError::Closed)?;
        self.peer.start(Job::Run { task: far, source })?;
        match (side.driver)(&near, &Timer { source, watch }) {
            Err(error @ (WorkloadError::Corrupt(_) | WorkloadError::Miscounted { .. })) => {
                Err(error.into())
            }
            near => {
                let far = self.peer.finish()?;
                Ok((near?, far.ok_or_else(|| unexpected(&"none"))?))
            }
        }
    }

    /// Closes both sides.
    pub fn close(&mut self) -> Result<(), ConnectionError> {
        if self.near.take().is_some() {
            self.peer.call(Job::Close)?;
        }
        Ok(())
    }
}

fn unexpected(answer: &impl fmt::Debug) -> ConnectionError {
    ConnectionError::Peer(PeerError::Failed(format!(
        "an answer to another job: {answer:?}"
    )))
}

/// Refuses a stream that lost messages although its carrier is lossless.
fn check_loss(carrier: Carrier, streamed: &Streamed) -> Result<(), ConnectionError> {
    match streamed.lost {
        lost if lost > 0 && carrier.is_lossless() => Err(ConnectionError::Lost { lost }),
        _ => Ok(()),
    }
}

/// Both ends of one ring or topic in this thread.
#[expect(missing_debug_implementations, reason = "a driver is a function")]
pub struct Looped {
    driver: Driver,
    carrier: Carrier,
    timer: Timer,
    next_seq: u64,
}

impl Looped {
    /// Opens both ends of a transport in this thread.
    pub fn open(
        transport: Transport,
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Result<Looped, ConnectionError> {
        let place = &private.open()?;
        let driver = transport.open(&Rendezvous::new(place, next_number(), Role::Loop))?;
        let watch = Watch::new(false, || false);
        Ok(Looped {
            driver,
            carrier: transport.carrier,
            timer: Timer { source, watch },
            next_seq: 1,
        })
    }

    /// Sends messages and receives each, in batches.
    pub fn round(&mut self, plan: &MicroPlan) -> Result<Micro, ConnectionError> {
        match (self.driver)(&Task::Loop(*plan, self.next_seq), &self.timer)? {
            Done::Micro(micro) => {
                self.next_seq += (plan.warm_up + plan.batches) * micro.batch;
                Ok(micro)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Streams `messages` messages in bursts.
    pub fn stream(&mut self, messages: u64) -> Result<Streamed, ConnectionError> {
        let plan = StreamPlan {
            messages,
            first_seq: self.next_seq,
            producers: self.carrier.producers(),
        };
        self.next_seq += messages;
        match (self.driver)(&Task::LoopStream(plan), &self.timer)? {
            Done::Streamed(streamed) => check_loss(self.carrier, &streamed).map(|()| streamed),
            other => Err(unexpected(&other)),
        }
    }
}

/// Serves [`CONNECTION_ROLE`] in a child process until the parent hangs up.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    peer::serve(context, || Ok(service(Namespace::current()?)))
}

/// Returns a function that runs the jobs of the far side.
fn service(namespace: Arc<Namespace>) -> impl FnMut(Job, &Watch) -> Result<Answer, String> {
    let mut open: Option<Driver> = None;
    move |job, watch| {
        let watch = watch.clone();
        let done = || -> Result<Answer, ConnectionError> {
            match job {
                Job::Open {
                    transport,
                    number,
                    far,
                } => {
                    let place = Rendezvous::new(&namespace, number, Role::Far);
                    open = Some(match far {
                        Some(driver) => driver,
                        None => transport.open(&place)?,
                    });
                }
                Job::Run { task, source } => {
                    let driver = open.as_mut().ok_or(ConnectionError::Closed)?;
                    return Ok(Some(driver(&task, &Timer { source, watch })?));
                }
                Job::Close => open = None,
            }
            Ok(None)
        };
        done().map_err(|error| error.to_string())
    }
}
