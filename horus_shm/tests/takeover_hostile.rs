//! Takeover of a lane whose head and stamps have any values: bounded, without a panic, and the lane
//! works afterwards.

use horus_testing as _;

mod common;
mod hostile;
#[path = "takeover_hostile/lane.rs"]
mod lane;
mod spawn;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use fastrand::Rng;
use horus_shm::internals::gate;
use horus_shm::internals::lane::{
    LaneReader, LaneWriter, PinnableLane, PollOutcome, ReaderPin, message_count_and_end,
    message_count_and_end_after_death, message_number_at,
};
use horus_shm::internals::layout::{
    POSITION_MAX, SKIP_BIT, SkipCounter, published_stamp, writing_stamp,
};
use horus_shm::internals::memory::{LaneMemory, ReaderId};
use horus_shm::internals::pins::clear_pin;
use horus_shm::internals::takeover::take_over;

use hostile::rounds;
use lane::{Lane, borrow, first_reader_pin, lend, recv, send};

const ME: u64 = 0x0001_0000_0000_0007;
/// The announced readers, and the pins of each.
const READERS: u32 = 2;
const PINS: u32 = 3;

/// Heads of a lane: the beginning, the middle, and the values where numbers overflow.
const HEADS: [u64; 15] = [
    0,
    1,
    2,
    3,
    4,
    5,
    1 << 32,
    POSITION_MAX - 1,
    POSITION_MAX,
    POSITION_MAX + 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Returns stamps that are meaningful near `head`, and stamps that are invalid everywhere.
fn stamps_near(head: u64, capacity: u64) -> Vec<u64> {
    let mut stamps = vec![
        0,
        1,
        SKIP_BIT,
        SKIP_BIT | 1,
        u64::MAX,
        u64::MAX - 1,
        SKIP_BIT - 1,
        SKIP_BIT - 2,
        1 << 62,
    ];
    let near = [
        head.wrapping_sub(capacity),
        head.wrapping_sub(1),
        head,
        head.wrapping_add(1),
    ];
    let far = [head.wrapping_add(capacity), POSITION_MAX, POSITION_MAX + 1];
    for pos in near.into_iter().chain(far) {
        stamps.extend([
            published_stamp(pos),
            writing_stamp(pos),
            published_stamp(pos) | SKIP_BIT,
        ]);
    }
    stamps.sort_unstable();
    stamps.dedup();
    stamps
}

/// The faults, by kind: their number, and the first case.
#[derive(Debug, Default)]
struct Faults(BTreeMap<String, (u64, String)>);

impl Faults {
    fn check(&mut self, head: u64, stamps: &[u64], law: impl FnOnce(&Lane) -> Result<(), String>) {
        let lane = Lane::new(head, stamps);
        let outcome = catch_unwind(AssertUnwindSafe(|| law(&lane)));
        let fault = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(fault)) => fault,
            Err(panic) => match panic.downcast_ref::<&str>() {
                Some(said) => format!("panic: {said}"),
                None => format!("panic: {:?}", panic.downcast_ref::<String>()),
            },
        };
        let case = || format!("head {head:#x}, stamps {stamps:#x?}");
        self.0.entry(fault).or_insert_with(|| (0, case())).0 += 1;
    }

    #[track_caller]
    fn expect_none(&self) {
        for (fault, (count, case)) in &self.0 {
            println!(
                "{count} times {fault}, first with {}",
                case.replace("\n", "")
            );
        }
        assert!(
            self.0.is_empty(),
            "{} kinds of fault, see above",
            self.0.len()
        );
    }
}

/// The first position that no lane reaches by itself: a lane that is there was damaged.
const WILD: u64 = POSITION_MAX - (1 << 40);

/// Checks a law on every combination for a capacity of 2, and on random ones for larger capacities.
fn on_hostile_lanes(usual: u64, law: impl Fn(&Lane) -> Result<(), String>) {
    let mut faults = Faults::default();
    for head in HEADS {
        let stamps = stamps_near(head, 2);
        for &one in &stamps {
            for &other in &stamps {
                faults.check(head, &[one, other], &law);
            }
        }
    }
    for seed in 0..rounds(usual, 100 * usual) {
        let mut rng = Rng::with_seed(seed);
        let head = *rng.choice(&HEADS).unwrap();
        let capacity = 1 << (2 + rng.u64(..3));
        let near = stamps_near(head, capacity);
        let stamps: Vec<_> = (0..capacity).map(|_| *rng.choice(&near).unwrap()).collect();
        faults.check(head, &stamps, &law);
    }
    faults.expect_none();
}

