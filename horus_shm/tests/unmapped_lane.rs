//! A publisher's lane that a subscriber has no memory to map: an error names the lane, the bytes
//! and the limit, and messages arrive again as soon as there is memory.
//!
//! Each test runs in a child process, whose limits it changes.

use horus_testing as _;

mod common;
mod spawn;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use horus_shm::internals::lane::PollOutcome;
use horus_shm::internals::{TopicBlocks as _, check_names_now, forbid_name_watch_thread};
use horus_shm::{
    Access, Namespace, OpenError, RawConsumer, RawProducer, ReadMode, RecvError, Reliability,
    Request, Segment, TopicName, TypeInfo,
};

use common::Child;

/// The bytes of a message.
const MESSAGE_BYTES: usize = 4096;
/// The number of threads that read a file that is truncated.
const READERS: usize = 4;
/// The slots of a lane, which then takes more than 2 MiB. WHY not more: many systems let a process
/// lock only 8 MiB.
const CAPACITY: u64 = 512;

fn play(role: &str) {
    let dir = spawn::shm_dir();
    let mut child = Child::spawn(role, dir.path());
    assert_eq!(child.listen(), "well");
    child.finish();
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    // WHY: otherwise a thread of the library may map 64 MiB at its first allocation. If it does so
    // while memory is locked, they count against the limit.
    #[cfg(target_env = "gnu")]
    // SAFETY: takes integers.
    assert_eq!(unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) }, 1);
    match role.as_str() {
        "locked" => receive_within(&LOCKED),
        "addresses" => receive_within(&ADDRESSES),
        "open" => open_without_memory(),
        "moved" => move_without_memory(),
        "latest" => newest_without_memory(),
        "twice" => move_twice_without_memory(),
        "takeover" => take_over_without_memory(),
        "truncated" => truncate_locked_memory(),
        other => panic!("no role called '{other}'"),
    }
    common::say("well");
    common::park();
}

/// A limit of a process, and the errors that it causes.
struct Limit {
    name: &'static str,
    resource: libc::__rlimit_resource_t,
    errno: i32,
    /// Activates the limit, and returns how much it has counted so far.
    arm: fn() -> u64,
}

const LOCKED: Limit = Limit {
    name: "RLIMIT_MEMLOCK",
    resource: libc::RLIMIT_MEMLOCK,
    errno: libc::EAGAIN,
    arm: || {
        drop_capability_to_lock();
        // SAFETY: takes integers.
        assert_eq!(unsafe { libc::mlockall(libc::MCL_FUTURE) }, 0);
        status_bytes("VmLck:")
    },
};

const ADDRESSES: Limit = Limit {
    name: "RLIMIT_AS",
    resource: libc::RLIMIT_AS,
    errno: libc::ENOMEM,
    arm: || status_bytes("VmSize:"),
};

/// Returns the bytes of a line of `/proc/self/status` that is in KiB.
fn status_bytes(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let found = status
        .lines()
        .find_map(|text| text.strip_prefix(line))
        .unwrap();
    found.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Drops the capability of root to lock any memory, for the rest of this process's life.
fn drop_capability_to_lock() {
    const CAP_IPC_LOCK: u32 = 14;
    const VERSION_3: u32 = 0x2008_0522;
    let mut header = [VERSION_3, 0];
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: header and both sets are valid for the call.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) };
    assert_eq!(got, 0, "{}", std::io::Error::last_os_error());
    // The effective and the permitted set.
    sets[0][0] &= !(1 << CAP_IPC_LOCK);
    sets[0][1] &= !(1 << CAP_IPC_LOCK);
    // SAFETY: as above.
    let set = unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr()) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// Sets a soft limit, and returns the previous one.
fn set_limit(resource: libc::__rlimit_resource_t, limit: u64) -> u64 {
    let mut raw = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `raw` is valid for the write.
    assert_eq!(unsafe { libc::getrlimit(resource, &mut raw) }, 0);
    let before = std::mem::replace(&mut raw.rlim_cur, limit.min(raw.rlim_max));
    // SAFETY: `raw` is a limit that outlives the call.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw) }, 0);
    before
}

