//! Faults: mapped regions whose file was truncated, and the SIGBUS handler that keeps the process
//! alive.
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

/// Number of times that a thread yields to one that is installing the handler.
const INSTALL_WAIT_LIMIT: u32 = 1000;

/// The descriptor number for no file.
const NO_FD: RawFd = -1;

/// The regions of this process.
static REGIONS: Table<REGION_LIMIT> = Table::new();

/// The number of forks and losses so far; see [`epoch`].
static FAULT_EPOCH: Line = Line(AtomicU64::new(0));

/// A word in cache lines of its own, because every `send` and `recv` reads it.
#[repr(align(128))]
struct Line(AtomicU64);

/// Returns the fault epoch, which advances when a fork turns endpoints into copies, or a region is
/// lost.
///
/// An endpoint that finds its last observed epoch may go on; any other epoch makes it check its
/// segment. One relaxed load.
#[inline(always)]
pub(crate) fn epoch() -> u64 {
    // Relaxed: an endpoint that finds a new epoch calls `epoch_now` next.
    FAULT_EPOCH.0.load(Ordering::Relaxed)
}

/// Returns the [`epoch`] after accesses to shared memory, which includes a fault of this thread in
/// them.
#[inline(always)]
pub(crate) fn epoch_after() -> u64 {
    // ORDERING(fault): SeqCst compiler fence, which is no instruction: the accesses before it
    // come before the load. Pairs with the fence in `on_sigbus`: a fault is precise, so the load
    // is executed after a handler that interrupted those accesses.
    compiler_fence(Ordering::SeqCst);
    epoch()
}

/// Returns the [`epoch`] for a caller that checks next what has happened.
pub(crate) fn epoch_now() -> u64 {
    // ORDERING(fault-epoch): Acquire. Pairs with `advance_epoch`: a thread that sees the epoch sees
    // the mark.
    FAULT_EPOCH.0.load(Ordering::Acquire)
}

/// Advances the epoch, so that every endpoint of this process checks its health. Async-signal-safe.
pub(crate) fn advance_epoch() {
    // ORDERING(fault-epoch): Release. Pairs with the load in `epoch_now`.
    FAULT_EPOCH.0.fetch_add(1, Ordering::Release);
}

/// Watches a region for as long as it lives.
#[derive(Debug)]
pub(crate) struct Watch {
    /// `None` if the table is full.
    index: Option<usize>,
}

impl Watch {
    /// Watches a mapping of a file from offset `file.1` on. To be dropped before the mapping is
    /// unmapped.
    pub(crate) fn new(address: *mut u8, bytes: usize, access: Access, file: (RawFd, u64)) -> Self {
        install_handler();
        let (fd, offset) = file;
        Self { index: REGIONS.enter(Mapping { address, bytes, access, fd, offset }) }
    }

    /// Returns true once the region's memory is no longer its file's.
    pub(crate) fn is_lost(&self) -> bool {
        // Relaxed: ordered by the fault epoch.
        self.index.is_some_and(|index| REGIONS.entries[index].lost.load(Ordering::Relaxed))
    }
}

impl Drop for Watch {
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
    /// The file; [`NO_FD`] if the memory belongs to this process only.
    fd: RawFd,
    /// The offset in the file at which the mapping begins.
    offset: u64,
}

impl Mapping {
    fn contains(&self, address: *mut u8) -> bool {
        address.addr().wrapping_sub(self.address.addr()) < self.bytes
    }
}

/// Mappings, found by address in a signal handler while other threads enter and clear theirs.
struct Table<const N: usize> {
    entries: [MappingEntry; N],
}

