//! Paths as ways between two sides: the near one here, the far one in a thread or a child process.

use std::process::ExitCode;
use std::sync::Arc;

use horus_shm::{Namespace, NamespaceError};

use crate::measure::pin::CpuPair;
use crate::measure::stream::Streamed;
use crate::measure::tsc::TickSource;
use crate::measure::workload::WorkloadError;
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::floor::Placement;
use crate::run::namespace::PrivateNamespace;
use crate::run::peer::PeerError;
use crate::transport::channel_ends;
use crate::transport::channels;
use crate::transport::pair::{self, Pair, Way};
use crate::transport::path::{Path, Ring};
use crate::transport::side::{self, Direction, OpenPathError, Side};

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

/// Where the two sides of a path meet: by name, or as threads of one process.
#[derive(Debug, Clone)]
pub struct Meeting {
    namespace: Arc<Namespace>,
    threads: channels::Meeting,
}

/// Both sides of one path at a time. The far side sleeps between rounds.
pub type PathPair = Pair<Path>;

impl Way for Path {
    type Meeting = Meeting;

    fn near(self, meeting: &Meeting, number: u64) -> Result<Box<dyn Side>, OpenPathError> {
        if self.ring.is_channel() {
            let [near, far] = channel_ends::pair(self)?;
            meeting.threads.leave(far);
            return Ok(near);
        }
        let [there, back] = names(self, number);
        let direction = |name| Direction { name, create: true };
        side::open(&meeting.namespace, self, direction(&there), direction(&back))
    }

    fn far(self, meeting: &Meeting, number: u64) -> Result<Box<dyn Side>, OpenPathError> {
        if self.ring.is_channel() {
            return meeting.threads.take();
        }
        let [there, back] = names(self, number);
        let direction = |name| Direction { name, create: false };
        side::open(&meeting.namespace, self, direction(&back), direction(&there))
    }

    fn producers(self) -> u64 {
        self.ring.producers()
    }

    fn is_lossless(self) -> bool {
        self.ring.is_lossless()
    }
}

/// Names of the two directions of the `number`th path.
fn names(path: Path, number: u64) -> [String; 2] {
    ["there", "back"].map(|end| format!("{}/{number}/{end}", path.id()))
}

/// Starts the far side, pinned to `cpus.far`. The caller is pinned to `cpus.near`, and its `main`
/// serves [`PATH_ROLE`].
pub fn start(
    placement: Placement,
    cpus: CpuPair,
    source: TickSource,
    private: &PrivateNamespace,
) -> Result<PathPair, PathError> {
    let meeting = Meeting { namespace: private.open()?, threads: channels::Meeting::default() };
    match placement {
        Placement::CrossThread => Pair::threads(cpus, source, [meeting.clone(), meeting]),
        Placement::CrossProcess => {
            let spec = ChildSpec {
                role: PATH_ROLE,
                cpu: cpus.far,
                share_cpu: cpus.oversubscribed(),
                memory: None,
                env: &private.environment(),
            };
            Pair::processes(&spec, source, meeting)
        }
    }
}

/// Whether a stream lost what its ring may lose.
pub fn check_loss(ring: Ring, streamed: &Streamed) -> Result<(), PathError> {
    match streamed.lost {
        lost if lost > 0 && ring.is_lossless() => Err(PathError::Lost { lost }),
        _ => Ok(()),
    }
}

/// Serves [`PATH_ROLE`] in a child process until the parent hangs up.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    match Namespace::current() {
        Ok(namespace) => {
            let threads = channels::Meeting::default();
            pair::serve::<Path>(context, Meeting { namespace, threads })
        }
        Err(error) => {
            eprintln!("child process '{}': {error}", context.role());
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::pin;
    use crate::measure::workload::Timing;
    use crate::transport::path::Size;

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
            Ring::TopicDefault,
            Ring::TopicLoan,
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
            let mut pair = start(Placement::CrossThread, cpus, source, &private).unwrap();
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
