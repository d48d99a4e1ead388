//! Positions: a lane behaves the same at all positions, up to the largest one. A takeover repairs a
//! lane that is found past the largest position it accepts.
//!
//! No lane reaches these positions by itself: 2⁶⁰ messages take 36 years at one a nanosecond.

use horus_testing as _;

mod hostile;
mod spawn;

use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use horus_shm::internals::gate;
use horus_shm::internals::identity::TypeIdentity;
use horus_shm::internals::lane::{LaneReader, LaneWriter, PollOutcome, message_count_and_end};
use horus_shm::internals::layout::{
    LaneBlock, POSITION_MAX, SkipCounter, WaitBlock, published_stamp,
};
use horus_shm::internals::memory::{LaneMemory, RawLane, RawLaneParts, ReaderBlocks};
use horus_shm::internals::shape::reader_bytes;
use horus_shm::internals::takeover::take_over;

use hostile::rounds;

const RING_SLOTS: u64 = 8;
const READERS: u32 = 2;
/// The distance of the blocks of two readers.
const READER_BYTES: usize = reader_bytes(1);
const STEPS: u64 = 200;
/// More than any script sends.
const SENT_MAX: u64 = STEPS * 2 * RING_SLOTS;
/// The largest head that a takeover accepts.
const PLAUSIBLE_POSITION_MAX: u64 = POSITION_MAX / 2;
const ME: u64 = 7;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Slot([u8; 64]);

/// A reader's block and cursor.
#[repr(C, align(128))]
struct Reader([AtomicU64; READER_BYTES / 8]);

/// A lane on the heap whose last lap ended at some position.
struct Memory {
    slots: Vec<Slot>,
    block: Box<LaneBlock<AtomicU64>>,
    wait: Box<WaitBlock<AtomicU64>>,
    readers: Vec<Reader>,
}

impl Memory {
    /// Makes a lane in which position `head` is the next to be written. (At 0, none was.)
    fn at(head: u64) -> Self {
        let mut slots = vec![Slot([0; 64]); RING_SLOTS as usize];
        for pos in head.saturating_sub(RING_SLOTS)..head {
            slots[(pos % RING_SLOTS) as usize].0[56..]
                .copy_from_slice(&published_stamp(pos).to_le_bytes());
        }
        let memory = Self {
            slots,
            block: Box::default(),
            wait: Box::default(),
            readers: (0..READERS)
                .map(|_| Reader(std::array::from_fn(|_| AtomicU64::new(0))))
                .collect(),
        };
        memory.block.head.store(head, Ordering::Relaxed);
        memory
    }

    fn lane(&mut self) -> RawLane {
        let blocks = self.readers.as_ptr().cast();
        // SAFETY: the blocks exist, are aligned, and outlive the lane in each of these tests.
        let readers =
            unsafe { ReaderBlocks::new(&raw const *self.wait, blocks, READER_BYTES, READERS) };
        let parts = RawLaneParts {
            base: 0,
            generation: 0,
            slots: self.slots.as_mut_ptr().cast(),
            stride: size_of::<Slot>(),
            capacity: RING_SLOTS,
            block: &raw const *self.block,
            lane: 0,
            type_identity: &TypeIdentity::NONE,
            readers,
        };
        // SAFETY: as above.
        unsafe { RawLane::new(parts) }
    }
}

fn send(writer: &mut LaneWriter<RawLane>, message: u64) -> bool {
    // SAFETY: eight bytes of a `u64`; the lane has one writer.
    unsafe { writer.write((&raw const message).cast(), 8) }.is_ok()
}

fn recv(reader: &mut LaneReader<RawLane>, latest: bool) -> (PollOutcome, Option<u64>) {
    let mut message = 0_u64;
    let dst = (&raw mut message).cast();
    let polled = if latest {
        // SAFETY: eight bytes of a `u64`.
        unsafe { reader.read_latest(dst, 8) }
    } else {
        // SAFETY: eight bytes of a `u64`.
        unsafe { reader.read(dst, 8) }
    };
    (polled, (polled == PollOutcome::Message).then_some(message))
}

/// The result of one step, with positions counted from the start of the script.
type Event = (PollOutcome, Option<u64>, [u64; 6]);

