//! Kill and stop sweeps: a process ends, or pauses, after each instruction of one `send` or `recv`,
//! and the others go on.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;
mod spawn;
mod stream;
mod tracer;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use horus_shm::Namespace;
use tempfile::TempDir;

use common::Child;
use stream::{Account, Tagged};
use tracer::ends::{CAPACITY, Kind, Ring};
use tracer::route::Route;
use tracer::survivors::{Check, DRAIN_CALLS, Order, Survivors, VICTIM};
use tracer::{Victim, be_traced, mark};

type Small = [u64; 8];
type Large = [u64; 128];

/// Points of a sweep at most; a call with more instructions is stopped around each of its stores
/// to shared memory, and at evenly spaced others.
const POINTS_MAX: u64 = if cfg!(debug_assertions) { 200 } else { 2000 };
/// Messages that a receiver has not received when its call begins.
const UNREAD: u32 = 2;

/// The call under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// A send that knows of room.
    Send,
    /// A send that has to look at the gates, once a lap.
    SendAndLook,
    /// A send that finds no room, and a dead reader to blame for it.
    SendAndReap,
    Recv,
    Latest,
}

impl Call {
    const ALL: [Self; 5] =
        [Self::Send, Self::SendAndLook, Self::SendAndReap, Self::Recv, Self::Latest];

    fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|call| format!("{call:?}") == name).unwrap()
    }

    fn is_send(self) -> bool {
        matches!(self, Self::Send | Self::SendAndLook | Self::SendAndReap)
    }

    /// Messages before the call: they decide what the call finds.
    fn warm(self) -> u32 {
        if matches!(self, Self::SendAndLook | Self::SendAndReap) { CAPACITY as u32 } else { 5 }
    }
}

/// What is swept.
#[derive(Debug, Clone, Copy)]
struct Sweep {
    kind: Kind,
    call: Call,
    words: usize,
}

// ---- the victim's side

/// Not a property: the part that this binary plays as somebody's child.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    let role: Vec<_> = role.split(' ').collect();
    let [kind, call, words, topic] = role[..] else { panic!("{role:?}") };
    let kind = Kind::parse(kind);
    if call == "Wait" {
        return wait(kind, topic);
    }
    let call = Call::parse(call);
    match words {
        "8" => play::<Small>(kind, call, topic),
        _ => play::<Large>(kind, call, topic),
    }
}

fn play<M: Tagged>(kind: Kind, call: Call, topic: &str) {
    let ring = Ring::<M>::open(kind, &spawn::inherited_namespace(), topic);
    if call.is_send() { send(&ring, call) } else { receive(&ring, call) }
}

/// A receiver that never receives.
fn wait(kind: Kind, topic: &str) {
    spawn::die_with_parent();
    let ring = Ring::<Small>::open(kind, &spawn::inherited_namespace(), topic);
    let _receiver = ring.receiver().unwrap();
    common::say("here");
    common::park();
}

/// Before the call, after the call, and so on; each round is one lap.
fn send<M: Tagged>(ring: &Ring<M>, call: Call) {
    let mut sender = ring.sender().unwrap();
    let mut numbers = 0..;
    let mut message = || M::new(VICTIM, numbers.next().unwrap());
    (0..call.warm()).for_each(|_| assert!(sender.send(&message())));
    be_traced();
    loop {
        let marked = message();
        mark();
        let sent = sender.send(black_box(&marked));
        mark();
        assert!(black_box(sent));
        (1..CAPACITY).for_each(|_| assert!(sender.send(&message())));
    }
}

/// At rest, before the call, after the call, and so on; says what it has before each call.
fn receive<M: Tagged>(ring: &Ring<M>, call: Call) {
    let mut receiver = ring.receiver().unwrap();
    let mut account = Account::default();
    be_traced();
    loop {
        mark();
        for _ in 0..DRAIN_CALLS {
            let next = if call == Call::Latest { receiver.latest() } else { receiver.recv() };
            let Some(message) = next else { break };
            account.take(&message);
        }
        let stats = receiver.stats().unwrap_or_default();
        let sound = account.expect_sound(stats).and(match stats.waiting {
            0 => Ok(()),
            waiting => Err(format!("{waiting} left")),
        });
        let verdict = sound.err().unwrap_or_default();
        common::say(format!("{} {} {verdict}", stats.received, stats.lost + stats.skipped));
        mark();
        let next = match call {
            Call::Latest => receiver.latest(),
            _ => receiver.recv(),
        };
        mark();
        if let Some(message) = next {
            account.take(&message);
        }
    }
}

