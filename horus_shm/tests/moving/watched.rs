//! Watches on a reader that moves, and what a reader reports while it reads two files.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use horus_shm::internals::check_names_now;
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    ConsumerHealthWatch, OnStalled, RawConsumer, RawProducer, ReadMode, RecvError, Reliability,
    Request, TypeInfo, Watch,
};

use super::{RETRY_PERIOD, Scene, receive, send};
use crate::common::{Child, eventually};

/// Receives after the reader has tried again to map the lanes that it could not map.
fn receive_later(reader: &mut RawConsumer) -> Vec<u64> {
    thread::sleep(RETRY_PERIOD * 2);
    receive(reader)
}

#[test]
fn a_move_that_fails_closes_no_watch() {
    let scene = Scene::new(0);
    let mut request = scene.request();
    request.reader_limit = Some(1);
    let mut reader = RawConsumer::new(scene.open_with(&request), ReadMode::KeepLast).unwrap();
    let watch = reader.watch();
    scene.remove();
    let newcomer = RawConsumer::new(scene.open_with(&request), ReadMode::KeepLast).unwrap();
    assert_eq!(receive(&mut reader), []);
    assert!(matches!(reader.check(), Err(RecvError::NameLost { .. })));
    assert!(!watch.is_closed(), "the reader lives");
    drop(newcomer);
    assert_eq!(receive_later(&mut reader), []);
    assert_eq!(reader.check(), Ok(()));
    assert!(!watch.is_closed());
    drop(reader);
    assert!(watch.is_closed());
}

/// Returns how often the kernel has put this thread to sleep.
fn sleeps() -> i64 {
    // SAFETY: zeros are a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable for the call.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    assert_eq!(status, 0);
    usage.ru_nvcsw
}

/// Returns the fewest sleeps of a call that tries to move, and fails.
fn sleeps_of_attempt_to_move(reader: &mut RawConsumer) -> i64 {
    let attempt = |_| {
        thread::sleep(RETRY_PERIOD * 11 / 10);
        let before = sleeps();
        assert_eq!(reader.recv_bytes(&mut [0; 8]), None);
        sleeps() - before
    };
    // WHY the fewest: a lock of the kernel may be taken at that moment.
    (0..5).map(attempt).min().unwrap()
}

#[test]
fn an_attempt_to_move_does_not_wait_for_a_place() {
    let scene = Scene::new(0);
    let mut request = scene.request();
    request.reader_limit = Some(1);
    let mut reader = RawConsumer::new(scene.open_with(&request), ReadMode::KeepLast).unwrap();
    scene.remove();
    let _newcomer = RawConsumer::new(scene.open_with(&request), ReadMode::KeepLast).unwrap();
    assert_eq!(sleeps_of_attempt_to_move(&mut reader), 0);
}

/// A lease on the file has the same effect as a process that is about to remove the file, and is
/// stopped. It is an error only if it takes long.
#[test]
fn an_attempt_to_move_does_not_wait_until_a_file_is_removed() {
    // SAFETY: the call only makes this process ignore the signal for a lease.
    unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
    let scene = Scene::alone(0);
    let mut reader = scene.reader();
    fs::remove_file(scene.path()).unwrap();
    let file = fs::File::create_new(scene.path()).unwrap();
    // SAFETY: the descriptor is open.
    let leased = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) };
    assert_eq!(leased, 0, "{}", std::io::Error::last_os_error());
    check_names_now();
    assert_eq!(reader.recv_bytes(&mut [0; 8]), None);
    assert_eq!(reader.check(), Ok(()));
    assert_eq!(sleeps_of_attempt_to_move(&mut reader), 0);
    assert!(matches!(reader.check(), Err(RecvError::NameLost { .. })));
    drop(file);
    fs::remove_file(scene.path()).unwrap();
    assert_eq!(receive_later(&mut reader), []);
    assert_eq!(reader.check(), Ok(()));
    assert!(reader.segment().is_same_file(&scene.open()));
}

