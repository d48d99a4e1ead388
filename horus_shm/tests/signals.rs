//! Signals: a process that a signal ends leaves nothing that the next start does not sweep. A
//! process that a signal interrupts is not affected, and one that is stopped and continued corrupts
//! nothing.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use horus_shm::{Namespace, SweepReport, sweep};

use common::{Child, eventually, say};
use hostile::rounds;
use spawn::{inherited_namespace, namespace, shm_dir, topic_files};
use stream::{Account, Tagged};
use tracer::ends::{Kind, Receiver, Ring, Sender};

type Message = [u64; 32];

const KINDS: [Kind; 5] = [
    Kind::Spsc,
    Kind::Mpsc,
    Kind::Fanout,
    Kind::Pod,
    Kind::Reliable,
];
const PARENT: u32 = 1;
const CHILD: u32 = 2;
/// The longest life of a victim until its termination signal.
const LIFE_US: u64 = 20_000;
/// The exit status of a program that ends because of a termination signal.
const ASKED: i32 = 3;

static ASKED_TO_END: AtomicBool = AtomicBool::new(false);
static ALARMS: AtomicU64 = AtomicU64::new(0);
static CHILDREN: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(signal: i32) {
    match signal {
        libc::SIGALRM => _ = ALARMS.fetch_add(1, Ordering::Relaxed),
        libc::SIGCHLD => _ = CHILDREN.fetch_add(1, Ordering::Relaxed),
        _ => ASKED_TO_END.store(true, Ordering::Relaxed),
    }
}

/// Installs `on_signal` so that it interrupts system calls.
fn handle(signal: i32) {
    // SAFETY: a struct of plain integers, for which zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as extern "C" fn(i32) as usize;
    // SAFETY: the action outlives the call, and the handler only stores to atomics.
    let done = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// Returns the id of this thread.
fn thread_id() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Makes the kernel send `SIGALRM` to this thread a thousand times a second. WHY not to the
/// process: another, idle thread could get it.
fn start_alarms() {
    // SAFETY: a struct of plain integers and null pointers, for which zero is a value.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_THREAD_ID, libc::SIGALRM);
    event.sigev_notify_thread_id = thread_id();
    let mut timer = std::ptr::null_mut();
    // SAFETY: event and timer are valid for the call.
    let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) };
    assert_eq!(made, 0, "{}", io::Error::last_os_error());
    let every = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    let times = libc::itimerspec {
        it_interval: every,
        it_value: every,
    };
    // SAFETY: the timer was just made, the times outlive the call, and the old times may be null.
    let set = unsafe { libc::timer_settime(timer, 0, &times, std::ptr::null_mut()) };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
}

