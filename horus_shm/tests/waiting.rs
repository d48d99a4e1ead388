//! Waiting for messages and for room blocks without using the CPU, wakes at once, and loses no
//! wake.

use horus_testing as _;

mod common;
mod sleeper;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use horus_shm::internals::wait::{SLEEP_MAX, WaitPolicy, timed_out_sleep_count};
use horus_shm::{
    FanoutShm, MessageAlarm, OnStalled, Producer, RawConsumer, RawProducer, ReadMode, RingOptions,
    Segment, SpscShm, WakeBarrier, Watch,
};

use common::eventually;
#[cfg(not(miri))]
use common::{fork, join_fork};
use sleeper::{
    GUARD, Message, asleep, consumer, now_ns, producer, reliable, request, room_waiters, topic,
    waiters, wakes,
};
#[cfg(not(miri))]
use sleeper::{Receiver, Sender};

/// The ways to order the two sides of a sleep.
// WHY one under miri: it has no barriers, so a thread that relies on them polls.
const EDGES: &[WakeBarrier] = if cfg!(miri) {
    &[WakeBarrier::Fence]
} else {
    &[WakeBarrier::Membarrier, WakeBarrier::Fence]
};
/// Messages for a thread that sleeps for each of them.
// WHY fewer: miri runs a thousand times slower.
const MESSAGES: u64 = if cfg!(miri) { 20 } else { 1000 };

fn topic_on_heap(edge: WakeBarrier) -> Arc<Segment> {
    topic(None, "topic", &request(edge))
}

/// A wait of a sleeping thread: its start, and the slices that no wake ended.
struct Awaited {
    begin_ns: u64,
    slices: u64,
}

impl Awaited {
    /// Runs `wait` and records its sleeps.
    fn of<R>(wait: impl FnOnce() -> R) -> (R, Self) {
        let begin_ns = now_ns();
        let before = timed_out_sleep_count();
        let found = wait();
        (
            found,
            Self {
                begin_ns,
                slices: timed_out_sleep_count() - before,
            },
        )
    }

    /// Fails if the awaited event came before the last slice was over, and did not end it.
    #[track_caller]
    fn expect_woken(&self, done_ns: u64) {
        let expired_ns = self.begin_ns + self.slices * SLEEP_MAX.as_nanos() as u64;
        assert!(
            self.slices == 0 || done_ns >= expired_ns,
            "a wake was lost: {}",
            self.slices
        );
    }
}

#[test]
fn a_sleeping_consumer_is_woken_by_each_message() {
    const LAST: u64 = MESSAGES;
    let ring = FanoutShm::<u64>::heap(&RingOptions::capacity(8)).unwrap();
    let mut consumer = ring.consumer().unwrap();
    let mut producer = ring.producer().unwrap();
    let reading = thread::spawn(move || {
        let mut got = Vec::new();
        // A lapped consumer continues behind the lost messages, so it always gets the last one.
        while got.last() != Some(&LAST) {
            got.push(consumer.recv_until(asleep()).unwrap());
        }
        (got, consumer.stats().lost)
    });
    for number in 0..=LAST {
        producer.send(number).unwrap();
        thread::yield_now();
    }
    let (got, lost) = reading.join().unwrap();
    assert!(got.is_sorted_by(|a, b| a < b));
    assert_eq!(got.len() as u64 + lost, LAST + 1);
}

#[test]
fn an_impatient_consumer_goes_without() {
    let ring = FanoutShm::<u64>::heap(&RingOptions::capacity(8)).unwrap();
    let mut consumer = ring.consumer().unwrap();
    let begin = Instant::now();
    let timeout = Duration::from_millis(20);
    for spin in [Duration::ZERO, WaitPolicy::SPIN, Duration::MAX] {
        assert_eq!(
            consumer.recv_until(WaitPolicy::with_timeout(timeout).with_spin(spin)),
            None
        );
    }
    assert!(begin.elapsed() >= 3 * timeout);
    assert_eq!(
        consumer.recv_until(WaitPolicy::with_timeout(Duration::ZERO)),
        None
    );
}

