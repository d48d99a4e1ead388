//! Kill and stop sweeps: a process is killed, or stopped, after each instruction of one `send` or
//! `recv`, and the other processes go on.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod spawn;
mod stream;
mod tracer;
#[path = "kill_sweep/victim.rs"]
mod victim;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::Namespace;
use horus_shm::internals::wait::WaitPolicy;
use tempfile::TempDir;

use common::Child;
use stream::Tagged;
use tracer::Victim;
use tracer::ends::{CAPACITY, Kind};
use tracer::route::Route;
use tracer::survivors::{Check, Order, Survivors};
use victim::{hold, play, wait};

type Small = [u64; 8];
type Large = [u64; 128];

/// The most points of a sweep, in a debug build and otherwise. A call with more instructions is
/// stopped around each of its stores to shared memory, and at other points at equal distances. With
/// `HORUS_TORTURE=1` there is no such limit: every instruction is a point.
const POINTS_MAX: (u64, u64) = (200, 2000);
/// The room of a `drain`: for more messages than there are.
const DRAINED_MAX: usize = 64;
/// Waits without a limit, asleep.
const SLEEPY: WaitPolicy = WaitPolicy::endless().spinning(Duration::ZERO);
/// The number of messages that are unread when a receiver's call begins.
const UNREAD: u32 = 2;

/// The call under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// A send whose cached limit shows room.
    Send,
    /// A send that has to read the cursors of gated readers, once a lap.
    SendAndLook,
    /// A send that finds no room, because of a dead reader.
    SendAndReap,
    /// A send with a reader to wake, or with its bit set.
    SendAndWake,
    /// A send that finds room only after it has announced that it waits.
    SendUntil,
    /// A message that is written in place.
    Lend,
    /// A send that steps over a slot, which a live reader has pinned.
    SendPast,
    /// A send that finds a slot pinned by a dead reader.
    SendPastDead,
    Recv,
    /// A call that receives all available messages.
    Drain,
    Latest,
    /// A message that is read in place.
    Borrow,
    /// A receive that finds a message only after it has announced that it waits.
    RecvUntil,
}

impl Call {
    const ALL: [Self; 13] = [
        Self::Send,
        Self::SendAndLook,
        Self::SendAndReap,
        Self::SendAndWake,
        Self::SendUntil,
        Self::Lend,
        Self::SendPast,
        Self::SendPastDead,
        Self::Recv,
        Self::Drain,
        Self::Latest,
        Self::Borrow,
        Self::RecvUntil,
    ];

    fn parse(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|call| format!("{call:?}") == name)
            .unwrap()
    }

    fn is_send(self) -> bool {
        use Call::{Borrow, Drain, Latest, Recv, RecvUntil};
        !matches!(self, Recv | Drain | Latest | Borrow | RecvUntil)
    }

    /// Returns true if the survivors act after the call has announced that it waits.
    fn waits(self) -> bool {
        matches!(self, Self::SendUntil | Self::RecvUntil)
    }

    /// Returns the number of messages before the call; they decide the state that the call finds.
    fn warm(self) -> u32 {
        match self {
            Self::SendAndLook
            | Self::SendAndReap
            | Self::SendUntil
            | Self::SendPast
            | Self::SendPastDead => CAPACITY as u32,
            _ => 5,
        }
    }
}

/// A ring, a call and a message size to sweep.
#[derive(Debug, Clone, Copy)]
struct Sweep {
    kind: Kind,
    call: Call,
    words: usize,
}

// ---- the victim's process

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    // WHY here: topics are opened before the victim is traced.
    horus_shm::internals::forbid_thread();
    let role: Vec<_> = role.split(' ').collect();
    let [kind, call, words, topic] = role[..] else {
        panic!("{role:?}")
    };
    let kind = Kind::parse(kind);
    if call == "Wait" {
        return wait(kind, topic);
    }
    if call == "Hold" {
        return match words {
            "8" => hold::<Small>(kind, topic),
            _ => hold::<Large>(kind, topic),
        };
    }
    let call = Call::parse(call);
    match words {
        "8" => play::<Small>(kind, call, topic),
        _ => play::<Large>(kind, call, topic),
    }
}

// ---- the tracer's process

