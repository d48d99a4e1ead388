//! Mailboxes against a queue with markers, in steps: order, room, ends, undelivered messages.

use horus_testing as _;

mod actors;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actors::{Control, Queue};
use horus_shm::internals::heap::{
    Activation, ActorEndReport, Address, Behaviour, ControlHandle, Event, Flow, MailLimit, Panic,
    Refusal, SendOutcome, WeakAddress, spawn,
};
use proptest::prelude::*;

/// An entry of the log of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// A message of this version.
    Message(u32, u64),
    Note(u32),
    Swap(u32),
    Failed(u64),
    End(u64),
}

type Log = Arc<Mutex<Vec<Entry>>>;

/// An actor that logs, and fails at messages that are multiples of seven.
struct Logger {
    version: u32,
    last: u64,
    log: Log,
}

impl Logger {
    fn spawn(group: &Arc<Queue>, mail: MailLimit) -> (Address<u64, Queue>, Log) {
        let log = Log::default();
        let logger = Self {
            version: 0,
            last: 0,
            log: Arc::clone(&log),
        };
        (spawn(Arc::clone(group), logger, mail), log)
    }

    fn note(&self, entry: Entry) {
        self.log.lock().unwrap().push(entry);
    }
}

fn fails(message: u64) -> bool {
    message % 7 == 6
}

impl Behaviour<Queue> for Logger {
    type Message = u64;

    fn handle(&mut self, event: Event<u64, Control>, _: &mut Activation<'_, u64, Queue>) -> Flow {
        match event {
            Event::Message(message) => {
                self.last = message;
                if fails(message) {
                    std::panic::panic_any(message);
                }
                self.note(Entry::Message(self.version, message));
            }
            Event::Control(Control::Note(number)) => self.note(Entry::Note(number)),
            Event::Control(Control::Swap(version)) => {
                self.version = version;
                self.note(Entry::Swap(version));
            }
            Event::Control(Control::Stop) => return Flow::Stop,
        }
        Flow::Continue
    }

    fn handle_panic(&mut self, panic: Panic, _: &mut Activation<'_, u64, Queue>) -> Flow {
        assert_eq!(panic.downcast_ref(), Some(&self.last));
        self.note(Entry::Failed(self.last));
        Flow::Continue
    }

    fn handle_end(&mut self, end: &ActorEndReport, _: &Queue, _: Option<&mut ()>) {
        assert_eq!(end.panics, 0);
        self.note(Entry::End(end.undelivered));
    }
}

/// One step of a case. Senders are addresses of one actor.
#[derive(Debug, Clone)]
enum Step {
    Send,
    SendAll(u8),
    Note,
    Swap,
    Stop,
    Run(u8),
    AddAddress,
    DropAddress,
    Upgrade,
    DropRunnable,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Send),
        2 => (0_u8..6).prop_map(Step::SendAll),
        2 => Just(Step::Note),
        2 => Just(Step::Swap),
        6 => (1_u8..9).prop_map(Step::Run),
        1 => Just(Step::AddAddress),
        1 => Just(Step::DropAddress),
        1 => Just(Step::Upgrade),
        1 => prop_oneof![
            30 => Just(Step::Run(1)),
            2 => Just(Step::Stop),
            1 => Just(Step::DropRunnable),
        ],
    ]
}

fn mail() -> impl Strategy<Value = MailLimit> {
    prop_oneof![
        (1_u16..20).prop_map(MailLimit::Bounded),
        Just(MailLimit::Unbounded),
        Just(MailLimit::Latest),
    ]
}

/// The slow and obvious mailbox.
struct Oracle {
    mail: MailLimit,
    items: VecDeque<Item>,
    log: Vec<Entry>,
    version: u32,
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Message(u64),
    /// The place of the latest message, which may be replaced.
    Latest(u64),
    Note(u32),
    Swap(u32),
    Stop,
}

impl Oracle {
    fn depth(&self) -> usize {
        let counted = |item: &&Item| matches!(item, Item::Message(_) | Item::Swap(_));
        self.items.iter().filter(counted).count()
    }

    fn has_room(&self, count: usize) -> bool {
        match self.mail {
            MailLimit::Bounded(capacity) => self.depth() + count <= usize::from(capacity),
            MailLimit::Unbounded | MailLimit::Latest => true,
        }
    }