#[test]
fn a_sleeping_producer_is_woken_by_room() {
    for &edge in EDGES {
        let segment = topic(None, "topic", &reliable(edge, 2));
        let mut reader = consumer(&segment);
        let mut writer = producer(&segment);
        let sending = thread::spawn(move || {
            (0..MESSAGES).for_each(|n| writer.send_until(asleep(), &[0, n, 0]).unwrap());
        });
        for number in 0..MESSAGES {
            assert_eq!(
                reader.recv_until(asleep()),
                Some([0, number, 0]),
                "{edge:?}"
            );
        }
        sending.join().unwrap();
    }
    let ring = SpscShm::<u64>::heap(&RingOptions::capacity(2)).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    let sending = thread::spawn(move || {
        (0..MESSAGES).for_each(|number| producer.send_until(asleep(), &number).unwrap());
    });
    for number in 0..MESSAGES {
        assert_eq!(consumer.recv_until(asleep()), Some(number));
    }
    sending.join().unwrap();
}

/// A reader that leaves makes room, as one that reads does.
#[test]
fn a_sleeping_producer_is_woken_by_a_reader_that_leaves() {
    for &edge in EDGES {
        let segment = topic(None, "topic", &reliable(edge, 2));
        let reader = consumer(&segment);
        let mut writer = producer(&segment);
        (0..2).for_each(|number| writer.send([0, number, 0]).unwrap());
        let sending =
            thread::spawn(move || Awaited::of(|| writer.send_until(asleep(), &[0, 2, 0])));
        eventually("the producer sleeps", || room_waiters(&segment) != 0);
        drop(reader);
        let done_ns = now_ns();
        let (sent, awaited) = sending.join().unwrap();
        sent.unwrap();
        awaited.expect_woken(done_ns);
    }
}

/// A reader that ignores the publisher makes room, too.
#[test]
fn a_sleeping_producer_is_woken_by_a_reader_that_ignores_it() {
    for &edge in EDGES {
        let segment = topic(None, "topic", &reliable(edge, 2));
        let mut reader = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
        let mut writer = producer(&segment);
        (0..2).for_each(|number| writer.send([0, number, 0]).unwrap());
        let lane = writer.raw().lane();
        let sending =
            thread::spawn(move || Awaited::of(|| writer.send_until(asleep(), &[0, 2, 0])));
        eventually("the producer sleeps", || room_waiters(&segment) != 0);
        reader.ignore(lane);
        let done_ns = now_ns();
        let (sent, awaited) = sending.join().unwrap();
        sent.unwrap();
        awaited.expect_woken(done_ns);
    }
}

/// A send that waits is refused once, and only if there is no room until the end.
#[test]
fn only_a_send_that_fails_counts_as_refused() {
    let segment = topic(None, "topic", &reliable(WakeBarrier::Membarrier, 2));
    let mut reader = consumer(&segment);
    let mut writer = producer(&segment);
    let refused = || segment.lane_counters()[0].refused;
    (0..2).for_each(|number| writer.send([0, number, 0]).unwrap());
    let wait = WaitPolicy::with_timeout(Duration::from_millis(5));
    assert!(writer.send_until(wait, &[0; 3]).is_err());
    assert_eq!(refused(), 1);
    assert!(writer.send([0; 3]).is_err());
    assert_eq!(refused(), 2);
    let sending = thread::spawn(move || {
        for number in 2..50 {
            writer.send_until(asleep(), &[0, number, 0]).unwrap();
        }
    });
    for number in 0..50 {
        thread::sleep(Duration::from_micros(300));
        assert_eq!(reader.recv_until(asleep()), Some([0, number, 0]));
    }
    sending.join().unwrap();
    assert_eq!(refused(), 2);
}

#[test]
fn a_producer_that_waits_gives_a_stalled_reader_up_in_time() {
    // WHY not once: a busy machine may keep the thread from the CPU until there is no time left to
    // sleep.
    let has_slept = (0..20).any(|_| slices_until_a_stalled_reader_is_given_up() > 0);
    assert!(has_slept, "it had to sleep");
}

fn slices_until_a_stalled_reader_is_given_up() -> u64 {
    let segment = topic(None, "topic", &reliable(WakeBarrier::Fence, 2));
    let _stalled = consumer(&segment);
    // WHY longer: under miri time passes with each step, and none would be left to sleep.
    let after = Duration::from_millis(if cfg!(miri) { 200 } else { 5 });
    let after = OnStalled::Detach { after };
    let raw = RawProducer::new(Arc::clone(&segment), after).unwrap();
    let mut producer = Producer::<Message>::new(raw);
    let sends = || (0..4).for_each(|n| producer.send_until(asleep(), &[0, n, 0]).unwrap());
    let ((), awaited) = Awaited::of(sends);
    assert!(
        now_ns() - awaited.begin_ns < GUARD.as_nanos() as u64 / 2,
        "it slept up to the hang guard"
    );
    assert_eq!(room_waiters(&segment), 0);
    awaited.slices
}

