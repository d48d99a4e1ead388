//! The search: no entry waits while workers sleep that could run it.

use std::rc::Rc;
use std::time::Duration;

use horus_shm::internals::heap::search::{self, WorkerSleepEnd};
use horus_shm::internals::sync::Word;
use loom::thread;

use crate::loom_memory::LoomWord;
use crate::loom_memory::mutation::explore;
use crate::memory::LoomGroup;

/// Runs worker `index` until it has found an entry, which it returns. It sleeps without a limit, so
/// an entry that nobody is woken for is a deadlock.
fn work(group: &LoomGroup, index: usize) -> u64 {
    let mut searches = search::try_begin_search(group);
    loop {
        let own = &group.queues[index];
        let take = |from| own.take_one(from).or_else(|| own.steal_from(from));
        let found = group.queues.iter().find_map(take);
        if let Some(found) = found {
            if searches {
                search::end_search_with_entry(group);
            } else {
                // WHY: the others may have looked while this one had all entries in hand.
                search::wake_searcher(group);
            }
            return found;
        }
        if search::try_announce_sleeper(group, index, searches, || false) {
            sleep(group, index);
        }
        searches = true;
    }
}

/// Sleeps as worker `index` until it is woken to search.
fn sleep(group: &LoomGroup, index: usize) {
    loop {
        let watches = search::stays_watcher(group, index);
        if search::sleep_after_announcing(group, index, watches, Duration::MAX)
            == WorkerSleepEnd::Search
        {
            return;
        }
    }
}

fn working(group: &Rc<LoomGroup>, index: usize) -> thread::JoinHandle<u64> {
    let group = Rc::clone(group);
    thread::spawn(move || work(&group, index))
}

/// A worker is woken for the entry that was sent to another one, which sleeps as well.
pub(crate) fn no_entry_waits_while_its_workers_sleep() {
    explore(3, || {
        let group = Rc::new(LoomGroup::new(1));
        let worker = working(&group, 0);
        group.inject(0, 7);
        assert_eq!(worker.join().unwrap(), 7);
    });
}

/// Each of two workers gets one entry, and returns with it as one that does not return from its
/// handler: the other entry is left to the other worker.
pub(crate) fn a_worker_that_found_an_entry_leaves_the_other_to_the_next() {
    explore(2, || {
        let group = Rc::new(LoomGroup::new(2));
        let workers = [0, 1].map(|index| working(&group, index));
        group.inject(0, 1);
        group.inject(1, 2);
        let mut found = workers.map(|worker| worker.join().unwrap());
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
    });
}

/// An entry behind another one is found without a notice of its own.
pub(crate) fn entries_behind_the_first_need_no_notice() {
    explore(2, || {
        let group = Rc::new(LoomGroup::new(2));
        let workers = [0, 1].map(|index| working(&group, index));
        group.inject(0, 1);
        group.inject(0, 2);
        let mut found = workers.map(|worker| worker.join().unwrap());
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
    });
}

/// An entry that a worker appends to its own ring, and does not run, is run by another one.
pub(crate) fn an_appended_entry_is_stolen() {
    explore(3, || {
        let group = Rc::new(LoomGroup::new(2));
        let worker = working(&group, 1);
        assert!(group.queues[0].push(7));
        search::wake_searcher(&*group);
        assert_eq!(worker.join().unwrap(), 7);
    });
}

/// A worker that is to end does not sleep through it.
pub(crate) fn a_worker_that_is_wanted_does_not_sleep() {
    explore(3, || {
        let group = Rc::new(LoomGroup::new(1));
        let is_over = Rc::new(LoomWord::new(0));
        let (theirs, over) = (Rc::clone(&group), Rc::clone(&is_over));
        let worker = thread::spawn(move || {
            while over.get() == 0 {
                if search::try_announce_sleeper(&*theirs, 0, false, || over.get() != 0) {
                    sleep(&theirs, 0);
                }
                search::end_search_with_entry(&*theirs);
            }
        });
        is_over.set(1);
        search::wake_all(&*group);
        worker.join().unwrap();
    });
}

/// The owner of a `lifo_slot` makes a sleeper the watcher, which returns from its sleep to look.
pub(crate) fn a_watcher_is_appointed_and_woken() {
    explore(3, || {
        let group = Rc::new(LoomGroup::new(2));
        assert!(
            [0, 1].map(|worker| search::try_announce_sleeper(&*group, worker, false, || false))
                == [true; 2]
        );
        assert!(
            !search::stays_watcher(&*group, 0),
            "nobody watches while all sleep"
        );
        let theirs = Rc::clone(&group);
        let sleeper = thread::spawn(move || {
            while !search::stays_watcher(&*theirs, 1) {
                assert_eq!(
                    search::sleep_after_announcing(&*theirs, 1, false, Duration::MAX),
                    WorkerSleepEnd::Look
                );
            }
        });
        assert!(!search::withdraw_sleeper(&*group, 0, false));
        search::request_watcher(&*group);
        sleeper.join().unwrap();
    });
}

/// An entry that is sent while the group is closed is taken out by the thread that closes it, or by
/// a sender that sees this.
pub(crate) fn an_entry_is_not_left_in_a_closed_group() {
    explore(3, || {
        let group = Rc::new(LoomGroup::new(1));
        let take_all = |group: &LoomGroup| group.queues[0].take().collect::<Vec<_>>();
        let senders = [1, 2].map(|number| {
            let group = Rc::clone(&group);
            thread::spawn(move || {
                if group.inject_late(0, number) {
                    take_all(&group)
                } else {
                    Vec::new()
                }
            })
        });
        search::close(&*group);
        let mut taken = take_all(&group);
        for sender in senders {
            taken.extend(sender.join().unwrap());
        }
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}
