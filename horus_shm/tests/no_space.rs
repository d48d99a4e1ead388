//! A full memory file system, no free descriptors, no free addresses: a typed error, and nothing is
//! left behind. Running endpoints are not affected, and a retry succeeds when there is room.
//!
//! Each test runs in a child process that has a small file system of its own in a mount namespace.

mod common;
mod hostile;
#[path = "no_space/limits.rs"]
mod limits;
mod spawn;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::LaneBlock;
use horus_shm::{
    Access, FanoutShm, MpscShm, Namespace, NamespaceError, OpenError, ReadMode, RegistryError,
    Request, RingOptions, Segment, TypeInfo,
};

use horus_testing::skip;

use common::{Child, fork, join_fork};
use hostile::{consumer, expect_usable, producer, topic};
use limits::{
    go_on_without_descriptors, live_on_without_lengths, run_out_of_addresses,
    run_out_of_descriptors, run_out_of_lengths,
};

const PAGE_BYTES: u64 = 4096;
const FILE_SYSTEM_BYTES: u64 = 1 << 20;
/// The last line of a child that succeeded.
const WELL: &str = "well";
/// The first word of a child that may not mount a file system of its own.
const NO_MOUNT: &str = "no-mount";
/// The number of messages that pass while another process fills the file system again and again.
const MESSAGES: u64 = 5000;

/// Plays a role in a child process; a role that needs a forbidden mount is skipped.
#[track_caller]
fn play(role: &str) {
    let dir = spawn::shm_dir();
    let mut child = Child::spawn(role, dir.path());
    match child.listen().split_once(' ') {
        None => {}
        Some((NO_MOUNT, error)) => {
            skip(format_args!(
                "a file system of its own cannot be mounted: {error}"
            ));
            // A skipped role reports success otherwise.
            assert_eq!(child.listen(), WELL);
        }
        Some(other) => panic!("the role '{role}' printed {other:?}"),
    }
    child.finish();
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let dir = PathBuf::from(std::env::var_os("HORUS_SHM_DIR").unwrap());
    let on_small = |options: &'static str, body: fn(&Path)| on_own_mount(&dir, options, body);
    match role.as_str() {
        "create" => on_small("size=1m,mode=0700", fill_and_create),
        "claim" => on_small("size=1m,mode=0700", fill_and_claim),
        "claim again" => on_small("size=1m,mode=0700", claim_again_when_full),
        "stream" => on_small("size=1m,mode=0700", stream_while_full),
        "join" => on_small("size=1m,mode=0700", join_when_full),
        "inodes" => on_small("size=1m,nr_inodes=8,mode=0700", run_out_of_inodes),
        "generation" => on_small("size=1m,mode=0700", follow_a_lying_generation),
        "descriptors" => run_out_of_descriptors(&dir),
        "go on" => go_on_without_descriptors(&dir),
        "addresses" => run_out_of_addresses(&dir),
        "lengths" => run_out_of_lengths(&dir),
        "live on" => live_on_without_lengths(),
        other => panic!("no part called '{other}'"),
    }
    common::say(WELL);
    common::park();
}

/// Runs `body` in a process with a file system of its own at `dir`, or prints why that is not
/// possible.
fn on_own_mount(dir: &Path, options: &'static str, body: fn(&Path)) {
    let pid = fork(|| {
        if let Err(error) = mount_own(dir, options) {
            common::say(format_args!("{NO_MOUNT} {error}"));
            return spawn::is_refusal(&error);
        }
        body(dir);
        true
    });
    assert!(join_fork(pid), "the role failed by a panic or a signal");
}

