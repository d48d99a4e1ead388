//! Faults: the regions that this process has mapped, and the SIGBUS handler that keeps the process
//! alive when the file of one is truncated.
//!
//! An access to a page that a file no longer holds raises SIGBUS. The handler here looks the
//! address up in a table of the regions that this process has mapped, maps zeroed memory over the
//! region, marks it as lost, and returns; the access is repeated and finds zeros. Every endpoint
//! compares the fault epoch with the last one it observed, before and after it accesses shared
//! memory. So it detects that its topic is lost before it uses anything that it read or reports a
//! write as done.
//!
//! A SIGBUS at any other address goes to the previous handler. A handler that is installed *after*
//! ours decides itself whether to forward a fault: if it does not, a truncated topic ends the
//! process as it would without this library. The same holds in a thread that blocks SIGBUS, and for
//! regions beyond the first [`REGION_LIMIT`] of a process.

use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering, compiler_fence,
    fence,
};

use libc::{c_int, c_void, siginfo_t};

use crate::os::region::Access;
use crate::os::signal;

/// Maximum number of watched regions of one process: enough for some 600 topics.
const REGION_LIMIT: usize = 4096;

/// Maximum number of times that a thread yields while another thread installs the handler.
const INSTALL_WAIT_LIMIT: u32 = 1000;

/// Stands for a descriptor number where there is no file.
const NO_FD: RawFd = -1;

/// The regions that this process has mapped.
static REGIONS: Table<REGION_LIMIT> = Table::new();

/// The number of forks and losses so far; see [`epoch`].
static FAULT_EPOCH: SeparateWord = SeparateWord(AtomicU64::new(0));

/// A word that shares its cache lines with nothing else, because every `send` and `recv` reads it.
#[repr(align(128))]
struct SeparateWord(AtomicU64);

/// Returns the fault epoch: a count that grows when a fork turns endpoints into copies, and when a
/// region is lost.
///
/// An endpoint that finds the epoch it last observed may continue; if it finds another one, it must
/// check its segment. Costs one relaxed load.
#[inline(always)]
pub(crate) fn epoch() -> u64 {
    // Relaxed: an endpoint that finds a new epoch calls `epoch_before_check` next.
    FAULT_EPOCH.0.load(Ordering::Relaxed)
}

/// Returns the [`epoch`], for a caller that has just accessed shared memory: a fault of this thread
/// in those accesses is counted.
#[inline(always)]
pub(crate) fn epoch_after_access() -> u64 {
    // ORDERING(fault): SeqCst compiler fence, which is no instruction: the accesses before it
    // come before the load. Pairs with the fence in `on_sigbus`: a fault is precise, so the load
    // is executed after a handler that interrupted those accesses.
    compiler_fence(Ordering::SeqCst);
    epoch()
}

/// Returns the [`epoch`], for a caller that checks next whether its segment is lost: it finds every
/// loss that the returned epoch counts.
pub(crate) fn epoch_before_check() -> u64 {
    // ORDERING(fault-epoch): Acquire. Pairs with `advance_epoch`: a thread that sees the epoch sees
    // the mark of the lost region.
    FAULT_EPOCH.0.load(Ordering::Acquire)
}

/// Advances the epoch, so that every endpoint of this process checks its health. Async-signal-safe.
pub(crate) fn advance_epoch() {
    // ORDERING(fault-epoch): Release. Pairs with the load in `epoch_before_check`.
    FAULT_EPOCH.0.fetch_add(1, Ordering::Release);
}

/// The entry of a mapped region in the table of this process, until it is dropped.
#[derive(Debug)]
pub(crate) struct RegionWatch {
    /// Index in the table; `None` if the table was full.
    index: Option<usize>,
}

impl RegionWatch {
    /// Enters a mapping of the file `file.0`, from offset `file.1` on. The value must be dropped
    /// before the mapping is unmapped.
    pub(crate) fn new(address: *mut u8, bytes: usize, access: Access, file: (RawFd, u64)) -> Self {
        install_handler();
        let (fd, offset) = file;
        Self {
            index: REGIONS.enter(Mapping {
                address,
                bytes,
                access,
                fd,
                offset,
            }),
        }
    }

    /// Returns true once zeros were mapped over the region, because its file was truncated.
    pub(crate) fn is_lost(&self) -> bool {
        // Relaxed: ordered by the fault epoch.
        self.index
            .is_some_and(|index| REGIONS.entries[index].lost.load(Ordering::Relaxed))
    }
}

