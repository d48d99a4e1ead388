//! Measures mechanisms that wake a process that is blocked in the kernel. Before every message, the
//! near side makes sure that the far side is asleep, and measures the duration of the send. The far
//! side measures the time from before the send until its call returned, with both counters.

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

use crate::Outcome;
use crate::measure::lines::SharedCacheLines;
use crate::measure::payload::Payload;
use crate::measure::tsc::{TickSource, Ticks};
use crate::measure::wait::{OtherEndWatch, WaitError};
use crate::measure::workload::refused_call_error;
use crate::transport::carrier::WakeupMechanism;
use crate::transport::driver::{self, Driver};
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::{OpenResult, Rendezvous};

/// Minimum time for which the far side must have been asleep.
const ASLEEP_BEFORE_WAKE: Duration = Duration::from_micros(50);

type SharedLines = Arc<SharedCacheLines>;

/// A function that sends a message and thereby wakes the far side.
type WakeFn = Box<dyn FnMut(Packet16) -> Outcome>;

/// A function that blocks until a message arrives, at most for `WAIT_TIMEOUT`. It returns the
/// message and the time at which the sleep ended.
type SleepFn = Box<dyn FnMut(TickSource) -> Outcome<(Packet16, Ticks)>>;

/// One side of a mechanism.
enum WakeupEnd {
    Waker(WakeFn),
    /// The far side, and the id of its thread that sleeps.
    Sleeper(SleepFn, u32),
}

impl WakeupEnd {
    fn waker(wake: impl FnMut(Packet16) -> Outcome + 'static) -> Self {
        Self::Waker(Box::new(wake))
    }

    /// Returns the end that calls `sleep` in the main thread, and reads the counter afterwards.
    fn sleeper(mut sleep: impl FnMut() -> Outcome<Packet16> + 'static) -> Self {
        let sleep = move |source: TickSource| {
            let message = sleep()?;
            Ok((message, source.read_at_end()))
        };
        Self::Sleeper(Box::new(sleep), std::process::id())
    }
}

pub(super) fn open(mechanism: WakeupMechanism, rendezvous: &Rendezvous<'_>) -> OpenResult {
    let file = rendezvous
        .directory()
        .join(format!("wakeup-{}", rendezvous.number));
    let mut options = File::options();
    options.read(true).write(true);
    let lines = Arc::new(if rendezvous.is_near_end() {
        SharedCacheLines::map_new_file(options.create_new(true).open(file)?)?
    } else {
        SharedCacheLines::map(options.open(file)?)?
    });
    let end = match mechanism {
        WakeupMechanism::Futex => kernel::open_futex(rendezvous, &lines),
        WakeupMechanism::Pipe => kernel::open_pipe(rendezvous)?,
        WakeupMechanism::EventNode if !rendezvous.is_near_end() => {
            event_node::start_event_node(rendezvous)?
        }
        WakeupMechanism::Topic | WakeupMechanism::TopicFence | WakeupMechanism::EventNode => {
            topics::open_topic(rendezvous, mechanism)?
        }
        WakeupMechanism::WaitSet => topics::open_wait_set(rendezvous)?,
        #[cfg(feature = "iceoryx2")]
        WakeupMechanism::Iceoryx2 => iceoryx::open_event(rendezvous, &lines)?,
        #[cfg(not(feature = "iceoryx2"))]
        WakeupMechanism::Iceoryx2 => return Err("built without iceoryx2".into()),
    };
    match end {
        WakeupEnd::Waker(waker) => Ok(driver::lazily_opened_driver(move || {
            Ok(near_driver(waker, open_thread_state(&lines)?, lines))
        })),
        WakeupEnd::Sleeper(sleeper, thread) => {
            // Relaxed: the near side looks after it was told that this one is open.
            let words = &lines.line(1).words;
            words[1].store(u64::from(std::process::id()), atomic::Ordering::Relaxed);
            words[2].store(u64::from(thread), atomic::Ordering::Relaxed);
            Ok(far_end_driver(sleeper, lines))
        }
    }
}

/// Returns the word in which the far side stores the number of a message before it blocks for it.
fn awaited_seq(lines: &SharedCacheLines) -> &AtomicU64 {
    &lines.line(1).words[0]
}

/// Returns a driver for the side that sends. It sends each message once the other side is asleep.
fn near_driver(mut waker: WakeFn, state: File, lines: SharedLines) -> Driver {
    driver::message_driver(move |number, timer| {
        wait_until_asleep(awaited_seq(&lines), &state, &timer.watch, number)?;
        let mut message = Packet16::compose(number);
        let begin = timer.source.read_at_start();
        message.set_stamp(begin.0);
        waker(message).map_err(refused_call_error)?;
        Ok(Some(timer.source.read_at_end().since(begin)))
    })
}

/// Returns a driver for the side that sleeps.
fn far_end_driver(mut sleeper: SleepFn, lines: SharedLines) -> Driver {
    driver::message_driver(move |number, timer| {
        // Relaxed: a hint; the near side asks the kernel as well.
        awaited_seq(&lines).store(number, atomic::Ordering::Relaxed);
        let (message, end) = sleeper(timer.source).map_err(refused_call_error)?;
        message.verify(number)?;
        let ticks = end.checked_since(Ticks(message.stamp()));
        Ok(Some(ticks.ok_or_else(|| {
            refused_call_error("it arrived before it was sent")
        })?))
    })
}

/// Waits until the far side has been asleep for some time in its wait for message `seq`.
fn wait_until_asleep(
    awaited_seq: &AtomicU64,
    state: &File,
    watch: &OtherEndWatch,
    seq: u64,
) -> Result<(), WaitError> {
    watch.spin_until(|| {
        std::hint::spin_loop();
        // Relaxed: the state below decides, and the message orders itself.
        (awaited_seq.load(atomic::Ordering::Relaxed) == seq && is_asleep(state)).then_some(())
    })?;
    let begin = Instant::now();
    while begin.elapsed() < ASLEEP_BEFORE_WAKE {
        std::hint::spin_loop();
    }
    Ok(())
}

/// Opens the file in which the kernel shows the state of the far side's thread.
fn open_thread_state(lines: &SharedCacheLines) -> io::Result<File> {
    // Relaxed: the far side was open before this round began.
    let [pid, thread] =
        [1, 2].map(|index: usize| lines.line(1).words[index].load(atomic::Ordering::Relaxed));
    File::open(format!("/proc/{pid}/task/{thread}/stat"))
}

/// Returns true if the thread whose state is in the file `state` is asleep.
fn is_asleep(state: &File) -> bool {
    let mut text = [0; 64];
    let read = state.read_at(&mut text, 0).unwrap_or(0);
    // `pid (name) S …`
    let after_name = text[..read].rsplit(|&byte| byte == b')').next();
    after_name.is_some_and(|rest| rest.starts_with(b" S"))
}
