//! Layout version 9, byte by byte, as another version of this library finds it in the files of a
//! topic.
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

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::{
    HEADER_BYTES, LAYOUT_VERSION, LaneBlock, LaneRecord, ReaderBlock, SCHEMA_OFFSET,
};
use horus_shm::internals::shape::{LaneShape, ShapeRequest, TopicShape};
use horus_shm::{
    Access, Consumer, FanoutShm, FieldPrefix, FieldPrefixes, OnStalled, Producer, RawConsumer,
    RawProducer, ReadMode, Reliability, Request, RingOptions, Segment, SpscShm, TopicName,
    TypeInfo, WakeBarrier,
};
use spawn::{lane_files, namespace, shm_dir};

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

fn beginning((hash, bytes): (u64, u64)) -> FieldPrefix {
    FieldPrefix { hash, bytes }
}

fn type_info() -> TypeInfo {
    TypeInfo {
        name: "golden/Sample".into(),
        schema: "golden/Sample size=24\n  0 u8[24] bytes\n".into(),
        hash: *b"sixteen of hash.",
        bytes: 24,
        align: 1,
        sized: false,
        growth: FieldPrefixes::new([(0x5eed, 24), (0xbed, 16)].map(beginning)),
    }
}

/// Sends three messages, and receives one of them.
fn send_three(producer: &mut Producer<[u8; 24]>, consumer: &mut Consumer<[u8; 24]>) {
    for number in 1..=3 {
        producer.send(message(number)).unwrap();
    }
    assert_eq!(consumer.recv(), Some(message(1)));
}

/// Returns the content of a file with the varying bytes of its header masked: those that all files
/// have, and those in `varying`.
fn masked_header(file: &File, varying: &[Range<usize>], topic: &str) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    check_checksum(&bytes);
    let registry_id = 32..48;
    let topic_id = 152..168;
    let checksum = 820..824;
    let common = [registry_id, topic_id, checksum];
    for varies in common.iter().chain(varying).cloned() {
        assert_ne!(
            &bytes[varies.clone()],
            &[0; 16][..varies.len()],
            "{topic}: {varies:?} is zero"
        );
        bytes[varies].fill(0xee);
    }
    bytes
}

/// Returns the content of the file of lane 0, with the bytes that vary masked.
fn masked_lane_file(segment: &Segment) -> Vec<u8> {
    let (topic_inode, session_id) = (528..536, 808..816);
    let varying = [topic_inode, session_id];
    masked_header(&segment.lane_file(0).unwrap(), &varying, "lane 0")
}

/// Returns the file under `segment`, which names `topic`, with the bytes that vary masked.
fn masked_file(segment: &Segment, topic: &str) -> Vec<u8> {
    let file = File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
    let created_ns = 96..104;
    let mut bytes = masked_header(&file, &[created_ns], topic);
    let me = segment.own_owner_word().to_le_bytes();
    for word in bytes[HEADER_BYTES..]
        .chunks_exact_mut(8)
        .filter(|word| *word == me)
    {
        word.fill(0xaa);
    }
    mask_times(segment, &mut bytes);
    bytes
}

/// Masks the session id of lane 0, the time of the first message and its latency, which the first
/// reader counted.
fn mask_times(segment: &Segment, bytes: &mut [u8]) {
    let lane = segment.shape().lane_area().start as usize + segment.shape().lane_block_offset(0);
    let sample = &mut bytes[lane + offset_of!(LaneBlock<AtomicU64>, sample)..][..8];
    assert!(
        sample[..3] == [0; 3] && *sample != [0; 8],
        "not the time of position 0: {sample:?}"
    );
    sample.fill(0xcc);
    let session_id = &mut bytes[lane + offset_of!(LaneBlock<AtomicU64>, session_id)..][..8];
    assert!(*session_id != [0; 8], "no session");
    session_id.fill(0xdd);
    let record = segment.shape().lane_area().start as usize + segment.shape().lane_record_offset(0);
    let began = offset_of!(LaneRecord<AtomicU64>, first_session_id);
    bytes[record + began..][..8].fill(0xdd);
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
    let schema_bytes = u32::from_le_bytes(file[140..144].try_into().unwrap()) as usize;
    let schema = &file[SCHEMA_OFFSET..SCHEMA_OFFSET + schema_bytes];
    let mut crc = u32::MAX;
    for byte in file[..820].iter().chain(schema) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    assert_eq!(file[820..824], (!crc).to_le_bytes(), "checksum");
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
    request.wake_barrier = Some(WakeBarrier::Fence);
    let segment = Segment::create(&namespace, &name, &request).unwrap();
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::new(raw);
    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    let mut consumer = Consumer::new(raw);
    send_three(&mut producer, &mut consumer);
    assert_golden(
        &masked_file(&segment, name.as_str()),
        include_str!("golden/open_topic.hex"),
    );
    assert_golden(
        &masked_lane_file(&segment),
        include_str!("golden/open_lane.hex"),
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
    let lane = masked_lane_file(ring.segment());
    assert_golden(&lane, include_str!("golden/one_gated_lane.hex"));
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
    let me = ring.segment().own_owner_word();
    let file = masked_file(segment, "golden/words");
    let lane_file = masked_lane_file(segment);
    let word_of =
        |file: &[u8], at: u64| u64::from_le_bytes(file[at as usize..][..8].try_into().unwrap());
    let word = |at| word_of(&file, at);
    let masked_owner = u64::from_le_bytes([0xaa; 8]);
    let shape = segment.shape();
    let slots = segment.request().offer().unwrap().shape.slots();
    for position in 0..4 {
        let slot = slots.start + position * 64;
        let payload = &lane_file[slot as usize..][..24];
        let sent = if position < 3 {
            message(position as u8 + 1)
        } else {
            [0; 24]
        };
        assert_eq!(payload, sent);
        let stamp = if position < 3 { 2 * (position + 1) } else { 0 };
        assert_eq!(word_of(&lane_file, slot + 56), stamp, "stamp of {position}");
    }
    assert_eq!(word(shape.lane_area().start), 1, "count of changes");
    let lane = shape.lane_area().start + 128;
    let words: Vec<_> = (0..16).map(|index| word(lane + index * 8)).collect();
    let owner = masked_owner;
    let masked_time = u64::from_le_bytes([0xcc; 8]);
    let masked_session = u64::from_le_bytes([0xdd; 8]);
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
            1,
            3,
            0,
            masked_time,
            0,
            0,
            0,
            0,
            masked_session
        ]
    );
    let reader = shape.reader_area().start + 256;
    assert_eq!(word(reader), owner);
    assert_eq!(word(reader + 64), 0, "positions without a message for it");
    assert_eq!(word(reader + 384), 2, "cursor: position 1 is next");
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
    let lane = masked_lane_file(ring.segment());
    assert_golden(&lane, include_str!("golden/pinnable_lane.hex"));
}

