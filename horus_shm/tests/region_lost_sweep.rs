//! Cut sweep: a topic file is truncated after some instruction of a call, and the call reports it.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::fs::OpenOptions;
use std::io::Write;

use fastrand::Rng;
use horus_shm::{OpenError, RecvError, Segment, SendError};

use common::{role, say};
use hostile::rounds;
use spawn::{inherited_namespace, namespace, shm_dir};
use stream::Tagged;
use tracer::ends::{Kind, Receiver, Ring, Sender};
use tracer::route::Route;
use tracer::{Victim, be_traced, mark};

type Message = [u64; 38];

const KINDS: [Kind; 3] = [Kind::Spsc, Kind::Fanout, Kind::Reliable];
const TOPIC: &str = "topic";
const SENDER: u32 = 1;
/// The message that the call sends or receives.
const NUMBER: u32 = 1;

/// The call during which the file is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Send,
    Recv,
    Latest,
    OpenSender,
    OpenReceiver,
}

impl Call {
    const ALL: [Self; 5] = [
        Self::Send,
        Self::Recv,
        Self::Latest,
        Self::OpenSender,
        Self::OpenReceiver,
    ];
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    let is_role = |&(kind, call): &(Kind, Call)| role == format!("{kind:?} {call:?}");
    let all = KINDS
        .into_iter()
        .flat_map(|kind| Call::ALL.map(|call| (kind, call)));
    let (kind, call) = { all }.find(is_role).unwrap();
    be_traced();
    let namespace = inherited_namespace();
    mark();
    loop {
        let ring = Ring::<Message>::create(kind, &namespace, TOPIC);
        say(live(&ring, call));
    }
}

/// Makes the call in a ring of its own, from mark to mark, and returns its result.
fn live(ring: &Ring<Message>, call: Call) -> String {
    let segment = ring.segment().unwrap();
    if call == Call::OpenSender {
        let _receiver = ring.receiver().unwrap();
        mark();
        let sender = ring.sender();
        mark();
        return opened(sender, segment);
    }
    if call == Call::OpenReceiver {
        let _sender = ring.sender().unwrap();
        mark();
        let receiver = ring.receiver();
        mark();
        return opened(receiver, segment);
    }
    let receiver = ring.receiver().unwrap();
    let Sender::Lane(mut producer) = ring.sender().unwrap() else {
        unreachable!()
    };
    let Receiver::Lanes(mut consumer) = receiver else {
        unreachable!()
    };
    producer.send_ref(&Message::new(SENDER, 0)).unwrap();
    assert!(consumer.recv().is_some());
    let message = Message::new(SENDER, NUMBER);
    let topic = segment.label();
    if call == Call::Send {
        mark();
        let sent = producer.send_ref(&message);
        mark();
        let lost = segment.is_memory_lost();
        let again = producer.send_ref(&message);
        return match (sent, lost) {
            _ if again != Err(SendError::RegionLost { topic, message: () }) => {
                format!("went on: {again:?}")
            }
            (Ok(()), false) => "done".into(),
            (Err(SendError::RegionLost { .. }), true) => "lost".into(),
            other => format!("answered {other:?}"),
        };
    }
    producer.send_ref(&message).unwrap();
    mark();
    let received = if call == Call::Recv {
        consumer.recv()
    } else {
        consumer.latest()
    };
    mark();
    let lost = segment.is_memory_lost();
    let check = consumer.check();
    let again = (consumer.recv(), consumer.check());
    match (received, lost, check) {
        _ if again != (None, Err(RecvError::RegionLost { topic })) => {
            format!("went on: {:?}", again.1)
        }
        (Some(got), false, Ok(())) if got == message => "done".into(),
        (None, true, Err(RecvError::RegionLost { .. })) => "lost".into(),
        (got, ..) => format!(
            "{:?}, lost: {lost}, check: {check:?}",
            got.map(|got| got.tag())
        ),
    }
}

fn opened<T>(end: Result<T, OpenError>, segment: &Segment) -> String {
    match (end, segment.is_memory_lost()) {
        (Ok(_), false) => "done".into(),
        (Err(OpenError::RegionLost { .. }), true) => "lost".into(),
        (Ok(_), true) => "opened what is lost".into(),
        (Err(error), lost) => format!("{error}, lost: {lost}"),
    }
}

/// The counts of a sweep.
#[derive(Debug, Default)]
struct Swept {
    instructions: u64,
    points: u64,
    done: u64,
    lost: u64,
    faults: u64,
    /// Calls that ended before they came to their point.
    over: u64,
}

/// Cuts the file after some `points` of the instructions of `call`, or after all of them if there
/// are fewer.
fn sweep(kind: Kind, call: Call, points: u64) -> Swept {
    let dir = shm_dir();
    let path = namespace(dir.path()).topics_path().join(TOPIC);
    // WHY by path each time: each round's file is removed with its ring.
    let cut = || {
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .map(drop)
            .unwrap()
    };
    let mut victim = Victim::spawn(&format!("{kind:?} {call:?}"), dir.path());
    victim.run_to_mark();
    let route = Route::record(&mut victim, |_| true);
    let instructions = route.instructions();
    cut();
    victim.run_to_mark_through_faults();
    assert_eq!(victim.listen(), "done", "{kind:?} {call:?}: not cut");
    let stride = (instructions / points).max(1);
    let mut rng = Rng::with_seed(points);
    let mut swept = Swept {
        instructions,
        ..Swept::default()
    };
    let strides = (0..instructions).step_by(stride as usize);
    let points = strides.map(|begin| (begin + rng.u64(..stride)).min(instructions - 1));
    // WHY the last one, too: few instructions may follow the last access to the file.
    for at in points.chain([instructions - 1]) {
        let is_within = route.follow(&mut victim, at);
        cut();
        if is_within {
            swept.faults += victim.run_to_mark_through_faults();
        } else {
            swept.over += 1;
        }
        victim.run_to_mark_through_faults();
        match victim.listen().as_str() {
            "done" => swept.done += 1,
            "lost" => swept.lost += 1,
            said => panic!("{kind:?} {call:?}, cut after {at} of {instructions}: {said}"),
        }
        swept.points += 1;
    }
    assert!(
        2 * swept.over < swept.points,
        "{kind:?} {call:?} takes another way each time: {swept:?}"
    );
    swept
}

fn report(kind: Kind, call: Call, swept: &Swept) {
    let Swept {
        instructions,
        points,
        done,
        lost,
        faults,
        over,
    } = swept;
    let line = format!(
        "\n{kind:?} {call:?}: cut after {points} of {instructions} instructions: \
         {done} done, {lost} lost, {faults} faults, {over} ended before\n"
    );
    // WHY not `print!`: it is only shown when a test fails, and this is a result.
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

#[test]
fn a_send_or_recv_during_which_the_file_is_cut_succeeds_or_reports_the_loss() {
    for kind in KINDS {
        for call in [Call::Send, Call::Recv, Call::Latest] {
            let swept = sweep(kind, call, rounds(24, 500));
            assert!(
                swept.done > 0 && swept.lost > 0,
                "{kind:?} {call:?}: {swept:?}"
            );
            report(kind, call, &swept);
        }
    }
}

/// Each opens in about ten thousand instructions, most of which do not access the file.
#[test]
fn an_endpoint_whose_file_is_cut_while_it_opens_is_opened_or_reports_the_loss() {
    for call in [Call::OpenSender, Call::OpenReceiver] {
        let swept = sweep(Kind::Fanout, call, rounds(4, 100));
        report(Kind::Fanout, call, &swept);
    }
}