fn open() -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<[u8; MESSAGE_BYTES]>());
    (request.capacity, request.lane_limit) = (Some(CAPACITY), Some(4));
    request.reliability = Some(Reliability::Reliable);
    let namespace = Namespace::current().unwrap();
    Segment::open_or_create(&namespace, &TopicName::new("arm/joint").unwrap(), &request).unwrap()
}

fn send(producer: &mut RawProducer, number: u8) {
    producer.send_bytes(&[number; MESSAGE_BYTES]).unwrap();
}

/// Receives the next message, and returns its first byte.
fn recv(consumer: &mut RawConsumer) -> Option<u8> {
    let mut message = [0; MESSAGE_BYTES];
    // SAFETY: the buffer has room for a message.
    let polled = unsafe { consumer.recv(message.as_mut_ptr(), message.len()) };
    (polled == PollOutcome::Message).then_some(message[0])
}

fn receive_within(limit: &Limit) {
    let segment = open();
    let mut first = RawProducer::new(Arc::clone(&segment), Default::default()).unwrap();
    let mut consumer = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    // Writers and readers of one process map a lane separately.
    let mut second = RawProducer::new(segment, Default::default()).unwrap();
    assert_eq!(second.lane(), 1);
    let used = (limit.arm)();
    let bound = used + (1 << 20);
    let before = set_limit(limit.resource, used + (1 << 20));
    send(&mut second, 7);
    assert_eq!(recv(&mut consumer), None);
    let error = consumer.check().expect_err("mute and well");
    let RecvError::LaneNotMapped { topic, cause } = error else {
        panic!("{error:?}")
    };
    assert_eq!((cause.lane, cause.errno), (1, limit.errno), "{error}");
    assert_eq!(cause.limit, Some((limit.name, bound)), "{error}");
    assert!(cause.bytes >= CAPACITY * MESSAGE_BYTES as u64, "{error}");
    assert_eq!(topic, consumer.segment().label());
    let told = error.to_string();
    assert!(told.starts_with("topic 'arm/joint': the "), "{told}");
    for part in [
        limit.name.to_owned(),
        cause.bytes.to_string(),
        "lane 1".to_owned(),
    ] {
        assert!(told.contains(&part), "no '{part}' in: {told}");
    }
    assert_eq!(
        (consumer.stats().unmapped, consumer.stats().waiting),
        (1, 1)
    );
    // Other messages still arrive, and the error stays while its cause does.
    for number in 0..100 {
        send(&mut first, number);
        assert_eq!(recv(&mut consumer), Some(number));
        assert_eq!(consumer.check(), Err(error));
    }
    set_limit(limit.resource, before);
    let mut received = None;
    common::eventually("the message arrives", || {
        received = recv(&mut consumer);
        received.is_some()
    });
    assert_eq!((received, consumer.check()), (Some(7), Ok(())));
    assert_eq!(
        (consumer.stats().unmapped, consumer.stats().waiting),
        (0, 0)
    );
}

/// The zeros that replace a truncated file must not count in addition to what they replace. Several
/// threads read the file at once.
fn truncate_locked_memory() {
    let segment = open();
    let mut producer = RawProducer::new(Arc::clone(&segment), Default::default()).unwrap();
    (LOCKED.arm)();
    let begin = std::sync::Barrier::new(READERS + 1);
    let receive = || {
        let mut consumer = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
        begin.wait();
        // The file is truncated here.
        begin.wait();
        (recv(&mut consumer), consumer.check())
    };
    std::thread::scope(|scope| {
        let readers = [(); READERS].map(|()| {
            // WHY small: the stacks are locked, too.
            let thread = std::thread::Builder::new().stack_size(256 << 10);
            thread.spawn_scoped(scope, receive).unwrap()
        });
        begin.wait();
        send(&mut producer, 7);
        set_limit(libc::RLIMIT_MEMLOCK, status_bytes("VmLck:") + (1 << 20));
        segment.lane_file(0).unwrap().set_len(0).unwrap();
        begin.wait();
        for reader in readers {
            let (received, checked) = reader.join().unwrap();
            let is_lost = matches!(checked, Err(RecvError::RegionLost { .. }));
            assert!(received.is_none() && is_lost, "{received:?} {checked:?}");
        }
    });
}

