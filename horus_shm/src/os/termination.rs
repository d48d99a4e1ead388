//! The handler of termination signals (SIGINT, SIGTERM, SIGHUP), which records the first one for
//! the program.
//!
//! Code in this file that runs in a signal handler, or in a forked child, uses only atomics and
//! plain system calls: it neither allocates nor locks.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use libc::{c_int, sigaction};

use crate::os::signal::preserve_errno;
use crate::protocol::sync::Word;

/// The signals that ask a process to end, which the handler records.
const TERMINATION_SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// One word with the number of the first termination signal (0 if none was received), the process
/// that has received it, the time of that, and the flags `RECORDING_FLAG` and `REPORTED_FLAG`. WHY
/// one word: a thread may be suspended in the handler during [`stop_recording`]. Either that call
/// finds the signal here, or the handler finds that the word has no `RECORDING_FLAG`.
///
/// Without that flag, signals are not recorded, and the word has a [`restored_action_flag`] for
/// each signal whose previous action was restored at the end of the last recording.
static SIGNAL_STATE: AtomicU64 = AtomicU64::new(0);
/// A flag in [`SIGNAL_STATE`]: the handler records signals.
const RECORDING_FLAG: u64 = 1 << 32;
/// A flag in [`SIGNAL_STATE`]: [`received_signal`] has returned the recorded signal to a caller.
const REPORTED_FLAG: u64 = 1 << 33;
/// The lowest bit of the receiver's process id in [`SIGNAL_STATE`]. The kernel gives no id of more
/// than 22 bits.
const PROCESS_ID_SHIFT: u32 = 8;
/// The bits of the receiver's process id in [`SIGNAL_STATE`].
const PROCESS_ID_MASK: u64 = 0xff_ffff << PROCESS_ID_SHIFT;
/// The lowest bit of the time in [`SIGNAL_STATE`], which is [`time_ms`] without its highest bits.
const TIME_SHIFT: u32 = 34;

/// A signal that arrives within this time after the first one is a repetition of it. WHY: one
/// request often sends two signals. `timeout`, for example, signals its child and then the process
/// group, to which the child belongs.
const REPETITION_MS_MAX: u64 = 500;

/// For each of [`TERMINATION_SIGNALS`], the action that [`record_signal`] has replaced last; null
/// if it has replaced none. These actions are never changed or freed. WHY: a signal handler, or a
/// forked child, may read them at any time.
static PREVIOUS_ACTIONS: [AtomicPtr<sigaction>; TERMINATION_SIGNALS.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; TERMINATION_SIGNALS.len()];

/// Starts to record termination signals. May be called only if they are not recorded at present.
///
/// # Errors
///
/// The error of the system call; for example, a seccomp filter may forbid to install handlers.
pub(crate) fn start_recording() -> io::Result<()> {
    // Relaxed: the system calls below come long after it, and the handler depends on this word
    // only.
    SIGNAL_STATE.set(RECORDING_FLAG);
    replace_actions().inspect_err(|_| stop_recording())
}

/// Returns the number of the first termination signal that was received; `None` if there was none.
/// Costs one load.
pub(crate) fn received_signal() -> Option<i32> {
    // Relaxed: a number; no other memory is read because of it.
    let state = SIGNAL_STATE.get();
    let signal = recorded_signal(state)?;
    // WHY a failure is ignored: while signals are recorded, only this call changes a word that has
    // a signal.
    SIGNAL_STATE.compare_exchange_relaxed(state, state | REPORTED_FLAG);
    Some(signal)
}

/// Returns the number of the signal that is recorded in `state`, a value of [`SIGNAL_STATE`];
/// `None` if none is recorded.
fn recorded_signal(state: u64) -> Option<c_int> {
    let number = (state & 0xff) as c_int;
    (state & RECORDING_FLAG != 0 && number != 0).then_some(number)
}

/// Returns the flag of `signal` in [`SIGNAL_STATE`] for a word without `RECORDING_FLAG`. It says
/// that the action of that signal was restored at the end of the recording.
const fn restored_action_flag(signal: c_int) -> u64 {
    1 << signal
}

