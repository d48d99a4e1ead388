//! Waking a sleeper: ways to block for a message in another process, and rounds of them.
//!
//! The far end blocks in the kernel; the near end makes sure of that before every message. What
//! is timed is from before the send to after the blocked call returned, by the counters of both
//! CPUs.

mod event_node;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
mod kernel;
mod rounds;
mod topics;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};
use std::time::{Duration, Instant};

use horus_shm::Namespace;
use serde::{Deserialize, Serialize};

use crate::measure::lines::SharedLines;
use crate::measure::payload::Payload;
use crate::measure::pin::CpuPair;
use crate::measure::stats::Samples;
use crate::measure::tsc::{TickSource, Ticks};
use crate::measure::wait::{STALL_LIMIT, WaitError, Watch};
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::namespace::PrivateNamespace;
use crate::run::peer::{self, Peer, PeerError};
use crate::transport::packet::Packet16;

pub use rounds::{check_counters, compare, duel};
pub use topics::awake_sends;

/// The role of the child process that sleeps; serve it with [`serve_child`].
pub const WAKEUP_ROLE: &str = "wakeup";

/// How long the far end is left asleep before it is woken.
const SETTLE: Duration = Duration::from_micros(50);

/// Topics of a wait set, of which one gets the message.
const SET_TOPICS: usize = 4;

/// A way to block until the other process has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Way {
    /// A futex word in shared memory, and nothing else: what every other way is built on.
    Futex,
    /// A pipe with a name.
    Pipe,
    /// `recv_timeout` at a topic whose waiters make barriers.
    Topic,
    /// `recv_timeout` at a topic whose publishers make fences.
    TopicFence,
    /// A wait set of several topics.
    WaitSet,
    /// A node of a scheduler that a topic wakes. Timed until its tick begins.
    EventNode,
    /// The event service of iceoryx2.
    #[cfg(feature = "iceoryx2")]
    Iceoryx2,
}

impl Way {
    /// Those of a receiver, the one first that the others are compared with.
    pub const ALL: &'static [Way] = &[
        Way::Futex,
        Way::Pipe,
        Way::Topic,
        Way::TopicFence,
        Way::WaitSet,
        #[cfg(feature = "iceoryx2")]
        Way::Iceoryx2,
    ];

    /// The id of its row.
    pub const fn id(self) -> &'static str {
        match self {
            Way::Futex => "wakeup/futex",
            Way::Pipe => "wakeup/pipe",
            Way::Topic => "wakeup/topic/16B",
            Way::TopicFence => "wakeup/topic_fence/16B",
            Way::WaitSet => "wakeup/wait_set/16B",
            Way::EventNode => "event/wake/16B",
            #[cfg(feature = "iceoryx2")]
            Way::Iceoryx2 => "wakeup/iceoryx2",
        }
    }
}

/// Why a round failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WakeupError {
    /// The far end failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The far end did not go to sleep.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A way could not be opened, or did not send.
    #[error("{way:?}: {reason}")]
    Way {
        /// Which.
        way: Way,
        /// What it said.
        reason: String,
    },
}

/// What the near end does with a message. An end says in words what failed.
trait Waker: Send {
    fn send(&mut self, message: Packet16) -> Result<(), String>;
}

/// What the far end does: blocks until there is a message, and gives up after [`STALL_LIMIT`].
trait Sleeper: Send {
    fn sleep(&mut self) -> Result<Packet16, String>;
}

/// A round at the far end, on whatever thread it sleeps.
trait Night: Send {
    /// Sleeps for each message of a round; the ticks from each send to its end.
    fn spend(&mut self, blocked: &AtomicU64, plan: &WakeupPlan) -> Result<Samples, String>;

    /// The kernel's number of the thread that sleeps.
    fn thread(&self) -> u32;
}

impl<S: Sleeper> Night for S {
    fn spend(&mut self, blocked: &AtomicU64, plan: &WakeupPlan) -> Result<Samples, String> {
        sleep_for_each(self, blocked, plan)
    }

    fn thread(&self) -> u32 {
        std::process::id()
    }
}

/// Memory and places that both ends know.
struct Common {
    lines: Arc<SharedLines>,
    namespace: Arc<Namespace>,
}

impl Common {
    /// How many messages the far end has blocked for, the one at hand included.
    fn blocked(&self) -> &AtomicU64 {
        &self.lines.line(1).words[0]
    }