    /// Returns true if it replaced a message.
    fn send(&mut self, message: u64) -> bool {
        if self.mail != MailLimit::Latest {
            self.items.push_back(Item::Message(message));
            return false;
        }
        let latest = |item: &&mut Item| matches!(item, Item::Latest(_));
        if let Some(place) = self.items.iter_mut().find(latest) {
            *place = Item::Latest(message);
            return true;
        }
        self.items.push_back(Item::Latest(message));
        false
    }

    /// Handles up to `max` things, and ends without addresses.
    fn run(&mut self, max: u32) {
        for _ in 0..max {
            match self.items.pop_front() {
                Some(Item::Message(message) | Item::Latest(message)) => {
                    self.log.push(if fails(message) {
                        Entry::Failed(message)
                    } else {
                        Entry::Message(self.version, message)
                    });
                }
                Some(Item::Note(number)) => self.log.push(Entry::Note(number)),
                Some(Item::Swap(version)) => {
                    self.version = version;
                    self.log.push(Entry::Swap(version));
                }
                Some(Item::Stop) => return self.end(),
                None => break,
            }
        }
    }

    fn end(&mut self) {
        let message = |item: &&Item| matches!(item, Item::Message(_) | Item::Latest(_));
        let undelivered = self.items.iter().filter(message).count();
        self.items.clear();
        self.log.push(Entry::End(undelivered as u64));
        self.has_ended = true;
    }
}

/// A case: an actor, and its oracle.
struct World {
    group: Arc<Queue>,
    control: ControlHandle<Queue>,
    weak: WeakAddress<u64, Queue>,
    addresses: Vec<Address<u64, Queue>>,
    log: Log,
    oracle: Oracle,
    next: u64,
}

impl World {
    fn new(mail: MailLimit) -> Self {
        let group = Queue::new();
        let (address, log) = Logger::spawn(&group, mail);
        let oracle = Oracle {
            mail,
            items: VecDeque::new(),
            log: Vec::new(),
            version: 0,
            has_ended: false,
        };
        Self {
            group,
            control: address.control_handle(),
            weak: address.downgrade(),
            addresses: vec![address],
            log,
            oracle,
            next: 0,
        }
    }

    fn step(&mut self, step: &Step) {
        self.next += 1;
        let number = self.next;
        match step {
            Step::Send => self.send(number),
            Step::SendAll(count) => self.send_all(number, u64::from(*count)),
            Step::Note => {
                self.send_control(Control::Note(number as u32), Item::Note(number as u32))
            }
            Step::Swap => {
                let swap = Control::Swap(number as u32);
                let sent = self.control.send_counted_control(swap.clone());
                if self.oracle.has_ended {
                    assert_eq!(sent, Err(Refusal::Disconnected(swap)));
                } else if self.oracle.has_room(1) {
                    assert_eq!(sent, Ok(()));
                    self.expect(Item::Swap(number as u32));
                } else {
                    assert_eq!(sent, Err(Refusal::Full(swap)));
                }
            }
            Step::Stop => self.send_control(Control::Stop, Item::Stop),
            Step::Run(max) => self.run(u32::from(*max)),
            Step::AddAddress => self.addresses.extend(self.addresses.last().cloned()),
            Step::DropAddress => drop(self.addresses.pop()),
            Step::Upgrade => {
                let address = self.weak.upgrade();
                if self.oracle.has_ended {
                    assert!(address.is_none());
                }
                self.addresses.extend(address);
            }
            Step::DropRunnable => {
                if let Some(runnable) = self.group.pop() {
                    drop(runnable);
                    self.oracle.end();
                }
            }
        }
        assert_eq!(*self.log.lock().unwrap(), self.oracle.log);
    }

    /// Sends what needs no room.
    fn send_control(&mut self, control: Control, item: Item) {
        let sent = self.control.send(control);
        assert_eq!(sent.is_err(), self.oracle.has_ended);
        self.expect(item);
    }

    fn expect(&mut self, item: Item) {
        if !self.oracle.has_ended {
            self.oracle.items.push_back(item);
        }
    }

    fn send(&mut self, number: u64) {
        let Some(address) = self.addresses.first() else {
            return;
        };
        let sent = address.send(number);
        if self.oracle.has_ended {
            assert_eq!(sent, Err(Refusal::Disconnected(number)));
        } else if !self.oracle.has_room(1) {
            assert_eq!(sent, Err(Refusal::Full(number)));
        } else if self.oracle.send(number) {
            assert_eq!(sent, Ok(SendOutcome::Replaced));
        } else {
            assert_eq!(sent, Ok(SendOutcome::Added));
        }
    }