#[test]
fn a_takeover_is_bounded_and_repeatable() {
    on_hostile_lanes(20_000, |lane| {
        let pos = take_over(lane, ME);
        let looks = lane.0.looks.load(Ordering::Relaxed);
        if looks > 2 * lane.capacity() + 1 {
            return Err("more looks than slots".into());
        }
        if lane.head() != pos || lane.0.block.epoch_start.load(Ordering::Relaxed) != pos {
            return Err("head and position differ".into());
        }
        // After a death in this takeover, or right after it, the next one finds the same position.
        if take_over(lane, ME) != pos {
            return Err("a second takeover finds another position".into());
        }
        Ok(())
    });
}

/// Every reader treats a larger position as damage, so no session may begin there, nor reach it
/// within the life of a machine.
#[test]
fn a_takeover_goes_on_far_below_the_largest_position() {
    on_hostile_lanes(20_000, |lane| {
        let pos = take_over(lane, ME);
        if pos < WILD {
            return Ok(());
        }
        Err("a session that begins near the largest position".into())
    });
}

/// Checks that a reader gets consecutive messages in the end. The first laps may be lossy, since
/// stamps of slots that the next owner has not reached may have any value.
fn expect_in_step(lane: &Lane, gated: bool) -> Result<(), String> {
    let capacity = lane.capacity();
    let pos = take_over(lane, ME);
    let mut writer = LaneWriter::new(lane.clone(), pos, gated);
    let start = if gated {
        gate::announce_gated_reader(lane.gated_reader_mask(), 0);
        gate::join_lane(lane, 0, u64::MAX)
    } else {
        pos
    };
    let mut reader = LaneReader::new(lane.clone(), start, 0);
    let mut last = None;
    let mut in_step = 0;
    for message in 0..40 * capacity {
        if !send(&mut writer, message) {
            return Err(format!("full, gated {gated}"));
        }
        for _ in 0..2 {
            if let Some(got) = recv(&mut reader) {
                in_step = if last == Some(got.wrapping_sub(1)) {
                    in_step + 1
                } else {
                    0
                };
                last = Some(got);
            }
        }
    }
    if last != Some(40 * capacity - 1) || in_step < capacity {
        return Err(format!("a reader that never gets in step, gated {gated}"));
    }
    if take_over(lane, ME) != writer.position() {
        return Err(format!(
            "messages since the takeover are lost, gated {gated}"
        ));
    }
    Ok(())
}

#[test]
fn after_a_takeover_a_reader_gets_in_step() {
    on_hostile_lanes(3000, |lane| match take_over(lane, ME) {
        // The law above has its own test.
        WILD.. => Ok(()),
        _ => expect_in_step(lane, false),
    });
}

#[test]
fn after_a_takeover_a_gated_reader_gets_in_step() {
    on_hostile_lanes(3000, |lane| match take_over(lane, ME) {
        WILD.. => Ok(()),
        _ => expect_in_step(lane, true),
    });
}

#[test]
fn after_a_takeover_of_a_lane_with_a_wild_head_readers_get_in_step_and_survive_a_lap() {
    on_hostile_lanes(3000, |lane| {
        if lane.head() < WILD {
            return Ok(());
        }
        let capacity = lane.capacity();
        expect_in_step(lane, false)?;
        let next = take_over(lane, ME);
        let mut writer = LaneWriter::new(lane.clone(), next, false);
        let mut reader = LaneReader::new(lane.clone(), next.min(POSITION_MAX), 0);
        let sent = 100 * capacity;
        (0..sent).for_each(|message| assert!(send(&mut writer, message)));
        let received = (0..2 * capacity)
            .filter(|_| recv(&mut reader).is_some())
            .count() as u64;
        if received == 0 || reader.lost() + received != sent {
            return Err("a lapped reader that does not catch up".into());
        }
        Ok(())
    });
}