/// A victim that is about to make its call, and the survivors beside it.
struct Scene<M> {
    victim: Victim,
    survivors: Survivors<M>,
}

/// The instructions of a call: up to the point where it waits, if it does, and from there on.
struct Way {
    first: Route,
    rest: Option<Route>,
}

impl Way {
    fn instructions(&self) -> u64 {
        self.first.instructions() + self.rest.as_ref().map_or(0, Route::instructions)
    }
}

/// The result of a sweep.
struct Outcome {
    instructions: u64,
    points: u64,
    wedged: Vec<(u64, String)>,
}

struct Place {
    dir: TempDir,
    namespace: Arc<Namespace>,
}

impl Place {
    fn new() -> Self {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        Self { dir, namespace }
    }
}

impl Sweep {
    /// Starts a victim and takes it to the start of its call.
    fn scene<M: Tagged>(self, place: &Place, topic: &str) -> Scene<M> {
        let Self { kind, call, words } = self;
        let role = format!("{kind:?} {call:?} {words} {topic}");
        let spawn = |dir: &Path| Victim::spawn(&role, dir);
        if call == Call::SendAndReap {
            let survivors = Survivors::bystanders(kind, &place.namespace, topic);
            let mut child = Child::spawn(&format!("{kind:?} Wait 8 {topic}"), place.dir.path());
            assert_eq!(child.listen(), "here");
            child.kill();
            return Scene {
                victim: spawn(place.dir.path()),
                survivors,
            };
        }
        if call == Call::SendPastDead {
            let mut survivors = Survivors::beside_sender_and_reader(kind, &place.namespace, topic);
            let role = format!("{kind:?} Hold {words} {topic}");
            let mut holder = Child::spawn(&role, place.dir.path());
            assert_eq!(holder.listen(), "here");
            let victim = spawn(place.dir.path());
            assert_eq!(holder.listen(), "held");
            holder.kill();
            survivors.receive_all_but(call.warm(), UNREAD);
            return Scene { victim, survivors };
        }
        if call.is_send() {
            let mut survivors = Survivors::beside_sender(kind, &place.namespace, topic);
            let victim = spawn(place.dir.path());
            let held = u32::from(call == Call::SendPast);
            (0..held).for_each(|_| survivors.hold());
            survivors.receive_all_but(call.warm(), self.unread());
            if call == Call::SendAndWake {
                survivors.fall_asleep();
            }
            return Scene { victim, survivors };
        }
        let mut survivors = Survivors::<M>::beside_receiver(kind, &place.namespace, topic);
        let mut victim = spawn(place.dir.path());
        survivors.send(call.warm()).unwrap();
        survivors.drain().unwrap();
        victim.run_to_mark();
        let (sent, _) = survivors.sent();
        assert_eq!(self.report(&mut victim), Ok(sent));
        survivors.send(self.unread()).unwrap();
        Scene { victim, survivors }
    }

    /// Returns the number of a victim's messages that the consumers have not received when its call
    /// begins.
    fn unread(self) -> u32 {
        // A victim that has to read the cursors must not find more room than a lap.
        match self.call {
            Call::SendAndLook | Call::RecvUntil => 0,
            Call::SendUntil => self.call.warm(),
            _ => UNREAD,
        }
    }

    /// Returns the number of messages that may be lost with a receiving victim: one, or those it
    /// drained.
    fn passed_max<M: Tagged>(self, survivors: &Survivors<M>) -> u32 {
        let (_, sources) = survivors.sent();
        if self.call == Call::Drain {
            UNREAD * sources.len() as u32
        } else {
            1
        }
    }

    /// Returns the most points of this sweep; see [`POINTS_MAX`].
    fn points_max(self) -> u64 {
        let is_long = self.kind.is_pinnable() || self.call.waits();
        match is_torture() {
            true => u64::MAX,
            // WHY: these rows are many, and a debug build is for a quick run.
            false if cfg!(debug_assertions) && is_long => POINTS_MAX.0 / 3,
            false if cfg!(debug_assertions) => POINTS_MAX.0,
            false => POINTS_MAX.1,
        }
    }

