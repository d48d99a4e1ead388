//! Limits of a process: descriptors, addresses, lengths of files.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::{Access, Namespace, OpenError, ReadMode, Request, Segment, TypeInfo};

use super::{PAGE_BYTES, create, play, request};
use crate::common::{fork, join_fork};
use crate::hostile::{consumer, expect_usable, producer, topic};

/// Sets a soft limit, and returns the previous one.
fn set_limit(resource: libc::__rlimit_resource_t, limit: u64) -> u64 {
    let mut raw = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `raw` is valid for the write.
    assert_eq!(unsafe { libc::getrlimit(resource, &mut raw) }, 0);
    let before = std::mem::replace(&mut raw.rlim_cur, limit);
    // SAFETY: `raw` is a limit that outlives the call.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw) }, 0);
    before
}

/// Runs `body` with room for `more` descriptors.
fn with_descriptors<T>(more: u64, body: impl FnOnce() -> T) -> T {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let open = open.map(|entry| {
        entry
            .unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .parse()
            .unwrap()
    });
    let last: i32 = open.max().unwrap();
    // WHY: all numbers below the last open descriptor must be in use.
    let mut fillers = vec![File::open("/dev/null").unwrap()];
    while fillers.last().unwrap().as_raw_fd() < last {
        fillers.push(File::open("/dev/null").unwrap());
    }
    let first_free = fillers.pop().unwrap().as_raw_fd() as u64;
    let before = set_limit(libc::RLIMIT_NOFILE, first_free + more);
    let answer = body();
    set_limit(libc::RLIMIT_NOFILE, before);
    answer
}

fn live_once(config: &horus_shm::NamespaceConfig) -> Result<(), Box<dyn std::error::Error>> {
    let namespace = Namespace::open(config)?;
    let segment = create(&namespace)?;
    let mut producer = producer(&segment)?;
    let mut consumer = consumer(&segment, ReadMode::KeepLast)?;
    producer.send(1).unwrap();
    assert_eq!(consumer.recv(), Some(1));
    Ok(())
}

/// Returns true if `error` carries the system error `errno`.
fn carries(error: &(dyn std::error::Error + 'static), errno: i32) -> bool {
    let mut error = Some(error);
    while let Some(found) = error {
        let answer = found
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error)
            .or_else(|| match found.downcast_ref::<OpenError>()? {
                OpenError::LaneNotMapped { cause, .. } => Some(cause.errno),
                _ => None,
            });
        if answer == Some(errno) {
            return true;
        }
        error = found.source();
    }
    false
}

pub(crate) fn run_out_of_descriptors(dir: &Path) {
    let mut refused = 0;
    for more in 0..32 {
        let config =
            horus_shm::NamespaceConfig::new(dir.join(format!("{more}")), Default::default());
        let open = crate::spawn::open_descriptors(dir);
        let outcome = with_descriptors(more, || live_once(&config));
        assert_eq!(crate::spawn::open_descriptors(dir), open, "room for {more}");
        let topics = config.dir().join("default/topics");
        let left = fs::read_dir(&topics).map_or(0, Iterator::count);
        assert_eq!(left, 0, "room for {more}: files were left");
        if let Err(error) = outcome {
            assert!(carries(&*error, libc::EMFILE), "room for {more}: {error:?}");
            let told = error.to_string();
            assert!(
                told.contains(&dir.display().to_string()),
                "room for {more}: {told}"
            );
            refused += 1;
        }
        live_once(&config).unwrap();
    }
    assert!((4..32).contains(&refused), "{refused} refusals");
}

#[test]
fn without_descriptors_each_step_of_an_opener_is_an_error_that_leaves_nothing() {
    play("descriptors");
}

pub(crate) fn go_on_without_descriptors(dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let segment = create(&namespace).unwrap();
    let mut first = producer(&segment).unwrap();
    let mut second = producer(&segment).unwrap();
    let mut late = consumer(&segment, ReadMode::KeepLast).unwrap();
    with_descriptors(0, || {
        assert!(File::open("/dev/null").is_err());
        // A new publisher makes a lane file; the files of the others are mapped already.
        let error = producer(&segment).unwrap_err();
        assert!(carries(&error, libc::EMFILE), "{error:?}");
        drop(consumer(&segment, ReadMode::KeepLast).unwrap());
        for message in 0..100 {
            first.send(message).unwrap();
            second.send(message).unwrap();
            assert_eq!([late.recv(), late.recv()], [Some(message); 2]);
        }
        assert_eq!(
            (segment.publisher_count(), segment.subscriber_count()),
            (2, 1)
        );
        assert!(matches!(
            horus_shm::sweep(&namespace),
            Err(OpenError::Io { .. })
        ));
        drop((first, second, late, segment));
    });
    assert_eq!(
        crate::spawn::topic_files(&namespace),
        Vec::<String>::new(),
        "nor does leaving"
    );
    drop(namespace);
    assert_eq!(crate::spawn::open_descriptors(dir), 0);
}

