//! The logbook: memory in which children say how far they are, and read what they are to do.
//!
//! It is no ring, because it is to tell the truth about rings. What a killed child wrote stays.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;

const FILE_NAME: &str = "logbook";

/// A word that one process writes and any other reads.
#[repr(transparent)]
pub struct Line(AtomicU64);

impl Line {
    pub fn get(&self) -> u64 {
        // ORDERING(logbook): Acquire. Pairs with the stores below: who reads that somebody rests
        // sees what that one sent before.
        self.0.load(Ordering::Acquire)
    }

    pub fn set(&self, value: u64) {
        // ORDERING(logbook): Release. Pairs with the load above.
        self.0.store(value, Ordering::Release);
    }

    pub fn count(&self) {
        // ORDERING(logbook): Release. Pairs with the load above.
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// What everybody reads.
#[repr(C, align(64))]
pub struct Orders {
    pub phase: Line,
    /// Children that panicked.
    pub faults: Line,
    /// For the test at hand.
    pub word: Line,
}

/// What one child says.
#[repr(C, align(64))]
pub struct Entry {
    /// Messages that it began to send, or more by the one at hand.
    pub attempted: Line,
    /// Messages whose send returned.
    pub confirmed: Line,
    pub received: Line,
    /// By chair of the sender: the last message received, as [`stamp`] has it.
    pub seen: [Line; 2],
    /// The last phase in which it came to rest.
    pub rested: Line,
    /// The owner word of its process, once its end is open.
    pub owner: Line,
    /// For the test at hand.
    pub word: Line,
}

const LINE_BYTES: usize = size_of::<Entry>();
const _: () = assert!(LINE_BYTES == size_of::<Orders>());

/// One number of a sender and a message, greater for a later sender or a later message.
pub const fn stamp(sender: u32, number: u64) -> u64 {
    (sender as u64) << 32 | (number + 1)
}

pub struct Logbook {
    map: MmapRaw,
}

impl Logbook {
    pub fn create(dir: &Path, entries: usize) -> Self {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        let file = options.open(dir.join(FILE_NAME)).unwrap();
        file.set_len(((entries + 1) * LINE_BYTES) as u64).unwrap();
        Self { map: MmapRaw::map_raw(&file).unwrap() }
    }

    pub fn open(dir: &Path) -> Self {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(dir.join(FILE_NAME)).unwrap();
        Self { map: MmapRaw::map_raw(&file).unwrap() }
    }

    pub fn orders(&self) -> &Orders {
        // SAFETY: the mapping begins with the orders, all atomic, and lives as long as this.
        unsafe { &*self.map.as_mut_ptr().cast() }
    }

    fn len(&self) -> usize {
        self.map.len() / LINE_BYTES - 1
    }

    pub fn entry(&self, id: u32) -> &Entry {
        assert!((id as usize) < self.len(), "the logbook is full");
        // SAFETY: within the mapping, by the assertion.
        let entry = unsafe { self.map.as_mut_ptr().add((id as usize + 1) * LINE_BYTES) };
        // SAFETY: aligned, as the mapping is; all of an entry is atomic.
        unsafe { &*entry.cast() }
    }

    /// The entries of all that ever began to send.
    pub fn senders(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let entries = (0..self.len() as u32).map(|id| (id, self.entry(id)));
        entries.filter(|(_, entry)| entry.attempted.get() != 0)
    }
}
