//! Loans and borrowed messages on real memory: no message is copied, no held message is
//! overwritten, and the ledger accounts for all.

use horus_testing as _;

mod common;
mod confine;
#[path = "loans/dropped.rs"]
mod dropped;
#[path = "loans/gated.rs"]
mod gated;
#[path = "loans/held_places.rs"]
mod held_places;
#[path = "loans/latched.rs"]
mod latched;
#[path = "loans/model.rs"]
mod model;
#[path = "loans/private_copies.rs"]
mod private_copies;
#[path = "loans/shared_pins.rs"]
mod shared_pins;
#[path = "loans/shorter_lanes.rs"]
mod shorter_lanes;
mod spawn;

use common::Child;
use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::SkipCounter;
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Access, BorrowError, Consumer, FanoutShm, LoanError, Namespace, OnStalled, PodShm, RawConsumer,
    RawProducer, ReadMode, Request, RingOptions, Sample, Segment, SendError, TopicName, TypeInfo,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const FRAME_BYTES: usize = 640 * 480 * 3;

type Frame = [u8; FRAME_BYTES];

/// Returns the options of a ring of four slots, whose messages are lent and borrowed.
fn pinnable() -> RingOptions {
    RingOptions {
        pinnable: Some(true),
        ..RingOptions::capacity(4)
    }
}

fn frames(namespace: &Arc<Namespace>) -> FanoutShm<Frame> {
    FanoutShm::create(namespace, "frames", &RingOptions::default()).unwrap()
}

#[test]
fn a_frame_is_read_where_it_was_written() {
    let dir = spawn::shm_dir();
    let ring = frames(&spawn::namespace(dir.path()));
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    let mut addresses = Vec::new();
    for shade in 1..=40 {
        let mut loan = producer.loan().unwrap();
        loan.fill(shade);
        let written = std::ptr::from_ref(&*loan).addr();
        loan.publish().unwrap();
        let frame = consumer.borrow().unwrap().unwrap();
        assert!(frame.iter().all(|&byte| byte == shade));
        assert_eq!(frame.sequence(), u64::from(shade));
        addresses.push((written, std::ptr::from_ref(&*frame).addr()));
    }
    // The two endpoints may have mapped the lane at two addresses; the distance is then always the
    // same.
    let distance = addresses[0].1.wrapping_sub(addresses[0].0);
    assert!(
        addresses
            .iter()
            .all(|(written, read)| read.wrapping_sub(*written) == distance)
    );
}

#[test]
fn a_held_frame_stays_while_the_publisher_goes_round() {
    let dir = spawn::shm_dir();
    let ring = FanoutShm::<[u64; 1024]>::create(
        &spawn::namespace(dir.path()),
        "held",
        &RingOptions::capacity(16),
    );
    let ring = ring.unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    let mut held: Vec<Sample<[u64; 1024]>> = Vec::new();
    for number in 0..1000 {
        producer.send([number; 1024]).unwrap();
        if number % 100 == 99 && held.len() < 7 {
            held.push(consumer.borrow().unwrap().unwrap());
        }
        assert!(
            held.iter()
                .all(|frame| frame[0] + 1 == frame.sequence() && frame[1023] == frame[0])
        );
    }
    while consumer.recv().is_some() {}
    let stats = consumer.stats();
    assert_eq!(stats.sent, 1000, "skips are not messages: {stats:?}");
    assert_eq!(stats.received + stats.lost, 1000, "{stats:?}");
    assert_eq!(producer.position(), 1000);
    assert!(consumer.borrow().unwrap().is_none(), "nothing needs a pin");
    producer.send([0; 1024]).unwrap();
    assert!(matches!(
        consumer.borrow(),
        Err(BorrowError::NoPins { held: 7, .. })
    ));
    drop(consumer);
    assert!(
        held.iter().all(|frame| frame[0] + 1 == frame.sequence()),
        "outlives its consumer"
    );
}

/// Returns the positions that the publisher stepped over because their slots were pinned.
fn skips(segment: &Segment) -> u64 {
    let block = segment.lane_block(0, Access::Read).unwrap();
    SkipCounter::from_word(block.skips.load(Ordering::Relaxed)).count
}