#[test]
fn endpoints_of_an_open_topic_go_on_and_leave_without_descriptors() {
    play("go on");
}

/// Returns the bytes of address space that this process uses.
fn address_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    pages * PAGE_BYTES
}

pub(crate) fn run_out_of_addresses(_dir: &Path) {
    let namespace = Namespace::current().unwrap();
    let mut request = Request::new(TypeInfo::opaque::<[u64; 512]>());
    (request.capacity, request.lane_limit) = (Some(4096), Some(2));
    let segment = Segment::create(&namespace, &topic(), &request).unwrap();
    let claim = || horus_shm::RawProducer::new(Arc::clone(&segment), Default::default());
    // A spare megabyte for the allocator, but not the 17 that a lane needs.
    let before = set_limit(libc::RLIMIT_AS, address_bytes() + (1 << 20));
    let refused = claim();
    set_limit(libc::RLIMIT_AS, before);
    match refused.unwrap_err() {
        OpenError::Io {
            operation: "mapping",
            source,
            ..
        } => {
            assert_eq!(source.kind(), io::ErrorKind::OutOfMemory);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(segment.publisher_count(), 0);
    let control = segment.control(Access::Read).unwrap();
    assert_eq!(
        control.changes.load(std::sync::atomic::Ordering::Relaxed),
        0
    );
    assert_eq!(claim().unwrap().lane(), 0);
}

#[test]
fn a_lane_for_which_there_are_no_addresses_stays_free() {
    play("addresses");
}

/// Limits the length of files; each write beyond the limit sends a signal that kills.
pub(crate) fn run_out_of_lengths(dir: &Path) {
    let mut refused = 0;
    for limit in [
        0,
        64,
        128,
        1000,
        4096,
        65_536,
        131_071,
        131_200,
        196_607,
        1 << 22,
    ] {
        let config =
            horus_shm::NamespaceConfig::new(dir.join(format!("{limit}")), Default::default());
        let open = crate::spawn::open_descriptors(dir);
        let before = set_limit(libc::RLIMIT_FSIZE, limit);
        let outcome = live_once(&config).map_err(|error| {
            let told = error.to_string();
            (
                carries(&*error, libc::EFBIG) && told.contains(dir.to_str().unwrap()),
                told,
            )
        });
        set_limit(libc::RLIMIT_FSIZE, before);
        if let Err((is_typed, told)) = outcome {
            assert!(is_typed, "files of up to {limit}: {told}");
            refused += 1;
        }
        assert_eq!(
            crate::spawn::open_descriptors(dir),
            open,
            "files of up to {limit}"
        );
        let left = fs::read_dir(config.dir().join("default/topics")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "files of up to {limit}: files were left");
        live_once(&config).unwrap();
    }
    assert_eq!(refused, 9, "all but the last limit are too low");
}

#[test]
fn without_long_files_each_step_of_an_opener_is_an_error_that_leaves_nothing() {
    play("lengths");
}

/// Files that another process made long enough are used under any limit, and no access kills.
pub(crate) fn live_on_without_lengths() {
    let namespace = Namespace::current().unwrap();
    let segment = create(&namespace).unwrap();
    // From now on lane 0 has a file.
    expect_usable(&segment, "without a limit");
    let visitor = fork(|| {
        let fresh = horus_shm::NamespaceConfig::new(
            namespace.config().dir().join("fresh"),
            Default::default(),
        );
        set_limit(libc::RLIMIT_FSIZE, 4096);
        // The signal would kill, as it does by default.
        let refused = Namespace::open(&fresh).is_err_and(|error| carries(&error, libc::EFBIG));
        let namespace = Namespace::current().unwrap();
        let segment = Segment::open(&namespace, &topic(), &request()).unwrap();
        expect_usable(&segment, "under a limit");
        set_limit(libc::RLIMIT_FSIZE, 0);
        expect_usable(&segment, "under a limit of nothing");
        // A publisher that needs another lane cannot make its file.
        let first = producer(&segment).unwrap();
        let error = producer(&segment).unwrap_err();
        assert!(carries(&error, libc::EFBIG), "{error:?}");
        drop((first, segment, namespace));
        // No entry of the registry can be written.
        let refused_again = Namespace::current().is_err_and(|error| carries(&error, libc::EFBIG));
        refused && refused_again
    });
    assert!(
        join_fork(visitor),
        "the limited process failed by a panic or a signal"
    );
    expect_usable(&segment, "after a limited process");
}

#[test]
fn a_process_without_long_files_is_refused_or_goes_on_and_gets_no_signal() {
    play("live on");
}
