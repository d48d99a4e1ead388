//! Kills at random times: a replacement joins for each process that is killed while a crew streams.
//! The others go on, and every message is accounted for.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod crew;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use common::{result, show};
use crew::logbook::stamp;
use crew::{Crew, Job, KINDS, Member, alone, starved};
use hostile::rounds;
use stream::Tagged;
use tracer::ends::Kind;

type Small = [u64; 8];
type Large = [u64; 8192];

/// The longest time that messages stream before the kill.
const STREAM_MAX_US: u64 = 5000;
/// The goals for recovery in the record. They depend on the machine, so a miss fails no test.
const GOAL_P99: Duration = Duration::from_millis(50);
const GOAL_MAX: Duration = Duration::from_millis(250);
/// The limit for the 99th percentile of all rings in the long run, on any machine.
const LIMIT_P99: Duration = Duration::from_millis(500);
/// The fewest kills for which a 99th percentile is meaningful.
const KILLS_MIN: usize = 1000;

/// The time from a kill until all messages of a ring flow again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Recovery {
    time: Duration,
    /// The longest that one member of the crew was ready and waited for a CPU meanwhile.
    starved: Duration,
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    if let Some(role) = common::role() {
        crew::mate::play(&role);
    }
}

/// Makes a crew in which chair 0 of each of `victims` will be killed, with other members in the
/// remaining places.
fn assemble<M: Tagged>(kind: Kind, victims: &[Job], kills: u64, touched_mib: usize) -> Crew<M> {
    let mut crew = Crew::new(kind, (kills as usize + 2) * victims.len() + 4);
    for job in [Job::Consume, Job::Produce] {
        crew.touched_mib = if victims.contains(&job) {
            touched_mib
        } else {
            0
        };
        crew.add(job, 0);
    }
    crew.touched_mib = 0;
    // WHY: a visitor needs free places to take.
    if victims.contains(&Job::Visit) {
        crew.add(Job::Visit, 0);
        return crew;
    }
    if kind.has_many_consumers() {
        crew.add(Job::Consume, 1);
    }
    if kind.has_many_producers() {
        crew.add(Job::Produce, 1);
    }
    crew
}

/// Returns true if recovery was so slow that the long run fails, given enough kills.
fn is_too_slow(kills: usize, p99: Duration) -> bool {
    kills >= KILLS_MIN && p99 > LIMIT_P99
}

/// Returns the time that a share of the sorted recoveries did not exceed.
fn quantile(sorted: &[Duration], share: f64) -> Duration {
    sorted[(sorted.len() as f64 * share).ceil() as usize - 1]
}

/// Streams, kills, replaces, and settles. Returns the time from the kill until the next message of
/// every sender had come to every receiver.
fn round<M: Tagged>(crew: &mut Crew<M>, victims: &[Job], stream: Duration) -> Recovery {
    let heirs: Vec<Member> = victims
        .iter()
        .map(|&job| crew.hire(job, 0, false))
        .collect();
    crew.stream();
    thread::sleep(stream);
    let concerned = crew
        .members
        .iter()
        .chain(&heirs)
        .map(|member| member.child.pid());
    let before: Vec<_> = concerned.map(|pid| (pid, starved(pid))).collect();
    let start = Instant::now();
    let (mut dead, wanted) = replace(crew, victims, heirs);
    crew.wait("every message at every receiver", |crew| {
        let chair = |wanted: u64| (wanted >> 32) as usize % 2;
        let flows = |id| {
            let seen = &crew.entry(id).seen;
            wanted
                .iter()
                .all(|&wanted| seen[chair(wanted)].get() >= wanted)
        };
        crew.ids(Job::Consume).all(flows)
    });
    let time = start.elapsed();
    let since = |&(pid, before): &(u32, Duration)| starved(pid).saturating_sub(before);
    let starved = before.iter().map(since).max().unwrap_or_default();
    dead.iter_mut().for_each(|member| member.child.kill());
    crew.wait("a visit", |crew| {
        crew.ids(Job::Visit)
            .all(|id| crew.entry(id).received.get() > 0)
    });
    crew.settle();
    Recovery { time, starved }
}

/// Kills the victims and starts their successors. Returns the dead, and by sender the first message
/// that proves that messages flow again.
fn replace<M: Tagged>(
    crew: &mut Crew<M>,
    victims: &[Job],
    mut heirs: Vec<Member>,
) -> (Vec<Member>, Vec<u64>) {
    let is_victim = |member: &Member| victims.contains(&member.job) && member.id.is_multiple_of(2);
    let (dead, alive): (Vec<_>, Vec<_>) = crew.members.drain(..).partition(is_victim);
    dead.iter()
        .for_each(|member| member.child.signal(libc::SIGKILL));
    crew.members = alive;
    heirs.iter_mut().for_each(|heir| heir.child.free_pin());
    crew.members.append(&mut heirs);
    // A message that a survivor sent before the kill proves nothing.
    let next = |id| stamp(id, crew.entry(id).confirmed.get());
    let wanted = crew.ids(Job::Produce).map(next).collect();
    (dead, wanted)
}

