//! Forks: a child's copies of addresses and answers are inert, and the child can have actors of its
//! own.

use horus_testing as _;

mod actors;
mod common;
mod spawn;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use actors::{Control, Queue};
use common::{fork, join_fork};
use horus_shm::internals::heap::{
    self, Activation, ActorEndReport, Behaviour, Envelope, Event, Flow, MailLimit, NoAnswer, Panic,
    Refusal, answer_channel,
};
use spawn::die_with_parent;

const FORKS: u64 = 30;

/// An actor that adds numbers. Its state may be larger than a block.
struct Sum<const BYTES: usize> {
    sum: Arc<AtomicU64>,
    _state: [u8; BYTES],
}

impl<const BYTES: usize> Behaviour<Queue> for Sum<BYTES> {
    type Message = u64;

    fn handle(&mut self, event: Event<u64, Control>, _: &mut Activation<'_, u64, Queue>) -> Flow {
        if let Event::Message(number) = event {
            self.sum.fetch_add(number, Ordering::Relaxed);
        }
        Flow::Continue
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, u64, Queue>) -> Flow {
        Flow::Stop
    }

    fn handle_end(&mut self, _: &ActorEndReport, _: &Queue, _: Option<&mut ()>) {
        self.sum.fetch_add(1_000_000, Ordering::Relaxed);
    }
}

fn spawn_sum<const BYTES: usize>(
    group: &Arc<Queue>,
) -> (heap::Address<u64, Queue>, Arc<AtomicU64>) {
    let sum = Arc::<AtomicU64>::default();
    let state = Sum {
        sum: Arc::clone(&sum),
        _state: [0; BYTES],
    };
    (
        heap::spawn(Arc::clone(group), state, MailLimit::Bounded(8)),
        sum,
    )
}

/// Sends to a new actor, and returns true if it handles the message and ends.
fn has_working_actors() -> bool {
    let group = Queue::new();
    let (address, sum) = spawn_sum::<8>(&group);
    let is_sent = address.send(5).is_ok();
    group.run_all();
    drop(address);
    group.run_all();
    is_sent && sum.load(Ordering::Relaxed) == 1_000_005
}

fn copies_are_inert<const BYTES: usize>() {
    let group = Queue::new();
    for round in 0..FORKS {
        let (address, sum) = spawn_sum::<BYTES>(&group);
        let asleep = spawn_sum::<BYTES>(&group);
        address.send(round).unwrap();
        let (reply, question) = answer_channel::<u64>();
        let mut copies = Some((address, asleep.0, question));
        let pid = fork(|| {
            die_with_parent();
            let Some((address, asleep, mut question)) = copies.take() else {
                return false;
            };
            let (weak, control) = (address.downgrade(), asleep.control_handle());
            let is_inert = address.send(7) == Err(Refusal::Disconnected(7))
                && asleep.send_all([8]) == Err(Refusal::Disconnected(vec![8]))
                && control.send(Control::Stop) == Err(Control::Stop)
                && weak.upgrade().is_none()
                && address.is_disconnected()
                && question.try_take() == Some(Err(NoAnswer));
            drop((address, asleep, question, weak, control));
            group.clear();
            is_inert && sum.load(Ordering::Relaxed) == 0 && has_working_actors()
        });
        assert!(join_fork(pid), "the copies of round {round} work");
        let (address, asleep, mut question) = copies.unwrap();
        group.run_all();
        assert_eq!(sum.load(Ordering::Relaxed), round);
        reply.send(3);
        assert_eq!(question.try_take(), Some(Ok(3)));
        drop((address, asleep));
        group.run_all();
        assert_eq!(sum.load(Ordering::Relaxed), round + 1_000_000);
    }
}

/// While other threads take and give blocks, and hold the lock of the slabs now and then.
#[test]
fn a_childs_copies_of_actors_are_inert() {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let envelopes: Vec<_> = (0..5000_u64).map(Envelope::new).collect();
                thread::scope(|inner| {
                    inner.spawn(move || drop(envelopes));
                });
            }
        });
        copies_are_inert::<8>();
        copies_are_inert::<1000>();
        is_over.store(true, Ordering::Relaxed);
    });
}
