//! Regions: memory for slots or bookkeeping blocks, either allocated on the heap or mapped from a
//! file.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use memmap2::{MmapOptions, MmapRaw};

use crate::os::fault::{MappedFile, RegionWatch};
use crate::os::fstat;
use crate::protocol::layout::WRITER_SEPARATION_BYTES;

/// Maximum length of a region whose pages are populated when it is mapped, in bytes. WHY: this
/// takes a few microseconds once. Without it, the first accesses, often in a real-time thread,
/// would cause page faults.
const POPULATED_BYTES_MAX: usize = 64 << 10;

/// The kind of access that a region of memory permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only loads are permitted; a store causes a fault.
    Read,
    /// The process only loads, but the mapping permits stores: some CPUs move cache lines faster to
    /// a reader that could store to them ([`Tuning::maps_slots_writable`]).
    ///
    /// [`Tuning::maps_slots_writable`]: crate::protocol::tuning::Tuning::maps_slots_writable
    ReadWritable,
    /// Loads and stores are permitted.
    Write,
}

/// A piece of memory: zeroed heap memory, or a mapped part of a file. It is freed or unmapped on
/// drop.
#[derive(Debug)]
pub(crate) struct Region {
    address: *mut u8,
    kind: RegionKind,
}

#[derive(Debug)]
enum RegionKind {
    Heap(Layout),
    /// A mapped part of a file. The fields are dropped in this order, because the region must leave
    /// the table of the `fault` module before it is unmapped.
    Mapped(
        RegionWatch,
        #[expect(dead_code, reason = "held for its drop, which unmaps")] MmapRaw,
    ),
}

// SAFETY: a region is only an address; its users are responsible for their accesses.
unsafe impl Send for Region {}
// SAFETY: as above; the region itself has no operation that changes it.
unsafe impl Sync for Region {}

/// Advises the kernel to use huge pages for the `bytes` bytes at `begin`, memory of this process.
/// The kernel may ignore the advice.
pub(crate) fn advise_huge_pages(begin: *mut u8, bytes: usize) {
    advise_kernel(begin, bytes, libc::MADV_HUGEPAGE);
}

/// Advises the kernel not to use huge pages for the `bytes` bytes from `begin` on.
pub(crate) fn advise_small_pages(begin: *mut u8, bytes: usize) {
    advise_kernel(begin, bytes, libc::MADV_NOHUGEPAGE);
}

/// Moves memory from small pages to huge pages. Returns false if the kernel cannot do this: it is
/// older than Linux 6.1, or has no huge page left.
pub(crate) fn move_to_huge_pages(begin: *mut u8, bytes: usize) -> bool {
    advise_huge_pages(begin, bytes);
    advise_kernel(begin, bytes, libc::MADV_COLLAPSE)
}

/// Passes `advice` for a piece of memory to the kernel (`madvise`). Must be a kind of advice that
/// does not change the content of the memory. Returns true if the kernel accepts the advice.
fn advise_kernel(begin: *mut u8, bytes: usize, advice: i32) -> bool {
    // SAFETY: the content of the pages stays, by the contract; it fails for other addresses.
    !cfg!(miri) && unsafe { libc::madvise(begin.cast(), bytes, advice) } == 0
}

impl Region {
    /// Allocates a region of `bytes` zeroed bytes on the heap.
    #[must_use]
    pub(crate) fn heap(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), WRITER_SEPARATION_BYTES)
            .expect("a shape keeps sizes far below isize::MAX");
        // SAFETY: the layout's size is not zero.
        let address = unsafe { alloc_zeroed(layout) };
        if address.is_null() {
            handle_alloc_error(layout);
        }
        Self {
            address,
            kind: RegionKind::Heap(layout),
        }
    }

    /// Maps the `bytes` bytes of `file` that begin at `offset`, shared with other processes.
    /// Populates all pages of a short mapping. With [`Access::Write`], the file must stay open
    /// while the region is used, because a forked child maps it again.
    ///
    /// # Errors
    ///
    /// The error of the system call.
    pub(crate) fn map(
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: usize,
        access: Access,
    ) -> io::Result<Self> {
        let mut options = MmapOptions::new();
        options.offset(offset).len(bytes);
        if bytes <= POPULATED_BYTES_MAX {
            options.populate();
        }
        let map = match access {
            Access::Read => options.map_raw_read_only(file.as_raw_fd())?,
            Access::ReadWritable | Access::Write => options.map_raw(file.as_raw_fd())?,
        };
        let address = map.as_mut_ptr();
        let id = match access {
            Access::Write => fstat(file).map(|stat| (stat.dev, stat.ino))?,
            // WHY not needed: a forked child does not map it again.
            Access::Read | Access::ReadWritable => (0, 0),
        };
        let file = MappedFile {
            fd: file.as_raw_fd(),
            offset,
            id,
        };
        let watch = RegionWatch::new(address, bytes, access, file);
        Ok(Self {
            address,
            kind: RegionKind::Mapped(watch, map),
        })
    }

    /// Returns the address of the first byte of the region.
    #[must_use]
    pub(crate) const fn address(&self) -> *mut u8 {
        self.address
    }

    /// Populates the pages of the first `bytes` bytes, which must be writable, so that the first
    /// writes cause no page faults. Does nothing before Linux 5.14, which lacks the system call.
    pub(crate) fn populate_pages(&self, bytes: usize) {
        if matches!(self.kind, RegionKind::Heap(_)) {
            return;
        }
        // WHY from its address on: a region begins on a page. Parts of a file begin on multiples of
        // `FILE_PART_ALIGN_BYTES`, which is a multiple of every page size.
        // SAFETY: the call maps pages of an existing region, and stores nothing.
        unsafe { libc::madvise(self.address.cast(), bytes, libc::MADV_POPULATE_WRITE) };
    }

    /// Returns true if an access has found that the file was truncated, so that the region contains
    /// zeros instead of the file's bytes.
    pub(crate) fn is_mapping_lost(&self) -> bool {
        match &self.kind {
            RegionKind::Heap(_) => false,
            RegionKind::Mapped(watch, _) => watch.is_mapping_lost(),
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let RegionKind::Heap(layout) = self.kind {
            // SAFETY: allocated in `heap` with this layout, and freed only here.
            unsafe { dealloc(self.address, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;
    use crate::protocol::layout::FILE_PART_ALIGN_BYTES;

    /// Creates more regions than fit in the first chunk of the `fault` module's table.
    #[test]
    #[cfg_attr(miri, ignore = "maps files")]
    fn each_of_very_many_regions_survives_a_truncated_file() {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        let bytes = FILE_PART_ALIGN_BYTES as usize;
        file.set_len(bytes as u64).unwrap();
        let map = |_| Region::map(file.as_fd(), 0, bytes, Access::Write).unwrap();
        let regions: Vec<_> = (0..1500).map(map).collect();
        file.set_len(0).unwrap();
        for region in &regions {
            assert!(!region.is_mapping_lost());
            // SAFETY: the region is mapped, and the handler of faults provides its pages.
            assert_eq!(unsafe { region.address().read_volatile() }, 0);
            assert!(region.is_mapping_lost());
        }
    }
}
