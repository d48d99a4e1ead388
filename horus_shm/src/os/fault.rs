//! Faults: a table of the regions that this process has mapped, and a SIGBUS handler that keeps the
//! process alive when the file of a region is truncated.
//!
//! An access to a page that a file no longer holds raises SIGBUS. The handler in this module looks
//! for the address in the table. If a region contains it, the handler maps zeroed memory over the
//! region, marks the region as lost, and returns; the access is repeated and finds zeros. Every
//! endpoint compares the fault epoch with the last one that it observed, both before and after it
//! accesses shared memory. So it detects that its topic is lost before it uses data that it read,
//! or reports a write as done.
//!
//! A SIGBUS at any other address is forwarded to the previous handler. If the program installs its
//! own handler *after* this one, that handler decides whether to forward a fault. If it does not, a
//! truncated topic ends the process, as it would without this library. The same happens in a thread
//! that blocks SIGBUS.

use std::iter;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering, compiler_fence,
    fence,
};

use libc::{c_int, c_void, siginfo_t};

use crate::os::region::Access;
use crate::os::{descriptor, signal};

/// Number of mapped regions in one chunk of the table: enough for some 75 topics.
const REGIONS_PER_CHUNK: usize = 512;

/// Maximum number of times that a thread yields while it waits for another thread to install the
/// signal handler.
const INSTALL_YIELDS_MAX: u32 = 1000;

/// The value of [`MappedFile::fd`] for memory that has no file.
const NO_FD: RawFd = -1;

/// The table of the regions that this process has mapped. The signal handler looks up a faulting
/// address in it.
static MAPPED_REGIONS: MappingChunk<REGIONS_PER_CHUNK> = MappingChunk::new();

/// A value that the fault epoch (counter) never has. An endpoint that stores it as the last
/// observed value checks its segment in each call.
pub(crate) const NO_FAULT_EPOCH: u64 = u64::MAX;

/// The fault epoch: a counter of events, such as a truncated file, after which every endpoint
/// checks its files. See [`fault_epoch`].
static FAULT_EPOCH: PaddedWord = PaddedWord(AtomicU64::new(0));

/// A word that shares its cache lines with no other data. WHY: every `send` and `recv` call reads
/// it.
#[repr(align(128))]
struct PaddedWord(AtomicU64);

/// Returns the fault epoch. This counter grows when a fork copies endpoints into a child, when a
/// region or a lock descriptor is lost, and when a topic file loses its name.
///
/// If the epoch is the one that an endpoint last observed, the endpoint may continue; if not, it
/// must check its segment. Costs one relaxed load.
#[inline(always)]
pub(crate) fn fault_epoch() -> u64 {
    // Relaxed: an endpoint that finds a new epoch calls `fault_epoch_before_check` next.
    FAULT_EPOCH.0.load(Ordering::Relaxed)
}

/// Returns the [`fault_epoch`] (count of faults), for a caller that has just accessed shared
/// memory. The value includes any fault that these accesses have caused. If it differs from the
/// value before the accesses, the caller has to discard what it read.
#[inline(always)]
pub(crate) fn fault_epoch_after_access() -> u64 {
    // ORDERING(fault): SeqCst compiler fence, which is no instruction: the accesses before it
    // come before the load. Pairs with the fence in `on_sigbus`: a fault is precise, so the load
    // is executed after a handler that interrupted those accesses.
    compiler_fence(Ordering::SeqCst);
    fault_epoch()
}

/// Returns the [`fault_epoch`], for a caller that checks next whether its segment is lost. That
/// check finds every loss that is included in the returned epoch.
pub(crate) fn fault_epoch_before_check() -> u64 {
    // ORDERING(fault-epoch): Acquire. Pairs with `advance_fault_epoch`: a thread that sees the
    // epoch sees the mark of the lost region.
    FAULT_EPOCH.0.load(Ordering::Acquire)
}

/// Increments the fault epoch (counter), so that every endpoint of this process checks its files.
/// Async-signal-safe.
pub(crate) fn advance_fault_epoch() {
    // ORDERING(fault-epoch): Release. Pairs with the load in `fault_epoch_before_check`.
    FAULT_EPOCH.0.fetch_add(1, Ordering::Release);
}

