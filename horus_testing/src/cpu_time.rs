//! The CPU time of a thread.

use std::time::Duration;

/// Returns the CPU time that the calling thread has used. A test that compares costs uses this and
/// not a wall clock, because other tests run meanwhile. WHY not `/proc/thread-self/schedstat`: its
/// figure may be as old as one tick of the kernel, some milliseconds.
#[must_use]
pub fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_grows_with_each_call() {
        let begin = thread_cpu_time();
        let end = (0..1000).map(|_| thread_cpu_time()).max().unwrap();
        assert!(end > begin, "{begin:?} to {end:?}");
    }
}
