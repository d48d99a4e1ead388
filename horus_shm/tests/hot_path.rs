//! The hot path: no allocation, no system call and no page fault after the first message.

use horus_testing as _;

mod common;
mod confine;
mod spawn;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use common::{Child, fate, fork, role, say};
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Consumer, FanoutShm, MpscShm, Namespace, OnStalled, PodShm, Producer, RawConsumer, RawProducer,
    ReadMode, Reliability, Request, RingOptions, Segment, SpscShm, TopicName, TypeInfo,
    WakeBarrier,
};
use spawn::{die_with_parent, inherited_namespace, namespace, shm_dir};

/// The number of messages through each ring while allocations, calls or faults are counted.
const MESSAGES: u64 = 100_000;
const CAPACITY: u64 = 64;

/// The system's allocator, which counts the calls of this thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's `layout` has a size above zero, as `GlobalAlloc::alloc` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's `layout` has a size above zero, as `alloc_zeroed` requires.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: the caller got `block` from this allocator with `layout`, and `bytes` is not
        // zero.
        unsafe { System.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller got `block` from this allocator with `layout`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A ring with all of its endpoints.
struct Ring {
    name: String,
    /// Sends and receives this many messages through each endpoint; numbers continue from call to
    /// call.
    run: Box<dyn FnMut(u64)>,
}

/// Makes a message of `WORDS` words with number `number`.
fn message<const WORDS: usize>(number: u64) -> [u64; WORDS] {
    [number; WORDS]
}

#[track_caller]
fn check<const WORDS: usize>(received: Option<[u64; WORDS]>, number: u64) {
    // WHY no `assert_eq`: it would format, and so allocate, without telling more.
    let ends = received.map(|words| (words[0], words[WORDS - 1]));
    assert!(ends == Some((number, number)));
}

type Place<'a> = Option<&'a Arc<Namespace>>;

macro_rules! make {
    ($ring:ident, $place:expr, $words:expr) => {{
        let mut options = RingOptions::capacity(CAPACITY);
        (options.producers, options.consumers) = (Some(2), Some(4));
        match $place {
            Some(namespace) => {
                let name = format!("{}/{}", stringify!($ring), $words);
                $ring::<[u64; WORDS]>::create(namespace, &name, &options).unwrap()
            }
            None => $ring::<[u64; WORDS]>::heap(&options).unwrap(),
        }
    }};
}

/// Makes a ring whose message numbers continue from call to call.
fn ring(name: &str, bytes: usize, mut exchange: impl FnMut(u64) + 'static) -> Ring {
    let mut number = 0;
    let run = move |messages| {
        for _ in 0..messages {
            exchange(number);
            number += 1;
        }
    };
    Ring {
        name: format!("{name} of {bytes} bytes"),
        run: Box::new(run),
    }
}

fn spsc<const WORDS: usize>(place: Place<'_>) -> Ring {
    let made = make!(SpscShm, place, WORDS);
    let mut producer = made.producer().unwrap();
    let mut consumer = made.consumer().unwrap();
    ring("spsc", WORDS * 8, move |number| {
        producer.send(message(number)).unwrap();
        check::<WORDS>(consumer.recv(), number);
    })
}

fn mpsc<const WORDS: usize>(place: Place<'_>) -> Ring {
    let made = make!(MpscShm, place, WORDS);
    let mut producers = [made.producer().unwrap(), made.producer().unwrap()];
    let mut consumer = made.consumer().unwrap();
    ring("mpsc", WORDS * 8, move |number| {
        for producer in &mut producers {
            producer.send_ref(&message(number)).unwrap();
        }
        for _ in 0..2 {
            check::<WORDS>(consumer.recv(), number);
        }
    })
}

/// One consumer keeps up; another one is lapped again and again.
fn fanout<const WORDS: usize>(place: Place<'_>) -> Ring {
    let made = make!(FanoutShm, place, WORDS);
    let mut producer = made.producer().unwrap();
    let mut follows = made.consumer().unwrap();
    let mut lags = made.consumer().unwrap();
    ring("fanout", WORDS * 8, move |number| {
        producer.send(message(number)).unwrap();
        check::<WORDS>(follows.recv(), number);
        if number % (2 * CAPACITY) == 0 {
            assert!(lags.recv().is_some());
            assert!(lags.stats().received > 0);
        }
    })
}

fn pod<const WORDS: usize>(place: Place<'_>) -> Ring {
    let made = make!(PodShm, place, WORDS);
    let mut producer = made.producer().unwrap();
    let mut consumer = made.consumer().unwrap();
    ring("pod", WORDS * 8, move |number| {
        producer.send(message(number)).unwrap();
        check::<WORDS>(consumer.latest(), number);
    })
}

fn reliable<const WORDS: usize>(place: Place<'_>) -> Ring {
    let mut request = Request::new(TypeInfo::opaque::<[u64; WORDS]>());
    (request.capacity, request.reliability) = (Some(CAPACITY), Some(Reliability::Reliable));
    let segment = match place {
        Some(namespace) => {
            let name = TopicName::new(&format!("reliable/{WORDS}")).unwrap();
            Segment::create(namespace, &name, &request).unwrap()
        }
        None => Segment::heap(&request).unwrap(),
    };
    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    let mut consumer = Consumer::new(raw);
    let raw = RawProducer::new(segment, OnStalled::Full).unwrap();
    let mut producer = Producer::<[u64; WORDS]>::new(raw);
    ring("a reliable topic", WORDS * 8, move |number| {
        producer.send(message(number)).unwrap();
        check::<WORDS>(consumer.recv(), number);
    })
}

/// Makes a topic on which both endpoints have slept before: for a message, and for room.
fn slept(place: Place<'_>, wake_barrier: WakeBarrier) -> Ring {
    let mut request = Request::new(TypeInfo::opaque::<[u64; 1]>());
    (request.capacity, request.reliability) = (Some(CAPACITY), Some(Reliability::Reliable));
    request.wake_barrier = Some(wake_barrier);
    let segment = match place {
        Some(namespace) => {
            let name = TopicName::new(&format!("slept/{wake_barrier:?}")).unwrap();
            Segment::create(namespace, &name, &request).unwrap()
        }
        None => Segment::heap(&request).unwrap(),
    };
    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    let mut consumer = Consumer::new(raw);
    let raw = RawProducer::new(segment, OnStalled::Full).unwrap();
    let mut producer = Producer::<[u64; 1]>::new(raw);
    let briefly = || WaitPolicy::with_timeout(Duration::from_millis(1)).with_spin(Duration::ZERO);
    assert_eq!(consumer.recv_until(briefly()), None);
    while producer.send_until(briefly(), &message(0)).is_ok() {}
    while consumer.recv().is_some() {}
    ring(
        &format!("a topic of {wake_barrier:?} whose endpoints have slept,"),
        8,
        move |number| {
            producer.send(message(number)).unwrap();
            check::<1>(consumer.recv(), number);
        },
    )
}

/// Makes a topic whose messages are lent and borrowed, or copied; if the reader `holds`, senders
/// step over some slots.
///
/// WHY a ring of its own: for a slot that it steps over, a sender asks the kernel whether the
/// reader is alive.
fn pinnable<const WORDS: usize>(place: Place<'_>, holds: bool) -> Ring {
    let mut request = Request::new(TypeInfo::opaque::<[u64; WORDS]>());
    (request.capacity, request.pinnable) = (Some(CAPACITY), Some(true));
    let segment = match place {
        Some(namespace) => {
            let name = TopicName::new(&format!("pinnable/{WORDS}/{holds}")).unwrap();
            Segment::create(namespace, &name, &request).unwrap()
        }
        None => Segment::heap(&request).unwrap(),
    };
    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
    let mut consumer = Consumer::new(raw);
    let raw = RawProducer::new(segment, OnStalled::Full).unwrap();
    let mut producer = Producer::<[u64; WORDS]>::new(raw);
    // A reader that slept here before must not cost anything now.
    let impatient = WaitPolicy::with_timeout(Duration::from_millis(1)).with_spin(Duration::ZERO);
    assert!(consumer.recv_until(impatient).is_none());
    let mut held = None;
    ring("a pinnable topic", WORDS * 8, move |number| {
        let mut loan = producer.loan().unwrap();
        *loan = message(number);
        loan.publish().unwrap();
        let borrowed = consumer.borrow().unwrap();
        check::<WORDS>(borrowed.as_deref().copied(), number);
        if holds && number % CAPACITY == 0 {
            drop(std::mem::replace(&mut held, borrowed));
        }
        producer.send(message(number)).unwrap();
        check::<WORDS>(consumer.recv(), number);
    })
}

fn rings(place: Place<'_>) -> Vec<Ring> {
    let mut rings = Vec::new();
    rings.push(slept(place, WakeBarrier::Membarrier));
    rings.push(slept(place, WakeBarrier::Fence));
    macro_rules! sizes {
        ($($words:literal)*) => {$(
            rings.push(spsc::<$words>(place));
            rings.push(mpsc::<$words>(place));
            rings.push(fanout::<$words>(place));
            rings.push(pod::<$words>(place));
            rings.push(reliable::<$words>(place));
            rings.push(pinnable::<$words>(place, false));
        )*};
    }
    sizes!(1 2 8 9 38 185);
    rings
}

#[test]
fn an_allocation_is_counted() {
    let before = ALLOCATIONS.get();
    drop(black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 2);
}

fn assert_no_allocation(rings: Vec<Ring>) {
    for mut ring in rings {
        (ring.run)(1);
        let before = ALLOCATIONS.get();
        (ring.run)(MESSAGES);
        assert_eq!(
            ALLOCATIONS.get() - before,
            0,
            "{} allocates or frees",
            ring.name
        );
    }
}

#[test]
fn send_and_recv_allocate_nothing_on_the_heap() {
    assert_no_allocation(rings(None));
    assert_no_allocation(vec![pinnable::<1>(None, true), pinnable::<185>(None, true)]);
}

#[test]
fn send_and_recv_allocate_nothing_in_mapped_memory() {
    let dir = shm_dir();
    assert_no_allocation(rings(Some(&namespace(dir.path()))));
}

/// A publisher has left a lane without a message, and its file is gone. An attempt to map it would
/// open files ten times a second.
#[test]
fn a_lane_from_which_nothing_is_missed_is_not_tried_again() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let topic = TopicName::new("topic").unwrap();
    let request = Request::new(TypeInfo::opaque::<u64>());
    let segment = Segment::open_or_create(&namespace, &topic, &request).unwrap();
    drop(RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap());
    for path in segment.lane_paths().unwrap() {
        std::fs::remove_file(path).unwrap();
    }
    let mut reader = RawConsumer::new(segment, ReadMode::KeepLast)
        .map(Consumer::<u64>::new)
        .unwrap();
    assert_eq!((reader.recv(), reader.check()), (None, Ok(())));
    let before = ALLOCATIONS.get();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(150));
        assert_eq!(reader.recv(), None);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn child_role() {
    match role().as_deref() {
        Some("confined") => say(fate(fork(|| confined(false)))),
        Some("confined and disobedient") => say(fate(fork(|| confined(true)))),
        Some("faults") => faults(),
        _ => {}
    }
}