    fn waker(&self, way: Way) -> Result<Box<dyn Waker>, String> {
        Ok(match way {
            Way::Futex => Box::new(kernel::Futex::new(&self.lines)),
            Way::Pipe => Box::new(kernel::Pipe::open(&self.namespace)?),
            Way::Topic | Way::TopicFence | Way::EventNode => {
                Box::new(topics::publisher(&self.namespace, way)?)
            }
            Way::WaitSet => Box::new(topics::publishers(&self.namespace)?),
            #[cfg(feature = "iceoryx2")]
            Way::Iceoryx2 => Box::new(iceoryx::Event::notifier(&self.namespace, &self.lines)?),
        })
    }

    fn night(&self, way: Way) -> Result<Box<dyn Night>, String> {
        Ok(match way {
            Way::Futex => Box::new(kernel::Futex::new(&self.lines)),
            Way::Pipe => Box::new(kernel::Pipe::open(&self.namespace)?),
            Way::Topic | Way::TopicFence => Box::new(topics::subscriber(&self.namespace, way)?),
            Way::WaitSet => Box::new(topics::Set::open(&self.namespace)?),
            Way::EventNode => Box::new(event_node::EventNode::start(&self.namespace, &self.lines)?),
            #[cfg(feature = "iceoryx2")]
            Way::Iceoryx2 => Box::new(iceoryx::Event::listener(&self.namespace, &self.lines)?),
        })
    }
}

/// What the far end is told to do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Job {
    /// Open a way; answer with the process and its thread that will sleep.
    Open(Way),
    /// Sleep for each message of a round; answer with the ticks from send to return.
    Sleep { way: Way, plan: WakeupPlan },
    /// Close all ways: what they leave behind when they are killed is not ours to clear up.
    Close,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    Opened { pid: u32, thread: u32 },
    Woken(Samples),
    Closed,
}

/// One round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeupPlan {
    /// What to time with.
    pub source: TickSource,
    /// Messages that are not counted.
    pub warm_up: u64,
    /// Messages that are.
    pub samples: u64,
    /// Messages of all rounds before.
    pub before: u64,
}

impl WakeupPlan {
    /// Numbers of the messages of this round; from 1 on over all rounds.
    fn numbers(&self) -> std::ops::RangeInclusive<u64> {
        self.before + 1..=self.before + self.warm_up + self.samples
    }

    fn counts(&self, number: u64) -> bool {
        number > self.before + self.warm_up
    }
}

/// What a round gave, in ticks.
#[derive(Debug, Clone)]
pub struct Woken {
    /// From before the send to after the blocked call returned.
    pub latency: Samples,
    /// The send alone.
    pub send: Samples,
}

/// Both ends of all ways. The far end is a process.
pub struct WakeupPair {
    common: Common,
    wakers: BTreeMap<Way, (Box<dyn Waker>, ThreadState)>,
    sent: u64,
    source: TickSource,
    peer: Peer<Job, Answer>,
}

impl fmt::Debug for WakeupPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeupPair").field("sent", &self.sent).finish_non_exhaustive()
    }
}

