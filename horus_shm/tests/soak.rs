//! A long run of every ring between two processes: no message is wrong, and no resource grows.
//!
//! `HORUS_TORTURE=1` sends 10⁹ messages through an SPSC ring and 10⁸ through each of the others.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod cases;
mod common;
mod hostile;
mod spawn;
mod stream;

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use horus_shm::{Consumer, Pod, Producer, Segment, Zeroable, bytes_of};

use cases::{CASES, Case, Kind};
use common::{Child, Guard, eventually, result, role, say};
use hostile::rounds;
use spawn::{die_with_parent, inherited_namespace, shm_dir};

const CAPACITY: u64 = 1024;
/// Messages between two reads of the ledger.
const BATCH: u64 = 256;

/// A message that contains its own checksum.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Proof {
    sender: u64,
    number: u64,
    filling: [u64; 3],
    checksum: u64,
}

impl Proof {
    fn new(sender: u64, number: u64) -> Self {
        let filling = [number.rotate_left(17), !number, sender ^ number];
        let mut proof = Self {
            sender,
            number,
            filling,
            checksum: 0,
        };
        proof.checksum = proof.sum();
        proof
    }

    fn sum(&self) -> u64 {
        let bytes = size_of::<Self>() - size_of::<u64>();
        crc32fast::hash(&bytes_of(self)[..bytes]).into()
    }
}

/// Returns the number of messages of all senders of a ring.
fn messages(case: &Case) -> u64 {
    let total = match case.kind {
        Kind::Spsc => rounds(1_000_000, 1_000_000_000),
        _ => rounds(100_000, 100_000_000),
    };
    total / u64::from(case.senders) * u64::from(case.senders)
}

/// The resources of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    /// Heap and stacks, exactly.
    anonymous_kib: u64,
    /// With code and the ring, which become resident when they are first touched.
    resident_kib: u64,
    descriptors: u64,
}

impl Held {
    /// WHY in this order, and without a `String`: a listing takes 32 KiB of heap and gives them
    /// back, and malloc writes its book-keeping behind them. That may touch a page, which would
    /// count as growth if it came after the look at the memory.
    fn now() -> Self {
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        let mut text = [0; 4096];
        let mut file = fs::File::open("/proc/self/smaps_rollup").unwrap();
        let bytes = file.read(&mut text).unwrap();
        let smaps = std::str::from_utf8(&text[..bytes]).unwrap();
        let figure = |name: &str| -> u64 {
            let line = smaps
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        Self {
            anonymous_kib: figure("Anonymous:"),
            resident_kib: figure("Rss:"),
            descriptors,
        }
    }

    /// Expects that nothing has grown since the process was warm.
    #[track_caller]
    fn expect_flat(self, now: Self, who: &str) {
        assert_eq!(now.descriptors, self.descriptors, "{who}: descriptors");
        assert_eq!(
            now.anonymous_kib, self.anonymous_kib,
            "{who}: KiB of heap and stacks: {self}, then {now}"
        );
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            anonymous_kib,
            resident_kib,
            descriptors,
        } = self;
        write!(
            f,
            "{anonymous_kib} KiB heap, {resident_kib} KiB resident, {descriptors} files"
        )
    }
}

/// Waits until the library's thread that checks the names of topics has done so twice. WHY: the
/// first time, it takes memory.
fn await_name_checks() {
    let naps = |task: fs::DirEntry| -> Option<u64> {
        let read = |name| fs::read_to_string(task.path().join(name)).ok();
        let status = read("status")?;
        let naps = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        (read("comm")?.trim() == "horus-names").then(|| naps.trim().parse().unwrap())
    };
    eventually("two checks of the names", || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        // It sleeps before each check.
        tasks.filter_map(|task| naps(task.ok()?)).sum::<u64>() > 2
    });
}

/// Sends as all of the ring's senders, in turn; prints the resources when warm and at the end.
fn send(case: &Case, segment: &Arc<Segment>) {
    let mut producers: Vec<Producer<Proof>> =
        (0..case.senders).map(|_| case.sender(segment)).collect();
    let each = messages(case) / u64::from(case.senders);
    let mut guard = Guard::new();
    let mut warm = Held::now();
    await_name_checks();
    say("ready");
    for number in 0..each {
        if number == each / 10 {
            warm = Held::now();
        }
        // WHY: on few CPUs, a sender that never yields would send all messages in one time slice.
        if number % BATCH == 0 {
            std::thread::yield_now();
        }
        for (sender, producer) in (0..).zip(&mut producers) {
            let proof = Proof::new(sender, number);
            while let Err(error) = producer.send_ref(&proof) {
                assert!(error.is_full());
                guard.stuck(number);
                std::thread::yield_now();
            }
        }
    }
    let now = Held::now();
    warm.expect_flat(now, "sender");
    say(format!("{warm} -> {now}"));
}

