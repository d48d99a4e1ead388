//! Mechanisms of the kernel: a futex and a pipe.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use super::{AnyError, Sleeper, Waker};
use crate::measure::lines::SharedLines;
use crate::measure::wait::{STALL_LIMIT, WaitError};
use crate::transport::kernel::stream;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::ConnectionSide;

/// A futex word that counts messages, and the message beside it.
pub(super) struct Futex {
    lines: Arc<SharedLines>,
    seen: u64,
}

impl Futex {
    pub(super) fn new(lines: &Arc<SharedLines>) -> Self {
        Self {
            lines: Arc::clone(lines),
            seen: 0,
        }
    }

    fn word(&self) -> &AtomicU64 {
        &self.lines.line(0).words[0]
    }
}

/// Stores a message in the first line, for mechanisms that carry no message.
pub(super) fn post(lines: &SharedLines, message: Packet16) {
    let words = &lines.line(0).words;
    // Relaxed: whatever wakes the other end orders them.
    words[1].store(message.words[0], atomic::Ordering::Relaxed);
    words[2].store(message.words[1], atomic::Ordering::Relaxed);
}

/// Loads the message that was stored last.
pub(super) fn fetch(lines: &SharedLines) -> Packet16 {
    let words = &lines.line(0).words;
    // Relaxed: as in `post`.
    Packet16 {
        words: [1, 2].map(|index: usize| words[index].load(atomic::Ordering::Relaxed)),
    }
}

impl Waker for Futex {
    fn send(&mut self, message: Packet16) -> Result<(), AnyError> {
        post(&self.lines, message);
        // ORDERING(wakeup): Release. Pairs with the Acquire in `sleep`: a sleeper that sees the
        // count sees the message.
        self.word().fetch_add(1, atomic::Ordering::Release);
        let word = self.word().as_ptr().cast::<u32>();
        // SAFETY: the word is mapped; its low half is what the other end sleeps on.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, 1) };
        Ok(())
    }
}

impl Sleeper for Futex {
    fn sleep(&mut self) -> Result<Packet16, AnyError> {
        let timeout = libc::timespec {
            tv_sec: STALL_LIMIT.as_secs() as _,
            tv_nsec: 0,
        };
        let word = self.word().as_ptr().cast::<u32>();
        let seen = self.seen as u32;
        let timeout = &raw const timeout;
        // SAFETY: the word is mapped, and the timeout readable for the call.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, seen, timeout) };
        // ORDERING(wakeup): Acquire. Pairs with the Release in `send`.
        let now = self.word().load(atomic::Ordering::Acquire);
        if now == self.seen {
            return Err(WaitError::Stalled.into());
        }
        self.seen = now;
        Ok(fetch(&self.lines))
    }
}

/// One end of a named pipe.
pub(super) struct Pipe {
    file: File,
}

impl Pipe {
    pub(super) fn open(place: &ConnectionSide<'_>) -> Result<Self, AnyError> {
        let path = place.directory().join(place.there()).with_extension("pipe");
        Ok(Self {
            file: stream::fifo(&path, 0)?,
        })
    }
}

impl Waker for Pipe {
    fn send(&mut self, message: Packet16) -> Result<(), AnyError> {
        Ok(self.file.write_all(horus_shm::bytes_of(&message))?)
    }
}

impl Sleeper for Pipe {
    fn sleep(&mut self) -> Result<Packet16, AnyError> {
        let mut words = [[0; 8]; 2];
        self.file.read_exact(words.as_flattened_mut())?;
        Ok(Packet16 {
            words: words.map(u64::from_ne_bytes),
        })
    }
}
