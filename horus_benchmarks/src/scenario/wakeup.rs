//! Waking a sleeper: mechanisms to block for a message in another process, and rounds of them.
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
use std::error::Error;
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
use crate::measure::stats::Samples;
use crate::measure::tsc::{TickSource, Ticks};
use crate::measure::wait::{STALL_LIMIT, WaitError, Watch};
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::namespace::PrivateNamespace;
use crate::run::peer::{self, Peer};
use crate::run::session::Session;
use crate::scenario::entry::Role;
use crate::transport::packet::Packet16;

pub(in crate::scenario) use rounds::SAMPLES;
pub use rounds::{check_counters, compare, duel, main};

/// The role of the child process that sleeps.
pub const ROLE: Role = ("wakeup", serve_child);

/// How long the far end is left asleep before it is woken.
const SETTLE: Duration = Duration::from_micros(50);

/// Topics of a wait set, of which one gets the message.
const SET_TOPICS: usize = 4;

/// A mechanism to block until the other process has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mechanism {
    /// A futex word in shared memory, and nothing else: what every other mechanism is built on.
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

impl Mechanism {
    /// Those of a receiver, the one first that the others are compared with.
    pub const ALL: &'static [Mechanism] = &[
        Mechanism::Futex,
        Mechanism::Pipe,
        Mechanism::Topic,
        Mechanism::TopicFence,
        Mechanism::WaitSet,
        #[cfg(feature = "iceoryx2")]
        Mechanism::Iceoryx2,
    ];

    /// The id of its row.
    pub const fn id(self) -> &'static str {
        match self {
            Mechanism::Futex => "wakeup/futex",
            Mechanism::Pipe => "wakeup/pipe",
            Mechanism::Topic => "wakeup/topic/16B",
            Mechanism::TopicFence => "wakeup/topic_fence/16B",
            Mechanism::WaitSet => "wakeup/wait_set/16B",
            Mechanism::EventNode => "event/wake/16B",
            #[cfg(feature = "iceoryx2")]
            Mechanism::Iceoryx2 => "wakeup/iceoryx2",
        }
    }
}

type AnyError = Box<dyn Error>;

/// What the near end does with a message. An end says in words what failed.
trait Waker: Send {
    fn send(&mut self, message: Packet16) -> Result<(), String>;
}

/// What the far end does: blocks until there is a message, and gives up after [`STALL_LIMIT`].
trait Sleeper: Send {
    fn sleep(&mut self) -> Result<Packet16, String>;
}

/// A round at the far end, on whatever thread it sleeps.
trait FarEnd: Send {
    /// Sleeps for each message of a round; the ticks from each send to its end.
    fn spend(&mut self, blocked: &AtomicU64, plan: &WakeupPlan) -> Result<Samples, String>;

    /// The kernel's number of the thread that sleeps.
    fn thread(&self) -> u32;
}

impl<S: Sleeper> FarEnd for S {
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

    fn waker(&self, mechanism: Mechanism) -> Result<Box<dyn Waker>, String> {
        Ok(match mechanism {
            Mechanism::Futex => Box::new(kernel::Futex::new(&self.lines)),
            Mechanism::Pipe => Box::new(kernel::Pipe::open(&self.namespace)?),
            Mechanism::Topic | Mechanism::TopicFence | Mechanism::EventNode => {
                Box::new(topics::publisher(&self.namespace, mechanism)?)
            }
            Mechanism::WaitSet => Box::new(topics::publishers(&self.namespace)?),
            #[cfg(feature = "iceoryx2")]
            Mechanism::Iceoryx2 => {
                Box::new(iceoryx::Event::notifier(&self.namespace, &self.lines)?)
            }
        })
    }

    fn far_end(&self, mechanism: Mechanism) -> Result<Box<dyn FarEnd>, String> {
        Ok(match mechanism {
            Mechanism::Futex => Box::new(kernel::Futex::new(&self.lines)),
            Mechanism::Pipe => Box::new(kernel::Pipe::open(&self.namespace)?),
            Mechanism::Topic | Mechanism::TopicFence => {
                Box::new(topics::subscriber(&self.namespace, mechanism)?)
            }
            Mechanism::WaitSet => Box::new(topics::Set::open(&self.namespace)?),
            Mechanism::EventNode => {
                Box::new(event_node::EventNode::start(&self.namespace, &self.lines)?)
            }
            #[cfg(feature = "iceoryx2")]
            Mechanism::Iceoryx2 => {
                Box::new(iceoryx::Event::listener(&self.namespace, &self.lines)?)
            }
        })
    }
}

