//! A shared-memory ring as it is usually written, for comparison: with a head, a tail, and slots
//! without sequence stamps.
//!
//! Each end owns one of the two counters and caches the other one, which it reads again only when
//! the ring seems full or empty.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{self, AtomicU64};

use crate::measure::endpoint::Endpoint;
use crate::measure::lines::SharedCacheLines;
use crate::transport::packet::Packet;

/// A ring whose head and tail lie in the two lines, and its slots after them.
#[derive(Debug)]
struct HeadTailRing<P> {
    memory: SharedCacheLines,
    mask: u64,
    packet: PhantomData<fn(P)>,
}

/// Opens the two ends of one side of the connection. The side sends to the ring in the file `out`,
/// and receives from the ring in the file `back`.
pub(super) fn open_ends<P: Packet>(
    [out, back]: [PathBuf; 2],
    capacity: u64,
) -> io::Result<(Producer<P>, Consumer<P>)> {
    let producer = Producer {
        ring: open_ring(&out, capacity)?,
        head: 0,
        tail_seen: 0,
    };
    let consumer = Consumer {
        ring: open_ring(&back, capacity)?,
        tail: 0,
        head_seen: 0,
    };
    Ok((producer, consumer))
}

/// Opens the ring in `file`. Creates the file if it does not exist.
fn open_ring<P: Packet>(file: &Path, capacity: u64) -> io::Result<HeadTailRing<P>> {
    let file = file.with_extension("ring");
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(file)?;
    let slots = capacity.next_power_of_two() as usize;
    Ok(HeadTailRing {
        memory: SharedCacheLines::map_with_bytes(file, slots * P::BYTES)?,
        mask: slots as u64 - 1,
        packet: PhantomData,
    })
}

impl<P: Packet> HeadTailRing<P> {
    /// Returns the head, which is the number of messages sent so far.
    #[inline(always)]
    fn head(&self) -> &AtomicU64 {
        &self.memory.line(0).words[0]
    }

    /// Returns the tail, which is the number of messages received so far.
    #[inline(always)]
    fn tail(&self) -> &AtomicU64 {
        &self.memory.line(1).words[0]
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> *mut P {
        let slots = self.memory.more_bytes().cast::<P>();
        slots.wrapping_add((position & self.mask) as usize)
    }
}

#[derive(Debug)]
pub(super) struct Producer<P> {
    ring: HeadTailRing<P>,
    head: u64,
    tail_seen: u64,
}

impl<P: Packet> Endpoint<P> for Producer<P> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        if self.head - self.tail_seen > self.ring.mask {
            // ORDERING(ring_tail): Acquire. Pairs with the Release in `recv`: a side that sees a
            // message received may write over it.
            self.tail_seen = self.ring.tail().load(atomic::Ordering::Acquire);
            if self.head - self.tail_seen > self.ring.mask {
                std::hint::spin_loop();
                return false;
            }
        }
        let slot = self.ring.slot(self.head);
        // SAFETY: inside the mapping and aligned: slots begin at a line and packets are made of
        // words. The receiver has passed this slot, and does not look at it before the store below.
        unsafe { slot.write(*message) };
        self.head += 1;
        // ORDERING(ring_head): Release. Pairs with the Acquire in `recv`: a side that sees the head
        // sees the message.
        self.ring.head().store(self.head, atomic::Ordering::Release);
        true
    }
}

#[derive(Debug)]
pub(super) struct Consumer<P> {
    ring: HeadTailRing<P>,
    tail: u64,
    head_seen: u64,
}

impl<P: Packet> Endpoint<P> for Consumer<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        if self.tail == self.head_seen {
            // ORDERING(ring_head): Acquire. Pairs with the Release in `send`.
            self.head_seen = self.ring.head().load(atomic::Ordering::Acquire);
            if self.tail == self.head_seen {
                return false;
            }
        }
        let slot = self.ring.slot(self.tail);
        // SAFETY: inside the mapping and aligned, as in `send`; any bytes are a packet, and the
        // sender does not write here before it sees the store below.
        *message = unsafe { slot.read() };
        self.tail += 1;
        // ORDERING(ring_tail): Release. Pairs with the Acquire in `send`.
        self.ring.tail().store(self.tail, atomic::Ordering::Release);
        true
    }

    /// Receives all available messages, and reads each in its slot. Loads the head once and stores
    /// the tail once for all of them.
    #[inline(always)]
    fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        // ORDERING(ring_head): Acquire. Pairs with the Release in `send`.
        self.head_seen = self.ring.head().load(atomic::Ordering::Acquire);
        let found = self.tail != self.head_seen;
        while self.tail != self.head_seen {
            // SAFETY: inside the mapping and aligned, as in `recv`; the sender does not write here
            // before it sees the store below.
            each(unsafe { &*self.ring.slot(self.tail) });
            self.tail += 1;
        }
        if found {
            // ORDERING(ring_tail): Release. Pairs with the Acquire in `send`.
            self.ring.tail().store(self.tail, atomic::Ordering::Release);
        }
        found
    }
}
