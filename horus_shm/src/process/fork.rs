//! Fork handling: a child must not inherit lock descriptors, writable shared memory, or state
//! behind locks of threads that it does not have.
//!
//! An open file description keeps its locks until its last descriptor is closed, and `fork` copies
//! descriptors. A child would keep its parent alive for all other processes; so it closes each
//! [`LockFd`] before `fork` returns in it. `vfork` and `posix_spawn` run no handlers; there `exec`
//! closes the descriptors, which are all `O_CLOEXEC`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

use thiserror::Error;

use crate::os::descriptor::{self, CheckedFd};
use crate::os::fault;
use crate::os::lock::{LockRange, unlock};

/// Maximum number of lock descriptors of one process: one for each open namespace.
pub(crate) const LOCK_FD_LIMIT: usize = 64;

/// Number of times, a millisecond apart, that [`LockFd::open`] waits for forks in other threads to
/// end.
const FORK_WAIT_LIMIT: u32 = 1000;

const NO_FD: i32 = -1;

static EPOCH: AtomicU64 = AtomicU64::new(0);
static FORKS_BEGUN: AtomicU64 = AtomicU64::new(0);
static FORKS_ENDED: AtomicU64 = AtomicU64::new(0);
static LOCK_FDS: [AtomicI32; LOCK_FD_LIMIT] = [const { AtomicI32::new(NO_FD) }; LOCK_FD_LIMIT];
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Set by the handles of the C ABI.
static IN_CHILD: OnceLock<fn()> = OnceLock::new();

/// Returns the fork epoch: it grows with every fork, so it is greater here than in any ancestor
/// that used this library.
///
/// An object of another epoch belongs to an ancestor. One relaxed load.
#[inline(always)]
pub fn fork_epoch() -> u64 {
    // Relaxed: only the child handler stores it, while its process has one thread.
    EPOCH.load(Ordering::Relaxed)
}

/// The reason why a lock descriptor could not be opened.
#[derive(Debug, Error)]
pub(crate) enum LockFdError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("all {LOCK_FD_LIMIT} lock descriptors of this process are in use")]
    TableFull,
    #[error("other threads kept forking")]
    Forking,
}

/// A descriptor whose open file description holds locks: closed by `fork` in the child.
#[derive(Debug)]
pub(crate) struct LockFd {
    fd: CheckedFd,
    /// Its number in the table.
    number: i32,
    index: usize,
    epoch: u64,
    /// True once the program was found to have closed the descriptor.
    lost: AtomicBool,
}

impl LockFd {
    /// Calls `open` until no fork fell between the call and the descriptor's registration.
    pub(crate) fn open(mut open: impl FnMut() -> io::Result<OwnedFd>) -> Result<Self, LockFdError> {
        install_handlers()?;
        for _ in 0..FORK_WAIT_LIMIT {
            let Some(forks) = forks_if_none_runs() else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            let lock_fd = Self::register(CheckedFd::new(open()?)?)?;
            // ORDERING(fork): SeqCst load after the SeqCst exchange in `register`. Pairs with
            // `before_fork`, as in Dekker's algorithm: either this load sees that a fork has begun,
            // or that fork's child finds the descriptor in its table.
            if FORKS_BEGUN.load(Ordering::SeqCst) == forks {
                return Ok(lock_fd);
            }
        }
        Err(LockFdError::Forking)
    }

    fn register(fd: CheckedFd) -> Result<Self, LockFdError> {
        let number = fd.get()?.as_raw_fd();
        for (index, place) in LOCK_FDS.iter().enumerate() {
            // ORDERING(fork): SeqCst store, before the load of `FORKS_BEGUN` in `open`.
            let order = (Ordering::SeqCst, Ordering::Relaxed);
            if place.compare_exchange(NO_FD, number, order.0, order.1).is_ok() {
                let (epoch, lost) = (fork_epoch(), AtomicBool::new(false));
                return Ok(Self { fd, number, index, epoch, lost });
            }
        }
        Err(LockFdError::TableFull)
    }

