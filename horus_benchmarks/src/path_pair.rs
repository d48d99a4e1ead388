//! Both sides of a path: the near one here, the far one in a thread or a child process.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use horus_shm::{Namespace, NamespaceError};
use serde::{Deserialize, Serialize};

use crate::channel_ends;
use crate::child::{ChildContext, ChildSpec};
use crate::floor::Placement;
use crate::namespace::PrivateNamespace;
use crate::path::{Path, Ring};
use crate::peer::{self, Peer, PeerError};
use crate::pin::CpuPair;
use crate::side::{self, Direction, OpenPathError, Side};
use crate::stream::{Sent, StreamPlan, Streamed};
use crate::tsc::TickSource;
use crate::wait::Watch;
use crate::workload::{Echo, Round, RoundPlan, Timing, WorkloadError};

/// The role of a child process that is the far side of paths; serve it with [`serve_child`].
pub const PATH_ROLE: &str = "path";

/// Why a path could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// There is no namespace for the rings.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A ring or topic could not be opened at the near side.
    #[error(transparent)]
    Open(#[from] OpenPathError),
    /// The far side failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The near side failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A message was lost where none may be.
    #[error("{lost} messages were lost on a ring that loses none")]
    Lost {
        /// How many.
        lost: u64,
    },
    /// No path is open.
    #[error("no path is open")]
    Closed,
}

/// What the far side is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Job {
    Open {
        path: Path,
        there: String,
        back: String,
    },
    /// Take the side that was handed over.
    Take,
    Echo {
        plan: RoundPlan,
        source: TickSource,
    },
    Receive {
        plan: StreamPlan,
        source: TickSource,
    },
    Exchange {
        plan: StreamPlan,
        source: TickSource,
    },
    Close,
}

/// What the far side answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    Done,
    Echoed(Echo),
    Received(Streamed),
}

/// Where the near side leaves the far side of a path that cannot be opened by name.
type Handover = Arc<Mutex<Option<Box<dyn Side + Send>>>>;

/// Both sides of one path at a time. The far side sleeps between rounds.
pub struct PathPair {
    namespace: Arc<Namespace>,
    handover: Handover,
    peer: Peer<Job, Answer>,
    source: TickSource,
    near: Option<Near>,
    /// Paths opened so far: part of the names, so that no ring is taken for an earlier one.
    opened: u64,
}

/// The near side of the path that is open.
struct Near {
    side: Box<dyn Side>,
    ring: Ring,
    next_seq: u64,
}

impl std::fmt::Debug for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Near").field("ring", &self.ring).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PathPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PathPair").field("near", &self.near).finish_non_exhaustive()
    }
}

impl Drop for PathPair {
    /// WHY: a far process is killed, and not everybody who is measured here clears up after that.
    fn drop(&mut self) {
        // An error has been reported by the call that it ended.
        let _ = self.close();
    }
}