/// Sends, receives, hands the lane on, and lets readers come and go, by random numbers of `seed`,
/// in a lane that begins at `start`.
fn script(start: u64, seed: u64, kind: Script) -> Vec<Event> {
    let mut rng = Rng::with_seed(seed);
    let mut memory = Memory::at(start);
    let lane = memory.lane();
    let gated = kind == Script::Gated;
    let mut writer = LaneWriter::new(lane, start, gated);
    let reader = |reader| {
        let first = if gated {
            gate::announce_gated_reader(lane.gated_reader_mask(), reader);
            gate::join_lane(&lane, reader, u64::MAX)
        } else {
            lane.block().head.load(Ordering::Relaxed)
        };
        LaneReader::new(lane, first, reader)
    };
    let mut readers = [0, 1].map(reader);
    let mut number = 0;
    let mut events = Vec::new();
    for _ in 0..STEPS {
        let mut polled = PollOutcome::Empty;
        let mut message = None;
        let index = rng.u64(..2) as usize;
        match rng.u64(..100) {
            0..45 => number += u64::from(send(&mut writer, number)),
            45..50 => {
                for _ in 0..rng.u64(..2 * RING_SLOTS) {
                    number += u64::from(send(&mut writer, number));
                }
            }
            50..88 => (polled, message) = recv(&mut readers[index], false),
            88..94 => (polled, message) = recv(&mut readers[index], true),
            94..97 => readers[index] = reader(index as u32),
            _ if start < PLAUSIBLE_POSITION_MAX - SENT_MAX => {
                writer = LaneWriter::new(lane, take_over(&lane, ME), gated);
            }
            _ => {}
        }
        let reader = &readers[index];
        let at = reader.position() - start;
        let sent = writer.position() - start;
        let counts = [
            at,
            sent,
            reader.lost(),
            reader.skipped(),
            reader.busy_call_count(),
            reader.waiting_messages(),
        ];
        events.push((polled, message, counts));
    }
    assert!(number < SENT_MAX);
    assert_eq!(
        lane.block().corrupt_resync.load(Ordering::Relaxed),
        0,
        "a takeover found damage"
    );
    events
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Open,
    Gated,
}

/// Compares the events of the same script at `near` and at each of `starts`.
fn behaves_the_same(near: u64, starts: &[u64]) {
    for kind in [Script::Open, Script::Gated] {
        for seed in 0..rounds(100, 10_000) {
            let wanted = script(near, seed, kind);
            for &start in starts {
                let found = script(start, seed, kind);
                let differs = wanted
                    .iter()
                    .zip(&found)
                    .position(|(one, other)| one != other);
                assert_eq!(
                    differs, None,
                    "{kind:?}, seed {seed}, from {start:#x}, at this step"
                );
            }
        }
    }
}

#[test]
fn a_lane_behaves_the_same_where_numbers_turn_over() {
    let bits = [16, 31, 32, 33, 48, 52, 53, 59];
    behaves_the_same(1 << 10, &bits.map(|bits| (1 << bits) - 10));
    behaves_the_same(1 << 10, &[PLAUSIBLE_POSITION_MAX - SENT_MAX - 10]);
}

/// The scripts have no takeovers here, which accept only half of the largest position.
#[test]
fn a_session_behaves_the_same_up_to_the_largest_position() {
    let near = PLAUSIBLE_POSITION_MAX - SENT_MAX;
    behaves_the_same(
        near,
        &[
            PLAUSIBLE_POSITION_MAX - 10,
            PLAUSIBLE_POSITION_MAX,
            POSITION_MAX - SENT_MAX,
        ],
    );
}

/// A reader that keeps up is not affected: stamps have room for twice as many positions.
#[test]
fn a_reader_that_keeps_up_gets_every_message_past_the_largest_position() {
    let start = POSITION_MAX - 10;
    let mut memory = Memory::at(start);
    let lane = memory.lane();
    let mut writer = LaneWriter::new(lane, start, false);
    let mut reader = LaneReader::new(lane, start, 0);
    for number in 0..1000 {
        assert!(send(&mut writer, number));
        assert_eq!(
            recv(&mut reader, false),
            (PollOutcome::Message, Some(number))
        );
    }
    assert_eq!((reader.lost(), reader.skipped()), (0, 0));
}

