//! Nodes and timers go on at their rate after a sleep of the machine (suspend).
//!
//! A sleep of the machine stops CLOCK_MONOTONIC, and the processor's time stamp counter counts on.
//! This file replaces the functions of the C library that read that clock and that sleep until it
//! reaches a time, so that a test can stop the clock.

mod executors;
mod private;

use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use executors::LONG;
use horus_core::actor::{self, Actor};
use horus_core::scheduler::{Context, Hertz, NodeResult, StopReason};
use horus_shm::clock::{Clock, ClockSource};
use private::Private;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// The time for which the machine sleeps in a test.
const MACHINE_SLEEP: Duration = Duration::from_secs(3);
/// Half of that: a delay of that length shows that the sleep has delayed something. Everything else
/// that delays a node of these tests is far shorter, also on a busy machine.
const DELAY_MAX: Duration = Duration::from_millis(1500);

/// The time, in nanoseconds, for which the machine has slept. While it sleeps: the negated time at
/// which CLOCK_MONOTONIC stands still.
static SLEPT_OR_STOPPED_NS: AtomicI64 = AtomicI64::new(0);

fn nanos(time: libc::timespec) -> i64 {
    time.tv_sec * NANOS_PER_SECOND + time.tv_nsec
}

fn timespec(ns: i64) -> libc::timespec {
    libc::timespec {
        tv_sec: ns / NANOS_PER_SECOND,
        tv_nsec: ns % NANOS_PER_SECOND,
    }
}

/// Replaces the function of the C library. CLOCK_MONOTONIC stands still while the machine sleeps.
///
/// # Safety
///
/// `time` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: the caller guarantees that the pointer is valid.
    let status = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if status == 0 && [libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_COARSE].contains(&clock) {
        let slept_ns = SLEPT_OR_STOPPED_NS.load(Ordering::Relaxed);
        // SAFETY: the kernel has written the time there.
        let now_ns = nanos(unsafe { time.read() });
        let shown_ns = if slept_ns >= 0 {
            now_ns - slept_ns
        } else {
            -slept_ns
        };
        // SAFETY: the caller guarantees that the pointer is valid.
        unsafe { time.write(timespec(shown_ns)) };
    }
    status as c_int
}

/// Replaces the function of the C library. A sleep until a time of CLOCK_MONOTONIC lasts until the
/// clock above shows that time.
///
/// # Safety
///
/// `time` must be valid for a read. `remaining` must be null or valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    remaining: *mut libc::timespec,
) -> c_int {
    // SAFETY: the caller guarantees that the pointer is valid.
    let mut until = unsafe { time.read() };
    if clock == libc::CLOCK_MONOTONIC && flags == libc::TIMER_ABSTIME {
        let slept_ns = SLEPT_OR_STOPPED_NS.load(Ordering::Relaxed);
        until = timespec(nanos(until) + slept_ns.max(0));
    }
    let number = libc::SYS_clock_nanosleep;
    // SAFETY: the first pointer is that of a local variable, and the caller guarantees that the
    // other one is null or valid.
    let status = unsafe { libc::syscall(number, clock, flags, &raw const until, remaining) };
    if status == 0 {
        0
    } else {
        io::Error::last_os_error().raw_os_error().unwrap_or(0)
    }
}

fn monotonic_ns() -> u64 {
    Clock::kernel().now_ns()
}

/// Lets the machine sleep for [`MACHINE_SLEEP`]. Returns the time of CLOCK_MONOTONIC after that,
/// which is that before it.
fn sleep_machine() -> u64 {
    let stopped_ns = monotonic_ns();
    let slept_before_ns = SLEPT_OR_STOPPED_NS.swap(-(stopped_ns as i64), Ordering::Relaxed);
    thread::sleep(MACHINE_SLEEP);
    let slept_ns = slept_before_ns + MACHINE_SLEEP.as_nanos() as i64;
    SLEPT_OR_STOPPED_NS.store(slept_ns, Ordering::Relaxed);
    stopped_ns
}

