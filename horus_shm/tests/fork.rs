//! Forks: a child's copies of its parent's endpoints are inert, and the child can open its own.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod spawn;
mod stream;
mod tracer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use horus_shm::{
    FanoutShm, Namespace, OpenError, RingOptions, SendError, SpscShm, fork_epoch, machine,
};

use common::{Child, eventually, fork, join_fork, limit_time, role, say};
use spawn::{die_with_parent, inherited_namespace, namespace, shm_dir, topic_files};
use stream::{Account, Tagged};
use tracer::ends::{CAPACITY, Kind, Ring};

type Message = [u64; 8];

const KINDS: [Kind; 5] = [
    Kind::Spsc,
    Kind::Mpsc,
    Kind::Fanout,
    Kind::Pod,
    Kind::Reliable,
];
const PARENT: u32 = 1;
/// The number of messages that a forked child exchanges with a third process.
const EXCHANGED: u64 = 100;
/// The number of polls for an answer: about ten seconds.
const LOOKS: u32 = 10_000_000;

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    match role().as_deref() {
        Some("fork and wait") => fork_and_wait(&inherited_namespace()),
        Some("echo") => echo(&inherited_namespace()),
        Some("examine the machine") => fork_while_the_machine_is_examined(),
        _ => {}
    }
}

#[test]
fn a_childs_copies_refuse_and_change_nothing() {
    for kind in KINDS {
        let dir = shm_dir();
        let namespace = namespace(dir.path());
        let ring = Ring::<Message>::create(kind, &namespace, "topic");
        let mut sender = ring.sender().unwrap();
        let mut receiver = ring.receiver().unwrap();
        let mut account = Account::default();
        for number in 0..3 {
            assert!(sender.send(&Message::new(PARENT, number)));
        }
        let before = ring.visible_bytes();
        // WHY: the child drops its copies of all of these, as it would by returning from `main`.
        let mut ends = Some((sender, receiver));
        let mut copy = ends.take();
        let pid = fork(|| {
            die_with_parent();
            let (sender, receiver) = copy.as_mut().unwrap();
            let inert = !sender.send(&Message::new(PARENT, 99))
                && receiver.recv().is_none()
                && receiver.latest().is_none()
                && matches!(ring.sender(), Err(OpenError::Forked))
                && matches!(ring.receiver(), Err(OpenError::Forked));
            drop(copy.take());
            inert && ring.visible_bytes() == before
        });
        assert!(join_fork(pid), "{kind:?}: the child's copies work");
        assert_eq!(
            ring.visible_bytes(),
            before,
            "{kind:?}: the child changed the ring"
        );
        (sender, receiver) = copy.unwrap();
        for number in 3..40 {
            account.take(&receiver.recv().unwrap());
            assert!(sender.send(&Message::new(PARENT, number)), "{kind:?}");
        }
        while let Some(message) = receiver.recv() {
            account.take(&message);
        }
        account.expect_all(PARENT, 0, 40).unwrap();
        account.expect_sound(receiver.stats().unwrap()).unwrap();
    }
}

#[test]
fn a_childs_copies_say_that_they_are_forked() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = FanoutShm::<u64>::create(&namespace, "topic", &RingOptions::default()).unwrap();
    let mut producer = ring.producer().unwrap();
    let consumer = ring.consumer().unwrap();
    let topic = ring.segment().label();
    let epoch = fork_epoch();
    let pid = fork(|| {
        die_with_parent();
        fork_epoch() > epoch
            && producer.send(7) == Err(SendError::Forked { topic, message: 7 })
            && consumer.raw().is_forked()
            && ring.segment().is_forked()
    });
    assert!(join_fork(pid));
    assert!(!consumer.raw().is_forked() && fork_epoch() == epoch);
}