/// Registers a mapped region in the table of this process, until this value is dropped.
#[derive(Debug)]
pub(crate) struct RegionWatch {
    entry: &'static MappingEntry,
}

impl RegionWatch {
    /// Registers a mapping of `bytes` bytes at `address`, which is mapped from `file`. The returned
    /// value must be dropped before the memory is unmapped.
    pub(crate) fn new(address: *mut u8, bytes: usize, access: Access, file: MappedFile) -> Self {
        install_handler();
        Self {
            entry: MAPPED_REGIONS.insert(MappedRegion {
                address,
                bytes,
                access,
                file,
            }),
        }
    }

    /// Returns true if the region's file was truncated. The signal handler has then replaced the
    /// region by zeros.
    pub(crate) fn is_mapping_lost(&self) -> bool {
        // Relaxed: ordered by the fault epoch.
        self.entry.lost.load(Ordering::Relaxed)
    }
}

impl Drop for RegionWatch {
    fn drop(&mut self) {
        self.entry.clear();
    }
}

/// A region that this process has mapped: its address, length and access, and the file it is mapped
/// from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MappedRegion {
    address: *mut u8,
    bytes: usize,
    access: Access,
    file: MappedFile,
}

/// The file that a region is mapped from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MappedFile {
    /// The descriptor of the file; [`NO_FD`] if the memory has no file.
    pub(crate) fd: RawFd,
    /// The offset in the file at which the mapping begins, in bytes.
    pub(crate) offset: u64,
    /// The device and the inode of the file, if the access is [`Access::Write`]. WHY: the program
    /// may have closed the descriptor, and have another file under its number.
    pub(crate) id: (u64, u64),
}

impl MappedRegion {
    fn contains(&self, address: *mut u8) -> bool {
        address.addr().wrapping_sub(self.address.addr()) < self.bytes
    }
}

/// A part of a table of mappings, and the pointer to the next part. A signal handler can search the
/// table by address while other threads insert and clear mappings. Chunks are never freed. WHY: the
/// handler may be searching one of them.
struct MappingChunk<const N: usize> {
    entries: [MappingEntry; N],
    /// The next chunk of the table; null if this is the last chunk.
    next: AtomicPtr<Self>,
}

/// An entry of the table. Its words are read like those of a seqlock, but without retries. WHY: an
/// entry that changes during the read cannot be that of the mapping in which the reader faulted,
/// because a mapping in use keeps its entry.
#[derive(Debug)]
struct MappingEntry {
    /// A counter that is incremented before and after each change of the entry. It is odd while the
    /// other words are changing.
    version: AtomicU64,
    /// Address of the first byte of the mapping; null if the entry is free.
    address: AtomicPtr<u8>,
    bytes: AtomicUsize,
    /// The [`Access`] of the mapping.
    access: AtomicU8,
    fd: AtomicI32,
    offset: AtomicU64,
    device: AtomicU64,
    inode: AtomicU64,
    lost: AtomicBool,
}