/// Stops recording termination signals, and restores the previous actions. If a signal was recorded
/// but never returned by [`received_signal`], sends it to this process again.
pub(crate) fn stop_recording() {
    let state = swap_signal_state(restore_previous_actions());
    if let (Some(signal), false) = (recorded_signal(state), state & REPORTED_FLAG != 0) {
        send_to_self(signal);
    }
}

/// Makes this process, a forked child, handle termination signals as its parent would without this
/// library. WHY: nothing in the child reads the recorded signal.
pub(crate) fn stop_recording_in_child() {
    restore_previous_actions();
    let state = swap_signal_state(0);
    if let (Some(signal), true) = (recorded_signal(state), is_state_of_this_process(state)) {
        // It came after the fork, but before this call.
        send_to_self(signal);
    }
}

/// Sets [`SIGNAL_STATE`] to `new`. Returns its previous value.
fn swap_signal_state(new: u64) -> u64 {
    loop {
        let state = SIGNAL_STATE.get();
        if SIGNAL_STATE.compare_exchange_relaxed(state, new) {
            return state;
        }
    }
}

/// Returns true if this process has received the signal in `state`, a value of [`SIGNAL_STATE`],
/// and not the process that has forked this one.
fn is_state_of_this_process(state: u64) -> bool {
    state & PROCESS_ID_MASK == process_id_bits()
}

/// Returns the id of this process, at its place in [`SIGNAL_STATE`].
fn process_id_bits() -> u64 {
    (process_id() as u64) << PROCESS_ID_SHIFT & PROCESS_ID_MASK
}