/// Sends `signal` to one thread of `child`.
fn signal_thread(child: &Child, thread: i32, signal: i32) {
    let call = libc::SYS_tgkill;
    let process = child.pid() as i32;
    // SAFETY: the call takes no pointer. The child was not waited for, so the id is its own.
    let done = unsafe { libc::syscall(call, process, thread, signal) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let role: Vec<_> = role.split(' ').collect();
    match role[..] {
        ["lives"] => {
            say("ready");
            while live(2000) {}
        }
        ["exits"] => {
            handle(libc::SIGTERM);
            handle(libc::SIGINT);
            say("ready");
            while live(2000) {}
            std::process::exit(ASKED);
        }
        ["storm", lives] => be_interrupted(lives.parse().unwrap()),
        ["writes", kind] => write_on(Kind::parse(kind)),
        _ => panic!("{role:?}"),
    }
}

fn progress(what: impl std::fmt::Display) {
    writeln!(io::stdout().lock(), "| {what} |").unwrap();
}

// ---- ended by a signal

/// Enters, sends messages to itself on each ring, and leaves; returns false if this process is to
/// end.
fn live(messages: u32) -> bool {
    let namespace = inherited_namespace();
    for kind in KINDS {
        let ring = Ring::<Message>::create(kind, &namespace, &format!("{kind:?}"));
        let mut sender = ring.sender().unwrap();
        let mut receiver = ring.receiver().unwrap();
        let mut account = Account::default();
        for number in 0..messages / 5 {
            assert!(sender.send(&Message::new(CHILD, number)));
            account.take(&receiver.recv().unwrap());
            if ASKED_TO_END.load(Ordering::Relaxed) {
                return false;
            }
        }
        account.expect_sound(receiver.stats().unwrap()).unwrap();
    }
    true
}

/// Expects the next process in `dir` to work, and to be the only process there.
fn start_next(dir: &Path) {
    let namespace = namespace(dir);
    assert_eq!(
        topic_files(&namespace),
        [""; 0],
        "not swept by the next start"
    );
    assert_eq!(
        namespace.registry().own_owner_word().to_bits() >> 48,
        1,
        "an entry is still taken"
    );
    let mut names: Vec<_> = std::fs::read_dir(namespace.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["registry", "topics"], "files are left");
    assert_eq!(sweep(&namespace).unwrap(), SweepReport::default());
    let segment = horus_shm::Segment::create(&namespace, &hostile::topic(), &hostile::request());
    hostile::expect_usable(&segment.unwrap(), "after the end");
}

/// Ends children at random times by `signals`, and returns how many of them left a topic to be
/// swept.
fn end_at_random(role: &str, signals: &[i32], lives: u64, check: impl Fn(i32, &mut Child)) -> u64 {
    let mut rng = Rng::with_seed(26);
    let dir = shm_dir();
    let mut left = 0;
    for life in 0..lives {
        for &signal in signals {
            // WHY: a background job of a script ignores these signals, and a child inherits that.
            // SAFETY: the default action is no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            let mut child = Child::spawn(role, dir.path());
            // Every other one may get the signal while it still starts.
            if role == "exits" || life % 2 == 0 {
                assert_eq!(child.listen(), "ready");
            }
            std::thread::sleep(Duration::from_micros(rng.u64(..LIFE_US)));
            child.signal(signal);
            check(signal, &mut child);
            let topics = std::fs::read_dir(dir.path().join("default/topics"));
            left += u64::from(topics.is_ok_and(|mut entries| entries.next().is_some()));
            start_next(dir.path());
        }
    }
    left
}

#[test]
fn the_next_start_sweeps_all_that_a_process_ended_by_a_signal_leaves() {
    let lives = rounds(15, 100);
    let signals = [libc::SIGTERM, libc::SIGINT];
    let left = end_at_random("lives", &signals, lives, |signal, child| {
        let status = child.wait();
        assert_eq!(
            status.signal(),
            Some(signal),
            "the library caught it: {status:?}"
        );
    });
    progress(format_args!(
        "ended by signals: {} lives, {left} of them left a topic",
        2 * lives
    ));
    assert!(
        left > 0,
        "no life left a topic, so none ended in the middle"
    );
}

#[test]
fn a_process_that_exits_on_a_termination_signal_leaves_nothing() {
    let lives = rounds(10, 100);
    let signals = [libc::SIGTERM, libc::SIGINT];
    let left = end_at_random("exits", &signals, lives, |_, child| {
        assert_eq!(child.wait().code(), Some(ASKED));
    });
    progress(format_args!(
        "exited on signals: {} lives, {left} of them left a topic",
        2 * lives
    ));
    assert_eq!(left, 0);
}

// ---- interrupted by signals

/// Opens, sends, receives, sleeps and leaves, without an error, while signals arrive all the time.
fn be_interrupted(lives: u32) {
    handle(libc::SIGALRM);
    handle(libc::SIGCHLD);
    start_alarms();
    let namespace = inherited_namespace();
    let there = echo_ring(&namespace, "there");
    let back = echo_ring(&namespace, "back");
    let mut receiver = there.receiver().unwrap();
    let mut sender = back.sender().unwrap();
    say(thread_id());
    let mut account = Account::default();
    for number in 0..lives {
        assert!(live(200));
        let before = ALARMS.load(Ordering::Relaxed);
        while ALARMS.load(Ordering::Relaxed) == before {
            std::thread::sleep(Duration::from_millis(2));
        }
        let message = soon(&mut receiver);
        account.take(&message);
        assert!(sender.send(&Message::new(CHILD, number)));
    }
    account.expect_all(PARENT, 0, lives).unwrap();
    account.expect_sound(receiver.stats().unwrap()).unwrap();
    say(ALARMS.load(Ordering::Relaxed));
    say(CHILDREN.load(Ordering::Relaxed));
    common::park();
}

fn echo_ring(namespace: &Arc<Namespace>, name: &str) -> Ring<Message> {
    Ring::open(Kind::Reliable, namespace, name)
}

fn soon(receiver: &mut Receiver<Message>) -> Message {
    let mut message = None;
    eventually("a message", || {
        message = receiver.recv();
        message.is_some()
    });
    message.unwrap()
}

#[test]
fn a_storm_of_signals_is_no_error_and_loses_nothing() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let there = echo_ring(&namespace, "there");
    let back = echo_ring(&namespace, "back");
    let mut sender = there.sender().unwrap();
    let mut receiver = back.receiver().unwrap();
    let lives = rounds(100, 2000) as u32;
    let mut child = Child::spawn(&format!("storm {lives}"), dir.path());
    let thread = child.listen_u64() as i32;
    let mut account = Account::default();
    for number in 0..lives {
        assert!(sender.send(&Message::new(PARENT, number)));
        eventually("an answer", || {
            signal_thread(&child, thread, libc::SIGCHLD);
            let answer = receiver.recv();
            answer.iter().for_each(|answer| account.take(answer));
            answer.is_some()
        });
    }
    account.expect_all(CHILD, 0, lives).unwrap();
    account.expect_sound(receiver.stats().unwrap()).unwrap();
    let alarms = child.listen_u64();
    let children = child.listen_u64();
    progress(format_args!(
        "interrupted: {lives} lives, {alarms} SIGALRM, {children} SIGCHLD"
    ));
    assert!(
        alarms > u64::from(lives) && children > u64::from(lives),
        "too few signals arrived"
    );
    child.finish();
}