    fn send_all(&mut self, first: u64, count: u64) {
        self.next += count;
        let Some(address) = self.addresses.first() else {
            return;
        };
        let messages: Vec<_> = (first..first + count).collect();
        let sent = address.send_all(messages.iter().copied());
        if count == 0 {
            assert_eq!(sent, Ok(()));
        } else if self.oracle.has_ended {
            assert_eq!(sent, Err(Refusal::Disconnected(messages)));
        } else if !self.oracle.has_room(messages.len()) {
            assert_eq!(sent, Err(Refusal::Full(messages)));
        } else {
            assert_eq!(sent, Ok(()));
            for message in messages {
                self.oracle.send(message);
            }
        }
    }

    /// Runs the actor, and lets the oracle follow: it also ends if no address is left.
    fn run(&mut self, max: u32) {
        let has_run = self.group.run_one(max);
        if !has_run {
            assert!(self.oracle.items.is_empty() || self.oracle.has_ended);
            return;
        }
        let before = self.oracle.items.len();
        let has_stop = self
            .oracle
            .items
            .iter()
            .take(max as usize)
            .any(|&item| item == Item::Stop);
        self.oracle.run(max);
        // WHY the log: the block of the last address, which is no message, also takes a look.
        let has_ended = matches!(self.log.lock().unwrap().last(), Some(Entry::End(_)));
        if has_ended && !has_stop {
            assert!(self.addresses.is_empty() && before < max as usize + 1);
            self.oracle.end();
        }
    }

    fn finish(mut self) {
        self.addresses.clear();
        for _ in 0..1000 {
            self.run(3);
        }
        assert!(self.oracle.has_ended && self.oracle.items.is_empty());
        assert!(self.control.is_disconnected() && self.weak.upgrade().is_none());
        assert_eq!(*self.log.lock().unwrap(), self.oracle.log);
        // The cell, and the state in it, are dropped with the last handle.
        let (log, group) = (self.log, self.group);
        drop((self.control, self.weak));
        assert_eq!((Arc::strong_count(&log), Arc::strong_count(&group)), (1, 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 600 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Any interleaving of messages, swaps, stops and turns equals a queue with markers.
    #[test]
    fn a_mailbox_matches_a_queue_with_markers(
        mail in mail(),
        steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 120 }),
    ) {
        silence();
        let mut world = World::new(mail);
        for step in &steps {
            world.step(step);
        }
        world.finish();
    }
}

/// Suppresses the messages of the panics that tests make on purpose.
fn silence() {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<u64>() {
                loud(info);
            }
        }));
    });
}

/// An actor that fills its own mailbox from within each message.
struct Filler {
    capacity: u16,
    /// Messages that it put there, or was sent.
    pending: usize,
    accepted: Arc<Mutex<Vec<usize>>>,
}

impl Behaviour<Queue> for Filler {
    type Message = bool;

    fn handle(
        &mut self,
        event: Event<bool, Control>,
        turn: &mut Activation<'_, bool, Queue>,
    ) -> Flow {
        let Event::Message(fills) = event else {
            return Flow::Stop;
        };
        if fills {
            let address = turn.address();
            let room = 2 * usize::from(self.capacity);
            self.pending += (0..room)
                .take_while(|_| address.send(false).is_ok())
                .count();
            self.accepted.lock().unwrap().push(self.pending);
        }
        self.pending -= 1;
        Flow::Continue
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, bool, Queue>) -> Flow {
        Flow::Stop
    }
}

/// A mailbox holds its capacity at first and after each activation, even one that left messages.
#[test]
fn a_mailbox_holds_its_capacity() {
    let capacities = if cfg!(miri) {
        vec![1, 9, 64]
    } else {
        (1..80).chain([1024, 32_767]).collect()
    };
    for capacity in capacities {
        let group = Queue::new();
        let (address, log) = Logger::spawn(&group, MailLimit::Bounded(capacity));
        for max in [u32::MAX, 1, 3, 7, u32::MAX] {
            for _ in address.waiting_messages()..u32::from(capacity) {
                assert_eq!(address.send(0), Ok(SendOutcome::Added));
            }
            assert_eq!(address.send(0), Err(Refusal::Full(0)));
            assert_eq!(address.send_all([0]), Err(Refusal::Full(vec![0])));
            let swap = Control::Swap(1);
            let refused = address.control_handle().send_counted_control(swap.clone());
            assert_eq!(refused, Err(Refusal::Full(swap)));
            let before = log.lock().unwrap().len();
            // WHY a loop: an activation may only turn the links of a long list around.
            let handled = loop {
                assert!(group.run_one(max));
                let handled = log.lock().unwrap().len() - before;
                if handled > 0 {
                    break handled;
                }
            };
            assert_eq!(handled, max.min(u32::from(capacity)) as usize);
            let waiting = address.waiting_messages() as usize;
            assert_eq!(waiting, usize::from(capacity) - handled);
        }
    }
}

