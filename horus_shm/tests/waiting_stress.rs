//! Millions of sleeps and wakes: no wake is lost, between threads and between processes.

use horus_testing as _;

mod common;
mod sleeper;
mod spawn;

use std::io::Write;
use std::mem::MaybeUninit;
use std::sync::Arc;

use horus_shm::{Namespace, Segment, WakeBarrier};

use common::{Child, role, say};
use sleeper::{Receiver, Sender, Wait, consumer, request, topic, wakes};
use spawn::{die_with_parent, inherited_namespace, namespace, shm_dir};

/// The ways to order the two sides of a sleep.
// WHY one under miri: it has no barriers, so a thread that relies on them polls.
const EDGES: &[WakeBarrier] = if cfg!(miri) {
    &[WakeBarrier::Fence]
} else {
    &[WakeBarrier::Membarrier, WakeBarrier::Fence]
};
/// The hub, and the number of sleepers at the same topic. WHY one in a race: of several, one is
/// always asleep.
const HUBS: [(Hub, u64); 3] = [(Hub::Sleeps, 1), (Hub::Sleeps, 3), (Hub::Races, 1)];
/// The longest pause of racing endpoints, in spins of the CPU: a few microseconds.
const SPINS_MAX: u64 = 64;
// WHY one under miri: it has no sleep on several words, so a wait for a set polls.
const WAITS: &[Wait] = if cfg!(miri) {
    &[Wait::Single]
} else {
    &[Wait::Single, Wait::Set]
};
/// Messages that end a sleep, in all cases of a test together.
// WHY fewer: miri runs a thousand times slower.
const PAIRS: u64 = if cfg!(miri) { 90 } else { 100_000 };
const PAIRS_TORTURE: u64 = 10_000_000;

/// The behaviour of the endpoint that sends to all sleepers and gets their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hub {
    /// It sleeps as well.
    Sleeps,
    /// It polls without a pause and sends again after a random time. The endpoints that answered go
    /// to sleep meanwhile, after a random time as well.
    Races,
}

/// One way of waiting, and the number of rounds.
#[derive(Debug, Clone, Copy)]
struct Case {
    edge: WakeBarrier,
    hub: Hub,
    sleepers: u64,
    wait: Wait,
    rounds: u64,
}

fn cases() -> Vec<Case> {
    let torture = std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1");
    let pairs = if torture { PAIRS_TORTURE } else { PAIRS };
    let count = (EDGES.len() * HUBS.len() * WAITS.len()) as u64;
    let mut cases = Vec::new();
    for (edge, (hub, sleepers)) in EDGES.iter().flat_map(|&edge| HUBS.map(|hub| (edge, hub))) {
        // A round wakes every sleeper; a sleeping hub is woken for each answer, too.
        let rounds = pairs
            / count
            / if hub == Hub::Sleeps {
                2 * sleepers
            } else {
                sleepers
            };
        cases.extend(WAITS.iter().map(|&wait| Case {
            edge,
            hub,
            sleepers,
            wait,
            rounds,
        }));
    }
    cases
}

/// The topics of a case.
struct Topics {
    there: Arc<Segment>,
    back: Arc<Segment>,
    silent: Arc<Segment>,
}

impl Topics {
    fn new(place: Option<&Arc<Namespace>>, edge: WakeBarrier) -> Self {
        let open = |name| topic(place, name, &request(edge));
        Self {
            there: open("there"),
            back: open("back"),
            silent: open("silent"),
        }
    }

    fn receiver(&self, from: &Arc<Segment>, wait: Wait) -> Receiver {
        match wait {
            Wait::Single => Receiver::new(consumer(from)),
            Wait::Set => Receiver::in_set(consumer(from), vec![consumer(&self.silent)]),
        }
    }
}

/// The counts of one endpoint.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    pairs: u64,
    overslept: u64,
    lost_wakes: u64,
}

impl Tally {
    fn of(receiver: &Receiver) -> Self {
        let Receiver {
            received,
            overslept,
            lost_wakes,
            ..
        } = receiver;
        Self {
            pairs: *received,
            overslept: *overslept,
            lost_wakes: *lost_wakes,
        }
    }

    fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.overslept += other.overslept;
        self.lost_wakes += other.lost_wakes;
    }

    fn parse(line: &str) -> Self {
        let mut words = line.split(' ').map(|word| word.parse().unwrap());
        let mut next = || words.next().unwrap();
        Self {
            pairs: next(),
            overslept: next(),
            lost_wakes: next(),
        }
    }
}

/// Returns the CPUs that this thread may run on.
fn cpus() -> libc::cpu_set_t {
    let mut cpus = MaybeUninit::<libc::cpu_set_t>::zeroed();
    let bytes = size_of::<libc::cpu_set_t>();
    // SAFETY: `cpus` is valid for the write of its size.
    let status = unsafe { libc::sched_getaffinity(0, bytes, cpus.as_mut_ptr()) };
    assert_eq!(status, 0);
    // SAFETY: any bits are a valid set, and all were written.
    unsafe { cpus.assume_init() }
}

fn set_cpus(cpus: &libc::cpu_set_t) {
    // SAFETY: the set is readable for its size.
    let set = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cpus) };
    assert_eq!(set, 0);
}

/// Keeps this thread on one CPU: the `index`th, or another one if there are fewer.
///
/// WHY: the kernel likes to run a thread where it was woken, and then no two threads race.
fn pin(index: usize) {
    let all = cpus();
    // SAFETY: the set has a bit for each of these.
    let allowed: Vec<_> = (0..1024)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &all) })
        .collect();
    let mut one = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: all bits clear is a valid set.
    let one = unsafe { one.assume_init_mut() };
    // SAFETY: the bit is one of the set above.
    unsafe { libc::CPU_SET(allowed[index % allowed.len()], one) };
    set_cpus(one);
}