/// Returns the id of this process. May be called in a signal handler.
fn process_id() -> c_int {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// Sends the signal with the number `signal` to this process.
fn send_to_self(signal: c_int) {
    // SAFETY: the call takes no pointer, and the number is that of a signal.
    unsafe { libc::kill(process_id(), signal) };
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
fn is_repeated_signal(state: u64) -> bool {
    // WHY shifted: the word has room for the lowest bits only, so the times wrap.
    let elapsed = (time_ms() << TIME_SHIFT).wrapping_sub(state & (u64::MAX << TIME_SHIFT));
    elapsed >> TIME_SHIFT < REPETITION_MS_MAX
}

/// The handler of termination signals. While signals are recorded, it records the first one,
/// ignores its repetitions, and ends the process at the second one, unless that is SIGHUP.
extern "C" fn record_signal(signal: c_int) {
    let first = RECORDING_FLAG | signal as u64 | process_id_bits() | time_ms() << TIME_SHIFT;
    // Relaxed: the word is self-contained, and the flag is cleared after the system calls that
    // restored the previous actions.
    loop {
        let state = SIGNAL_STATE.get();
        if state & RECORDING_FLAG == 0 {
            if preserve_errno(|| handle_late_signal(signal, state)) {
                return;
            }
            continue;
        }
        // WHY the process: a forked child may get the signal before its fork handler runs.
        if recorded_signal(state).is_none() || !is_state_of_this_process(state) {
            if SIGNAL_STATE.compare_exchange_relaxed(state, first) {
                return;
            }
            continue;
        }
        // WHY SIGHUP: a closed terminal sends it more than once.
        if signal == libc::SIGHUP || is_repeated_signal(state) {
            return;
        }
        // SAFETY: allowed in a handler, and takes no pointer.
        unsafe { libc::_exit(128 + signal) };
    }
}

/// Handles a signal that reaches [`record_signal`] while signals are not recorded. `state` is the
/// value of [`SIGNAL_STATE`] that says so. Sends the signal again if the previous action has to
/// handle it. Returns false if [`SIGNAL_STATE`] has changed, so that [`record_signal`] has to begin
/// again.
///
/// WHY not always: a handler that the program has installed during the recording may call
/// [`record_signal`]. That handler has got the signal already, and would get it again and again.
fn handle_late_signal(signal: c_int, state: u64) -> bool {
    let place = TERMINATION_SIGNALS.iter().position(|&one| one == signal);
    let previous = place.map(|place| &PREVIOUS_ACTIONS[place]);
    if previous.is_some_and(|previous| restore_action(signal, previous)) {
        // The program has set the action that it found while signals were recorded.
        send_to_self(signal);
        return true;
    }
    let flag = restored_action_flag(signal);
    if state & flag == 0 {
        return true;
    }
    // This thread was suspended until now, or a handler of the program calls this one. WHY only
    // once: in the second case, the signal comes here again.
    let is_first = SIGNAL_STATE.compare_exchange_relaxed(state, state & !flag);
    if is_first {
        send_to_self(signal);
    }
    is_first
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
/// ignored.
fn replace_actions() -> io::Result<()> {
    for (signal, previous) in TERMINATION_SIGNALS.into_iter().zip(&PREVIOUS_ACTIONS) {
        let former = current_action(signal)?;
        if signal == libc::SIGHUP && former.sa_sigaction == libc::SIG_IGN {
            continue;
        }
        // WHY before the action is replaced: another thread may fork right after that.
        store_previous_action(previous, former);
        store_previous_action(previous, replace_action(signal, &recording_action()?)?);
    }
    Ok(())
}

/// Makes `place` point to a copy of `action`, unless it does so already, or the action is that of
/// this library. WHY: each copy is leaked, and a program may run many schedulers.
fn store_previous_action(place: &AtomicPtr<sigaction>, action: sigaction) {
    let is_kept = previous_action(place).is_some_and(|kept| is_same_action(kept, &action));
    if !is_kept && !is_recording_action(&action) {
        // ORDERING(replaced): Release. Pairs with the load in `previous_action`: a thread that sees
        // the pointer sees the action.
        place.store(Box::into_raw(Box::new(action)), Ordering::Release);
    }
}

/// Returns the action to which `place`, an element of [`PREVIOUS_ACTIONS`], points.
fn previous_action(place: &AtomicPtr<sigaction>) -> Option<&'static sigaction> {
    // ORDERING(replaced): Acquire. Pairs with the store in `store_previous_action`.
    let action = place.load(Ordering::Acquire);
    // SAFETY: null, or made by `Box::into_raw` in `store_previous_action`, and neither changed nor
    // freed since then.
    unsafe { action.as_ref() }
}

fn is_same_action(one: &sigaction, other: &sigaction) -> bool {
    let blocks = |action: &sigaction, signal| {
        // SAFETY: the set is valid.
        unsafe { libc::sigismember(&raw const action.sa_mask, signal) == 1 }
    };
    one.sa_sigaction == other.sa_sigaction
        && one.sa_flags == other.sa_flags
        && (1..=libc::SIGRTMAX()).all(|signal| blocks(one, signal) == blocks(other, signal))
}

/// Returns true if the handler of `action` is [`record_signal`].
fn is_recording_action(action: &sigaction) -> bool {
    action.sa_sigaction == record_signal as *const () as usize
}

/// Restores the actions that [`replace_actions`] has replaced, unless the program has set others
/// in the meantime. Returns the [`restored_action_flag`]s of those that were restored.
fn restore_previous_actions() -> u64 {
    let restored = TERMINATION_SIGNALS.into_iter().zip(&PREVIOUS_ACTIONS);
    let restored = restored.filter(|(signal, previous)| restore_action(*signal, previous));
    restored.fold(0, |flags, (signal, _)| flags | restored_action_flag(signal))
}

/// Restores the action of `signal` to which `previous`, an element of [`PREVIOUS_ACTIONS`], points,
/// if the present action is that of this library. Returns true if it was restored.
fn restore_action(signal: c_int, previous: &AtomicPtr<sigaction>) -> bool {
    current_action(signal).is_ok_and(|action| is_recording_action(&action))
        && previous_action(previous).is_some_and(|action| replace_action(signal, action).is_ok())
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// ThreadSanitizer and miri find a race here if `replaced` is weaker.
    #[test]
    fn a_thread_that_finds_an_action_finds_it_whole() {
        let place = AtomicPtr::new(ptr::null_mut());
        thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: zeros are a valid action, that of `SIG_DFL`.
                let mut action: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
                action.sa_flags = libc::SA_RESTART;
                store_previous_action(&place, action);
            });
            let found = loop {
                match previous_action(&place) {
                    Some(found) => break found,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(found.sa_flags, libc::SA_RESTART);
        });
        // SAFETY: `store_previous_action` has made it by `Box::into_raw`, and nobody else has the
        // pointer now.
        drop(unsafe { Box::from_raw(place.into_inner()) });
    }
}
