//! A process under a tracer: it runs from mark to mark, instruction by instruction or system call
//! by system call, and can be stopped or killed between any two of them.

use std::io;
use std::path::Path;
use std::ptr::null_mut;

use crate::common::{Child, say};
use crate::spawn::die_with_parent;

/// The `si_code` of the trap of a `mark`; a single step has another.
const SI_KERNEL: i32 = 0x80;
/// The signal of a stop at a system call, which differs from that of a trap.
const SYSTEM_CALL_STOP: i32 = libc::SIGTRAP | 0x80;

/// The exit status of a victim that succeeds: a thread that panics ends with 0.
pub const EXIT_CODE: i32 = 77;

/// The offset of the instruction pointer among the registers.
const RIP_OFFSET: i64 = std::mem::offset_of!(libc::user, regs.rip) as i64;

/// Marks a place in the victim's code that the tracer runs to. Kills a process that is not traced.
#[inline(always)]
pub fn mark() {
    // SAFETY: a breakpoint changes neither registers nor memory.
    unsafe { core::arch::asm!("int3", options(nostack, preserves_flags)) };
}

/// Makes the parent the tracer of the calling thread of a child.
pub fn be_traced() {
    die_with_parent();
    horus_shm::internals::forbid_name_watch_thread();
    // SAFETY: the request takes no pointer.
    let traced = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), 0) };
    assert_eq!(traced, 0);
    // SAFETY: the call takes nothing and cannot fail.
    say(unsafe { libc::gettid() });
}

/// The reason why a victim stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Mark,
    Step,
    SystemCall,
    /// It ended with [`EXIT_CODE`].
    End,
    /// It touched memory that its file does not hold.
    Fault,
}

/// A child with a traced thread; killed when dropped.
pub struct Victim {
    child: Child,
    thread: i32,
    ended: bool,
}

impl Victim {
    /// Starts a child in `role`, which calls [`be_traced`] and then comes to a first mark.
    pub fn spawn(role: &str, dir: &Path) -> Self {
        let mut child = Child::spawn(role, dir);
        let thread = child.listen_u64() as i32;
        let mut victim = Self {
            child,
            thread,
            ended: false,
        };
        assert_eq!(victim.wait(), Stop::Mark);
        let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD;
        victim.request(libc::PTRACE_SETOPTIONS, options);
        victim
    }

    /// Returns the next line that the victim prints.
    pub fn listen(&mut self) -> String {
        self.child.listen()
    }

    /// Runs the victim to its next mark.
    pub fn run_to_mark(&mut self) {
        self.request(libc::PTRACE_CONT, 0);
        assert_eq!(self.wait(), Stop::Mark);
    }

    /// As [`Self::run_to_mark`], but lets the victim handle its faults; returns their number.
    pub fn run_to_mark_through_faults(&mut self) -> u64 {
        let mut faults = 0;
        let mut signal = 0;
        loop {
            self.request(libc::PTRACE_CONT, signal);
            match self.wait() {
                Stop::Fault => (faults, signal) = (faults + 1, libc::SIGBUS),
                stop => {
                    assert_eq!(stop, Stop::Mark);
                    return faults;
                }
            }
        }
    }

    /// Runs at most `count` instructions; returns how many there were before the next mark.
    pub fn step(&mut self, count: u64) -> u64 {
        (0..count)
            .take_while(|_| self.stop_after_one() == Stop::Step)
            .count() as u64
    }

    pub(super) fn stop_after_one(&mut self) -> Stop {
        self.request(libc::PTRACE_SINGLESTEP, 0);
        self.wait()
    }

    /// Returns the address of the next instruction.
    pub fn instruction_pointer(&self) -> i64 {
        self.word(libc::PTRACE_PEEKUSER, RIP_OFFSET)
    }

    pub(super) fn set_instruction_pointer(&mut self, address: i64) {
        self.set_word(libc::PTRACE_POKEUSER, RIP_OFFSET, address);
    }

    pub(super) fn peek(&self, address: i64) -> i64 {
        self.word(libc::PTRACE_PEEKTEXT, address)
    }

    pub(super) fn poke(&mut self, address: i64, code: i64) {
        self.set_word(libc::PTRACE_POKETEXT, address, code);
    }

    pub(super) fn word(&self, request: libc::c_uint, at: i64) -> i64 {
        // SAFETY: the address is the victim's; the memory of this process is not touched.
        unsafe { libc::ptrace(request, self.thread, at, 0) }
    }

    pub(super) fn set_word(&mut self, request: libc::c_uint, at: i64, word: i64) {
        // SAFETY: as in `word`.
        let done = unsafe { libc::ptrace(request, self.thread, at, word) };
        assert_eq!(done, 0, "request {request}: {}", io::Error::last_os_error());
    }

    /// Runs to the next entry to or exit from a system call, or to a mark.
    pub fn run_to_system_call(&mut self) -> Stop {
        self.request(libc::PTRACE_SYSCALL, 0);
        self.wait()
    }

    /// Kills the victim where it is, and returns when the kernel has released all of it.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.child.signal(libc::SIGKILL);
        let mut status = 0;
        // The tracer has to reap a traced thread before the process that it belongs to.
        // SAFETY: `status` is valid for the write.
        while unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) } == self.thread
            && libc::WIFSTOPPED(status)
        {}
        self.child.kill();
    }

    fn request(&mut self, request: libc::c_uint, data: i32) {
        // SAFETY: none of the requests that are made here takes a pointer.
        let done = unsafe { libc::ptrace(request, self.thread, null_mut::<u8>(), data) };
        assert_eq!(done, 0, "request {request}: {}", io::Error::last_os_error());
    }

    fn wait(&mut self) -> Stop {
        let mut status = 0;
        // SAFETY: `status` is valid for the write.
        let waited = unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL) };
        assert_eq!(waited, self.thread, "{}", io::Error::last_os_error());
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == EXIT_CODE {
            self.ended = true;
            return Stop::End;
        }
        assert!(
            libc::WIFSTOPPED(status),
            "the victim ended by itself: status {status:#x}"
        );
        match libc::WSTOPSIG(status) {
            SYSTEM_CALL_STOP => Stop::SystemCall,
            libc::SIGTRAP if self.trap_code() == SI_KERNEL => Stop::Mark,
            libc::SIGTRAP => Stop::Step,
            libc::SIGBUS => Stop::Fault,
            signal => panic!("the victim got signal {signal}"),
        }
    }

    fn trap_code(&self) -> i32 {
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let request = libc::PTRACE_GETSIGINFO;
        let to = info.as_mut_ptr();
        // SAFETY: `to` is valid for the write of one `siginfo_t`.
        let done = unsafe { libc::ptrace(request, self.thread, null_mut::<u8>(), to) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
        // SAFETY: plain integers, zeroed before and filled by the kernel.
        unsafe { info.assume_init() }.si_code
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.end();
    }
}
