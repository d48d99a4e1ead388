//! Fork handling: makes sure that a forked child does not use descriptors that hold locks of its
//! parent, writable shared memory, or mutexes that threads of its parent have locked.
//!
//! An open file description keeps its locks until its last descriptor is closed, and `fork` copies
//! descriptors. If a child kept such a copy, its parent would look alive to all other processes
//! even after its death. A request that keeps CPUs awake lasts as long, too. So a fork handler
//! closes each [`LockFd`] in the child before `fork` returns there. `vfork` and `posix_spawn` run
//! no fork handlers. But all these descriptors are `O_CLOEXEC`, so `exec` closes them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

use thiserror::Error;

use crate::os::descriptor::{self, CheckedFd};
use crate::os::fault;
use crate::os::lock::{LockRange, unlock};
use crate::os::once::SetOnce;
use crate::os::termination;

/// Maximum number of lock descriptors that a process can have. Each open namespace needs one, and
/// so do all requests that keep CPUs awake together.
pub(crate) const LOCK_FD_LIMIT: usize = 64;

/// Maximum number of attempts of [`LockFd::open`] to open a descriptor while no thread forks. They
/// are a millisecond apart.
const LOCK_FD_OPEN_ATTEMPTS_MAX: u32 = 1000;

const NO_FD: i32 = -1;

static FORK_EPOCH: AtomicU64 = AtomicU64::new(0);
static FORKS_BEGUN: AtomicU64 = AtomicU64::new(0);
static FORKS_ENDED: AtomicU64 = AtomicU64::new(0);
static LOCK_FDS: [LockFdEntry; LOCK_FD_LIMIT] = [const { LockFdEntry::new() }; LOCK_FD_LIMIT];
static HANDLERS_INSTALLED: AtomicBool = AtomicBool::new(false);
/// The function that is called in a forked child, as [`set_fork_child_hook`] has set it. The C API
/// resets its handles there.
static FORK_CHILD_HOOK: SetOnce<fn()> = SetOnce::new();

/// A lock descriptor of this process, as the fork handler of a child finds it.
struct LockFdEntry {
    /// The number of the descriptor; [`NO_FD`] if the entry is free.
    number: AtomicI32,
    /// The device and the inode of its file. WHY: the program may have closed the descriptor, and
    /// have another file under its number, before this library noticed that.
    device: AtomicU64,
    inode: AtomicU64,
}

impl LockFdEntry {
    const fn new() -> Self {
        Self {
            number: AtomicI32::new(NO_FD),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
        }
    }
}

/// Returns the fork epoch, a number that grows with every fork. It is greater in a child than in
/// every ancestor that used this library.
///
/// An object that was created in another epoch belongs to an ancestor of this process. The call
/// costs one relaxed load.
#[inline(always)]
pub fn fork_epoch() -> u64 {
    // Relaxed: only the child handler stores it, while its process has one thread.
    FORK_EPOCH.load(Ordering::Relaxed)
}

/// The reason why the descriptor for a process's file locks could not be opened.
#[derive(Debug, Error)]
pub(crate) enum LockFdError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("all {LOCK_FD_LIMIT} lock descriptors of this process are in use")]
    TableFull,
    #[error("other threads kept forking")]
    Forking,
}

/// A file descriptor whose open file description holds locks, or a request to the kernel. In a
/// forked child, a fork handler closes the child's copy.
#[derive(Debug)]
pub(crate) struct LockFd {
    fd: CheckedFd,
    /// The number of the descriptor. It is registered in [`LOCK_FDS`] so that a forked child closes
    /// it.
    number: i32,
    index: usize,
    epoch: u64,
    /// True if it was found that the program has closed the descriptor, so that the locks are gone.
    lost: AtomicBool,
}

impl LockFd {
    /// Calls `open`, and registers the descriptor that it returns. If another thread forks between
    /// these two steps, the child keeps a copy of the descriptor, because the fork handler does not
    /// know it yet. In that case this function closes the descriptor and starts again.
    pub(crate) fn open(mut open: impl FnMut() -> io::Result<OwnedFd>) -> Result<Self, LockFdError> {
        install_handlers()?;
        for _ in 0..LOCK_FD_OPEN_ATTEMPTS_MAX {
            let Some(forks) = fork_count_if_none_running() else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            let lock_fd = Self::register(CheckedFd::new(open()?)?)?;
            // ORDERING(fork): SeqCst load after the SeqCst exchange in `register`. Pairs with
            // `count_fork_begun`, as in Dekker's algorithm: either this load sees that a fork has
            // begun, or that fork's child finds the descriptor in its table.
            if FORKS_BEGUN.load(Ordering::SeqCst) == forks {
                return Ok(lock_fd);
            }
        }
        Err(LockFdError::Forking)
    }