    /// Does what the victim waits for.
    fn relieve<M: Tagged>(self, survivors: &mut Survivors<M>) {
        match self.call {
            Call::RecvUntil => survivors.send(UNREAD).unwrap(),
            _ => survivors.drain().unwrap(),
        }
    }

    /// Returns the number of messages that a receiving victim has received or skipped, or its
    /// fault.
    fn report(self, victim: &mut Victim) -> Result<u64, String> {
        let said = victim.listen();
        let mut parts = said.splitn(3, ' ');
        let mut number = || parts.next().unwrap().parse::<u64>().unwrap();
        let received = number();
        let passed = number();
        match parts.next().unwrap_or_default() {
            "" if passed != 0 && self.kind.is_gated() => Err(format!("lost {passed}")),
            "" => Ok(received + passed),
            fault => Err(fault.into()),
        }
    }

    /// Returns the instructions of the call, and the points to visit: instructions before the kill.
    fn points<M: Tagged>(self, place: &Place) -> (Way, Vec<u64>) {
        let Scene {
            mut victim,
            mut survivors,
        } = self.scene::<M>(place, "scout");
        let visible = survivors.ring().visible();
        let mut seen = visible.bytes();
        let mut points = BTreeSet::new();
        let mut look = |done: u64| {
            let now = visible.bytes();
            if now != seen {
                points.extend([done - 1, done, done + 1]);
                seen = now;
            }
        };
        let first = Route::record(&mut victim, |done| {
            look(done);
            !(self.call.waits() && survivors.has_waiter())
        });
        let rest = self.call.waits().then(|| {
            self.relieve(&mut survivors);
            Route::record(&mut victim, |done| {
                look(first.instructions() + done);
                true
            })
        });
        let way = Way { first, rest };
        let all = 0..=way.instructions();
        let points_max = self.points_max();
        let spare = points_max
            .saturating_sub(points.len() as u64)
            .max(points_max / 4);
        let stride = if *all.end() < points_max {
            1
        } else {
            all.end().div_ceil(spare)
        };
        points.extend(all.clone().step_by(stride as usize).chain([*all.end()]));
        points.retain(|point| all.contains(point));
        (way, points.into_iter().collect())
    }

    /// Takes the victim to a point of its call; returns false if it reached the end of the call.
    fn approach<M: Tagged>(self, scene: &mut Scene<M>, way: &Way, point: u64) -> bool {
        let Scene { victim, survivors } = scene;
        let first = point.min(way.first.instructions());
        let within = way.first.follow(victim, first);
        match &way.rest {
            Some(rest) if within && point > first => {
                self.relieve(survivors);
                rest.follow(victim, point - first)
            }
            _ => within,
        }
    }

    fn kill<M: Tagged>(self, place: &Place) -> Outcome {
        let (way, points) = self.points::<M>(place);
        let mut wedged = Vec::new();
        for &point in &points {
            for order in [Order::OthersFirst, Order::SuccessorFirst] {
                let topic = format!("kill-{point}-{order:?}");
                let mut scene = self.scene::<M>(place, &topic);
                self.approach(&mut scene, &way, point);
                let Scene {
                    victim,
                    mut survivors,
                } = scene;
                victim.kill();
                if self.call == Call::SendUntil {
                    // A full lane would be refused to live senders, too.
                    self.relieve(&mut survivors);
                }
                let check = if self.call == Call::SendAndReap {
                    survivors.bury_reaper(order)
                } else if self.call.is_send() {
                    survivors.bury_sender(self.call.warm(), order)
                } else {
                    let latest = self.call == Call::Latest;
                    let passed_max = self.passed_max(&survivors);
                    survivors.bury_receiver(self.call.warm(), order, latest, passed_max)
                };
                wedged.extend(
                    check
                        .err()
                        .map(|error| (point, format!("{order:?}: {error}"))),
                );
            }
        }
        Outcome {
            instructions: way.instructions(),
            points: points.len() as u64,
            wedged,
        }
    }

