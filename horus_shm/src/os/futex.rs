//! Futexes, at which threads sleep, and `membarrier`, which executes a memory barrier on other
//! CPUs.

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use libc::{c_int, c_long};

/// A flag for `struct futex_waitv` that says that the word has 32 bits. From `linux/futex.h`; libc
/// does not define it.
const FUTEX2_SIZE_U32: u32 = 2;
const FUTEX2_PRIVATE: u32 = libc::FUTEX_PRIVATE_FLAG as u32;

/// Maximum number of words that one sleep can wait for: the kernel's `FUTEX_WAITV_MAX`.
pub(crate) const WAITV_MAX: usize = 128;

const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// The processes that a call affects: those whose threads sleep on a word, or those on whose CPUs a
/// barrier is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FutexScope {
    /// Only the threads of this process.
    Process,
    /// The threads of all processes of the machine; for a barrier, only those that have called
    /// [`register_for_membarrier`].
    Machine,
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs().min(i64::MAX as u64) as libc::time_t,
        tv_nsec: duration.subsec_nanos() as _,
    }
}

/// Sleeps until CLOCK_MONOTONIC reaches `deadline_ns` nanoseconds. Returns early if a signal
/// interrupts the sleep.
pub(crate) fn sleep_until(deadline_ns: u64) {
    let until = timespec(Duration::from_nanos(deadline_ns));
    let clock = libc::CLOCK_MONOTONIC;
    let flags = libc::TIMER_ABSTIME;
    // SAFETY: the time is valid, and an absolute sleep writes no remaining time.
    unsafe { libc::clock_nanosleep(clock, flags, &until, std::ptr::null_mut()) };
}

/// The reason why a sleep ended, or did not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FutexSleepOutcome {
    /// A wake or a signal ended the sleep; or it did not begin, because the word no longer had the
    /// expected value.
    SleepEnd,
    /// The sleep ended without a wake, because the timeout had passed.
    TimedOut,
    /// The sleep did not begin, because this kernel lacks the system call, or the system refuses
    /// it.
    Unsupported,
}

impl FutexSleepOutcome {
    /// Converts `answer`, the return value of a system call that has just been made. Reads `errno`
    /// if it is -1.
    fn from_syscall(answer: c_long) -> Self {
        let error = if answer < 0 {
            io::Error::last_os_error().raw_os_error()
        } else {
            None
        };
        match error {
            None | Some(libc::EAGAIN | libc::EINTR) => Self::SleepEnd,
            Some(libc::ETIMEDOUT) => Self::TimedOut,
            // WHY not ENOSYS alone: old seccomp filters of containers answer calls that they do not
            // know with EPERM.
            Some(_) => Self::Unsupported,
        }
    }
}

/// Sleeps while `word` has the value `expected`: until a thread wakes the caller, or for at most
/// `timeout`.
///
/// May return early for no reason.
pub(crate) fn wait(
    word: &AtomicU32,
    expected: u32,
    timeout: Duration,
    scope: FutexScope,
) -> FutexSleepOutcome {
    let operation = libc::FUTEX_WAIT | private_flag(scope);
    let timeout = timespec(timeout);
    let word = word.as_ptr();
    let timeout = &raw const timeout;
    // SAFETY: the word is valid for as long as it is borrowed, and the timeout for the call.
    FutexSleepOutcome::from_syscall(unsafe {
        libc::syscall(libc::SYS_futex, word, operation, expected, timeout)
    })
}

/// Wakes all threads that sleep on `word`. Returns the number of threads that it woke.
pub(crate) fn wake_all(word: &AtomicU32, scope: FutexScope) -> u32 {
    let operation = libc::FUTEX_WAKE | private_flag(scope);
    // SAFETY: the word is valid for as long as it is borrowed.
    let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, c_int::MAX) };
    u32::try_from(woken).unwrap_or(0)
}

const fn private_flag(scope: FutexScope) -> c_int {
    match scope {
        FutexScope::Process => libc::FUTEX_PRIVATE_FLAG,
        FutexScope::Machine => 0,
    }
}

/// One of several words on which a thread sleeps, and the value that the word must still have: the
/// kernel's `struct futex_waitv`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FutexWaitv {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

impl FutexWaitv {
    /// The value of the elements of an array that are not used.
    pub(crate) const UNUSED: Self = Self {
        value: 0,
        address: 0,
        flags: 0,
        reserved: 0,
    };

    pub(crate) fn new(word: &AtomicU32, expected: u32, scope: FutexScope) -> Self {
        let private = if scope == FutexScope::Process {
            FUTEX2_PRIVATE
        } else {
            0
        };
        let address = word.as_ptr().expose_provenance() as u64;
        Self {
            value: expected.into(),
            address,
            flags: FUTEX2_SIZE_U32 | private,
            reserved: 0,
        }
    }
}

/// Sleeps while each word in `waiters` has the value that is given with it: until a thread wakes
/// the caller, or for at most `timeout`.
///
/// May return early for no reason. Returns [`FutexSleepOutcome::Unsupported`] before Linux 5.16,
/// and where a filter refuses the call.
///
/// # Safety
///
/// The words stay valid during the call.
pub(crate) unsafe fn wait_any(waiters: &[FutexWaitv], timeout: Duration) -> FutexSleepOutcome {
    debug_assert!(waiters.len() <= WAITV_MAX);
    // WHY: miri does not know the call. The caller then polls, as under an old kernel.
    if cfg!(miri) {
        return FutexSleepOutcome::Unsupported;
    }
    let deadline = timespec(monotonic_time() + timeout);
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
    FutexSleepOutcome::from_syscall(woken)
}

/// Returns the present time of CLOCK_MONOTONIC.
pub(crate) fn monotonic_time() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is valid for the write; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0) % NANOS_PER_SECOND;
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), nanos)
}

/// Registers this process with the kernel, so that [`execute_barrier`] affects its threads. Returns
/// false if the kernel refuses.
pub(crate) fn register_for_membarrier(scope: FutexScope) -> bool {
    membarrier(match scope {
        FutexScope::Process => libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
        FutexScope::Machine => libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
    })
}

/// Executes a full memory barrier on every CPU that runs a registered process. Returns false if the
/// kernel refuses. Takes 0.2 µs if no CPU runs such a process, otherwise up to 20 µs.
pub(crate) fn execute_barrier(scope: FutexScope) -> bool {
    membarrier(match scope {
        FutexScope::Process => libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED,
        FutexScope::Machine => libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED,
    })
}

fn membarrier(command: c_int) -> bool {
    // WHY: miri does not know the call. Both sides then use fences, as under an old kernel.
    if cfg!(miri) {
        return false;
    }
    let (flags, cpu): (c_int, c_int) = (0, 0);
    // SAFETY: the call takes no pointer.
    let done: c_long = unsafe { libc::syscall(libc::SYS_membarrier, command, flags, cpu) };
    done == 0
}