    /// Returns true if this is a copy in a forked child, where the descriptor is closed.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.epoch != fork_epoch()
    }

    /// Returns true once [`Self::get`] found that the program closed the descriptor: the locks are
    /// gone.
    pub(crate) fn is_lost(&self) -> bool {
        // Relaxed: ordered by the fault epoch.
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the descriptor; an error in a forked child, or if the program closed it.
    pub(crate) fn get(&self) -> io::Result<BorrowedFd<'_>> {
        if self.is_forked() {
            return Err(io::Error::other("the lock descriptor belongs to the parent process"));
        }
        // WHY permanent: another thread may be opening the same file under the same number.
        let fd = if self.is_lost() { Err(descriptor::closed_error()) } else { self.fd.get() };
        fd.inspect_err(|_| self.lose())
    }

    /// Marks the descriptor as lost, and advances the fault epoch, so that all endpoints notice.
    #[cold]
    fn lose(&self) {
        if self.lost.swap(true, Ordering::Relaxed) {
            return;
        }
        // WHY: a forked child would close the file that has the number by now.
        // ORDERING(fork): SeqCst, as in `drop`. Fails where the number is another's entry.
        let order = (Ordering::SeqCst, Ordering::Relaxed);
        let _ = LOCK_FDS[self.index].compare_exchange(self.number, NO_FD, order.0, order.1);
        fault::advance_epoch();
    }
}

impl Drop for LockFd {
    fn drop(&mut self) {
        // WHY: a child forked between the next two steps keeps the description open, and it must
        // hold no lock by then. The call cannot fail on a range that needs no split.
        let unlocked = self.get().and_then(|fd| unlock(fd, LockRange::ALL));
        // WHY: the handler, or the program, closed it: its number may be another file's by now.
        if unlocked.is_err() && (self.is_forked() || self.is_lost()) {
            return self.fd.forget();
        }
        // ORDERING(fork): SeqCst store. Pairs with `before_fork`: no child forked after the close
        // below closes the file that has the number by then.
        LOCK_FDS[self.index].store(NO_FD, Ordering::SeqCst);
    }
}

/// Returns the number of forks so far, or `None` while another thread is in one.
fn forks_if_none_runs() -> Option<u64> {
    // ORDERING(fork): SeqCst loads, ended before begun. Pairs with `before_fork` and
    // `after_fork_in_parent`: equal counts mean that no fork ran when `begun` was read.
    let ended = FORKS_ENDED.load(Ordering::SeqCst);
    let begun = FORKS_BEGUN.load(Ordering::SeqCst);
    (begun == ended).then_some(begun)
}

/// Installs the handlers once. If two threads both do it, the handlers run twice, which is
/// harmless.
pub(crate) fn install_handlers() -> io::Result<()> {
    // ORDERING(atfork): Acquire. Pairs with the Release below: a thread that sees true may rely on
    // later forks to run the handlers.
    if INSTALLED.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: the three functions live as long as the code that they are called from, and only do
    // what is allowed between fork and exec of a process with threads.
    let error = unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork))
    };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // ORDERING(atfork): Release. Pairs with the Acquire above.
    INSTALLED.store(true, Ordering::Release);
    Ok(())
}

/// Installs the handlers, and makes the child of every later fork call `hook` before `fork` returns
/// in it. `hook` may do what a signal handler may. Only the first hook is kept.
///
/// # Errors
///
/// The kernel's, for lack of memory.
pub fn run_in_child(hook: fn()) -> io::Result<()> {
    let _ = IN_CHILD.set(hook);
    install_handlers()
}

extern "C" fn before_fork() {
    // ORDERING(fork): SeqCst, before the kernel copies the table. Pairs with `LockFd::open`.
    FORKS_BEGUN.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn after_fork_in_parent() {
    // ORDERING(fork): SeqCst, after the kernel copied the table. Pairs with `forks_if_none_runs`.
    FORKS_ENDED.fetch_add(1, Ordering::SeqCst);
}

/// Runs in the child, in its only thread: atomics, `mmap` and `close` only.
extern "C" fn after_fork() {
    // Relaxed, all of it: there is no other thread.
    EPOCH.fetch_add(1, Ordering::Relaxed);
    fault::make_regions_private();
    fault::advance_epoch();
    if let Some(hook) = IN_CHILD.get() {
        hook();
    }
    FORKS_ENDED.store(FORKS_BEGUN.load(Ordering::Relaxed), Ordering::Relaxed);
    for place in &LOCK_FDS {
        let fd = place.swap(NO_FD, Ordering::Relaxed);
        if fd != NO_FD {
            // SAFETY: the descriptor's owner, a copy of a `LockFd`, sees the new epoch and neither
            // uses nor closes it.
            unsafe { libc::close(fd) };
        }
    }
}

/// A static that is made again in a forked child. If a thread of the parent held a mutex in it
/// during the fork, that mutex stays locked in a copy that is leaked and never used again.
#[derive(Debug)]
pub(crate) struct ForkLocal<T: 'static> {
    state: AtomicPtr<OfEpoch<T>>,
}

