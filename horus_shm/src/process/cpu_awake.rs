//! A request of this process that keeps CPUs out of sleep states. A forked child does not inherit
//! it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::fork::{ForkLocal, LockFd, LockFdError};
use crate::os;
use crate::os::descriptor::open_long_lived;

/// The file by which a process limits how deeply CPUs sleep, that is, how long they take to wake up
/// (Linux PM QoS).
const CPU_LATENCY_FILE: &str = "/dev/cpu_dma_latency";

/// The latency that the kernel uses without a request, in microseconds
/// (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`).
const DEFAULT_LATENCY_US: i32 = 2_000_000_000;

/// The descriptor that all requests of this process share. WHY shared: the number of descriptors
/// that a forked child closes is limited.
static SHARED_FILE: ForkLocal<Mutex<Weak<LatencyFile>>> = ForkLocal::new();

/// The descriptor of a request, which is withdrawn when this value is dropped.
#[derive(Debug)]
struct LatencyFile(LockFd);

impl LatencyFile {
    fn write_latency_us(&self, latency_us: i32) -> io::Result<()> {
        os::write_at(self.0.get()?, &latency_us.to_ne_bytes(), 0)
    }
}

impl Drop for LatencyFile {
    /// Withdraws the request, and closes the descriptor after that. WHY not only by closing it: a
    /// child that another thread forks just before the close keeps a copy of the descriptor.
    fn drop(&mut self) {
        // WHY ignored: the descriptor belongs to the parent of this process, or the program has
        // closed it. The kernel has withdrawn the request then.
        let _ = self.write_latency_us(DEFAULT_LATENCY_US);
    }
}

/// A request that keeps all CPUs of the machine out of sleep states while this value lives: an idle
/// CPU polls for work instead. The kernel withdraws the request when the process ends, for whatever
/// reason. A forked child does not inherit it.
#[derive(Debug)]
pub struct CpuAwakeRequest {
    _file: Arc<LatencyFile>,
}

impl CpuAwakeRequest {
    /// Makes the request, which stays in force until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// An error if `/dev/cpu_dma_latency` does not exist (a kernel without PM QoS, a container), or
    /// if this process may not write to it (usually only root may).
    pub fn new() -> io::Result<Self> {
        Self::new_at(Path::new(CPU_LATENCY_FILE), SHARED_FILE.get())
    }

    fn new_at(path: &Path, shared: &Mutex<Weak<LatencyFile>>) -> io::Result<Self> {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        // WHY the second condition: the program may have closed the descriptor.
        if let Some(file) = shared.upgrade().filter(|file| file.0.get().is_ok()) {
            return Ok(Self { _file: file });
        }
        let open = || open_long_lived(|| Ok(File::options().write(true).open(path)?.into()));
        let file = LockFd::open(open).map_err(|error| match error {
            LockFdError::Io(error) => error,
            error => io::Error::other(error),
        })?;
        let file = LatencyFile(file);
        // WHY zero: for a latency of one microsecond the kernel chooses a sleep state that a
        // virtual machine's host turns into one of tens or hundreds of microseconds.
        file.write_latency_us(0)?;
        let file = Arc::new(file);
        *shared = Arc::downgrade(&file);
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn request(path: &Path) -> io::Result<CpuAwakeRequest> {
        CpuAwakeRequest::new_at(path, &Mutex::default())
    }

    #[test]
    fn processors_are_kept_awake_by_four_bytes_of_zeros() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let awake = request(file.path()).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), [0; 4]);
        drop(awake);
        // Otherwise a child that was forked during the close would keep them awake.
        let withdrawn = 2_000_000_000_i32.to_ne_bytes();
        assert_eq!(std::fs::read(file.path()).unwrap(), withdrawn);
        let nowhere = request(Path::new("/dev/null/nowhere"));
        assert_eq!(nowhere.unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    /// Returns the numbers of the descriptors of this process that belong to the file at `path`.
    fn numbers_of(path: &Path) -> Vec<i32> {
        let entries = std::fs::read_dir("/proc/self/fd").unwrap();
        let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.retain(|entry| std::fs::read_link(entry).is_ok_and(|target| target == path));
        let number = |entry: std::path::PathBuf| entry.file_name()?.to_str()?.parse().ok();
        entries.into_iter().filter_map(number).collect()
    }

    #[test]
    fn a_request_closes_no_file_that_has_its_number_by_now() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let shared = Mutex::default();
        let awake = CpuAwakeRequest::new_at(&path, &shared).unwrap();
        let number = numbers_of(&path)[0];
        let other = File::open("/dev/null").unwrap();
        // SAFETY: the call takes no pointer. It closes the descriptor of the request.
        assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), number) }, number);
        let again = CpuAwakeRequest::new_at(&path, &shared).unwrap();
        assert_eq!(numbers_of(&path).len(), 1, "it is made again");
        drop((awake, again));
        // SAFETY: the call takes no pointer.
        assert_eq!(unsafe { libc::close(number) }, 0, "it was closed");
    }

    #[test]
    fn the_requests_of_a_process_share_a_descriptor_until_the_last_is_dropped() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let shared = Mutex::default();
        let [one, other] = [(), ()].map(|()| CpuAwakeRequest::new_at(&path, &shared).unwrap());
        assert_eq!(numbers_of(&path).len(), 1);
        drop(one);
        assert_eq!(numbers_of(&path).len(), 1);
        drop(other);
        assert_eq!(numbers_of(&path).len(), 0);
    }

    /// The kernel keeps the request until the last copy of its descriptor is closed.
    #[test]
    fn a_forked_child_does_not_keep_processors_awake() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let awake = request(&path).unwrap();
        let number = numbers_of(&path)[0];
        // SAFETY: the child is a copy whose other threads are gone, and takes no lock.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the call takes no pointer.
            let is_open = unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0;
            // SAFETY: ends the child without running the parent's destructors.
            unsafe { libc::_exit(i32::from(is_open)) };
        }
        let mut status = 0;
        // SAFETY: `status` is valid for the write.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "the child has the descriptor");
        assert_eq!(numbers_of(&path), [number]);
        drop(awake);
    }
}
