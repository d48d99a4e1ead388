//! System calls of a victim that fail, or do only a part, because its tracer makes them.

use std::mem::offset_of;

use libc::user;

use super::{Stop, Victim};

/// The number that makes the kernel skip a system call, if it is stored at the entry.
const NO_CALL: i64 = -1;
const ARG_OFFSETS: [usize; 4] = [
    offset_of!(user, regs.rdi),
    offset_of!(user, regs.rsi),
    offset_of!(user, regs.rdx),
    offset_of!(user, regs.r10),
];
const NUMBER_OFFSET: i64 = offset_of!(user, regs.orig_rax) as i64;
const ANSWER_OFFSET: i64 = offset_of!(user, regs.rax) as i64;
const COUNT_OFFSET: i64 = offset_of!(user, regs.rdx) as i64;

/// A system call that a victim is about to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub number: i64,
    pub args: [i64; 4],
    /// It releases a lock on a range.
    pub unlocks: bool,
}

/// The fault of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is not made, and returns this error.
    Fails(i32),
    /// It is made, and returns this error nevertheless, as `close` does.
    Complains(i32),
    /// It is made for one byte only.
    Short,
}

impl Victim {
    /// Runs to the entry of the next system call; returns `None` if a mark comes first.
    pub fn next_call(&mut self) -> Option<Call> {
        if self.run_to_system_call() == Stop::Mark {
            return None;
        }
        let word = |offset: i64| self.word(libc::PTRACE_PEEKUSER, offset);
        let args = ARG_OFFSETS.map(|offset| word(offset as i64));
        let number = word(NUMBER_OFFSET);
        let locks = number == libc::SYS_fcntl && args[1] == i64::from(libc::F_OFD_SETLK);
        // The kind of a lock is the first field of its description.
        let unlocks = locks && self.peek(args[2]) as i16 == libc::F_UNLCK as i16;
        Some(Call {
            number,
            args,
            unlocks,
        })
    }

    /// Runs from the entry of a system call to its end.
    pub fn end_call(&mut self) {
        assert_eq!(self.run_to_system_call(), Stop::SystemCall);
    }

    /// Runs from the entry of a system call to its end, with `fault`.
    pub fn spoil_call(&mut self, fault: Fault) {
        match fault {
            Fault::Fails(_) => self.set_word(libc::PTRACE_POKEUSER, NUMBER_OFFSET, NO_CALL),
            Fault::Complains(_) => {}
            Fault::Short => self.set_word(libc::PTRACE_POKEUSER, COUNT_OFFSET, 1),
        }
        self.end_call();
        if let Fault::Fails(errno) | Fault::Complains(errno) = fault {
            self.set_word(libc::PTRACE_POKEUSER, ANSWER_OFFSET, -i64::from(errno));
        }
    }
}