/// One receiver's view of all senders.
struct Receiver {
    consumer: Consumer<Proof>,
    /// By sender: the next number if nothing is lost.
    next: Vec<u64>,
    received: u64,
    missing: u64,
}

impl Receiver {
    fn new(case: &Case, segment: &Arc<Segment>, index: usize) -> Self {
        let consumer = case.receiver(segment, index);
        let next = vec![0; case.senders as usize];
        Self {
            consumer,
            next,
            received: 0,
            missing: 0,
        }
    }

    /// Receives up to a batch of messages; each must be whole, and later than those before.
    fn take_batch(&mut self, case: &Case) {
        for _ in 0..BATCH {
            let Some(proof) = case.take(&mut self.consumer) else {
                return std::thread::yield_now();
            };
            assert_eq!(proof.checksum, proof.sum(), "a torn message: {proof:?}");
            let next = &mut self.next[proof.sender as usize];
            assert!(proof.number >= *next, "{proof:?} after {next}");
            self.missing += proof.number - *next;
            *next = proof.number + 1;
            self.received += 1;
        }
    }

    /// Returns true once all of `total` messages were sent and none is waiting, after checking the
    /// ledger.
    fn is_done(&self, case: &Case, index: usize, total: u64) -> bool {
        let stats = self.consumer.stats();
        if stats.sent < total || stats.waiting > 0 {
            return false;
        }
        assert_eq!((stats.sent, stats.received), (total, self.received));
        assert_eq!(stats.lost + stats.skipped, self.missing, "{stats:?}");
        assert_eq!(self.received + self.missing, total, "{stats:?}");
        assert!(self.missing == 0 || !case.is_lossless(index), "{stats:?}");
        true
    }
}

/// Receives as all of the ring's receivers until all messages are received.
fn receive(case: &Case, receivers: &mut [Receiver]) -> (Held, Held) {
    let total = messages(case);
    let mut guard = Guard::new();
    let mut warm = Held::now();
    let mut is_warm = false;
    loop {
        receivers
            .iter_mut()
            .for_each(|receiver| receiver.take_batch(case));
        let sent = receivers[0].consumer.stats().sent;
        guard.stuck(sent + receivers[0].received);
        if !is_warm && sent > total / 10 {
            (is_warm, warm) = (true, Held::now());
        }
        let mut all = receivers.iter().enumerate();
        if all.all(|(index, receiver)| receiver.is_done(case, index, total)) {
            return (warm, Held::now());
        }
    }
}

/// Receives what a child sends; prints the figures of both.
fn soak(case: &Case, segment: &Arc<Segment>) {
    let receiver = |index| Receiver::new(case, segment, index);
    let mut receivers: Vec<_> = (0..case.readings.len()).map(receiver).collect();
    let dir = std::env::var("HORUS_SHM_DIR").unwrap();
    let mut child = Child::spawn(&format!("send {}", case.name), Path::new(&dir));
    assert_eq!(child.listen(), "ready");
    await_name_checks();
    let start = Instant::now();
    let (warm, now) = receive(case, &mut receivers);
    let rate = messages(case) as f64 / start.elapsed().as_secs_f64() / 1e6;
    warm.expect_flat(now, "receiver");
    let sender = child.listen();
    child.finish();
    let received: Vec<_> = receivers.iter().map(|receiver| receiver.received).collect();
    say(format!(
        "{} sent, {rate:.2} M/s, received {received:?}, 0 wrong; sender {sender}; receiver {warm} \
         -> {now}",
        messages(case)
    ));
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    die_with_parent();
    let (part, name) = role.split_once(' ').unwrap();
    let case = Case::named(name);
    let segment = case.file::<Proof>(&inherited_namespace(), "ring", CAPACITY);
    match part {
        "receive" => soak(case, &segment),
        _ => send(case, &segment),
    }
    common::park();
}

/// WHY both sides in children: in this process, the harness's main thread may take memory.
#[test]
fn a_long_life_makes_no_message_wrong_and_nothing_grow() {
    if role().is_some() {
        return;
    }
    for case in &CASES {
        let dir = shm_dir();
        let mut child = Child::spawn(&format!("receive {}", case.name), dir.path());
        result(&format!("soak/{}", case.name), child.listen());
        child.finish();
    }
}
