//! The sweep: files that dead processes left are removed, files in use never, and foreign files are
//! reported.

use horus_testing as _;

mod common;
mod hostile;
mod spawn;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use horus_shm::{
    FanoutShm, Namespace, OnStalled, OpenError, RawProducer, RingOptions, Segment, TopicName,
    remove_topic, remove_topic_if_unused, sweep,
};

use common::{Child, prevent_child_starts};
use hostile::{Image, expect_linked, expect_usable, request};

fn name(name: &str) -> TopicName {
    TopicName::new(name).unwrap()
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let namespace = spawn::inherited_namespace();
    let (role, argument) = role.split_once(' ').unwrap_or((&role, ""));
    match role {
        // Opens or creates the topics of its command, and holds them.
        "attend" => {
            let open = |topic: &str| open_or_create(&namespace, topic).unwrap();
            let topics: Vec<_> = argument.split(',').map(open).collect();
            common::say("here");
            common::park();
            drop(topics);
        }
        "sweep" => {
            let rounds: u64 = argument.parse().unwrap();
            common::say("here");
            for _ in 0..rounds {
                let report = sweep(&namespace).unwrap();
                assert_eq!(report.foreign, Vec::<String>::new());
            }
            common::say("swept");
        }
        // Begins to remove a topic that persists, and is stopped in the middle of it.
        "stop" => {
            let path = namespace.topics_path().join(argument);
            let ino = std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
            assert!(
                namespace
                    .registry()
                    .exclude_others_from_topic_file(ino)
                    .unwrap()
            );
            common::say("here");
            // SAFETY: the call takes no pointer.
            unsafe { libc::raise(libc::SIGSTOP) };
            namespace.registry().release_topic_file(ino);
            common::say("gone on");
            common::park();
        }
        // Opens a file without the library, and holds it.
        "open" => {
            let file = File::open(namespace.topics_path().join(argument)).unwrap();
            common::say("here");
            common::park();
            drop(file);
        }
        "visit" => {
            common::say("here");
            come_and_go(&namespace, argument.parse().unwrap());
            common::say("gone");
        }
        other => panic!("no part called '{other}'"),
    }
}

fn open_or_create(namespace: &Arc<Namespace>, topic: &str) -> Result<Arc<Segment>, OpenError> {
    let mut request = request();
    let persists = topic.starts_with("kept");
    (request.persists, request.history) = (Some(persists), Some(1));
    let segment = Segment::open_or_create(namespace, &name(topic), &request)?;
    if persists {
        // A topic persists for its history.
        let mut producer = RawProducer::new(Arc::clone(&segment), OnStalled::Full)?;
        producer.send_bytes(&[1; 8]).unwrap();
    }
    Ok(segment)
}

/// Opens a topic again and again; the one that it holds must be the one under the name.
fn come_and_go(namespace: &Arc<Namespace>, rounds: u64) {
    for round in 0..rounds {
        let segment = open_or_create(namespace, "contested").unwrap();
        expect_linked(&segment, &format!("round {round}"));
        if round % 8 == 0 {
            std::thread::yield_now();
            expect_linked(&segment, &format!("later in round {round}"));
        }
    }
}

fn sorted(mut names: Vec<TopicName>) -> Vec<String> {
    names.sort();
    names.iter().map(TopicName::to_string).collect()
}

/// Has a child make `topics`, and kills it.
fn leave_behind(dir: &Path, topics: &str) {
    let mut child = Child::spawn(&format!("attend {topics}"), dir);
    assert_eq!(child.listen(), "here");
    child.kill();
}

#[test]
fn files_of_dead_processes_are_removed_and_persistent_topics_are_kept() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    leave_behind(dir.path(), "a,a/b,a.b,kept/1,kept/2");
    let report = sweep(&namespace).unwrap();
    assert_eq!(sorted(report.removed), ["a", "a.b", "a/b"]);
    assert_eq!(sorted(report.kept), ["kept/1", "kept/2"]);
    assert!(report.in_use.is_empty() && report.foreign.is_empty());
    let mut left = spawn::topic_files(&namespace);
    left.sort();
    assert_eq!(left, ["kept+1", "kept+2"]);
    let again = sweep(&namespace).unwrap();
    assert!(
        again.removed.is_empty() && again.kept.len() == 2,
        "{again:?}"
    );
    // A topic that was kept is as usable as before.
    expect_usable(&open_or_create(&namespace, "kept/1").unwrap(), "kept");
}

