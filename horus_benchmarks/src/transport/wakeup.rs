//! Mechanisms that wake a side that is blocked in the kernel. Before every message, the near side
//! makes sure that the far side is asleep.
//!
//! The far side times the interval from before the send until its blocked call returned, with the
//! counters of both CPUs. The near side times the send.

mod event_node;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
mod kernel;
mod topics;

use std::error::Error;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};
use std::time::{Duration, Instant};

pub use topics::awake_sends;

use crate::measure::lines::SharedLines;
use crate::measure::payload::Payload;
use crate::measure::stats::Samples;
use crate::measure::tsc::{TickSource, Ticks};
use crate::measure::wait::{WaitError, Watch};
use crate::measure::workload::{Echo, Round, RoundPlan, WorkloadError};
use crate::transport::carrier::Mechanism;
use crate::transport::driver::{Done, Driver, Task, Timer};
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::{ConnectionError, ConnectionSide, Opened};

/// Time for which the near side leaves the far side asleep before it wakes it.
const ASLEEP_BEFORE_WAKE: Duration = Duration::from_micros(50);

#[cfg(not(feature = "iceoryx2"))]
const NOT_BUILT: &str = "built without iceoryx2";

/// Number of topics in a wait set; one of them gets the message.
const SET_TOPICS: usize = 4;

type AnyError = Box<dyn Error + Send + Sync>;

trait Waker {
    fn send(&mut self, message: Packet16) -> Result<(), AnyError>;
}

/// A receiver that blocks until there is a message; fails after the time `STALL_LIMIT`.
trait Sleeper {
    fn sleep(&mut self) -> Result<Packet16, AnyError>;
}

/// The far side of a mechanism, in whatever thread it sleeps.
trait SleepingSide {
    /// Sleeps until each message of a round; returns the ticks from each send until the sleep
    /// ended.
    fn sleep_through(
        &mut self,
        blocked: &AtomicU64,
        plan: &RoundPlan,
        source: TickSource,
    ) -> Result<Samples, AnyError>;

    fn thread(&self) -> u32 {
        std::process::id()
    }
}

impl<S: Sleeper> SleepingSide for S {
    fn sleep_through(
        &mut self,
        blocked: &AtomicU64,
        plan: &RoundPlan,
        source: TickSource,
    ) -> Result<Samples, AnyError> {
        let mut latency = Samples::new();
        for number in plan.first_seq..plan.next_seq() {
            // Relaxed: a hint; the near side asks the kernel as well.
            blocked.store(number, atomic::Ordering::Relaxed);
            let message = self.sleep()?;
            let ticks = ticks_since_send(&message, number, source.stop())?;
            if plan.counts(number) {
                latency.record(ticks);
            }
        }
        Ok(latency)
    }
}

pub(super) fn open(mechanism: Mechanism, place: &ConnectionSide<'_>) -> Opened {
    let refused = |reason| ConnectionError::System(io::Error::other(reason));
    let file = place.directory().join(format!("wakeup-{}", place.number()));
    let mut options = File::options();
    options.read(true).write(true);
    if place.is_near() {
        let lines = Arc::new(SharedLines::map_new(options.create_new(true).open(file)?)?);
        let waker = waker(mechanism, place, &lines).map_err(refused)?;
        return Ok(Box::new(Near {
            waker,
            lines,
            state: None,
        }));
    }
    let lines = Arc::new(SharedLines::map(options.open(file)?)?);
    let sleeping = sleeping(mechanism, place, &lines).map_err(refused)?;
    // Relaxed: the near side looks after it was told that this one is open.
    let words = &lines.line(1).words;
    words[1].store(u64::from(std::process::id()), atomic::Ordering::Relaxed);
    words[2].store(u64::from(sleeping.thread()), atomic::Ordering::Relaxed);
    Ok(Box::new(Far { sleeping, lines }))
}

type Lines = Arc<SharedLines>;

fn waker(
    mechanism: Mechanism,
    place: &ConnectionSide<'_>,
    lines: &Lines,
) -> Result<Box<dyn Waker>, AnyError> {
    Ok(match mechanism {
        Mechanism::Futex => Box::new(kernel::Futex::new(lines)),
        Mechanism::Pipe => Box::new(kernel::Pipe::open(place)?),
        Mechanism::Topic | Mechanism::TopicFence | Mechanism::EventNode => {
            Box::new(topics::topic(place, mechanism).publisher()?)
        }
        Mechanism::WaitSet => Box::new(topics::publishers(place)?),
        #[cfg(feature = "iceoryx2")]
        Mechanism::Iceoryx2 => Box::new(iceoryx::Event::open(place, lines)?),
        #[cfg(not(feature = "iceoryx2"))]
        Mechanism::Iceoryx2 => return Err(NOT_BUILT.into()),
    })
}

