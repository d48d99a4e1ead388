//! Asynchronous receive: any executor, one thread, and a dropped future loses nothing.

#![cfg(feature = "async")]

use horus_testing as _;

mod private;

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use futures_core::Stream;
use horus_core::RecvError;
use horus_core::message::{CmdVel, Imu};
use horus_core::topic::{DynamicType, Publisher, Qos, Subscriber};
use horus_core::value::Value;
use horus_shm::internals::check_names_now;
use horus_shm::rt;
use private::Private;

/// The time limit of a test that hangs.
const GUARD: Duration = Duration::from_secs(60);
const THREAD: &str = "horus-alarms";

/// A lock held by each test. WHY: the tests count the threads of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn numbered(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    }
}

fn ends(private: &Private, topic: &str) -> (Publisher<CmdVel>, Subscriber<CmdVel>) {
    (
        private.publisher(topic, Qos::new()),
        private.subscriber(topic, Qos::new()),
    )
}

/// Returns the directories in `/proc` of the threads of this process that have the name `name`.
fn threads_named(name: &str) -> Vec<PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let has_name = |task: &PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|found| found.trim_end() == name)
    };
    tasks.map(|task| task.path()).filter(has_name).collect()
}

/// Returns the number of threads of this process that serve alarms.
fn library_threads() -> usize {
    threads_named(THREAD).len()
}

/// Returns the CPUs, the priority and the policy of a thread, as its directory in `/proc` has them;
/// `None` if the thread has ended.
fn settings_of(task: &Path) -> Option<(String, Vec<String>)> {
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    let cpus = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"))?;
    let stat = std::fs::read_to_string(task.join("stat")).ok()?;
    // The fields 40 and 41; those after the name begin with the third.
    let fields = stat.rsplit_once(") ")?.1.split(' ').skip(37).take(2);
    Some((cpus.to_owned(), fields.map(str::to_owned).collect()))
}

#[track_caller]
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < GUARD, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A waker that unparks a thread and counts its calls.
struct Unpark {
    thread: Thread,
    wakes: AtomicU64,
}

impl Unpark {
    fn here() -> Arc<Self> {
        Arc::new(Self {
            thread: thread::current(),
            wakes: AtomicU64::new(0),
        })
    }

    fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::Relaxed)
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// Runs a future on the smallest possible executor, which polls only after a wake.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let unpark = Unpark::here();
    let waker = Waker::from(Arc::clone(&unpark));
    let begin = Instant::now();
    for polls in 1.. {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while unpark.wakes() < polls {
            assert!(begin.elapsed() < GUARD, "never woken");
            thread::park_timeout(Duration::from_millis(100));
        }
    }
    unreachable!()
}

fn poll_once<F: Future>(future: Pin<&mut F>, unpark: &Arc<Unpark>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(unpark))))
}

#[test]
fn no_thread_is_started_before_a_task_has_to_wait_and_none_stays_afterwards() {
    let _alone = alone();
    eventually("earlier tests leave no thread", || library_threads() == 0);
    let private = Private::new();
    let (mut publisher, mut subscriber) = ends(&private, "t");
    publisher.send(numbered(1)).unwrap();
    assert_eq!(block_on(subscriber.recv_async()), Ok(numbered(1)));
    drop(subscriber.recv_async());
    assert_eq!(library_threads(), 0, "no task had to wait");
    let sending = thread::spawn(move || {
        eventually("a thread for the task", || library_threads() == 1);
        publisher.send(numbered(2)).unwrap();
    });
    assert_eq!(block_on(subscriber.recv_async()), Ok(numbered(2)));
    sending.join().unwrap();
    assert!(library_threads() <= 1);
    eventually("the thread ends when no task waits", || {
        library_threads() == 0
    });
}

