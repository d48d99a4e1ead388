//! A failing system call is a typed error or does no harm. Each call of each operation fails in
//! turn; then the operation, this process and the next process work as they should.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod hostile;
mod operations;
mod spawn;
mod stream;
mod tracer;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use horus_shm::ReadMode;

use common::{fork, join_fork};
use operations::{Answer, Operation, World, check_fresh, open_held};
use tracer::inject::{Call, Fault};
use tracer::{Victim, be_traced, mark};

/// Errors that any call may return.
const ERRNOS: [i32; 7] = [
    libc::ENOSPC,
    libc::EMFILE,
    libc::ENFILE,
    libc::EACCES,
    libc::EAGAIN,
    libc::ENOMEM,
    libc::EIO,
];
/// The seconds after which a round counts as hanging.
const PATIENCE_SECONDS: u32 = 60;
const MAP_ANONYMOUS: i64 = libc::MAP_ANONYMOUS as i64;

/// Calls that never fail here, with the reasons.
const SPARED: [(&[i64], &str); 5] = [
    (
        &[
            libc::SYS_brk,
            libc::SYS_mremap,
            libc::SYS_madvise,
            libc::SYS_mprotect,
        ],
        "the allocator's calls: the language ends a process without heap",
    ),
    (&[libc::SYS_munmap], "cannot fail for a whole mapping"),
    (
        &[libc::SYS_geteuid, libc::SYS_getpid, libc::SYS_gettid],
        "cannot fail",
    ),
    (
        &[libc::SYS_futex, libc::SYS_sched_yield],
        "the standard library's locks; cannot fail",
    ),
    (&[libc::SYS_exit, libc::SYS_exit_group], "do not return"),
];

/// Returns the reason why `call` does not fail here, if there is one.
fn spared(call: Call) -> Option<&'static str> {
    if call.number == libc::SYS_mmap && call.args[3] & MAP_ANONYMOUS != 0 {
        return Some(SPARED[0].1);
    }
    if call.number == libc::SYS_getrandom && call.args[2] != 0 {
        return Some("the standard library's hash seeds: it panics if this fails");
    }
    SPARED
        .iter()
        .find(|(calls, _)| calls.contains(&call.number))
        .map(|(_, reason)| *reason)
}

/// Returns the faults of `call`, the `index`-th of its operation.
fn faults(call: Call, index: usize) -> Vec<Fault> {
    match call.number {
        // WHY: Linux closes the descriptor whatever it returns, and returns only this error on a
        // local file system. For other errors the standard library's directory streams panic.
        libc::SYS_close => return vec![Fault::Complains(libc::EINTR)],
        // WHY: with valid arguments it returns no other error.
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => return vec![Fault::Fails(libc::EINTR)],
        _ => {}
    }
    let count = if hostile::rounds(0, 1) == 1 {
        ERRNOS.len()
    } else {
        1
    };
    let mut errnos: Vec<_> = ERRNOS
        .iter()
        .cycle()
        .skip(index)
        .take(count)
        .copied()
        .collect();
    // WHY: a signal that does not kill never interrupts this call.
    if call.number != libc::SYS_mmap {
        errnos.push(libc::EINTR);
    }
    let moves_bytes = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
    ];
    let short = moves_bytes.contains(&call.number) && call.args[2] > 1;
    // WHY: the library cannot do anything about a lock that cannot be released; the end of the
    // process releases it. The kernel has no reason to keep it either.
    let fault = if call.unlocks {
        Fault::Complains
    } else {
        Fault::Fails
    };
    errnos
        .into_iter()
        .map(fault)
        .chain(short.then_some(Fault::Short))
        .collect()
}

/// Returns true if the operation must succeed nevertheless.
fn is_harmless(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Short | Fault::Fails(libc::EINTR) | Fault::Complains(libc::EINTR)
    )
}

