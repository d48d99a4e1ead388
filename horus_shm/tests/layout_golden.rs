//! Layout version 3, byte by byte, as another version of this library finds it in a topic file.
//!
//! `golden/*.hex` hold whole files: an offset and sixteen bytes a line, without lines of zeros.
//! Bytes that differ from run to run are masked. A file that no longer matches has another layout,
//! which needs another version.

use horus_testing as _;

mod spawn;

use std::fs::File;
use std::mem::offset_of;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use horus_shm::internals::Blocks as _;
use horus_shm::internals::layout::{
    HEADER_BYTES, LAYOUT_VERSION, LaneBlock, ReaderBlock, SCHEMA_OFFSET,
};
use horus_shm::internals::shape::{Shape, ShapeRequest};
use horus_shm::{
    Access, Consumer, FanoutShm, OnStalled, Producer, RawConsumer, RawProducer, Reading,
    Reliability, Request, RingOptions, Segment, SpscShm, TopicName, TypeInfo, WakeEdge,
};
use spawn::{namespace, shm_dir};

/// Makes a message whose bytes say where they are.
const fn message(number: u8) -> [u8; 24] {
    let mut bytes = [number; 24];
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = number << 5 | index as u8;
        index += 1;
    }
    bytes
}

fn type_info() -> TypeInfo {
    TypeInfo {
        name: "golden/Sample".into(),
        schema: "golden/Sample size=24\n  0 u8[24] bytes\n".into(),
        hash: *b"sixteen of hash.",
        bytes: 24,
        align: 1,
        sized: false,
    }
}

/// Sends three messages, and receives one of them.
fn send_three(producer: &mut Producer<[u8; 24]>, consumer: &mut Consumer<[u8; 24]>) {
    for number in 1..=3 {
        producer.send(message(number)).unwrap();
    }
    assert_eq!(consumer.recv(), Some(message(1)));
}

/// Returns the file under `segment`, which names `topic`, with the bytes that vary masked.
fn masked_file(segment: &Segment, topic: &str) -> Vec<u8> {
    let file = File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    check_checksum(&bytes);
    let boot_id = 16..32;
    let registry_id = 32..48;
    let created_ns = 96..104;
    let checksum = 516..520;
    for varies in [boot_id, registry_id, created_ns, checksum] {
        assert_ne!(
            &bytes[varies.clone()],
            &[0; 16][..varies.len()],
            "{topic}: {varies:?} is zero"
        );
        bytes[varies].fill(0xee);
    }
    let me = segment.me().to_le_bytes();
    for word in bytes[HEADER_BYTES..]
        .chunks_exact_mut(8)
        .filter(|word| *word == me)
    {
        word.fill(0xaa);
    }
    mask_times(segment, &mut bytes);
    bytes
}

/// Masks the time of the first message and its latency, which the first reader counted.
fn mask_times(segment: &Segment, bytes: &mut [u8]) {
    let lane = segment.shape().lane_area().start as usize + segment.shape().lane_block_offset(0);
    let sample = &mut bytes[lane + offset_of!(LaneBlock<AtomicU64>, sample)..][..8];
    assert!(
        sample[..3] == [0; 3] && *sample != [0; 8],
        "not the time of position 0: {sample:?}"
    );
    sample.fill(0xcc);
    let area = segment.shape().reader_area().start as usize;
    let reader = area + segment.shape().reader_block_offset(0);
    let latency = &mut bytes[reader + offset_of!(ReaderBlock<AtomicU64>, latency)..][..64];
    let counted = latency.chunks(2).filter(|count| *count == [1, 0]).count();
    assert_eq!(counted, 1, "a histogram of one sample: {latency:?}");
    latency.fill(0);
}

/// Checks the checksum by its definition: CRC-32 of the header up to itself, then of the schema
/// text.
fn check_checksum(file: &[u8]) {
    let schema_bytes = u32::from_le_bytes(file[148..152].try_into().unwrap()) as usize;
    let schema = &file[SCHEMA_OFFSET..SCHEMA_OFFSET + schema_bytes];
    let mut crc = u32::MAX;
    for byte in file[..516].iter().chain(schema) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    assert_eq!(file[516..520], (!crc).to_le_bytes(), "checksum");
}

