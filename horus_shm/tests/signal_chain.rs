//! A SIGBUS that no mapping of this library causes: it has the same effect as without this library.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod spawn;

use std::fs::File;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use horus_shm::{FanoutShm, RingOptions, SendError};
use libc::{c_int, c_void, siginfo_t};

use common::{Child, fate, fork, role, say};
use spawn::{die_with_parent, inherited_namespace, shm_dir};

const PAGE_BYTES: usize = 4096;

/// The page that the handlers of this test replace with zeros.
static FOREIGN: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// The number of runs of these handlers.
static RUNS: AtomicU32 = AtomicU32::new(0);
/// Bits that describe the arguments and the mask of the last run.
static SEEN: AtomicI32 = AtomicI32::new(0);
const RIGHT_SIGNAL: i32 = 1;
const RIGHT_ADDRESS: i32 = 2;
const USR1_BLOCKED: i32 = 4;
const BUS_BLOCKED: i32 = 8;

/// The action of SIGBUS before this library installs its handler.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// The handler that the language's runtime installed.
    Runtime,
    Default,
    Ignore,
    /// A handler without `SA_SIGINFO`, with these flags.
    Plain(c_int),
    /// A handler with `SA_SIGINFO`, with these flags.
    Informed(c_int),
}

const CASES: [(&str, Before); 8] = [
    ("runtime", Before::Runtime),
    ("default", Before::Default),
    ("ignore", Before::Ignore),
    ("plain", Before::Plain(0)),
    (
        "plain, not deferred",
        Before::Plain(libc::SA_NODEFER | libc::SA_ONSTACK),
    ),
    ("informed", Before::Informed(0)),
    ("informed, on stack", Before::Informed(libc::SA_ONSTACK)),
    ("once", Before::Informed(libc::SA_RESETHAND)),
];

/// Not a test: entry point of the re-executed child process, which has no mapping of this library
/// before.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    let (action, name) = role.split_once(": ").unwrap();
    let before = CASES.iter().find(|case| case.0 == name).unwrap().1;
    say(fate(fork(|| play(action, before))));
    common::park();
}

fn play(action: &str, before: Before) -> bool {
    die_with_parent();
    let no_core = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is readable.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &no_core) };
    install(before);
    expect_loss_is_survived();
    match action {
        "fault" => fault(),
        "fault twice" => {
            fault();
            fault();
        }
        "send" => {
            // SAFETY: the call takes no pointer.
            assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0);
        }
        other => panic!("{other}"),
    }
    say(format_args!(
        "{} runs, saw {}",
        RUNS.load(Ordering::Relaxed),
        SEEN.load(Ordering::Relaxed)
    ));
    // This library's own handling still works.
    expect_loss_is_survived();
    true
}

fn install(before: Before) {
    // SAFETY: all of its fields may be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = match before {
        Before::Runtime => return,
        Before::Default => (libc::SIG_DFL, 0),
        Before::Ignore => (libc::SIG_IGN, 0),
        Before::Plain(flags) => (plain as extern "C" fn(_) as usize, flags),
        Before::Informed(flags) => (
            informed as extern "C" fn(_, _, _) as usize,
            flags | libc::SA_SIGINFO,
        ),
    };
    // SAFETY: the set is valid.
    unsafe { libc::sigaddset(&mut action.sa_mask, libc::SIGUSR1) };
    // SAFETY: the action is valid; its handlers make system calls and atomic accesses only.
    let status = unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) };
    assert_eq!(status, 0);
}

extern "C" fn plain(signal: c_int) {
    note(if signal == libc::SIGBUS {
        RIGHT_SIGNAL
    } else {
        0
    });
}

extern "C" fn informed(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let signal = if signal == libc::SIGBUS && !context.is_null() {
        RIGHT_SIGNAL
    } else {
        0
    };
    // SAFETY: the kernel passes a valid `siginfo_t`.
    let info = unsafe { &*info };
    // SAFETY: a signal that was sent has another word there, which may be read as an address.
    let address = unsafe { info.si_addr() };
    let is_right = address.cast() == FOREIGN.load(Ordering::Relaxed);
    note(signal | if is_right { RIGHT_ADDRESS } else { 0 });
}