#[test]
fn joining_a_namespace_sweeps_it() {
    let dir = spawn::shm_dir();
    leave_behind(dir.path(), "a,b,kept");
    let namespace = spawn::namespace(dir.path());
    assert_eq!(spawn::topic_files(&namespace), ["kept"]);
}

#[test]
fn an_attended_topic_is_never_removed() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mine = open_or_create(&namespace, "mine").unwrap();
    let mut child = Child::spawn("attend theirs,kept,both", dir.path());
    assert_eq!(child.listen(), "here");
    let both = open_or_create(&namespace, "both").unwrap();
    leave_behind(dir.path(), "both,dead");
    for _ in 0..100 {
        let report = sweep(&namespace).unwrap();
        let in_use = ["both", "kept", "mine", "theirs"];
        assert_eq!(sorted(report.in_use), in_use);
        assert!(report.kept.is_empty());
    }
    child.kill();
    let report = sweep(&namespace).unwrap();
    assert_eq!(sorted(report.removed), ["theirs"]);
    assert_eq!(sorted(report.in_use), ["both", "mine"]);
    assert_eq!(sorted(report.kept), ["kept"]);
    for segment in [mine, both] {
        expect_linked(&segment, "after the sweeps");
        expect_usable(&segment, "after the sweeps");
    }
    assert_eq!(spawn::topic_files(&namespace), ["kept"]);
}

#[test]
fn a_persistent_topic_is_removed_by_name_unless_it_is_in_use() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let remove = |topic: &str| remove_topic(&namespace, &name(topic)).unwrap();
    let mine = open_or_create(&namespace, "kept/mine").unwrap();
    let mut child = Child::spawn("attend kept/theirs,kept/dead", dir.path());
    assert_eq!(child.listen(), "here");
    assert!(!remove("kept/mine") && !remove("kept/theirs"));
    expect_linked(&mine, "in use");
    child.kill();
    assert!(remove("kept/theirs") && remove("kept/theirs") && !remove("kept/mine"));
    assert_eq!(sorted(sweep(&namespace).unwrap().kept), ["kept/dead"]);
    drop(mine);
    assert!(remove("kept/mine"));
    assert_eq!(spawn::topic_files(&namespace), ["kept+dead"]);
}

/// Whoever has read the topic and found nothing in it would otherwise remove what came later.
#[test]
fn a_topic_that_was_used_meanwhile_is_kept() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let remove = |uses| remove_topic_if_unused(&namespace, &name("kept"), uses).unwrap();
    // Each of these claims a lane, and sends a message.
    for _ in 0..2 {
        drop(open_or_create(&namespace, "kept").unwrap());
    }
    assert!(!remove(2) && !remove(3) && !remove(5));
    assert_eq!(spawn::topic_files(&namespace), ["kept"]);
    let user = open_or_create(&namespace, "kept").unwrap();
    assert!(!remove(6), "in use");
    drop(user);
    assert!(remove(6));
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
}

#[test]
fn the_last_of_many_to_leave_takes_the_topic_along() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let children: Vec<_> = (0..3)
        .map(|_| {
            let mut child = Child::spawn("attend shared", dir.path());
            assert_eq!(child.listen(), "here");
            child
        })
        .collect();
    for child in children {
        assert_eq!(sorted(sweep(&namespace).unwrap().in_use), ["shared"]);
        child.finish();
    }
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
}

#[test]
fn foreign_files_are_named_and_left_alone() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let topics = namespace.topics_path();
    let long = "x".repeat(201);
    let names = [
        "readme.txt",
        "empty",
        "a b",
        ".hidden",
        "a..b",
        "ü",
        &long,
        "dir",
        "link",
        "fifo",
    ];
    for name in &names[..7] {
        fs::write(topics.join(name), "not a topic").unwrap();
    }
    fs::write(topics.join("empty"), "").unwrap();
    fs::create_dir(topics.join("dir")).unwrap();
    symlink("readme.txt", topics.join("link")).unwrap();
    let fifo = std::ffi::CString::new(topics.join("fifo").to_str().unwrap()).unwrap();
    // SAFETY: the path is a C string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    let damaged = damaged_file(&namespace);
    leave_behind(dir.path(), "dead");
    let report = sweep(&namespace).unwrap();
    assert_eq!(sorted(report.removed), ["dead"]);
    let mut foreign = report.foreign;
    foreign.sort();
    let mut wanted: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    wanted.extend([damaged.clone(), "hard".into()]);
    wanted.sort();
    assert_eq!(foreign, wanted);
    let mut left = spawn::topic_files(&namespace);
    left.sort();
    assert_eq!(left, wanted);
}

