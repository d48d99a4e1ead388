//! Answers and the depot: a value or a block has one owner, whichever side leaves first.

use loom::thread;

use crate::answers::{LoomAnswer, LoomDepot};
use crate::loom_memory::mutation::explore;

/// Two threads that push and pop: each item has one owner, who sees its content.
pub(crate) fn an_item_of_the_depot_has_one_owner() {
    explore(3, || {
        let depot = LoomDepot::new(3);
        depot.push(3, 30);
        let theirs = depot.clone();
        let other = thread::spawn(move || {
            theirs.push(1, 10);
            theirs.pop()
        });
        depot.push(2, 20);
        let own = depot.pop();
        let mut found = vec![own, other.join().unwrap()];
        found.extend(std::iter::repeat_with(|| depot.pop()).take(2));
        found.sort_unstable();
        assert_eq!(found, [None, Some((1, 10)), Some((2, 20)), Some((3, 30))]);
    });
}

/// A thread that pops while another one pops and pushes the same item again does not take the stack
/// for the one that it was.
pub(crate) fn a_stack_that_looks_the_same_is_another_one() {
    explore(3, || {
        let depot = LoomDepot::new(2);
        depot.push(1, 10);
        depot.push(2, 20);
        let theirs = depot.clone();
        let other = thread::spawn(move || theirs.pop());
        let first = depot.pop();
        let second = depot.pop();
        if let Some((number, content)) = first {
            depot.push(number, content);
        }
        let mut found = vec![other.join().unwrap(), second];
        found.extend(std::iter::repeat_with(|| depot.pop()).take(2));
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        found.sort_unstable();
        assert_eq!(found, [(1, 10), (2, 20)]);
    });
}

/// An asker that looks takes the whole value, or later.
pub(crate) fn an_answer_is_whole() {
    explore(3, || {
        let answer = LoomAnswer::new();
        let theirs = answer.clone();
        let replying = thread::spawn(move || theirs.give(Some(7)));
        let early = answer.try_take();
        assert_eq!(replying.join().unwrap(), None);
        assert_eq!(early.or_else(|| answer.try_take()), Some(Some(7)));
        assert!(answer.is_freed());
    });
}

/// An asker whose waker was registered is woken by that waker, or finds the reply itself.
pub(crate) fn a_registered_waker_is_called() {
    for value in [Some(7), None] {
        explore(3, move || {
            let answer = LoomAnswer::new();
            let theirs = answer.clone();
            let replying = thread::spawn(move || theirs.give(value));
            let is_registered = answer.register(1);
            let early = (!is_registered).then(|| answer.try_take().unwrap());
            let woken = replying.join().unwrap();
            assert_eq!(woken, is_registered.then_some(1));
            assert_eq!(early.or_else(|| answer.try_take()), Some(value));
            assert!(answer.is_freed());
        });
    }
}

/// An asker that waits again with another waker is woken by the newer one, unless the replier has
/// taken the older one already.
pub(crate) fn a_waker_is_replaced() {
    explore(3, || {
        let answer = LoomAnswer::new();
        let theirs = answer.clone();
        assert!(answer.register(1));
        let replying = thread::spawn(move || theirs.give(Some(7)));
        let is_retracted = answer.retract();
        let is_registered = is_retracted && answer.register(2);
        let early = (is_retracted && !is_registered).then(|| answer.try_take().unwrap());
        let woken = replying.join().unwrap();
        let wanted = match (is_retracted, is_registered) {
            (false, _) => Some(1),
            (true, true) => Some(2),
            (true, false) => None,
        };
        assert_eq!(woken, wanted);
        assert_eq!(early.or_else(|| answer.try_take()), Some(Some(7)));
        assert!(answer.is_freed());
    });
}

/// An asker that gives up after a timeout leaves; the value and the memory have one owner.
pub(crate) fn an_answer_that_is_left_has_one_owner() {
    for value in [Some(7), None] {
        explore(3, move || {
            let answer = LoomAnswer::new();
            let theirs = answer.clone();
            let replying = thread::spawn(move || theirs.give(value));
            if answer.register(1) {
                let _ = answer.retract();
            }
            if let Some(found) = answer.leave() {
                assert_eq!(found, value);
            }
            replying.join().unwrap();
            assert!(answer.is_freed());
        });
    }
}

/// The same without a wait.
pub(crate) fn an_answer_may_be_left_at_once() {
    explore(3, || {
        let answer = LoomAnswer::new();
        let theirs = answer.clone();
        let replying = thread::spawn(move || theirs.give(Some(7)));
        if let Some(found) = answer.leave() {
            assert_eq!(found, Some(7));
        }
        replying.join().unwrap();
        assert!(answer.is_freed());
    });
}