/// The words of the lane are overwritten between any two calls of its reader.
#[test]
fn a_reader_of_any_lane_does_bounded_work_without_a_panic() {
    let mut faults = Faults::default();
    for seed in 0..rounds(20_000, 1_000_000) {
        let mut rng = Rng::with_seed(seed);
        let head = *rng.choice(&HEADS).unwrap();
        let capacity = 1 << (1 + rng.u64(..4));
        let near = stamps_near(head, capacity);
        let stamps: Vec<_> = (0..capacity).map(|_| *rng.choice(&near).unwrap()).collect();
        let start = (*rng.choice(&HEADS).unwrap()).min(POSITION_MAX);
        faults.check(head, &stamps, |lane| {
            let mut reader = LaneReader::new(lane.clone(), start, 0);
            for _ in 0..32 {
                let before = lane.0.looks.load(Ordering::Relaxed);
                let mut message = 0_u64;
                let dst = (&raw mut message).cast();
                let _ = if rng.u64(..2) == 0 {
                    // SAFETY: eight bytes of a `u64`.
                    unsafe { reader.read(dst, 8) }
                } else {
                    // SAFETY: eight bytes of a `u64`.
                    unsafe { reader.read_latest(dst, 8) }
                };
                let looks = lane.0.looks.load(Ordering::Relaxed) - before;
                if looks > 2 * capacity + 16 {
                    return Err("more looks than slots".into());
                }
                let _ = (
                    reader.has_message(),
                    reader.waiting_messages(),
                    reader.position(),
                );
                scribble(&mut rng, lane, &near);
            }
            Ok(())
        });
    }
    faults.expect_none();
}

#[test]
fn a_writer_of_any_lane_does_bounded_work_without_a_panic() {
    let mut faults = Faults::default();
    for seed in 0..rounds(20_000, 1_000_000) {
        let mut rng = Rng::with_seed(seed);
        let head = *rng.choice(&HEADS).unwrap();
        let capacity = 1 << (1 + rng.u64(..4));
        let near = stamps_near(head, capacity);
        let stamps: Vec<_> = (0..capacity).map(|_| *rng.choice(&near).unwrap()).collect();
        let gated = rng.u64(..2) == 0;
        faults.check(head, &stamps, |lane| {
            let pos = take_over(lane, ME);
            let mut writer = LaneWriter::new(lane.clone(), pos, gated);
            for message in 0..32 {
                if !send(&mut writer, message)
                    && let Some((reader, cursor)) = writer.slowest_reader()
                {
                    writer.stop_waiting_for_reader(reader, cursor, ReaderId::default());
                }
                scribble(&mut rng, lane, &near);
            }
            Ok(())
        });
    }
    faults.expect_none();
}

fn scribble(rng: &mut Rng, lane: &Lane, values: &[u64]) {
    let value = (*rng.choice(values).unwrap()).wrapping_add(rng.u64(..3));
    let index = rng.u64(..lane.capacity()) as usize;
    let reader = rng.u64(..u64::from(READERS)) as usize;
    let words = [
        &lane.0.block.head,
        &lane.0.gated,
        &lane.0.cursors[reader],
        &lane.0.stamps[index],
        &lane.0.stamps[0],
    ];
    rng.choice(&words).unwrap().store(value, Ordering::Relaxed);
}

/// Overwrites words that only pinnable lanes have.
fn scribble_on_pins(rng: &mut Rng, lane: &Lane, values: &[u64]) {
    scribble(rng, lane, values);
    let words = &*lane.0;
    let index = rng.u64(..lane.capacity()) as usize;
    let pin = rng.u64(..words.pins.len() as u64) as usize;
    let skips = SkipCounter::new(rng.u64(..1 << 40), rng.u64(..POSITION_MAX)).to_word();
    let value = (*rng.choice(values).unwrap()).wrapping_add(rng.u64(..3));
    let small = rng.u64(..2 * lane.capacity());
    let value = *rng.choice(&[value, skips, small, u64::MAX]).unwrap();
    let numbers = [
        &words.numbers[index],
        &words.lengths[index],
        &words.block.skips,
    ];
    let places = [&words.pinners, &words.pins[pin], &words.block.sample];
    rng.choice(&[numbers, places].concat())
        .unwrap()
        .store(value, Ordering::Relaxed);
}

