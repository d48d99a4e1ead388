//! The signals that ask a process to end, noted instead of obeyed for a while.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, sigaction};

use crate::protocol::sync::Word;

/// What asks a process to end.
const ENDING: [c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// The number of the first of them that has come, 0 before; and the two bits below. WHY one word: a
/// thread may be in the handler, held up, while the last user goes. Either the user finds the
/// signal here, or the handler finds that nobody notes any more; never neither.
static STATE: AtomicU64 = AtomicU64::new(OFF);
/// Nobody notes signals.
const OFF: u64 = 0;
/// Somebody notes signals.
const ARMED: u64 = 1 << 32;
/// Somebody has been told of the one that has come.
const TOLD: u64 = 1 << 33;
static USERS: Mutex<Users> = Mutex::new(Users { count: 0, previous: None });

/// Who wants signals noted, and what they did before.
struct Users {
    count: usize,
    previous: Option<[sigaction; 2]>,
}

fn users() -> MutexGuard<'static, Users> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While one of these lives, the first SIGINT or SIGTERM is noted, and a second one ends the
/// process at once, with 128 and its number.
///
/// When the last one is dropped, the signals do what they did before, unless somebody has said
/// otherwise meanwhile. One that nobody has been told of is sent again then: none is lost.
#[derive(Debug)]
pub struct TerminationSignals(());

impl TerminationSignals {
    /// Begins to note signals. Some system calls.
    ///
    /// # Errors
    ///
    /// What the system says; a filter of system calls may forbid handlers.
    pub fn install() -> io::Result<Self> {
        let mut users = users();
        if users.count == 0 {
            // Relaxed: the system calls below are far behind it, and the handler tells by the word.
            STATE.set(ARMED);
            let first = noting().and_then(|action| exchange(ENDING[0], &action));
            let first = first.inspect_err(|_| STATE.set(OFF))?;
            let second = exchange(ENDING[1], &noting()?).inspect_err(|_| {
                let _ = exchange(ENDING[0], &first);
                disarm();
            })?;
            users.previous = Some([first, second]);
        }
        users.count += 1;
        Ok(Self(()))
    }

    /// The signal that has come, if one has. A load.
    #[must_use]
    pub fn received(&self) -> Option<i32> {
        // Relaxed: a number, because of which nothing else is read.
        let state = STATE.get();
        let signal = number(state)?;
        // It changes no more but by this, while somebody notes.
        STATE.compare_exchange_relaxed(state, state | TOLD);
        Some(signal)
    }
}

impl Drop for TerminationSignals {
    fn drop(&mut self) {
        let mut users = users();
        users.count -= 1;
        if users.count > 0 {
            return;
        }
        let previous = users.previous.take();
        for (signal, previous) in ENDING.into_iter().zip(previous.iter().flatten()) {
            put_back(signal, previous);
        }
        disarm();
    }
}

/// The signal that has come.
fn number(state: u64) -> Option<c_int> {
    let number = (state & 0xff) as c_int;
    (number != 0).then_some(number)
}

/// Notes no more; sends again what nobody has been told of. The signals do what they did before.
fn disarm() {
    let state = loop {
        let state = STATE.get();
        if STATE.compare_exchange_relaxed(state, OFF) {
            break state;
        }
    };
    if let (Some(signal), false) = (number(state), state & TOLD != 0) {
        send(signal);
    }
}

/// Sends this process a signal.
fn send(signal: c_int) {
    // SAFETY: the call takes nothing and cannot fail.
    let this = unsafe { libc::getpid() };
    // SAFETY: the call takes no pointer, and the number is that of a signal.
    unsafe { libc::kill(this, signal) };
}

/// Notes the first signal; the second ends the process.
extern "C" fn note(signal: c_int) {
    // Relaxed: a word that stands for itself, and `OFF` comes after the system calls that put back
    // what the signals did before.
    loop {
        match STATE.get() {
            ARMED if STATE.compare_exchange_relaxed(ARMED, ARMED | signal as u64) => return,
            // Another thread was quicker.
            ARMED => {}
            // This thread was held up until here: the signal does what it did before.
            OFF => return crate::os::signal::keep_errno(|| send(signal)),
            // SAFETY: allowed in a handler, and takes no pointer.
            _ => unsafe { libc::_exit(128 + signal) },
        }
    }
}

/// The action that notes a signal.
fn noting() -> io::Result<sigaction> {
    let mut action = current(ENDING[0])?;
    action.sa_sigaction = note as *const () as usize;
    // WHY restarting: what nodes read and write is not to be cut short.
    action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the set is valid for the write.
    unsafe { libc::sigemptyset(&raw mut action.sa_mask) };
    Ok(action)
}

fn current(signal: c_int) -> io::Result<sigaction> {
    change(signal, ptr::null())
}

fn exchange(signal: c_int, action: &sigaction) -> io::Result<sigaction> {
    change(signal, action)
}

/// Replaces what a signal does, if `action` is not null; what it did.
fn change(signal: c_int, action: *const sigaction) -> io::Result<sigaction> {
    let mut before = MaybeUninit::<sigaction>::uninit();
    // SAFETY: `action` is null or valid, as both callers have it, and `before` is valid for the
    // write; the handler does only what is allowed in one.
    if unsafe { libc::sigaction(signal, action, before.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled `before`.
    Ok(unsafe { before.assume_init() })
}

/// Has a signal do what it did before, if it does what we said.
fn put_back(signal: c_int, previous: &sigaction) {
    let is_ours = |action: &sigaction| action.sa_sigaction == note as *const () as usize;
    if current(signal).is_ok_and(|action| is_ours(&action)) {
        // It worked when it was installed.
        let _ = exchange(signal, previous);
    }
}