    fn register(fd: CheckedFd) -> Result<Self, LockFdError> {
        let number = fd.get()?.as_raw_fd();
        let (device, inode) = fd.file_id();
        for (index, entry) in LOCK_FDS.iter().enumerate() {
            // ORDERING(fork): SeqCst stores, before the load of `FORKS_BEGUN` in `open`.
            let order = (Ordering::SeqCst, Ordering::Relaxed);
            if entry
                .number
                .compare_exchange(NO_FD, number, order.0, order.1)
                .is_ok()
            {
                // ORDERING(fork): as above. A child that finds the number without these words does
                // not close it, which is as if the number was not there yet.
                entry.device.store(device, Ordering::SeqCst);
                entry.inode.store(inode, Ordering::SeqCst);
                let epoch = fork_epoch();
                let lost = AtomicBool::new(false);
                return Ok(Self {
                    fd,
                    number,
                    index,
                    epoch,
                    lost,
                });
            }
        }
        Err(LockFdError::TableFull)
    }

    /// Returns true if this value was inherited through `fork`. The descriptor is closed in the
    /// child.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.epoch != fork_epoch()
    }

    /// Returns true if [`Self::get`] has found that the program closed the descriptor, so that the
    /// file locks are gone.
    pub(crate) fn is_lost(&self) -> bool {
        // Relaxed: ordered by the fault epoch.
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the open descriptor. Returns an error in a forked child, and if the program has
    /// closed the descriptor.
    pub(crate) fn get(&self) -> io::Result<BorrowedFd<'_>> {
        if self.is_forked() {
            return Err(io::Error::other(
                "the lock descriptor belongs to the parent process",
            ));
        }
        // WHY an error for ever: another thread may have opened the same file under the same
        // number.
        let fd = if self.is_lost() {
            Err(descriptor::closed_fd_error())
        } else {
            self.fd.get()
        };
        fd.inspect_err(|_| self.mark_lost())
    }

    /// Marks the descriptor as closed by the program, and makes all endpoints of this process check
    /// for that.
    #[cold]
    fn mark_lost(&self) {
        if self.lost.swap(true, Ordering::Relaxed) {
            return;
        }
        // WHY: otherwise a forked child would close the file that has this number by now.
        // ORDERING(fork): SeqCst, as in `drop`. Fails where the number is another's entry.
        let order = (Ordering::SeqCst, Ordering::Relaxed);
        let entry = &LOCK_FDS[self.index].number;
        let _ = entry.compare_exchange(self.number, NO_FD, order.0, order.1);
        fault::advance_fault_epoch();
    }
}

impl Drop for LockFd {
    fn drop(&mut self) {
        // WHY: a child that is forked between the next two steps keeps the description open, and
        // that must hold no lock by then. The call cannot fail for lack of memory, because it
        // splits no range.
        let unlocked = self.get().and_then(|fd| unlock(fd, LockRange::ALL));
        // WHY not closed: the handler or the program has closed it, and its number may be another
        // file's by now.
        if unlocked.is_err() && (self.is_forked() || self.is_lost()) {
            return self.fd.leak();
        }
        // ORDERING(fork): SeqCst store. Pairs with `count_fork_begun`: no child forked after the
        // close below closes the file that has the number by then.
        LOCK_FDS[self.index].number.store(NO_FD, Ordering::SeqCst);
    }
}

/// Returns the number of forks of this process so far; `None` while a thread is forking.
fn fork_count_if_none_running() -> Option<u64> {
    // ORDERING(fork): SeqCst loads, ended before begun. Pairs with `count_fork_begun` and
    // `count_fork_ended`: equal counts mean that no fork ran when `begun` was read.
    let ended = FORKS_ENDED.load(Ordering::SeqCst);
    let begun = FORKS_BEGUN.load(Ordering::SeqCst);
    (begun == ended).then_some(begun)
}

/// Installs the fork handlers, if this process has not done so before. If two threads call this at
/// the same time for the first time, the handlers may be installed twice. They then run twice at
/// each fork, which is harmless.
pub(crate) fn install_handlers() -> io::Result<()> {
    // ORDERING(atfork): Acquire. Pairs with the Release below: a thread that sees true may rely on
    // later forks to run the handlers.
    if HANDLERS_INSTALLED.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: the three functions live as long as the code that they are called from, and only do
    // what is allowed between fork and exec of a process with threads.
    let error = unsafe {
        libc::pthread_atfork(
            Some(count_fork_begun),
            Some(count_fork_ended),
            Some(handle_fork_in_child),
        )
    };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // ORDERING(atfork): Release. Pairs with the Acquire above.
    HANDLERS_INSTALLED.store(true, Ordering::Release);
    Ok(())
}

/// Makes the child of every later fork call `hook` before `fork` returns in that child. `hook` may
/// do only what a signal handler may do. If this function is called more than once, only the first
/// hook is used. Also installs the fork handlers.
///
/// # Errors
///
/// The system error, if there is not enough memory to install the fork handlers.
pub fn set_fork_child_hook(hook: fn()) -> io::Result<()> {
    FORK_CHILD_HOOK.get_or_set(hook);
    install_handlers()
}