impl Drop for RegionWatch {
    fn drop(&mut self) {
        if let Some(index) = self.index {
            REGIONS.entries[index].clear();
        }
    }
}

/// A mapping of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mapping {
    address: *mut u8,
    bytes: usize,
    access: Access,
    /// Descriptor of the file; [`NO_FD`] if the memory belongs to this process only.
    fd: RawFd,
    /// The offset in the file at which the mapping begins.
    offset: u64,
}

impl Mapping {
    fn contains(&self, address: *mut u8) -> bool {
        address.addr().wrapping_sub(self.address.addr()) < self.bytes
    }
}

/// A table of mappings. A signal handler can search it by address while other threads enter and
/// clear mappings.
struct Table<const N: usize> {
    entries: [MappingEntry; N],
}

/// An entry of the table. Its words are read like the words of a seqlock, but without a retry. WHY:
/// an entry that is changing cannot be the mapping in which the reader faulted, because a mapping
/// in use keeps its entry.
struct MappingEntry {
    /// Odd while the other words change.
    version: AtomicU64,
    /// Null if the entry is free.
    address: AtomicPtr<u8>,
    bytes: AtomicUsize,
    writable: AtomicBool,
    fd: AtomicI32,
    offset: AtomicU64,
    lost: AtomicBool,
}

impl<const N: usize> Table<N> {
    const fn new() -> Self {
        Self {
            entries: [const { MappingEntry::new() }; N],
        }
    }

    /// Enters `mapping` in the first free entry, and returns its index; `None` if no entry is free.
    fn enter(&self, mapping: Mapping) -> Option<usize> {
        self.entries.iter().position(|entry| entry.claim(mapping))
    }

    /// Returns the mapping that contains `address`, and its entry. Async-signal-safe.
    fn find(&self, address: *mut u8) -> Option<(&MappingEntry, Mapping)> {
        let mut entered = self
            .entries
            .iter()
            .filter_map(|entry| Some((entry, entry.mapping()?)));
        entered.find(|(_, mapping)| mapping.contains(address))
    }
}

