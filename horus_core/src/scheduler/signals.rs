//! The signals that ask a process to end, if a scheduler is to act on them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Pending;
use signal_hook::{SigId, flag, low_level};

/// What asks a process to end.
const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// Handlers of the signals, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Signals {
    pending: Pending,
    second: Vec<SigId>,
}

impl Signals {
    /// Installs the handlers. The second signal ends the process.
    pub(super) fn install() -> io::Result<Self> {
        let (mut second, armed) = (Vec::new(), Arc::new(AtomicBool::new(false)));
        for signal in ENDING {
            // WHY in this order: the first signal finds the flag unset, and sets it.
            let end = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&armed));
            second.extend([end?, flag::register(signal, Arc::clone(&armed))?]);
        }
        Ok(Self { pending: Pending::new(ENDING)?, second })
    }

    /// The signal that has come, if one has. Does not wait.
    pub(super) fn received(&mut self) -> Option<i32> {
        self.pending.pending().next()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.second.drain(..).for_each(|id| _ = low_level::unregister(id));
    }
}