/// Plants an invalid file with a valid magic, under two names, and returns its name.
fn damaged_file(namespace: &Namespace) -> String {
    let mut image = Image::valid(namespace, &request());
    image.set("capacity", 3);
    let path = namespace.topics_path().join("damaged");
    fs::write(&path, &image.bytes).unwrap();
    fs::hard_link(&path, path.with_file_name("hard")).unwrap();
    "damaged".into()
}

#[test]
fn a_file_name_that_is_no_text_is_named_as_far_as_possible() {
    use std::os::unix::ffi::OsStrExt;
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let odd = std::ffi::OsStr::from_bytes(b"od\xff\xfe");
    File::create(namespace.topics_path().join(odd)).unwrap();
    let report = sweep(&namespace).unwrap();
    assert_eq!(report.foreign, ["od\u{fffd}\u{fffd}"]);
    assert!(namespace.topics_path().join(odd).exists());
}

#[test]
fn many_sweeps_at_once_remove_each_leftover_and_nothing_else() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mine = open_or_create(&namespace, "mine").unwrap();
    let mut sweepers: Vec<_> = (0..4)
        .map(|_| Child::spawn("sweep 300", dir.path()))
        .collect();
    for sweeper in &mut sweepers {
        assert_eq!(sweeper.listen(), "here");
    }
    for round in 0..6 {
        leave_behind(dir.path(), &format!("a{round},b{round},kept"));
        expect_usable(&mine, "while others sweep");
    }
    for sweeper in &mut sweepers {
        assert_eq!(sweeper.listen(), "swept");
    }
    sweep(&namespace).unwrap();
    let mut left = spawn::topic_files(&namespace);
    left.sort();
    assert_eq!(left, ["kept", "mine"]);
    expect_linked(&mine, "after the sweeps");
}

#[test]
fn an_opener_ends_on_the_file_with_the_name_during_sweeps() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut children: Vec<_> = ["sweep 2000", "sweep 2000", "visit 1500", "visit 1500"]
        .map(|role| Child::spawn(role, dir.path()))
        .into();
    for child in &mut children {
        assert_eq!(child.listen(), "here");
    }
    come_and_go(&namespace, 1500);
    for (child, wanted) in children.iter_mut().zip(["swept", "swept", "gone", "gone"]) {
        assert_eq!(child.listen(), wanted);
    }
    sweep(&namespace).unwrap();
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
}

/// Threads of one process share its presence, so its table has to separate them.
#[test]
fn a_sweep_never_removes_a_topic_that_another_thread_is_opening() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sweeper = scope.spawn(|| {
            let mut sweeps = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(sweep(&namespace).unwrap().foreign, Vec::<String>::new());
                sweeps += 1;
            }
            sweeps
        });
        let openers = [(); 2].map(|()| scope.spawn(|| come_and_go(&namespace, 1000)));
        let outcomes = openers.map(|opener| opener.join());
        stop.store(true, Ordering::Relaxed);
        assert!(sweeper.join().unwrap() > 0);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
}

#[test]
fn messages_of_a_killed_publisher_stay_while_the_topic_is_in_use() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let options = RingOptions::capacity(16);
    let ring = FanoutShm::<u64>::create(&namespace, "stream", &options).unwrap();
    let mut producer = ring.producer().unwrap();
    let mut consumer = ring.consumer().unwrap();
    producer.send(1).unwrap();
    leave_behind(dir.path(), "other");
    sweep(&namespace).unwrap();
    producer.send(2).unwrap();
    assert_eq!([consumer.recv(), consumer.recv()], [Some(1), Some(2)]);
    assert_eq!(spawn::topic_files(&namespace), ["stream"]);
}

