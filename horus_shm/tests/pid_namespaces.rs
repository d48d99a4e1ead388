//! PID namespaces that share a directory: process numbers have no meaning across their border.
//! Deaths are found, places are handed on and counts are right nevertheless.

use horus_testing as _;

mod common;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::io::{self, Write};
use std::path::Path;
use std::ptr::null;
use std::sync::Arc;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::{Namespace, Owner, Segment, sweep};

use common::{Child, eventually, fork, join_fork, say};
use hostile::rounds;
use spawn::{inherited_namespace, namespace, shm_dir, topic_files};
use stream::{Account, Tagged};
use tracer::ends::{Kind, Receiver, Ring};

type Message = [u64; 8];

const WRITER: u32 = 1;
const SUCCESSOR: u32 = 2;
/// The number of messages that pass before a process is killed.
const MESSAGES: u32 = 200;

/// Kinds of which a killed endpoint leaves a place that the next one needs.
const KINDS: [Kind; 4] = [Kind::Spsc, Kind::Mpsc, Kind::Reliable, Kind::Fanout];

/// The namespaces that separate two processes besides their numbers.
#[derive(Debug, Clone, Copy)]
struct Border {
    name: &'static str,
    flags: i32,
    /// The user's number behind the border; `None` if it stays the same.
    user: Option<u32>,
}

const BORDERS: [Border; 4] = [
    Border {
        name: "pid",
        flags: libc::CLONE_NEWPID,
        user: None,
    },
    Border {
        name: "pid-ipc-mount-host",
        flags: libc::CLONE_NEWPID | OTHERS,
        user: None,
    },
    Border {
        name: "pid-user",
        flags: libc::CLONE_NEWPID | libc::CLONE_NEWUSER,
        user: None,
    },
    Border {
        name: "pid-ipc-mount-host-user-mapped",
        flags: libc::CLONE_NEWPID | OTHERS | libc::CLONE_NEWUSER,
        user: Some(54_321),
    },
];

const OTHERS: i32 = libc::CLONE_NEWIPC | libc::CLONE_NEWNS | libc::CLONE_NEWUTS;

impl Border {
    fn named(name: &str) -> Self {
        BORDERS
            .into_iter()
            .find(|border| border.name == name)
            .unwrap()
    }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let role: Vec<_> = role.split(' ').collect();
    let border = Border::named(role[1]);
    // WHY: only a process of one thread can enter a user namespace, and a forked child is one.
    let gate_keeper = fork(|| {
        spawn::die_with_parent();
        if let Err(error) = spawn::unshare_as(border.flags, border.user) {
            say(format_args!("SKIP {error}"));
            return spawn::is_refusal(&error);
        }
        let inhabitant = fork(|| {
            spawn::die_with_parent();
            if border.flags & libc::CLONE_NEWNS != 0
                && let Err(error) = mount_proc()
            {
                say(format_args!("SKIP /proc cannot be mounted: {error}"));
                return spawn::is_refusal(&error);
            }
            say(std::process::id());
            play(role[0], Kind::parse(role[2]));
            true
        });
        join_fork(inhabitant)
    });
    assert!(
        join_fork(gate_keeper),
        "the process behind the border failed"
    );
}