/// What the far end is told to do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Job {
    /// Open a mechanism; answer with the process and its thread that will sleep.
    Open(Mechanism),
    /// Sleep for each message of a round; answer with the ticks from send to return.
    Sleep { mechanism: Mechanism, plan: WakeupPlan },
    /// Close all mechanisms: what they leave behind when they are killed is not ours to clear up.
    Close,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    Opened { pid: u32, thread: u32 },
    Woken(Samples),
    Closed,
}

/// One round.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct WakeupPlan {
    source: TickSource,
    /// Messages that are not counted.
    warm_up: u64,
    /// Messages that are.
    samples: u64,
    /// Messages of all rounds before.
    before: u64,
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

/// Both ends of all mechanisms. The far end is a process.
struct WakeupPair {
    common: Common,
    wakers: BTreeMap<Mechanism, (Box<dyn Waker>, ThreadState)>,
    sent: u64,
    source: TickSource,
    peer: Peer<Job, Answer>,
}

impl WakeupPair {
    /// Starts the far end, pinned to the far CPU, and opens `mechanisms`.
    fn start(
        mechanisms: &[Mechanism],
        session: &Session,
        private: &PrivateNamespace,
    ) -> Result<Self, AnyError> {
        let (cpus, lines) = (session.cpus, Arc::new(SharedLines::create()?));
        let mut peer: Peer<Job, Answer> = Peer::process(&ChildSpec {
            role: ROLE.0,
            cpu: cpus.far,
            share_cpu: cpus.oversubscribed(),
            memory: Some(lines.as_fd()),
            env: &private.environment(),
        })?;
        let common = Common { lines, namespace: private.open()? };
        let mut wakers = BTreeMap::new();
        for &mechanism in mechanisms {
            let waker = common.waker(mechanism)?;
            if let Answer::Opened { pid, thread } = peer.call(Job::Open(mechanism))? {
                wakers.insert(mechanism, (waker, ThreadState::of(pid, thread)?));
            }
        }
        Ok(Self { common, wakers, sent: 0, source: session.clock.source(), peer })
    }

    /// Runs one round: each message wakes the far end, which is known to be asleep. Returns the
    /// ticks from before the send to after the blocked call returned, and those of the send.
    fn round(
        &mut self,
        mechanism: Mechanism,
        warm_up: u64,
        samples: u64,
    ) -> Result<[Samples; 2], AnyError> {
        let plan = WakeupPlan { source: self.source, warm_up, samples, before: self.sent };
        self.sent = *plan.numbers().end();
        self.peer.start(Job::Sleep { mechanism, plan })?;
        let (waker, state) = self.wakers.get_mut(&mechanism).ok_or("it is not open")?;
        let mut send = Samples::new();
        for number in plan.numbers() {
            await_sleep(self.common.blocked(), state, &self.peer.watch(), number)?;
            let mut message = Packet16::compose(number);
            let begin = plan.source.start();
            message.restamp(begin.0);
            waker.send(message)?;
            let ticks = plan.source.stop().since(begin);
            if plan.counts(number) {
                send.record(ticks);
            }
        }
        match self.peer.finish()? {
            Answer::Woken(latency) => Ok([latency, send]),
            _ => Err("an answer to another job".into()),
        }
    }

    /// Closes both ends of all mechanisms.
    fn close(mut self) -> Result<(), AnyError> {
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

/// Serves [`ROLE`] in a child process until the parent hangs up.
fn serve_child(context: &ChildContext) -> ExitCode {
    peer::serve(context, || {
        let lines = Arc::new(SharedLines::map(context.memory()?)?);
        let common = Common { lines, namespace: Namespace::current()? };
        let mut sleepers = BTreeMap::new();
        Ok(move |job, _: &Watch| match job {
            Job::Open(mechanism) => {
                let far_end = common.far_end(mechanism)?;
                let thread = far_end.thread();
                sleepers.insert(mechanism, far_end);
                Ok(Answer::Opened { pid: std::process::id(), thread })
            }
            Job::Sleep { mechanism, plan } => {
                let far_end = sleepers.get_mut(&mechanism).ok_or("the mechanism is not open")?;
                far_end.spend(common.blocked(), &plan).map(Answer::Woken)
            }
            Job::Close => {
                sleepers.clear();
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