#[test]
fn loans_and_borrows_on_any_lane_do_bounded_work_without_a_panic() {
    let mut faults = Faults::default();
    let cases = rounds(20_000, 1_000_000);
    for seed in 0..cases {
        let mut rng = Rng::with_seed(seed);
        let head = *rng.choice(&HEADS).unwrap();
        let capacity = 1 << (1 + rng.u64(..4));
        let near = stamps_near(head, capacity);
        let stamps: Vec<_> = (0..capacity).map(|_| *rng.choice(&near).unwrap()).collect();
        let gated = rng.u64(..2) == 0;
        faults.check(head, &stamps, |lane| {
            scribble_on_pins(&mut rng, lane, &near);
            let pos = take_over(lane, ME);
            let mut writer = LaneWriter::new(lane.clone(), pos, gated).with_message_numbers();
            let (number, position) = message_count_and_end(&lane.0.block);
            let promised = (rng.u64(..2) == 0).then_some(number);
            let reader = LaneReader::new(lane.clone(), position, 0);
            let mut reader = reader.with_message_numbers(promised);
            for message in 0..32 {
                let before = lane.0.looks.load(Ordering::Relaxed);
                if !lend(&mut writer, message)
                    && let Some((reader, cursor)) = writer.slowest_reader()
                {
                    writer.stop_waiting_for_reader(reader, cursor, ReaderId::default());
                }
                scribble_on_pins(&mut rng, lane, &near);
                let _ = borrow(&mut reader, &mut rng);
                let _ = (
                    reader.lost(),
                    reader.first_and_next_number(),
                    writer.next_message_number(),
                    message_count_and_end(&lane.0.block),
                );
                if lane.0.looks.load(Ordering::Relaxed) - before > 12 * capacity + 64 {
                    return Err("more looks than slots".into());
                }
                scribble_on_pins(&mut rng, lane, &near);
            }
            Ok(())
        });
    }
    faults.expect_none();
    common::result(
        "hostile-pins",
        format_args!("{cases} lanes of 32 loans and borrows between scribbles"),
    );
}

/// Once the words are not overwritten any more, loans arrive and are counted, whatever the lane
/// held.
#[test]
fn after_a_takeover_of_any_pinnable_lane_loans_arrive_and_are_counted() {
    on_hostile_lanes(3000, |lane| {
        let mut rng = Rng::with_seed(lane.head());
        let skips = SkipCounter::new(rng.u64(..1 << 20), rng.u64(..POSITION_MAX)).to_word();
        lane.0.block.skips.store(skips, Ordering::Relaxed);
        let pos = take_over(lane, ME);
        if pos >= WILD {
            return Ok(());
        }
        let mut writer = LaneWriter::new(lane.clone(), pos, false).with_message_numbers();
        let mut reader = LaneReader::new(lane.clone(), pos, 0).with_message_numbers(None);
        let mut last = None;
        let mut in_step = 0;
        let messages = 40 * lane.capacity();
        for message in 0..messages {
            if !lend(&mut writer, message) {
                return Err("full".into());
            }
            for _ in 0..2 {
                if let Ok(got) = reader.pin_next(first_reader_pin(0)) {
                    clear_pin(lane.pin_word(0, 0));
                    let is_next = last == Some(got.number.wrapping_sub(1));
                    in_step = if is_next { in_step + 1 } else { 0 };
                    last = Some(got.number);
                }
            }
        }
        if last != Some(writer.next_message_number()) || in_step < lane.capacity() {
            return Err(format!(
                "in step for {in_step}, {last:?} of {}",
                writer.next_message_number()
            ));
        }
        Ok(())
    });
}

/// Makes a lane with two messages, a skip at position 2 and a third message, and its writer.
fn lane_with_a_skip() -> (Lane, LaneWriter<Lane>) {
    let lane = Lane::new(0, &[0; 8]);
    let mut writer = LaneWriter::new(lane.clone(), 0, false).with_message_numbers();
    assert!(lend(&mut writer, 0) && lend(&mut writer, 1));
    writer.skip_pinned_position();
    assert!(lend(&mut writer, 2));
    (lane, writer)
}

/// A publisher may die after it stored the stamp of a position, and before it stored the head.
#[test]
fn messages_past_the_head_of_a_dead_publisher_are_numbered_without_skips() {
    let (lane, _) = lane_with_a_skip();
    let block = &lane.0.block;
    assert_eq!(message_count_and_end_after_death(&lane), (3, 4));
    block.head.store(3, Ordering::Relaxed);
    assert_eq!(
        message_count_and_end_after_death(&lane),
        (3, 4),
        "the message is found"
    );
    lane.0.stamps[3].store(0, Ordering::Relaxed);
    block.head.store(2, Ordering::Relaxed);
    assert_eq!(
        message_count_and_end_after_death(&lane),
        (2, 3),
        "the skip is found, and was counted"
    );
    block.skips.store(0, Ordering::Relaxed);
    assert_eq!(
        message_count_and_end_after_death(&lane),
        (2, 3),
        "the skip is found, and was not counted yet"
    );
}

#[test]
fn a_position_before_a_skip_has_no_known_number() {
    let (lane, _) = lane_with_a_skip();
    let numbers = [1, 2, 3, 4].map(|position| message_number_at(&lane.0.block, position));
    assert_eq!(numbers, [None, None, Some(2), Some(3)]);
}