// ---- the victim's process

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    let operation = Operation::parse(&role);
    let dir = PathBuf::from(std::env::var_os("HORUS_SHM_DIR").unwrap());
    be_traced();
    let mut wanted = String::new();
    for round in 0.. {
        // SAFETY: the call takes no pointer.
        unsafe { libc::alarm(PATIENCE_SECONDS) };
        let base = operation.base(&dir, round);
        let mut world = World::prepare(operation, base.clone());
        mark();
        let answer = catch_unwind(AssertUnwindSafe(|| world.act()));
        mark();
        match answer {
            Ok(answer) => {
                if round == 0 {
                    wanted = answer.as_deref().unwrap_or("an error").into();
                }
                common::say(judge(world, &dir, &answer, &wanted).replace('\n', " "));
            }
            Err(_) => common::say("FAULT: it panics"),
        }
        mark();
    }
}

/// Returns the report on a round: `ok` or `no`, for a right or wrong round, and the answer.
fn judge(mut world: World, dir: &Path, answer: &Answer, wanted: &str) -> String {
    if let Err(error) = answer
        && let Some(fault) = fault_of(&**error, dir)
    {
        return format!("FAULT: {fault}: {error:?}");
    }
    let again = world.act_again(answer, wanted);
    match again.and_then(|()| world.clear(dir)) {
        Err(fault) => format!("FAULT: {fault}, after {answer:?}"),
        Ok(swept) => match answer {
            Ok(words) => format!("ok {swept} {words}"),
            Err(error) => format!("no {swept} {error:?}"),
        },
    }
}

/// Returns the fault of an error: it must name the path, and must not be a signal's.
fn fault_of(error: &(dyn Error + 'static), dir: &Path) -> Option<&'static str> {
    // Or the directory that it is in.
    let path = dir.parent().unwrap().to_str().unwrap();
    if !error.to_string().contains(path) {
        return Some("an error without the path");
    }
    let mut source = Some(error);
    while let Some(found) = source {
        let kind = found.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::Interrupted) {
            return Some("an error because of a signal");
        }
        source = found.source();
    }
    None
}

// ---- the tracer's process

/// Prints the point of the sweep, if the test ends by a panic.
struct Here(String);

impl Drop for Here {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the sweep was at {}", self.0);
        }
    }
}

/// The counts of a sweep over the calls of one operation.
#[derive(Default)]
struct Tally {
    points: usize,
    refused: usize,
    swept: usize,
    by_call: BTreeMap<&'static str, usize>,
    spared: BTreeMap<&'static str, usize>,
    faults: Vec<String>,
}

/// Runs a round to its end; returns the victim's report.
fn end_round(victim: &mut Victim, here: &mut Here) -> String {
    victim.run_to_mark();
    here.0.push_str(", afterwards");
    victim.listen()
}

/// Starts another process, and returns the fault that it finds.
fn visit(dir: &Path, base: &Path, has_own_place: bool) -> Result<(), String> {
    let found = dir.join("found");
    let visitor = fork(
        || match check_fresh(base, if has_own_place { 1 } else { 3 }) {
            Ok(()) => true,
            Err(fault) => std::fs::write(&found, fault).is_err(),
        },
    );
    let is_well = join_fork(visitor);
    if has_own_place {
        std::fs::remove_dir_all(base).unwrap();
    }
    if is_well {
        return Ok(());
    }
    let fault = std::fs::read_to_string(&found).unwrap_or_else(|_| "it died".into());
    let _ = std::fs::remove_file(&found);
    Err(format!("a new process finds: {fault}"))
}

/// Returns the calls of a round without a fault, except the spared ones.
fn record(victim: &mut Victim, tally: &mut Tally) -> Vec<Call> {
    let mut calls = Vec::new();
    while let Some(call) = victim.next_call() {
        match spared(call) {
            Some(reason) => *tally.spared.entry(reason).or_default() += 1,
            None => calls.push(call),
        }
        victim.end_call();
    }
    calls
}

