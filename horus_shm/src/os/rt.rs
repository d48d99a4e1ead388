//! Real-time settings: the CPU and the priority of a thread, and memory that is never paged out.

use std::io;

use crate::os::once::SetOnce;
use crate::os::thread;

/// Number of bytes of the stack that [`prefault_stack`] makes resident in memory.
const PREFAULTED_STACK_BYTES: usize = 256 * 1024;
const PAGE_BYTES: usize = 4096;

fn to_io_result(error_number: libc::c_int) -> io::Result<()> {
    if error_number == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The CPUs of the main thread before [`pin_thread_to`] pinned it; empty if it never did.
static CPUS_BEFORE_PIN: SetOnce<libc::cpu_set_t> = SetOnce::new();

/// Makes the calling thread run only on the CPU with the number `core`.
///
/// # Errors
///
/// An error if the CPU does not exist, or if this process may not use it.
pub fn pin_thread_to(core: usize) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    if thread::id() == std::process::id()
        && let Ok(cpus) = cpus_of_main_thread()
    {
        CPUS_BEFORE_PIN.get_or_set(cpus);
    }
    // SAFETY: all zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the CPU's number is below the size of the set.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: the set is valid for its size; 0 is the calling thread.
    to_io_result(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) })
}

/// Gives the calling thread the policy SCHED_FIFO with this priority, 1 to 99. Until it sleeps, the
/// thread then runs before all threads with a lower real-time priority or none.
///
/// # Errors
///
/// EPERM if the process has neither CAP_SYS_NICE nor a limit RLIMIT_RTPRIO of at least `priority`;
/// EINVAL if `priority` is not between 1 and 99.
pub fn set_fifo_priority(priority: u8) -> io::Result<()> {
    // SAFETY: the parameters of a policy are plain integers, for which zeros are valid.
    let mut wanted: libc::sched_param = unsafe { std::mem::zeroed() };
    wanted.sched_priority = priority.into();
    // SAFETY: the parameters are valid; 0 is the calling thread.
    to_io_result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted) })
}

/// Returns the CPUs on which the main thread of this process may run.
fn cpus_of_main_thread() -> io::Result<libc::cpu_set_t> {
    // SAFETY: all zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let main = std::process::id().cast_signed();
    // SAFETY: the set is valid for writes of its size.
    to_io_result(unsafe { libc::sched_getaffinity(main, size_of_val(&set), &raw mut set) })?;
    Ok(set)
}

/// Returns true if the calling thread has a real-time policy: none of SCHED_OTHER, SCHED_BATCH and
/// SCHED_IDLE, which a user may give to the whole process.
fn has_real_time_policy() -> bool {
    // SAFETY: the call takes no pointer; 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    ![libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&policy)
}

/// Takes a real-time policy away from the calling thread, and gives it the CPUs of the process:
/// those of the main thread before [`pin_thread_to`] pinned it. WHY: a thread inherits both
/// settings from the thread that started it. A setting that the kernel refuses stays as it is.
pub(crate) fn leave_real_time_policy() {
    if has_real_time_policy() {
        // SAFETY: the parameters of a policy are plain integers, for which zeros are valid.
        let wanted: libc::sched_param = unsafe { std::mem::zeroed() };
        // SAFETY: the parameters are valid; 0 is the calling thread.
        let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const wanted) };
    }
    let cpus = CPUS_BEFORE_PIN.get().copied();
    if let Some(cpus) = cpus.or_else(|| cpus_of_main_thread().ok()) {
        // SAFETY: the set is valid for its size; 0 is the calling thread.
        let _ = unsafe { libc::sched_setaffinity(0, size_of_val(&cpus), &raw const cpus) };
    }
}

/// Locks all memory of the process, now and in future, so that no page is paged out after its first
/// access.
///
/// # Errors
///
/// EPERM or ENOMEM if the process has neither CAP_IPC_LOCK nor a sufficient limit RLIMIT_MEMLOCK.
pub fn lock_memory() -> io::Result<()> {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: the call takes no pointer.
    to_io_result(unsafe { libc::mlockall(flags) })
}

/// Makes the next 256 KiB of the calling thread's stack resident by writing to them, so that later
/// accesses cause no page fault.
#[inline(never)]
pub fn prefault_stack() {
    let mut stack = [0_u8; PREFAULTED_STACK_BYTES];
    for page in stack.chunks_mut(PAGE_BYTES) {
        page[0] = std::hint::black_box(1);
    }
    std::hint::black_box(&stack);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_cpu_or_priority_is_an_error() {
        assert!(pin_thread_to(usize::MAX).is_err());
        assert!(pin_thread_to(libc::CPU_SETSIZE as usize - 1).is_err());
        assert_eq!(
            set_fifo_priority(100).unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
    }

    #[test]
    fn a_pinned_thread_stays_on_its_cpu() {
        let put = std::thread::spawn(|| {
            // SAFETY: the call takes no pointer.
            let core = unsafe { libc::sched_getcpu() };
            pin_thread_to(core as usize).unwrap();
            prefault_stack();
            // SAFETY: as above.
            (0..1000).all(|_| unsafe { libc::sched_getcpu() } == core)
        });
        assert!(put.join().unwrap());
    }
}
