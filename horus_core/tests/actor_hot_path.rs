//! Actors of one group: no allocation and no system call for `tell`, `ask` and their handlers, once
//! each of them was used. And a busy group delays a real-time node as a busy thread does, within a
//! factor of ten: the machine's noise is nearly that.

use horus_testing as _;

mod heap;
mod kernel;
mod noise;
mod private;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use horus_core::actor::{Actor, Address, Answer, Context, MailboxKind, Reply};
use horus_core::message::EmergencyStop;
use horus_core::scheduler::{self, Hertz, NodeResult, emergency_stop_publisher};
use noise::result;
use private::Private;

const ACTORS: usize = 503;
const LAPS: u64 = 200;

/// The laps before the measurement: the first use of a block or of a mailbox may cost something.
const WARM_UP: u64 = 3;

/// A member of a ring, which asks the one behind it a question each time.
struct Member {
    next: Option<Address<Message>>,
    answer: Option<Answer<u64>>,
    answered: u64,
    /// Only the first member has it: the end of the measurement.
    done: Option<mpsc::Sender<Costs>>,
}

enum Message {
    Next(Address<Message>),
    /// Goes around this number of times.
    Token(u64),
    Question(Reply<u64>),
}

/// The costs of the measured laps on the thread of the group.
struct Costs {
    allocator_calls: u64,
    system_calls: Option<Vec<(i64, u64)>>,
    answered: u64,
}

impl Member {
    fn measure(&self, laps: u64) {
        let Some(done) = &self.done else {
            return;
        };
        if laps == LAPS {
            heap::reset_allocator_calls();
            kernel::watch();
        } else if laps == 1 {
            kernel::look_away();
            let allocator_calls = heap::allocator_calls();
            let costs = Costs {
                allocator_calls,
                system_calls: kernel::calls(),
                answered: self.answered,
            };
            done.send(costs).unwrap();
        }
    }
}

impl Actor for Member {
    type Message = Message;

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) -> NodeResult {
        match message {
            Message::Next(next) => self.next = Some(next),
            Message::Question(reply) => reply.send(self.answered),
            Message::Token(laps) => {
                self.measure(laps);
                let laps = laps - u64::from(self.done.is_some());
                let Some(next) = self.next.as_ref().filter(|_| laps > 0) else {
                    return Ok(());
                };
                if let Some(mut answer) = self.answer.take() {
                    self.answered += u64::from(matches!(answer.try_take(), Some(Ok(_))));
                }
                self.answer = Some(next.ask(Message::Question)?);
                next.tell(Message::Token(laps))?;
            }
        }
        Ok(())
    }
}

#[test]
fn the_hot_path_of_actors_calls_nobody() {
    for mailbox in [MailboxKind::bounded(64), MailboxKind::unbounded()] {
        let (mut scheduler, _private) = Private::alone();
        let group = scheduler.actors("ring").threads(1).mailbox(mailbox);
        let actors = group.build().unwrap();
        let (done, costs) = mpsc::channel();
        let mut done = Some(done);
        let spawn = |_| {
            let member = Member {
                next: None,
                answer: None,
                answered: 0,
                done: done.take(),
            };
            actors.spawn(member).unwrap()
        };
        let members: Vec<_> = (0..ACTORS).map(spawn).collect();
        for (index, member) in members.iter().enumerate() {
            let next = members[(index + 1) % ACTORS].clone();
            member.tell(Message::Next(next)).unwrap();
        }
        let running = scheduler.start().unwrap();
        members[0].tell(Message::Token(LAPS + WARM_UP)).unwrap();
        let costs = costs.recv_timeout(Duration::from_secs(60)).unwrap();
        running.finish().unwrap();
        assert!(
            costs.answered >= LAPS - 2,
            "questions were answered: {}",
            costs.answered
        );
        assert_eq!(costs.allocator_calls, 0, "{mailbox:?}");
        let Some(system_calls) = costs.system_calls else {
            result("actor_hot_path/calls", "system calls are not counted here");
            continue;
        };
        assert_eq!(system_calls, [], "{mailbox:?}");
    }
}

/// An actor that never reaches its safe state.
struct Unsafe;

impl Actor for Unsafe {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        panic!("on purpose");
    }
}