#[test]
fn a_task_gets_every_message_of_a_stream_by_either_executor() {
    const MESSAGES: u64 = 2000;
    let _alone = alone();
    for executor in ["own", "pollster"] {
        let private = Private::new();
        let qos = Qos::reliable().capacity(16);
        let mut publisher = private.publisher("t", qos);
        let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", qos);
        let sending = thread::spawn(move || {
            for number in 0..MESSAGES {
                publisher.send_timeout(numbered(number), GUARD).unwrap();
                if number % 100 == 0 {
                    // Makes the task sleep now and then.
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let receive = async {
            for number in 0..MESSAGES {
                let next = poll_fn(|context| Pin::new(&mut subscriber).poll_next(context));
                assert_eq!(next.await, Some(numbered(number)));
            }
        };
        match executor {
            "own" => block_on(receive),
            _ => pollster::block_on(receive),
        }
        sending.join().unwrap();
        assert!(library_threads() <= 1);
    }
}

/// A receive that does not wait gives up after some malformed messages; the task has to be woken
/// for those that are still there.
#[test]
fn a_task_gets_the_message_behind_any_number_of_malformed_ones() {
    let _alone = alone();
    let private = Private::new();
    for malformed in (14..=20).chain([32, 33, 200]) {
        let name = format!("after/{malformed}");
        let mut subscriber: Subscriber<Value> = private.subscriber(&name, Qos::new());
        let mut bytes = DynamicType::of::<Value>()
            .builder(&name)
            .namespace(private.namespace())
            .qos(Qos::new().capacity(256))
            .publisher()
            .unwrap();
        (0..malformed).for_each(|_| bytes.send_bytes(b"\xc1").unwrap());
        bytes.send(&Value::from(7)).unwrap();
        assert_eq!(block_on(subscriber.recv_async()), Ok(Value::from(7)));
        assert_eq!(subscriber.stats().malformed, malformed);
    }
}

#[test]
fn a_future_that_is_dropped_takes_no_message_along() {
    let _alone = alone();
    let private = Private::new();
    let (mut publisher, mut subscriber) = ends(&private, "t");
    let unpark = Unpark::here();
    for number in 0..100 {
        {
            let mut future = pin!(subscriber.recv_async());
            assert_eq!(poll_once(future.as_mut(), &unpark), Poll::Pending);
            if number % 2 == 0 {
                publisher.send(numbered(number)).unwrap();
            }
        }
        if number % 2 == 1 {
            publisher.send(numbered(number)).unwrap();
        }
        assert_eq!(
            pollster::block_on(subscriber.recv_async()),
            Ok(numbered(number))
        );
    }
    assert_eq!((subscriber.lost(), subscriber.recv()), (0, None));
}

#[test]
fn a_cancelled_task_is_not_woken() {
    let _alone = alone();
    let private = Private::new();
    let (mut publisher, mut subscriber) = ends(&private, "t");
    let (_, mut other) = ends(&private, "t");
    let unpark = Unpark::here();
    {
        let mut future = pin!(subscriber.recv_async());
        assert_eq!(poll_once(future.as_mut(), &unpark), Poll::Pending);
    }
    // When this task is woken, the other one would have been woken as well.
    let sending = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        publisher.send(numbered(1)).unwrap();
    });
    assert_eq!(block_on(other.recv_async()), Ok(numbered(1)));
    sending.join().unwrap();
    assert_eq!(unpark.wakes(), 0);
}

#[test]
fn the_latest_waker_is_the_one_that_is_called() {
    let _alone = alone();
    let private = Private::new();
    let (mut publisher, mut subscriber) = ends(&private, "t");
    let first = Unpark::here();
    let second = Unpark::here();
    let mut future = pin!(subscriber.recv_async());
    assert_eq!(poll_once(future.as_mut(), &first), Poll::Pending);
    assert_eq!(poll_once(future.as_mut(), &second), Poll::Pending);
    publisher.send(numbered(1)).unwrap();
    eventually("woken", || second.wakes() == 1);
    assert_eq!(first.wakes(), 0);
    assert_eq!(
        poll_once(future.as_mut(), &second),
        Poll::Ready(Ok(numbered(1)))
    );
}

#[test]
fn more_topics_than_the_kernel_takes_at_once_wake_their_tasks() {
    const TOPICS: usize = 150;
    let _alone = alone();
    let private = Private::new();
    let qos = Qos::new().capacity(16);
    let mut subscribers: Vec<Subscriber<CmdVel>> = (0..TOPICS)
        .map(|index| private.subscriber(&format!("t{index}"), qos))
        .collect();
    let tasks: Vec<_> = subscribers.iter().map(|_| Unpark::here()).collect();
    for (subscriber, task) in subscribers.iter_mut().zip(&tasks) {
        let waker = Waker::from(Arc::clone(task));
        assert!(
            subscriber
                .poll_recv(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    // WHY: a thread sets its name itself, soon after it was started.
    eventually("a thread for each 127", || library_threads() == 2);
    for index in (0..TOPICS).rev() {
        let mut publisher = private.publisher(&format!("t{index}"), qos);
        publisher.send(numbered(index as u64)).unwrap();
        eventually("woken", || tasks[index].wakes() == 1);
        assert_eq!(subscribers[index].recv(), Some(numbered(index as u64)));
    }
    assert!(
        tasks.iter().all(|task| task.wakes() == 1),
        "no task is woken for another"
    );
    // Other tests count the threads, too.
    eventually("idle threads end", || library_threads() == 0);
}

#[test]
fn threads_of_the_library_are_not_real_time_threads_though_one_starts_them() {
    let _alone = alone();
    eventually("earlier tests leave no thread", || {
        library_threads() == 0 && threads_named("horus-names").is_empty()
    });
    let main = PathBuf::from(format!("/proc/self/task/{}", std::process::id()));
    let ordinary = settings_of(&main).unwrap();
    // SAFETY: the call takes no pointer.
    let cpu = unsafe { libc::sched_getcpu() };
    let starting = thread::spawn(move || {
        rt::pin_thread_to(cpu.unsigned_abs() as usize).unwrap();
        if let Err(error) = rt::set_fifo_priority(1) {
            horus_testing::skip(format!("the priority of the threads: {error}"));
        }
        let private = Private::new();
        let (publisher, mut subscriber) = ends(&private, "t");
        let task = Waker::from(Unpark::here());
        let poll = subscriber.poll_recv(&mut Context::from_waker(&task));
        assert!(poll.is_pending());
        (private, publisher, subscriber)
    });
    let endpoints = starting.join().unwrap();
    for name in [THREAD, "horus-names"] {
        eventually(name, || {
            let tasks = threads_named(name);
            tasks.len() == 1 && settings_of(&tasks[0]).is_some_and(|found| found == ordinary)
        });
    }
    drop(endpoints);
    eventually("idle threads end", || library_threads() == 0);
}

#[test]
fn a_waker_that_panics_harms_no_other_task() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    let _alone = alone();
    let private = Private::new();
    let (mut publisher, mut subscriber) = ends(&private, "t");
    let mut other: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let waker = Waker::from(Arc::new(Panics));
    assert!(
        subscriber
            .poll_recv(&mut Context::from_waker(&waker))
            .is_pending()
    );
    publisher.send(numbered(1)).unwrap();
    assert_eq!(block_on(other.recv_async()), Ok(numbered(1)));
    let sending = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        publisher.send(numbered(2)).unwrap();
    });
    assert_eq!(block_on(other.recv_async()), Ok(numbered(2)));
    sending.join().unwrap();
    assert_eq!(library_threads(), 1);
}

#[test]
fn nothing_of_a_topic_is_left_when_its_last_handle_is_dropped_while_a_task_waits() {
    let _alone = alone();
    let private = Private::new();
    let file = private.namespace().topics_path().join("t");
    for _ in 0..200 {
        let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
        let unpark = Unpark::here();
        let waker = Waker::from(Arc::clone(&unpark));
        assert!(
            subscriber
                .poll_recv(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert!(file.exists());
        drop(subscriber);
        assert!(
            !file.exists(),
            "the library's thread still has a share in it"
        );
    }
}

#[test]
fn a_subscriber_can_be_dropped_by_the_task_that_is_woken() {
    struct Drops(Mutex<Option<Subscriber<CmdVel>>>, AtomicU64);
    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            // This runs in the library's thread.
            drop(self.0.lock().unwrap().take());
            self.1.store(1, Ordering::Relaxed);
        }
    }
    let _alone = alone();
    let private = Private::new();
    let (mut publisher, subscriber) = ends(&private, "t");
    let drops = Arc::new(Drops(Mutex::new(Some(subscriber)), AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&drops));
    let mut place = drops.0.lock().unwrap();
    assert!(
        place
            .as_mut()
            .unwrap()
            .poll_recv(&mut Context::from_waker(&waker))
            .is_pending()
    );
    drop(place);
    publisher.send(numbered(1)).unwrap();
    eventually("woken", || drops.1.load(Ordering::Relaxed) == 1);
    let mut other: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    publisher.send(numbered(2)).unwrap();
    assert_eq!(block_on(other.recv_async()), Ok(numbered(2)));
}

#[test]
fn a_forked_child_has_a_thread_of_its_own() {
    let _alone = alone();
    let private = Private::new();
    let (_publisher, mut subscriber) = ends(&private, "t");
    let unpark = Unpark::here();
    let waker = Waker::from(Arc::clone(&unpark));
    assert!(
        subscriber
            .poll_recv(&mut Context::from_waker(&waker))
            .is_pending()
    );
    eventually("a thread for the task", || library_threads() == 1);
    // SAFETY: the child is a copy whose other threads are gone; it takes no lock of theirs.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let child = || {
            let inherited = block_on(subscriber.recv_async());
            let inherited = matches!(inherited, Err(RecvError::Forked { .. }));
            drop(subscriber);
            let private = Private::new();
            let (mut publisher, mut own) = ends(&private, "t");
            let none = library_threads() == 0;
            let sending = thread::spawn(move || {
                eventually("a thread for the task", || library_threads() == 1);
                publisher.send(numbered(3)).unwrap();
                publisher
            });
            let got = block_on(own.recv_async()) == Ok(numbered(3));
            inherited && none && got && sending.join().is_ok()
        };
        let is_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(i32::from(!is_well.unwrap_or(false))) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0);
    assert_eq!(library_threads(), 1, "the parent's goes on");
}

