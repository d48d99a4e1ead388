//! The system calls that a thread makes: each is caught, counted and executed.
//!
//! It uses Syscall User Dispatch of Linux 5.11, which needs no privilege and can be disabled again.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

#[cfg(all(target_arch = "x86_64", not(horus_sanitizer = "realtime")))]
pub use watched::{calls, look_away, watch};

/// Nothing is counted where it is not implemented.
#[cfg(not(all(target_arch = "x86_64", not(horus_sanitizer = "realtime"))))]
pub use unwatched::{calls, look_away, watch};

#[cfg(not(all(target_arch = "x86_64", not(horus_sanitizer = "realtime"))))]
mod unwatched {
    pub fn watch() {}

    pub fn look_away() {}

    pub fn calls() -> Option<Vec<(i64, u64)>> {
        None
    }
}

#[cfg(all(target_arch = "x86_64", not(horus_sanitizer = "realtime")))]
mod watched {
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

    const PR_SET_SYSCALL_USER_DISPATCH: libc::c_int = 59;
    const OFF: libc::c_ulong = 0;
    const ON: libc::c_ulong = 1;
    const ALLOW: u8 = 0;
    const BLOCK: u8 = 1;
    const SA_RESTORER: libc::c_ulong = 0x0400_0000;

    // The code that may make system calls while no other may: the call itself, and the return from
    // the handler.
    std::arch::global_asm!(
        "horus_kernel_begin:",
        "horus_kernel_call:",
        "mov rax, rdi",
        "mov rdi, [rsi]",
        "mov rdx, [rsi + 16]",
        "mov r10, [rsi + 24]",
        "mov r8, [rsi + 32]",
        "mov r9, [rsi + 40]",
        "mov rsi, [rsi + 8]",
        "syscall",
        "ret",
        "horus_kernel_return:",
        "mov eax, 15",
        "syscall",
        "ud2",
        "horus_kernel_end:",
    );

    unsafe extern "C" {
        static horus_kernel_begin: u8;
        static horus_kernel_end: u8;
        fn horus_kernel_call(number: i64, arguments: *const i64) -> i64;
        fn horus_kernel_return();
    }

    /// The struct that the kernel expects for `sigaction`.
    #[repr(C)]
    struct Action {
        handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void),
        flags: libc::c_ulong,
        restorer: unsafe extern "C" fn(),
        mask: u64,
    }

    thread_local! {
        static SELECTOR: AtomicU8 = const { AtomicU8::new(ALLOW) };
    }
    static HAS_WATCHED: AtomicBool = AtomicBool::new(false);
    static CALLS: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];

    extern "C" fn on_call(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes a handler with SA_SIGINFO its context, which is valid during
        // the call.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        let registers = &mut context.uc_mcontext.gregs;
        let number = registers[libc::REG_RAX as usize];
        CALLS[(number as usize).min(CALLS.len() - 1)].fetch_add(1, Ordering::Relaxed);
        let arguments = [
            libc::REG_RDI,
            libc::REG_RSI,
            libc::REG_RDX,
            libc::REG_R10,
            libc::REG_R8,
            libc::REG_R9,
        ]
        .map(|register| registers[register as usize]);
        // SAFETY: the arguments are those of the call that the thread was about to make.
        registers[libc::REG_RAX as usize] =
            unsafe { horus_kernel_call(number, arguments.as_ptr()) };
    }

    fn dispatch(mode: libc::c_ulong) -> bool {
        let begin = &raw const horus_kernel_begin;
        let end = &raw const horus_kernel_end;
        let (begin, bytes) = (begin as usize, end as usize - begin as usize);
        let (from, bytes) = if mode == ON { (begin, bytes) } else { (0, 0) };
        let selector = if mode == ON {
            SELECTOR.with(AtomicU8::as_ptr)
        } else {
            std::ptr::null_mut()
        };
        // SAFETY: the selector lives as long as the thread, and the exempt range is code of this
        // binary.
        unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, from, bytes, selector) == 0 }
    }

    /// Counts the system calls of this thread from now on, if supported. One thread at a time.
    pub fn watch() {
        let action = Action {
            handler: on_call,
            flags: libc::SA_SIGINFO as libc::c_ulong | SA_RESTORER,
            restorer: horus_kernel_return,
            mask: 0,
        };
        let none = std::ptr::null_mut::<c_void>();
        // SAFETY: the action has the kernel's layout, and its handler only stores and makes one
        // call.
        let set = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                libc::SIGSYS,
                &raw const action,
                none,
                8_usize,
            )
        };
        assert_eq!(set, 0);
        if dispatch(ON) {
            HAS_WATCHED.store(true, Ordering::Relaxed);
            SELECTOR.with(|selector| selector.store(BLOCK, Ordering::Relaxed));
        }
    }

    /// Stops counting the calls of this thread.
    pub fn look_away() {
        SELECTOR.with(|selector| selector.store(ALLOW, Ordering::Relaxed));
        if HAS_WATCHED.load(Ordering::Relaxed) {
            assert!(dispatch(OFF));
        }
    }

    /// Returns the numbers of the calls made since the last call of this function, and their
    /// counts; `None` if not supported.
    pub fn calls() -> Option<Vec<(i64, u64)>> {
        let all = CALLS.iter().enumerate();
        let all = all.map(|(number, count)| (number as i64, count.swap(0, Ordering::Relaxed)));
        HAS_WATCHED
            .load(Ordering::Relaxed)
            .then(|| all.filter(|(_, count)| *count > 0).collect())
    }
}
