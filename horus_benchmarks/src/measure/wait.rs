//! Waits for the other end in a spin loop, and stops waiting if the other end has died.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum time of a wait without progress.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of polls in one inner loop of a wait, which takes a few microseconds. If both ends share
/// a CPU, the loop polls only once and then yields the CPU.
const POLLS_PER_LOOP: u32 = 4096;

/// Number of inner loops between two checks, which may need a system call.
const LOOPS_PER_PEER_CHECK: u32 = 256;

/// The reason why a wait for the other end failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The other end has died or has closed the connection.
    #[error("the other end is gone")]
    PeerGone,
    /// The other end is alive, but nothing has arrived: a message was lost, or the other end had no
    /// CPU.
    #[error("nothing came within {} s", WAIT_TIMEOUT.as_secs())]
    Stalled,
}

/// Detects that the other end has died while this end waits for it in a spin loop.
#[derive(Clone)]
pub struct OtherEndWatch {
    is_other_end_gone: Arc<dyn Fn() -> bool + Send + Sync>,
    timeout: Duration,
    share_cpu: bool,
    pauses: u32,
}

impl fmt::Debug for OtherEndWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("limit", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl OtherEndWatch {
    /// Creates a watch for the other end. Waits fail with [`WaitError::PeerGone`] when
    /// `is_other_end_gone` returns true, which a wait calls about once per millisecond. `share_cpu`
    /// must be true if both ends run on one CPU. Each wait then yields the CPU.
    pub fn new(
        share_cpu: bool,
        is_other_end_gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> OtherEndWatch {
        OtherEndWatch {
            is_other_end_gone: Arc::new(is_other_end_gone),
            timeout: WAIT_TIMEOUT,
            share_cpu,
            pauses: 0,
        }
    }

    /// Returns a watch whose waits last at most `timeout`, instead of [`WAIT_TIMEOUT`].
    pub fn with_timeout(self, timeout: Duration) -> OtherEndWatch {
        OtherEndWatch { timeout, ..self }
    }

    /// Returns a watch whose waits execute `pauses` pause instructions after each poll that found
    /// nothing, in addition to those that the poll itself executes.
    pub fn with_pauses_after_poll(self, pauses: u32) -> OtherEndWatch {
        OtherEndWatch { pauses, ..self }
    }

    /// Calls `poll` repeatedly until it returns a value.
    #[inline(always)]
    pub fn spin_until<T>(&self, mut poll: impl FnMut() -> Option<T>) -> Result<T, WaitError> {
        let mut wait = WaitState {
            inner_loops: 0,
            since: None,
        };
        let spins = if self.share_cpu { 1 } else { POLLS_PER_LOOP };
        loop {
            for _ in 0..spins {
                if let Some(found) = poll() {
                    return Ok(found);
                }
                for _ in 0..self.pauses {
                    std::hint::spin_loop();
                }
            }
            self.check_other_end_and_timeout(&mut wait)?;
        }
    }

    #[cold]
    fn check_other_end_and_timeout(&self, wait: &mut WaitState) -> Result<(), WaitError> {
        if self.share_cpu {
            std::thread::yield_now();
        }
        wait.inner_loops += 1;
        let since = *wait.since.get_or_insert_with(Instant::now);
        if !wait.inner_loops.is_multiple_of(LOOPS_PER_PEER_CHECK) {
            return Ok(());
        }
        self.check_wait(since)
    }

    /// Returns an error if the other end has died, or if a wait that began at `since` has taken too
    /// long.
    pub fn check_wait(&self, since: Instant) -> Result<(), WaitError> {
        if (self.is_other_end_gone)() {
            return Err(WaitError::PeerGone);
        }
        if since.elapsed() > self.timeout {
            return Err(WaitError::Stalled);
        }
        Ok(())
    }
}

/// The state of a wait that takes longer than one inner loop.
struct WaitState {
    inner_loops: u32,
    since: Option<Instant>,
}
