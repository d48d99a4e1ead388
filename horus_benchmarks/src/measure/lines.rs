//! Two cache lines of memory that several threads or processes share.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{self, AtomicU64};

use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, memfd_create};

/// Distance between two shared lines, in bytes. WHY 128 and not 64: CPUs fetch cache lines in
/// pairs.
const LINE_BYTES: usize = 128;

const LINE_COUNT: usize = 2;

/// A line of shared memory, accessed as words.
#[repr(C, align(128))]
#[derive(Debug)]
#[expect(missing_docs, reason = "the name says it")]
pub struct SharedCacheLine {
    pub words: [AtomicU64; LINE_BYTES / size_of::<AtomicU64>()],
}

const _: () = assert!(size_of::<SharedCacheLine>() == LINE_BYTES);

/// Two lines of shared memory, and perhaps other bytes after them, in a file that is mapped.
#[derive(Debug)]
pub struct SharedCacheLines {
    file: File,
    map: MmapRaw,
}

impl SharedCacheLines {
    /// Creates and maps an anonymous file (memfd) filled with zeroes. The kernel removes it when
    /// the last process has closed it.
    pub fn create() -> io::Result<SharedCacheLines> {
        let file = memfd_create("horus-bench", MemfdFlags::CLOEXEC)?;
        SharedCacheLines::map_new_file(file.into())
    }

    /// Sets the size of `file`, which must be new and empty, and maps it.
    pub fn map_new_file(file: File) -> io::Result<SharedCacheLines> {
        SharedCacheLines::map_with_extra_bytes(file, 0)
    }

    /// Sets the size of `file` to that of the lines and of `extra_bytes` after them, and maps it.
    pub(crate) fn map_with_extra_bytes(
        file: File,
        extra_bytes: usize,
    ) -> io::Result<SharedCacheLines> {
        file.set_len((LINE_COUNT * LINE_BYTES + extra_bytes) as u64)?;
        SharedCacheLines::map(file)
    }

    /// Maps `file`, which begins with the two lines. It must not shrink while the returned value
    /// exists.
    pub fn map(file: File) -> io::Result<SharedCacheLines> {
        if file.metadata()?.len() < (LINE_COUNT * LINE_BYTES) as u64 {
            return Err(io::Error::other("the file is too short for two lines"));
        }
        let map = MmapRaw::map_raw(&file)?;
        Ok(SharedCacheLines { file, map })
    }

    /// Maps the same two lines once more, at another address.
    pub fn map_again(&self) -> io::Result<SharedCacheLines> {
        SharedCacheLines::map(self.file.try_clone()?)
    }

    /// Returns the line with this index, which is 0 or 1.
    ///
    /// # Panics
    ///
    /// If `index` is neither 0 nor 1.
    #[inline(always)]
    pub fn line(&self, index: usize) -> &SharedCacheLine {
        assert!(index < LINE_COUNT, "line {index} of {LINE_COUNT}");
        let line = self
            .map
            .as_mut_ptr()
            .cast::<SharedCacheLine>()
            .wrapping_add(index);
        // SAFETY: `line` is inside the mapping, which is page-aligned and lives as long as `self`;
        // every process reaches these bytes through atomics only, and any bytes are valid ones.
        unsafe { &*line }
    }

    /// Returns the address of the bytes after the lines.
    #[inline(always)]
    pub(crate) fn extra_bytes_pointer(&self) -> *mut u8 {
        self.map.as_mut_ptr().wrapping_add(LINE_COUNT * LINE_BYTES)
    }

    /// Returns a path at which other processes of this user can open the file of the lines, as long
    /// as this process has it open.
    pub fn path_for_other_processes(&self) -> PathBuf {
        let descriptor = self.file.as_raw_fd();
        format!("/proc/{}/fd/{descriptor}", std::process::id()).into()
    }

    /// Sets all words of both lines to 0.
    pub fn zero_words(&self) {
        for line in 0..LINE_COUNT {
            for word in &self.line(line).words {
                // Relaxed: the far end is idle, and the job that wakes it orders the memory.
                word.store(0, atomic::Ordering::Relaxed);
            }
        }
    }
}
