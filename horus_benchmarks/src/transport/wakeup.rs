//! Measures mechanisms that wake a process that is blocked in the kernel. Before every message, the
//! near side makes sure that the far side is asleep.
//!
//! The far side measures the time from before the send until its blocked call returned, with the
//! counters of both CPUs. The near side measures the duration of the send.

mod event_node;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
mod kernel;
mod topics;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};
use std::time::{Duration, Instant};

pub use topics::time_sends_to_awake_reader;

use crate::measure::lines::SharedCacheLines;
use crate::measure::payload::Payload;
use crate::measure::stats::Samples;
use crate::measure::tsc::{TickSource, Ticks};
use crate::measure::wait::{OtherEndWatch, WaitError};
use crate::measure::workload::{Echo, Round, WorkloadError, refused_by_library};
use crate::transport::carrier::Mechanism;
use crate::transport::driver::{Driver, Task, TaskResult};
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::{AnyError, OpenResult, Rendezvous};

/// Minimum time for which the far side must have been asleep before the near side wakes it.
const ASLEEP_BEFORE_WAKE: Duration = Duration::from_micros(50);

#[cfg(not(feature = "iceoryx2"))]
const NOT_BUILT_ERROR: &str = "built without iceoryx2";

/// Number of topics that a wait set watches. Each message is sent to one of them.
const WAIT_SET_TOPICS: usize = 4;

type Lines = Arc<SharedCacheLines>;

/// A function that sends a message and thereby wakes the far side.
type WakeSender = Box<dyn FnMut(Packet16) -> Result<(), AnyError>>;

/// A function that blocks until a message arrives, and fails after the time `STALL_LIMIT`. It
/// returns the message, and the time in ticks at which the sleep ended.
type Sleeper = Box<dyn FnMut(TickSource) -> Result<(Packet16, Ticks), AnyError>>;

/// Returns a [`Sleeper`] that calls `sleep` to wait for a message, and reads the counter
/// afterwards.
fn make_sleeper(mut sleep: impl FnMut() -> Result<Packet16, AnyError> + 'static) -> Sleeper {
    Box::new(move |source| {
        let message = sleep()?;
        Ok((message, source.stop()))
    })
}

pub(super) fn open(mechanism: Mechanism, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let file = rendezvous
        .directory()
        .join(format!("wakeup-{}", rendezvous.number));
    let mut options = File::options();
    options.read(true).write(true);
    if rendezvous.is_near_end() {
        let lines = Arc::new(SharedCacheLines::map_new(
            options.create_new(true).open(file)?,
        )?);
        let waker = open_waker(mechanism, rendezvous, &lines)?;
        return Ok(near_driver(waker, lines));
    }
    let lines = Arc::new(SharedCacheLines::map(options.open(file)?)?);
    let (sleeper, thread) = open_sleeper(mechanism, rendezvous, &lines)?;
    // Relaxed: the near side looks after it was told that this one is open.
    let words = &lines.line(1).words;
    words[1].store(u64::from(std::process::id()), atomic::Ordering::Relaxed);
    words[2].store(u64::from(thread), atomic::Ordering::Relaxed);
    Ok(far_end_driver(sleeper, lines))
}

fn open_waker(
    mechanism: Mechanism,
    rendezvous: &Rendezvous<'_>,
    lines: &Lines,
) -> Result<WakeSender, AnyError> {
    match mechanism {
        Mechanism::Futex => Ok(kernel::futex_waker(lines)),
        Mechanism::Pipe => kernel::pipe_waker(rendezvous),
        Mechanism::Topic | Mechanism::TopicFence | Mechanism::EventNode => {
            topics::open_waker(rendezvous, mechanism)
        }
        Mechanism::WaitSet => topics::open_wait_set_waker(rendezvous),
        #[cfg(feature = "iceoryx2")]
        Mechanism::Iceoryx2 => iceoryx::open_waker(rendezvous, lines),
        #[cfg(not(feature = "iceoryx2"))]
        Mechanism::Iceoryx2 => Err(NOT_BUILT_ERROR.into()),
    }
}