/// Makes `/proc` show only this side of the border, as in a container.
fn mount_proc() -> io::Result<()> {
    spawn::make_private(Path::new("/proc"))?;
    let target = c"/proc".as_ptr();
    let kind = c"proc".as_ptr();
    // SAFETY: all strings outlive the call; null data stands for none.
    match unsafe { libc::mount(kind, target, kind, 0, null()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Plays a role as process number 1 behind a border.
fn play(part: &str, kind: Kind) {
    let namespace = inherited_namespace();
    let ring = Ring::<Message>::open(kind, &namespace, "topic");
    match part {
        "write" => {
            let mut sender = ring.sender().unwrap();
            say("ready");
            for number in 0.. {
                while !sender.send(&Message::new(WRITER, number)) {
                    std::thread::yield_now();
                }
            }
        }
        "read" => {
            let mut receiver = ring.receiver().unwrap();
            say("ready");
            loop {
                std::hint::black_box(receiver.recv());
            }
        }
        "count" => {
            let segment = ring.segment().unwrap();
            say(format_args!(
                "{} {}",
                segment.publisher_count(),
                segment.subscriber_count()
            ));
            common::park();
        }
        other => panic!("no part called '{other}'"),
    }
}

/// Starts a child that runs process number 1 behind `border`; skips and returns `None` if that is
/// not possible.
fn behind(border: Border, part: &str, kind: Kind, dir: &Path) -> Option<Child> {
    let mut child = Child::spawn(&format!("{part} {} {kind:?}", border.name), dir);
    let said = child.listen();
    if let Some(reason) = said.strip_prefix("SKIP ") {
        spawn::skip_as_this_user(format_args!(
            "no namespaces '{}' of its own: {reason}",
            border.name
        ));
        assert!(child.wait().success(), "not a refusal: {reason}");
        return None;
    }
    assert_eq!(said, "1", "not number 1 behind the border");
    Some(child)
}

/// Expects each side to count the same endpoints of a topic.
fn expect_counts(segment: &Segment, border: Border, kind: Kind, dir: &Path, wanted: &str) {
    let here = format!(
        "{} {}",
        segment.publisher_count(),
        segment.subscriber_count()
    );
    assert_eq!(here, wanted, "{kind:?}: from this side of {border:?}");
    let mut child = behind(border, "count", kind, dir).unwrap();
    assert_eq!(child.listen(), wanted, "{kind:?}: from behind {border:?}");
    child.finish();
}

/// Waits until the kernel has released the locks of `owner`.
fn wait_for_death(namespace: &Namespace, owner: Owner) {
    eventually("the death is found", || namespace.registry().is_dead(owner));
}

/// Returns the owners of all places of a topic.
fn owners(segment: &Segment) -> Vec<Owner> {
    use std::sync::atomic::Ordering::Relaxed;
    let read = horus_shm::Access::Read;
    let lanes = (0..segment.shape().lane_limit())
        .map(|lane| segment.lane_block(lane, read).unwrap().owner.load(Relaxed));
    let readers = (0..segment.shape().reader_limit()).map(|reader| {
        segment
            .reader_block(reader, read)
            .unwrap()
            .owner
            .load(Relaxed)
    });
    lanes
        .chain(readers)
        .filter(|&owner| owner != 0)
        .map(Owner::from_bits)
        .collect()
}

fn receive(receiver: &mut Receiver<Message>, account: &mut Account, sender: u32, wanted: u32) {
    let before = account.of(sender).map_or(0, |stream| stream.count);
    eventually("messages", || {
        for _ in 0..100 {
            let Some(message) = receiver.recv() else {
                break;
            };
            account.take(&message);
        }
        account.of(sender).map_or(0, |stream| stream.count) >= before + u64::from(wanted)
    });
}

/// A writer behind the border is killed; a successor on this side gets its lane.
fn kill_the_writer(border: Border, kind: Kind) -> Option<()> {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = Ring::<Message>::create(kind, &namespace, "topic");
    let segment = Arc::clone(ring.segment().unwrap());
    let mut receiver = ring.receiver().unwrap();
    let mut child = behind(border, "write", kind, dir.path())?;
    assert_eq!(child.listen(), "ready");
    let mut account = Account::default();
    receive(&mut receiver, &mut account, WRITER, MESSAGES);
    expect_counts(&segment, border, kind, dir.path(), "1 1");
    let mine = namespace.registry().own_owner_word();
    let writer = owners(&segment)
        .into_iter()
        .find(|&owner| owner != mine)
        .unwrap();
    let info = namespace.registry().process(writer).unwrap();
    assert_eq!(info.pid, 1, "the registry has its number on its own side");
    assert!(
        !namespace.registry().is_dead(writer),
        "although number 1 is another process here"
    );

    child.kill();
    wait_for_death(&namespace, writer);
    expect_counts(&segment, border, kind, dir.path(), "0 1");
    let limit = segment.request().lane_limit.unwrap_or(64);
    let mut successors: Vec<_> = (0..limit).map(|_| ring.sender().unwrap()).collect();
    while let Some(message) = receiver.recv() {
        account.take(&message);
    }
    for number in 0..MESSAGES {
        assert!(
            successors[0].send(&Message::new(SUCCESSOR, number)),
            "{kind:?}"
        );
        account.take(&receiver.recv().unwrap());
    }
    account.expect_all(SUCCESSOR, 0, MESSAGES).unwrap();
    account.expect_sound(receiver.stats().unwrap()).unwrap();
    drop((successors, receiver, ring, segment));
    assert_eq!(topic_files(&namespace), [""; 0]);
    Some(())
}

/// A reader behind the border is killed; the writer that it held back continues, and its place is
/// free.
fn kill_the_reader(border: Border, kind: Kind) -> Option<()> {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = Ring::<Message>::create(kind, &namespace, "topic");
    let segment = Arc::clone(ring.segment().unwrap());
    let mut child = behind(border, "read", kind, dir.path())?;
    assert_eq!(child.listen(), "ready");
    let mine = namespace.registry().own_owner_word();
    let mut sender = ring.sender().unwrap();
    let mut number = 0;
    let mut send = |count: u32| {
        for _ in 0..count {
            eventually("room", || sender.send(&Message::new(WRITER, number)));
            number += 1;
        }
    };
    send(MESSAGES);
    expect_counts(&segment, border, kind, dir.path(), "1 1");
    let reader = owners(&segment)
        .into_iter()
        .find(|&owner| owner != mine)
        .unwrap();
    assert!(!namespace.registry().is_dead(reader));

    child.kill();
    wait_for_death(&namespace, reader);
    expect_counts(&segment, border, kind, dir.path(), "1 0");
    if !kind.resumes() {
        send(MESSAGES);
    }
    let mut successor = ring.receiver().unwrap();
    let mut account = Account::default();
    while let Some(message) = successor.recv() {
        account.take(&message);
    }
    send(1);
    receive(&mut successor, &mut account, WRITER, 1);
    account.expect_sound(successor.stats().unwrap()).unwrap();
    assert!(sweep(&namespace).unwrap().foreign.is_empty());
    Some(())
}

fn kill_behind(border: Border) {
    let mut deaths = 0;
    for _ in 0..rounds(1, 25) {
        for kind in KINDS {
            for kill in [kill_the_writer, kill_the_reader] {
                if kill(border, kind).is_none() {
                    return;
                }
                deaths += 1;
            }
        }
    }
    let name = border.name;
    let mut out = io::stdout().lock();
    writeln!(out, "| behind {name} | {deaths} deaths found |").unwrap();
}

#[test]
fn a_death_in_another_pid_namespace_is_found_and_its_place_is_given_on() {
    kill_behind(Border::named("pid"));
}

#[test]
fn a_death_behind_ipc_mount_and_host_namespaces_is_found_as_well() {
    kill_behind(Border::named("pid-ipc-mount-host"));
}

#[test]
fn a_death_in_a_user_namespace_of_the_same_user_is_found_as_well() {
    kill_behind(Border::named("pid-user"));
}

#[test]
fn a_death_in_a_user_namespace_that_gives_the_user_another_number_is_found_as_well() {
    kill_behind(Border::named("pid-ipc-mount-host-user-mapped"));
}

/// Both processes are number 1, each in a namespace of its own, and this process is in neither.
#[test]
fn two_processes_of_the_same_number_are_not_taken_for_each_other() {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let ring = Ring::<Message>::create(Kind::Reliable, &namespace, "topic");
    let segment = Arc::clone(ring.segment().unwrap());
    let border = Border::named("pid");
    let Some(mut writer) = behind(border, "write", Kind::Reliable, dir.path()) else {
        return;
    };
    let mut reader = behind(border, "read", Kind::Reliable, dir.path()).unwrap();
    assert_eq!(
        (writer.listen(), reader.listen()),
        ("ready".into(), "ready".into())
    );
    let both = owners(&segment);
    assert_eq!(both.len(), 2, "{both:?}");
    assert_ne!(both[0], both[1]);
    for &owner in &both {
        assert_eq!(namespace.registry().process(owner).unwrap().pid, 1);
        assert!(!namespace.registry().is_dead(owner));
    }
    expect_counts(&segment, border, Kind::Reliable, dir.path(), "1 1");
    let mut witness = ring.receiver().unwrap();
    let mut account = Account::default();
    receive(&mut witness, &mut account, WRITER, MESSAGES);

    reader.kill();
    wait_for_death(&namespace, both[1]);
    assert!(
        !namespace.registry().is_dead(both[0]),
        "the process of the same number died, not this one"
    );
    receive(&mut witness, &mut account, WRITER, MESSAGES);
    account.expect_sound(witness.stats().unwrap()).unwrap();
    writer.kill();
    wait_for_death(&namespace, both[0]);
    drop((witness, ring, segment));
    assert_eq!(topic_files(&namespace), [""; 0]);
}

#[test]
fn all_of_this_holds_for_a_user_who_is_not_root() {
    spawn::test_again_as_stranger("all_of_this_holds");
}