// ---- the tracer's side

/// Where the victim is put, and whose it is.
struct Scene<M> {
    victim: Victim,
    survivors: Survivors<M>,
}

/// How a sweep ended.
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
    /// A victim that is about to make its call.
    fn scene<M: Tagged>(self, place: &Place, topic: &str) -> Scene<M> {
        let Self { kind, call, words } = self;
        let role = format!("{kind:?} {call:?} {words} {topic}");
        let spawn = |dir: &Path| Victim::spawn(&role, dir);
        if call == Call::SendAndReap {
            let survivors = Survivors::bystanders(kind, &place.namespace, topic);
            let mut child = Child::spawn(&format!("{kind:?} Wait 8 {topic}"), place.dir.path());
            assert_eq!(child.listen(), "here");
            child.kill();
            return Scene { victim: spawn(place.dir.path()), survivors };
        }
        if call.is_send() {
            let mut survivors = Survivors::beside_sender(kind, &place.namespace, topic);
            let victim = spawn(place.dir.path());
            survivors.receive_all_but(call.warm(), self.unread());
            return Scene { victim, survivors };
        }
        let mut survivors = Survivors::<M>::beside_receiver(kind, &place.namespace, topic);
        let mut victim = spawn(place.dir.path());
        survivors.send(call.warm()).unwrap();
        survivors.drain().unwrap();
        victim.run_to_mark();
        let (sent, _) = survivors.sent();
        assert_eq!(self.report(&mut victim), Ok(sent));
        survivors.send(UNREAD).unwrap();
        Scene { victim, survivors }
    }

    /// What the consumers have not received of a victim's messages when its call begins.
    fn unread(self) -> u32 {
        // Where the victim is to look at the gates, it must not find more room than a lap.
        if self.call == Call::SendAndLook { 0 } else { UNREAD }
    }

    /// What a receiving victim has, passed over included, or what is wrong with it.
    fn report(self, victim: &mut Victim) -> Result<u64, String> {
        let said = victim.listen();
        let mut parts = said.splitn(3, ' ');
        let mut number = || parts.next().unwrap().parse::<u64>().unwrap();
        let (received, passed) = (number(), number());
        match parts.next().unwrap_or_default() {
            "" if passed != 0 && self.kind.is_gated() => Err(format!("lost {passed}")),
            "" => Ok(received + passed),
            fault => Err(fault.into()),
        }
    }

    /// The way through the call, and the points of it to visit: instructions before the blow.
    fn points<M: Tagged>(self, place: &Place) -> (Route, Vec<u64>) {
        let Scene { mut victim, survivors } = self.scene::<M>(place, "scout");
        let mut seen = survivors.ring().visible_bytes();
        let mut points = BTreeSet::new();
        let route = Route::record(&mut victim, |done| {
            let now = survivors.ring().visible_bytes();
            if now != seen {
                points.extend([done - 1, done, done + 1]);
                seen = now;
            }
        });
        let all = 0..=route.instructions();
        let spare = POINTS_MAX.saturating_sub(points.len() as u64).max(POINTS_MAX / 4);
        let stride = if *all.end() < POINTS_MAX { 1 } else { all.end().div_ceil(spare) };
        points.extend(all.clone().step_by(stride as usize).chain([*all.end()]));
        points.retain(|point| all.contains(point));
        (route, points.into_iter().collect())
    }

    fn kill<M: Tagged>(self, place: &Place) -> Outcome {
        let (route, points) = self.points::<M>(place);
        let mut wedged = Vec::new();
        for &point in &points {
            for order in [Order::OthersFirst, Order::SuccessorFirst] {
                let topic = format!("kill-{point}-{order:?}");
                let Scene { mut victim, mut survivors } = self.scene::<M>(place, &topic);
                route.follow(&mut victim, point);
                victim.kill();
                let check = if self.call == Call::SendAndReap {
                    survivors.bury_reaper(order)
                } else if self.call.is_send() {
                    survivors.bury_sender(self.call.warm(), order)
                } else {
                    let latest = self.call == Call::Latest;
                    survivors.bury_receiver(self.call.warm(), order, latest)
                };
                wedged.extend(check.err().map(|error| (point, format!("{order:?}: {error}"))));
            }
        }
        Outcome { instructions: route.instructions(), points: points.len() as u64, wedged }
    }

    fn stop<M: Tagged>(self, place: &Place) -> Outcome {
        let (route, points) = self.points::<M>(place);
        let mut scene = self.scene::<M>(place, "stop");
        let mut wedged = Vec::new();
        let mut sent = self.call.warm();
        for &point in &points {
            let within = route.follow(&mut scene.victim, point);
            let check = if self.call.is_send() {
                sent += 1;
                let check = self.stop_sender(&mut scene, sent, within);
                sent += CAPACITY as u32 - 1;
                scene.survivors.receive_all_but(CAPACITY as u32 - 1, self.unread());
                check
            } else {
                self.stop_receiver(&mut scene, within)
            };
            if let Err(error) = check {
                wedged.push((point, error));
                // What follows from a fault is not counted as another.
                scene = self.scene(place, &format!("stop-{}", wedged.len()));
                sent = self.call.warm();
            }
        }
        Outcome { instructions: route.instructions(), points: points.len() as u64, wedged }
    }

    /// Prints the row of a table, and returns the number of wedged points.
    fn show(self, blow: &str, outcome: &Outcome) -> usize {
        let Outcome { instructions, points, wedged } = outcome;
        let (kind, call) = (format!("{:?}", self.kind), format!("{:?}", self.call));
        println!(
            "| {kind:<8} | {call:<11} | {:>4} B | {blow} | {instructions:>5} instructions \
             | {points:>4} points | {:>3} wedged |",
            self.words * 8,
            wedged.len()
        );
        for (point, error) in wedged.iter().take(4).chain(wedged.iter().skip(4).last()) {
            println!("|   after {point}: {error}");
        }
        wedged.len()
    }

    /// From within the call to the beginning of the next one.
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

    /// From within the call to the beginning of the next one.
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

