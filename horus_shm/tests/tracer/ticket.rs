//! A ring that is wrong on purpose: producers share one ticket counter, so one that stops between
//! its ticket and its slot blocks all others. It shows that the sweep finds such a fault.

use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use horus_shm::Pod;
use memmap2::MmapRaw;

const LINE: usize = 128;

/// One endpoint of the ring, of either kind.
pub struct Ticket<M> {
    map: MmapRaw,
    capacity: u64,
    tail: u64,
    marker: PhantomData<M>,
}

impl<M: Pod> Ticket<M> {
    const STRIDE: usize = size_of::<M>() + size_of::<u64>();

    pub fn create(path: &Path, capacity: u64) -> Self {
        let file = File::create_new(path).unwrap();
        file.set_len(LINE as u64 + capacity * Self::STRIDE as u64)
            .unwrap();
        let ring = Self::open(path, capacity);
        // ORDERING(ticket): Release. Pairs with the load in `send`.
        (0..capacity).for_each(|slot| ring.sequence(slot).store(slot, Ordering::Release));
        ring
    }

    pub fn open(path: &Path, capacity: u64) -> Self {
        let file = File::options().read(true).write(true).open(path).unwrap();
        Self {
            map: MmapRaw::map_raw(&file).unwrap(),
            capacity,
            tail: 0,
            marker: PhantomData,
        }
    }

    pub fn send(&mut self, message: &M) -> bool {
        let head = self.word(0);
        let mut ticket = head.load(Ordering::Relaxed);
        loop {
            // ORDERING(ticket): Acquire. Pairs with the stores in `create` and `recv`.
            let sequence = self.sequence(ticket).load(Ordering::Acquire);
            if sequence < ticket {
                return false;
            }
            let next = ticket + 1;
            match head.compare_exchange(ticket, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(other) => ticket = other,
            }
        }
        // SAFETY: the ticket gives this slot to this producer alone.
        unsafe { self.payload(ticket).write_unaligned(*message) };
        // ORDERING(ticket): Release. Pairs with the load in `recv`.
        self.sequence(ticket).store(ticket + 1, Ordering::Release);
        true
    }

    pub fn recv(&mut self) -> Option<M> {
        // ORDERING(ticket): Acquire. Pairs with the store in `send`.
        if self.sequence(self.tail).load(Ordering::Acquire) != self.tail + 1 {
            return None;
        }
        // SAFETY: published, and not reused before the store below.
        let message = unsafe { self.payload(self.tail).read_unaligned() };
        // ORDERING(ticket): Release. Pairs with the load in `send`.
        self.sequence(self.tail)
            .store(self.tail + self.capacity, Ordering::Release);
        self.tail += 1;
        Some(message)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset + 8 <= self.map.len());
        // SAFETY: within the mapping, by the line above.
        let word = unsafe { self.map.as_mut_ptr().add(offset) };
        // SAFETY: aligned, and mapped for as long as this endpoint lives.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    fn slot(&self, position: u64) -> usize {
        LINE + (position % self.capacity) as usize * Self::STRIDE
    }

    fn sequence(&self, position: u64) -> &AtomicU64 {
        self.word(self.slot(position))
    }

    fn payload(&self, position: u64) -> *mut M {
        // SAFETY: the slot lies within the mapping, and its payload follows the sequence.
        unsafe { self.map.as_mut_ptr().add(self.slot(position) + 8).cast() }
    }
}