/// A publisher does not step over released slots; a pin that stayed would cost a slot in every lap.
#[test]
fn a_publisher_steps_over_no_released_slot() {
    const CAPACITY: u64 = 8;
    type Reader = Consumer<[u64; 512]>;
    let ways: [(&str, fn(&mut Reader)); 6] = [
        ("a borrowed message is dropped", |reader| {
            drop(reader.borrow().unwrap().unwrap())
        }),
        ("the latest is dropped", |reader| {
            drop(
                reader
                    .borrow_latest(&|bytes| u64::from(bytes[0]))
                    .unwrap()
                    .unwrap(),
            );
        }),
        ("a message is copied", |reader| _ = reader.recv().unwrap()),
        ("the latest is copied", |reader| {
            _ = reader.latest().unwrap()
        }),
        ("nothing is there to borrow", |reader| {
            while reader.recv().is_some() {}
            assert!(reader.borrow().unwrap().is_none());
        }),
        ("nothing is there to copy", |reader| {
            while reader.recv().is_some() {}
            assert!(reader.recv().is_none());
        }),
    ];
    for (way, read) in ways {
        let ring = FanoutShm::<[u64; 512]>::heap(&RingOptions::capacity(CAPACITY)).unwrap();
        let mut producer = ring.producer().unwrap();
        let mut consumer = ring.consumer().unwrap();
        for lap in 0..CAPACITY {
            (0..lap + 1).for_each(|number| producer.send([number; 512]).unwrap());
            read(&mut consumer);
        }
        (0..3 * CAPACITY).for_each(|number| producer.send([number; 512]).unwrap());
        assert_eq!(skips(ring.segment()), 0, "{way}");
    }
}