#[test]
fn only_a_waiting_reader_is_announced() {
    for &edge in EDGES {
        let segment = topic_on_heap(edge);
        let mut reader = consumer(&segment);
        let mut writer = producer(&segment);
        assert_eq!(
            reader.recv_until(WaitPolicy::with_timeout(Duration::from_millis(1))),
            None
        );
        assert_eq!(waiters(&segment), 0);
        for number in 0..100 {
            writer.send([0, number, 0]).unwrap();
        }
        assert_eq!(
            wakes(&segment),
            0,
            "a send called the kernel without a sleeper"
        );
    }
}

/// Waits at `watch` in a thread of its own until there is a message; the thread returns the wait.
fn wait_at(watch: Watch) -> thread::JoinHandle<Awaited> {
    thread::spawn(move || {
        let look = || watch.has_message().then_some(());
        let wait = || Watch::wait_any(std::slice::from_ref(&watch), asleep(), look);
        let (found, awaited) = Awaited::of(wait);
        assert_eq!(found, Some(()));
        awaited
    })
}

#[test]
fn a_thread_that_stops_waiting_leaves_the_bit_of_another_sleeper_of_the_reader() {
    for &edge in EDGES {
        let segment = topic_on_heap(edge);
        let mut reader = consumer(&segment);
        let mut writer = producer(&segment);
        let watching = wait_at(reader.raw().watch());
        eventually("the watch sleeps", || waiters(&segment) == 1);
        assert_eq!(
            reader.recv_until(WaitPolicy::with_timeout(Duration::from_millis(1))),
            None
        );
        assert_eq!(waiters(&segment), 1, "{edge:?}: the other one still sleeps");
        writer.send([0; 3]).unwrap();
        let done_ns = now_ns();
        watching.join().unwrap().expect_woken(done_ns);
        assert_eq!(waiters(&segment), 0);
    }
}

#[test]
fn a_watch_of_a_reader_that_left_does_not_touch_the_next_one_in_its_place() {
    let mut one_place = request(EDGES[0]);
    one_place.reader_limit = Some(1);
    let segment = topic(None, "topic", &one_place);
    let gone = consumer(&segment);
    let watch = gone.raw().watch();
    assert!(!watch.is_closed());
    drop(gone);
    assert!(watch.is_closed());
    let next = consumer(&segment);
    let mut writer = producer(&segment);
    let watching = wait_at(next.raw().watch());
    eventually("the next one sleeps", || waiters(&segment) == 1);
    let wait_policy = WaitPolicy::with_timeout(Duration::from_millis(1));
    assert_eq!(
        Watch::wait_any(std::slice::from_ref(&watch), wait_policy, || None::<()>),
        None
    );
    assert_eq!(waiters(&segment), 1);
    writer.send([0; 3]).unwrap();
    let done_ns = now_ns();
    watching.join().unwrap().expect_woken(done_ns);
    assert!(
        !watch.has_message() || watch.is_closed(),
        "the watch of a dropped reader changed"
    );
}

#[test]
fn a_place_is_free_once_its_reader_is_gone_and_no_thread_sleeps_there() {
    let mut one_place = request(WakeBarrier::Fence);
    one_place.reader_limit = Some(1);
    let segment = topic(None, "topic", &one_place);
    for _ in 0..3 {
        let reader = consumer(&segment);
        let watch = reader.raw().watch();
        let sleeping = thread::spawn(move || {
            let look = || watch.is_closed().then_some(());
            let wait = || Watch::wait_any(std::slice::from_ref(&watch), asleep(), look);
            let (found, awaited) = Awaited::of(wait);
            assert_eq!(found, Some(()));
            awaited
        });
        eventually("it sleeps", || waiters(&segment) == 1);
        drop(reader);
        let done_ns = now_ns();
        sleeping.join().unwrap().expect_woken(done_ns);
    }
}

