//! Two sides of something that carries messages: the near one here, the far one in a thread or a
//! child process.

use std::fmt;
use std::process::ExitCode;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::measure::pin::CpuPair;
use crate::measure::stream::{Sent, StreamPlan, Streamed};
use crate::measure::tsc::TickSource;
use crate::measure::wait::Watch;
use crate::measure::workload::{Echo, Round, RoundPlan, Timing, WorkloadError};
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::peer::{self, Peer, PeerError};
use crate::transport::path_pair::PathError;
use crate::transport::side::{OpenPathError, Side};

/// What carries messages between two sides, and how these find each other.
pub trait Way: Copy + fmt::Debug + Serialize + DeserializeOwned + Send + 'static {
    /// Where the sides meet: each has one.
    type Meeting: fmt::Debug + Send + 'static;

    /// Opens the near side of the `number`th connection of a pair. It is opened first.
    fn near(self, meeting: &Self::Meeting, number: u64) -> Result<Box<dyn Side>, OpenPathError>;

    /// Opens its far side.
    fn far(self, meeting: &Self::Meeting, number: u64) -> Result<Box<dyn Side>, OpenPathError>;

    /// Sending ends of each side, which take turns.
    fn producers(self) -> u64;

    /// Nothing is overwritten or dropped unread: a lost message is an error.
    fn is_lossless(self) -> bool;
}

/// What the far side is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Job<W> {
    Open { way: W, number: u64 },
    Echo { plan: RoundPlan, source: TickSource },
    Receive { plan: StreamPlan, source: TickSource },
    Exchange { plan: StreamPlan, source: TickSource },
    Close,
}

/// What the far side answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    Done,
    Echoed(Echo),
    Received(Streamed),
}

/// Both sides of one way at a time. The far side sleeps between rounds.
#[derive(Debug)]
pub struct Pair<W: Way> {
    meeting: W::Meeting,
    peer: Peer<Job<W>, Answer>,
    source: TickSource,
    near: Option<Near<W>>,
    /// Ways opened so far: part of the names, so that no ring is taken for an earlier one.
    opened: u64,
}

/// The near side of the way that is open.
struct Near<W> {
    side: Box<dyn Side>,
    way: W,
    next_seq: u64,
}

impl<W: fmt::Debug> fmt::Debug for Near<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Near").field("way", &self.way).finish_non_exhaustive()
    }
}

impl<W: Way> Drop for Pair<W> {
    /// WHY: a far process is killed, and not everybody who is measured here clears up after that.
    fn drop(&mut self) {
        // An error has been reported by the call that it ended.
        let _ = self.close();
    }
}

impl<W: Way> Pair<W> {
    /// Starts the far side in a thread pinned to `cpus.far`. The caller is pinned to `cpus.near`.
    /// Each side gets a meeting place.
    pub fn threads(
        cpus: CpuPair,
        source: TickSource,
        [near, far]: [W::Meeting; 2],
    ) -> Result<Pair<W>, PathError> {
        let peer = Peer::thread_with(cpus.far, cpus.oversubscribed(), move || {
            let mut far = Far { meeting: far, side: None };
            move |job, watch: &Watch| far.answer(job, watch)
        })?;
        Ok(Pair { meeting: near, peer, source, near: None, opened: 0 })
    }

    /// Starts the far side as a child process, whose `main` calls [`serve`].
    pub fn processes(
        spec: &ChildSpec<'_>,
        source: TickSource,
        meeting: W::Meeting,
    ) -> Result<Pair<W>, PathError> {
        let peer = Peer::process(spec)?;
        Ok(Pair { meeting, peer, source, near: None, opened: 0 })
    }

    /// Opens both sides of a way, there and back; closes the one that was open.
    pub fn open(&mut self, way: W) -> Result<(), PathError> {
        self.close()?;
        self.opened += 1;
        let number = self.opened;
        let side = way.near(&self.meeting, number)?;
        self.peer.call(Job::Open { way, number })?;
        self.near = Some(Near { side, way, next_seq: 1 });
        Ok(())
    }

    /// One round of ping-pong. Spins for as long as it takes.
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
    pub fn stream(&mut self, messages: u64) -> Result<(Sent, Streamed), PathError> {
        let near = self.near.as_mut().ok_or(PathError::Closed)?;
        let (way, first_seq) = (near.way, near.next_seq);
        let plan = StreamPlan { messages, first_seq, producers: way.producers() };
        near.next_seq = plan.last_seq() + 1;
        self.peer.start(Job::Receive { plan, source: self.source })?;
        let sent = near.side.send_stream(&plan, self.source, &self.peer.watch());
        match self.finish(sent)? {
            (sent, Answer::Received(streamed)) => match streamed.lost {
                lost if lost > 0 && way.is_lossless() => Err(PathError::Lost { lost }),
                _ => Ok((sent, streamed)),
            },
            (_, other) => Err(unexpected(&other)),
        }
    }

    /// Both sides send `messages` messages between them and receive all of those, on a way that is
    /// one ring for both directions: what each received.
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
    pub fn close(&mut self) -> Result<(), PathError> {
        if self.near.take().is_some() {
            self.peer.call(Job::Close)?;
        }
        Ok(())
    }
}

fn unexpected(answer: &Answer) -> PathError {
    PathError::Peer(PeerError::Failed(format!("an answer to another job: {answer:?}")))
}

/// Serves the far side in a child process until the parent hangs up.
pub fn serve<W: Way>(context: &ChildContext, meeting: W::Meeting) -> ExitCode {
    let mut far = Far::<W> { meeting, side: None };
    peer::serve(context, move |job, watch| far.answer(job, watch))
}

/// The far side.
struct Far<W: Way> {
    meeting: W::Meeting,
    side: Option<Box<dyn Side>>,
}

impl<W: Way> Far<W> {
    fn answer(&mut self, job: Job<W>, watch: &Watch) -> Result<Answer, String> {
        match job {
            Job::Open { way, number } => {
                let side = way.far(&self.meeting, number);
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