/// An entry of the table. Its words are read like those of a seqlock, but without trying again: an
/// entry that is changing is not the mapping in which the reader faulted, because that one stays.
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
        Self { entries: [const { MappingEntry::new() }; N] }
    }

    /// Enters `mapping` in the first free entry, if there is one.
    fn enter(&self, mapping: Mapping) -> Option<usize> {
        self.entries.iter().position(|entry| entry.claim(mapping))
    }

    /// Returns the mapping that contains `address`, and its entry. Async-signal-safe.
    fn find(&self, address: *mut u8) -> Option<(&MappingEntry, Mapping)> {
        let mut entered = self.entries.iter().filter_map(|entry| Some((entry, entry.mapping()?)));
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
        // ORDERING(watch): Acquire. Pairs with the Release in `end_change`.
        let version = self.version.load(Ordering::Acquire);
        if !version.is_multiple_of(2) || !self.address.load(Ordering::Relaxed).is_null() {
            return false;
        }
        // WHY: the version only grows, so if it is unchanged the entry is still free.
        // Relaxed: the fence below orders it before the words.
        let order = Ordering::Relaxed;
        if self.version.compare_exchange(version, version + 1, order, order).is_err() {
            return false;
        }
        self.begin_change();
        self.bytes.store(mapping.bytes, Ordering::Relaxed);
        self.writable.store(mapping.access == Access::Write, Ordering::Relaxed);
        self.fd.store(mapping.fd, Ordering::Relaxed);
        self.offset.store(mapping.offset, Ordering::Relaxed);
        self.lost.store(false, Ordering::Relaxed);
        self.address.store(mapping.address, Ordering::Relaxed);
        self.end_change(version + 2);
        true
    }

    /// Frees the entry; only for its owner.
    fn clear(&self) {
        // Relaxed: only the owner changes an entry that is in use.
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        self.begin_change();
        self.address.store(ptr::null_mut(), Ordering::Relaxed);
        self.end_change(version + 2);
    }

    fn begin_change(&self) {
        // ORDERING(watch): Release fence between the odd version and the words. Pairs with the
        // fence in `mapping`.
        fence(Ordering::Release);
    }

    fn end_change(&self, version: u64) {
        // ORDERING(watch): Release. Pairs with the loads in `mapping` and `claim`.
        self.version.store(version, Ordering::Release);
    }

    /// Returns the mapping in this entry, unless the entry is changing.
    fn mapping(&self) -> Option<Mapping> {
        // ORDERING(watch): Acquire. Pairs with the Release in `end_change`.
        let version = self.version.load(Ordering::Acquire);
        let address = self.address.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        let writable = self.writable.load(Ordering::Relaxed);
        let fd = self.fd.load(Ordering::Relaxed);
        let offset = self.offset.load(Ordering::Relaxed);
        // ORDERING(watch): Acquire fence. Pairs with the one in `begin_change`: a thread that read
        // a new word sees that the version has changed.
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        let access = if writable { Access::Write } else { Access::Read };
        (is_whole && !address.is_null()).then_some(Mapping { address, bytes, access, fd, offset })
    }
}

/// Makes the regions that a forked child may write private to it: its writes through an inherited
/// loan must not reach other processes. Their content stays, or becomes zeros if the file cannot be
/// mapped.
///
/// Runs in the child, in its only thread. Async-signal-safe.
pub(crate) fn after_fork() {
    for entry in &REGIONS.entries {
        let Some(mapping) = entry.mapping() else { continue };
        // Relaxed: there is no other thread. WHY: a grandchild gets the child's memory as it is.
        entry.fd.store(NO_FD, Ordering::Relaxed);
        if mapping.access == Access::Read || mapping.fd == NO_FD {
            continue;
        }
        let Mapping { address, bytes, fd, offset, .. } = mapping;
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

/// Installs the handler once in a process. If that fails, a fault is fatal as before.
fn install_handler() {
    const NONE: u8 = 0;
    const BEGUN: u8 = 1;
    const DONE: u8 = 2;
    static STATE: AtomicU8 = AtomicU8::new(NONE);
    // WHY never twice: the second time, the "previous" handler could be one that forwards to ours.
    // Relaxed: a thread that goes on relies only on the kernel's view of the handler.
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
    signal::keep_errno(|| {
        // SAFETY: the kernel passed this `info` to the handler.
        let address = unsafe { signal::missing_page(info) };
        if !address.is_some_and(recover) {
            // SAFETY: the kernel passed these arguments to the handler, which is running.
            unsafe { signal::hand_on(signal, info, context) };
        }
        // ORDERING(fault): SeqCst compiler fence. Pairs with the one in `epoch_after`.
        compiler_fence(Ordering::SeqCst);
    });
}

/// Maps zeros over the region that contains `address`; false if it is not one of ours.
fn recover(address: *mut u8) -> bool {
    let Some((entry, mapping)) = REGIONS.find(address) else { return false };
    // WHY first: a thread that finds zeros in its region must also find the epoch changed.
    // Relaxed: the epoch orders it.
    entry.lost.store(true, Ordering::Relaxed);
    advance_epoch();
    // WHY: such a thread need not fault, so nothing else orders its load of the epoch behind its
    // load of the zeros. It can find the zeros only after this barrier, which it passed, too.
    signal::order_threads();
    // SAFETY: the faulting thread uses the region, so it stays mapped until this returns. Its
    // content is used by no thread that sees the new epoch.
    unsafe { signal::map_zeros(mapping.address, mapping.bytes, mapping.access) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(address: usize, bytes: usize) -> Mapping {
        let address = ptr::without_provenance_mut(address);
        Mapping { address, bytes, access: Access::Write, fd: NO_FD, offset: 0 }
    }

    #[test]
    fn a_mapping_is_found_by_each_of_its_addresses_and_no_other() {
        let table = Table::<4>::new();
        let (low, high) = (mapping(0x1000, 0x2000), mapping(0x8000, 1));
        assert_eq!(table.enter(low), Some(0));
        assert_eq!(table.enter(high), Some(1));
        let find = |address| table.find(ptr::without_provenance_mut(address)).map(|found| found.1);
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
        assert!(!table.entries[0].lost.load(Ordering::Relaxed), "the mark is of another region");
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
            looking.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
