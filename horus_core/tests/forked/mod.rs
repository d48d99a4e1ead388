//! Forked children of a test.

#![allow(unreachable_pub, reason = "a module of a test")]

/// Runs `child` in a forked child, and returns its answer.
pub fn fork(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child is a copy whose other threads are gone; `child` takes no lock of theirs.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let is_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(i32::from(!is_well.unwrap_or(false))) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status == 0
}
