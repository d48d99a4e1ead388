//! Mailboxes: messages, sleep, room, the last address, and the end of an actor.

use horus_shm::internals::latest::{self, PutOutcome};
use horus_shm::internals::mailbox::{
    self, BlockList, MailboxMemory, PushOutcome, RefusalReason, Tag,
};
use horus_shm::internals::wait::{SLEEP_MAX, has_sleepers, sleep_once, wake};
use loom::thread;

use crate::loom_memory::mutation::explore;
use crate::loom_memory::sleepers::LoomEvent;
use crate::mailboxes::Place;

/// Returns those of `messages` that the sender of `first` and `first + 1` … sent.
fn of_sender(messages: &[u64], first: u64) -> Vec<u64> {
    let theirs = messages.iter().filter(|&&one| one / 10 == first / 10);
    theirs.copied().collect()
}

/// Two senders: each message is handled once, in the order of its sender, whichever thread runs the
/// actor; and the actor sleeps at the end.
pub(crate) fn a_message_is_handled_once() {
    explore(2, || {
        let cell = Place::new(3, 0);
        let sending = thread::spawn(move || {
            cell.send(10).unwrap();
            cell.send(11).unwrap();
        });
        cell.send(20).unwrap();
        sending.join().unwrap();
        let handled = cell.handled();
        assert_eq!(of_sender(&handled, 10), [10, 11]);
        assert_eq!(of_sender(&handled, 20), [20]);
        assert_eq!(handled.len(), 3);
        assert_eq!(cell.free_blocks(), 3);
    });
}

/// Two senders and a runner that does nothing else.
pub(crate) fn a_runner_sees_what_two_senders_sent() {
    explore(2, || {
        let cell = Place::new(3, 0);
        let first = cell.fill(30);
        // SAFETY: the block is this thread's.
        let woke = unsafe { mailbox::push_chain(cell, cell.chain(first), 0) };
        assert_eq!(woke, Ok(PushOutcome::Woke));
        let sending = [10, 20].map(|message| thread::spawn(move || cell.send(message).unwrap()));
        cell.run(&|| {});
        for sending in sending {
            sending.join().unwrap();
        }
        let mut handled = cell.handled();
        assert_eq!(handled.remove(0), 30);
        handled.sort_unstable();
        assert_eq!(handled, [10, 20]);
    });
}

/// A block that comes back is not used again while the word names it.
pub(crate) fn a_block_that_comes_back_is_another_one() {
    explore(3, || {
        let cell = Place::new(4, 0);
        let sending = thread::spawn(move || {
            cell.send(10).unwrap();
            cell.send(11).unwrap();
            cell.send(12).unwrap();
        });
        cell.send(20).unwrap();
        sending.join().unwrap();
        assert_eq!(of_sender(&cell.handled(), 10), [10, 11, 12]);
        assert_eq!(cell.free_blocks(), 4);
    });
}

/// A mailbox never holds more than its capacity, and a sender that waits for room is woken.
pub(crate) fn a_sender_waits_for_room() {
    explore(2, || {
        let cell = Place::new(3, 1);
        let event = LoomEvent::new();
        let first = cell.fill(10);
        // SAFETY: the block is this thread's.
        let woke = unsafe { mailbox::push_chain(cell, cell.chain(first), 1) };
        assert_eq!(woke, Ok(PushOutcome::Woke));
        let theirs = event.clone();
        let sending = thread::spawn(move || {
            let wake_senders = || notify(&theirs);
            let poll = || {
                loop {
                    assert!(mailbox::mailbox_depth(cell) <= 1);
                    match send_and_run(cell, 20, &wake_senders) {
                        Err(RefusalReason::Full) if mailbox::try_mark_room_wanted(cell, 1) => {
                            return None;
                        }
                        Err(RefusalReason::Full) => {}
                        sent => return Some(sent),
                    }
                }
            };
            while sleep_once(&[&theirs], SLEEP_MAX, poll).is_none() {}
        });
        cell.run(&|| notify(&event));
        sending.join().unwrap();
        assert_eq!(cell.handled(), [10, 20]);
    });
}

/// The same, with a runner that subtracts before it sleeps.
pub(crate) fn a_sender_waits_for_a_step() {
    explore(2, || {
        let cell = Place::new(3, 1);
        let event = LoomEvent::new();
        let first = cell.fill(10);
        // SAFETY: the block is this thread's.
        let woke = unsafe { mailbox::push_chain(cell, cell.chain(first), 1) };
        assert_eq!(woke, Ok(PushOutcome::Woke));
        let theirs = event.clone();
        let sending = thread::spawn(move || {
            let poll = || {
                loop {
                    match cell.send(20) {
                        Err(RefusalReason::Full) if mailbox::try_mark_room_wanted(cell, 1) => {
                            return None;
                        }
                        Err(RefusalReason::Full) => {}
                        sent => return Some(sent),
                    }
                }
            };
            while sleep_once(&[&theirs], SLEEP_MAX, poll).is_none() {}
        });
        assert!(cell.handle());
        if mailbox::subtract_handled_messages(cell, 1) {
            notify(&event);
        }
        sending.join().unwrap();
        assert!(cell.handle() && !cell.handle());
        assert_eq!(cell.handled(), [10, 20]);
    });
}