impl<const N: usize> MappingChunk<N> {
    const fn new() -> Self {
        Self {
            entries: [const { MappingEntry::new() }; N],
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Stores `mapping` in the first free entry, and returns that entry. Appends a chunk if no
    /// entry is free.
    fn insert(&'static self, mapping: MappedRegion) -> &'static MappingEntry {
        let mut chunk = self;
        loop {
            let mut entries = chunk.entries.iter();
            if let Some(entry) = entries.find(|entry| entry.claim(mapping)) {
                return entry;
            }
            chunk = chunk.next().unwrap_or_else(|| chunk.append_chunk());
        }
    }

    /// Returns the mapping that contains `address`, and its entry; `None` if there is none.
    /// Async-signal-safe.
    fn find(&'static self, address: *mut u8) -> Option<(&'static MappingEntry, MappedRegion)> {
        let mut entered = self
            .entries()
            .filter_map(|entry| Some((entry, entry.mapping()?)));
        entered.find(|(_, mapping)| mapping.contains(address))
    }

    /// Returns the entries of this chunk and of all chunks after it. Async-signal-safe.
    fn entries(&'static self) -> impl Iterator<Item = &'static MappingEntry> {
        iter::successors(Some(self), |chunk| chunk.next()).flat_map(|chunk| &chunk.entries)
    }

    fn next(&'static self) -> Option<&'static Self> {
        // ORDERING(watch-chunk): Acquire. Pairs with the exchange in `append_chunk`.
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: it is null, or a chunk that is never freed.
        unsafe { next.as_ref() }
    }

    /// Returns the chunk after this one. Creates it first if this chunk is the last one.
    fn append_chunk(&'static self) -> &'static Self {
        let new = Box::into_raw(Box::new(Self::new()));
        // ORDERING(watch-chunk): Release; Acquire if another thread was faster. Pairs with the load
        // in `next`, and with itself: a thread that sees the chunk sees its empty entries.
        let appended =
            self.next
                .compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Acquire);
        match appended {
            // SAFETY: the chunk is never freed.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: this thread allocated it, and no other saw it.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: the chunk of another thread, which is never freed.
                unsafe { &*other }
            }
        }
    }
}

impl MappingEntry {
    const fn new() -> Self {
        Self {
            version: AtomicU64::new(0),
            address: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicUsize::new(0),
            access: AtomicU8::new(Access::Read as u8),
            fd: AtomicI32::new(NO_FD),
            offset: AtomicU64::new(0),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }

    /// Stores `mapping` in this entry, if the entry is free. Returns true if it was free.
    fn claim(&self, mapping: MappedRegion) -> bool {
        // ORDERING(watch): Acquire. Pairs with the Release in `store_even_version`.
        let version = self.version.load(Ordering::Acquire);
        if !version.is_multiple_of(2) || !self.address.load(Ordering::Relaxed).is_null() {
            return false;
        }
        // WHY: the version only grows, so if it is unchanged the entry is still free.
        // Relaxed: the fence below orders it before the words.
        let order = Ordering::Relaxed;
        if self
            .version
            .compare_exchange(version, version + 1, order, order)
            .is_err()
        {
            return false;
        }
        self.fence_odd_version();
        self.bytes.store(mapping.bytes, Ordering::Relaxed);
        self.access.store(mapping.access as u8, Ordering::Relaxed);
        let MappedFile { fd, offset, id } = mapping.file;
        self.fd.store(fd, Ordering::Relaxed);
        self.offset.store(offset, Ordering::Relaxed);
        self.device.store(id.0, Ordering::Relaxed);
        self.inode.store(id.1, Ordering::Relaxed);
        self.lost.store(false, Ordering::Relaxed);
        self.address.store(mapping.address, Ordering::Relaxed);
        self.store_even_version(version + 2);
        true
    }

    /// Makes the entry free. Only the thread that drops the mapping may call this function.
    fn clear(&self) {
        // Relaxed: only the owner changes an entry that is in use.
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        self.fence_odd_version();
        self.address.store(ptr::null_mut(), Ordering::Relaxed);
        self.store_even_version(version + 2);
    }

    fn fence_odd_version(&self) {
        // ORDERING(watch): Release fence between the odd version and the words. Pairs with the
        // fence in `mapping`.
        fence(Ordering::Release);
    }

    fn store_even_version(&self, version: u64) {
        // ORDERING(watch): Release. Pairs with the loads in `mapping` and `claim`.
        self.version.store(version, Ordering::Release);
    }

    /// Returns the mapping in this entry; `None` if the entry is free, or if another thread is
    /// changing it.
    fn mapping(&self) -> Option<MappedRegion> {
        // ORDERING(watch): Acquire. Pairs with the Release in `store_even_version`.
        let version = self.version.load(Ordering::Acquire);
        let address = self.address.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        let access = self.access.load(Ordering::Relaxed);
        let file = MappedFile {
            fd: self.fd.load(Ordering::Relaxed),
            offset: self.offset.load(Ordering::Relaxed),
            id: (
                self.device.load(Ordering::Relaxed),
                self.inode.load(Ordering::Relaxed),
            ),
        };
        // ORDERING(watch): Acquire fence. Pairs with the one in `fence_odd_version`: a thread that
        // read a new word sees that the version has changed.
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        let access = [Access::Write, Access::ReadWritable]
            .into_iter()
            .find(|&known| known as u8 == access)
            .unwrap_or(Access::Read);
        (is_whole && !address.is_null()).then_some(MappedRegion {
            address,
            bytes,
            access,
            file,
        })
    }
}

/// Keeps a forked child from writing to the shared regions that its parent has mapped. Replaces
/// each region with [`Access::Write`] by a private copy. WHY not read-only: the child may still
/// write through a loan that it inherited. The content stays the same, or becomes zeros if the file
/// cannot be mapped, because the program has closed its descriptor for example. Makes all other
/// regions read-only. A region that another thread was mapping or
/// unmapping at the time of the fork is not in the table, and stays as it is.
///
/// Runs in the child, in its only thread. Async-signal-safe.
pub(crate) fn make_regions_private() {
    for entry in MAPPED_REGIONS.entries() {
        let Some(mapping) = entry.mapping() else {
            continue;
        };
        // Relaxed: there is no other thread. WHY: a grandchild gets the child's memory as it is.
        entry.fd.store(NO_FD, Ordering::Relaxed);
        let MappedRegion { address, bytes, .. } = mapping;
        let may_write = match mapping.access {
            Access::Read => false,
            Access::ReadWritable => true,
            Access::Write => mapping.file.fd != NO_FD && !make_region_private(mapping),
        };
        // SAFETY: the owner of the entry has the region mapped. A write then kills the child, and
        // does not reach its parent.
        if may_write && !unsafe { signal::forbid_writes(address, bytes) } {
            // SAFETY: as above; any bytes are a valid value for the inert handles of a child.
            unsafe { signal::replace_by_zeros(address, bytes, Access::Read) };
        }
    }
}

/// Replaces a region by a private copy, or else by zeros. Returns false if the kernel refuses both.
fn make_region_private(mapping: MappedRegion) -> bool {
    let MappedRegion {
        address,
        bytes,
        file: MappedFile { fd, offset, id },
        ..
    } = mapping;
    let is_copied = descriptor::is_fd_of_file(fd, id)
        // SAFETY: the owner of the entry has the region mapped, and a private copy has the same
        // content.
        && unsafe { signal::replace_by_private_mapping(address, bytes, fd, offset) };
    // SAFETY: as above; any bytes are a valid value for the inert handles of a child.
    is_copied || unsafe { signal::replace_by_zeros(address, bytes, Access::Write) }
}

/// Installs [`on_sigbus`] as the handler of SIGBUS, once in each process. If that fails, a fault
/// ends the process as it would without the handler.
fn install_handler() {
    const NOT_INSTALLED: u8 = 0;
    const INSTALL_BEGUN: u8 = 1;
    const INSTALL_DONE: u8 = 2;
    static INSTALL_STATE: AtomicU8 = AtomicU8::new(NOT_INSTALLED);
    // WHY never twice: at the second time, the "previous" handler could be one that forwards to
    // ours.
    let order = Ordering::Relaxed;
    match INSTALL_STATE.compare_exchange(NOT_INSTALLED, INSTALL_BEGUN, order, order) {
        Ok(_) => {
            let _ = signal::install_sigbus_handler(on_sigbus);
            INSTALL_STATE.store(INSTALL_DONE, Ordering::Relaxed);
        }
        Err(INSTALL_BEGUN) => {
            // WHY bounded: the child of a fork that ran meanwhile would wait for ever.
            for _ in 0..INSTALL_YIELDS_MAX {
                if INSTALL_STATE.load(Ordering::Relaxed) == INSTALL_DONE {
                    break;
                }
                std::thread::yield_now();
            }
        }
        Err(_) => {}
    }
}

extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    signal::preserve_errno(|| {
        // SAFETY: the kernel passed this `info` to the handler.
        let address = unsafe { signal::missing_page_address(info) };
        if !address.is_some_and(replace_region_by_zeros) {
            // SAFETY: the kernel passed these arguments to the handler, which is running.
            unsafe { signal::forward_to_previous_action(signal, info, context) };
        }
        // ORDERING(fault): SeqCst compiler fence. Pairs with the one in `fault_epoch_after_access`.
        compiler_fence(Ordering::SeqCst);
    });
}

/// Replaces the mapped region that contains `address` by zeros. Returns false if `address` is in no
/// region of this library.
fn replace_region_by_zeros(address: *mut u8) -> bool {
    let Some((entry, mapping)) = MAPPED_REGIONS.find(address) else {
        return false;
    };
    // WHY first: a thread that finds zeros in its region must also find the epoch changed.
    // Relaxed: the epoch orders it.
    entry.lost.store(true, Ordering::Relaxed);
    advance_fault_epoch();
    // WHY: a thread that finds zeros need not fault itself, so nothing else orders its load of the
    // epoch after its load of the zeros. It can find the zeros only after this barrier, which it
    // passed, too.
    signal::execute_barrier_in_all_threads();
    // SAFETY: the faulting thread uses the region, so it stays mapped until this returns. Its
    // content is used by no thread that sees the new epoch.
    unsafe { signal::replace_by_zeros(mapping.address, mapping.bytes, mapping.access) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<const N: usize>() -> &'static MappingChunk<N> {
        Box::leak(Box::new(MappingChunk::new()))
    }

    fn mapping(address: usize, bytes: usize) -> MappedRegion {
        let address = ptr::without_provenance_mut(address);
        MappedRegion {
            address,
            bytes,
            access: Access::Write,
            file: MappedFile {
                fd: NO_FD,
                offset: 0,
                id: (0, 0),
            },
        }
    }

    #[test]
    fn a_mapping_is_found_by_each_of_its_addresses_and_no_other() {
        let table = table::<4>();
        let low = mapping(0x1000, 0x2000);
        let high = mapping(0x8000, 1);
        let [entered, _] = [low, high].map(|mapping| table.insert(mapping));
        let find = |address| {
            table
                .find(ptr::without_provenance_mut(address))
                .map(|found| found.1)
        };
        let wanted = [
            (0xfff, None),
            (0x1000, Some(low)),
            (0x2fff, Some(low)),
            (0x3000, None),
            (0x8000, Some(high)),
            (0x8001, None),
            (0, None),
            (usize::MAX, None),
        ];
        for (address, mapping) in wanted {
            assert_eq!(find(address), mapping, "{address:#x}");
        }
        entered.clear();
        assert_eq!(find(0x1000), None);
    }

    #[test]
    fn a_full_chunk_is_followed_by_another() {
        let table = table::<2>();
        let insert = |number: usize| table.insert(mapping(0x1000 * number, 1));
        let entries: Vec<_> = (1..=7).map(insert).collect();
        for (number, entry) in (1..).zip(&entries) {
            let (found, _) = table
                .find(ptr::without_provenance_mut(0x1000 * number))
                .unwrap();
            assert!(ptr::eq(found, *entry));
        }
        entries[3].lost.store(true, Ordering::Relaxed);
        entries[3].clear();
        let reused = insert(8);
        assert!(ptr::eq(reused, entries[3]), "the first free one");
        let is_lost = reused.lost.load(Ordering::Relaxed);
        assert!(!is_lost, "the mark is of another region");
    }

    /// If several threads append a chunk at once, no entry is given to two of them, and none is
    /// lost.
    #[test]
    fn threads_that_append_chunks_at_once_find_all_mappings() {
        const THREADS: usize = 4;
        for _ in 0..100 {
            let table = table::<1>();
            let numbers = |thread: usize| (1..=20).map(move |number| 1 + thread + THREADS * number);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    scope.spawn(move || {
                        for number in numbers(thread) {
                            table.insert(mapping(0x1000 * number, number));
                        }
                    });
                }
            });
            for number in (0..THREADS).flat_map(numbers) {
                let address = ptr::without_provenance_mut(0x1000 * number);
                assert_eq!(table.find(address).unwrap().1.bytes, number);
            }
        }
    }

    /// Whenever an entry is found, its address and length belong to the same mapping.
    #[test]
    fn a_changing_entry_is_never_found_half_changed() {
        let table = table::<2>();
        let stays = || mapping(0x7000_0000, 16);
        table.insert(stays());
        let is_over = AtomicBool::new(false);
        let look = || {
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(table.find(stays().address).unwrap().1, stays());
                if let Some(found) = table.entries[1].mapping() {
                    assert_eq!(found.address.addr(), 0x1000 * found.bytes, "{found:?}");
                }
            }
        };
        std::thread::scope(|scope| {
            // WHY 8: more than there are CPUs, so that a thread is suspended in the middle of a
            // look.
            let looking = [(); 8].map(|()| scope.spawn(look));
            for number in (1..1_000_000).map(|round| 1 + round % 7) {
                table.insert(mapping(0x1000 * number, number)).clear();
            }
            is_over.store(true, Ordering::Relaxed);
            looking
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        });
    }
}