extern "C" fn count_fork_begun() {
    // ORDERING(fork): SeqCst, before the kernel copies the table. Pairs with `LockFd::open`.
    FORKS_BEGUN.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn count_fork_ended() {
    // ORDERING(fork): SeqCst, after the kernel copied the table. Pairs with
    // `fork_count_if_none_running`.
    FORKS_ENDED.fetch_add(1, Ordering::SeqCst);
}

/// The fork handler of the child. Because the child has only this thread, and locks may be held, it
/// uses only atomics and system calls that are allowed in a signal handler.
extern "C" fn handle_fork_in_child() {
    // Relaxed, all of it: there is no other thread.
    FORK_EPOCH.fetch_add(1, Ordering::Relaxed);
    fault::make_regions_private();
    fault::advance_fault_epoch();
    termination::stop_recording_in_child();
    if let Some(hook) = FORK_CHILD_HOOK.get() {
        hook();
    }
    FORKS_ENDED.store(FORKS_BEGUN.load(Ordering::Relaxed), Ordering::Relaxed);
    for entry in &LOCK_FDS {
        let fd = entry.number.swap(NO_FD, Ordering::Relaxed);
        let file = (
            entry.device.load(Ordering::Relaxed),
            entry.inode.load(Ordering::Relaxed),
        );
        if fd != NO_FD && descriptor::is_fd_of_file(fd, file) {
            // SAFETY: the descriptor's owner, a copy of a `LockFd`, sees the new epoch and neither
            // uses nor closes it.
            unsafe { libc::close(fd) };
        }
    }
}

/// The value of a static, which is re-created in a forked child. WHY: if a thread of the parent has
/// locked a mutex in the value during the fork, the mutex stays locked in the child's copy for
/// ever. The child leaks that copy and never uses it.
#[derive(Debug)]
pub struct ForkLocal<T: 'static> {
    state: AtomicPtr<EpochValue<T>>,
}

#[derive(Debug)]
struct EpochValue<T> {
    epoch: u64,
    value: T,
}

impl<T: Default + Send + Sync + 'static> ForkLocal<T> {
    /// Creates the static. Its value is created when it is first used in a process.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "it is for statics, which need a const function"
    )]
    pub const fn new() -> Self {
        Self {
            state: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Returns the value that belongs to this process (not to its parent). Creates the value at the
    /// first call.
    pub fn get(&self) -> &'static T {
        // ORDERING(fork-local): Acquire. Pairs with the exchange in `create_value`: a thread that
        // sees the pointer sees the state behind it.
        let found = self.state.load(Ordering::Acquire);
        Self::value_of_this_fork_epoch(found).unwrap_or_else(|| self.create_value(found))
    }

    #[cold]
    fn create_value(&self, mut found: *mut EpochValue<T>) -> &'static T {
        // WHY: without handlers the epoch never changes, and a child would use its parent's value.
        // Their installation fails only for lack of memory, which opening a lock descriptor
        // reports.
        let _ = install_handlers();
        let fresh = Box::into_raw(Box::new(EpochValue {
            epoch: fork_epoch(),
            value: T::default(),
        }));
        loop {
            // ORDERING(fork-local): Release on success, Acquire on failure: the two halves of the
            // pair with `get` and with the exchange of another thread.
            let order = (Ordering::Release, Ordering::Acquire);
            found = match self.state.compare_exchange(found, fresh, order.0, order.1) {
                Ok(_) => fresh,
                Err(other) => other,
            };
            let Some(value) = Self::value_of_this_fork_epoch(found) else {
                continue;
            };
            if found != fresh {
                // SAFETY: made by `Box::into_raw` above and not published.
                drop(unsafe { Box::from_raw(fresh) });
            }
            return value;
        }
    }

    fn value_of_this_fork_epoch(state: *mut EpochValue<T>) -> Option<&'static T> {
        // SAFETY: null, or made by `Box::into_raw` in `create_value`, only shared since then, and
        // never freed.
        let state: &'static EpochValue<T> = unsafe { state.as_ref() }?;
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
                let copied = fork(|| unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0);
                assert!(copied);
            }
            Ok(file.into())
        });
        let fd = lock.as_ref().unwrap().get().unwrap().as_raw_fd();
        assert!(calls > 1);
        // SAFETY: the call takes no pointer.
        let closed = fork(|| unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0);
        assert!(closed);
        assert!(fork(|| lock.as_ref().unwrap().get().is_err()));
    }

    #[test]
    fn no_descriptor_is_opened_while_another_thread_forks() {
        count_fork_begun();
        assert_eq!(fork_count_if_none_running(), None);
        count_fork_ended();
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
        let threads: Vec<_> = (0..8)
            .map(|_| std::thread::spawn(|| std::ptr::from_ref(STATE.get()).addr()))
            .collect();
        let addrs: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(addrs.iter().all(|&addr| addr == addrs[0]), "{addrs:?}");
    }
}