/// An emergency stop has to work even if no memory is free.
#[test]
fn an_emergency_stop_that_an_actor_does_not_reach_allocates_nothing_while_it_lasts() {
    let (mut scheduler, private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let _address = actors.options().safe_state().spawn(Unsafe).unwrap();
    let mut running = scheduler.start().unwrap();
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(EmergencyStop::engage("test", "")).unwrap();
    while actors.counters().panics == 0 {
        running.run_for(Duration::from_millis(10)).unwrap();
    }
    running.run_for(Duration::from_millis(50)).unwrap();
    heap::reset_allocator_calls();
    running.run_for(Duration::from_millis(200)).unwrap();
    assert_eq!(heap::allocator_calls(), 0);
    running.finish().unwrap();
}

/// An actor that says that it is not in its safe state yet, and counts how often it is asked.
struct Slow(Arc<AtomicU64>);

impl Actor for Slow {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn is_safe_state(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        false
    }
}

/// The actors that have to be asked again are in a list that has room for all of them.
#[test]
fn actors_that_are_not_safe_yet_are_asked_again_without_an_allocation() {
    let (mut scheduler, private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let spawn = |_| {
        let options = actors.options().safe_state();
        options.spawn(Slow(Arc::clone(&asked))).unwrap()
    };
    let _addresses: Vec<_> = (0..9).map(spawn).collect();
    let mut running = scheduler.start().unwrap();
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(EmergencyStop::engage("test", "")).unwrap();
    while asked.load(Ordering::Relaxed) < 30 {
        running.run_for(Duration::from_millis(10)).unwrap();
    }
    let before = asked.load(Ordering::Relaxed);
    heap::reset_allocator_calls();
    running.run_for(Duration::from_millis(200)).unwrap();
    let calls = heap::allocator_calls();
    let times = asked.load(Ordering::Relaxed) - before;
    assert!(times > 9, "asked {times} times");
    assert_eq!(calls, 0, "asked {times} times");
    running.finish().unwrap();
}

/// Runs a node at 10 kHz for a while; returns the delay that one tick in a thousand exceeds,
/// in ns.
fn delay_ns(scheduler: &mut scheduler::Scheduler) -> Arc<AtomicU64> {
    let delays = Arc::new(AtomicU64::new(0));
    let (shown, mut all) = (Arc::clone(&delays), Vec::with_capacity(1 << 16));
    let tick = move |context: &mut scheduler::Context<'_>| {
        all.push(context.lateness().as_nanos() as u64);
        if all.len() == 5000 {
            all.sort_unstable();
            shown.store(all[all.len() * 999 / 1000].max(1), Ordering::Relaxed);
            context.stop();
        }
    };
    let node = scheduler.node("clocked").rate(10.khz());
    node.priority(10).build(tick).unwrap();
    delays
}

/// A real-time node beside a busy group starts about as late as beside a busy thread: the group
/// makes no barrier on other CPUs, and yields none of its own.
#[test]
fn a_busy_group_disturbs_a_real_time_node_no_more_than_a_busy_thread() {
    let mut ratios: Vec<f64> = Vec::new();
    while ratios.len() < 30 && ratios.last().is_none_or(|last| *last >= 10.0) {
        let (mut scheduler, _private) = Private::alone();
        let delays = delay_ns(&mut scheduler);
        let over = Arc::new(AtomicBool::new(false));
        let busy = Arc::clone(&over);
        let thread = thread::spawn(move || {
            while !busy.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        scheduler.run().unwrap();
        over.store(true, Ordering::Relaxed);
        thread.join().unwrap();
        let beside_thread = delays.load(Ordering::Relaxed);

        let (mut scheduler, _private) = Private::alone();
        let delays = delay_ns(&mut scheduler);
        let actors = scheduler.actors("busy").threads(1).build().unwrap();
        let members: Vec<_> = (0..8)
            .map(|_| {
                let member = Member {
                    next: None,
                    answer: None,
                    answered: 0,
                    done: None,
                };
                actors.spawn(member).unwrap()
            })
            .collect();
        for (index, member) in members.iter().enumerate() {
            let next = members[(index + 1) % members.len()].clone();
            member.tell(Message::Next(next)).unwrap();
        }
        members[0].tell(Message::Token(1)).unwrap();
        scheduler.run().unwrap();
        assert!(actors.counters().handled > 1000, "the group was busy");
        let beside_group = delays.load(Ordering::Relaxed);
        ratios.push(beside_group as f64 / beside_thread as f64);
        let text =
            format!("p99.9 {beside_group} ns beside a group, {beside_thread} beside a thread");
        result("actor_hot_path/jitter", &text);
    }
    let best = ratios.iter().copied().fold(f64::MAX, f64::min);
    assert!(best < 10.0, "{ratios:?}");
}