// ---- stopped and continued

/// Sends for as long as it lives.
fn write_on(kind: Kind) {
    let ring = Ring::<Message>::open(kind, &inherited_namespace(), "topic");
    let mut sender = ring.sender().unwrap();
    say("ready");
    for number in 0.. {
        while !sender.send(&Message::new(CHILD, number)) {
            std::thread::yield_now();
        }
    }
}

/// The endpoints of this process beside a writer that is stopped and continued.
struct Beside {
    account: Account,
    receiver: Receiver<Message>,
    /// A second writer, where there is room for one.
    sender: Option<Sender<Message>>,
    sent: u32,
}

impl Beside {
    /// Receives up to 100 messages; returns true if there was one.
    fn receive(&mut self) -> bool {
        let before = self.account.received;
        // WHY a limit: a writer that is faster than this reader must not keep it here.
        for _ in 0..100 {
            let Some(message) = self.receiver.recv() else {
                break;
            };
            self.account.take(&message);
        }
        self.account.received > before
    }

    /// Sends and receives, though the other writer is stopped.
    fn go_on(&mut self) {
        for _ in 0..20 {
            if let Some(sender) = &mut self.sender {
                let message = Message::new(PARENT, self.sent);
                self.sent += u32::from(sender.send(&message));
            }
            self.receive();
        }
    }
}

fn stop_again_and_again(kind: Kind, stops: u64) {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = Ring::<Message>::create(kind, &namespace, "topic");
    let sender = kind.has_many_producers().then(|| ring.sender().unwrap());
    let receiver = ring.receiver().unwrap();
    let mut beside = Beside {
        account: Account::default(),
        receiver,
        sender,
        sent: 0,
    };
    let mut child = Child::spawn(&format!("writes {kind:?}"), dir.path());
    assert_eq!(child.listen(), "ready");
    let mut rng = Rng::with_seed(stops);
    for stop in 0..stops {
        std::thread::sleep(Duration::from_micros(rng.u64(..300)));
        child.signal(libc::SIGSTOP);
        beside.go_on();
        let sent = beside.sent;
        beside.go_on();
        assert!(
            beside.sender.is_none() || beside.sent > sent,
            "{kind:?}: blocked by the stopped writer"
        );
        child.signal(libc::SIGCONT);
        let of_child = |beside: &Beside| beside.account.of(CHILD).map_or(0, |stream| stream.count);
        let before = of_child(&beside);
        eventually("a message of the continued writer", || {
            beside.receive();
            of_child(&beside) > before
        });
        if let Some(fault) = beside.account.faults.first() {
            panic!("{kind:?}, stop {stop}: {fault}");
        }
    }
    child.kill();
    while beside.receive() {}
    let stats = beside.receiver.stats().unwrap();
    beside
        .account
        .expect_sound(stats)
        .unwrap_or_else(|fault| panic!("{kind:?}: {fault}"));
    let account = &beside.account;
    progress(format_args!(
        "stopped and continued: {kind:?}, {stops} times, {} received, {} lost and counted",
        account.received, stats.lost
    ));
    if kind.is_gated() {
        assert_eq!((stats.lost, account.gaps), (0, 0), "{kind:?}");
    }
}

#[test]
fn a_writer_that_is_stopped_and_continued_at_random_corrupts_nothing() {
    for kind in KINDS {
        stop_again_and_again(kind, rounds(40, 1000));
    }
}