/// The process may be about to remove the name, so no other process can do it: the error names the
/// process and the remedy.
#[test]
fn a_process_that_is_stopped_while_it_removes_a_topic_is_named() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    drop(open_or_create(&namespace, "kept").unwrap());
    let mut child = Child::spawn("stop kept", dir.path());
    assert_eq!(child.listen(), "here");
    let state = format!("/proc/{}/stat", child.pid());
    common::eventually("it is stopped", || {
        fs::read_to_string(&state).unwrap().contains(") T ")
    });
    let begin = std::time::Instant::now();
    let refused = open_or_create(&namespace, "kept").unwrap_err();
    common::result(
        "stopped remover",
        format!("named after {:?}", begin.elapsed()),
    );
    let OpenError::Retiring {
        holder: Some(holder),
        ..
    } = &refused
    else {
        panic!("{refused}")
    };
    assert_eq!((holder.process.pid, holder.is_stopped), (child.pid(), true));
    let text = refused.to_string();
    assert!(
        text.contains(&format!("kill -CONT {}", child.pid())),
        "{text}"
    );
    // The remedy works.
    child.signal(libc::SIGCONT);
    assert_eq!(child.listen(), "gone on");
    expect_usable(&open_or_create(&namespace, "kept").unwrap(), "kept");
}

/// Puts a file under the name of a topic.
type Plant = fn(&Path, &Arc<Namespace>);

/// Plants a topic file whose header has one byte changed.
fn damaged(path: &Path, namespace: &Arc<Namespace>) {
    drop(open_or_create(namespace, "kept").unwrap());
    let mut bytes = fs::read(path).unwrap();
    bytes[100] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn whatever_has_the_name_of_a_topic_is_removed_by_it() {
    let plants: [(&str, Plant); 10] = [
        ("damaged", damaged),
        ("empty", |path, _| drop(File::create(path).unwrap())),
        ("foreign", |path, _| {
            fs::write(path, [0x5a; 20_000]).unwrap()
        }),
        ("a symbolic link to nothing", |path, _| {
            symlink("nowhere", path).unwrap()
        }),
        ("a symbolic link", |path, _| {
            symlink("/dev/null", path).unwrap()
        }),
        ("a directory", |path, _| fs::create_dir(path).unwrap()),
        ("a socket", |path, _| {
            drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        }),
        ("a FIFO", |path, _| {
            let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: the path is a C string.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        }),
        ("open to others", |path, namespace| {
            drop(open_or_create(namespace, "kept").unwrap());
            mode(path, 0o644);
        }),
        ("closed to its owner", |path, namespace| {
            drop(open_or_create(namespace, "kept").unwrap());
            mode(path, 0);
        }),
    ];
    // WHY: a damaged file is removed only if no process has it open.
    let _guard = prevent_child_starts();
    for (what, plant) in plants {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        plant(&namespace.topics_path().join("kept"), &namespace);
        assert_eq!(spawn::topic_files(&namespace), ["kept"], "{what}");
        assert!(remove_topic(&namespace, &name("kept")).unwrap(), "{what}");
        assert_eq!(spawn::topic_files(&namespace), [""; 0], "{what}");
        expect_usable(&open_or_create(&namespace, "kept").unwrap(), what);
    }
    assert_eq!(
        fs::metadata("/dev/null").unwrap().len(),
        0,
        "what a link leads to stays"
    );
}

#[test]
fn a_file_that_blocks_a_removal_is_named() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let path = namespace.topics_path().join("kept");
    damaged(&path, &namespace);
    let mut child = Child::spawn("open kept", dir.path());
    assert_eq!(child.listen(), "here");
    let _guard = prevent_child_starts();
    let refused = remove_topic(&namespace, &name("kept")).unwrap_err();
    assert!(matches!(refused, OpenError::NotRemoved { .. }), "{refused}");
    assert!(
        refused
            .to_string()
            .contains(&format!("process {}", child.pid())),
        "{refused}"
    );
    child.kill();
    assert!(remove_topic(&namespace, &name("kept")).unwrap());

    fs::create_dir(&path).unwrap();
    fs::write(path.join("file"), "").unwrap();
    let refused = remove_topic(&namespace, &name("kept")).unwrap_err();
    assert!(matches!(refused, OpenError::NotRemoved { .. }), "{refused}");
    fs::remove_file(path.join("file")).unwrap();
    assert!(remove_topic(&namespace, &name("kept")).unwrap());
}
