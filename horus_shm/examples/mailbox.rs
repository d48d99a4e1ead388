//! Measures a mailbox: nanoseconds for a message, sent and handled, and bytes for an idle actor.
//!
//! Prints the median of five runs for each row. Run it alone, and optimised.

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use horus_shm::internals::heap::{
    Activation, ActivationOutcome, Address, Behaviour, Event, Flow, Group, MailLimit,
    MailboxRoomEventcounts, Panic, Runnable, answer_channel, spawn,
};

const MESSAGES: u64 = 1_000_000;
const ACTORS: usize = 100_000;

thread_local! {
    /// The actors with mail, of this thread: the only worker and sender.
    static RUNNABLE: RefCell<Vec<Runnable<Queue>>> = const { RefCell::new(Vec::new()) };
}

/// A group whose only worker is this thread.
#[derive(Default)]
struct Queue(MailboxRoomEventcounts);

impl Group for Queue {
    type Control = ();
    type Worker = ();

    fn schedule(&self, runnable: Runnable<Self>) {
        RUNNABLE.with_borrow_mut(|list| list.push(runnable));
    }

    fn mailbox_room_eventcounts(&self) -> &MailboxRoomEventcounts {
        &self.0
    }
}

impl Queue {
    fn run_all(&self) {
        loop {
            let next = RUNNABLE.with_borrow_mut(Vec::pop);
            let Some(runnable) = next else { break };
            if let ActivationOutcome::More(runnable) = runnable.run(self, &mut (), 256) {
                self.schedule(runnable);
            }
        }
    }
}

struct Sum(u64);

impl Behaviour<Queue> for Sum {
    type Message = u64;

    fn handle(&mut self, event: Event<u64, ()>, _: &mut Activation<'_, u64, Queue>) -> Flow {
        if let Event::Message(number) = event {
            self.0 = black_box(self.0 + number);
        }
        Flow::Continue
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, u64, Queue>) -> Flow {
        Flow::Stop
    }
}

/// Prints the median of five runs of `work`, for each of `count` operations.
fn measure(row: &str, count: u64, mut work: impl FnMut()) {
    let mut runs: Vec<_> = (0..5)
        .map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed().as_nanos() as f64 / count as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    println!(
        "{row:<40}{:8.1} ns ({:.1} to {:.1})",
        runs[2], runs[0], runs[4]
    );
}

fn alone(group: &Queue, address: &Address<u64, Queue>) {
    for number in 0..MESSAGES {
        address.send(number).expect("an actor without mail");
        group.run_all();
    }
}

fn in_batches(group: &Queue, address: &Address<u64, Queue>) {
    for _ in 0..MESSAGES / 64 {
        for number in 0..64 {
            address.send(number).expect("room for 64 messages");
        }
        group.run_all();
    }
}

/// Returns the resident memory of this process.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}

fn main() {
    let group = Arc::new(Queue::default());
    for (name, mail) in [
        ("bounded", MailLimit::Bounded(1024)),
        ("unbounded", MailLimit::Unbounded),
    ] {
        let address = spawn(Arc::clone(&group), Sum(0), mail);
        measure(&format!("{name}, alone"), MESSAGES, || {
            alone(&group, &address)
        });
        measure(&format!("{name}, batches of 64"), MESSAGES, || {
            in_batches(&group, &address)
        });
        measure(&format!("{name}, chains of 64"), MESSAGES, || {
            for _ in 0..MESSAGES / 64 {
                address.send_all(0..64).expect("room for 64 messages");
                group.run_all();
            }
        });
    }
    measure("answer, made, given and taken", MESSAGES, || {
        for number in 0..MESSAGES {
            let (reply, mut asked) = answer_channel();
            reply.send(number);
            black_box(asked.try_take());
        }
    });
    let before = resident_bytes();
    let mut actors = Vec::with_capacity(ACTORS);
    let begin = Instant::now();
    for _ in 0..ACTORS {
        actors.push(spawn(Arc::clone(&group), Sum(0), MailLimit::Bounded(8)));
    }
    let took = begin.elapsed().as_nanos() as f64 / ACTORS as f64;
    let bytes = (resident_bytes() - before) as f64 / ACTORS as f64;
    println!(
        "{:<40}{took:8.1} ns, {bytes:.0} bytes with its address",
        "spawn"
    );
}
