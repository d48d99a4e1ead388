//! Kill and stop sweeps: a process is killed, or stopped, after each instruction of one `send` or
//! `recv`, and the other processes go on.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod spawn;
mod stream;
#[path = "kill_sweep/sweep.rs"]
mod sweep;
mod tracer;
#[path = "kill_sweep/victim.rs"]
mod victim;

use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;

use stream::Tagged;
use sweep::{Place, Sweep};
use tracer::ends::{CAPACITY, Kind};
use victim::{hold, play, wait};

type Small = [u64; 8];
type Large = [u64; 128];

/// The room of a `drain`: for more messages than there are.
const DRAINED_MAX: usize = 64;
/// Waits without a limit, asleep.
const SLEEPY: WaitPolicy = WaitPolicy::endless().with_spin(Duration::ZERO);
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
    /// A best-effort reader that joins in the place of a dead reliable one, beside a sender that
    /// has no room.
    Join,
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
    const ALL: [Self; 14] = [
        Self::Send,
        Self::SendAndLook,
        Self::SendAndReap,
        Self::Join,
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
        use Call::{Borrow, Drain, Join, Latest, Recv, RecvUntil};
        !matches!(self, Join | Recv | Drain | Latest | Borrow | RecvUntil)
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

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    // WHY here: topics are opened before the victim is traced.
    horus_shm::internals::forbid_name_watch_thread();
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

/// A reader dies, then the sender that was about to free its place dies, or is stopped.
#[test]
fn gated_rings_go_on_after_a_kill_or_stop_at_any_instruction_of_freeing_a_dead_gate() {
    for kind in [Kind::Spsc, Kind::Mpsc, Kind::Reliable] {
        let sweep = Sweep {
            kind,
            call: Call::SendAndReap,
            words: 8,
        };
        assert_eq!(sweep.show("kill", &sweep.kill::<Small>(&Place::new())), 0);
        // WHY: the other senders must continue.
        if kind.has_many_producers() {
            let outcome = sweep.stop_each::<Small>(&Place::new());
            assert_eq!(sweep.show("stop", &outcome), 0);
        }
    }
}

/// The place of a dead reader belongs to a reader that is stopped before it has cleared it.
#[test]
fn a_sender_goes_on_beside_a_reader_that_is_stopped_while_it_takes_a_dead_gate() {
    let sweep = Sweep {
        kind: Kind::Reliable,
        call: Call::Join,
        words: 8,
    };
    let outcome = sweep.stop_each::<Small>(&Place::new());
    assert_eq!(sweep.show("stop", &outcome), 0);
}

/// The sweep can fail: a shared ticket wedges the other producers.
#[test]
fn the_sweep_finds_the_wedge_of_a_ticket_ring() {
    assert!(sweep::<Small>(Kind::Ticket, Call::Send) > 10);
}