/// A child's writes stay in the child, also those without a call: through an inherited loan.
#[test]
fn a_childs_writes_through_a_loan_stay_in_the_child() {
    let dir = shm_dir();
    let options = RingOptions {
        pinnable: Some(true),
        ..RingOptions::capacity(4)
    };
    let ring = FanoutShm::<Message>::create(&namespace(dir.path()), "topic", &options).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    producer.send(Message::new(PARENT, 1)).unwrap();
    let sample = consumer.borrow().unwrap().unwrap();
    let mut loan = Some(producer.loan().unwrap());
    **loan.as_mut().unwrap() = Message::new(PARENT, 7);
    let mut held = Some(sample);
    let topic = ring.segment().label();
    let pid = fork(|| {
        die_with_parent();
        let mut loan = loan.take().unwrap();
        let kept = *loan == Message::new(PARENT, 7);
        *loan = [666; 8];
        let is_own = *loan == [666; 8];
        let refused = loan.publish() == Err(SendError::Forked { topic, message: () });
        let read = **held.as_ref().unwrap() == Message::new(PARENT, 1);
        drop(held.take());
        kept && is_own && refused && read
    });
    assert!(join_fork(pid));
    loan.unwrap().publish().unwrap();
    assert_eq!(consumer.recv(), Some(Message::new(PARENT, 7)));
    // The child's drop did not release the pin either.
    for number in 8..20 {
        producer.send(Message::new(PARENT, number)).unwrap();
    }
    assert_eq!(*held.unwrap(), Message::new(PARENT, 1));
}

/// A child's child has memory of its own too, and the child keeps what it wrote.
#[test]
fn each_generation_has_memory_of_its_own() {
    let dir = shm_dir();
    let options = RingOptions {
        pinnable: Some(true),
        ..RingOptions::capacity(4)
    };
    let ring = FanoutShm::<Message>::create(&namespace(dir.path()), "topic", &options).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut loan = producer.loan().unwrap();
    *loan = [1; 8];
    let pid = fork(|| {
        die_with_parent();
        *loan = [2; 8];
        let grandchild = fork(|| {
            let inherited = *loan == [2; 8];
            *loan = [3; 8];
            inherited
        });
        join_fork(grandchild) && *loan == [2; 8]
    });
    assert!(join_fork(pid));
    assert_eq!(*loan, [1; 8]);
}

/// The statistics of an inherited endpoint are not written to the shared file.
#[test]
fn a_child_that_reads_statistics_changes_nothing() {
    let dir = shm_dir();
    let ring = Ring::<Message>::create(Kind::Fanout, &namespace(dir.path()), "topic");
    let mut sender = ring.sender().unwrap();
    let mut receiver = ring.receiver().unwrap();
    for number in 0..3 * CAPACITY as u32 {
        sender.send(&Message::new(PARENT, number));
    }
    // Counts the lost messages, and does not store the count in the file yet.
    assert!(receiver.recv().is_some());
    let before = ring.visible_bytes();
    assert!(join_fork(fork(|| {
        die_with_parent();
        receiver.stats().is_some()
    })));
    assert!(ring.visible_bytes() == before, "the child changed the file");
}

/// The last handle of a file, dropped in the child, must not retire the file that the parent uses.
#[test]
fn a_child_that_drops_everything_removes_no_file_and_frees_no_gate() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = Ring::<Message>::create(Kind::Spsc, &namespace, "topic");
    let mut sender = ring.sender().unwrap();
    let receiver = ring.receiver().unwrap();
    let mut all = Some((ring, receiver));
    let pid = fork(|| {
        die_with_parent();
        drop(all.take());
        true
    });
    assert!(join_fork(pid));
    assert_eq!(topic_files(&namespace), ["topic"]);
    let sent = (0..2 * CAPACITY as u32).take_while(|n| sender.send(&Message::new(PARENT, *n)));
    assert_eq!(
        sent.count(),
        CAPACITY as usize,
        "the parent still holds the sender back"
    );
    drop((all, sender));
    assert_eq!(topic_files(&namespace), [""; 0]);
}

