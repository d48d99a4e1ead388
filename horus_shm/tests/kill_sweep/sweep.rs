//! The tracer's process: takes a victim to each point of its call, kills or stops it there, and
//! checks the survivors.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use horus_shm::Namespace;
use horus_testing::{PointSample, is_torture};
use tempfile::TempDir;

use super::{Call, UNREAD};
use crate::common::{self, Child};
use crate::spawn;
use crate::stream::Tagged;
use crate::tracer::Victim;
use crate::tracer::ends::{CAPACITY, Kind};
use crate::tracer::route::Route;
use crate::tracer::survivors::{Check, Order, Survivors};

/// The most points of a sweep, in a debug build and otherwise. A call with more instructions is
/// stopped around each of its stores to shared memory, and at other points at equal distances. With
/// `HORUS_TORTURE=1` there is no such limit, except for [`Call::Join`]: every instruction is a
/// point.
const POINTS_MAX: (u64, u64) = (100, 2000);

/// The usual run visits one of this many points.
const STRIDE: usize = 3;

/// A ring, a call and a message size to sweep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sweep {
    pub(crate) kind: Kind,
    pub(crate) call: Call,
    pub(crate) words: usize,
}

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
pub(crate) struct Outcome {
    instructions: u64,
    points: u64,
    wedged: Vec<(u64, String)>,
}

pub(crate) struct Place {
    dir: TempDir,
    namespace: Arc<Namespace>,
}

impl Place {
    pub(crate) fn new() -> Self {
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
        if matches!(call, Call::SendAndReap | Call::Join) {
            let mut survivors = Survivors::bystanders(kind, &place.namespace, topic);
            let mut child = Child::spawn(&format!("{kind:?} Wait 8 {topic}"), place.dir.path());
            assert_eq!(child.listen(), "here");
            if call == Call::Join {
                survivors.fill_lane();
            }
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
            // WHY: the call has hundreds of thousands of instructions.
            true if self.call == Call::Join => POINTS_MAX.1,
            true => u64::MAX,
            // WHY: these rows are many, and a debug build is for a quick run.
            false if cfg!(debug_assertions) && is_long => POINTS_MAX.0 / 3,
            false if cfg!(debug_assertions) => POINTS_MAX.0,
            false => POINTS_MAX.1,
        }
    }

    /// Returns the points of which this run visits some.
    fn sample(self) -> PointSample {
        match self.kind {
            // WHY: a test counts the points at which this ring wedges.
            Kind::Ticket => PointSample::all(),
            _ => PointSample::every(STRIDE),
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
        (way, self.sample().select_items(points).collect())
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

    pub(crate) fn kill<M: Tagged>(self, place: &Place) -> Outcome {
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
    pub(crate) fn stop_each<M: Tagged>(self, place: &Place) -> Outcome {
        let (way, points) = self.points::<M>(place);
        let mut wedged = Vec::new();
        for &point in &points {
            let mut scene = self.scene::<M>(place, &format!("stop-{point}"));
            let within = self.approach(&mut scene, &way, point);
            let check = if matches!(self.call, Call::SendAndReap | Call::Join) {
                self.stop_reaper(&mut scene, within)
            } else if self.call.is_send() {
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

    pub(crate) fn stop<M: Tagged>(self, place: &Place) -> Outcome {
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
    pub(crate) fn show(self, blow: &str, outcome: &Outcome) -> usize {
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

    /// Stops a process that frees or takes a dead reader's place, and lets it continue to the end
    /// of its call.
    fn stop_reaper<M: Tagged>(self, scene: &mut Scene<M>, within: bool) -> Check {
        let Scene { victim, survivors } = scene;
        survivors.work_beside_stopped_reaper()?;
        if within {
            victim.run_to_mark();
        }
        survivors.check_resumed_reaper()
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
