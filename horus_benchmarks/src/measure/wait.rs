//! Spinning for the other end without hanging when it is gone.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::time::{Duration, Instant};

/// The longest wait before the other end is taken for stuck.
pub const STALL_LIMIT: Duration = Duration::from_secs(10);

/// Looks at the memory between two looks at the world. Some microseconds: no wait that goes well
/// gets there.
const SPINS_PER_LOOK: u32 = 4096;

/// Looks between two questions whether the other end lives, which may cost a system call.
const LOOKS_PER_QUESTION: u32 = 256;

/// The reason why a wait ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The other end died or hung up.
    #[error("the other end is gone")]
    PeerGone,
    /// The other end lives, yet nothing came: a lost message, or a machine with no CPU for it.
    #[error("nothing came within {} s", STALL_LIMIT.as_secs())]
    Stalled,
}

/// A condition that one side sets for good and the other side watches.
#[derive(Debug, Clone, Default)]
pub struct Flag(Arc<AtomicBool>);

impl Flag {
    /// Sets the flag; it stays set.
    pub fn raise(&self) {
        // ORDERING(flag): Release. Pairs with the Acquire in `is_raised`: a thread that sees the
        // flag sees what its side did before.
        self.0.store(true, atomic::Ordering::Release);
    }

    /// Returns true if the flag was set.
    pub fn is_raised(&self) -> bool {
        // ORDERING(flag): Acquire. Pairs with the Release in `raise`.
        self.0.load(atomic::Ordering::Acquire)
    }
}

/// Watches the other end while spinning for it.
#[derive(Clone)]
pub struct Watch {
    gone: Arc<dyn Fn() -> bool + Send + Sync>,
    limit: Duration,
    share_cpu: bool,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches for `gone`, which is asked about once a millisecond of waiting.
    ///
    /// `share_cpu` says that both ends run on one CPU, so that waiting means giving it away.
    pub fn new(share_cpu: bool, gone: impl Fn() -> bool + Send + Sync + 'static) -> Watch {
        Watch {
            gone: Arc::new(gone),
            limit: STALL_LIMIT,
            share_cpu,
        }
    }

    /// Gives up on one wait after `limit` instead of [`STALL_LIMIT`].
    pub fn with_limit(self, limit: Duration) -> Watch {
        Watch { limit, ..self }
    }

    /// Calls `poll` until it returns something. Uses no `pause`: a `poll` that wants one brings it.
    #[inline(always)]
    pub fn spin_until<T>(&self, mut poll: impl FnMut() -> Option<T>) -> Result<T, WaitError> {
        let mut wait = Wait {
            looks: 0,
            since: None,
        };
        let spins = if self.share_cpu { 1 } else { SPINS_PER_LOOK };
        loop {
            for _ in 0..spins {
                if let Some(found) = poll() {
                    return Ok(found);
                }
            }
            self.look_up(&mut wait)?;
        }
    }

    #[cold]
    fn look_up(&self, wait: &mut Wait) -> Result<(), WaitError> {
        if self.share_cpu {
            std::thread::yield_now();
        }
        wait.looks += 1;
        let since = *wait.since.get_or_insert_with(Instant::now);
        if !wait.looks.is_multiple_of(LOOKS_PER_QUESTION) {
            return Ok(());
        }
        if (self.gone)() {
            return Err(WaitError::PeerGone);
        }
        if since.elapsed() > self.limit {
            return Err(WaitError::Stalled);
        }
        Ok(())
    }
}

/// One wait that has become long.
struct Wait {
    looks: u32,
    since: Option<Instant>,
}