/// A subscriber that would miss a publisher from the start is not opened.
fn open_without_memory() {
    let segment = open();
    let mut producer = RawProducer::new(Arc::clone(&segment), Default::default()).unwrap();
    send(&mut producer, 7);
    let before = set_limit(libc::RLIMIT_AS, status_bytes("VmSize:") + (1 << 20));
    let error = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap_err();
    let OpenError::LaneNotMapped { path, cause } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (path, cause.lane, cause.errno),
        (&segment.path(), 0, libc::ENOMEM),
        "{error}"
    );
    assert_eq!(
        segment.subscriber_count(),
        0,
        "its place was not given back"
    );
    set_limit(libc::RLIMIT_AS, before);
    let mut consumer = RawConsumer::new(segment, ReadMode::Gated).unwrap();
    send(&mut producer, 8);
    assert_eq!(recv(&mut consumer), Some(8));
}

/// A publisher that has grown moves to the next file of its topic, and its reader has no memory for
/// the longer slots. The reader keeps the former file until it has.
fn move_without_memory() {
    // WHY not once: the reader may try the former file first.
    let is_tried = (0..10).any(|_| move_with_memory_for_one_lane());
    assert!(is_tried, "it always mapped the lane of the former file");
}

/// Returns false if the reader could map the lane of the former file.
fn move_with_memory_for_one_lane() -> bool {
    forbid_name_watch_thread();
    let mut type_info = TypeInfo::opaque::<u64>();
    type_info.sized = true;
    let mut request = Request::new(type_info);
    request.reliability = Some(Reliability::Reliable);
    let namespace = Namespace::current().unwrap();
    let name = TopicName::new("arm/joint").unwrap();
    let former = Segment::open_or_create(&namespace, &name, &request).unwrap();
    let mut producer = RawProducer::new(Arc::clone(&former), Default::default()).unwrap();
    let mut consumer = RawConsumer::new(Arc::clone(&former), ReadMode::Gated).unwrap();
    let mut long = vec![0; 3 << 20];
    let mut buffer = vec![0; 4 << 20];
    let mut recv = |consumer: &mut RawConsumer| {
        let bytes = consumer.recv_bytes(&mut buffer)?;
        Some((buffer[0], bytes))
    };
    consumer.require_whole_messages();
    producer.send_bytes(&[1; 8]).unwrap();
    assert_eq!(recv(&mut consumer), Some((1, 8)));
    long[0] = 2;
    producer.send_bytes(&long).unwrap();
    std::fs::remove_file(former.path()).unwrap();
    check_names_now();
    producer.send_bytes(&[3; 8]).unwrap();
    assert!(!producer.segment().is_same_file(&former), "it moved");
    let leave_bytes =
        |bytes| set_limit(libc::RLIMIT_AS, status_bytes("VmSize:") + (4 << 20) + bytes);
    let before = leave_bytes(0);
    assert_eq!(recv(&mut consumer), None);
    producer.send_bytes(&[4; 8]).unwrap();
    assert_eq!(former.publisher_count(), 0, "its reader has moved, too");
    // WHY again: the publisher has unmapped its former lane.
    leave_bytes(0);
    let mut lane_bytes = 0;
    // WHY pauses: the reader checks a hundred times a second whether the former file is used.
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(15));
        assert_eq!(recv(&mut consumer), None);
        let error = consumer.check().expect_err("mute and well");
        let RecvError::LaneNotMapped { cause, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(cause.errno, libc::ENOMEM, "{error}");
        lane_bytes = cause.bytes;
    }
    assert_eq!(consumer.stats().unmapped, 2);
    // There is memory for one lane. The reader tries that of the present file first, unless the
    // clock ticked between its last attempts in the two files.
    leave_bytes(lane_bytes);
    let mut older = None;
    common::eventually("it maps a lane", || {
        older = recv(&mut consumer);
        older.is_some() || consumer.stats().unmapped == 1
    });
    // WHY it may get the older message then: the limit leaves some room for other memory, too.
    let mut again = (0..3).filter_map(|_| {
        consumer.require_whole_messages();
        recv(&mut consumer)
    });
    if let Some(older) = older.or_else(|| again.next()) {
        assert_eq!(older, (2, long.len()), "an older message waited");
        set_limit(libc::RLIMIT_AS, before);
        return false;
    }
    set_limit(libc::RLIMIT_AS, before);
    let mut received = Vec::new();
    common::eventually("all messages arrive", || {
        consumer.require_whole_messages();
        received.extend(recv(&mut consumer));
        received.len() == 3
    });
    assert_eq!(received, [(2, long.len()), (3, 8), (4, 8)]);
    let stats = consumer.stats();
    assert_eq!((stats.received, stats.lost, stats.waiting), (4, 0, 0));
    assert_eq!(consumer.check(), Ok(()));
    true
}