/// Formats offsets and bytes as the golden files have them.
fn dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, line) in bytes.chunks(16).enumerate() {
        if line.iter().any(|byte| *byte != 0) {
            let line: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            text += &format!("{:06x}: {}\n", index * 16, line.join(" "));
        }
    }
    text
}

#[track_caller]
fn assert_golden(found: &[u8], golden: &str) {
    let found = dump(found);
    let differs = found
        .lines()
        .zip(golden.lines())
        .find(|(found, golden)| found != golden);
    assert!(
        found == golden,
        "first difference: {differs:?}; the whole file:\n{found}"
    );
}

#[test]
fn an_open_topic_has_the_golden_bytes() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let name = TopicName::new("golden/open.topic").unwrap();
    let mut request = Request::new(type_info());
    request.capacity = Some(8);
    request.lane_limit = Some(2);
    request.reader_limit = Some(3);
    request.reliability = Some(Reliability::Reliable);
    request.history = Some(5);
    request.wake_edge = Some(WakeEdge::Fence);
    let segment = Segment::create(&namespace, &name, &request).unwrap();
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::new(raw);
    let raw = RawConsumer::new(Arc::clone(&segment), Reading::Gated).unwrap();
    let mut consumer = Consumer::new(raw);
    send_three(&mut producer, &mut consumer);
    assert_golden(
        &masked_file(&segment, name.as_str()),
        include_str!("golden/open_topic.hex"),
    );
}

#[test]
fn a_ring_with_one_gated_reader_has_the_golden_bytes() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let options = RingOptions {
        type_info: Some(type_info()),
        ..RingOptions::capacity(4)
    };
    let ring = SpscShm::create(&namespace, "golden/spsc", &options).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    send_three(&mut producer, &mut consumer);
    let file = masked_file(ring.segment(), "golden/spsc");
    assert_golden(&file, include_str!("golden/one_gated.hex"));
}

#[test]
fn a_slot_its_lane_block_and_its_cursor_show_the_sent_and_received_messages() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = SpscShm::create(&namespace, "golden/words", &RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    send_three(&mut producer, &mut consumer);
    let segment = ring.segment();
    let me = ring.segment().me();
    let file = masked_file(segment, "golden/words");
    let word = |at: u64| u64::from_le_bytes(file[at as usize..][..8].try_into().unwrap());
    let masked_owner = u64::from_le_bytes([0xaa; 8]);
    let shape = segment.shape();
    for position in 0..4 {
        let slot = shape.lane(0).start + position * 64;
        let payload = &file[slot as usize..][..24];
        let sent = if position < 3 {
            message(position as u8 + 1)
        } else {
            [0; 24]
        };
        assert_eq!(payload, sent);
        let stamp = if position < 3 { 2 * (position + 1) } else { 0 };
        assert_eq!(word(slot + 56), stamp, "stamp of {position}");
    }
    assert_eq!(word(shape.lane_area().start), 1, "ready bits");
    let lane = shape.lane_area().start + 128;
    let words: Vec<_> = (0..16).map(|index| word(lane + index * 8)).collect();
    let owner = masked_owner;
    let masked_time = u64::from_le_bytes([0xcc; 8]);
    assert_eq!(
        words,
        [
            owner,
            1,
            0,
            1,
            0,
            0,
            owner,
            0,
            3,
            0,
            masked_time,
            0,
            0,
            0,
            0,
            0
        ]
    );
    let reader = shape.reader_area().start + 256;
    assert_eq!(word(reader), owner);
    assert_eq!(word(reader + 64), 0, "positions without a message for it");
    assert_eq!(word(reader + 256), 2, "cursor: position 1 is next");
    assert_eq!(word(shape.reader_area().start + 24), 1, "gated readers");
    assert_eq!(
        segment
            .lane_block(0, Access::Read)
            .unwrap()
            .owner
            .load(Relaxed),
        me
    );
}