/// Runs every ring where any system call of this thread except `read`, `write` and `exit_group`
/// kills the process. The filter does not affect the thread that watches the names of topics.
fn confined(disobeys: bool) -> bool {
    die_with_parent();
    let namespace = inherited_namespace();
    let mut rings = rings(Some(&namespace));
    for ring in &mut rings {
        (ring.run)(1);
    }
    confine::allow_only(&[libc::SYS_read, libc::SYS_write, libc::SYS_exit_group]);
    for ring in &mut rings {
        (ring.run)(MESSAGES);
    }
    if disobeys {
        // SAFETY: takes and changes nothing.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    let line = b"\n@all sent and received\n";
    // SAFETY: the line is readable for its length.
    unsafe { libc::write(libc::STDOUT_FILENO, line.as_ptr().cast(), line.len()) };
    // SAFETY: ends the process without running the parent's exit handlers.
    unsafe { libc::_exit(0) };
}

#[test]
fn send_and_recv_make_no_system_call() {
    let dir = shm_dir();
    let mut child = Child::spawn("confined", dir.path());
    assert_eq!(child.listen(), "all sent and received");
    assert_eq!(child.listen(), "exited with 0");
    child.finish();
}

#[test]
fn a_system_call_kills_the_confined_child() {
    let dir = shm_dir();
    let mut child = Child::spawn("confined and disobedient", dir.path());
    assert_eq!(child.listen(), format!("killed by signal {}", libc::SIGSYS));
    child.finish();
}

/// Returns the page faults of this thread, minor and major ones.
fn page_faults() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` is valid for the write.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    assert_eq!(status, 0);
    // SAFETY: the call succeeded, so it initialised all of it.
    let usage = unsafe { usage.assume_init() };
    usage.ru_minflt + usage.ru_majflt
}

/// Prints for every ring the number of page faults of its messages after one lap.
fn faults() {
    const MPOL_LOCAL: i32 = 4;
    // WHY: on machines with several memory nodes the kernel unmaps pages now and then, to see which
    // thread faults on them; a memory policy of the thread ends that. A refusal does not matter.
    // SAFETY: takes no pointer with this policy.
    unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_LOCAL, 0, 0) };
    let namespace = inherited_namespace();
    let mut rings = rings(Some(&namespace));
    for ring in &mut rings {
        // One lap, and the messages by which the slow reader is lapped once.
        (ring.run)(2 * CAPACITY + 1);
    }
    let before = page_faults();
    black_box(vec![1_u8; 1 << 20]);
    say(page_faults() > before);
    for ring in &mut rings {
        let before = page_faults();
        (ring.run)(MESSAGES);
        let faults = page_faults() - before;
        say(format_args!("{faults} in {}", ring.name));
    }
}

/// Returns the rings of a new process in which messages have faulted, and the number of faults.
fn faulting_rings() -> BTreeMap<String, u64> {
    let dir = shm_dir();
    let mut child = Child::spawn("faults", dir.path());
    assert_eq!(child.listen(), "true", "a fault is not counted");
    let mut faulting = BTreeMap::new();
    for _ in 0..38 {
        let said = child.listen();
        let (faults, ring) = said.split_once(" in ").unwrap();
        if faults != "0" {
            *faulting.entry(ring.into()).or_default() += faults.parse::<u64>().unwrap();
        }
    }
    child.finish();
    faulting
}

#[test]
fn send_and_recv_fault_on_no_page_after_one_lap() {
    let mut faulting = faulting_rings();
    // WHY again: the kernel may move a page, which then faults once. A ring that faults by itself
    // does so in each process.
    for _ in 0..4 {
        if !faulting.is_empty() {
            let again = faulting_rings();
            faulting.retain(|ring, _| again.contains_key(ring));
        }
    }
    assert!(faulting.is_empty(), "page faults: {faulting:?}");
}