#[test]
fn a_watch_sees_unread_messages_and_counts_arrivals() {
    let segment = topic_on_heap(WakeBarrier::Membarrier);
    let mut reader = consumer(&segment);
    let mut writer = producer(&segment);
    let watch = reader.raw().watch();
    assert!(!watch.has_message() && watch.publication_count() == 0);
    writer.send([0; 3]).unwrap();
    writer.send([1; 3]).unwrap();
    assert!(watch.has_message() && watch.publication_count() == 2);
    assert_eq!(reader.recv(), Some([0; 3]));
    assert!(watch.has_message());
    assert_eq!(reader.recv(), Some([1; 3]));
    assert!(!watch.has_message() && watch.publication_count() == 2);
    writer.send([2; 3]).unwrap();
    reader.ignore(writer.raw().lane());
    assert!(!watch.has_message());
}

#[test]
fn more_watches_than_the_kernel_takes_at_once_all_wake() {
    // WHY small: there are 130 topics.
    let mut small = request(WakeBarrier::Fence);
    (small.capacity, small.lane_limit, small.reader_limit) = (Some(2), Some(1), Some(1));
    let segments: Vec<_> = (0..130).map(|_| topic(None, "topic", &small)).collect();
    let mut readers: Vec<_> = segments.iter().map(consumer).collect();
    let watches: Vec<_> = readers.iter().map(|reader| reader.raw().watch()).collect();
    for late in [0, 127, 128, 129] {
        let mut writer = producer(&segments[late]);
        let sending = thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            writer.send([7; 3]).unwrap();
        });
        let look = || watches.iter().position(Watch::has_message);
        assert_eq!(Watch::wait_any(&watches, asleep(), look), Some(late));
        sending.join().unwrap();
        assert_eq!(readers[late].recv(), Some([7; 3]));
    }
}

/// Counts the tasks that an alarm has woken.
#[derive(Default)]
struct WakeCounter(AtomicU64);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn each_alarm_goes_off_if_one_thread_cannot_sleep_for_all() {
    let segments = [(); 3].map(|()| topic_on_heap(WakeBarrier::Fence));
    let mut readers: Vec<_> = segments.iter().map(consumer).collect();
    let counters = [(); 3].map(|()| Arc::new(WakeCounter::default()));
    let mut alarms = Vec::new();
    for _ in 0..100 {
        for (reader, counter) in readers.iter().zip(&counters) {
            let mut alarm = MessageAlarm::new(reader.raw().watch());
            alarm.try_set(&Waker::from(Arc::clone(counter)));
            alarms.push(alarm);
        }
    }
    let woken = || counters.each_ref().map(|it| it.0.load(Ordering::Relaxed));
    assert_eq!(woken(), [0; 3]);
    producer(&segments[2]).send([7; 3]).unwrap();
    eventually("those of one topic go off", || woken() == [0, 0, 100]);
    drop(readers.remove(1));
    eventually("the drop of a consumer ends its alarms", || {
        woken() == [0, 100, 100]
    });
    assert_eq!(readers[1].recv(), Some([7; 3]));
    for alarm in &mut alarms {
        alarm.cancel();
    }
    producer(&segments[0]).send([7; 3]).unwrap();
    let own = Arc::new(WakeCounter::default());
    alarms[0].try_set(&Waker::from(Arc::clone(&own)));
    eventually("an alarm can be set again", || {
        own.0.load(Ordering::Relaxed) == 1
    });
    assert_eq!(woken(), [0, 100, 100], "an alarm that was cancelled");
}

/// Returns true if the kernel has `futex_waitv`, and so can end a sleep at several topics.
fn sleeps_at_several() -> bool {
    if cfg!(miri) {
        return false;
    }
    // SAFETY: the kernel reads no word, since the count is zero.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            std::ptr::null::<u8>(),
            0,
            0,
            std::ptr::null::<u8>(),
            0,
        )
    };
    assert_eq!(outcome, -1);
    std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// If the message of another topic did not end the sleep, or if the thread did not sleep, it would
/// still get the message by polling: after its slice, or all the time. So this counts the polls.
#[test]
fn each_of_several_watches_ends_the_sleep() {
    const LOOKS_MAX: u64 = 100;
    if !sleeps_at_several() {
        return horus_testing::skip("no futex_waitv: Linux 5.16 has it");
    }
    for &edge in EDGES {
        for late in 0..3 {
            let segments = [(); 3].map(|()| topic_on_heap(edge));
            let readers = segments.each_ref().map(consumer);
            let watches = readers.each_ref().map(|reader| reader.raw().watch());
            let mut writer = producer(&segments[late]);
            let waiting = thread::spawn(move || {
                let mut looks = 0;
                let look = || {
                    looks += 1;
                    watches.iter().position(Watch::has_message)
                };
                let (found, awaited) = Awaited::of(|| Watch::wait_any(&watches, asleep(), look));
                (found, awaited, looks)
            });
            eventually("it sleeps", || {
                segments.iter().all(|segment| waiters(segment) == 1)
            });
            // Gives it time to poll, if it does not sleep.
            thread::sleep(Duration::from_millis(10));
            writer.send([7; 3]).unwrap();
            let done_ns = now_ns();
            let (found, awaited, looks) = waiting.join().unwrap();
            assert_eq!(found, Some(late), "{edge:?}");
            let limit = LOOKS_MAX + 2 * awaited.slices;
            assert!(looks <= limit, "{looks} looks in {} slices", awaited.slices);
            awaited.expect_woken(done_ns);
        }
    }
}