impl PathPair {
    /// Starts the far side, pinned to `cpus.far`. The caller is pinned to `cpus.near`, and its
    /// `main` serves [`PATH_ROLE`].
    ///
    /// # Errors
    ///
    /// [`PathError`] if there is no namespace or no far side.
    pub fn start(
        placement: Placement,
        cpus: CpuPair,
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Result<PathPair, PathError> {
        let namespace = private.open()?;
        let (cpu, share_cpu) = (cpus.far, cpus.oversubscribed());
        let handover = Handover::default();
        let peer = match placement {
            Placement::CrossThread => {
                let (namespace, handover) = (Arc::clone(&namespace), Arc::clone(&handover));
                Peer::thread_with(cpu, share_cpu, move || {
                    let mut far = Far { namespace, handover, side: None };
                    move |job, watch: &Watch| far.answer(job, watch)
                })?
            }
            Placement::CrossProcess => Peer::process(&ChildSpec {
                role: PATH_ROLE,
                cpu,
                share_cpu,
                memory: None,
                env: &private.environment(),
            })?,
        };
        Ok(PathPair { namespace, handover, peer, source, near: None, opened: 0 })
    }

    /// Opens both sides of a path, there and back; closes the one that was open.
    ///
    /// # Errors
    ///
    /// [`PathError::Open`] and [`PathError::Peer`].
    pub fn open(&mut self, path: Path) -> Result<(), PathError> {
        self.close()?;
        self.opened += 1;
        if path.ring.is_channel() {
            let (near, far) = channel_ends::pair(path)?;
            *self.handover.lock().unwrap_or_else(PoisonError::into_inner) = Some(far);
            self.peer.call(Job::Take)?;
            self.near = Some(Near { side: near, ring: path.ring, next_seq: 1 });
            return Ok(());
        }
        let name = |end| format!("{}/{}/{end}", path.id(), self.opened);
        let (there, back) = (name("there"), name("back"));
        let direction = |name| Direction { name, create: true };
        let side = side::open(&self.namespace, path, direction(&there), direction(&back))?;
        self.peer.call(Job::Open { path, there, back })?;
        self.near = Some(Near { side, ring: path.ring, next_seq: 1 });
        Ok(())
    }

    /// One round of ping-pong. Spins for as long as it takes.
    ///
    /// # Errors
    ///
    /// [`PathError`] if either side fails; the path is then of no further use.
    pub fn round(
        &mut self,
        timing: Timing,
        warm_up: u64,
        samples: u64,
    ) -> Result<(Round, Echo), PathError> {
        let near = self.near.as_mut().ok_or(PathError::Closed)?;
        let plan = RoundPlan { timing, warm_up, samples, first_seq: near.next_seq };
        near.next_seq = plan.next_seq();
        self.peer.start(Job::Echo { plan, source: self.source })?;
        let round = near.side.ping(&plan, self.source, &self.peer.watch());
        match self.finish(round)? {
            (round, Answer::Echoed(echo)) => Ok((round, echo)),
            (_, other) => Err(unexpected(&other)),
        }
    }

    /// Streams `messages` messages from the near side to the far side.
    ///
    /// # Errors
    ///
    /// As [`round`](Self::round), and [`PathError::Lost`].
    pub fn stream(&mut self, messages: u64) -> Result<(Sent, Streamed), PathError> {
        let near = self.near.as_mut().ok_or(PathError::Closed)?;
        let (ring, first_seq) = (near.ring, near.next_seq);
        let plan = StreamPlan { messages, first_seq, producers: ring.producers() };
        near.next_seq = plan.last_seq() + 1;
        self.peer.start(Job::Receive { plan, source: self.source })?;
        let sent = near.side.send_stream(&plan, self.source, &self.peer.watch());
        match self.finish(sent)? {
            (sent, Answer::Received(streamed)) => {
                check_loss(ring, &streamed)?;
                Ok((sent, streamed))
            }
            (_, other) => Err(unexpected(&other)),
        }
    }

    /// Both sides send `messages` messages between them and receive all of those, on a duplex ring:
    /// what each received.
    ///
    /// # Errors
    ///
    /// As [`round`](Self::round).
    pub fn exchange(&mut self, messages: u64) -> Result<[Streamed; 2], PathError> {
        let near = self.near.as_mut().ok_or(PathError::Closed)?;
        let plan = StreamPlan { messages, first_seq: near.next_seq, producers: 2 };
        near.next_seq = plan.last_seq() + 1;
        self.peer.start(Job::Exchange { plan, source: self.source })?;
        let received = near.side.exchange(&plan, true, self.source, &self.peer.watch());
        match self.finish(received)? {
            (near, Answer::Received(far)) => Ok([near, far]),
            (_, other) => Err(unexpected(&other)),
        }
    }

    /// What both sides say; where the near side only waited in vain, the far side knows why.
    fn finish<T>(&mut self, near: Result<T, WorkloadError>) -> Result<(T, Answer), PathError> {
        if let Err(error @ (WorkloadError::Corrupt(_) | WorkloadError::Miscounted { .. })) = near {
            return Err(error.into());
        }
        let answer = self.peer.finish()?;
        Ok((near?, answer))
    }

    /// Closes both sides.
    ///
    /// # Errors
    ///
    /// [`PathError::Peer`].
    pub fn close(&mut self) -> Result<(), PathError> {
        if self.near.take().is_some() {
            self.peer.call(Job::Close)?;
        }
        Ok(())
    }
}

/// Whether a stream lost what its ring may lose.
///
/// # Errors
///
/// [`PathError::Lost`].
pub fn check_loss(ring: Ring, streamed: &Streamed) -> Result<(), PathError> {
    match streamed.lost {
        lost if lost > 0 && ring.is_lossless() => Err(PathError::Lost { lost }),
        _ => Ok(()),
    }
}

fn unexpected(answer: &Answer) -> PathError {
    PathError::Peer(PeerError::Failed(format!("an answer to another job: {answer:?}")))
}

/// Serves [`PATH_ROLE`] in a child process until the parent hangs up.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    let namespace = match Namespace::current() {
        Ok(namespace) => namespace,
        Err(error) => {
            eprintln!("child process '{}': {error}", context.role());
            return ExitCode::FAILURE;
        }
    };
    let mut far = Far { namespace, handover: Handover::default(), side: None };
    peer::serve(context, move |job, watch: &Watch| far.answer(job, watch))
}

