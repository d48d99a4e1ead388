//! Descriptors: programs without standard streams, and programs that close descriptors of this
//! library.

use horus_testing as _;

mod common;
mod spawn;

use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use horus_shm::{
    FanoutShm, Namespace, OnStalled, Producer, RawProducer, RecvError, Request, RingOptions,
    Segment, SendError, TopicName, TypeInfo, sweep,
};

use common::Child;

const LINE: &[u8] = b"what a program prints\n";

fn ring(namespace: &Arc<Namespace>, topic: &str) -> FanoutShm<u64> {
    let options = RingOptions::default();
    FanoutShm::open(namespace, topic, &options)
        .or_else(|_| FanoutShm::create(namespace, topic, &options))
        .unwrap()
}

fn close(fd: RawFd) {
    // SAFETY: the call takes no pointer. A child of a test closes it on purpose, to see the effect.
    unsafe { libc::close(fd) };
}

fn is_open(fd: RawFd) -> bool {
    // SAFETY: the call takes no pointer.
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

/// Writes a line to `fd` without a buffer; returns true if that succeeded.
fn print(fd: RawFd) -> bool {
    // SAFETY: the line is valid for reads.
    unsafe { libc::write(fd, LINE.as_ptr().cast(), LINE.len()) >= 0 }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    match role.split_once(' ') {
        Some(("streamless", closed)) => streamless(closed.parse().unwrap()),
        _ if role == "hold" => hold(),
        _ if role == "close" => close_and_begin_anew(),
        _ if role == "reuse" => close_and_reuse(),
        _ if role == "reuse and fork" => close_and_reuse_and_fork(),
        _ if role == "reuse mapped files" => reuse_numbers_of_mapped_files(),
        _ => panic!("no part called '{role}'"),
    }
}

/// Expects a child that plays `role` to succeed.
#[track_caller]
fn expect_well(role: &str, dir: &Path) {
    let output = common::outcome(role, dir);
    let cried = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{role}: {cried}");
}

#[test]
fn a_program_without_standard_streams_does_not_print_into_its_topics() {
    for closed in 1..8 {
        expect_well(&format!("streamless {closed}"), spawn::shm_dir().path());
    }
}

/// Uses a topic while the standard streams are closed that have a bit in `closed`.
fn streamless(closed: u32) {
    let missing = |fd: &RawFd| closed & 1 << *fd != 0;
    (0..3).filter(missing).for_each(close);
    let namespace = spawn::inherited_namespace();
    let ring = ring(&namespace, "topic");
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    // Opening an existing file takes another path than creating one.
    Segment::inspect(&namespace, &TopicName::new("topic").unwrap()).unwrap();
    assert_eq!(sweep(&namespace).unwrap().in_use.len(), 1);
    for fd in (0..3).filter(missing) {
        assert!(!is_open(fd) && !print(fd), "stream {fd}");
    }
    producer.send(7).unwrap();
    assert_eq!(consumer.recv(), Some(7));
}

fn hold() {
    let namespace = spawn::inherited_namespace();
    let ring = ring(&namespace, "held");
    let ends = (ring.producer().unwrap(), ring.consumer().unwrap());
    common::say("here");
    common::park();
    drop(ends);
}

/// Closes all descriptors except the standard streams, as a program may do before `exec`.
fn close_all() {
    // SAFETY: the call takes no pointer.
    let status = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    assert_eq!(status, 0);
}

#[test]
fn a_program_that_closes_our_descriptors_gets_an_error_and_can_begin_anew() {
    let dir = spawn::shm_dir();
    let mut holder = Child::spawn("hold", dir.path());
    assert_eq!(holder.listen(), "here");
    expect_well("close", dir.path());
    holder.finish();
}

fn close_and_begin_anew() {
    let namespace = spawn::inherited_namespace();
    let ring = ring(&namespace, "held");
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    producer.send(1).unwrap();
    assert_eq!(consumer.recv(), Some(1));
    close_all();
    // For other processes this process is dead now. The next open finds that out.
    let anew = spawn::inherited_namespace();
    assert!(!Arc::ptr_eq(&anew, &namespace));
    let topic = ring.segment().label();
    assert_eq!(
        producer.send(2),
        Err(SendError::RegionLost { topic, message: 2 })
    );
    assert!(consumer.recv().is_none());
    assert_eq!(consumer.check(), Err(RecvError::RegionLost { topic }));
    let again = self::ring(&anew, "held");
    assert!(!Arc::ptr_eq(again.segment(), ring.segment()));
    let mut producer = again.producer().unwrap();
    let mut consumer = again.consumer().unwrap();
    producer.send(3).unwrap();
    assert_eq!(consumer.recv(), Some(3));
}

#[test]
fn a_descriptor_that_became_another_file_is_neither_used_nor_closed() {
    expect_well("reuse", spawn::shm_dir().path());
}

fn close_and_reuse() {
    let namespace = spawn::inherited_namespace();
    let ring = ring(&namespace, "topic");
    let ends = (ring.producer().unwrap(), ring.consumer().unwrap());
    close_all();
    let files: Vec<_> = (0..16).map(|_| tempfile::tempfile().unwrap()).collect();
    assert!(
        files.iter().any(|file| file.as_raw_fd() == 3),
        "numbers are used again"
    );
    // A lane that is not mapped yet would be mapped from another file.
    assert!(ring.producer().is_err(), "no other file is mapped");
    let removed = horus_shm::remove_topic(&namespace, &TopicName::new("topic").unwrap());
    assert!(removed.is_err(), "no other file is looked at: {removed:?}");
    drop((ends, ring, namespace));
    for file in &files {
        assert!(is_open(file.as_raw_fd()), "closed: {}", file.as_raw_fd());
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}

#[test]
fn a_fork_closes_no_descriptor_that_became_another_file() {
    expect_well("reuse and fork", spawn::shm_dir().path());
}

fn close_and_reuse_and_fork() {
    let namespace = spawn::inherited_namespace();
    let ring = ring(&namespace, "topic");
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    producer.send(7).unwrap();
    close_all();
    let files: Vec<_> = (0..16).map(|_| tempfile::tempfile().unwrap()).collect();
    assert!(
        files.iter().any(|file| file.as_raw_fd() == 3),
        "numbers are used again"
    );
    // SAFETY: the child only makes system calls, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let closed = files.iter().filter(|file| !is_open(file.as_raw_fd()));
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(closed.count() as i32) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0, "the child closed files of the program");
    assert_eq!(consumer.recv(), Some(7), "the parent goes on");
}

/// The regions that a program may write are mapped again in a forked child.
#[test]
fn a_fork_maps_no_file_that_got_the_number_of_another() {
    expect_well("reuse mapped files", spawn::shm_dir().path());
}

fn reuse_numbers_of_mapped_files() {
    const FOREIGN: u8 = 0xab;
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.pinnable = Some(true);
    let (namespace, name) = (
        spawn::inherited_namespace(),
        TopicName::new("topic").unwrap(),
    );
    let segment = Segment::open_or_create(&namespace, &name, &request).unwrap();
    let mut producer = Producer::new(RawProducer::new(segment, OnStalled::Full).unwrap());
    let mut loan = producer.loan().unwrap();
    *loan = 7;
    close_all();
    let files: Vec<_> = (0..16).map(|_| tempfile::tempfile().unwrap()).collect();
    let content = vec![FOREIGN; 1 << 20];
    for file in &files {
        file.write_all_at(&content, 0).unwrap();
    }
    // SAFETY: the child only reads its memory, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let is_foreign = *loan == u64::from_ne_bytes([FOREIGN; 8]);
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(is_foreign.into()) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0, "the child has mapped a file of the program");
    assert_eq!(*loan, 7, "the parent goes on");
}