#[derive(Debug)]
struct OfEpoch<T> {
    epoch: u64,
    value: T,
}

impl<T: Default + Send + Sync + 'static> ForkLocal<T> {
    /// Creates a state that is made when it is first used.
    pub(crate) const fn new() -> Self {
        Self { state: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the state of this process.
    pub(crate) fn get(&self) -> &'static T {
        // ORDERING(fork-local): Acquire. Pairs with the exchange in `renew`: a thread that sees the
        // pointer sees the state behind it.
        let found = self.state.load(Ordering::Acquire);
        Self::current(found).unwrap_or_else(|| self.renew(found))
    }

    #[cold]
    fn renew(&self, mut found: *mut OfEpoch<T>) -> &'static T {
        // WHY: without handlers the epoch never changes, so a child would go on with the parent's
        // state. Installing them fails only for lack of memory, which opening a lock descriptor
        // reports.
        let _ = install_handlers();
        let fresh = Box::into_raw(Box::new(OfEpoch { epoch: fork_epoch(), value: T::default() }));
        loop {
            // ORDERING(fork-local): Release on success, Acquire on failure: the two halves of the
            // pair with `get` and with the exchange of another thread.
            let order = (Ordering::Release, Ordering::Acquire);
            found = match self.state.compare_exchange(found, fresh, order.0, order.1) {
                Ok(_) => fresh,
                Err(other) => other,
            };
            let Some(value) = Self::current(found) else { continue };
            if found != fresh {
                // SAFETY: made by `Box::into_raw` above and not published.
                drop(unsafe { Box::from_raw(fresh) });
            }
            return value;
        }
    }

    fn current(state: *mut OfEpoch<T>) -> Option<&'static T> {
        // SAFETY: null, or made by `Box::into_raw` in `renew`, only shared since then, and never
        // freed.
        let state: &'static OfEpoch<T> = unsafe { state.as_ref() }?;
        (state.epoch == fork_epoch()).then_some(&state.value)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Mutex;

    use super::*;

    /// Runs `body` in a forked child, and returns its result.
    fn fork(body: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child is a copy whose other threads are gone; `body` takes no lock of theirs.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the child without running the parent's destructors.
            unsafe { libc::_exit(i32::from(!body())) };
        }
        let mut status = 0;
        // SAFETY: `status` is valid for the write.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        status == 0
    }

    #[test]
    fn a_descriptor_that_a_fork_copied_before_it_was_registered_is_opened_again() {
        let mut calls = 0;
        let lock = LockFd::open(|| {
            calls += 1;
            let file = File::open("/dev/null")?;
            if calls == 1 {
                let fd = file.as_raw_fd();
                // SAFETY: the call takes no pointer.
                assert!(fork(|| unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0), "copied");
            }
            Ok(file.into())
        });
        let fd = lock.as_ref().unwrap().get().unwrap().as_raw_fd();
        assert!(calls > 1);
        // SAFETY: the call takes no pointer.
        assert!(fork(|| unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0), "closed");
        assert!(fork(|| lock.as_ref().unwrap().get().is_err()));
    }

    #[test]
    fn no_descriptor_is_opened_while_another_thread_forks() {
        before_fork();
        assert_eq!(forks_if_none_runs(), None);
        after_fork_in_parent();
    }

    #[test]
    fn a_forked_child_gets_a_fresh_state_though_a_thread_holds_the_mutex() {
        static STATE: ForkLocal<Mutex<u32>> = ForkLocal::new();
        let mut held = STATE.get().lock().unwrap();
        *held = 7;
        let is_fresh = || STATE.get().try_lock().is_ok_and(|value| *value == 0);
        assert!(fork(is_fresh), "the child found the parent's state");
        drop(held);
        assert_eq!(*STATE.get().lock().unwrap(), 7);
    }

    #[test]
    fn all_threads_get_the_same_state() {
        static STATE: ForkLocal<Mutex<u32>> = ForkLocal::new();
        let threads: Vec<_> =
            (0..8).map(|_| std::thread::spawn(|| std::ptr::from_ref(STATE.get()).addr())).collect();
        let addrs: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(addrs.iter().all(|&addr| addr == addrs[0]), "{addrs:?}");
    }
}
