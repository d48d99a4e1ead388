//! Threads in the kernel: the id and the name of the calling thread, the settings of a thread of
//! the library, and the end of another thread, or its wait for a CPU.

use std::fs;
use std::os::unix::thread::JoinHandleExt;
use std::ptr;
use std::thread::JoinHandle;
use std::time::Duration;

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

/// Finds out whether another thread of this process waits for a CPU.
#[derive(Debug)]
pub struct CpuWaitCheck {
    thread_id: u32,
    /// The CPU time of the thread at the last check; `None` before the first one.
    cpu_time: Option<Duration>,
}

impl CpuWaitCheck {
    /// Creates a check of the thread with the id `thread_id`, as returned by [`id`]; 0 if the
    /// thread has not run yet, so that its id is not known.
    #[must_use]
    pub const fn new(thread_id: u32) -> Self {
        Self {
            thread_id,
            cpu_time: None,
        }
    }

    /// Sets the id of a thread that has run now for the first time.
    pub const fn set_thread_id(&mut self, thread_id: u32) {
        self.thread_id = thread_id;
    }

    /// Returns true if the thread is ready to run, but has not run since the last call, or if it
    /// has not run at all. Otherwise returns false at the first call, if the thread has ended, and
    /// if the system does not say. Makes a few system calls.
    pub fn has_only_waited(&mut self) -> bool {
        if self.thread_id == 0 {
            return true;
        }
        let before = self.cpu_time;
        self.cpu_time = cpu_time_of(self.thread_id);
        before.is_some() && self.cpu_time == before && is_ready_to_run(self.thread_id)
    }
}

/// Returns the CPU time that a thread of this process has used; `None` if there is no such thread.
fn cpu_time_of(thread_id: u32) -> Option<Duration> {
    /// The lowest bits of the number of a clock that counts the CPU time of one thread. The others
    /// are the complement of the thread's id.
    const THREAD_CPU_CLOCK: libc::clockid_t = 6;
    let clock = !thread_id.cast_signed() << 3 | THREAD_CPU_CLOCK;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for the write.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (status == 0).then(|| Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32))
}

/// Returns true if a thread of this process runs or is ready to run.
fn is_ready_to_run(thread_id: u32) -> bool {
    let stat = fs::read(format!("/proc/self/task/{thread_id}/stat")).unwrap_or_default();
    // The state follows the name in parentheses, which may contain any bytes.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    name_end.is_some_and(|end| stat.get(end + 2) == Some(&b'R'))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::{self, Receiver};
    use std::thread;

    use super::*;
    use crate::protocol::sync::Word;

    /// Starts a thread that spins on the CPU with the number `core` until `end` is not 0.
    /// Returns its id.
    fn start_spinning(core: usize, end: &Arc<AtomicU64>) -> u32 {
        let end = Arc::clone(end);
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            rt::pin_thread_to(core).unwrap();
            tell.send(id()).unwrap();
            while end.get() == 0 {}
        });
        told.recv().unwrap()
    }

    #[test]
    fn a_thread_that_shares_its_cpu_waits_at_times_and_one_that_sleeps_does_not() {
        let (end, (wake, woken)) = (Arc::<AtomicU64>::default(), mpsc::channel::<()>());
        let (tell, told) = mpsc::channel();
        let sleeper = thread::spawn(move || {
            tell.send(id()).unwrap();
            woken.recv()
        });
        let mut sleeping = CpuWaitCheck::new(told.recv().unwrap());
        // SAFETY: it has no arguments.
        let core = unsafe { libc::sched_getcpu() } as usize;
        let mut spinning = [(); 2].map(|()| CpuWaitCheck::new(start_spinning(core, &end)));
        let mut new = CpuWaitCheck::new(0);
        assert!(new.has_only_waited() && new.has_only_waited());
        new.set_thread_id(id());
        assert!(!new.has_only_waited() && !new.has_only_waited(), "it runs");
        for check in &mut spinning {
            assert!(
                !check.has_only_waited(),
                "the first call has nothing to compare"
            );
            let mut found = [false; 2];
            while found != [true; 2] {
                found[usize::from(check.has_only_waited())] = true;
                // WHY so short: a thread that has its turn must not lose it meanwhile.
                thread::sleep(Duration::from_micros(100));
            }
        }
        // WHY a loop: it may not sleep yet.
        let mut calls = 0;
        while calls < 100 {
            calls = if sleeping.has_only_waited() {
                0
            } else {
                calls + 1
            };
        }
        end.set(1);
        wake.send(()).unwrap();
        sleeper.join().unwrap().unwrap();
        assert!(!sleeping.has_only_waited(), "it has ended");
    }

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