#[test]
fn messages_before_a_borrowed_latest_are_skipped_and_not_lost() {
    let ring = FanoutShm::<[u64; 512]>::heap(&RingOptions::capacity(8)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    producer.send([0; 512]).unwrap();
    drop(consumer.borrow().unwrap().unwrap());
    (1..5).for_each(|number| producer.send([number; 512]).unwrap());
    let latest = consumer
        .borrow_latest(&|bytes| u64::from(bytes[0]))
        .unwrap()
        .unwrap();
    assert_eq!(latest[0], 4);
    let stats = consumer.stats();
    assert_eq!(
        (stats.received, stats.skipped, stats.lost, stats.waiting),
        (2, 3, 0, 0)
    );
}

/// A reader steps over any number of skips: they are no sign that it is too slow.
#[test]
fn a_message_behind_many_skips_is_found_at_once() {
    let ring = FanoutShm::<[u64; 512]>::heap(&RingOptions::capacity(16)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut holder = ring.consumer().unwrap();
    let mut reader = ring.consumer().unwrap();
    (0..16).for_each(|number| producer.send([number; 512]).unwrap());
    let held: Vec<_> = (0..7).map(|_| holder.borrow().unwrap().unwrap()).collect();
    while reader.recv().is_some() {}
    for number in 16..64 {
        producer.send([number; 512]).unwrap();
        assert_eq!(reader.recv().map(|message| message[0]), Some(number));
    }
    assert!(
        skips(ring.segment()) >= 7,
        "the publisher has written a lap"
    );
    assert_eq!((reader.stats().lost, reader.stats().received), (0, 64));
    drop(held);
}

#[test]
fn small_messages_are_lent_only_where_that_was_asked_for() {
    let ring = FanoutShm::<u64>::heap(&RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    assert!(matches!(
        producer.loan(),
        Err(LoanError::NotPinnable { .. })
    ));
    assert!(matches!(
        consumer.borrow(),
        Err(BorrowError::NotPinnable { .. })
    ));
    let ring = FanoutShm::<u64>::heap(&pinnable()).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    *producer.loan().unwrap() = 5;
    let mut loan = producer.loan().unwrap();
    *loan = 6;
    loan.publish().unwrap();
    assert_eq!(*consumer.borrow().unwrap().unwrap(), 6);
}

#[test]
fn all_readers_together_hold_half_a_lane_at_most() {
    let ring = FanoutShm::<[u64; 512]>::heap(&RingOptions::capacity(8)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumers = [ring.consumer().unwrap(), ring.consumer().unwrap()];
    for number in 0..4 {
        producer.send([number; 512]).unwrap();
    }
    let mut held = Vec::new();
    for _ in 0..2 {
        held.extend(
            consumers
                .iter_mut()
                .map(|consumer| consumer.borrow().unwrap().unwrap()),
        );
    }
    assert!(matches!(
        consumers[0].borrow(),
        Err(BorrowError::NoPins {
            held: 2,
            capacity: 8,
            ..
        })
    ));
    for number in 4..100 {
        producer.send([number; 512]).unwrap();
    }
    assert!(held.iter().all(|frame| frame[511] + 1 == frame.sequence()));
    drop(held.pop());
    assert!(consumers[1].borrow().unwrap().is_some());
}

/// Stores the tags of four slots in the pins by which readers 1 to 4 copy.
fn set_copy_pins(segment: &Segment, tag: impl Fn(u64) -> u64) {
    for slot in 0..4 {
        let block = segment.reader_block(1 + slot, Access::Write).unwrap();
        let copy_pin = block.pins.last().unwrap();
        copy_pin.store(tag(u64::from(slot)), Ordering::Relaxed);
    }
}

/// A copy has no time limit: its reader may be stopped in it.
#[test]
fn a_send_finds_a_slot_however_many_readers_copy() {
    let ring = FanoutShm::<[u64; 512]>::heap(&RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumers: Vec<_> = (0..5).map(|_| ring.consumer().unwrap()).collect();
    (0..2).for_each(|number| producer.send([number; 512]).unwrap());
    let held: Vec<_> = (0..2)
        .map(|_| consumers[0].borrow().unwrap().unwrap())
        .collect();
    // Acts as if each of the other readers had stopped while it copied from another slot.
    set_copy_pins(ring.segment(), |slot| 1 << 24 | (slot + 1));
    for number in 2..100 {
        assert!(producer.send([number; 512]).is_ok(), "refused");
    }
    assert!(held.iter().all(|frame| frame[511] + 1 == frame.sequence()));
    assert_eq!(producer.position(), 100);
}

/// A loan is written by ordinary stores, which must not race with a copy under way.
#[test]
fn a_loan_is_apart_from_slots_that_are_being_copied() {
    let dir = spawn::shm_dir();
    let ring = FanoutShm::<[u64; 512]>::create(&spawn::namespace(dir.path()), "apart", &pinnable());
    let ring = ring.unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    let others: Vec<_> = (0..4).map(|_| ring.consumer().unwrap()).collect();
    (0..4).for_each(|number| producer.send([number; 512]).unwrap());
    while consumer.recv().is_some() {}
    let slots = || {
        let segment = ring.segment();
        let range = segment.request().offer().unwrap().shape.slots();
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let file = segment.lane_file(0).unwrap();
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, range.start).unwrap();
        bytes
    };
    // Acts as if each of the other readers had stopped while it copied from a slot of its own.
    let pin_all = |is_pinned: bool| {
        // The slot of the first extent of lane 0.
        let tag = |slot| if is_pinned { 1 << 24 | (slot + 1) } else { 0 };
        set_copy_pins(ring.segment(), tag);
    };
    for (is_pinned, value) in [(true, 7), (false, 8), (true, 9)] {
        pin_all(is_pinned);
        let mut loan = producer.loan().unwrap();
        let before = slots();
        loan.fill(value);
        assert_eq!(
            slots() == before,
            is_pinned,
            "{value}: the loan is in the wrong place"
        );
        loan.publish().unwrap();
        pin_all(false);
        assert_eq!(consumer.recv(), Some([value; 512]));
    }
    drop(others);
}

/// The same for an observer, which cannot pin: on the heap, where it reads by loads.
#[test]
fn a_loan_is_apart_while_a_heap_segment_is_observed() {
    let ring = FanoutShm::<[u64; 512]>::heap(&pinnable()).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    let mut slots = Vec::new();
    for number in 0..4 {
        producer.send([number; 512]).unwrap();
        slots.push(std::ptr::from_ref(&*consumer.borrow().unwrap().unwrap()));
    }
    for is_observed in [true, false] {
        let segment = Arc::clone(ring.segment());
        let observer = is_observed.then(|| RawConsumer::new(segment, ReadMode::Observer).unwrap());
        let mut loan = producer.loan().unwrap();
        loan.fill(9);
        let is_slot = slots.contains(&std::ptr::from_ref(&*loan));
        assert_eq!(is_slot, !is_observed, "observed: {is_observed}");
        loan.publish().unwrap();
        assert_eq!(consumer.recv(), Some([9; 512]));
        drop(observer);
    }
}

/// A buffer apart from its slot is not lent again while it is held, and outlives its publisher.
#[test]
fn a_loan_apart_from_its_slot_is_kept_while_its_memory_is_held() {
    let ring = FanoutShm::<[u64; 512]>::heap(&pinnable()).unwrap();
    let _observer = RawConsumer::new(Arc::clone(ring.segment()), ReadMode::Observer).unwrap();
    let mut producer = RawProducer::new(Arc::clone(ring.segment()), OnStalled::Full).unwrap();
    let first = producer.lend().unwrap();
    let kept = producer.lent_memory();
    // SAFETY: the loan is writable for its size, and only this thread writes it.
    unsafe { first.as_ptr().cast::<[u64; 512]>().write([7; 512]) };
    producer.publish_lent(4096).unwrap();
    let second = producer.lend().unwrap();
    assert_ne!(first, second, "lent again while it is held");
    // SAFETY: as above.
    unsafe { second.as_ptr().cast::<[u64; 512]>().write([8; 512]) };
    drop(producer);
    // SAFETY: the buffer is still held, and no thread writes it any more.
    let status = unsafe { first.as_ptr().cast::<[u64; 512]>().read() };
    assert_eq!(status, [7; 512]);
    drop(kept);
}

/// An observer of a file makes no load that could race with a loan: the kernel copies for it.
#[test]
fn the_kernel_copies_slots_that_may_be_on_loan_for_an_observer() {
    let dir = spawn::shm_dir();
    let ring = FanoutShm::<[u64; 512]>::create(&spawn::namespace(dir.path()), "seen", &pinnable());
    let ring = ring.unwrap();
    let mut producer = ring.producer().unwrap();
    let mut ends = [ReadMode::KeepLast, ReadMode::Observer].map(|reading| {
        let raw = RawConsumer::new(Arc::clone(ring.segment()), reading).unwrap();
        Consumer::<[u64; 512]>::new(raw)
    });
    producer.send([1; 512]).unwrap();
    assert!(ends.iter_mut().all(|end| end.recv() == Some([1; 512])));
    producer.send([2; 512]).unwrap();
    let received = std::thread::spawn(move || {
        // The filter affects this thread only.
        confine::refuse(libc::SYS_pread64, libc::EIO);
        ends.map(|mut end| end.recv())
    });
    assert_eq!(received.join().unwrap(), [Some([2; 512]), None]);
}

#[test]
fn the_latest_frame_is_copied_whole() {
    let ring = PodShm::<[u64; 1024]>::heap(&RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    for number in 0..10 {
        producer.send([number; 1024]).unwrap();
    }
    assert_eq!(consumer.latest(), Some([9; 1024]));
    assert_eq!(consumer.latest(), None);
    let stats = consumer.stats();
    assert_eq!(
        (stats.received, stats.skipped + stats.lost, stats.sent),
        (1, 9, 10)
    );
}

fn sized(max_bytes: u64) -> TypeInfo {
    let mut info = TypeInfo::opaque::<u8>();
    (info.sized, info.bytes) = (true, max_bytes);
    info
}

#[test]
fn messages_of_any_length_arrive_with_that_length() {
    let segment = Segment::heap(&Request::new(sized(5000))).unwrap();
    let mut producer = RawProducer::new(Arc::clone(&segment), Default::default()).unwrap();
    let mut consumer = RawConsumer::new(segment, ReadMode::KeepLast).unwrap();
    let mut buffer = vec![0_u8; 5000];
    for bytes in [0, 1, 7, 8, 63, 64, 65, 4999, 5000] {
        let message: Vec<u8> = (0..bytes).map(|index| index as u8 ^ 0x5a).collect();
        // SAFETY: the message is readable for its length, which is 5000 at most.
        unsafe { producer.send(message.as_ptr(), bytes) }.unwrap();
        // SAFETY: the buffer has room for the longest message.
        let polled = unsafe { consumer.recv(buffer.as_mut_ptr(), buffer.len()) };
        assert_eq!(polled, horus_shm::internals::lane::PollOutcome::Message);
        assert_eq!(&buffer[..consumer.message_bytes()], &message[..]);
        let mut loan = producer.loan().unwrap();
        loan.bytes_mut()[..bytes].copy_from_slice(&message);
        loan.publish(bytes).unwrap();
        assert_eq!(consumer.borrow().unwrap().unwrap().bytes(), &message[..]);
    }
}

#[test]
fn a_reader_that_died_holds_nothing_any_more() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let ring: FanoutShm<[u64; 512]> =
        FanoutShm::create(&namespace, "held", &RingOptions::capacity(4)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut child = Child::spawn("holder", dir.path());
    assert_eq!(child.listen(), "ready");
    producer.send([1; 512]).unwrap();
    assert_eq!(child.listen(), "holding");
    let pinners = || ring.segment().wait_block(horus_shm::Access::Read).unwrap();
    let is_pinned = || pinners().pinners.load(Ordering::Relaxed) != 0;
    for number in 0..10 {
        producer.send([number; 512]).unwrap();
    }
    assert!(is_pinned());
    child.kill();
    for number in 0..10 {
        producer.send([number; 512]).unwrap();
    }
    assert!(!is_pinned(), "the dead reader's pins were removed");
    assert_eq!(producer.position(), 21);
}

/// Each publisher has its own longest message, and a topic has none.
#[test]
fn the_longest_message_is_the_publishers_own() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let name = TopicName::new("text").unwrap();
    let open = |bytes: Option<u64>| {
        let mut request = Request::new(sized(1000));
        request.max_message_bytes = bytes;
        Segment::open_or_create(&namespace, &name, &request).unwrap()
    };
    let mut consumer = RawConsumer::new(open(None), ReadMode::KeepLast).unwrap();
    for bytes in [Some(500), Some(1000), None, Some(2000)] {
        let mut producer = RawProducer::new(open(bytes), OnStalled::Full).unwrap();
        let slot = bytes.unwrap_or(1000);
        assert_eq!(producer.slot_bytes(), slot);
        let longest = producer.segment().request().longest_bytes();
        assert_eq!(longest, bytes.unwrap_or((64 << 20) - 64));
        producer.send_bytes(&vec![7; slot as usize]).unwrap();
        let mut buffer = vec![0; consumer.require_whole_messages()];
        assert_eq!(consumer.recv_bytes(&mut buffer), Some(slot as usize));
        let outcome = producer.reserve(slot + 1);
        match bytes {
            Some(max) => assert_eq!(
                outcome,
                Err(SendError::TooLong {
                    topic: producer.segment().label(),
                    message: (),
                    bytes: max + 1,
                    max,
                })
            ),
            None => assert_eq!(outcome, Ok(())),
        }
    }
}

/// The safe calls do the same as those with pointers, and truncate to the size of the buffer.
#[test]
fn messages_are_copied_to_buffers_of_any_length() {
    let segment = Segment::heap(&Request::new(sized(5000))).unwrap();
    let mut producers =
        [0, 1].map(|_| RawProducer::new(Arc::clone(&segment), Default::default()).unwrap());
    let mut consumer = RawConsumer::new(segment, ReadMode::KeepLast).unwrap();
    let mut send = |producer: usize, message: &[u8]| {
        let mut loan = producers[producer]
            .loan_until(WaitPolicy::endless(), 0)
            .unwrap();
        loan.bytes_mut()[..message.len()].copy_from_slice(message);
        loan.publish(message.len()).unwrap();
    };
    assert_eq!(consumer.max_bytes(), 5000);
    let mut buffer = [0; 8];
    let mut spare = [0; 8];
    send(0, b"robots");
    assert_eq!(consumer.recv_bytes(&mut buffer), Some(6));
    assert_eq!(&buffer[..6], b"robots");
    send(0, b"and animals");
    assert_eq!(
        consumer.recv_bytes_until(WaitPolicy::endless(), &mut buffer),
        Some(8)
    );
    assert_eq!(&buffer, b"and anim");
    assert_eq!(consumer.recv_bytes(&mut []), None);

    let key = |message: &[u8]| u64::from(message[0]);
    for number in [1, 2, 9] {
        send(0, &[number; 3]);
    }
    for number in [3, 4] {
        send(1, &[number; 5]);
    }
    let (newest, bytes) = consumer
        .latest_bytes([&mut buffer, &mut spare], &key)
        .unwrap();
    assert_eq!([&buffer, &spare][newest][..bytes], [9; 3]);
    assert!(
        consumer
            .latest_bytes([&mut buffer, &mut spare], &key)
            .is_none()
    );
    send(0, &[5; 7]);
    send(1, &[6; 4999]);
    let newest = consumer.borrow_latest(&key).unwrap().unwrap();
    assert_eq!(newest.bytes(), [6; 4999]);
    assert!(consumer.borrow_latest(&key).unwrap().is_none());
    let stats = consumer.stats();
    assert_eq!(
        (stats.received, stats.skipped, stats.sent),
        (4, 5, 9),
        "{stats:?}"
    );
}

#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    assert_eq!(role, "holder");
    spawn::die_with_parent();
    let ring: FanoutShm<[u64; 512]> = FanoutShm::open(
        &spawn::inherited_namespace(),
        "held",
        &RingOptions::default(),
    )
    .unwrap();
    let mut consumer = ring.consumer().unwrap();
    common::say("ready");
    let frame = loop {
        if let Some(frame) = consumer.borrow().unwrap() {
            break frame;
        }
    };
    common::say("holding");
    common::park();
    drop(frame);
}