/// Kills in one crew, and returns the recovery times.
fn kill<M: Tagged>(kind: Kind, victims: &[Job], kills: u64, touched_mib: usize) -> Vec<Recovery> {
    let mut dice = Rng::with_seed(0x5eed_0005 + kills);
    let mut crew = assemble::<M>(kind, victims, kills, touched_mib);
    let mut recoveries: Vec<_> = (1..=kills)
        .map(|number| {
            crew.touched_mib = if number == kills { 0 } else { touched_mib };
            let stream = Duration::from_micros(dice.u64(..STREAM_MAX_US));
            round(&mut crew, victims, stream)
        })
        .collect();
    let received: u64 = crew
        .ids(Job::Consume)
        .map(|id| crew.entry(id).received.get())
        .sum();
    assert!(received > 0, "{kind:?}: nothing was streamed");
    let what = format!("{kind:?}/{}/{}B", names(victims), size_of::<M>());
    recoveries.sort();
    record(&what, &recoveries);
    recoveries
}

fn names(victims: &[Job]) -> String {
    victims
        .iter()
        .map(|job| format!("{job:?}"))
        .collect::<Vec<_>>()
        .join("+")
}

/// Records the recovery times against the goals; returns the 99th percentile.
fn record(what: &str, sorted: &[Recovery]) -> Duration {
    let all: Vec<_> = sorted.iter().map(|one| one.time).collect();
    let mut own: Vec<_> = sorted
        .iter()
        .map(|one| one.time.saturating_sub(one.starved))
        .collect();
    own.sort();
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| quantile(&all, share));
    let [own_p99, own_max] = [0.99, 1.0].map(|share| quantile(&own, share));
    let word = |is_met| if is_met { "met" } else { "missed" };
    result(
        &format!("random_kill/{what}"),
        format_args!(
            "{} kills, all accounts exact; recovery p50 {p50:.2?}, p99 {p99:.2?} \
             (goal {GOAL_P99:?} {}), max {max:.2?} (goal {GOAL_MAX:?} {}); \
             minus the longest wait of a member for a CPU, p99 {own_p99:.2?}, max {own_max:.2?}",
            sorted.len(),
            word(p99 <= GOAL_P99),
            word(max <= GOAL_MAX),
        ),
    );
    p99
}

fn kill_everywhere(victims: &[Job]) {
    let _alone = alone();
    let kills = rounds(8, 200);
    let mut all = Vec::new();
    for kind in KINDS {
        all.extend(kill::<Small>(kind, victims, kills, 0));
        all.extend(kill::<Large>(kind, victims, kills, 0));
    }
    all.sort();
    let p99 = record(&format!("all/{}", names(victims)), &all);
    assert!(
        !is_too_slow(all.len(), p99),
        "p99 of {} recoveries: {p99:?}",
        all.len()
    );
}

#[test]
fn a_long_run_fails_by_recovery_that_takes_longer_than_half_a_second() {
    let [fast, slow] = [499, 501].map(Duration::from_millis);
    // Of a thousand, ten may take longer than the 99th percentile.
    let of = |slow_ones| {
        let all: Vec<_> = (0..1000)
            .map(|n| if n < 1000 - slow_ones { fast } else { slow })
            .collect();
        is_too_slow(all.len(), quantile(&all, 0.99))
    };
    assert!(!of(10) && of(11));
    assert!(
        !is_too_slow(KILLS_MIN - 1, slow),
        "too few kills for a percentile"
    );
}

#[test]
fn every_ring_goes_on_when_a_producer_is_killed_at_a_random_time() {
    kill_everywhere(&[Job::Produce]);
}

#[test]
fn every_ring_goes_on_when_a_consumer_is_killed_at_a_random_time() {
    kill_everywhere(&[Job::Consume]);
}

#[test]
fn every_ring_goes_on_when_a_producer_and_a_consumer_are_killed_at_once() {
    kill_everywhere(&[Job::Produce, Job::Consume]);
}

#[test]
fn every_ring_goes_on_when_a_visitor_is_killed() {
    kill_everywhere(&[Job::Visit]);
}

/// The kernel takes longer to release a process with much memory, and its places are not free
/// before.
#[test]
fn the_place_of_a_victim_with_much_memory_is_taken_over_as_soon_as_it_is_buried() {
    let _alone = alone();
    let touched_mib = 512;
    for victims in [[Job::Produce], [Job::Consume]] {
        show(format_args!(
            "random_kill: each victim has touched {touched_mib} MiB"
        ));
        kill::<Small>(Kind::Spsc, &victims, rounds(1, 20), touched_mib);
    }
}