#[test]
fn each_takeover_is_an_epoch_and_counts_the_skip_of_its_predecessor_once() {
    let (lane, _) = lane_with_a_skip();
    let block = &lane.0.block;
    // The predecessor died when its skip had a stamp, and was not counted anywhere.
    lane.0.stamps[3].store(0, Ordering::Relaxed);
    block.head.store(2, Ordering::Relaxed);
    block.skips.store(0, Ordering::Relaxed);
    for epoch in 1..=3 {
        assert_eq!(take_over(&lane, ME), 3);
        assert_eq!(block.epoch.load(Ordering::Relaxed), epoch);
        assert_eq!(
            SkipCounter::from_word(block.skips.load(Ordering::Relaxed)).count,
            1
        );
        // As if it had died before it stored the head.
        block.head.store(2, Ordering::Relaxed);
    }
    assert_eq!(
        LaneWriter::new(lane, 3, false)
            .with_message_numbers()
            .next_message_number(),
        2
    );
}

#[test]
fn a_head_that_the_stamps_contradict_is_not_believed() {
    let mut stamps = [0; 8];
    (stamps[0], stamps[2]) = (published_stamp(8), published_stamp(10));
    let lane = Lane::new(2, &stamps);
    assert_eq!(take_over(&lane, ME), 11);
    assert_eq!(lane.0.block.corrupt_resync.load(Ordering::Relaxed), 1);
}

#[test]
fn a_stamp_that_belongs_to_another_slot_is_not_believed() {
    let mut stamps = [0; 8];
    (stamps[0], stamps[1]) = (published_stamp(8), published_stamp(805));
    let lane = Lane::new(u64::MAX, &stamps);
    assert_eq!(take_over(&lane, ME), 9);
}

/// A reader of an older extent (file of slots) skips messages, but may not borrow the newest one.
/// Those that it skipped were readable, whatever the later extents contain.
#[test]
fn messages_skipped_in_an_older_extent_are_not_lost() {
    for (is_newest, head) in [(true, 10), (false, 10), (false, 11), (false, 1000)] {
        let lane = Lane::new(0, &[0; 16]);
        let mut writer = LaneWriter::new(lane.clone(), 0, false).with_message_numbers();
        let mut reader = LaneReader::new(lane.clone(), 0, 0).with_message_numbers(Some(0));
        (0..10).for_each(|message| assert!(lend(&mut writer, message)));
        if !is_newest {
            lane.0.block.generation.store(1, Ordering::Relaxed);
            lane.0.block.head.store(head, Ordering::Relaxed);
            reader.set_extent_end(10);
        }
        let pin = first_reader_pin(0);
        let one_too_many = ReaderPin { in_use: 1, ..pin };
        let refused = reader.pin_latest(one_too_many);
        assert_eq!(refused, Err(PollOutcome::Busy), "{head}");
        assert_eq!((reader.lost(), reader.skipped()), (0, 9), "{head}");
        assert!(reader.pin_latest(pin).is_ok(), "{head}");
        assert_eq!((reader.lost(), reader.skipped()), (0, 9), "{head}");
        assert_eq!(reader.first_and_next_number(), Some((0, 10)), "{head}");
    }
}

/// A number that no publisher can have reached leaves the ledger of the reader as it was.
#[test]
fn a_damaged_number_is_no_loss() {
    let lane = Lane::new(0, &[0; 8]);
    let mut writer = LaneWriter::new(lane.clone(), 0, false).with_message_numbers();
    let mut reader = LaneReader::new(lane.clone(), 0, 0).with_message_numbers(None);
    for (message, damage) in [
        (0, None),
        (1, Some(u64::MAX - 1)),
        (2, Some(POSITION_MAX + 9)),
    ] {
        assert!(lend(&mut writer, message));
        if let Some(number) = damage {
            lane.0.numbers[message as usize].store(number, Ordering::Relaxed);
        }
        assert!(reader.pin_next(first_reader_pin(0)).is_ok());
        clear_pin(lane.pin_word(0, 0));
        assert_eq!((reader.lost(), reader.skipped()), (0, 0), "{damage:?}");
    }
}

/// A successor does not start at a cursor that no reader can have reached.
#[test]
fn a_damaged_cursor_is_not_resumed() {
    let lane = Lane::new(0, &[0; 8]);
    let mut writer = LaneWriter::new(lane.clone(), 0, true).with_message_numbers();
    assert!(lend(&mut writer, 0) && lend(&mut writer, 1));
    for (position, resumed) in [(1, Some(1)), (2, Some(2)), (3, None), (POSITION_MAX, None)] {
        lane.cursor(0).store(position + 1, Ordering::Relaxed);
        assert_eq!(gate::dead_reader_position(&lane, 0), resumed, "{position}");
    }
}