#[test]
fn a_watch_that_is_made_after_a_move_shows_messages_in_the_former_file() {
    let scene = Scene::alone(0);
    let mut reader = scene.reader();
    let mut publisher = Child::spawn("publish unaware", scene.dir.path());
    assert_eq!(publisher.listen(), "here");
    assert_eq!(publisher.ask("8"), "sent");
    assert_eq!(receive(&mut reader), [0]);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    let mut watch = reader.watch();
    assert!(!watch.has_message());
    assert_eq!(publisher.ask("8"), "sent");
    assert!(watch.has_message());
    let policy = WaitPolicy::with_timeout(Duration::from_millis(200));
    let due = || watch.is_due().then_some(());
    assert!(Watch::wait_any(&[watch.clone()], policy, due).is_some());
    assert_eq!(receive(&mut reader), [1]);
    assert!(!watch.has_message());
    // It shows those of the present file, too, also after the former one was left.
    let mut producer = scene.producer();
    send(&mut producer, 7..8);
    assert!(watch.has_message());
    assert_eq!(receive(&mut reader), [7]);
    drop(publisher);
    eventually("the reader leaves the former file", || {
        assert_eq!(receive(&mut reader), []);
        watch.follow_consumer();
        watch.segment().is_same_file(reader.segment())
    });
    send(&mut producer, 8..9);
    assert!(watch.has_message());
}

impl Scene {
    fn lane_files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.namespace.topics_path()).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths.filter(|path| is_of_lane(path)).collect()
    }

    /// Renames the lane files away, and returns them with their new paths.
    fn hide_lanes(&self) -> Vec<(PathBuf, PathBuf)> {
        let hide = |path: PathBuf| {
            let to = self.dir.path().join(path.file_name().unwrap());
            fs::rename(&path, &to).unwrap();
            (path, to)
        };
        self.lane_files().into_iter().map(hide).collect()
    }
}

fn is_of_lane(path: &std::path::Path) -> bool {
    path.file_name().unwrap().to_string_lossy().starts_with('.')
}

fn expect_same_report(reader: &RawConsumer, lanes: &ConsumerHealthWatch, fails: bool) {
    let checked = reader.check();
    assert_eq!(checked.is_err(), fails, "{checked:?}");
    assert_eq!(lanes.unmapped_lane().is_some(), fails);
}

#[test]
fn a_health_watch_forgets_a_lane_of_a_file_that_was_left() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let lanes = reader.watch().health_watch();
    let mut producer = scene.producer();
    for path in scene.lane_files() {
        fs::remove_file(path).unwrap();
    }
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reader), []);
    expect_same_report(&reader, &lanes, true);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    expect_same_report(&reader, &lanes, true);
    send(&mut producer, 1..2);
    eventually("the reader leaves the former file", || {
        receive(&mut reader);
        reader.check().is_ok()
    });
    expect_same_report(&reader, &lanes, false);
}

#[test]
fn a_health_watch_reports_the_present_file_when_a_former_one_recovers() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let lanes = reader.watch().health_watch();
    let mut old = scene.producer();
    let hidden = scene.hide_lanes();
    send(&mut old, 0..1);
    assert_eq!(receive(&mut reader), []);
    expect_same_report(&reader, &lanes, true);
    scene.remove();
    let mut new = scene.producer();
    let hidden_later = scene.hide_lanes();
    send(&mut new, 7..8);
    assert_eq!(receive(&mut reader), []);
    expect_same_report(&reader, &lanes, true);
    for (path, hidden) in hidden {
        fs::rename(hidden, path).unwrap();
    }
    assert_eq!(receive_later(&mut reader), [0]);
    expect_same_report(&reader, &lanes, true);
    for (path, hidden) in hidden_later {
        fs::rename(hidden, path).unwrap();
    }
    assert_eq!(receive_later(&mut reader), [7]);
    expect_same_report(&reader, &lanes, false);
}

impl Scene {
    /// Returns the request of endpoints of another type.
    fn other_request(&self) -> Request {
        let mut request = self.request();
        request.type_info = TypeInfo::opaque::<u32>();
        request.type_info.sized = true;
        request
    }
}

/// Until the publisher that matches moves, it is alive in the former file.
#[test]
fn a_publisher_that_has_not_moved_counts_as_one_that_matches() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let lanes = reader.watch().health_watch();
    let mut matched = scene.producer();
    send(&mut matched, 0..1);
    assert_eq!(receive(&mut reader), [0]);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    let other = scene.open_with(&scene.other_request());
    let _other = RawProducer::new(other, OnStalled::Full).unwrap();
    assert_eq!(receive(&mut reader), []);
    assert_eq!(reader.topic_files().publisher_count(), 2);
    assert_eq!(
        (reader.check(), lanes.reason_for_no_match()),
        (Ok(()), None)
    );
    drop(matched);
    eventually("no publisher matches", || {
        assert_eq!(receive(&mut reader), []);
        lanes.reason_for_no_match().is_some()
    });
    let checked = reader.check();
    assert!(
        matches!(checked, Err(RecvError::Incompatible { .. })),
        "{checked:?}"
    );
}