fn sweep<M: Tagged>(kind: Kind, call: Call) -> usize {
    let sweep = Sweep { kind, call, words: size_of::<M>() / 8 };
    let killed = sweep.show("kill", &sweep.kill::<M>(&Place::new()));
    killed + sweep.show("stop", &sweep.stop::<M>(&Place::new()))
}

/// Sweeps calls of both sizes and returns the number of wedged points.
fn sweep_all(kind: Kind, calls: &[Call]) -> usize {
    calls.iter().map(|&call| sweep::<Small>(kind, call) + sweep::<Large>(kind, call)).sum()
}

#[test]
fn spsc_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(sweep_all(Kind::Spsc, &[Call::Send, Call::SendAndLook, Call::Recv]), 0);
}

#[test]
fn mpsc_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(sweep_all(Kind::Mpsc, &[Call::Send, Call::SendAndLook, Call::Recv]), 0);
}

#[test]
fn fanout_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(sweep_all(Kind::Fanout, &[Call::Send, Call::Recv]), 0);
}

#[test]
fn pod_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(sweep_all(Kind::Pod, &[Call::Send, Call::Recv, Call::Latest]), 0);
}

#[test]
fn reliable_goes_on_after_a_kill_or_stop_at_any_instruction() {
    assert_eq!(sweep_all(Kind::Reliable, &[Call::Send, Call::SendAndLook, Call::Recv]), 0);
}

/// Here three die: a reader first, then the sender that was about to free its gate.
#[test]
fn gated_rings_go_on_after_a_kill_at_any_instruction_of_freeing_a_dead_gate() {
    for kind in [Kind::Spsc, Kind::Mpsc, Kind::Reliable] {
        let sweep = Sweep { kind, call: Call::SendAndReap, words: 8 };
        assert_eq!(sweep.show("kill", &sweep.kill::<Small>(&Place::new())), 0);
    }
}

/// The sweep can fail: a shared ticket wedges the other producers.
#[test]
fn the_sweep_finds_the_wedge_of_a_ticket_ring() {
    assert!(sweep::<Small>(Kind::Ticket, Call::Send) > 10);
}