/// The fault of a round.
#[derive(Debug, Clone, Copy)]
struct Point {
    /// The index among the calls that are not spared.
    index: usize,
    call: Call,
    fault: Fault,
    /// All later calls fail as well, as they do on a full disk.
    onwards: bool,
}

/// Returns the points of an operation that makes `calls`.
fn points(calls: &[Call]) -> Vec<Point> {
    let mut points = Vec::new();
    for (index, &call) in calls.iter().enumerate() {
        for fault in faults(call, index) {
            let point = Point {
                index,
                call,
                fault,
                onwards: false,
            };
            points.push(point);
            // WHY: the library repeats an interrupted call for as long as it takes. It also retries
            // a lock that another process holds, which both other errors mean, for about a second.
            let passes = [libc::EINTR, libc::EAGAIN, libc::EACCES].map(Fault::Fails);
            if matches!(fault, Fault::Fails(_)) && !passes.contains(&fault) {
                points.push(Point {
                    onwards: true,
                    ..point
                });
            }
        }
    }
    points
}

/// Runs a round in which the call of `point` fails; returns false if there is another call there.
fn spoil(victim: &mut Victim, point: Point) -> bool {
    let mut next = 0;
    while let Some(call) = victim.next_call() {
        let index = next;
        next += usize::from(spared(call).is_none());
        if spared(call).is_some() || index < point.index {
            victim.end_call();
        } else if index == point.index && call.number != point.call.number {
            return false;
        } else if index == point.index
            || (point.onwards && call.number != libc::SYS_close && !call.unlocks)
        {
            victim.spoil_call(point.fault);
        } else {
            victim.end_call();
        }
    }
    next > point.index
}

/// Makes each call of `operation` fail with each of its faults.
fn sweep_calls(operation: Operation) -> Tally {
    let dir = spawn::shm_dir();
    let mut here = Here(format!("the start of {operation:?}"));
    let namespace = spawn::namespace(dir.path());
    let held = open_held(&namespace).unwrap();
    let _stalled = hostile::consumer(&held, ReadMode::Gated).unwrap();
    let mut victim = Victim::spawn(&format!("{operation:?}"), dir.path());
    let mut tally = Tally::default();

    // WHY: the first round makes the calls that a process makes only once.
    victim.run_to_mark();
    end_round(&mut victim, &mut here);
    victim.run_to_mark();
    let calls = record(&mut victim, &mut tally);
    let usual = end_round(&mut victim, &mut here);
    assert!(usual.starts_with("ok"), "{operation:?}: {usual}");
    for (round, point) in (2..).zip(points(&calls)) {
        let name = name_of(point.call.number);
        let fault = point.fault;
        let onwards = if point.onwards {
            " and so do all after it"
        } else {
            ""
        };
        here.0 = format!(
            "{operation:?}, call {} ({name}), {fault:?}{onwards}",
            point.index
        );
        victim.run_to_mark();
        assert!(
            spoil(&mut victim, point),
            "another round than the first, at {}",
            here.0
        );
        let said = end_round(&mut victim, &mut here);
        let base = operation.base(dir.path(), round);
        let visited = visit(dir.path(), &base, operation.has_own_place());
        let is_well = said.starts_with("ok") || said.starts_with("no");
        if !is_well || (is_harmless(fault) && said != usual) {
            tally.faults.push(format!("{}: {said}", here.0));
        }
        tally
            .faults
            .extend(visited.err().map(|found| format!("{}: {found}", here.0)));
        tally.points += 1;
        tally.refused += usize::from(said.starts_with("no"));
        tally.swept += usize::from(said.contains(" true "));
        *tally.by_call.entry(name).or_default() += 1;
    }
    tally
}