#[test]
fn a_detach_is_counted_after_a_move_too() {
    let scene = Scene::new(0);
    let mut request = scene.request();
    request.capacity = Some(4);
    request.reliability = Some(Reliability::Reliable);
    let segment = scene.open_with(&request);
    let mut reader = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    let after = Duration::from_millis(5);
    let mut producer = RawProducer::new(segment, OnStalled::Detach { after }).unwrap();
    for number in 0..5_u64 {
        let policy = WaitPolicy::with_timeout(Duration::from_secs(5));
        let sent = producer.send_bytes_until(policy, &number.to_le_bytes());
        assert!(sent.is_ok(), "{sent:?}");
    }
    assert_eq!(reader.detach_count(), 1);
    receive(&mut reader);
    let former = Arc::downgrade(reader.segment());
    drop(producer);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    assert_eq!(reader.detach_count(), 1);
    eventually("the reader leaves the former file", || {
        assert_eq!(receive(&mut reader), []);
        former.strong_count() == 0
    });
    assert_eq!(reader.detach_count(), 1);
}

#[test]
fn a_reader_goes_on_if_a_former_file_loses_its_memory() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let watch = reader.watch();
    let lanes = watch.health_watch();
    // As long as it owns a lane, the reader reads its file.
    let _idle = scene.producer();
    assert_eq!(receive(&mut reader), []);
    let former = fs::File::options().write(true).open(scene.path()).unwrap();
    scene.remove();
    let mut producer = scene.producer();
    send(&mut producer, 0..1);
    assert_eq!(receive(&mut reader), [0]);
    former.set_len(0).unwrap();
    send(&mut producer, 1..2);
    assert_eq!(receive(&mut reader), [1]);
    assert!(!watch.is_memory_lost());
    assert!(!lanes.is_memory_lost());
    let present = fs::File::options().write(true).open(scene.path()).unwrap();
    present.set_len(0).unwrap();
    assert_eq!(receive(&mut reader), []);
    assert!(watch.is_memory_lost());
    assert!(lanes.is_memory_lost());
}

/// After any change, all lanes are polled until the reader is called again.
#[test]
fn a_publisher_that_does_not_match_changes_no_publication_count() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let mut matching = scene.producer();
    let mut other = scene.request();
    other.type_info = TypeInfo::opaque::<u32>();
    other.type_info.sized = true;
    let mut stranger = RawProducer::new(scene.open_with(&other), OnStalled::Full).unwrap();
    (0..5).for_each(|_| stranger.send_bytes(&[0; 4]).unwrap());
    send(&mut matching, 0..1);
    assert_eq!(receive(&mut reader), [0]);
    let watch = reader.watch();
    let before = watch.publication_count();
    for bytes in [10_000, 100_000] {
        stranger.send_bytes(&[0; 4]).unwrap();
        stranger.reserve(bytes).unwrap();
        assert_eq!(watch.publication_count(), before, "it has grown");
        receive(&mut reader);
        assert_eq!(watch.publication_count(), before, "the reader knows");
    }
    // A publisher that claims the lane later may match: its messages count at once.
    drop(stranger);
    let mut successor = scene.producer();
    assert_eq!(successor.lane(), 1);
    send(&mut successor, 1..2);
    assert_ne!(watch.publication_count(), before);
    assert_eq!(receive(&mut reader), [1]);
    let known = watch.publication_count();
    send(&mut matching, 2..3);
    assert_eq!(watch.publication_count(), known + 1);
}

/// A directory that is removed with its files loses the topic's file first.
#[test]
fn a_namespace_that_is_removed_after_its_topic_is_reported() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let watch = reader.watch();
    scene.remove();
    fs::remove_dir_all(scene.namespace.path()).unwrap();
    assert_eq!(receive(&mut reader), []);
    check_names_now();
    assert!(watch.health_watch().is_namespace_removed());
    let found = reader.check();
    assert!(
        matches!(found, Err(RecvError::NamespaceRemoved { .. })),
        "{found:?}"
    );
}
