//! The logbook: memory in which children publish their progress, and read their commands.
//!
//! It is not a ring, because it is the reference that rings are checked against. Entries of a
//! killed child stay.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;

const FILE_NAME: &str = "logbook";

/// A word that one process writes and any process reads.
#[repr(transparent)]
pub struct Line(AtomicU64);

impl Line {
    pub fn get(&self) -> u64 {
        // ORDERING(logbook): Acquire. Pairs with the stores below: a reader that sees that a
        // process rests sees all that it sent before.
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

/// The commands that every child reads.
#[repr(C, align(64))]
pub struct Orders {
    pub phase: Line,
    /// The number of children that panicked.
    pub faults: Line,
    /// A word for the test's own use.
    pub word: Line,
}

/// The progress of one child.
#[repr(C, align(64))]
pub struct Entry {
    /// Messages that it began to send; up to one more while a send is under way.
    pub attempted: Line,
    /// Messages whose send returned.
    pub confirmed: Line,
    pub received: Line,
    /// The last message received from the sender on each chair, as [`stamp`] returns it.
    pub seen: [Line; 2],
    /// The last phase in which it came to rest.
    pub rested: Line,
    /// The owner word of its process, once its endpoint is open.
    pub owner: Line,
    /// A word for the test's own use.
    pub word: Line,
}

const LINE_BYTES: usize = size_of::<Entry>();
const _: () = assert!(LINE_BYTES == size_of::<Orders>());

/// Returns one number for a sender and a message, greater for a later sender or a later message.
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
        Self {
            map: MmapRaw::map_raw(&file).unwrap(),
        }
    }

    pub fn open(dir: &Path) -> Self {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .open(dir.join(FILE_NAME))
            .unwrap();
        Self {
            map: MmapRaw::map_raw(&file).unwrap(),
        }
    }

    pub fn orders(&self) -> &Orders {
        // SAFETY: the mapping begins with the orders, which are all atomic, and lives as long as
        // this.
        unsafe { &*self.map.as_mut_ptr().cast() }
    }

    fn len(&self) -> usize {
        self.map.len() / LINE_BYTES - 1
    }

    pub fn entry(&self, id: u32) -> &Entry {
        assert!((id as usize) < self.len(), "the logbook is full");
        // SAFETY: within the mapping, by the assertion.
        let entry = unsafe { self.map.as_mut_ptr().add((id as usize + 1) * LINE_BYTES) };
        // SAFETY: aligned, as the mapping is; all fields of an entry are atomic.
        unsafe { &*entry.cast() }
    }

    /// Returns the entries of all children that ever began to send.
    pub fn senders(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let entries = (0..self.len() as u32).map(|id| (id, self.entry(id)));
        entries.filter(|(_, entry)| entry.attempted.get() != 0)
    }
}