#[test]
fn an_observer_looks_again_and_again() {
    let segment = topic_on_heap(WakeBarrier::Membarrier);
    let mut observer = RawConsumer::new(Arc::clone(&segment), ReadMode::Observer)
        .map(horus_shm::Consumer::<Message>::new)
        .unwrap();
    let reader = consumer(&segment);
    let mut writer = producer(&segment);
    let watches = [observer.raw().watch(), reader.raw().watch()];
    let sending = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        writer.send([7; 3]).unwrap();
    });
    let look = || watches[0].has_message().then_some(());
    assert_eq!(Watch::wait_any(&watches, asleep(), look), Some(()));
    assert_eq!(observer.recv_until(asleep()), Some([7; 3]));
    sending.join().unwrap();
    assert_eq!(waiters(&segment), 0);
}

#[cfg(not(miri))]
static INTERRUPTIONS: AtomicU64 = AtomicU64::new(0);

#[cfg(not(miri))]
extern "C" fn interrupt(_signal: i32) {
    INTERRUPTIONS.fetch_add(1, Ordering::Relaxed);
}

// WHY: miri has no signals.
#[cfg(not(miri))]
#[test]
fn signals_end_no_wait() {
    // SAFETY: all zeros is an action without flags, so no call is restarted.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = interrupt as extern "C" fn(i32) as libc::sighandler_t;
    // SAFETY: the action is readable, and its handler only counts.
    let set = unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
    assert_eq!(set, 0);
    let segment = topic_on_heap(WakeBarrier::Membarrier);
    let mut receiver = Receiver::new(consumer(&segment));
    let mut sender = Sender::new(&segment, 0);
    let (tell, told) = std::sync::mpsc::channel();
    let receiving = thread::spawn(move || {
        // SAFETY: the call takes nothing and cannot fail.
        tell.send(unsafe { libc::pthread_self() }).unwrap();
        let numbers = [receiver.receive()[1], receiver.receive()[1]];
        (numbers, receiver.lost_wakes)
    });
    let thread = told.recv().unwrap();
    for _ in 0..200 {
        eventually("it sleeps", || waiters(&segment) == 1);
        // SAFETY: the thread was not joined yet.
        assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
        thread::yield_now();
    }
    eventually("signals arrive", || {
        INTERRUPTIONS.load(Ordering::Relaxed) > 0
    });
    assert!(!receiving.is_finished());
    sender.send();
    eventually("it sleeps again", || waiters(&segment) == 1);
    sender.send();
    assert_eq!(receiving.join().unwrap(), ([0, 1], 0));
}

// WHY: miri has no forks.
#[cfg(not(miri))]
#[test]
fn a_fork_takes_no_sleeper_along() {
    let segment = topic_on_heap(WakeBarrier::Membarrier);
    let reader = consumer(&segment);
    let mut writer = producer(&segment);
    let watch = reader.raw().watch();
    let watching = wait_at(reader.raw().watch());
    eventually("it sleeps", || waiters(&segment) == 1);
    let mut copy = Some(reader);
    let pid = fork(|| {
        let mut reader = copy.take().unwrap();
        let wait_policy = WaitPolicy::with_timeout(Duration::from_millis(1));
        let nothing = reader.recv_until(wait_policy).is_none() && watch.is_forked();
        let found = Watch::wait_any(std::slice::from_ref(&watch), wait_policy, || {
            watch.has_message().then_some(())
        });
        drop(reader);
        nothing && found.is_some()
    });
    assert!(join_fork(pid));
    assert_eq!(
        waiters(&segment),
        1,
        "the child's copies announce and withdraw nothing"
    );
    writer.send([0; 3]).unwrap();
    let done_ns = now_ns();
    watching.join().unwrap().expect_woken(done_ns);
}