fn notify(event: &LoomEvent) {
    if has_sleepers(event) {
        wake(event);
    }
}

fn send_and_run(cell: Place, message: u64, wake_senders: &dyn Fn()) -> Result<(), RefusalReason> {
    let address = cell.fill(message);
    // SAFETY: the block is this thread's.
    match unsafe { mailbox::push_chain(cell, cell.chain(address), 1) } {
        Ok(PushOutcome::Woke) => cell.run(wake_senders),
        Ok(PushOutcome::Added) => {}
        Err(refused) => {
            cell.empty(address);
            // SAFETY: the block was refused.
            unsafe { cell.free_block(address) };
            return Err(refused);
        }
    }
    Ok(())
}

/// A message that meets the end of the actor is handled, discarded or refused, and only one of
/// them.
pub(crate) fn a_message_at_the_end_has_one_fate() {
    explore(3, || {
        let cell = Place::new(3, 0);
        let first = cell.fill(10);
        // SAFETY: the block is this thread's.
        let woke = unsafe { mailbox::push_chain(cell, cell.chain(first), 0) };
        assert_eq!(woke, Ok(PushOutcome::Woke));
        let sending = [20, 30].map(|message| thread::spawn(move || cell.send(message)));
        cell.handle();
        cell.end();
        let mut accepted = vec![10];
        for (sending, message) in sending.into_iter().zip([20, 30]) {
            accepted.extend(sending.join().unwrap().is_ok().then_some(message));
        }
        let mut found = [cell.handled(), cell.discarded()].concat();
        found.sort_unstable();
        assert_eq!(found, accepted);
        assert_eq!(cell.free_blocks(), 3);
        assert_eq!(cell.send(40), Err(RefusalReason::Gone));
    });
}

/// An actor whose addresses leave ends after all that they sent, and its cell is freed once.
pub(crate) fn an_actor_without_addresses_ends_after_its_mail() {
    explore(2, || {
        let cell = Place::new(2, 0);
        cell.cell().holders.add_address();
        let leaving = thread::spawn(move || {
            cell.send(10).unwrap();
            cell.remove_address();
        });
        cell.send(20).unwrap();
        cell.remove_address();
        leaving.join().unwrap();
        let mut handled = cell.handled();
        handled.sort_unstable();
        assert_eq!(handled, [10, 20]);
        assert!(cell.is_freed());
        assert_eq!(cell.free_blocks(), 2);
    });
}

/// Mail that comes before the last address leaves is handled, even if the runner decides the end by
/// the count alone.
pub(crate) fn the_end_sees_mail_of_an_address_that_left() {
    explore(3, || {
        let cell = Place::new(2, 0);
        let first = cell.fill(20);
        // SAFETY: the block is this thread's.
        let woke = unsafe { mailbox::push_chain(cell, cell.chain(first), 0) };
        assert_eq!(woke, Ok(PushOutcome::Woke));
        let leaving = thread::spawn(move || {
            cell.send(10).unwrap();
            cell.remove_address();
        });
        cell.run(&|| {});
        leaving.join().unwrap();
        assert_eq!(cell.handled(), [20, 10]);
        assert!(cell.discarded().is_empty());
        assert!(cell.is_freed());
    });
}

/// A weak address that comes back to life while the last address leaves either fails, or keeps the
/// actor until its own mail is handled. The cell is freed once, after its last use.
pub(crate) fn an_upgrade_meets_the_end() {
    explore(3, || {
        let cell = Place::new(2, 0);
        cell.cell().holders.add_hold();
        let upgrading = thread::spawn(move || {
            let is_up = cell.cell().holders.upgrade();
            if is_up {
                cell.send(10).unwrap();
                cell.remove_address();
            }
            cell.touch();
            cell.free_if(cell.cell().holders.remove_hold());
            is_up
        });
        cell.remove_address();
        let is_up = upgrading.join().unwrap();
        let wanted: &[u64] = if is_up { &[10] } else { &[] };
        assert_eq!(cell.handled(), wanted);
        assert!(cell.is_freed());
    });
}