fn name_of(number: i64) -> &'static str {
    let names = [
        (libc::SYS_openat, "openat"),
        (libc::SYS_open, "open"),
        (libc::SYS_close, "close"),
        (libc::SYS_fstat, "fstat"),
        (libc::SYS_newfstatat, "newfstatat"),
        (libc::SYS_statx, "statx"),
        (libc::SYS_fstatfs, "fstatfs"),
        (libc::SYS_fcntl, "fcntl"),
        (libc::SYS_read, "read"),
        (libc::SYS_lseek, "lseek"),
        (libc::SYS_pread64, "pread64"),
        (libc::SYS_pwrite64, "pwrite64"),
        (libc::SYS_mkdirat, "mkdirat"),
        (libc::SYS_unlinkat, "unlinkat"),
        (libc::SYS_linkat, "linkat"),
        (libc::SYS_ftruncate, "ftruncate"),
        (libc::SYS_fallocate, "fallocate"),
        (libc::SYS_fchmod, "fchmod"),
        (libc::SYS_chmod, "chmod"),
        (libc::SYS_getdents64, "getdents64"),
        (libc::SYS_getrandom, "getrandom"),
        (libc::SYS_mmap, "mmap"),
        (libc::SYS_prlimit64, "prlimit64"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    ];
    names
        .iter()
        .find(|(known, _)| *known == number)
        .map_or("another", |(_, name)| name)
}

fn sweep_all(operations: &[Operation]) {
    let mut faults = Vec::new();
    for &operation in operations {
        let tally = sweep_calls(operation);
        let Tally {
            points,
            refused,
            swept,
            by_call,
            spared,
            ..
        } = &tally;
        let well = points - refused;
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "| {operation:?} | {points} points | {well} done, {refused} refused | {swept} left to \
             the sweep | {} faults | {by_call:?} | spared: {spared:?} |",
            tally.faults.len()
        )
        .unwrap();
        assert!(*points > 0, "{operation:?} makes no system call");
        faults.extend(tally.faults);
    }
    faults.iter().for_each(|fault| println!("|   {fault}"));
    assert!(
        faults.is_empty(),
        "{} faults, such as {}",
        faults.len(),
        faults[0]
    );
}

use Operation::*;

#[test]
fn a_namespace_is_made_whichever_call_fails() {
    sweep_all(&[MakeNamespace, MakeNamespaceMasked]);
}

#[test]
fn a_namespace_is_joined_and_removed_whichever_call_fails() {
    sweep_all(&[JoinNamespace, ReopenNamespace, Remove]);
}

#[test]
fn a_topic_is_created_opened_and_left_whichever_call_fails() {
    sweep_all(&[Create, Open, Replace, Leave, LeaveOthers]);
}

#[test]
fn endpoints_are_opened_and_used_whichever_call_fails() {
    sweep_all(&[
        Produce,
        Consume,
        ConsumeGated,
        Discover,
        SendFull,
        SendPastDead,
    ]);
}

#[test]
fn a_sweep_goes_on_whichever_call_fails() {
    sweep_all(&[Sweep]);
}

/// The most bytes that are reserved without a signal, on a kernel that undoes an interrupted call.
const UNDISTURBED_BYTES: i64 = 4096;

#[test]
fn a_reservation_that_signals_interrupt_all_the_time_is_made_in_pieces() {
    let dir = spawn::shm_dir();
    let _namespace = spawn::namespace(dir.path());
    let mut here = Here("a reservation".into());
    let mut victim = Victim::spawn("Create", dir.path());
    let mut interrupted = 0;
    victim.run_to_mark();
    let usual = end_round(&mut victim, &mut here);
    victim.run_to_mark();
    while let Some(call) = victim.next_call() {
        if call.number == libc::SYS_fallocate && call.args[3] > UNDISTURBED_BYTES {
            victim.spoil_call(Fault::Fails(libc::EINTR));
            interrupted += 1;
            assert!(interrupted < 100, "the same again and again");
        } else {
            victim.end_call();
        }
    }
    assert_eq!(end_round(&mut victim, &mut here), usual);
    assert_eq!(
        interrupted, 8,
        "each part of the topic file is halved until it is short enough: the 16 KiB of the header \
         and the first 8 of them, 2 halves of the 8 KiB of lanes, 4 of the 48 KiB of readers"
    );
}