/// Pauses of random length, if the hub races.
struct Pauses {
    hub: Hub,
    random: u64,
}

impl Pauses {
    /// Makes the pauses of the endpoint with this number; pins it to a CPU if the hub races.
    fn new(hub: Hub, number: u64) -> Self {
        if hub == Hub::Races {
            pin(usize::from(number > 0));
        }
        Self {
            hub,
            random: number,
        }
    }

    fn pause(&mut self) {
        if self.hub == Hub::Races {
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (0..(self.random >> 33) % SPINS_MAX).for_each(|_| std::hint::spin_loop());
        }
    }
}

/// Answers every message.
fn answer(mut receiver: Receiver, mut sender: Sender, hub: Hub, rounds: u64) -> Tally {
    let mut pauses = Pauses::new(hub, sender.id());
    for _ in 0..rounds {
        receiver.receive();
        sender.send();
        pauses.pause();
    }
    Tally::of(&receiver)
}

/// Sends to all sleepers and waits for all answers, round after round.
fn drive(mut receiver: Receiver, mut sender: Sender, case: Case) -> Tally {
    let all = cpus();
    let mut pauses = Pauses::new(case.hub, 0);
    for _ in 0..case.rounds {
        sender.send();
        for _ in 0..case.sleepers {
            match case.hub {
                Hub::Sleeps => drop(receiver.receive()),
                Hub::Races => while receiver.consumer.recv().is_none() {},
            }
        }
        pauses.pause();
    }
    set_cpus(&all);
    Tally::of(&receiver)
}

fn between_threads(case: Case) -> (Tally, u64) {
    let topics = Topics::new(None, case.edge);
    let hub = topics.receiver(&topics.back, case.wait);
    let threads: Vec<_> = (1..=case.sleepers)
        .map(|id| {
            let receiver = topics.receiver(&topics.there, case.wait);
            let sender = Sender::new(&topics.back, id);
            std::thread::spawn(move || answer(receiver, sender, case.hub, case.rounds))
        })
        .collect();
    let mut tally = drive(hub, Sender::new(&topics.there, 0), case);
    threads
        .into_iter()
        .for_each(|thread| tally.add(thread.join().unwrap()));
    (tally, wakes(&topics.there) + wakes(&topics.back))
}

fn between_processes(case: Case) -> (Tally, u64) {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let topics = Topics::new(Some(&namespace), case.edge);
    let hub = topics.receiver(&topics.back, case.wait);
    let Case {
        edge,
        hub: other,
        wait,
        rounds,
        ..
    } = case;
    let mut children: Vec<_> = (1..=case.sleepers)
        .map(|id| format!("answer {edge:?} {other:?} {wait:?} {id} {rounds}"))
        .map(|role| Child::spawn(&role, dir.path()))
        .collect();
    for child in &mut children {
        assert_eq!(child.listen(), "ready");
    }
    let mut tally = drive(hub, Sender::new(&topics.there, 0), case);
    children
        .iter_mut()
        .for_each(|child| tally.add(Tally::parse(&child.listen())));
    children.into_iter().for_each(Child::finish);
    (tally, wakes(&topics.there) + wakes(&topics.back))
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.split(' ').collect();
    let ["answer", edge, hub, wait, id, rounds] = words[..] else {
        panic!("no such role: {role}")
    };
    die_with_parent();
    let edge = *EDGES.iter().find(|one| format!("{one:?}") == edge).unwrap();
    let hub = HUBS
        .into_iter()
        .map(|(hub, _)| hub)
        .find(|one| format!("{one:?}") == hub)
        .unwrap();
    let wait = *WAITS.iter().find(|one| format!("{one:?}") == wait).unwrap();
    let topics = Topics::new(Some(&inherited_namespace()), edge);
    let receiver = topics.receiver(&topics.there, wait);
    let sender = Sender::new(&topics.back, id.parse().unwrap());
    say("ready");
    let Tally {
        pairs,
        overslept,
        lost_wakes,
    } = answer(receiver, sender, hub, rounds.parse().unwrap());
    say(format_args!("{pairs} {overslept} {lost_wakes}"));
    common::park();
}

fn check(place: &str, run: impl Fn(Case) -> (Tally, u64)) {
    for case in cases() {
        let (tally, wakes) = run(case);
        let Tally {
            pairs,
            overslept,
            lost_wakes,
        } = tally;
        let Case {
            edge,
            hub,
            sleepers,
            wait,
            rounds,
        } = case;
        let mut out = std::io::stdout().lock();
        let _ = writeln!(
            out,
            "{place}, {edge:?}, hub {hub:?}, {sleepers} asleep, {wait:?}: {pairs} messages, \
             {wakes} wakes, {overslept} slices ended by time, {lost_wakes} wakes lost"
        );
        let sides = if hub == Hub::Sleeps { 2 } else { 1 };
        assert_eq!(pairs, sides * sleepers * rounds, "{case:?}");
        assert_eq!(lost_wakes, 0, "{case:?}: {tally:?}");
        assert!(wakes > 0, "{case:?}: no endpoint slept");
    }
}

#[test]
fn no_wake_is_lost_between_threads() {
    check("threads", between_threads);
}

// WHY: miri has no processes.
#[cfg(not(miri))]
#[test]
fn no_wake_is_lost_between_processes() {
    check("processes", between_processes);
}