/// Returns the [`Sleeper`] of the mechanism, and the id of the thread that sleeps.
fn open_sleeper(
    mechanism: Mechanism,
    rendezvous: &Rendezvous<'_>,
    lines: &Lines,
) -> Result<(Sleeper, u32), AnyError> {
    let sleeper = match mechanism {
        Mechanism::Futex => kernel::futex_sleeper(lines),
        Mechanism::Pipe => kernel::pipe_sleeper(rendezvous)?,
        Mechanism::Topic | Mechanism::TopicFence => topics::open_sleeper(rendezvous, mechanism)?,
        Mechanism::WaitSet => topics::open_wait_set_sleeper(rendezvous)?,
        Mechanism::EventNode => return event_node::start_event_node(rendezvous),
        #[cfg(feature = "iceoryx2")]
        Mechanism::Iceoryx2 => iceoryx::open_sleeper(rendezvous, lines)?,
        #[cfg(not(feature = "iceoryx2"))]
        Mechanism::Iceoryx2 => return Err(NOT_BUILT_ERROR.into()),
    };
    Ok((sleeper, std::process::id()))
}

/// Returns a word in shared memory. In it, the far side stores the number of the next message, just
/// before it blocks for that message.
fn awaited_seq(lines: &SharedCacheLines) -> &AtomicU64 {
    &lines.line(1).words[0]
}

/// Returns a driver for the side that sends. It sends each message once the other side is asleep.
fn near_driver(mut waker: WakeSender, lines: Lines) -> Driver {
    let mut opened = None;
    Box::new(move |task, timer| {
        let Task::Ping(plan) = task else {
            return Err(WorkloadError::Unsuited);
        };
        let state = match opened.take() {
            Some(state) => state,
            None => ThreadState::open(&lines).map_err(refused_by_library)?,
        };
        let state = opened.insert(state);
        let mut ticks = Samples::new();
        for number in plan.first_seq..plan.next_seq() {
            wait_until_asleep(awaited_seq(&lines), state, &timer.watch, number)?;
            let mut message = Packet16::compose(number);
            let begin = timer.source.start();
            message.set_stamp(begin.0);
            waker(message).map_err(refused_by_library)?;
            let sample = timer.source.stop().since(begin);
            if plan.is_timed(number) {
                ticks.record(sample);
            }
        }
        Ok(TaskResult::Round(Round::complete(plan, ticks)))
    })
}

/// Returns a driver for the side that sleeps. It records the ticks from the send of each message
/// until the sleep ended.
fn far_end_driver(mut sleeper: Sleeper, lines: Lines) -> Driver {
    Box::new(move |task, timer| {
        let Task::Echo(plan) = task else {
            return Err(WorkloadError::Unsuited);
        };
        let mut forward = Samples::new();
        for number in plan.first_seq..plan.next_seq() {
            // Relaxed: a hint; the near side asks the kernel as well.
            awaited_seq(&lines).store(number, atomic::Ordering::Relaxed);
            let (message, end) = sleeper(timer.source).map_err(refused_by_library)?;
            message.verify(number)?;
            let ticks = end.checked_since(Ticks(message.stamp()));
            let ticks = ticks.ok_or_else(|| refused_by_library(BACKWARDS_ERROR))?;
            if plan.is_timed(number) {
                forward.record(ticks);
            }
        }
        Ok(TaskResult::Echo(Echo::complete(plan, forward)))
    })
}

const BACKWARDS_ERROR: &str = "a message arrived before it was sent, by the counters";

/// Waits until the far side has been asleep for some time while it waits for message `number`.
fn wait_until_asleep(
    blocked: &AtomicU64,
    state: &ThreadState,
    watch: &OtherEndWatch,
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
    /// Opens the file in which the kernel shows the state of the far side's thread, such as asleep.
    fn open(lines: &SharedCacheLines) -> io::Result<Self> {
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
