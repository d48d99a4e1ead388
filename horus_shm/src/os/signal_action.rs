//! The action of the operating system for a signal: reads it, and sets it again.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, sigaction};

/// The action that this process had for a signal at some time: a handler, or to ignore the signal,
/// or the default.
#[derive(Clone, Copy)]
pub struct SignalAction {
    signal: c_int,
    action: sigaction,
}

impl fmt::Debug for SignalAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalAction")
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}

impl SignalAction {
    /// Returns the present action for the signal with the number `signal`. Makes a system call.
    ///
    /// # Errors
    ///
    /// The error of the system call, if there is no such signal.
    pub fn load_current(signal: i32) -> io::Result<Self> {
        let mut action = MaybeUninit::<sigaction>::uninit();
        // SAFETY: the call writes to `action`, which is valid for that, and changes nothing.
        if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above has written it.
        let action = unsafe { action.assume_init() };
        Ok(Self { signal, action })
    }

    /// Sets this action again. Makes a system call. Its handler must still be loaded.
    pub fn restore(&self) {
        // WHY the result is ignored: the signal exists, and the action was valid.
        // SAFETY: the action is one that the process had.
        unsafe { libc::sigaction(self.signal, &raw const self.action, ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_that_was_replaced_is_set_again() {
        let default = SignalAction::load_current(libc::SIGUSR2).unwrap();
        let mut ignored = default;
        ignored.action.sa_sigaction = libc::SIG_IGN;
        ignored.restore();
        let present = SignalAction::load_current(libc::SIGUSR2).unwrap();
        assert_eq!(present.action.sa_sigaction, libc::SIG_IGN);
        default.restore();
        let present = SignalAction::load_current(libc::SIGUSR2).unwrap();
        assert_eq!(present.action.sa_sigaction, default.action.sa_sigaction);
        assert!(SignalAction::load_current(-1).is_err());
    }
}
