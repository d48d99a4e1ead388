//! Sleeping on words of memory, and barriers on the CPUs of other processes.

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use libc::{c_int, c_long};

/// From `linux/futex.h`; libc has the structure, but not the flag.
const FUTEX2_SIZE_U32: u32 = 2;
const FUTEX2_PRIVATE: u32 = libc::FUTEX_PRIVATE_FLAG as u32;

/// Maximum number of words for one call (`FUTEX_WAITV_MAX`).
pub(crate) const WAITV_MAX: usize = 128;

const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// The processes that can sleep on a word, or that a barrier reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The threads of this process.
    Process,
    /// Every process that has registered.
    Machine,
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs().min(i64::MAX as u64) as libc::time_t,
        tv_nsec: duration.subsec_nanos() as _,
    }
}

/// Sleeps until this time of CLOCK_MONOTONIC, in nanoseconds; a signal may end it early.
pub(crate) fn sleep_until(ns: u64) {
    let until = timespec(Duration::from_nanos(ns));
    let (clock, flags) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    // SAFETY: the time is valid, and an absolute sleep writes no remaining time.
    unsafe { libc::clock_nanosleep(clock, flags, &until, std::ptr::null_mut()) };
}

/// The result of a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slept {
    /// It ended by a wake or a signal, or did not begin because the word had changed.
    Woken,
    /// Its timeout ended it, without a wake.
    OutOfTime,
    /// It did not begin: this kernel lacks the call.
    Unable,
}

impl Slept {
    /// Converts the result of the last system call.
    fn of(answer: c_long) -> Self {
        let error = if answer < 0 { io::Error::last_os_error().raw_os_error() } else { None };
        match error {
            Some(libc::ETIMEDOUT) => Self::OutOfTime,
            Some(libc::ENOSYS) => Self::Unable,
            _ => Self::Woken,
        }
    }
}

/// Sleeps while `word` is `seen`, until woken or `timeout` is over.
///
/// May return early without a reason.
pub(crate) fn wait(word: &AtomicU32, seen: u32, timeout: Duration, scope: Scope) -> Slept {
    let operation = libc::FUTEX_WAIT | private(scope);
    let timeout = timespec(timeout);
    let (word, timeout) = (word.as_ptr(), &raw const timeout);
    // SAFETY: the word is valid for as long as it is borrowed, and the timeout for the call.
    Slept::of(unsafe { libc::syscall(libc::SYS_futex, word, operation, seen, timeout) })
}

/// Wakes all threads that sleep on `word`; returns how many did.
pub(crate) fn wake_all(word: &AtomicU32, scope: Scope) -> u32 {
    let operation = libc::FUTEX_WAKE | private(scope);
    // SAFETY: the word is valid for as long as it is borrowed.
    let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, c_int::MAX) };
    u32::try_from(woken).unwrap_or(0)
}

const fn private(scope: Scope) -> c_int {
    match scope {
        Scope::Process => libc::FUTEX_PRIVATE_FLAG,
        Scope::Machine => 0,
    }
}

/// The kernel's `struct futex_waitv`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

impl Waiter {
    /// An unused element of an array.
    pub(crate) const NONE: Self = Self { value: 0, address: 0, flags: 0, reserved: 0 };

    pub(crate) fn new(word: &AtomicU32, seen: u32, scope: Scope) -> Self {
        let private = if scope == Scope::Process { FUTEX2_PRIVATE } else { 0 };
        let address = word.as_ptr().expose_provenance() as u64;
        Self { value: seen.into(), address, flags: FUTEX2_SIZE_U32 | private, reserved: 0 }
    }
}

/// Sleeps while all of `waiters` find their words unchanged, for at most `timeout`.
///
/// May return early without a reason. [`Slept::Unable`] before Linux 5.16.
///
/// # Safety
///
/// The words stay valid during the call.
pub(crate) unsafe fn wait_any(waiters: &[Waiter], timeout: Duration) -> Slept {
    debug_assert!(waiters.len() <= WAITV_MAX);
    // WHY: miri does not know the call; there, as under an old kernel, the caller polls.
    if cfg!(miri) {
        return Slept::Unable;
    }
    let deadline = timespec(monotonic() + timeout);
    // SAFETY: the array and the deadline are valid for the call, and the words by the contract.
    let woken = unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            waiters.as_ptr(),
            waiters.len() as c_int,
            0,
            &raw const deadline,
            libc::CLOCK_MONOTONIC,
        )
    };
    Slept::of(woken)
}

/// Returns the time of CLOCK_MONOTONIC.
pub(crate) fn monotonic() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for the write; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0) % NANOS_PER_SECOND;
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), nanos)
}

/// Registers this process so that [`barrier`] reaches it; false if the kernel refuses.
pub(crate) fn register_for_barriers(scope: Scope) -> bool {
    membarrier(match scope {
        Scope::Process => libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
        Scope::Machine => libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
    })
}

/// Makes a full memory barrier on every CPU that runs a registered process; false if the kernel
/// refuses. Takes 0.2 µs if none of them runs, otherwise up to 20 µs.
pub(crate) fn barrier(scope: Scope) -> bool {
    membarrier(match scope {
        Scope::Process => libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED,
        Scope::Machine => libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED,
    })
}

fn membarrier(command: c_int) -> bool {
    // WHY: miri does not know the call; there, as under an old kernel, both sides use fences.
    if cfg!(miri) {
        return false;
    }
    let (flags, cpu): (c_int, c_int) = (0, 0);
    // SAFETY: the call takes no pointer.
    let done: c_long = unsafe { libc::syscall(libc::SYS_membarrier, command, flags, cpu) };
    done == 0
}