/// Returns a guard that prevents the machine from sleeping in another test; `None` if clocks do not
/// use the counter, which goes on while the machine sleeps, so that these tests would show nothing.
fn lock_machine() -> Option<MutexGuard<'static, ()>> {
    static TESTS: Mutex<()> = Mutex::new(());
    if Clock::new().source() != ClockSource::Counter {
        horus_testing::skip("the kernel does not trust the counter of this CPU");
        return None;
    }
    Some(TESTS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The threads on which a node ticks at its due times.
#[derive(Debug, Clone, Copy)]
enum Executor {
    RealTime,
    Compute,
    MainThread,
}

/// Lets the machine sleep in a tick. Returns the time from then to the due time of the next tick,
/// and the duration of the longest tick in the report.
fn delay_of_next_tick_and_longest_tick(executor: Executor) -> (Duration, Duration) {
    const SLEEPING_TICK: u64 = 5;
    let (mut scheduler, _private) = Private::alone();
    scheduler.main_rate(50.hz()).unwrap();
    let builder = scheduler.node("arm");
    let builder = match executor {
        Executor::RealTime => builder.rate(50.hz()),
        Executor::Compute => builder.compute().rate(50.hz()),
        Executor::MainThread => builder,
    };
    let delay_ns = Arc::new(AtomicU64::new(0));
    let stored_ns = Arc::clone(&delay_ns);
    let mut woken_ns = 0;
    let tick = move |context: &mut Context<'_>| {
        if context.tick() == SLEEPING_TICK {
            woken_ns = sleep_machine();
        } else if context.tick() > SLEEPING_TICK {
            let due_ns = context.scheduled_ns();
            stored_ns.store(due_ns.saturating_sub(woken_ns), Ordering::Relaxed);
            context.stop();
        }
    };
    builder.build(tick).unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{executor:?}");
    let delay = Duration::from_nanos(delay_ns.load(Ordering::Relaxed));
    (delay, report.node("arm").unwrap().metrics.max)
}

#[test]
fn a_node_ticks_in_the_next_period_after_a_sleep_of_the_machine() {
    let Some(_machine) = lock_machine() else {
        return;
    };
    let times = [Executor::RealTime, Executor::Compute, Executor::MainThread]
        .map(|executor| (executor, delay_of_next_tick_and_longest_tick(executor)));
    let are_short = |(_, (delay, tick)): &_| *delay < DELAY_MAX && *tick < DELAY_MAX;
    assert!(times.iter().all(are_short), "{times:?}");
}

/// Lets the machine sleep in a handler, and then starts a timer.
struct Sleeper {
    woken_ns: u64,
    delay_ns: mpsc::Sender<u64>,
}

enum Message {
    Sleep,
    Timer,
}

impl Actor for Sleeper {
    type Message = Message;

    fn handle(&mut self, message: Message, context: &mut actor::Context<'_, Self>) -> NodeResult {
        match message {
            Message::Sleep => {
                self.woken_ns = sleep_machine();
                context.tell_after(Duration::from_millis(10), Message::Timer);
            }
            Message::Timer => self.delay_ns.send(monotonic_ns() - self.woken_ns)?,
        }
        Ok(())
    }
}

#[test]
fn a_timer_is_not_late_if_its_handler_began_before_a_sleep_of_the_machine() {
    let Some(_machine) = lock_machine() else {
        return;
    };
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(1).build().unwrap();
    let (sender, delay_ns) = mpsc::channel();
    let sleeper = actors
        .spawn(Sleeper {
            woken_ns: 0,
            delay_ns: sender,
        })
        .unwrap();
    let running = scheduler.start().unwrap();
    sleeper.tell(Message::Sleep).unwrap_or_else(|_| panic!());
    let delay = Duration::from_nanos(delay_ns.recv_timeout(LONG).unwrap());
    running.finish().unwrap();
    assert!(delay < DELAY_MAX, "{delay:?}");
}