    /// As [`Self::stop`], with a victim for each point: the state that the call finds exists only
    /// once.
    fn stop_each<M: Tagged>(self, place: &Place) -> Outcome {
        let (way, points) = self.points::<M>(place);
        let mut wedged = Vec::new();
        for &point in &points {
            let mut scene = self.scene::<M>(place, &format!("stop-{point}"));
            let within = self.approach(&mut scene, &way, point);
            let check = if self.call.is_send() {
                self.stop_sender(&mut scene, self.call.warm() + 1, within)
            } else {
                self.stop_receiver(&mut scene, within)
            };
            wedged.extend(check.err().map(|error| (point, error)));
        }
        Outcome {
            instructions: way.instructions(),
            points: points.len() as u64,
            wedged,
        }
    }

    fn stop<M: Tagged>(self, place: &Place) -> Outcome {
        let (way, points) = self.points::<M>(place);
        let mut scene = self.scene::<M>(place, "stop");
        let mut wedged = Vec::new();
        let mut sent = self.call.warm();
        for &point in &points {
            let within = self.approach(&mut scene, &way, point);
            let check = if self.call.is_send() {
                sent += 1;
                let check = self.stop_sender(&mut scene, sent, within);
                sent += CAPACITY as u32 - 1;
                scene
                    .survivors
                    .receive_all_but(CAPACITY as u32 - 1, self.unread());
                check
            } else {
                self.stop_receiver(&mut scene, within)
            };
            if let Err(error) = check {
                wedged.push((point, error));
                // A consequence of a fault is not counted as another fault.
                scene = self.scene(place, &format!("stop-{}", wedged.len()));
                sent = self.call.warm();
            }
        }
        Outcome {
            instructions: way.instructions(),
            points: points.len() as u64,
            wedged,
        }
    }

    /// Records the result of a sweep, and returns the number of wedged points.
    fn show(self, blow: &str, outcome: &Outcome) -> usize {
        let Outcome {
            instructions,
            points,
            wedged,
        } = outcome;
        let id = format!(
            "kill_sweep/{:?}/{:?}/{}B/{blow}",
            self.kind,
            self.call,
            self.words * 8
        );
        let build = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        let wedges = wedged.len();
        common::result(
            &id,
            format_args!("{instructions} instructions ({build}), {points} points, {wedges} wedged"),
        );
        for (point, error) in wedged.iter().take(4).chain(wedged.iter().skip(4).last()) {
            println!("|   after {point}: {error}");
        }
        wedged.len()
    }

    /// Stops a sender within its call, and lets it continue to the beginning of the next call.
    fn stop_sender<M: Tagged>(self, scene: &mut Scene<M>, sent: u32, within: bool) -> Check {
        let Scene { victim, survivors } = scene;
        survivors.work_beside_stopped_sender()?;
        if within {
            victim.run_to_mark();
        }
        survivors.check_resumed_sender(sent)?;
        victim.run_to_mark();
        Ok(())
    }

    /// Stops a receiver within its call, and lets it continue to the beginning of the next call.
    fn stop_receiver<M: Tagged>(self, scene: &mut Scene<M>, within: bool) -> Check {
        let Scene { victim, survivors } = scene;
        survivors.work_beside_stopped_receiver()?;
        // To the end of the call, to rest, and to the next call.
        (0..2 + usize::from(within)).for_each(|_| victim.run_to_mark());
        let (sent, _) = survivors.sent();
        let got = self.report(victim)?;
        if got != sent {
            return Err(format!("{got} of {sent} received or counted"));
        }
        survivors.send(UNREAD)
    }
}

fn is_torture() -> bool {
    std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1")
}

fn sweep<M: Tagged>(kind: Kind, call: Call) -> usize {
    let sweep = Sweep {
        kind,
        call,
        words: size_of::<M>() / 8,
    };
    let killed = sweep.show("kill", &sweep.kill::<M>(&Place::new()));
    killed + sweep.show("stop", &sweep.stop::<M>(&Place::new()))
}

/// As [`sweep`], with a victim for each point.
fn sweep_each<M: Tagged>(kind: Kind, call: Call) -> usize {
    let sweep = Sweep {
        kind,
        call,
        words: size_of::<M>() / 8,
    };
    let killed = sweep.show("kill", &sweep.kill::<M>(&Place::new()));
    killed + sweep.show("stop", &sweep.stop_each::<M>(&Place::new()))
}