/// Within a handler, the mailbox accepts at least `n − max(1, n / 8) + 1` with what is in hand.
#[test]
fn a_handler_finds_its_mailbox_filled_up_to_an_eighth() {
    for capacity in [1, 2, 7, 8, 9, 16, 17, 100, 1024] {
        for before in [0, 1, 3, 7, 15, 99] {
            if before >= capacity {
                continue;
            }
            let group = Queue::new();
            let seen = Arc::default();
            let filler = Filler {
                capacity,
                pending: usize::from(before) + 1,
                accepted: Arc::clone(&seen),
            };
            let address = spawn(Arc::clone(&group), filler, MailLimit::Bounded(capacity));
            for message in (0..before).map(|_| false).chain([true]) {
                assert_eq!(address.send(message), Ok(SendOutcome::Added));
            }
            group.run_all();
            let (pending, capacity) = (seen.lock().unwrap()[0], usize::from(capacity));
            let least = capacity - (capacity / 8).max(1) + 1;
            assert!(
                (least..=capacity).contains(&pending),
                "{pending} of {capacity}"
            );
        }
    }
}

/// An actor that puts messages aside.
struct Stasher(Vec<bool>);

impl Behaviour<Queue> for Stasher {
    type Message = bool;

    fn handle(
        &mut self,
        event: Event<bool, Control>,
        turn: &mut Activation<'_, bool, Queue>,
    ) -> Flow {
        match event {
            Event::Message(true) => {
                assert!(turn.keep_counting_if_counted());
                self.0.push(true);
            }
            _ => {
                for _ in self.0.drain(..) {
                    turn.stop_counting_kept_message();
                }
            }
        }
        Flow::Continue
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, bool, Queue>) -> Flow {
        Flow::Stop
    }
}

#[test]
fn messages_put_aside_stay_in_the_depth() {
    let group = Queue::new();
    let address = spawn(Arc::clone(&group), Stasher(vec![]), MailLimit::Bounded(4));
    for _ in 0..3 {
        address.send(true).unwrap();
        group.run_all();
    }
    assert_eq!(address.waiting_messages(), 3);
    address.send(true).unwrap();
    assert_eq!(address.send(false), Err(Refusal::Full(false)));
    address.control_handle().send(Control::Note(0)).unwrap();
    group.run_all();
    assert_eq!(address.waiting_messages(), 0);
    // The end needs no room.
    address.send(true).unwrap();
    group.run_all();
    drop(address);
    group.run_all();
    assert_eq!(group.ended(), 1);
}

/// A long list of an unbounded mailbox is turned around in steps, and stays in order.
#[test]
fn a_long_list_is_handled_in_order() {
    let group = Queue::new();
    let (address, log) = Logger::spawn(&group, MailLimit::Unbounded);
    let numbers = (0..20_000)
        .filter(|&number| !fails(number))
        .take(if cfg!(miri) { 4200 } else { 10_000 });
    let numbers: Vec<_> = numbers.collect();
    for &number in &numbers {
        address.send(number).unwrap();
    }
    // The first activation only turns links around.
    assert!(group.run_one(u32::MAX));
    assert!(log.lock().unwrap().is_empty());
    group.run_all();
    let handled: Vec<_> = log.lock().unwrap().clone();
    let wanted: Vec<_> = numbers
        .iter()
        .map(|&number| Entry::Message(0, number))
        .collect();
    assert_eq!(handled, wanted);
}

/// The end in the middle of such a walk discards all that waits.
#[test]
fn an_end_in_the_middle_of_a_walk_discards_all() {
    let group = Queue::new();
    let (address, log) = Logger::spawn(&group, MailLimit::Unbounded);
    let count = if cfg!(miri) { 4200 } else { 10_000 };
    address
        .send_all((0..count).map(|number| number * 7))
        .unwrap();
    assert!(group.run_one(u32::MAX));
    address.send(0).unwrap();
    group.clear();
    assert_eq!(*log.lock().unwrap(), [Entry::End(count + 1)]);
    assert_eq!(address.send(1), Err(Refusal::Disconnected(1)));
}
