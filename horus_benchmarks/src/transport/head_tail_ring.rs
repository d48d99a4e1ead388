//! A shared-memory ring as it is usually written, for comparison: with a head, a tail, and slots
//! without sequence stamps.
//!
//! Each end owns one of the two counters and caches the other one, which it reads again only when
//! the ring seems full or empty.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::{self, AtomicU64};

use crate::measure::endpoint::Endpoint;
use crate::measure::lines::SharedCacheLines;
use crate::transport::packet::Packet;

/// One end of a ring, which either sends or receives. The head and the tail of the ring lie in the
/// two lines, and its slots after them.
#[derive(Debug)]
pub(super) struct HeadTailRingEnd<P> {
    memory: SharedCacheLines,
    mask: u64,
    /// The counter that this end owns.
    own: u64,
    /// The other counter, as it was when this end last read it.
    seen: u64,
    packet: PhantomData<fn(P)>,
}

impl<P: Packet> HeadTailRingEnd<P> {
    /// Opens an end of the ring in `file`. Creates the file if it does not exist.
    pub(super) fn open(file: &Path, capacity: u64) -> io::Result<HeadTailRingEnd<P>> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(file.with_extension("ring"))?;
        let slots = capacity.next_power_of_two() as usize;
        Ok(HeadTailRingEnd {
            memory: SharedCacheLines::map_with_extra_bytes(file, slots * P::BYTES)?,
            mask: slots as u64 - 1,
            own: 0,
            seen: 0,
            packet: PhantomData,
        })
    }

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

    /// Returns the slot of the next message that this end sends or receives.
    #[inline(always)]
    fn next_slot(&self) -> *mut P {
        let slots = self.memory.extra_bytes_pointer().cast::<P>();
        slots.wrapping_add((self.own & self.mask) as usize)
    }
}

impl<P: Packet> Endpoint<P> for HeadTailRingEnd<P> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        if self.own - self.seen > self.mask {
            // ORDERING(ring_tail): Acquire. Pairs with the Release in `recv`: a side that sees a
            // message received may write over it.
            self.seen = self.tail().load(atomic::Ordering::Acquire);
            if self.own - self.seen > self.mask {
                std::hint::spin_loop();
                return false;
            }
        }
        let slot = self.next_slot();
        // SAFETY: inside the mapping and aligned: slots begin at a line and packets are made of
        // words. The receiver has passed this slot, and does not look at it before the store below.
        unsafe { slot.write(*message) };
        self.own += 1;
        // ORDERING(ring_head): Release. Pairs with the Acquire in `recv`: a side that sees the head
        // sees the message.
        self.head().store(self.own, atomic::Ordering::Release);
        true
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        if self.own == self.seen {
            // ORDERING(ring_head): Acquire. Pairs with the Release in `send`.
            self.seen = self.head().load(atomic::Ordering::Acquire);
            if self.own == self.seen {
                return false;
            }
        }
        let slot = self.next_slot();
        // SAFETY: inside the mapping and aligned, as in `send`; any bytes are a packet, and the
        // sender does not write here before it sees the store below.
        *message = unsafe { slot.read() };
        self.own += 1;
        // ORDERING(ring_tail): Release. Pairs with the Acquire in `send`.
        self.tail().store(self.own, atomic::Ordering::Release);
        true
    }

    /// Receives all available messages, and reads each in its slot. Loads the head once and stores
    /// the tail once for all of them.
    #[inline(always)]
    fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        // ORDERING(ring_head): Acquire. Pairs with the Release in `send`.
        self.seen = self.head().load(atomic::Ordering::Acquire);
        let found = self.own != self.seen;
        while self.own != self.seen {
            // SAFETY: inside the mapping and aligned, as in `recv`; the sender does not write here
            // before it sees the store below.
            each(unsafe { &*self.next_slot() });
            self.own += 1;
        }
        if found {
            // ORDERING(ring_tail): Release. Pairs with the Acquire in `send`.
            self.tail().store(self.own, atomic::Ordering::Release);
        }
        found
    }
}