/// Sends, forks, and waits with its child, which inherits all of its endpoints.
fn fork_and_wait(namespace: &Arc<Namespace>) {
    let ring = SpscShm::<u64>::open(namespace, "topic", &RingOptions::default()).unwrap();
    let mut producer = ring.producer().unwrap();
    producer.send(1).unwrap();
    let pid = fork(|| {
        common::park();
        true
    });
    die_with_parent();
    say(pid);
    common::park();
}

#[test]
fn a_parent_that_is_killed_is_dead_though_its_child_lives() {
    // SAFETY: the call takes no pointer.
    let adopts = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    assert_eq!(adopts, 0);
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let options = RingOptions::default();
    let ring = SpscShm::<u64>::create(&namespace, "topic", &options).unwrap();
    let mut consumer = ring.consumer().unwrap();
    let mut parent = Child::spawn("fork and wait", dir.path());
    let child = parent.listen_u64() as i32;
    assert_eq!(consumer.recv(), Some(1));
    assert!(matches!(
        ring.producer(),
        Err(OpenError::TooManyPublishers { .. })
    ));
    parent.signal(libc::SIGKILL);
    eventually("the parent's lane is free", || ring.producer().is_ok());
    let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
    assert!(!state.contains(") Z"), "its child lives: {state}");
    // The end of its input ends the child.
    drop(parent);
    assert!(join_fork(child));
}

fn echo(namespace: &Arc<Namespace>) {
    die_with_parent();
    let options = RingOptions::default();
    let there = SpscShm::<u64>::open(namespace, "there", &options).unwrap();
    let back = SpscShm::<u64>::open(namespace, "back", &options).unwrap();
    let mut consumer = there.consumer().unwrap();
    let mut producer = back.producer().unwrap();
    say("ready");
    for _ in 0..EXCHANGED {
        let message = look(|| consumer.recv()).unwrap();
        producer.send(message + 1).unwrap();
    }
    common::park();
}

/// Polls until there is a value; works in a forked child, which has only this thread.
fn look<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    (0..LOOKS).find_map(|_| {
        std::thread::yield_now();
        look()
    })
}

/// Forks while another thread examines the machine for the first time in its process.
fn fork_while_the_machine_is_examined() {
    for _ in 0..50 {
        let pid = fork(|| {
            let has_begun = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    has_begun.store(true, Ordering::Relaxed);
                    machine();
                });
                while !has_begun.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                join_fork(fork(|| {
                    limit_time();
                    machine().pause_ns > 0.0
                }))
            })
        });
        if !join_fork(pid) {
            return say("the child hangs");
        }
    }
    say("no child hangs");
}

#[test]
fn a_child_forked_while_another_thread_examines_the_machine_can_do_so_itself() {
    let dir = shm_dir();
    let mut child = Child::spawn("examine the machine", dir.path());
    assert_eq!(child.listen(), "no child hangs");
    child.finish();
}

#[test]
fn a_child_that_opens_the_namespace_anew_is_a_process_of_its_own() {
    let dir = shm_dir();
    let inherited = namespace(dir.path());
    let options = RingOptions::default();
    let there = SpscShm::<u64>::create(&inherited, "there", &options).unwrap();
    let back = SpscShm::<u64>::create(&inherited, "back", &options).unwrap();
    let mut third = Child::spawn("echo", dir.path());
    assert_eq!(third.listen(), "ready");
    let pid = fork(|| {
        die_with_parent();
        let namespace = namespace(dir.path());
        assert_ne!(
            namespace.registry().own_owner_word(),
            inherited.registry().own_owner_word()
        );
        let there = SpscShm::<u64>::open(&namespace, "there", &options).unwrap();
        let back = SpscShm::<u64>::open(&namespace, "back", &options).unwrap();
        let mut producer = there.producer().unwrap();
        let mut consumer = back.consumer().unwrap();
        (0..EXCHANGED).all(|n| {
            producer.send(n).unwrap();
            look(|| consumer.recv()) == Some(n + 1)
        })
    });
    assert!(join_fork(pid), "no exchange");
    third.finish();
    // The child exited without dropping anything, and its places are free.
    assert!(there.producer().is_ok() && back.consumer().is_ok());
}