/// The library's thread detects the truncation, and must survive it. The test runs in a child,
/// because the kernel kills a process if a thread with SIGBUS blocked gets one.
#[test]
fn a_task_whose_topic_is_truncated_gets_an_error() {
    let _alone = alone();
    // SAFETY: the child is a copy whose other threads are gone; it takes no lock of theirs.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let child = || {
            let private = Private::new();
            let (_publisher, mut subscriber) = ends(&private, "t");
            let path = private.namespace().topics_path().join("t");
            let truncating = thread::spawn(move || {
                eventually("a thread for the task", || library_threads() == 1);
                std::fs::OpenOptions::new()
                    .write(true)
                    .truncate(true)
                    .open(path)
                    .unwrap();
            });
            let got = block_on(subscriber.recv_async());
            matches!(got, Err(RecvError::RegionLost { .. })) && truncating.join().is_ok()
        };
        let is_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(i32::from(!is_well.unwrap_or(false))) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0, "as waitpid says it: 7 is SIGBUS");
}

/// A subscriber without a publisher that matches is in error, but messages may come later.
#[test]
fn a_stream_goes_on_when_a_publisher_of_another_type_has_left() {
    let _alone = alone();
    let private = Private::new();
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("t", Qos::new());
    let other: Publisher<Imu> = private.publisher("t", Qos::new());
    let unpark = Unpark::here();
    let waker = Waker::from(Arc::clone(&unpark));
    let mut context = Context::from_waker(&waker);
    let mut poll = || Pin::new(&mut subscriber).poll_next(&mut context);
    assert_eq!(poll(), Poll::Pending);
    drop(other);
    let mut publisher: Publisher<CmdVel> = private.publisher("t", Qos::new());
    publisher.send(numbered(1)).unwrap();
    eventually("the task is woken", || unpark.wakes() > 0);
    assert_eq!(poll(), Poll::Ready(Some(numbered(1))));
    assert_eq!(poll(), Poll::Pending);
}

/// Also if the subscriber has moved to another file meanwhile, and still reads the former one.
#[test]
fn a_task_whose_namespace_is_removed_gets_an_error() {
    let _alone = alone();
    for has_moved in [false, true] {
        let private = Private::new();
        let (_publisher, mut subscriber) = ends(&private, "t");
        let namespace = private.namespace().path().to_owned();
        let removing = thread::spawn(move || {
            eventually("a thread for the task", || library_threads() == 1);
            if has_moved {
                let file = namespace.join("topics/t");
                std::fs::remove_file(&file).unwrap();
                check_names_now();
                eventually("the subscriber moves", || file.exists());
            }
            // WHY a rename: the namespace has to be lost at once, with all of its files.
            std::fs::rename(&namespace, namespace.with_extension("removed")).unwrap();
            check_names_now();
        });
        let got = block_on(subscriber.recv_async());
        assert!(
            matches!(got, Err(RecvError::NamespaceRemoved { .. })),
            "{got:?}"
        );
        removing.join().unwrap();
    }
}