impl MappingEntry {
    const fn new() -> Self {
        Self {
            version: AtomicU64::new(0),
            address: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicUsize::new(0),
            writable: AtomicBool::new(false),
            fd: AtomicI32::new(NO_FD),
            offset: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }

    /// Enters `mapping` here if the entry is free.
    fn claim(&self, mapping: Mapping) -> bool {
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
        self.writable
            .store(mapping.access == Access::Write, Ordering::Relaxed);
        self.fd.store(mapping.fd, Ordering::Relaxed);
        self.offset.store(mapping.offset, Ordering::Relaxed);
        self.lost.store(false, Ordering::Relaxed);
        self.address.store(mapping.address, Ordering::Relaxed);
        self.store_even_version(version + 2);
        true
    }

    /// Frees the entry. Only the owner of the mapping may call it.
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

    /// Returns the mapping in this entry, unless the entry is changing.
    fn mapping(&self) -> Option<Mapping> {
        // ORDERING(watch): Acquire. Pairs with the Release in `store_even_version`.
        let version = self.version.load(Ordering::Acquire);
        let address = self.address.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        let writable = self.writable.load(Ordering::Relaxed);
        let fd = self.fd.load(Ordering::Relaxed);
        let offset = self.offset.load(Ordering::Relaxed);
        // ORDERING(watch): Acquire fence. Pairs with the one in `fence_odd_version`: a thread that
        // read a new word sees that the version has changed.
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        let access = if writable {
            Access::Write
        } else {
            Access::Read
        };
        (is_whole && !address.is_null()).then_some(Mapping {
            address,
            bytes,
            access,
            fd,
            offset,
        })
    }
}

/// Maps a private copy over each region that a forked child may write: its writes through an
/// inherited loan must not reach other processes. The content stays, or becomes zeros if the file
/// cannot be mapped.
///
/// Called in the child, in its only thread. Async-signal-safe.
pub(crate) fn make_regions_private() {
    for entry in &REGIONS.entries {
        let Some(mapping) = entry.mapping() else {
            continue;
        };
        // Relaxed: there is no other thread. WHY: a grandchild gets the child's memory as it is.
        entry.fd.store(NO_FD, Ordering::Relaxed);
        if mapping.access == Access::Read || mapping.fd == NO_FD {
            continue;
        }
        let Mapping {
            address,
            bytes,
            fd,
            offset,
            ..
        } = mapping;
        // SAFETY: the owner of the entry has the region mapped, and a private copy has the same
        // content.
        let is_private = unsafe { signal::map_private(address, bytes, fd, offset) };
        // SAFETY: as above; any bytes are a valid value for the inert handles of a child.
        if !is_private && !unsafe { signal::map_zeros(address, bytes, Access::Write) } {
            // SAFETY: as above. A write then kills the child, and does not reach its parent.
            unsafe { signal::forbid_writes(address, bytes) };
        }
    }
}

/// Installs the handler, once in a process. If that fails, a fault ends the process as it would
/// without the handler.
fn install_handler() {
    const NONE: u8 = 0;
    const BEGUN: u8 = 1;
    const DONE: u8 = 2;
    static STATE: AtomicU8 = AtomicU8::new(NONE);
    // WHY never twice: at the second time, the "previous" handler could be one that forwards to
    // ours.
    let order = Ordering::Relaxed;
    match STATE.compare_exchange(NONE, BEGUN, order, order) {
        Ok(_) => {
            let _ = signal::install(on_sigbus);
            STATE.store(DONE, Ordering::Relaxed);
        }
        Err(BEGUN) => {
            // WHY bounded: the child of a fork that ran meanwhile would wait for ever.
            for _ in 0..INSTALL_WAIT_LIMIT {
                if STATE.load(Ordering::Relaxed) == DONE {
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
        if !address.is_some_and(replace_by_zeros) {
            // SAFETY: the kernel passed these arguments to the handler, which is running.
            unsafe { signal::forward_to_previous(signal, info, context) };
        }
        // ORDERING(fault): SeqCst compiler fence. Pairs with the one in `epoch_after_access`.
        compiler_fence(Ordering::SeqCst);
    });
}

/// Maps zeros over the region that contains `address`; returns false if no region of this library
/// contains it.
fn replace_by_zeros(address: *mut u8) -> bool {
    let Some((entry, mapping)) = REGIONS.find(address) else {
        return false;
    };
    // WHY first: a thread that finds zeros in its region must also find the epoch changed.
    // Relaxed: the epoch orders it.
    entry.lost.store(true, Ordering::Relaxed);
    advance_epoch();
    // WHY: a thread that finds zeros need not fault itself, so nothing else orders its load of the
    // epoch after its load of the zeros. It can find the zeros only after this barrier, which it
    // passed, too.
    signal::barrier_all_threads();
    // SAFETY: the faulting thread uses the region, so it stays mapped until this returns. Its
    // content is used by no thread that sees the new epoch.
    unsafe { signal::map_zeros(mapping.address, mapping.bytes, mapping.access) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(address: usize, bytes: usize) -> Mapping {
        let address = ptr::without_provenance_mut(address);
        Mapping {
            address,
            bytes,
            access: Access::Write,
            fd: NO_FD,
            offset: 0,
        }
    }

    #[test]
    fn a_mapping_is_found_by_each_of_its_addresses_and_no_other() {
        let table = Table::<4>::new();
        let low = mapping(0x1000, 0x2000);
        let high = mapping(0x8000, 1);
        assert_eq!(table.enter(low), Some(0));
        assert_eq!(table.enter(high), Some(1));
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
        table.entries[0].clear();
        assert_eq!(find(0x1000), None);
    }

    #[test]
    fn a_full_table_refuses_mappings_until_one_is_cleared() {
        let table = Table::<2>::new();
        assert_eq!(table.enter(mapping(0x1000, 1)), Some(0));
        assert_eq!(table.enter(mapping(0x2000, 1)), Some(1));
        assert_eq!(table.enter(mapping(0x3000, 1)), None);
        table.entries[0].lost.store(true, Ordering::Relaxed);
        table.entries[0].clear();
        assert_eq!(table.enter(mapping(0x3000, 1)), Some(0));
        assert!(
            !table.entries[0].lost.load(Ordering::Relaxed),
            "the mark is of another region"
        );
    }

    /// Address and length in an entry belong together whenever it is found.
    #[test]
    fn a_changing_entry_is_never_found_half_changed() {
        let table = Table::<2>::new();
        let stays = || mapping(0x7000_0000, 16);
        table.enter(stays()).unwrap();
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
                let index = table.enter(mapping(0x1000 * number, number)).unwrap();
                table.entries[index].clear();
            }
            is_over.store(true, Ordering::Relaxed);
            looking
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        });
    }
}
