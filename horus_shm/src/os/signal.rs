//! The signal SIGBUS: one handler of ours, and handing on to the one from before what is not ours.
//!
//! Whatever runs in a signal handler here makes plain system calls only: no allocation, no lock.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

use crate::os::region::Access;

/// `membarrier` commands, as in linux/membarrier.h; libc does not have them for every target.
const PRIVATE_EXPEDITED: c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

/// A handler as `SA_SIGINFO` asks for.
pub(crate) type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// What SIGBUS did before our handler; null until that is installed. What it points to is never
/// changed or freed.
static PREVIOUS: AtomicPtr<sigaction> = AtomicPtr::new(ptr::null_mut());
/// Set once a previous handler that was to run once (`SA_RESETHAND`) has run.
static SPENT: AtomicBool = AtomicBool::new(false);

/// Makes `handler` the one for SIGBUS; to be called once in a process.
pub(crate) fn install(handler: Handler) -> io::Result<()> {
    let previous = current()?;
    let mut ours = previous;
    ours.sa_sigaction = handler as usize;
    // WHY: on the signal stack, because std's and other languages' threads have little room on
    // their own; and restarting, because a SIGBUS from `kill` should interrupt nothing.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the set is valid for the write.
    unsafe { libc::sigemptyset(&mut ours.sa_mask) };
    // WHY: known before it can be needed: the next fault may come at once, in another thread.
    // ORDERING(previous): Release. Pairs with the load in `hand_on`.
    PREVIOUS.store(Box::into_raw(Box::new(previous)), Ordering::Release);
    let mut replaced = previous;
    // SAFETY: both actions are valid; the handler does only what is allowed in one.
    if unsafe { libc::sigaction(libc::SIGBUS, &ours, &mut replaced) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if replaced.sa_sigaction != previous.sa_sigaction {
        // Another thread was just installing one.
        // ORDERING(previous): Release. Pairs with the load in `hand_on`.
        PREVIOUS.store(Box::into_raw(Box::new(replaced)), Ordering::Release);
    }
    Ok(())
}

fn current() -> io::Result<sigaction> {
    let mut action = MaybeUninit::<sigaction>::uninit();
    // SAFETY: `action` is valid for the write, and null asks for no change.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), action.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled `action`.
    Ok(unsafe { action.assume_init() })
}

/// Where a fault is, if memory was touched that a file does not (or no longer) hold.
///
/// # Safety
///
/// `info` is what the kernel gave a handler of SIGBUS.
pub(crate) unsafe fn missing_page(info: *const siginfo_t) -> Option<*mut u8> {
    // SAFETY: the caller's contract.
    let info = unsafe { &*info };
    // SAFETY: the kernel fills in the address with this code.
    (info.si_code == libc::BUS_ADRERR).then(|| unsafe { info.si_addr() }.cast())
}

/// Runs `body`, a part of a handler, so that the interrupted code finds its `errno` again.
pub(crate) fn keep_errno<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: the call takes nothing and cannot fail.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: always valid, and this thread's own.
    let before = unsafe { errno.read() };
    let answer = body();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    answer
}

/// Puts zeroed private memory in the place of a mapping. Async-signal-safe.
///
/// # Safety
///
/// A mapping of the caller's begins at `address` and has `bytes` bytes; nobody minds its content.
pub(crate) unsafe fn map_zeros(address: *mut u8, bytes: usize, access: Access) -> bool {
    let protection = match access {
        Access::Read => libc::PROT_READ,
        Access::Write => libc::PROT_READ | libc::PROT_WRITE,
    };
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: replaces a mapping of the caller's, by the contract.
    let map = unsafe { libc::mmap(address.cast(), bytes, protection, flags, -1, 0) };
    map != libc::MAP_FAILED
}

/// Puts a private copy of a part of a file in the place of a mapping, made page by page when it is
/// written. Async-signal-safe.
///
/// # Safety
///
/// A mapping of the caller's begins at `address` and has `bytes` bytes. Nobody minds that its
/// content may be another.
pub(crate) unsafe fn map_private(address: *mut u8, bytes: usize, fd: c_int, offset: u64) -> bool {
    let Ok(offset) = libc::off_t::try_from(offset) else { return false };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_NORESERVE;
    // SAFETY: replaces a mapping of the caller's, by the contract.
    let map = unsafe { libc::mmap(address.cast(), bytes, protection, flags, fd, offset) };
    map != libc::MAP_FAILED
}

/// Makes a mapping read-only: a write ends the process. Async-signal-safe.
///
/// # Safety
///
/// A mapping of the caller's begins at `address` and has `bytes` bytes.
pub(crate) unsafe fn forbid_writes(address: *mut u8, bytes: usize) {
    // SAFETY: the caller's contract; the content stays.
    unsafe { libc::mprotect(address.cast(), bytes, libc::PROT_READ) };
}

/// Has every running thread of this process pass a full barrier, if the kernel knows how.
/// Async-signal-safe.
pub(crate) fn order_threads() {
    for command in [REGISTER_PRIVATE_EXPEDITED, PRIVATE_EXPEDITED] {
        // SAFETY: the call takes no pointer.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    }
}

/// Lets the handler from before have the signal, as if ours were not there.
///
/// # Safety
///
/// To be called in our handler, with what the kernel gave it.
pub(crate) unsafe fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // ORDERING(previous): Acquire. Pairs with the store in `install`.
    let previous = PREVIOUS.load(Ordering::Acquire);
    // SAFETY: null, or made by `install`, and neither changed nor freed since.
    let Some(previous) = (unsafe { previous.as_ref() }) else { return };
    // SAFETY: the caller's contract.
    let code = unsafe { (*info).si_code };
    // A fault comes again if nothing is done about it; what somebody sent does not.
    let recurs = code > 0 && code != libc::BUS_MCEERR_AO;
    let once = previous.sa_flags & libc::SA_RESETHAND != 0;
    let spent = once && SPENT.swap(true, Ordering::Relaxed);
    match previous.sa_sigaction {
        libc::SIG_IGN if !recurs => {}
        libc::SIG_DFL | libc::SIG_IGN => default(signal, recurs),
        _ if spent => default(signal, recurs),
        // SAFETY: the caller's contract; the action is one that the kernel would have run.
        _ => unsafe { run(previous, signal, info, context) },
    }
}

/// Restores the default and lets the signal come again. (The kernel ignores no fault.)
fn default(signal: c_int, recurs: bool) {
    // SAFETY: the signal's number is one; nothing of ours is behind the default.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    if !recurs {
        // SAFETY: the call takes no pointer. It takes effect when the handler returns.
        unsafe { libc::raise(signal) };
    }
}

/// Runs the handler of `action` under the signal mask that it asked for.
///
/// # Safety
///
/// As [`hand_on`]; the action has a handler.
unsafe fn run(action: &sigaction, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
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
        keep_errno(|| unsafe { errno.write(libc::ENOSYS) });
        // SAFETY: as above.
        assert_eq!(unsafe { errno.read() }, libc::EXDEV);
    }
}