impl WakeupPair {
    /// Starts the far end, pinned to `cpus.far`, and opens `ways`. The caller is pinned to
    /// `cpus.near`, and its `main` serves [`WAKEUP_ROLE`].
    pub fn start(
        ways: &[Way],
        cpus: CpuPair,
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Result<Self, WakeupError> {
        let lines = Arc::new(SharedLines::create()?);
        let mut peer: Peer<Job, Answer> = Peer::process(&ChildSpec {
            role: WAKEUP_ROLE,
            cpu: cpus.far,
            share_cpu: cpus.oversubscribed(),
            memory: Some(lines.as_fd()),
            env: &private.environment(),
        })?;
        let namespace = private.open().map_err(io::Error::other)?;
        let common = Common { lines, namespace };
        let mut wakers = BTreeMap::new();
        for &way in ways {
            let waker = common.waker(way).map_err(|reason| WakeupError::Way { way, reason })?;
            if let Answer::Opened { pid, thread } = peer.call(Job::Open(way))? {
                wakers.insert(way, (waker, ThreadState::of(pid, thread)?));
            }
        }
        Ok(Self { common, wakers, sent: 0, source, peer })
    }

    /// One round of `way`: each message wakes the far end, which is asleep for sure.
    pub fn round(&mut self, way: Way, warm_up: u64, samples: u64) -> Result<Woken, WakeupError> {
        let plan = WakeupPlan { source: self.source, warm_up, samples, before: self.sent };
        self.sent = *plan.numbers().end();
        self.peer.start(Job::Sleep { way, plan })?;
        let unknown = || WakeupError::Way { way, reason: "it is not open".to_owned() };
        let (waker, state) = self.wakers.get_mut(&way).ok_or_else(unknown)?;
        let mut send = Samples::new();
        for number in plan.numbers() {
            await_sleep(self.common.blocked(), state, &self.peer.watch(), number)?;
            let mut message = Packet16::compose(number);
            let begin = plan.source.start();
            message.restamp(begin.0);
            waker.send(message).map_err(|reason| WakeupError::Way { way, reason })?;
            let ticks = plan.source.stop().since(begin);
            if plan.counts(number) {
                send.record(ticks);
            }
        }
        match self.peer.finish()? {
            Answer::Woken(latency) => Ok(Woken { latency, send }),
            _ => Err(PeerError::Failed("another job's answer".into()).into()),
        }
    }

    /// Closes both ends of all ways.
    pub fn close(mut self) -> Result<(), WakeupError> {
        self.peer.call(Job::Close)?;
        Ok(())
    }
}

/// Returns when the far end has been asleep for message `number` for a while.
fn await_sleep(
    blocked: &AtomicU64,
    state: &ThreadState,
    watch: &Watch,
    number: u64,
) -> Result<(), WaitError> {
    watch.spin_until(|| {
        std::hint::spin_loop();
        // Relaxed: the state below decides, and the message orders itself.
        (blocked.load(atomic::Ordering::Relaxed) == number && state.is_asleep()).then_some(())
    })?;
    let begin = Instant::now();
    while begin.elapsed() < SETTLE {
        std::hint::spin_loop();
    }
    Ok(())
}

/// What the kernel says that a thread of another process does.
struct ThreadState {
    stat: File,
}

impl ThreadState {
    fn of(pid: u32, thread: u32) -> io::Result<Self> {
        Ok(Self { stat: File::open(format!("/proc/{pid}/task/{thread}/stat"))? })
    }

    /// Whether it sleeps. A system call.
    fn is_asleep(&self) -> bool {
        let mut text = [0; 64];
        let read = self.stat.read_at(&mut text, 0).unwrap_or(0);
        // `pid (name) S …`
        let after_name = text[..read].rsplit(|&byte| byte == b')').next();
        after_name.is_some_and(|rest| rest.starts_with(b" S"))
    }
}

/// Serves [`WAKEUP_ROLE`] in a child process until the parent hangs up.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    peer::serve(context, || {
        let lines = Arc::new(SharedLines::map(context.memory()?)?);
        let common = Common { lines, namespace: Namespace::current()? };
        let mut nights = BTreeMap::new();
        Ok(move |job, _: &Watch| match job {
            Job::Open(way) => {
                let night = common.night(way)?;
                let thread = night.thread();
                nights.insert(way, night);
                Ok(Answer::Opened { pid: std::process::id(), thread })
            }
            Job::Sleep { way, plan } => {
                let night = nights.get_mut(&way).ok_or("the way is not open")?;
                night.spend(common.blocked(), &plan).map(Answer::Woken)
            }
            Job::Close => {
                nights.clear();
                Ok(Answer::Closed)
            }
        })
    })
}

fn sleep_for_each(
    sleeper: &mut dyn Sleeper,
    blocked: &AtomicU64,
    plan: &WakeupPlan,
) -> Result<Samples, String> {
    let mut latency = Samples::new();
    for number in plan.numbers() {
        // Relaxed: a hint; the near end asks the kernel as well.
        blocked.store(number, atomic::Ordering::Relaxed);
        let message = sleeper.sleep()?;
        let end = plan.source.stop();
        let ticks = ticks_of(&message, number, end)?;
        if plan.counts(number) {
            latency.record(ticks);
        }
    }
    Ok(latency)
}

/// Ticks from the send of message `number` to `end`, if this is that message.
fn ticks_of(message: &Packet16, number: u64, end: Ticks) -> Result<u64, String> {
    message.check(number).map_err(|error| error.to_string())?;
    let ticks = end.checked_since(Ticks(message.stamp()));
    ticks.ok_or_else(|| "a message arrived before it was sent, by the counters".to_owned())
}

/// What an end says that waited for [`STALL_LIMIT`].
fn stalled() -> String {
    format!("nothing came within {} s", STALL_LIMIT.as_secs())
}