/// Makes the foreign page harmless, and records the signals that the handler finds blocked.
fn note(mut seen: i32) {
    let page = FOREIGN.load(Ordering::Relaxed);
    if !page.is_null() {
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: replaces a mapping that this test made.
        unsafe { libc::mmap(page.cast(), PAGE_BYTES, protection, flags, -1, 0) };
    }
    let mut mask = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `mask` is valid for the write.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr()) };
    for (signal, bit) in [(libc::SIGUSR1, USR1_BLOCKED), (libc::SIGBUS, BUS_BLOCKED)] {
        // SAFETY: the call above filled `mask`.
        if unsafe { libc::sigismember(mask.as_ptr(), signal) } == 1 {
            seen |= bit;
        }
    }
    SEEN.store(seen, Ordering::Relaxed);
    RUNS.fetch_add(1, Ordering::Relaxed);
}

/// Expects a truncated topic to be reported as lost.
fn expect_loss_is_survived() {
    let namespace = inherited_namespace();
    let ring = FanoutShm::<u64>::create(&namespace, "topic", &RingOptions::default()).unwrap();
    let mut producer = ring.producer().unwrap();
    let path = namespace.topics_path().join("topic");
    File::options()
        .write(true)
        .truncate(true)
        .open(path)
        .unwrap();
    let topic = ring.segment().label();
    // SAFETY: always valid, and this thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(77) };
    assert_eq!(
        producer.send(1),
        Err(SendError::RegionLost { topic, message: 1 })
    );
    // SAFETY: as above.
    assert_eq!(unsafe { errno.read() }, 77, "the handler kept errno");
}

/// Touches a page of a mapping of this test, whose file was truncated.
fn fault() {
    let file = tempfile::tempfile_in("/dev/shm").unwrap();
    file.set_len(PAGE_BYTES as u64).unwrap();
    let map = memmap2::MmapOptions::new()
        .len(PAGE_BYTES)
        .map_raw(&file)
        .unwrap();
    FOREIGN.store(map.as_mut_ptr(), Ordering::Relaxed);
    file.set_len(0).unwrap();
    // SAFETY: the page is mapped; it is not backed, which is the purpose of the test.
    unsafe { map.as_mut_ptr().write_volatile(1) };
    FOREIGN.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Returns the lines that the child prints for `action` in the case `name`, up to its exit status.
fn outcome(action: &str, name: &str) -> String {
    let dir = shm_dir();
    let mut child = Child::spawn(&format!("{action}: {name}"), dir.path());
    let mut said = child.listen();
    if said.contains("runs") {
        said = format!("{said}, {}", child.listen());
    }
    child.finish();
    said
}

#[test]
fn a_fault_of_another_mapping_is_fatal_without_a_handler() {
    let killed = format!("killed by signal {}", libc::SIGBUS);
    for name in ["runtime", "default", "ignore"] {
        assert_eq!(outcome("fault", name), killed, "{name}");
    }
}

#[test]
fn a_handler_from_before_gets_the_faults_of_other_mappings_as_the_kernel_would_have_run_it() {
    let both = RIGHT_SIGNAL | RIGHT_ADDRESS;
    let cases = [
        ("plain", RIGHT_SIGNAL | USR1_BLOCKED | BUS_BLOCKED),
        ("plain, not deferred", RIGHT_SIGNAL | USR1_BLOCKED),
        ("informed", both | USR1_BLOCKED | BUS_BLOCKED),
        ("informed, on stack", both | USR1_BLOCKED | BUS_BLOCKED),
        ("once", both | USR1_BLOCKED | BUS_BLOCKED),
    ];
    for (name, seen) in cases {
        let wanted = format!("1 runs, saw {seen}, exited with 0");
        assert_eq!(outcome("fault", name), wanted, "{name}");
    }
}

#[test]
fn a_handler_from_before_runs_again_unless_it_was_to_run_once() {
    let seen = RIGHT_SIGNAL | USR1_BLOCKED | BUS_BLOCKED;
    assert_eq!(
        outcome("fault twice", "plain"),
        format!("2 runs, saw {seen}, exited with 0")
    );
    assert_eq!(
        outcome("fault twice", "once"),
        format!("killed by signal {}", libc::SIGBUS)
    );
}

#[test]
fn a_signal_that_a_process_sends_has_the_same_effect_as_before() {
    let killed = format!("killed by signal {}", libc::SIGBUS);
    assert_eq!(outcome("send", "default"), killed);
    assert_eq!(outcome("send", "ignore"), "0 runs, saw 0, exited with 0");
    let seen = RIGHT_SIGNAL | USR1_BLOCKED | BUS_BLOCKED;
    assert_eq!(
        outcome("send", "plain"),
        format!("1 runs, saw {seen}, exited with 0")
    );
}