/// Returns the file and the endpoints of a topic whose messages have any length. They notice only
/// in [`check_names_now`] that the file has lost its name.
fn topic_of_any_length() -> (Arc<Segment>, RawProducer, RawConsumer) {
    forbid_name_watch_thread();
    let mut type_info = TypeInfo::opaque::<u64>();
    type_info.sized = true;
    let request = Request::new(type_info);
    let namespace = Namespace::current().unwrap();
    let name = TopicName::new("arm/joint").unwrap();
    let former = Segment::open_or_create(&namespace, &name, &request).unwrap();
    let producer = RawProducer::new(Arc::clone(&former), Default::default()).unwrap();
    let consumer = RawConsumer::new(Arc::clone(&former), ReadMode::KeepLast).unwrap();
    (former, producer, consumer)
}

/// A publisher that has grown moves to the next file, and its reader, which wants only the newest
/// message, has no memory for the longer slots.
fn newest_without_memory() {
    // WHY not once: the reader may try the former file first.
    let is_tried = (0..10).any(|_| newest_with_memory_for_one_lane());
    assert!(is_tried, "it always mapped the lane of the former file");
}

/// Returns false if the reader could map the lane of the former file.
fn newest_with_memory_for_one_lane() -> bool {
    let (former, mut producer, mut consumer) = topic_of_any_length();
    let mut long = vec![0; 3 << 20];
    let mut buffers = [(); 2].map(|()| vec![0; 4 << 20]);
    let mut latest = |consumer: &mut RawConsumer| {
        consumer.require_whole_messages();
        let [one, other] = &mut buffers;
        let (buffer, bytes) = consumer.latest_bytes([one, other], &|_| 0)?;
        Some((buffers[buffer][0], bytes))
    };
    producer.send_bytes(&[1; 8]).unwrap();
    assert_eq!(latest(&mut consumer), Some((1, 8)));
    long[0] = 2;
    producer.send_bytes(&long).unwrap();
    std::fs::remove_file(former.path()).unwrap();
    check_names_now();
    producer.send_bytes(&[3; 8]).unwrap();
    assert_eq!(former.publisher_count(), 0, "it moved");
    let leave_bytes =
        |bytes| set_limit(libc::RLIMIT_AS, status_bytes("VmSize:") + (4 << 20) + bytes);
    let before = leave_bytes(0);
    // WHY twice: the first call moves.
    assert_eq!([(); 2].map(|()| latest(&mut consumer)), [None; 2]);
    let error = consumer.check().expect_err("mute and well");
    let RecvError::LaneNotMapped { cause, .. } = error else {
        panic!("{error:?}")
    };
    // There is memory for one lane. The reader tries that of the present file first, unless the
    // clock ticked between its last attempts in the two files.
    leave_bytes(cause.bytes);
    let mut older = None;
    common::eventually("it maps a lane", || {
        older = latest(&mut consumer);
        older.is_some() || consumer.stats().unmapped == 1
    });
    // WHY it may get the older message then: the limit leaves some room for other memory, too.
    if let Some(older) = older.or_else(|| (0..3).find_map(|_| latest(&mut consumer))) {
        assert_eq!(older, (2, long.len()), "an older message waited");
        set_limit(libc::RLIMIT_AS, before);
        return false;
    }
    set_limit(libc::RLIMIT_AS, before);
    let mut received = Vec::new();
    common::eventually("both messages arrive", || {
        received.extend(latest(&mut consumer));
        received.len() == 2
    });
    assert_eq!(received, [(2, long.len()), (3, 8)]);
    let stats = consumer.stats();
    assert_eq!((stats.received, stats.lost, stats.waiting), (3, 0, 0));
    true
}

