//! What a thread can ask of the kernel to be in time: a processor, a priority, memory that stays,
//! and processors that do not sleep.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::os::descriptor::above_standard;

/// Bytes of stack that [`touch_stack`] makes sure of.
const STACK_BYTES: usize = 256 * 1024;
const PAGE_BYTES: usize = 4096;

fn done(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps the calling thread on one processor.
///
/// # Errors
///
/// There is no such processor, or this process may not use it.
pub fn pin_to(core: usize) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: a set of no processors is all zeros.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the processor is one that a set has room for.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: the set is valid for its size; 0 is the calling thread.
    done(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) })
}

/// Has the calling thread run before all that has a lower real-time priority, or none, until it
/// sleeps: SCHED_FIFO with this priority, 1 to 99.
///
/// # Errors
///
/// EPERM without CAP_SYS_NICE or a limit RLIMIT_RTPRIO of at least that; EINVAL for other numbers.
pub fn run_first(priority: u8) -> io::Result<()> {
    // SAFETY: the parameters of a policy are plain data, of which zeros are none.
    let mut wanted: libc::sched_param = unsafe { std::mem::zeroed() };
    wanted.sched_priority = priority.into();
    // SAFETY: the parameters are valid; 0 is the calling thread.
    done(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted) })
}

/// Keeps all memory of the process from being paged out, from when it is touched first.
///
/// # Errors
///
/// EPERM or ENOMEM without CAP_IPC_LOCK or a limit RLIMIT_MEMLOCK that suffices.
pub fn lock_memory() -> io::Result<()> {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: the call takes no pointer.
    done(unsafe { libc::mlockall(flags) })
}

/// The kernel's interface for how long processors may take to wake (PM QoS).
const LATENCY_FILE: &str = "/dev/cpu_dma_latency";

/// Keeps the processors of the machine from sleeping for as long as it lives: without anything to
/// do they look for it all the time. The kernel takes it back when the process ends, however it
/// does.
#[derive(Debug)]
pub struct Awake {
    _request: File,
}

impl Awake {
    /// Asks for it.
    ///
    /// # Errors
    ///
    /// The file is not there (a kernel without PM QoS, a container), or, as usual, only root may
    /// write it.
    pub fn keep() -> io::Result<Self> {
        Self::keep_by(Path::new(LATENCY_FILE))
    }

    fn keep_by(path: &Path) -> io::Result<Self> {
        let open = || File::options().write(true).open(path);
        let mut request = above_standard(open)?;
        // WHY zero: of one microsecond the kernel makes a sleep of which a virtual machine's host
        // makes tens or hundreds.
        request.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _request: request })
    }
}

/// Touches the next 256 KiB of the calling thread's stack, so that no page of it is missing later.
#[inline(never)]
pub fn touch_stack() {
    let mut stack = [0_u8; STACK_BYTES];
    for page in stack.chunks_mut(PAGE_BYTES) {
        page[0] = std::hint::black_box(1);
    }
    std::hint::black_box(&stack);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_an_error() {
        assert!(pin_to(usize::MAX).is_err());
        assert!(pin_to(libc::CPU_SETSIZE as usize - 1).is_err());
        assert_eq!(run_first(100).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn processors_are_kept_awake_by_four_bytes_of_zeros() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let awake = Awake::keep_by(file.path()).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), [0; 4]);
        drop(awake);
        let nowhere = Awake::keep_by(Path::new("/dev/null/nowhere"));
        assert_eq!(nowhere.unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn a_thread_stays_where_it_was_put() {
        let put = std::thread::spawn(|| {
            // SAFETY: the call takes no pointer.
            let core = unsafe { libc::sched_getcpu() };
            pin_to(core as usize).unwrap();
            touch_stack();
            // SAFETY: as above.
            (0..1000).all(|_| unsafe { libc::sched_getcpu() } == core)
        });
        assert!(put.join().unwrap());
    }
}
