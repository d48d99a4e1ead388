//! The rings, and what overwrites their words.

use std::fs::OpenOptions;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::{
    POSITION_MAX, SKIP_BIT, SkipCounter, published_stamp, writing_stamp,
};
use horus_shm::internals::shape::{LaneShape, TopicShape};
use horus_shm::{OnStalled, ReadMode, Reliability, Request, Segment, TypeInfo};
use memmap2::{MmapOptions, MmapRaw};

/// The number of words that are overwritten in one round.
const SCRIBBLES: u64 = 8;
/// The number of lanes that a ring without a limit uses.
const LANES: u32 = 16;
/// The longest message of the ring whose messages have lengths of their own.
pub(crate) const SIZED_BYTES: usize = 40;

/// A ring and the endpoints that are at work on it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) request: Request,
    pub(crate) producers: usize,
    pub(crate) readings: &'static [ReadMode],
    pub(crate) on_stalled: OnStalled,
}

impl Kind {
    pub(crate) fn new(name: &'static str, readings: &'static [ReadMode]) -> Self {
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
        let mut kind = Self::new("spsc", &[ReadMode::Gated]);
        kind.request.reliability = Some(Reliability::Reliable);
        (kind.request.lane_limit, kind.request.reader_limit) = (Some(1), Some(1));
        kind
    }

    pub(crate) fn mpsc() -> Self {
        let mut kind = Self::new("mpsc", &[ReadMode::Gated]);
        kind.request.reliability = Some(Reliability::Reliable);
        kind.request.reader_limit = Some(1);
        kind.producers = 2;
        kind
    }

    pub(crate) fn fanout() -> Self {
        let mut kind = Self::new("fanout", &[ReadMode::KeepLast, ReadMode::Observer]);
        kind.request.history = Some(4);
        kind.producers = 2;
        kind
    }

    pub(crate) fn pod() -> Self {
        let mut kind = Self::new("pod", &[ReadMode::KeepLast, ReadMode::KeepLast]);
        (kind.request.lane_limit, kind.request.history) = (Some(1), Some(1));
        kind
    }

    /// Makes a ring whose messages are lent and borrowed.
    pub(crate) fn pinnable() -> Self {
        let mut kind = Self::new(
            "pinnable",
            &[ReadMode::KeepLast, ReadMode::KeepLast, ReadMode::Observer],
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
        let mut kind = Self::new("reliable", &[ReadMode::Gated, ReadMode::KeepLast]);
        kind.request.reliability = Some(Reliability::Reliable);
        kind.request.persists = Some(true);
        kind.request.history = Some(u32::MAX);
        kind.on_stalled = on_stalled;
        kind
    }
}

fn slots_of(topic: &TopicShape, shape: &LaneShape, lane: u32) -> Range<u64> {
    let start = topic.file_bytes() + u64::from(lane) * shape.slots_bytes();
    start..start + shape.slots_bytes()
}

/// Overwrites words of a topic's files, mapped writable, against all rules. A word has an offset in
/// the topic file, or in the slots of the lanes, which it counts as behind that file.
pub(crate) struct Scribbler {
    topic: MmapRaw,
    lanes: Vec<MmapRaw>,
    shape: TopicShape,
    /// The shape of every lane.
    pub(crate) slots: LaneShape,
    pub(crate) words: Vec<usize>,
    pub(crate) heads: Vec<usize>,
    pub(crate) me: u64,
    pub(crate) rng: Rng,
}

impl Scribbler {
    /// Gives each lane without a lane file a new one.
    pub(crate) fn new(segment: &Segment, seed: u64) -> Self {
        let shape = *segment.shape();
        let offer = segment.request().offer().unwrap();
        let slots = offer.shape;
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
        let topic = MmapOptions::new()
            .len(shape.file_bytes() as usize)
            .map_raw(&file)
            .unwrap();
        let map_lane = |lane| {
            let file = segment.lane_file(lane);
            let file = file
                .or_else(|_| segment.add_lane_file(lane, offer.clone()))
                .unwrap();
            MmapOptions::new()
                .offset(slots.slots().start)
                .len(slots.slots_bytes() as usize)
                .map_raw(&file)
                .unwrap()
        };
        let blocks = [shape.lane_area(), shape.reader_area()];
        let blocks = blocks.into_iter().flat_map(|area| area.step_by(8));
        let stride = slots.stride();
        let lanes = 0..segment.request().lane_limit.unwrap_or(LANES);
        // A trailer is the stamp, and where messages have them their number and length.
        let trailer = if slots.request().pinnable { 3 } else { 1 };
        let trailers = lanes.clone().flat_map(|lane| {
            let slots = slots_of(&shape, &slots, lane);
            let words = move |slot| (1..=trailer).map(move |word| slot + stride - 8 * word);
            slots.step_by(stride as usize).flat_map(words)
        });
        // WHY the blocks twice: so they are hit as often as the many trailers.
        let words: Vec<_> = blocks.clone().chain(blocks).chain(trailers).collect();
        let start = shape.lane_area().start as usize;
        let heads = lanes
            .clone()
            .map(|lane| start + shape.lane_block_offset(lane) + 64)
            .collect();
        let words = words.into_iter().map(|word| word as usize).collect();
        Self {
            topic,
            lanes: lanes.map(map_lane).collect(),
            shape,
            slots,
            words,
            heads,
            me: segment.own_owner_word(),
            rng: Rng::with_seed(seed),
        }
    }

    /// Returns the range of the slots of a lane.
    pub(crate) fn slots(&self, lane: u32) -> Range<u64> {
        slots_of(&self.shape, &self.slots, lane)
    }

    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        let (map, offset) = match offset.checked_sub(self.topic.len()) {
            None => (&self.topic, offset),
            Some(behind) => {
                let bytes = self.slots.slots_bytes() as usize;
                (&self.lanes[behind / bytes], behind % bytes)
            }
        };
        assert!(offset.is_multiple_of(8) && offset + 8 <= map.len());
        // SAFETY: in bounds by the assertion.
        let word = unsafe { map.as_mut_ptr().add(offset) };
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
            SKIP_BIT,
            1 << 62,
            POSITION_MAX,
            POSITION_MAX - 1,
            SKIP_BIT - 1,
            u64::MAX,
        ];
        match self.rng.u64(..10) {
            0 => self.rng.u64(..),
            1 => self.rng.u64(..) >> self.rng.u64(..64),
            2 => (*self.rng.choice(&edges).unwrap()).wrapping_add(self.rng.u64(..3)),
            3 => published_stamp(pos),
            4 => writing_stamp(pos),
            5 => published_stamp(pos) | SKIP_BIT,
            6 => pos,
            // A pin on a slot of one of the first lanes.
            7 => self.rng.u64(..2) << 56 | self.rng.u64(..10),
            8 => SkipCounter::new(self.rng.u64(..20), pos % POSITION_MAX).to_word(),
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