/// The block of the last address is used again once the runner is done with it, while the actor
/// stays awake.
pub(crate) fn the_last_address_leaves_twice() {
    explore(3, || {
        let cell = Place::new(2, 0);
        cell.cell().holders.add_hold();
        let first = cell.fill(20);
        // SAFETY: the block is this thread's.
        let woke = unsafe { mailbox::push_chain(cell, cell.chain(first), 0) };
        assert_eq!(woke, Ok(PushOutcome::Woke));
        cell.remove_address();
        assert!(cell.handle());
        let upgrading = thread::spawn(move || {
            let is_up = cell.cell().holders.upgrade();
            if is_up {
                cell.send(10).unwrap();
                cell.remove_address();
            }
            cell.free_if(cell.cell().holders.remove_hold());
            is_up
        });
        // WHY: loom takes what follows a spawn without a store for a part of what is before it.
        cell.cell().holders.add_hold();
        assert!(!cell.cell().holders.remove_hold());
        cell.run(&|| {});
        let is_up = upgrading.join().unwrap();
        let wanted: &[u64] = if is_up { &[20, 10] } else { &[20] };
        assert_eq!(cell.handled(), wanted);
        assert!(cell.is_freed());
    });
}

/// A cell is freed after the last use by each of its holders.
pub(crate) fn a_cell_is_freed_after_its_last_use() {
    explore(3, || {
        let cell = Place::new(0, 0);
        cell.cell().holders.add_hold();
        let holding = thread::spawn(move || {
            cell.touch();
            cell.free_if(cell.cell().holders.remove_hold());
        });
        cell.remove_address();
        holding.join().unwrap();
        assert!(cell.is_freed());
    });
}

/// A mailbox that keeps the latest gives each message to the actor or to a sender that replaced it,
/// and always the newest one to the actor.
pub(crate) fn the_latest_message_is_handled_or_replaced() {
    explore(2, || {
        let cell = Place::new(6, 0);
        let sending = thread::spawn(move || put_all(cell, &[10, 11]));
        let mut replaced = put_all(cell, &[20]);
        replaced.extend(sending.join().unwrap());
        let handled = cell.handled();
        let newest = *handled.last().unwrap();
        assert!(newest == 11 || newest == 20);
        let mut found = [handled, replaced].concat();
        found.sort_unstable();
        assert_eq!(found, [10, 11, 20]);
        assert_eq!(cell.free_blocks(), 6);
    });
}

/// The same at the end of the actor.
pub(crate) fn the_latest_message_at_the_end_has_one_fate() {
    explore(2, || {
        let cell = Place::new(5, 0);
        let first = cell.fill(30);
        // SAFETY: the block is this thread's.
        let woke = unsafe { mailbox::push_chain(cell, cell.chain(first), 0) };
        assert_eq!(woke, Ok(PushOutcome::Woke));
        let sending = thread::spawn(move || put_all(cell, &[10]));
        let own = thread::spawn(move || put_all(cell, &[20]));
        cell.end();
        let mut found = [sending.join().unwrap(), own.join().unwrap()].concat();
        found.extend(cell.discarded());
        found.sort_unstable();
        assert_eq!(found, [10, 20, 30]);
    });
}

/// Sends `messages` to the slot, and returns those that came back.
fn put_all(cell: Place, messages: &[u64]) -> Vec<u64> {
    let mut back = Vec::new();
    for &message in messages {
        let (notice, own) = (cell.fill(u64::MAX), cell.fill(message));
        let chain = BlockList::of_block(notice, Tag::new(2, false));
        // SAFETY: both blocks are this thread's.
        let put = unsafe { latest::put_latest(cell, &cell.cell().slot, own, chain) };
        let other = match put {
            PutOutcome::Sent(pushed) => {
                cell.run_if(pushed);
                continue;
            }
            PutOutcome::Replaced(other) | PutOutcome::Gone(other) => other,
        };
        cell.empty(notice);
        // SAFETY: the notice was not sent.
        unsafe { cell.free_block(notice) };
        back.push(cell.empty(other));
        // SAFETY: the message came back.
        unsafe { cell.free_block(other) };
    }
    back
}

/// Chains are handled in one piece, in their order.
pub(crate) fn a_chain_is_sent_at_once() {
    explore(3, || {
        let cell = Place::new(3, 0);
        let tag = Tag::new(1, false);
        let sending = thread::spawn(move || {
            let (older, newer) = (cell.fill(10), cell.fill(11));
            let chain = BlockList::of_block(older, tag);
            // SAFETY: the block is this thread's.
            unsafe { cell.set_link(newer, chain.link(tag)) };
            // SAFETY: as above.
            let pushed = unsafe { mailbox::push_chain(cell, chain.with_newest(newer, tag), 0) };
            cell.run_if(pushed.unwrap());
        });
        cell.send(20).unwrap();
        sending.join().unwrap();
        let handled = cell.handled();
        let at = handled.iter().position(|&one| one == 10).unwrap();
        assert_eq!(handled[at + 1], 11);
        assert_eq!(handled.len(), 3);
    });
}