fn mount_own(dir: &Path, options: &str) -> io::Result<()> {
    if spawn::unshare(libc::CLONE_NEWNS).is_err() {
        spawn::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    }
    spawn::make_private(dir)?;
    let none = c"none";
    let tmpfs = c"tmpfs";
    let dir = CString::new(dir.as_os_str().as_encoded_bytes())?;
    let options = CString::new(options)?;
    let target = dir.as_ptr();
    let data = options.as_ptr().cast();
    // SAFETY: all strings outlive the call.
    match unsafe { libc::mount(none.as_ptr(), target, tmpfs.as_ptr(), 0, data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn free_bytes(dir: &Path) -> u64 {
    let dir = File::open(dir).unwrap();
    // SAFETY: a struct of plain integers, for which zero is a value.
    let mut raw: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `raw` is valid for the write.
    assert_eq!(unsafe { libc::fstatvfs(dir.as_raw_fd(), &mut raw) }, 0);
    raw.f_bfree * raw.f_frsize
}

/// A file that takes the room of the file system.
struct Ballast(File, PathBuf);

impl Ballast {
    fn new(dir: &Path) -> Self {
        let path = dir.join("ballast");
        Self(File::create(&path).unwrap(), path)
    }

    /// Grows until at most `left` bytes are free, in whole pages.
    fn leave(&self, dir: &Path, left: u64) {
        self.0.set_len(0).unwrap();
        let mut at = 0;
        while free_bytes(dir) > left {
            match self.0.write_all_at(&[1], at * PAGE_BYTES) {
                Ok(()) => at += 1,
                Err(error) => return assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            }
        }
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.1);
    }
}

/// Returns the request of a topic that is small beside the file system: a lane of it has 16 pages,
/// and one for its header.
fn request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.capacity, request.lane_limit, request.reader_limit) = (Some(1024), Some(4), Some(2));
    request
}

fn create(namespace: &Arc<Namespace>) -> Result<Arc<Segment>, OpenError> {
    Segment::create(namespace, &topic(), &request())
}

#[track_caller]
fn expect_no_space(error: &OpenError, left: u64, what: &str) {
    match error {
        OpenError::NoSpace {
            path,
            needed_bytes,
            available_bytes,
            ..
        } => {
            assert!(
                path.ends_with("default/topics/arm+joint"),
                "{what}: {error}"
            );
            assert!(
                *available_bytes <= left,
                "{what}: {left} were left: {error}"
            );
            assert!(needed_bytes > available_bytes, "{what}: {error}");
            let told = error.to_string();
            for part in [path.display().to_string(), needed_bytes.to_string()] {
                assert!(told.contains(&part), "{what}: no '{part}' in: {told}");
            }
        }
        other => panic!("{what}: {other:?}"),
    }
}

/// Leaves more and more room, from nothing on, until `attempt` succeeds.
fn with_more_and_more_room(dir: &Path, namespace: &Namespace, attempt: impl Fn(u64, &str) -> bool) {
    let ballast = Ballast::new(dir);
    for pages in 0..=FILE_SYSTEM_BYTES / PAGE_BYTES {
        let what = format!("{pages} pages left");
        ballast.leave(dir, pages * PAGE_BYTES);
        let free = free_bytes(dir);
        let open = spawn::open_descriptors(dir);
        if attempt(free, &what) {
            assert!(pages > 0, "it was not full");
            return;
        }
        assert_eq!(
            free_bytes(dir),
            free,
            "{what}: room that was not given back"
        );
        assert_eq!(spawn::open_descriptors(dir), open, "{what}: descriptors");
        assert!(spawn::topic_files(namespace).len() <= 1, "{what}: files");
    }
    panic!("it does not work in an empty file system");
}

fn fill_and_create(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    with_more_and_more_room(dir, &namespace, |free, what| match create(&namespace) {
        Ok(segment) => {
            drop(segment);
            assert_eq!(free_bytes(dir), free, "{what}");
            true
        }
        Err(error) => {
            expect_no_space(&error, free, what);
            assert_eq!(
                spawn::topic_files(&namespace),
                Vec::<String>::new(),
                "{what}"
            );
            false
        }
    });
    expect_usable(&create(&namespace).unwrap(), "with room");
}

#[test]
fn a_topic_that_does_not_fit_is_an_error_that_says_how_much_is_missing() {
    play("create");
}

fn fill_and_claim(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let segment = create(&namespace).unwrap();
    let mut live = producer(&segment).unwrap();
    let mut reader = consumer(&segment, ReadMode::KeepLast).unwrap();
    with_more_and_more_room(dir, &namespace, |free, what| {
        let claim = producer(&segment);
        let owner = |lane| {
            let block = segment.lane_block(lane, Access::Read).unwrap();
            block.owner.load(std::sync::atomic::Ordering::Relaxed)
        };
        match claim {
            Ok(second) => {
                assert_eq!(
                    (second.raw().lane(), free_bytes(dir) + 17 * PAGE_BYTES),
                    (1, free)
                );
                return true;
            }
            Err(error) => expect_no_space(&error, free, what),
        }
        assert_eq!(
            [owner(1), owner(2), owner(3)],
            [0; 3],
            "{what}: an owner stayed"
        );
        assert_eq!(segment.publisher_count(), 1, "{what}");
        assert_eq!(spawn::lane_files(&namespace).len(), 1, "{what}");
        false
    });
    for message in 0..100 {
        live.send(message).unwrap();
        assert_eq!(reader.recv(), Some(message));
    }
}