/// Sweeps all calls with small messages, and the first call also with large ones.
fn sweep_some(kind: Kind, calls: &[Call]) -> usize {
    calls
        .iter()
        .map(|&call| sweep::<Small>(kind, call))
        .sum::<usize>()
        + sweep::<Large>(kind, calls[0])
}

/// Sweeps calls with both message sizes, and returns the number of wedged points.
fn sweep_all(kind: Kind, calls: &[Call]) -> usize {
    calls
        .iter()
        .map(|&call| sweep::<Small>(kind, call) + sweep::<Large>(kind, call))
        .sum()
}

#[test]
fn spsc_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(
        sweep_all(Kind::Spsc, &[Call::Send, Call::SendAndLook, Call::Recv]),
        0
    );
}

#[test]
fn mpsc_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(
        sweep_all(Kind::Mpsc, &[Call::Send, Call::SendAndLook, Call::Recv]),
        0
    );
}

#[test]
fn fanout_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(sweep_all(Kind::Fanout, &[Call::Send, Call::Recv]), 0);
}

#[test]
fn pod_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(
        sweep_all(Kind::Pod, &[Call::Send, Call::Recv, Call::Latest]),
        0
    );
}

#[test]
fn reliable_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(
        sweep_all(Kind::Reliable, &[Call::Send, Call::SendAndLook, Call::Recv]),
        0
    );
}

#[test]
fn pinnable_goes_on_after_a_kill_or_stop_at_any_instruction() {
    let calls = [
        Call::Send,
        Call::Lend,
        Call::Recv,
        Call::Latest,
        Call::Borrow,
    ];
    assert_eq!(sweep_some(Kind::Pinnable, &calls), 0);
}

#[test]
fn reliable_pinnable_goes_on_after_a_kill_or_stop_at_any_instruction() {
    let calls = [Call::Lend, Call::SendAndLook, Call::Borrow];
    assert_eq!(sweep_some(Kind::PinnableReliable, &calls), 0);
}

#[test]
fn a_kill_or_stop_at_any_instruction_of_stepping_over_a_pinned_slot_is_survived() {
    let wedged = [Kind::Pinnable, Kind::PinnableReliable]
        .map(|kind| sweep_each::<Small>(kind, Call::SendPast))
        .into_iter()
        .chain([sweep_each::<Small>(Kind::Pinnable, Call::SendPastDead)]);
    assert_eq!(wedged.sum::<usize>(), 0);
}

#[test]
fn a_kill_or_stop_at_any_instruction_of_waking_or_waiting_is_survived() {
    let wedged = sweep::<Small>(Kind::Fanout, Call::SendAndWake)
        + sweep_each::<Small>(Kind::Fanout, Call::RecvUntil)
        + sweep_each::<Small>(Kind::Pinnable, Call::RecvUntil)
        + sweep_each::<Small>(Kind::Reliable, Call::SendUntil);
    assert_eq!(wedged, 0);
}

#[test]
fn a_kill_or_stop_at_any_instruction_of_draining_is_survived() {
    use Kind::{Fanout, Mpsc, Pinnable, PinnableReliable, Pod, Reliable, Spsc};
    let small: usize = [
        Spsc,
        Mpsc,
        Fanout,
        Pod,
        Reliable,
        Pinnable,
        PinnableReliable,
    ]
    .map(|kind| sweep::<Small>(kind, Call::Drain))
    .iter()
    .sum();
    let large = sweep::<Large>(Spsc, Call::Drain) + sweep::<Large>(Fanout, Call::Drain);
    assert_eq!(small + large, 0);
}

/// Two processes die: a reader first, then the sender that was about to free its place.
#[test]
fn gated_rings_go_on_after_a_kill_at_any_instruction_of_freeing_a_dead_gate() {
    for kind in [Kind::Spsc, Kind::Mpsc, Kind::Reliable] {
        let sweep = Sweep {
            kind,
            call: Call::SendAndReap,
            words: 8,
        };
        assert_eq!(sweep.show("kill", &sweep.kill::<Small>(&Place::new())), 0);
    }
}

/// The sweep can fail: a shared ticket wedges the other producers.
#[test]
fn the_sweep_finds_the_wedge_of_a_ticket_ring() {
    assert!(sweep::<Small>(Kind::Ticket, Call::Send) > 10);
}
