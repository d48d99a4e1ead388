//! The rings, and what overwrites their words.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use horus_shm::internals::layout::{POSITION_MAX, SKIP, Skips, published, writing};
use horus_shm::{OnStalled, Reading, Reliability, Request, Segment, TypeInfo};
use memmap2::{MmapOptions, MmapRaw};

/// The number of words that are overwritten in one round.
const SCRIBBLES: u64 = 8;
/// The longest message of the ring whose messages have lengths of their own.
pub(crate) const SIZED_BYTES: usize = 40;

/// A ring and the endpoints that are at work on it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) request: Request,
    pub(crate) producers: usize,
    pub(crate) readings: &'static [Reading],
    pub(crate) on_stalled: OnStalled,
}

impl Kind {
    pub(crate) fn new(name: &'static str, readings: &'static [Reading]) -> Self {
        let mut request = Request::new(TypeInfo::opaque::<u64>());
        request.capacity = Some(8);
        Self {
            name,
            request,
            producers: 1,
            readings,
            on_stalled: OnStalled::Full,
        }
    }

    pub(crate) fn spsc() -> Self {
        let mut kind = Self::new("spsc", &[Reading::Gated]);
        kind.request.reliability = Some(Reliability::Reliable);
        (kind.request.lane_limit, kind.request.reader_limit) = (Some(1), Some(1));
        kind
    }

    pub(crate) fn mpsc() -> Self {
        let mut kind = Self::new("mpsc", &[Reading::Gated]);
        kind.request.reliability = Some(Reliability::Reliable);
        kind.request.reader_limit = Some(1);
        kind.producers = 2;
        kind
    }

    pub(crate) fn fanout() -> Self {
        let mut kind = Self::new("fanout", &[Reading::KeepLast, Reading::Observer]);
        kind.request.history = Some(4);
        kind.producers = 2;
        kind
    }

    pub(crate) fn pod() -> Self {
        let mut kind = Self::new("pod", &[Reading::KeepLast, Reading::KeepLast]);
        (kind.request.lane_limit, kind.request.history) = (Some(1), Some(1));
        kind
    }

    /// Makes a ring whose messages are lent and borrowed.
    pub(crate) fn pinnable() -> Self {
        let mut kind = Self::new(
            "pinnable",
            &[Reading::KeepLast, Reading::KeepLast, Reading::Observer],
        );
        (kind.request.pinnable, kind.request.history) = (Some(true), Some(2));
        (kind.request.lane_limit, kind.request.reader_limit) = (Some(2), Some(4));
        kind.producers = 2;
        kind
    }

    pub(crate) fn reliable_pinnable() -> Self {
        let mut kind = Self::reliable(OnStalled::Full);
        (kind.name, kind.request.pinnable) = ("reliable pinnable", Some(true));
        (kind.request.lane_limit, kind.request.reader_limit) = (Some(2), Some(4));
        kind.producers = 2;
        kind
    }

    /// Makes a ring whose messages have lengths of their own.
    pub(crate) fn sized() -> Self {
        let mut kind = Self::pinnable();
        kind.name = "sized";
        let type_info = &mut kind.request.type_info;
        (type_info.sized, type_info.bytes) = (true, SIZED_BYTES as u64);
        kind
    }

    pub(crate) fn reliable(on_stalled: OnStalled) -> Self {
        let mut kind = Self::new("reliable", &[Reading::Gated, Reading::KeepLast]);
        kind.request.reliability = Some(Reliability::Reliable);
        kind.request.persists = Some(true);
        kind.request.history = Some(u32::MAX);
        kind.on_stalled = on_stalled;
        kind
    }
}

/// Overwrites words of a topic's whole file, mapped writable, against all rules.
pub(crate) struct Scribbler {
    pub(crate) map: MmapRaw,
    pub(crate) words: Vec<usize>,
    pub(crate) heads: Vec<usize>,
    pub(crate) me: u64,
    pub(crate) rng: Rng,
}

impl Scribbler {
    pub(crate) fn new(segment: &Segment, seed: u64) -> Self {
        let shape = segment.shape();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(segment.path())
            .unwrap();
        // WHY: a store into a hole of a full file system would kill this process.
        let file_bytes = shape.file_bytes() as libc::off_t;
        // SAFETY: the call takes no pointer.
        let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, file_bytes) };
        assert_eq!(error, 0, "no memory for the whole file");
        let map = MmapOptions::new()
            .len(shape.file_bytes() as usize)
            .map_raw(&file)
            .unwrap();
        let blocks = [shape.lane_area(), shape.reader_area()];
        let blocks = blocks.into_iter().flat_map(|area| area.step_by(8));
        let stride = shape.stride();
        let request = *shape.request();
        let lanes = 0..request.lane_limit;
        // A trailer is the stamp, and where messages have them their number and length.
        let trailer = if request.pinnable { 3 } else { 1 };
        let trailers = lanes.clone().flat_map(|lane| {
            let slots = shape.lane(lane);
            let words = move |slot| (1..=trailer).map(move |word| slot + stride - 8 * word);
            slots.step_by(stride as usize).flat_map(words)
        });
        // WHY the blocks twice: so they are hit as often as the many trailers.
        let words: Vec<_> = blocks.clone().chain(blocks).chain(trailers).collect();
        let start = shape.lane_area().start as usize;
        let heads = lanes
            .map(|lane| start + shape.lane_block_offset(lane) + 64)
            .collect();
        let words = words.into_iter().map(|word| word as usize).collect();
        Self {
            map,
            words,
            heads,
            me: segment.me(),
            rng: Rng::with_seed(seed),
        }
    }

    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.map.len());
        // SAFETY: in bounds by the assertion.
        let word = unsafe { self.map.as_mut_ptr().add(offset) };
        // SAFETY: aligned by the assertion, mapped as long as `self`, and only accessed atomically.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    /// Returns a random value, or one that is nearly valid.
    pub(crate) fn value(&mut self) -> u64 {
        let head = *self.rng.choice(&self.heads).unwrap();
        let head = self.word(head).load(Ordering::Relaxed);
        let pos = head.wrapping_add(self.rng.u64(..20)).wrapping_sub(10);
        let edges = [
            0,
            1,
            SKIP,
            1 << 62,
            POSITION_MAX,
            POSITION_MAX - 1,
            SKIP - 1,
            u64::MAX,
        ];
        match self.rng.u64(..10) {
            0 => self.rng.u64(..),
            1 => self.rng.u64(..) >> self.rng.u64(..64),
            2 => (*self.rng.choice(&edges).unwrap()).wrapping_add(self.rng.u64(..3)),
            3 => published(pos),
            4 => writing(pos),
            5 => published(pos) | SKIP,
            6 => pos,
            // A pin on a slot of one of the first lanes.
            7 => self.rng.u64(..2) << 56 | self.rng.u64(..10),
            8 => Skips::new(self.rng.u64(..20), pos % POSITION_MAX).to_word(),
            _ => self.me,
        }
    }

    pub(crate) fn scribble(&mut self) {
        for _ in 0..SCRIBBLES {
            let offset = *self.rng.choice(&self.words).unwrap();
            let value = self.value();
            self.word(offset).store(value, Ordering::Relaxed);
        }
    }

    /// Overwrites every word, but never with this process's own owner word.
    pub(crate) fn scribble_on_all(&mut self) {
        for index in 0..self.words.len() {
            let value = self.value();
            let value = if value == self.me { 0 } else { value };
            self.word(self.words[index]).store(value, Ordering::Relaxed);
        }
    }
}