/// A topic file that is removed, and the next one as well, before the reader tries once more to map
/// the longer slots in the first one.
fn move_twice_without_memory() {
    let (former, mut producer, mut consumer) = topic_of_any_length();
    let mut long = vec![0; 3 << 20];
    let mut buffer = vec![0; 4 << 20];
    let mut recv = |consumer: &mut RawConsumer| {
        consumer.require_whole_messages();
        consumer.recv_bytes(&mut buffer).map(|_| buffer[0])
    };
    producer.send_bytes(&[1; 8]).unwrap();
    assert_eq!(recv(&mut consumer), Some(1));
    long[0] = 2;
    producer.send_bytes(&long).unwrap();
    let before = set_limit(libc::RLIMIT_AS, status_bytes("VmSize:") + (4 << 20));
    assert_eq!(recv(&mut consumer), None);
    consumer.check().expect_err("mute and well");
    set_limit(libc::RLIMIT_AS, before);
    let mut received = Vec::new();
    for number in 3..5 {
        std::fs::remove_file(former.path()).unwrap();
        check_names_now();
        producer.send_bytes(&[number; 8]).unwrap();
        received.extend(recv(&mut consumer));
        received.extend(recv(&mut consumer));
    }
    common::eventually("all messages arrive", || {
        received.extend(recv(&mut consumer));
        received.len() == 3
    });
    assert_eq!(received, [2, 3, 4]);
    let stats = consumer.stats();
    assert_eq!((stats.received, stats.lost, stats.waiting), (4, 0, 0));
}

#[test]
fn messages_keep_their_order_over_several_files_that_cannot_be_mapped() {
    play("twice");
}

#[test]
fn a_newer_message_does_not_overtake_one_that_cannot_be_mapped() {
    play("latest");
}

#[test]
fn a_subscriber_that_would_miss_a_publisher_is_not_opened() {
    play("open");
}

/// A publisher died after it had published its last message, and before it stored the head. Its
/// successor has memory for its own, shorter lane, but not to look into the one it takes over.
fn take_over_without_memory() {
    let segment = open();
    let mut consumer = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
    let pid = common::fork(|| {
        let mut producer = RawProducer::new(open(), Default::default()).unwrap();
        (1..=3).for_each(|number| send(&mut producer, number));
        common::park();
        true
    });
    let block = segment.lane_block(0, Access::Write).unwrap();
    common::eventually("three messages", || block.head.load(Ordering::Relaxed) == 3);
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    common::join_fork(pid);
    block.head.store(2, Ordering::Relaxed);
    assert_eq!(recv(&mut consumer), Some(1), "its lane is mapped");

    let mut request = segment.request().clone();
    request.capacity = Some(4);
    let name = TopicName::new("arm/joint").unwrap();
    let short = Segment::open(&Namespace::current().unwrap(), &name, &request).unwrap();
    let room = status_bytes("VmSize:") + (1 << 20);
    let before = set_limit(libc::RLIMIT_AS, room);
    let refused = RawProducer::new(Arc::clone(&short), Default::default()).unwrap_err();
    set_limit(libc::RLIMIT_AS, before);
    let OpenError::Io { source, .. } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(source.raw_os_error(), Some(libc::ENOMEM), "{refused}");

    let mut producer = RawProducer::new(short, Default::default()).unwrap();
    send(&mut producer, 4);
    let received: Vec<_> = std::iter::from_fn(|| recv(&mut consumer)).collect();
    assert_eq!(received, [2, 3, 4]);
    assert_eq!(consumer.stats().lost, 0);
}

#[test]
fn a_lane_that_cannot_be_looked_into_is_not_taken_over() {
    play("takeover");
}

#[test]
fn a_former_file_is_kept_until_there_is_memory_to_read_it() {
    play("moved");
}

#[test]
fn a_lane_that_may_not_be_locked_is_an_error_until_it_may() {
    play("locked");
}

#[test]
fn a_truncated_lane_file_does_not_kill_a_process_that_may_lock_no_more_memory() {
    play("truncated");
}

#[test]
fn a_lane_without_addresses_is_an_error_until_there_are_some() {
    play("addresses");
}