#[test]
fn a_lane_that_does_not_fit_is_an_error_and_stays_free() {
    play("claim");
}

fn claim_again_when_full(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let segment = create(&namespace).unwrap();
    let mut longer = request();
    longer.capacity = Some(2048);
    let longer = Segment::open(&namespace, &topic(), &longer).unwrap();
    let expect_refused = |what| {
        let ballast = Ballast::new(dir);
        ballast.leave(dir, 0);
        expect_no_space(&producer(&longer).unwrap_err(), 0, what);
        assert!(segment.live_publishers().is_empty(), "{what}");
    };
    // One that is killed, and whose lane cannot be taken over because its file is missing.
    let pid = fork(|| {
        let namespace = Namespace::current().unwrap();
        let segment = Segment::open(&namespace, &topic(), &request()).unwrap();
        let _producer = producer(&segment).unwrap();
        common::park();
        true
    });
    common::eventually("a publisher", || !segment.live_publishers().is_empty());
    let killed = segment.live_publishers()[0];
    // SAFETY: the call takes no pointer.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    join_fork(pid);
    let [file] = &spawn::lane_files(&namespace)[..] else {
        panic!("one lane file")
    };
    fs::remove_file(namespace.topics_path().join(file)).unwrap();
    expect_refused("after a death");
    assert!(segment.has_publisher_died(killed), "it was killed");
    // One of this process that leaves, and whose lane is taken over before the error.
    let first = producer(&segment).unwrap();
    let left = segment.live_publishers()[0];
    drop(first);
    expect_refused("after one that left");
    assert!(!segment.has_publisher_died(left), "it left");
    let again = producer(&longer).unwrap();
    assert_eq!(again.raw().lane(), 0);
    // One that leaves before its process takes the same place again.
    let left = segment.live_publishers()[0];
    drop(again);
    let _again = producer(&longer).unwrap();
    assert_eq!(segment.live_publishers()[0], left, "the same place");
    assert!(!segment.has_publisher_died(left), "its process lives");
}

#[test]
fn a_publisher_that_left_or_died_did_so_even_if_the_next_one_finds_no_room() {
    play("claim again");
}

/// Fills the file system and frees it again until `dir` has a file called `stop`.
fn fill_again_and_again(dir: &Path) -> bool {
    let ballast = Ballast::new(dir);
    while !dir.join("stop").exists() {
        ballast.leave(dir, 0);
        ballast.0.set_len(0).unwrap();
    }
    true
}