/// The far side.
struct Far {
    namespace: Arc<Namespace>,
    handover: Handover,
    side: Option<Box<dyn Side>>,
}

impl Far {
    fn answer(&mut self, job: Job, watch: &Watch) -> Result<Answer, String> {
        match job {
            Job::Open { path, there, back } => {
                let direction = |name| Direction { name, create: false };
                let (out, back) = (direction(&back), direction(&there));
                let side = side::open(&self.namespace, path, out, back);
                self.side = Some(side.map_err(|error| error.to_string())?);
                Ok(Answer::Done)
            }
            Job::Echo { plan, source } => {
                let echoed = self.open_side()?.echo(&plan, source, watch);
                echoed.map(Answer::Echoed).map_err(|error| error.to_string())
            }
            Job::Receive { plan, source } => {
                let received = self.open_side()?.receive_stream(&plan, source, watch);
                received.map(Answer::Received).map_err(|error| error.to_string())
            }
            Job::Take => {
                let mut handover = self.handover.lock().unwrap_or_else(PoisonError::into_inner);
                let side = handover.take().ok_or("nothing was handed over: another process?")?;
                self.side = Some(side);
                Ok(Answer::Done)
            }
            Job::Exchange { plan, source } => {
                let received = self.open_side()?.exchange(&plan, false, source, watch);
                received.map(Answer::Received).map_err(|error| error.to_string())
            }
            Job::Close => {
                self.side = None;
                Ok(Answer::Done)
            }
        }
    }

    fn open_side(&mut self) -> Result<&mut Box<dyn Side>, String> {
        self.side.as_mut().ok_or_else(|| PathError::Closed.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Size;
    use crate::pin;

    #[test]
    fn every_path_carries_rounds_and_streams_between_two_threads() {
        let cpu = pin::allowed_cpus().unwrap()[0];
        let cpus = CpuPair { near: cpu, far: cpu };
        let source = TickSource::detect();
        let all = [
            Ring::SpscShm,
            Ring::MpscShm,
            Ring::SpmcShm,
            Ring::FanoutShm,
            Ring::FanoutShm2p2s,
            Ring::PodShm,
            Ring::Topic,
            Ring::TopicReliable,
            Ring::Spsc,
            Ring::Spmc,
            Ring::Mpsc,
            Ring::Fanout,
            Ring::FanoutShmDuplex,
            Ring::TopicDuplex,
        ];
        // A thread of its own, so that the test runner's threads keep their freedom.
        std::thread::spawn(move || {
            pin::pin_current_thread(cpu).unwrap();
            let private = PrivateNamespace::create().unwrap();
            let mut pair = PathPair::start(Placement::CrossThread, cpus, source, &private).unwrap();
            assert!(matches!(pair.stream(1), Err(PathError::Closed)));
            for (ring, size) in all.into_iter().zip(Size::ALL.into_iter().cycle()) {
                pair.open(Path { ring, size }).unwrap();
                for timing in [Timing::RoundTrip, Timing::OneWay, Timing::SendCall] {
                    let (round, echo) = pair.round(timing, 5, 40).unwrap();
                    assert_eq!((round.sent, round.received, echo.echoed), (40, 40, 45));
                }
                if ring.is_duplex() {
                    let sides = pair.exchange(1000).unwrap();
                    assert!(sides.iter().all(|side| side.sent() == 1000), "{sides:?}");
                }
                if ring.is_lossless() {
                    let (_, streamed) = pair.stream(1000).unwrap();
                    assert_eq!((streamed.received, streamed.lost), (1000, 0), "{ring:?}");
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn only_an_open_lane_may_lose_messages() {
        let streamed = Streamed { received: 1, lost: 1, elapsed_ticks: 1 };
        assert!(check_loss(Ring::Topic, &streamed).is_ok());
        assert!(check_loss(Ring::TopicReliable, &streamed).is_err());
    }
}