#[test]
fn a_pinnable_topic_has_the_golden_bytes() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let options = RingOptions {
        type_info: Some(type_info()),
        producers: Some(1),
        consumers: Some(2),
        pinnable: Some(true),
        ..RingOptions::capacity(4)
    };
    let ring = FanoutShm::create(&namespace, "golden/pinnable", &options).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    send_three(&mut producer, &mut consumer);
    let _held = consumer.borrow().unwrap().unwrap();
    // The second message is held: the sixth position is stepped over.
    (4..=6).for_each(|number| producer.send(message(number)).unwrap());
    let file = masked_file(ring.segment(), "golden/pinnable");
    assert_golden(&file, include_str!("golden/pinnable.hex"));
}

/// The parts of a file: lane area, reader area, first reader in it, distance of readers, first two
/// lanes, size of the file.
type Parts = (
    Range<u64>,
    Range<u64>,
    usize,
    usize,
    Range<u64>,
    Range<u64>,
    u64,
);

fn parts(request: ShapeRequest) -> (u64, Parts) {
    let shape = Shape::new(request).unwrap();
    let parts = (
        shape.lane_area(),
        shape.reader_area(),
        shape.reader_block_offset(0),
        shape.reader_bytes(),
        shape.lane(0),
        shape.lane(1),
        shape.file_bytes(),
    );
    (shape.stride(), parts)
}

#[test]
fn the_parts_of_a_default_topic_lie_where_version_4_says() {
    assert_eq!(LAYOUT_VERSION, 4);
    let request = ShapeRequest {
        payload_bytes: 48,
        payload_align: 8,
        capacity: 1024,
        lane_limit: 16,
        reader_limit: 64,
        sized: false,
        pinnable: false,
    };
    let golden = (
        0x1_0000..0x1_0880,
        0x2_0000..0x2_6100,
        0x100,
        0x180,
        0x3_0000..0x4_0000,
        0x4_0000..0x5_0000,
        0x13_0000,
    );
    assert_eq!(parts(request), (64, golden));
}

#[test]
fn the_parts_of_a_reliable_topic_of_sized_pinnable_images_lie_where_version_4_says() {
    let request = ShapeRequest {
        payload_bytes: 100_001,
        payload_align: 64,
        capacity: 32,
        lane_limit: 3,
        reader_limit: 7,
        sized: true,
        pinnable: true,
    };
    let golden = (
        0x1_0000..0x1_0200,
        0x2_0000..0x2_0b80,
        0x100,
        0x180,
        0x3_0000..0x33_d800,
        0x34_0000..0x64_d800,
        0x96_0000,
    );
    assert_eq!(parts(request), (100_032, golden));
}

/// The kernel compares 32 bits, so the counter has 32 bits.
#[test]
fn wakes_are_counted_in_four_bytes() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let mut request = Request::new(type_info());
    request.wake_edge = Some(WakeEdge::Fence);
    let segment = Segment::create(
        &namespace,
        &TopicName::new("golden/wake").unwrap(),
        &request,
    )
    .unwrap();
    let mut producer = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let file = File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
    let wait = segment.shape().reader_area().start;
    // The greatest count, and the first reader asleep.
    let before = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    file.write_all_at(&before, wait).unwrap();
    // SAFETY: a message is of this size.
    unsafe { producer.send(message(1).as_ptr(), 24) }.unwrap();
    let mut after = [0xee; 16];
    file.read_exact_at(&mut after, wait).unwrap();
    assert_eq!(
        after,
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        "0 follows the greatest"
    );
}

#[test]
fn an_unclaimed_lane_takes_no_memory() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let name = TopicName::new("sparse").unwrap();
    let segment = Segment::create(&namespace, &name, &Request::new(type_info())).unwrap();
    let raw = RawConsumer::new(Arc::clone(&segment), Reading::KeepLast).unwrap();
    let mut consumer = Consumer::<[u8; 24]>::new(raw);
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::new(raw);
    producer.send(message(1)).unwrap();
    assert_eq!(consumer.recv(), Some(message(1)));
    assert_eq!(consumer.stats().received, 1);
    let file = File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
    let metadata = file.metadata().unwrap();
    let shape = segment.shape();
    let used = [
        0..HEADER_BYTES as u64,
        shape.lane_area(),
        shape.reader_area(),
        shape.lane(0),
    ];
    let pages = |part: &Range<u64>| (part.end - part.start).next_multiple_of(metadata.blksize());
    assert_eq!(metadata.blocks() * 512, used.iter().map(pages).sum::<u64>());
}