/// There the head counts as damaged, so a lapped reader searches slot by slot. It loses more than
/// necessary, and counts it.
#[test]
fn a_lapped_reader_past_the_largest_position_keeps_an_exact_ledger() {
    let start = POSITION_MAX + 1;
    let mut memory = Memory::at(start);
    let lane = memory.lane();
    let mut writer = LaneWriter::new(lane, start, false);
    let mut reader = LaneReader::new(lane, start, 0);
    let mut received = 0;
    let mut last = None;
    let sent = 10 * RING_SLOTS;
    (0..sent).for_each(|number| assert!(send(&mut writer, number)));
    for _ in 0..sent {
        if let (_, Some(number)) = recv(&mut reader, false) {
            assert!(last < Some(number), "{number} after {last:?}");
            (received, last) = (received + 1, Some(number));
        }
    }
    assert_eq!(last, Some(sent - 1));
    assert_eq!(received + reader.lost(), sent);
    assert!(received > 0 && reader.busy_call_count() > 0);
}

/// A takeover treats a position past half of the largest one as damage: the lane begins anew, after
/// the newest stamp in the accepted range, and counts a resync. New readers work; a reader that was
/// past that position waits until the lane reaches it again.
#[test]
fn a_takeover_past_the_accepted_positions_begins_anew_and_counts_a_resync() {
    // The head, and where a lane continues whose last lap ended there.
    let believed = [
        (PLAUSIBLE_POSITION_MAX, PLAUSIBLE_POSITION_MAX, 0),
        (PLAUSIBLE_POSITION_MAX + 1, PLAUSIBLE_POSITION_MAX, 1),
        (
            PLAUSIBLE_POSITION_MAX + RING_SLOTS - 1,
            PLAUSIBLE_POSITION_MAX,
            1,
        ),
        (PLAUSIBLE_POSITION_MAX + RING_SLOTS, 0, 1),
        (POSITION_MAX, 0, 1),
        (POSITION_MAX + 1, 0, 1),
    ];
    for (head, wanted, resyncs) in believed {
        let mut memory = Memory::at(head);
        let lane = memory.lane();
        let mut ahead = LaneReader::new(lane, head, 0);
        let found = take_over(&lane, ME);
        let counted = lane.block().corrupt_resync.load(Ordering::Relaxed);
        assert_eq!((found, counted), (wanted, resyncs), "from {head:#x}");
        let mut writer = LaneWriter::new(lane, found, false);
        let mut reader = LaneReader::new(lane, found, 1);
        for number in 0..3 * RING_SLOTS {
            assert!(send(&mut writer, number));
            assert_eq!(
                recv(&mut reader, false),
                (PollOutcome::Message, Some(number)),
                "{head:#x}"
            );
            let passed = found + number >= head;
            assert_eq!(
                recv(&mut ahead, false).0 == PollOutcome::Message,
                passed,
                "{head:#x}"
            );
        }
    }
}

/// The count of skips has room for more than 2³⁶: a lane with a borrowed slot reaches that number
/// in days.
#[test]
fn skips_are_counted_on_where_numbers_turn_over() {
    for bits in [21, 22, 31, 32, 35, 36, 40, 41] {
        let skips = (1 << bits) - 1;
        let start = 4 * skips + 3;
        let mut memory = Memory::at(start);
        let word = SkipCounter::new(skips, start - 2).to_word();
        memory.block.skips.store(word, Ordering::Relaxed);
        let lane = memory.lane();
        let mut writer = LaneWriter::new(lane, start, false).with_message_numbers();
        let number = start - skips;
        assert_eq!(writer.next_message_number(), number, "2^{bits}");
        (0..3).for_each(|_| writer.skip_pinned_position());
        assert_eq!(writer.next_message_number(), number, "2^{bits}");
        assert_eq!(
            message_count_and_end(lane.block()),
            (number, start + 3),
            "2^{bits}"
        );
        // Its successor counts on.
        let writer = LaneWriter::new(lane, take_over(&lane, ME), false).with_message_numbers();
        assert_eq!(writer.next_message_number(), number, "2^{bits}");
    }
}
