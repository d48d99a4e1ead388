//! The signal SIGBUS: this library installs one handler, which forwards signals that do not concern
//! the library to the previous handler.
//!
//! Code in this file that runs in a signal handler uses only atomics and plain system calls: it
//! neither allocates nor locks.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

use crate::os::region::Access;

/// The command of the `membarrier` system call that executes a barrier in all running threads of
/// this process. From `linux/membarrier.h`; libc does not define it for every target.
const MEMBARRIER_PRIVATE_EXPEDITED: c_int = 1 << 3;
/// The command of the `membarrier` system call by which a process registers for
/// [`MEMBARRIER_PRIVATE_EXPEDITED`]. From `linux/membarrier.h`.
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

/// Maximum number of attempts to replace a mapping by zeros. WHY more than one: of several threads
/// that access the same truncated file, one may replace the mapping after another one has unlocked
/// it, so that the other one has to unlock it again. Each thread does so only once.
const MAP_ZEROS_ATTEMPTS_MAX: u32 = 64;

/// The type of a signal handler that receives details of the signal (flag `SA_SIGINFO`).
pub(crate) type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// The action for SIGBUS that was set when this library installed its handler; null before that. It
/// is never changed or freed.
static PREVIOUS_SIGBUS_ACTION: AtomicPtr<sigaction> = AtomicPtr::new(ptr::null_mut());
/// True once the SIGBUS handler that was installed before has run, if it was to run only once
/// (`SA_RESETHAND`).
static PREVIOUS_HANDLER_HAS_RUN: AtomicBool = AtomicBool::new(false);

/// Installs `handler` as the handler of SIGBUS, and keeps the previous handler. May be called only
/// once in a process.
pub(crate) fn install_sigbus_handler(handler: Handler) -> io::Result<()> {
    let previous = current_sigbus_action()?;
    let mut ours = previous;
    ours.sa_sigaction = handler as usize;
    // WHY on the signal stack: threads of std and of other languages may have small stacks. WHY
    // restarting: a SIGBUS from `kill` should not interrupt system calls.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the set is valid for the write.
    unsafe { libc::sigemptyset(&mut ours.sa_mask) };
    // WHY stored first: the next fault may come at once, in another thread.
    // ORDERING(previous): Release. Pairs with the load in `forward_to_previous_action`.
    PREVIOUS_SIGBUS_ACTION.store(Box::into_raw(Box::new(previous)), Ordering::Release);
    let mut replaced = previous;
    // SAFETY: both actions are valid; the handler does only what is allowed in one.
    if unsafe { libc::sigaction(libc::SIGBUS, &ours, &mut replaced) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if replaced.sa_sigaction != previous.sa_sigaction {
        // WHY: another thread installed a handler meanwhile.
        // ORDERING(previous): Release. Pairs with the load in `forward_to_previous_action`.
        PREVIOUS_SIGBUS_ACTION.store(Box::into_raw(Box::new(replaced)), Ordering::Release);
    }
    Ok(())
}

fn current_sigbus_action() -> io::Result<sigaction> {
    let mut action = MaybeUninit::<sigaction>::uninit();
    // SAFETY: `action` is valid for the write, and null means no change.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), action.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled `action`.
    Ok(unsafe { action.assume_init() })
}

/// Returns the address of the access that raised the signal, if the cause is that the file does not
/// hold that page, or no longer does; otherwise `None`.
///
/// # Safety
///
/// `info` was passed by the kernel to a handler of SIGBUS.
pub(crate) unsafe fn missing_page_address(info: *const siginfo_t) -> Option<*mut u8> {
    // SAFETY: the kernel passed a valid `info`, by the contract.
    let info = unsafe { &*info };
    // SAFETY: the kernel fills in the address with this code.
    (info.si_code == libc::BUS_ADRERR).then(|| unsafe { info.si_addr() }.cast())
}

/// Calls `body` inside a signal handler, and then restores `errno`, which the interrupted code may
/// be about to read.
pub(crate) fn preserve_errno<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: the call takes nothing and cannot fail.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: always valid, and this thread's own.
    let before = unsafe { errno.read() };
    let answer = body();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    answer
}

/// Replaces a mapping by zeroed private memory. Returns false if the kernel refuses.
/// Async-signal-safe.
///
/// # Safety
///
/// A mapping of the caller begins at `address` and has `bytes` bytes. No code relies on its
/// content.
pub(crate) unsafe fn replace_by_zeros(address: *mut u8, bytes: usize, access: Access) -> bool {
    let protection = match access {
        Access::Read | Access::ReadWritable => libc::PROT_READ,
        Access::Write => libc::PROT_READ | libc::PROT_WRITE,
    };
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    (0..MAP_ZEROS_ATTEMPTS_MAX).any(|_| {
        // WHY: if the program locks its memory (`mlockall`), the kernel counts the new mapping
        // against RLIMIT_MEMLOCK before it removes the old one, and refuses it if the process may
        // not lock both. WHY the error is ignored: memory that was never locked needs no unlocking.
        // SAFETY: the mapping is the caller's, and its content stays.
        unsafe { libc::munlock(address.cast(), bytes) };
        // SAFETY: replaces a mapping of the caller's, by the contract.
        let map = unsafe { libc::mmap(address.cast(), bytes, protection, flags, -1, 0) };
        map != libc::MAP_FAILED
    })
}

