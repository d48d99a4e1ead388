//! Pins: a held message does not change, and the ledger accounts for every message.

use std::rc::Rc;

use horus_shm::internals::lane::PinnableLane as _;
use horus_shm::internals::memory::LaneMemory as _;
use horus_shm::internals::pins::{claim_free_pin, clear_pin, free_pin};
use horus_shm::internals::sync::Word;
use horus_shm::internals::{owner, takeover};
use loom::thread;

use crate::loom_memory::in_place::{Borrower, Lender};
use crate::loom_memory::mutation::explore;
use crate::loom_memory::{CopyOptions, LoomLane, LoomWord, killed_after};

const DEAD: u64 = 1;

/// A pinned message is not overwritten, however long it is held.
pub(crate) fn a_pinned_message_stays() {
    explore(2, || {
        let lane = LoomLane::pinnable((2, 0), 1, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let mut borrower = Borrower::join(&lane, 0);
        assert!(lender.send());
        let reading = thread::spawn(move || {
            if let Some((pin, pinned)) = borrower.borrow() {
                borrower.check(pinned);
                borrower.give_back(pin);
            }
            borrower
        });
        assert!(lender.send() && lender.send());
        reading.join().unwrap().finish(3);
    });
}

/// A pin that moves on to the next message gives the last one back.
pub(crate) fn a_pin_that_moves_on_gives_its_message_back() {
    explore(2, || {
        let lane = LoomLane::pinnable((2, 0), 1, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let mut borrower = Borrower::join(&lane, 0);
        assert!(lender.send() && lender.send());
        let reading = thread::spawn(move || {
            borrower.copy();
            borrower.copy();
            borrower
        });
        assert!(lender.send());
        reading.join().unwrap().finish(3);
    });
}

/// A message that another thread has just given back is not lost either.
pub(crate) fn a_pin_used_again_gives_its_last_message_back() {
    explore(2, || {
        let lane = LoomLane::pinnable((2, 0), 1, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let mut borrower = Borrower::join(&lane, 0);
        assert!(lender.send() && lender.send());
        let borrowed = borrower.borrow().unwrap();
        let handed = borrower.hand_over(borrowed);
        let reading = thread::spawn(move || handed.read());
        let borrowing = thread::spawn(move || borrower.borrow_again());
        lender.send();
        reading.join().unwrap();
        borrowing.join().unwrap();
    });
}

/// A skip is not a message: it is neither delivered nor lost.
pub(crate) fn skips_are_not_counted() {
    explore(2, || {
        let lane = LoomLane::pinnable((4, 0), 2, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let mut holder = Borrower::join(&lane, 0);
        let mut reader = Borrower::join(&lane, 1);
        assert!(lender.send() && lender.send() && lender.send());
        let (pin, pinned) = holder.borrow().unwrap();
        let reading = thread::spawn(move || {
            reader.recv();
            reader
        });
        assert!(lender.send() && lender.send());
        let mut reader = reading.join().unwrap();
        holder.check(pinned);
        holder.give_back(pin);
        reader.finish(5);
        holder.finish(5);
    });
}

/// A reader that joins while positions are stepped over gets the right first number.
pub(crate) fn a_late_joiner_knows_the_number_of_its_first_message() {
    explore(3, || {
        let lane = LoomLane::pinnable((2, 0), 2, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let mut holder = Borrower::join(&lane, 0);
        assert!(lender.send());
        let (pin, _) = holder.borrow().unwrap();
        let theirs = lane.clone();
        let joining = thread::spawn(move || Borrower::join(&theirs, 1));
        assert!(lender.send() && lender.send());
        let mut late = joining.join().unwrap();
        assert!(late.promised() >= 1, "earlier messages are not promised");
        late.finish(3);
        holder.give_back(pin);
    });
}

/// A slot gives the number of the message at a position, or none if it holds another one by now.
pub(crate) fn a_slot_gives_the_number_of_its_message() {
    // WHY not the first positions: two others are stepped over before, so that the number of the
    // later message is possible at the earlier position, too.
    for (position, number) in [(3, 2), (5, 3)] {
        explore(3, move || {
            let lane = LoomLane::pinnable((2, 0), 1, CopyOptions::Exclusive, DEAD);
            let mut lender = Lender::first(&lane);
            let mut holder = Borrower::join(&lane, 0);
            assert!(lender.send() && lender.send());
            let (pin, _) = holder.borrow().unwrap();
            assert!(lender.send());
            let theirs = lane.clone();
            let joining =
                thread::spawn(move || takeover::message_number_in_slot(&theirs, position));
            assert!(lender.send());
            let found = joining.join().unwrap();
            assert!(found.is_none_or(|found| found == number), "{found:?}");
            holder.give_back(pin);
        });
    }
}

/// A writer that is killed while it sends or steps over a pinned slot leaves no position that is
/// counted twice, or not at all.
pub(crate) fn a_successor_goes_on_after_a_skip() {
    for stores in 0..16 {
        explore(2, move || {
            let lane = LoomLane::pinnable((2, 0), 1, CopyOptions::Exclusive, DEAD);
            let mut lender = Lender::first(&lane);
            let mut borrower = Borrower::join(&lane, 0);
            assert!(lender.send() && lender.send());
            let (pin, pinned) = borrower.borrow().unwrap();
            killed_after(stores, || lender.send());
            let theirs = lane.clone();
            let succeeding = thread::spawn(move || {
                let mut successor = Lender::claim(&theirs, 2, DEAD);
                assert!(successor.send());
                successor.number()
            });
            let sent = succeeding.join().unwrap();
            borrower.check(pinned);
            borrower.give_back(pin);
            assert!(sent == 3 || sent == 4, "{sent}");
            borrower.finish(sent);
        });
    }
}

/// A session that has only skipped positions hides no history. That history begins with the last
/// session that has sent messages, for a reader that joins meanwhile, and after the owner was
/// killed.
pub(crate) fn a_session_that_only_skips_hides_no_history() {
    for stores in 0..20 {
        explore(3, move || {
            let lane = LoomLane::pinnable((2, 0), 1, CopyOptions::Exclusive, DEAD);
            let mut first = Lender::first(&lane);
            let mut holder = Borrower::join(&lane, 0);
            assert!(first.send());
            let mut second = Lender::claim(&lane, 2, DEAD);
            assert!(second.send());
            let (pin, pinned) = holder.borrow().unwrap();
            let theirs = lane.clone();
            let joining = thread::spawn(move || {
                let (head, _) = takeover::head_and_live_session_start(theirs.block(), |_| false);
                takeover::history_start(theirs.block(), head)
            });
            killed_after(stores, || {
                if let Some(mut third) = Lender::claim_from(&lane, 3, |owner| owner == 2) {
                    third.lend();
                }
            });
            assert_eq!(joining.join().unwrap(), 1, "for a reader that joins");
            let fourth = Lender::claim_from(&lane, 4, |owner| owner == 2 || owner == 3);
            assert!(fourth.is_some());
            let head = lane.block().head.get();
            assert_eq!(takeover::history_start(lane.block(), head), 1);
            let found = takeover::find_last_messages(&lane, 1, head, 1);
            holder.check(pinned);
            holder.give_back(pin);
            // The loan has overwritten the message, unless its owner was killed before.
            assert!([(1, 1), (head, 0)].contains(&found), "{found:?}");
        });
    }
}

/// The newest message is found behind skips, and the messages before it count as skipped.
pub(crate) fn the_latest_is_found_behind_skips() {
    explore(2, || {
        let lane = LoomLane::pinnable((4, 0), 2, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let mut holder = Borrower::join(&lane, 0);
        let mut reader = Borrower::join(&lane, 1);
        for _ in 0..4 {
            assert!(lender.send());
        }
        let (pin, _) = holder.borrow().unwrap();
        let reading = thread::spawn(move || {
            let (pin, pinned) = reader.borrow_latest().unwrap();
            assert!(pinned.number >= 4, "{pinned:?}");
            reader.give_back(pin);
            reader
        });
        assert!(lender.send());
        reading.join().unwrap().finish(5);
        holder.give_back(pin);
    });
}

/// A reader that cannot pin never gets a torn message either.
pub(crate) fn an_observer_sees_whole_messages() {
    for latest in [false, true] {
        explore(super::switches(2, 3), move || {
            let lane = LoomLane::pinnable((1, 0), 1, CopyOptions::Racing, DEAD);
            let mut lender = Lender::first(&lane);
            let mut observer = Borrower::join(&lane, 0);
            assert!(lender.send());
            let reading = thread::spawn(move || {
                observer.peek(latest);
                observer.peek(latest);
            });
            assert!(lender.send());
            reading.join().unwrap();
        });
    }
}

/// A copy that is not spared, since every slot was pinned, is whole or is no message.
pub(crate) fn a_copy_that_is_not_spared_is_whole_or_none() {
    for latest in [false, true] {
        explore(3, move || {
            let lane = LoomLane::pinnable((1, 0), 1, CopyOptions::Racing, DEAD);
            let mut lender = Lender::first(&lane);
            let mut borrower = Borrower::join(&lane, 0);
            assert!(lender.send());
            let reading = thread::spawn(move || {
                borrower.copy_under_pin(latest);
                borrower.copy_under_pin(latest);
                borrower
            });
            lender.send_over_copies();
            let mut borrower = reading.join().unwrap();
            borrower.copy_under_pin(latest);
            borrower.finish(2);
        });
    }
}

/// A loan is written by ordinary stores, and only while no copy is under way: the checker fails if
/// both are in a slot.
pub(crate) fn a_loan_is_written_beside_no_copy() {
    explore(2, || {
        let lane = LoomLane::pinnable((2, 0), 1, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let mut borrower = Borrower::join(&lane, 0);
        assert!(lender.send());
        let reading = thread::spawn(move || {
            borrower.copy_under_pin(false);
            borrower
        });
        assert!(lender.send() && lender.send());
        reading.join().unwrap().finish(3);
    });
}

/// A pin that another thread gave back is not taken away from its next message.
pub(crate) fn a_pin_given_back_elsewhere_can_be_used_again() {
    explore(3, || {
        let held = Rc::new(LoomWord::new(0));
        let word = Rc::new(LoomWord::new(0));
        assert_eq!(claim_free_pin(&*held, 1), Some(0));
        word.set(7);
        let theirs = Rc::clone(&held);
        let pin = Rc::clone(&word);
        let dropping = thread::spawn(move || free_pin(&*theirs, &*pin, 0));
        if claim_free_pin(&*held, 1).is_some() {
            word.set(8);
            dropping.join().unwrap();
            assert_eq!(word.get(), 8, "taken away");
        } else {
            dropping.join().unwrap();
        }
    });
}

/// Expects that one of two readers at most holds a message.
fn expect_one_held_at_most(holders: [Option<Borrower>; 2]) {
    let held = holders.iter().flatten().count();
    assert!(held <= 1, "both hold a message");
}

/// A reader that takes what another one may borrow, and that other one, do not both borrow.
pub(crate) fn a_reader_whose_limit_was_taken_borrows_nothing() {
    explore(2, || {
        let lane = LoomLane::pinnable((2, 0), 2, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let [idle, needy] = [0, 1].map(|reader| Borrower::join(&lane, reader));
        assert!(lender.send());
        assert!(idle.raise_limit(1, 1));
        let borrowing = thread::spawn(move || idle.borrow_within_limit(1));
        let needy = match needy.raise_limit(1, 1) {
            true => needy.borrow_within_limit(1),
            false => None,
        };
        expect_one_held_at_most([borrowing.join().unwrap(), needy]);
    });
}

/// Two readers that raise their limits at once do not both borrow the last message that may be
/// borrowed.
pub(crate) fn two_limits_raised_at_once_are_both_counted() {
    explore(2, || {
        let lane = LoomLane::pinnable((2, 0), 2, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let [one, other] = [0, 1].map(|reader| Borrower::join(&lane, reader));
        assert!(lender.send());
        let borrow = |reader: Borrower| match reader.raise_limit(1, 1) {
            true => reader.borrow_within_limit(1),
            false => None,
        };
        let borrowing = thread::spawn(move || borrow(one));
        let other = borrow(other);
        expect_one_held_at_most([borrowing.join().unwrap(), other]);
    });
}

/// A reader that finds the limit of another one lowered by a third one counts its pin.
pub(crate) fn a_limit_lowered_by_a_third_reader_hides_no_pin() {
    explore(3, || {
        let lane = LoomLane::pinnable((2, 0), 3, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let [idle, third, needy] = [0, 1, 2].map(|reader| Borrower::join(&lane, reader));
        assert!(lender.send());
        assert!(idle.raise_limit(1, 1));
        let borrowing = thread::spawn(move || idle.borrow_within_limit(1));
        let raising = thread::spawn(move || third.raise_limit(1, 1));
        let needy = match needy.raise_limit(1, 1) {
            true => needy.borrow_within_limit(1),
            false => None,
        };
        raising.join().unwrap();
        expect_one_held_at_most([borrowing.join().unwrap(), needy]);
    });
}

/// A reader that may not borrow one more message keeps no limit that another one has counted as
/// less, because a thread gave a message back meanwhile.
pub(crate) fn a_reader_that_may_borrow_no_more_keeps_no_limit() {
    explore(3, || {
        let lane = LoomLane::pinnable((2, 0), 2, CopyOptions::Exclusive, DEAD);
        let mut lender = Lender::first(&lane);
        let [mut holder, needy] = [0, 1].map(|reader| Borrower::join(&lane, reader));
        assert!(lender.send() && lender.send());
        assert!(holder.raise_limit(1, 1));
        let borrowed = holder.borrow().unwrap();
        let held = holder.hand_over(borrowed);
        let dropping = thread::spawn(move || held.read());
        let borrowing = thread::spawn(move || needy.borrow_one_more(1));
        let again = holder.borrow_one_more(1);
        dropping.join().unwrap();
        expect_one_held_at_most([again, borrowing.join().unwrap()]);
    });
}

/// A process that is stopped while it frees the place of a dead reader keeps no slot from a writer.
pub(crate) fn a_pin_whose_reaper_is_stopped_is_ignored() {
    explore(3, || {
        let lane = LoomLane::pinnable((1, 0), 1, CopyOptions::Exclusive, DEAD);
        let [reader, reaper] = [7, 8];
        lane.pin_owner(0).set(reader);
        let mut borrower = Borrower::join(&lane, 0).without_numbers();
        let mut lender = Lender::first(&lane);
        assert!(lender.send());
        let dying = thread::spawn(move || borrower.borrow());
        let theirs = lane.clone();
        let reaping = thread::spawn(move || {
            dying.join().unwrap();
            // Only the exchange by which it holds the place.
            killed_after(1, || {
                owner::try_free_slot(theirs.pin_owner(0), reader, reaper, || {})
            })
        });
        lender.send();
        reaping.join().unwrap();
        assert!(lender.send(), "the slot of a dead reader is kept");
    });
}

/// The next reader in a place that was held keeps what it has pinned.
pub(crate) fn the_next_reader_in_a_held_place_keeps_its_pins() {
    explore(1, || {
        let lane = LoomLane::pinnable((1, 0), 1, CopyOptions::Exclusive, DEAD);
        let [dead, next] = [7, 8];
        lane.pin_owner(0).set(dead);
        let mut lender = Lender::first(&lane);
        let mut gone = Borrower::join(&lane, 0).without_numbers();
        assert!(lender.send());
        gone.borrow().unwrap();
        let theirs = lane.clone();
        let joining = thread::spawn(move || {
            let place = theirs.pin_owner(0);
            let is_dead = |owner| owner == dead;
            assert!(
                owner::hold_first_free_slot([place].into_iter(), next, is_dead, || false).is_some()
            );
            clear_pin(theirs.pin_word(0, 0));
            owner::own_held_slot(place);
            let mut reader = Borrower::join(&theirs, 0).without_numbers();
            let borrowed = reader.borrow();
            (reader, borrowed)
        });
        lender.send();
        lender.send();
        let (reader, borrowed) = joining.join().unwrap();
        if let Some((_, pinned)) = borrowed {
            reader.check(pinned);
        }
    });
}