fn stream_while_full(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let options = RingOptions::capacity(64);
    let fanout = FanoutShm::<[u64; 4]>::create(&namespace, "fanout", &options).unwrap();
    let mpsc = MpscShm::<u64>::create(&namespace, "mpsc", &options).unwrap();
    let mut one = fanout.producer().unwrap();
    let mut other = mpsc.producer().unwrap();
    let mut reader = fanout.consumer().unwrap();
    let mut gated = mpsc.consumer().unwrap();
    let filler = fork(|| fill_again_and_again(dir));
    let mut refused = 0;
    let mut granted = 0;
    let mut message = 0;
    while message < MESSAGES || refused < 10 || granted < 10 {
        message += 1;
        assert!(
            message < 1000 * MESSAGES,
            "{refused} refused, {granted} granted"
        );
        one.send([message; 4]).unwrap();
        other.send(message).unwrap();
        assert_eq!(reader.recv(), Some([message; 4]));
        assert_eq!(gated.recv(), Some(message));
        if message % 64 == 0 {
            match create(&namespace).and_then(|segment| producer(&segment).map(drop)) {
                Ok(()) => granted += 1,
                Err(OpenError::NoSpace { .. }) => refused += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    // A name takes an inode, but no page: it can be made in a full file system.
    File::create(dir.join("stop")).unwrap();
    assert!(join_fork(filler));
    assert_eq!((reader.stats().lost, gated.stats().lost), (0, 0));
    fs::remove_file(dir.join("stop")).unwrap();
    expect_usable(&create(&namespace).unwrap(), "when there is room again");
}

#[test]
fn live_topics_lose_nothing_while_another_process_fills_the_file_system() {
    play("stream");
}

/// Returns true if a forked child has ended, without reaping it.
fn has_ended(pid: i32) -> bool {
    // SAFETY: a struct of plain integers, for which zero is a value.
    let mut raw: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `raw` is valid for the write.
    let status = unsafe { libc::waitid(libc::P_PID, pid as u32, &mut raw, flags) };
    assert_eq!(status, 0);
    raw.si_signo != 0
}

fn join_when_full(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let segment = create(&namespace).unwrap();
    let mut live = producer(&segment).unwrap();
    let ballast = Ballast::new(dir);
    ballast.leave(dir, 0);
    assert_eq!(free_bytes(dir), 0);
    // The creator reserved all memory that a reader needs, and so did that of the registry.
    let others = fork(|| {
        let namespace = Namespace::current().unwrap();
        let segment = Segment::open(&namespace, &topic(), &request()).unwrap();
        let mut reader = consumer(&segment, ReadMode::KeepLast).unwrap();
        common::eventually("a message", || reader.recv() == Some(7));
        horus_shm::sweep(&namespace).unwrap();
        true
    });
    common::eventually("the message arrives", || {
        live.send(7).unwrap();
        has_ended(others)
    });
    assert!(join_fork(others), "a reader could not join");
    drop(ballast);
    let fresh = dir.join("fresh");
    let ballast = Ballast::new(dir);
    ballast.leave(dir, 0);
    let config = horus_shm::NamespaceConfig::new(&fresh, Default::default());
    for _ in 0..2 {
        match Namespace::open(&config).unwrap_err() {
            NamespaceError::Registry(RegistryError::Io { source, .. })
            | NamespaceError::Io { source, .. } => {
                assert_eq!(source.kind(), io::ErrorKind::StorageFull);
            }
            other => panic!("{other:?}"),
        }
    }
    drop(ballast);
    let segment = create(&Namespace::open(&config).unwrap()).unwrap();
    expect_usable(&segment, "when there is room again");
}

#[test]
fn readers_join_in_a_full_file_system_and_a_new_namespace_is_an_error() {
    play("join");
}

fn run_out_of_inodes(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let mut held = Vec::new();
    let error = loop {
        let name = horus_shm::TopicName::new(&format!("topic{}", held.len())).unwrap();
        match Segment::create(&namespace, &name, &request()) {
            Ok(segment) => held.push(segment),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(
            error,
            OpenError::NoSpace {
                available_files: Some(0),
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("no inode left"), "{error}");
    assert!(
        error.to_string().contains(&format!("topic{}", held.len())),
        "{error}"
    );
    assert_eq!(spawn::topic_files(&namespace).len(), held.len());
    let error = producer(&held[0]).unwrap_err();
    assert!(error.to_string().contains("no inode left"), "{error}");
    assert_eq!(held[0].publisher_count(), 0);
    assert_eq!(spawn::lane_files(&namespace), [""; 0]);
    held.pop();
    let free = free_bytes(dir);
    drop(create(&namespace).unwrap());
    assert_eq!(free_bytes(dir), free);
}

#[test]
fn a_file_system_without_inodes_is_an_error() {
    play("inodes");
}

/// The lanes other than that of the publisher have no file.
fn follow_a_lying_generation(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let segment = create(&namespace).unwrap();
    let mut live = producer(&segment).unwrap();
    let mut reader = consumer(&segment, ReadMode::KeepLast).unwrap();
    let ballast = Ballast::new(dir);
    ballast.leave(dir, 0);
    let file = OpenOptions::new().write(true).open(segment.path()).unwrap();
    let shape = segment.shape();
    let changes = shape.lane_area().start;
    for lane in 1..4 {
        let block = changes + shape.lane_block_offset(lane) as u64;
        let generation = block + offset_of!(LaneBlock<AtomicU64>, generation) as u64;
        file.write_all_at(&1_u64.to_le_bytes(), generation).unwrap();
    }
    file.write_all_at(&u64::MAX.to_le_bytes(), changes).unwrap();
    for message in 0..100 {
        live.send(message).unwrap();
        let mut received = (0..4).filter_map(|_| reader.recv());
        assert!(received.any(|got| got == message));
    }
    drop(ballast);
}

#[test]
fn a_generation_of_a_lane_without_a_file_does_not_kill_a_reader_in_a_full_file_system() {
    play("generation");
}

#[test]
fn all_of_this_holds_for_a_user_who_is_not_root() {
    spawn::test_again_as_stranger("all_of_this_holds");
}