/// Replaces a mapping by a private mapping of a part of a file. The kernel copies a page when it is
/// written. Returns false if the kernel refuses. Async-signal-safe.
///
/// # Safety
///
/// A mapping of the caller begins at `address` and has `bytes` bytes. No code relies on its content
/// staying the same.
pub(crate) unsafe fn replace_by_private_mapping(
    address: *mut u8,
    bytes: usize,
    fd: c_int,
    offset: u64,
) -> bool {
    let Ok(offset) = libc::off_t::try_from(offset) else {
        return false;
    };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_NORESERVE;
    // SAFETY: replaces a mapping of the caller's, by the contract.
    let map = unsafe { libc::mmap(address.cast(), bytes, protection, flags, fd, offset) };
    map != libc::MAP_FAILED
}

/// Makes a mapping read-only, so that a write to it ends the process. Returns false if the kernel
/// refuses. Async-signal-safe.
///
/// # Safety
///
/// A mapping of the caller begins at `address` and has `bytes` bytes.
pub(crate) unsafe fn forbid_writes(address: *mut u8, bytes: usize) -> bool {
    // SAFETY: the mapping is the caller's by the contract; its content stays.
    unsafe { libc::mprotect(address.cast(), bytes, libc::PROT_READ) == 0 }
}

/// Executes a full memory barrier in every running thread of this process, if the kernel supports
/// it. Async-signal-safe.
pub(crate) fn execute_barrier_in_all_threads() {
    for command in [
        MEMBARRIER_REGISTER_PRIVATE_EXPEDITED,
        MEMBARRIER_PRIVATE_EXPEDITED,
    ] {
        // SAFETY: the call takes no pointer.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    }
}

/// Runs the SIGBUS action that was set before this library installed its handler, as the kernel
/// would have done without the library.
///
/// # Safety
///
/// It is called in this library's handler, with the arguments from the kernel.
pub(crate) unsafe fn forward_to_previous_action(
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    // ORDERING(previous): Acquire. Pairs with the store in `install_sigbus_handler`.
    let previous = PREVIOUS_SIGBUS_ACTION.load(Ordering::Acquire);
    // SAFETY: null, or made by `install_sigbus_handler`, and neither changed nor freed since then.
    let Some(previous) = (unsafe { previous.as_ref() }) else {
        return;
    };
    // SAFETY: the kernel passed a valid `info`, by the contract.
    let code = unsafe { (*info).si_code };
    // WHY: an unhandled fault is raised again; a signal that was sent is not.
    let recurs = code > 0 && code != libc::BUS_MCEERR_AO;
    let once = previous.sa_flags & libc::SA_RESETHAND != 0;
    let spent = once && PREVIOUS_HANDLER_HAS_RUN.swap(true, Ordering::Relaxed);
    match previous.sa_sigaction {
        libc::SIG_IGN if !recurs => {}
        libc::SIG_DFL | libc::SIG_IGN => restore_default_action(signal, recurs),
        _ if spent => restore_default_action(signal, recurs),
        // SAFETY: the arguments are the kernel's by the contract; the kernel would have run this
        // action.
        _ => unsafe { run_handler(previous, signal, info, context) },
    }
}

/// Restores the default action of `signal`, which ends the process when the signal is raised again.
/// If `will_recur` is true, the signal was caused by a fault, which happens again after the handler
/// returns. Otherwise this function sends the signal again.
fn restore_default_action(signal: c_int, will_recur: bool) {
    // SAFETY: the number is that of a signal; the default action runs no code of this process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    if !will_recur {
        // SAFETY: the call takes no pointer. It takes effect when the handler returns.
        unsafe { libc::raise(signal) };
    }
}

/// Calls the handler in `action`, with the signal mask that `action` contains.
///
/// # Safety
///
/// The same as for [`forward_to_previous_action`]; in addition, `action` must have a handler.
unsafe fn run_handler(
    action: &sigaction,
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the set is valid. The kernel restores the mask when our handler returns.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &action.sa_mask, ptr::null_mut()) };
    // SAFETY: the set is valid.
    let is_masked = unsafe { libc::sigismember(&action.sa_mask, signal) } == 1;
    if action.sa_flags & libc::SA_NODEFER != 0 && !is_masked {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `set` is valid for the write.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: the set was made by the call above.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
        // SAFETY: as above.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut()) };
    }
    let handler: *const () = ptr::with_exposed_provenance(action.sa_sigaction);
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: with this flag the action is a function of this type.
        let handler: Handler = unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: without the flag the action is a function of this type.
        let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errno_is_kept() {
        // SAFETY: the call takes nothing and cannot fail.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: always valid, and this thread's own.
        unsafe { errno.write(libc::EXDEV) };
        // SAFETY: as above.
        preserve_errno(|| unsafe { errno.write(libc::ENOSYS) });
        // SAFETY: as above.
        assert_eq!(unsafe { errno.read() }, libc::EXDEV);
    }
}
