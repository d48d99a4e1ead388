//! Threads in the kernel: the id and the name of the calling thread, the settings of a thread of
//! the library, and the end of another thread.

use std::os::unix::thread::JoinHandleExt;
use std::ptr;
use std::thread::JoinHandle;

use libc::{c_int, c_ulong};

use crate::os::{self, rt};

/// Maximum length in bytes of a thread's name in the kernel, including the NUL at its end.
const THREAD_NAME_BYTES: usize = 16;

/// Returns the kernel's id of the calling thread, as it is numbered in the PID namespace of this
/// process. Makes a system call.
#[must_use]
pub fn id() -> u32 {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Returns the name that the calling thread has in the kernel, padded with NUL bytes. Makes a
/// system call.
#[must_use]
pub fn name() -> [u8; THREAD_NAME_BYTES] {
    let mut name = [0_u8; THREAD_NAME_BYTES];
    // SAFETY: the kernel writes a name of at most 16 bytes with its NUL; if it refuses the call, it
    // writes nothing.
    let _status: c_int =
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr() as c_ulong, 0, 0, 0) };
    name
}

/// Gives the calling thread the settings of all threads that the library starts for itself: no
/// real-time policy, the CPUs of the process, and a signal mask that leaves the signals of the
/// process to other threads.
///
/// WHY: a thread inherits these settings from the thread that starts it, which may be a real-time
/// thread of the program, pinned to a CPU that nothing else should use.
pub fn become_library_thread() {
    os::block_process_signals();
    rt::leave_real_time_policy();
}

/// Takes a real-time policy away from the calling thread, and gives it the CPUs of the process:
/// those of the main thread before the library pinned it. A setting that the kernel refuses stays
/// as it is.
///
/// WHY: a thread inherits these settings from the thread that starts it.
pub fn leave_real_time_policy() {
    rt::leave_real_time_policy();
}

/// Waits until `thread` has ended completely, which includes the destructors of its thread-local
/// values. While the thread has not ended, calls `keeps_waiting` again and again; it has to sleep
/// for a short time. If it returns false, leaves the thread running and returns false.
///
/// WHY not `JoinHandle::join`: it waits without a limit, also if `JoinHandle::is_finished` returns
/// true, because the destructors run after that.
pub fn join_while(thread: JoinHandle<()>, mut keeps_waiting: impl FnMut() -> bool) -> bool {
    let id = thread.into_pthread_t();
    loop {
        // SAFETY: the id is that of a thread that was neither joined nor detached. The null pointer
        // means that its result is not wanted.
        let error = unsafe { libc::pthread_tryjoin_np(id, ptr::null_mut()) };
        if error != libc::EBUSY {
            return error == 0;
        }
        if !keeps_waiting() {
            // SAFETY: as above. The result is 0: the thread can be detached.
            unsafe { libc::pthread_detach(id) };
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver};
    use std::time::Duration;

    use super::*;

    /// Its drop waits until the sender is dropped.
    struct SlowDrop(Receiver<()>);

    impl Drop for SlowDrop {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }

    #[test]
    fn the_destructors_of_thread_local_values_are_waited_for_and_may_be_left() {
        std::thread_local! {
            static SLOW: std::cell::RefCell<Option<SlowDrop>> =
                const { std::cell::RefCell::new(None) };
        }
        for is_left in [false, true] {
            let (end, ended) = mpsc::channel();
            let thread = std::thread::spawn(|| SLOW.set(Some(SlowDrop(ended))));
            while !thread.is_finished() {
                std::thread::yield_now();
            }
            let (mut end, mut rounds) = (Some(end), 0);
            let has_ended = join_while(thread, || {
                rounds += 1;
                if rounds == 3 && !is_left {
                    drop(end.take());
                }
                std::thread::sleep(Duration::from_millis(1));
                !is_left || rounds < 3
            });
            assert_eq!(has_ended, !is_left);
            assert!(rounds >= 3);
        }
    }

    #[test]
    fn a_thread_has_an_id_and_a_name_of_its_own() {
        let (other, its_name) = std::thread::Builder::new()
            .name("left wheel".to_owned())
            .spawn(|| (id(), name()))
            .unwrap()
            .join()
            .unwrap();
        assert_ne!(other, id());
        assert_eq!(&its_name, b"left wheel\0\0\0\0\0\0");
    }
}
