//! Real-time settings: the CPU and the priority of a thread, memory that is never paged out, and
//! CPUs that do not enter sleep states.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use crate::os::descriptor::{CheckedFd, open_long_lived};
use crate::os::thread;

/// Number of bytes of the stack that [`prefault_stack`] makes resident in memory.
const STACK_BYTES: usize = 256 * 1024;
const PAGE_BYTES: usize = 4096;

fn to_io_result(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The CPUs of the main thread before [`pin_thread_to`] pinned it; empty if it never did.
static CPUS_BEFORE_PIN: OnceLock<libc::cpu_set_t> = OnceLock::new();

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
        CPUS_BEFORE_PIN.get_or_init(|| cpus);
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
pub(crate) fn leave_real_time() {
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

/// The file by which a process limits how deeply CPUs sleep, that is, how long they take to wake up
/// (Linux PM QoS).
const CPU_LATENCY_FILE: &str = "/dev/cpu_dma_latency";

/// A request that keeps all CPUs of the machine out of sleep states while this value lives: an idle
/// CPU polls for work instead. The kernel withdraws the request when the process ends, for whatever
/// reason.
#[derive(Debug)]
pub struct CpuAwakeRequest {
    _file: CheckedFd,
}

impl CpuAwakeRequest {
    /// Makes the request, which stays in force until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// An error if `/dev/cpu_dma_latency` does not exist (a kernel without PM QoS, a container), or
    /// if this process may not write to it (usually only root may).
    pub fn new() -> io::Result<Self> {
        Self::new_at(Path::new(CPU_LATENCY_FILE))
    }

    fn new_at(path: &Path) -> io::Result<Self> {
        let open = || Ok(File::options().write(true).open(path)?.into());
        let mut request = File::from(open_long_lived(open)?);
        // WHY zero: for a latency of one microsecond the kernel chooses a sleep state that a
        // virtual machine's host turns into one of tens or hundreds of microseconds.
        request.write_all(&0_i32.to_ne_bytes())?;
        let file = CheckedFd::new(request.into())?;
        Ok(Self { _file: file })
    }
}

/// Makes the next 256 KiB of the calling thread's stack resident by writing to them, so that later
/// accesses cause no page fault.
#[inline(never)]
pub fn prefault_stack() {
    let mut stack = [0_u8; STACK_BYTES];
    for page in stack.chunks_mut(PAGE_BYTES) {
        page[0] = std::hint::black_box(1);
    }
    std::hint::black_box(&stack);
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

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
    fn processors_are_kept_awake_by_four_bytes_of_zeros() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let awake = CpuAwakeRequest::new_at(file.path()).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), [0; 4]);
        drop(awake);
        let nowhere = CpuAwakeRequest::new_at(Path::new("/dev/null/nowhere"));
        assert_eq!(nowhere.unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    /// Returns the number of a descriptor of this process that belongs to the file at `path`.
    fn number_of(path: &Path) -> Option<i32> {
        std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .find_map(|entry| {
                let entry = entry.unwrap();
                let is_found = std::fs::read_link(entry.path()).is_ok_and(|target| target == path);
                is_found.then(|| entry.file_name().to_str().unwrap().parse().unwrap())
            })
    }

    #[test]
    fn a_request_closes_no_file_that_has_its_number_by_now() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let request = CpuAwakeRequest::new_at(&path).unwrap();
        let number = number_of(&path).unwrap();
        let other = File::open("/dev/null").unwrap();
        // SAFETY: the call takes no pointer. It closes the descriptor of the request.
        assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), number) }, number);
        drop(request);
        // SAFETY: the call takes no pointer.
        assert_eq!(unsafe { libc::close(number) }, 0, "it was closed");
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
