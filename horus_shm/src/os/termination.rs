//! Termination signals (SIGINT, SIGTERM, SIGHUP): the first one does not end the process at once,
//! but is recorded for the program.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, sigaction};

use crate::protocol::sync::Word;

/// The signals that ask a process to end, which [`TerminationSignals`] records.
const TERMINATION_SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// One word with the number of the first termination signal (0 if none was received), the time at
/// which it was received, and the flags `ARMED_FLAG` and `REPORTED_FLAG`. WHY one word: a thread
/// may be suspended in the handler while the last [`TerminationSignals`] is dropped. Either its
/// `drop` finds the signal here, or the handler finds `NOT_RECORDING`.
static SIGNAL_STATE: AtomicU64 = AtomicU64::new(NOT_RECORDING);
/// The value of [`SIGNAL_STATE`] while no [`TerminationSignals`] exists, so that signals are not
/// recorded.
const NOT_RECORDING: u64 = 0;
/// A flag in [`SIGNAL_STATE`]: at least one [`TerminationSignals`] exists, so the handler records
/// signals.
const ARMED_FLAG: u64 = 1 << 32;
/// A flag in [`SIGNAL_STATE`]: [`TerminationSignals::received`] has returned the recorded signal to
/// a caller.
const REPORTED_FLAG: u64 = 1 << 33;
/// The lowest bit of the time in [`SIGNAL_STATE`], which is [`time_ms`] without its highest bits.
const TIME_SHIFT: u32 = 34;

/// A signal that arrives within this time after the first one is a repetition of it. WHY: one
/// request often sends two signals. `timeout`, for example, signals its child and then the process
/// group, to which the child belongs.
const REPETITION_MS: u64 = 500;

static SIGNAL_RECORDERS: Mutex<SignalRecorders> = Mutex::new(SignalRecorders {
    count: 0,
    previous: Vec::new(),
});

/// The number of [`TerminationSignals`] that exist, and the signal actions that the first one has
/// replaced.
struct SignalRecorders {
    count: usize,
    /// The signals whose actions were replaced, with the actions that they had before.
    previous: Vec<(c_int, sigaction)>,
}

fn lock_recorders() -> MutexGuard<'static, SignalRecorders> {
    SIGNAL_RECORDERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// A recorder of termination signals. While at least one recorder exists in the process, the first
/// SIGINT, SIGTERM or SIGHUP is recorded for all of them. A second SIGINT or SIGTERM ends the
/// process at once, with exit status 128 plus the signal's number, if it arrives at least half a
/// second after the first signal. Before that, it counts as a repetition of the first signal, and
/// has no effect.
///
/// A second SIGHUP has no effect, because a closed terminal sends two: one from the kernel and one
/// from the shell. SIGHUP is not recorded if it is ignored, as `nohup` does.
///
/// When the last recorder is dropped, the previous signal actions are restored, unless the program
/// has set other actions in the meantime. If a signal was recorded, but [`Self::received`] has not
/// returned it, the signal is then sent to the process again, so that no signal is lost.
#[derive(Debug)]
pub struct TerminationSignals(());

impl TerminationSignals {
    /// Starts to record termination signals. Makes some system calls.
    ///
    /// # Errors
    ///
    /// The error of the system call; for example, a seccomp filter may forbid to install handlers.
    pub fn install() -> io::Result<Self> {
        let mut recorders = lock_recorders();
        if recorders.count == 0 {
            // Relaxed: the system calls below come long after it, and the handler depends on this
            // word only.
            SIGNAL_STATE.set(ARMED_FLAG);
            recorders.previous = replace_actions().inspect_err(|_| stop_recording())?;
        }
        recorders.count += 1;
        Ok(Self(()))
    }

    /// Returns the number of the first termination signal that was received; `None` if there was
    /// none. Costs one load.
    #[must_use]
    pub fn received(&self) -> Option<i32> {
        // Relaxed: a number; no other memory is read because of it.
        let state = SIGNAL_STATE.get();
        let signal = recorded_signal(state)?;
        // WHY a failure is ignored: while a recorder exists, only this call changes a word that has
        // a signal.
        SIGNAL_STATE.compare_exchange_relaxed(state, state | REPORTED_FLAG);
        Some(signal)
    }
}

impl Drop for TerminationSignals {
    fn drop(&mut self) {
        let mut recorders = lock_recorders();
        recorders.count -= 1;
        if recorders.count > 0 {
            return;
        }
        restore_actions(&std::mem::take(&mut recorders.previous));
        stop_recording();
    }
}

/// Returns the number of the signal that is recorded in `state`, a value of [`SIGNAL_STATE`];
/// `None` if none is recorded.
fn recorded_signal(state: u64) -> Option<c_int> {
    let number = (state & 0xff) as c_int;
    (number != 0).then_some(number)
}