fn sleeping(
    mechanism: Mechanism,
    place: &ConnectionSide<'_>,
    lines: &Lines,
) -> Result<Box<dyn SleepingSide>, AnyError> {
    Ok(match mechanism {
        Mechanism::Futex => Box::new(kernel::Futex::new(lines)),
        Mechanism::Pipe => Box::new(kernel::Pipe::open(place)?),
        Mechanism::Topic | Mechanism::TopicFence => Box::new(topics::subscriber(place, mechanism)?),
        Mechanism::WaitSet => Box::new(topics::Set::open(place)?),
        Mechanism::EventNode => Box::new(event_node::EventNode::start(place, lines)?),
        #[cfg(feature = "iceoryx2")]
        Mechanism::Iceoryx2 => Box::new(iceoryx::Event::open(place, lines)?),
        #[cfg(not(feature = "iceoryx2"))]
        Mechanism::Iceoryx2 => return Err(NOT_BUILT.into()),
    })
}

/// The word in which the far side stores the number of the message that it is about to block for.
fn awaited_seq(lines: &SharedLines) -> &AtomicU64 {
    &lines.line(1).words[0]
}

struct Near {
    waker: Box<dyn Waker>,
    lines: Lines,
    state: Option<ThreadState>,
}

impl Driver for Near {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let Task::Ping(plan) = task else {
            return Err(WorkloadError::Unsuited);
        };
        let state = match self.state.take() {
            Some(state) => state,
            None => ThreadState::of(&self.lines).map_err(refused)?,
        };
        let state = self.state.insert(state);
        let mut ticks = Samples::new();
        for number in plan.first_seq..plan.next_seq() {
            await_sleep(awaited_seq(&self.lines), state, &timer.watch, number)?;
            let mut message = Packet16::compose(number);
            let begin = timer.source.start();
            message.restamp(begin.0);
            self.waker.send(message).map_err(refused)?;
            let sample = timer.source.stop().since(begin);
            if plan.counts(number) {
                ticks.record(sample);
            }
        }
        Ok(Done::Round(Round::complete(plan, ticks)))
    }
}

struct Far {
    sleeping: Box<dyn SleepingSide>,
    lines: Lines,
}

impl Driver for Far {
    fn run(&mut self, task: &Task, timer: &Timer) -> Result<Done, WorkloadError> {
        let Task::Echo(plan) = task else {
            return Err(WorkloadError::Unsuited);
        };
        let forward = self
            .sleeping
            .sleep_through(awaited_seq(&self.lines), plan, timer.source);
        Ok(Done::Echo(Echo::complete(plan, forward.map_err(refused)?)))
    }
}

fn refused(error: impl ToString) -> WorkloadError {
    WorkloadError::Refused(error.to_string())
}

/// Returns once the far side has been asleep for some time, waiting for message `number`.
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
    while begin.elapsed() < ASLEEP_BEFORE_WAKE {
        std::hint::spin_loop();
    }
    Ok(())
}

struct ThreadState {
    stat: File,
}

impl ThreadState {
    /// Opens the state file of the far side's thread.
    fn of(lines: &SharedLines) -> io::Result<Self> {
        // Relaxed: the far side was open before this round began.
        let [pid, thread] =
            [1, 2].map(|index: usize| lines.line(1).words[index].load(atomic::Ordering::Relaxed));
        Ok(Self {
            stat: File::open(format!("/proc/{pid}/task/{thread}/stat"))?,
        })
    }

    fn is_asleep(&self) -> bool {
        let mut text = [0; 64];
        let read = self.stat.read_at(&mut text, 0).unwrap_or(0);
        // `pid (name) S …`
        let after_name = text[..read].rsplit(|&byte| byte == b')').next();
        after_name.is_some_and(|rest| rest.starts_with(b" S"))
    }
}

/// Returns the ticks from the send of message `number` until `end`, after a check that `message` is
/// that message.
fn ticks_since_send(message: &Packet16, number: u64, end: Ticks) -> Result<u64, AnyError> {
    message.check(number)?;
    let ticks = end.checked_since(Ticks(message.stamp()));
    ticks.ok_or_else(|| "a message arrived before it was sent, by the counters".into())
}
