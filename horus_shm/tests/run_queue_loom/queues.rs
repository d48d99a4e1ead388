//! Rings, `lifo_slot`s and injectors: each entry is received once, with what it points to.

use std::rc::Rc;

use horus_shm::internals::heap::run_queue::{self, RunQueueMemory};
use horus_shm::internals::sync::PointerWord;
use loom::thread;

use crate::loom_memory::mutation::explore;
use crate::memory::{Item, LoomQueue};

/// Pops all that is left in `queues`, by their owners, and checks that each number up to `count`
/// was received once.
fn check(mut received: Vec<u64>, queues: &[&LoomQueue], count: u64) {
    for queue in queues {
        received.extend(std::iter::from_fn(|| queue.pop()));
    }
    received.sort_unstable();
    assert_eq!(received, (1..=count).collect::<Vec<_>>());
}

fn stealing(from: &Rc<LoomQueue>, to: &Rc<LoomQueue>) -> thread::JoinHandle<Option<u64>> {
    let (from, to) = (Rc::clone(from), Rc::clone(to));
    thread::spawn(move || to.steal_from(&from))
}

/// Owner and thief never both get an entry, and none is lost.
pub(crate) fn an_entry_goes_to_the_owner_or_to_a_thief() {
    explore(3, || {
        let [from, to] = [(); 2].map(|()| Rc::new(LoomQueue::new()));
        assert!(from.push(1));
        let thief = stealing(&from, &to);
        assert!(from.push(2));
        let mut received = Vec::from_iter(from.pop());
        received.extend(thief.join().unwrap());
        check(received, &[&from, &to], 2);
    });
}

/// Of two thieves one may find the other at work; between them nothing is lost either.
pub(crate) fn two_thieves_share_what_the_owner_leaves() {
    explore(3, || {
        let [from, first, second] = [(); 3].map(|()| Rc::new(LoomQueue::new()));
        assert!(from.push(1) && from.push(2));
        let thieves = [&first, &second].map(|to| stealing(&from, to));
        let mut received = Vec::from_iter(from.pop());
        received.extend(
            thieves
                .into_iter()
                .filter_map(|thief| thief.join().unwrap()),
        );
        check(received, &[&from, &first, &second], 2);
    });
}

/// The owner fills a slot again only after its thief has read it.
pub(crate) fn a_slot_is_used_again_after_its_thief() {
    explore(3, || {
        let [from, to] = [(); 2].map(|()| Rc::new(LoomQueue::new()));
        assert!(from.push(1) && from.push(2));
        let thief = stealing(&from, &to);
        let mut received = Vec::new();
        let mut count = 2;
        for _ in 0..2 {
            count += u64::from(from.push(count + 1));
            received.extend(from.pop());
        }
        received.extend(thief.join().unwrap());
        check(received, &[&from, &to], count);
    });
}

/// The entry in a `lifo_slot` goes to one thread, which sees its payload.
pub(crate) fn a_lifo_entry_goes_to_the_owner_or_to_a_thief() {
    explore(3, || {
        let queue = Rc::new(LoomQueue::new());
        let theirs = Rc::clone(&queue);
        let thief = thread::spawn(move || {
            let seen = theirs.lifo_slot().get();
            let stolen = !seen.is_null() && run_queue::try_steal_lifo_entry(&*theirs, seen);
            stolen.then(|| Item::receive(seen))
        });
        let mut received = Vec::new();
        for number in [1, 2] {
            let former = run_queue::put_lifo_entry(&*queue, Item::allocate(number));
            received.extend(former.map(Item::receive));
        }
        received.extend(run_queue::take_lifo_entry(&*queue, true).map(Item::receive));
        received.extend(thief.join().unwrap());
        check(received, &[], 2);
    });
}

/// Entries of two senders are taken once, and with their links.
pub(crate) fn an_injected_entry_is_taken_once() {
    explore(3, || {
        let queue = Rc::new(LoomQueue::new());
        let senders = [1, 2].map(|number| {
            let queue = Rc::clone(&queue);
            thread::spawn(move || queue.inject(number))
        });
        let mut received = Vec::from_iter(queue.take());
        let found_empty = senders.map(|sender| sender.join().unwrap());
        assert!(found_empty.contains(&true), "the first one finds no entry");
        received.extend(queue.take());
        check(received, &[], 2);
    });
}

/// The rest of a stack goes to the owner or to a thief; the part that was kept is in order.
pub(crate) fn a_chain_is_taken_once() {
    explore(3, || {
        let queue = Rc::new(LoomQueue::new());
        let theirs = Rc::clone(&queue);
        let thief = thread::spawn(move || Vec::from_iter(theirs.take()));
        for number in 1..=3 {
            let _is_first = queue.inject(number);
        }
        let mut list = queue.take();
        let mut received = Vec::from_iter(list.split(2));
        assert!(received.is_sorted(), "oldest first");
        assert!(received.len() <= 2, "more than the limit");
        queue.put_back_as_chain(list);
        received.extend(queue.take());
        received.extend(thief.join().unwrap());
        received.extend(queue.take());
        check(received, &[], 3);
    });
}
