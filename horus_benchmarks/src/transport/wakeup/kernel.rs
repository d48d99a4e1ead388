//! Mechanisms of the kernel that wake a process: a futex and a pipe.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use super::{AnyError, Lines, Sleeper, WakeSender, make_sleeper};
use crate::measure::lines::SharedCacheLines;
use crate::measure::wait::{STALL_LIMIT, WaitError};
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

/// Returns the word on which the futex waits. It is the number of messages sent so far.
fn futex_word(lines: &SharedCacheLines) -> &AtomicU64 {
    &lines.line(0).words[0]
}

pub(super) fn futex_waker(lines: &Lines) -> WakeSender {
    let lines = Arc::clone(lines);
    Box::new(move |message| {
        post_message(&lines, message);
        // ORDERING(wakeup): Release. Pairs with the Acquire in `futex_sleeper`: a sleeper that sees
        // the count sees the message.
        futex_word(&lines).fetch_add(1, atomic::Ordering::Release);
        let word = futex_word(&lines).as_ptr().cast::<u32>();
        // SAFETY: the word is mapped; its low half is what the other end sleeps on.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, 1) };
        Ok(())
    })
}

pub(super) fn futex_sleeper(lines: &Lines) -> Sleeper {
    let lines = Arc::clone(lines);
    let mut seen = 0;
    make_sleeper(move || {
        let timeout = libc::timespec {
            tv_sec: STALL_LIMIT.as_secs() as _,
            tv_nsec: 0,
        };
        let word = futex_word(&lines).as_ptr().cast::<u32>();
        let timeout = &raw const timeout;
        // SAFETY: the word is mapped, and the timeout readable for the call.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word,
                libc::FUTEX_WAIT,
                seen as u32,
                timeout,
            )
        };
        // ORDERING(wakeup): Acquire. Pairs with the Release in `futex_waker`.
        let now = futex_word(&lines).load(atomic::Ordering::Acquire);
        if now == seen {
            return Err(WaitError::Stalled.into());
        }
        seen = now;
        Ok(fetch_message(&lines))
    })
}

fn open_pipe(rendezvous: &Rendezvous<'_>) -> Result<File, AnyError> {
    let path = rendezvous
        .directory()
        .join(rendezvous.shared_direction().name)
        .with_extension("pipe");
    Ok(stream::open_fifo(&path, 0)?)
}

pub(super) fn pipe_waker(rendezvous: &Rendezvous<'_>) -> Result<WakeSender, AnyError> {
    let mut pipe = open_pipe(rendezvous)?;
    Ok(Box::new(move |message| {
        Ok(pipe.write_all(horus_shm::bytes_of(&message))?)
    }))
}

pub(super) fn pipe_sleeper(rendezvous: &Rendezvous<'_>) -> Result<Sleeper, AnyError> {
    let mut pipe = open_pipe(rendezvous)?;
    Ok(make_sleeper(move || {
        let mut message = Packet16 { words: [0; 2] };
        pipe.read_exact(bytemuck::bytes_of_mut(&mut message))?;
        Ok(message)
    }))
}