/// Stops recording termination signals. If a signal was recorded but never returned by
/// [`TerminationSignals::received`], sends it to this process again. The caller must have restored
/// the previous signal actions before.
fn stop_recording() {
    let state = loop {
        let state = SIGNAL_STATE.get();
        if SIGNAL_STATE.compare_exchange_relaxed(state, NOT_RECORDING) {
            break state;
        }
    };
    if let (Some(signal), false) = (recorded_signal(state), state & REPORTED_FLAG != 0) {
        send_to_self(signal);
    }
}

/// Sends the signal with the number `signal` to this process.
fn send_to_self(signal: c_int) {
    // SAFETY: the call takes nothing and cannot fail.
    let this = unsafe { libc::getpid() };
    // SAFETY: the call takes no pointer, and the number is that of a signal.
    unsafe { libc::kill(this, signal) };
}

/// Returns the time of the monotonic clock, in milliseconds. May be called in a signal handler.
fn time_ms() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call is allowed in a handler, and `time` is valid for the write.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// Returns true if a signal that is received now is a repetition of the one in `state`, a value of
/// [`SIGNAL_STATE`].
fn is_repetition(state: u64) -> bool {
    // WHY shifted: the word has room for the lowest bits only, so the times wrap.
    let elapsed = (time_ms() << TIME_SHIFT).wrapping_sub(state & (u64::MAX << TIME_SHIFT));
    elapsed >> TIME_SHIFT < REPETITION_MS
}

/// The handler of termination signals. It records the first signal, ignores its repetitions, and
/// ends the process at the second one, unless that is SIGHUP.
extern "C" fn record_signal(signal: c_int) {
    let first = ARMED_FLAG | signal as u64 | time_ms() << TIME_SHIFT;
    // Relaxed: the word is self-contained, and `NOT_RECORDING` is stored after the system calls
    // that restored the previous actions.
    loop {
        match SIGNAL_STATE.get() {
            ARMED_FLAG if SIGNAL_STATE.compare_exchange_relaxed(ARMED_FLAG, first) => return,
            // Another thread was faster.
            ARMED_FLAG => {}
            // This thread was suspended until now: the previous action is to handle the signal.
            NOT_RECORDING => return crate::os::signal::preserve_errno(|| send_to_self(signal)),
            // WHY SIGHUP: a closed terminal sends it more than once.
            state if signal == libc::SIGHUP || is_repetition(state) => return,
            // SAFETY: allowed in a handler, and takes no pointer.
            _ => unsafe { libc::_exit(128 + signal) },
        }
    }
}

/// Returns the signal action that makes [`record_signal`] the handler.
fn recording_action() -> io::Result<sigaction> {
    let mut action = current_action(TERMINATION_SIGNALS[0])?;
    action.sa_sigaction = record_signal as *const () as usize;
    // WHY restarting: reads and writes of nodes should not be interrupted.
    action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the set is valid for the write.
    unsafe { libc::sigemptyset(&raw mut action.sa_mask) };
    Ok(action)
}

/// Makes [`record_signal`] the handler of all termination signals, except of SIGHUP if it is
/// ignored. Returns the signals with their former actions. If the action of one signal cannot be
/// replaced, restores those that were already replaced.
fn replace_actions() -> io::Result<Vec<(c_int, sigaction)>> {
    let mut replaced = Vec::new();
    for signal in TERMINATION_SIGNALS {
        let result = current_action(signal).and_then(|former| {
            if signal != libc::SIGHUP || former.sa_sigaction != libc::SIG_IGN {
                replaced.push((signal, replace_action(signal, &recording_action()?)?));
            }
            Ok(())
        });
        result.inspect_err(|_| restore_actions(&replaced))?;
    }
    Ok(replaced)
}

/// Restores the actions that [`replace_actions`] has replaced.
fn restore_actions(replaced: &[(c_int, sigaction)]) {
    for (signal, former) in replaced {
        restore_action(*signal, former);
    }
}

fn current_action(signal: c_int) -> io::Result<sigaction> {
    call_sigaction(signal, ptr::null())
}

fn replace_action(signal: c_int, action: &sigaction) -> io::Result<sigaction> {
    call_sigaction(signal, action)
}

/// Replaces the action of `signal` by `action`, unless that is null. Returns the action that was
/// set before.
fn call_sigaction(signal: c_int, action: *const sigaction) -> io::Result<sigaction> {
    let mut before = MaybeUninit::<sigaction>::uninit();
    // SAFETY: `action` is null or valid, as both callers pass it, and `before` is valid for the
    // write; the handler only does what is allowed in one.
    if unsafe { libc::sigaction(signal, action, before.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled `before`.
    Ok(unsafe { before.assume_init() })
}

/// Sets the action of `signal` back to `previous`, unless the program has replaced
/// [`record_signal`] in the meantime.
fn restore_action(signal: c_int, previous: &sigaction) {
    let is_ours = |action: &sigaction| action.sa_sigaction == record_signal as *const () as usize;
    if current_action(signal).is_ok_and(|action| is_ours(&action)) {
        // WHY ignored: the same call succeeded when the action was installed.
        let _ = replace_action(signal, previous);
    }
}
