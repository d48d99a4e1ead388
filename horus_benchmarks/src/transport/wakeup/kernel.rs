//! Mechanisms of the kernel that wake a process: a futex and a pipe.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU32};

use rustix::thread::Timespec;
use rustix::thread::futex;

use super::{SharedLines, WakeupEnd};
use crate::Outcome;
use crate::measure::lines::SharedCacheLines;
use crate::measure::wait::{WAIT_TIMEOUT, WaitError};
use crate::transport::kernel::stream;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::Rendezvous;

/// Stores a message in the first shared line. Mechanisms that carry no message use it.
pub(super) fn post_message(lines: &SharedCacheLines, message: Packet16) {
    let words = &lines.line(0).words;
    // Relaxed: whatever wakes the other end orders them.
    words[1].store(message.words[0], atomic::Ordering::Relaxed);
    words[2].store(message.words[1], atomic::Ordering::Relaxed);
}

/// Returns the message that [`post_message`] stored last.
pub(super) fn fetch_message(lines: &SharedCacheLines) -> Packet16 {
    let words = &lines.line(0).words;
    // Relaxed: as in `post`.
    Packet16 {
        words: [1, 2].map(|index: usize| words[index].load(atomic::Ordering::Relaxed)),
    }
}

/// Opens one side of a bare futex. Its word is the number of messages sent so far.
pub(super) fn open_futex(rendezvous: &Rendezvous<'_>, lines: &SharedLines) -> WakeupEnd {
    let lines = Arc::clone(lines);
    if rendezvous.is_near_end() {
        return WakeupEnd::waker(move |message| {
            post_message(&lines, message);
            // ORDERING(wakeup): Release. Pairs with the Acquire below: a sleeper that sees the
            // count sees the message.
            futex_word(&lines).fetch_add(1, atomic::Ordering::Release);
            futex::wake(futex_word(&lines), futex::Flags::empty(), 1)?;
            Ok(())
        });
    }
    let mut seen = 0;
    WakeupEnd::sleeper(move || {
        let timeout = Timespec::try_from(WAIT_TIMEOUT)?;
        // WHY ignored: whatever ended the wait, the word says whether a message came.
        let _ = futex::wait(
            futex_word(&lines),
            futex::Flags::empty(),
            seen,
            Some(&timeout),
        );
        // ORDERING(wakeup): Acquire. Pairs with the Release above.
        let now = futex_word(&lines).load(atomic::Ordering::Acquire);
        if now == seen {
            return Err(WaitError::Stalled.into());
        }
        seen = now;
        Ok(fetch_message(&lines))
    })
}

fn futex_word(lines: &SharedCacheLines) -> &AtomicU32 {
    let word = lines.line(0).words[0].as_ptr().cast();
    // SAFETY: one half of an aligned word of the mapping, which both sides reach only through this
    // function.
    unsafe { AtomicU32::from_ptr(word) }
}

pub(super) fn open_pipe(rendezvous: &Rendezvous<'_>) -> Outcome<WakeupEnd> {
    let name = rendezvous.shared_direction().name;
    let path = rendezvous.directory().join(name).with_extension("pipe");
    let mut pipe = stream::open_fifo(&path, 0)?;
    if rendezvous.is_near_end() {
        let send = move |message| Ok(pipe.write_all(horus_shm::bytes_of(&message))?);
        return Ok(WakeupEnd::waker(send));
    }
    Ok(WakeupEnd::sleeper(move || {
        let mut message = Packet16 { words: [0; 2] };
        pipe.read_exact(bytemuck::bytes_of_mut(&mut message))?;
        Ok(message)
    }))
}