#[test]
fn the_parts_of_a_topic_lie_where_version_9_says() {
    assert_eq!(LAYOUT_VERSION, 9);
    let shape = TopicShape::FILE;
    assert_eq!((shape.lane_limit(), shape.reader_limit()), (64, 64));
    assert_eq!(shape.lane_area(), 0x1_0000..0x1_2880);
    assert_eq!(shape.lane_record_offset(0), 0x2080);
    assert_eq!(shape.reader_area(), 0x2_0000..0x2_e100);
    assert_eq!(shape.reader_block_offset(0), 0x100);
    assert_eq!(shape.reader_bytes(), 0x380);
    assert_eq!(shape.file_bytes(), 0x3_0000);
}

#[test]
fn the_slots_of_a_lane_lie_where_version_9_says() {
    let request = ShapeRequest {
        payload_bytes: 48,
        payload_align: 8,
        capacity: 1024,
        sized: false,
        pinnable: false,
    };
    let shape = LaneShape::new(request).unwrap();
    assert_eq!(shape.stride(), 64);
    assert_eq!(shape.slots(), 0x1_0000..0x2_0000);
    assert_eq!(shape.file_bytes(), 0x2_0000);
}

#[test]
fn the_slots_of_a_lane_of_sized_pinnable_images_lie_where_version_9_says() {
    let request = ShapeRequest {
        payload_bytes: 100_001,
        payload_align: 64,
        capacity: 32,
        sized: true,
        pinnable: true,
    };
    let shape = LaneShape::new(request).unwrap();
    assert_eq!(shape.stride(), 100_032);
    assert_eq!(shape.slots(), 0x1_0000..0x31_d800);
    assert_eq!(shape.file_bytes(), 0x32_0000);
}

/// The kernel compares 32 bits, so the counter has 32 bits.
#[test]
fn wakes_are_counted_in_four_bytes() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let mut request = Request::new(type_info());
    request.wake_barrier = Some(WakeBarrier::Fence);
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

/// Of a lane file, the beginning of the header, the schema text and the slots take memory.
#[test]
fn an_unclaimed_lane_takes_no_memory() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let name = TopicName::new("sparse").unwrap();
    let segment = Segment::create(&namespace, &name, &Request::new(type_info())).unwrap();
    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
    let mut consumer = Consumer::<[u8; 24]>::new(raw);
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::new(raw);
    producer.send(message(1)).unwrap();
    assert_eq!(consumer.recv(), Some(message(1)));
    assert_eq!(consumer.stats().received, 1);
    assert_eq!(lane_files(&namespace).len(), 1);
    let shape = segment.shape();
    let topic = [
        0..HEADER_BYTES as u64,
        shape.lane_area(),
        shape.reader_area(),
    ];
    let header = 0..SCHEMA_OFFSET as u64 + type_info().schema.len() as u64;
    let lane = [header, segment.request().offer().unwrap().shape.slots()];
    let topic_file = File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
    let lane_file = segment.lane_file(0).unwrap();
    for (file, used) in [(topic_file, &topic[..]), (lane_file, &lane[..])] {
        let metadata = file.metadata().unwrap();
        let page_bytes = metadata.blksize();
        let pages = |part: &Range<u64>| (part.end - part.start).next_multiple_of(page_bytes);
        assert_eq!(metadata.blocks() * 512, used.iter().map(pages).sum::<u64>());
    }
}
