//! Owner words. A process stores its id in such a word to claim an *entry*: a lane or a reader
//! slot.
//!
//! The announcements of a dead reader stay in its slot, and hold writers back, until a process
//! clears them or continues there. That process first *holds* the slot ([`OWNER_HELD_BIT`]), so
//! that no two processes do this at once. It may be stopped meanwhile. So a writer that is held
//! back by a slot in this state *abandons* the gate of the dead reader ([`GATE_ABANDONED_BIT`]): it
//! goes on, and no reader may continue at the cursors in the slot any more.

use crate::protocol::sync::{Word, edge};

/// Bit of an owner word that is set while its process only holds a reader slot, to clear it or to
/// claim it. The announcements in the slot are still those of a dead reader.
pub const OWNER_HELD_BIT: u64 = 1 << 63;

/// Bit of an owner word that is set if a writer no longer waits for the cursors of the dead reader
/// in this slot. No successor may start at them.
pub const GATE_ABANDONED_BIT: u64 = 1 << 62;

/// Returns the part of the owner word `owner` that identifies the process.
pub const fn process_bits_of_owner(owner: u64) -> u64 {
    owner & !(OWNER_HELD_BIT | GATE_ABANDONED_BIT)
}

/// Claims for this process the first entry in `owners` that is free or whose owner is dead.
///
/// Returns the index of the claimed entry, and the word that the claim replaced (0 if the entry was
/// free). Returns `None` if all entries have live owners.
pub fn claim_first_free_entry<'a, W: Word + 'a>(
    owners: impl Iterator<Item = &'a W>,
    me: u64,
    is_dead: impl Fn(u64) -> bool,
) -> Option<(u32, u64)> {
    for (index, word) in owners.enumerate() {
        // Relaxed: the exchange below decides.
        let owner = word.get();
        // ORDERING(owner): pairs with the release in `release_entry` and `try_free_slot`.
        if (owner == 0 || is_dead(owner))
            && word.compare_exchange_ordered(owner, me, edge::OWNER_CLAIM)
        {
            return Some((index as u32, owner));
        }
    }
    None
}

/// Holds for this process the first reader slot in `owners` that is free or whose owner is dead.
/// While there is none, calls `pause` and tries again, for as long as `pause` returns true.
///
/// Returns the index of the slot, and the owner word found there (0 if the slot was free). The
/// caller continues as its reader with [`try_continue_gate`] or [`own_held_slot`].
///
/// WHY retries: a process that frees the entry of a dead owner holds that entry for the duration of
/// a few stores. The entry looks taken during that time.
pub fn hold_first_free_slot<'a, W: Word + 'a>(
    owners: impl Iterator<Item = &'a W> + Clone,
    me: u64,
    is_dead: impl Fn(u64) -> bool,
    mut pause: impl FnMut() -> bool,
) -> Option<(u32, u64)> {
    let take = |word: &W| {
        // Relaxed: the exchange decides.
        let owner = word.get();
        ((owner == 0 || is_dead(owner)) && try_hold_slot(word, owner, me)).then_some(owner)
    };
    loop {
        let mut slots = (0..).zip(owners.clone());
        let held = slots.find_map(|(index, word)| Some((index, take(word)?)));
        if held.is_some() || !pause() {
            return held;
        }
    }
}

/// Makes this process the holder of the reader slot with the owner word `word`, which must be
/// `owner`: that of a dead process, or 0. Returns false if another process was faster.
fn try_hold_slot<W: Word>(word: &W, owner: u64, me: u64) -> bool {
    // ORDERING(owner): pairs with the release in `release_entry`. As a release, it pairs with the
    // fences in `LaneWriter::try_find_room` and `claim_slot_unless_pinned`: a writer that abandons
    // the gate, or ignores the pins, writes after the reader's last loads.
    word.compare_exchange_ordered(owner, held_owner_word(owner, me), edge::OWNER_CLAIM)
}

/// Returns the owner word of a slot in which `owner` was found, and which `me` holds.
const fn held_owner_word(owner: u64, me: u64) -> u64 {
    me | OWNER_HELD_BIT | owner & GATE_ABANDONED_BIT
}

/// Makes the process `me`, which holds the slot, the reader of the slot. The dead reader's gate and
/// cursors continue to hold writers back. Returns false if a writer has abandoned the gate. `owner`
/// is the word that was found.
pub fn try_continue_gate<W: Word>(word: &W, owner: u64, me: u64) -> bool {
    // Relaxed: that no writer has abandoned the gate is the value of the word itself. A writer that
    // sees a cursor of this reader sees this exchange because of `cursor`.
    owner & GATE_ABANDONED_BIT == 0 && word.compare_exchange_relaxed(held_owner_word(owner, me), me)
}

/// Makes the process that holds the slot, and has cleared it, the reader of the slot.
pub fn own_held_slot<W: Word>(word: &W) {
    // Relaxed: as in `try_continue_gate`. That it is a read-modify-write keeps the release of the
    // reader that left before.
    word.clear_bits_relaxed(OWNER_HELD_BIT | GATE_ABANDONED_BIT);
}

/// Abandons the gate of a dead reader: a process holds its slot, and may be stopped, so that the
/// caller, a writer, does not wait for that reader any more. Returns the owner word then; `None` if
/// no process holds the slot.
///
/// The caller must have loaded the cursor for which it stops waiting before, with Acquire.
pub fn try_abandon_gate<W: Word>(word: &W) -> Option<u64> {
    // Relaxed: the fence in `LaneWriter::try_find_room`, which comes before the next write, is the
    // Acquire for the release in `try_hold_slot`: the reader has read its last message.
    let owner = word.get();
    let abandoned = owner | GATE_ABANDONED_BIT;
    // Relaxed: the holder learns it by its own exchange of the word.
    let is_abandoned = owner & OWNER_HELD_BIT != 0
        && (owner == abandoned || word.compare_exchange_relaxed(owner, abandoned));
    is_abandoned.then_some(abandoned)
}

/// Returns true if a process holds the reader slot with the owner word `word`. If the caller has
/// first loaded, with Acquire, something that a reader announced in the slot, then a result of true
/// means that this reader is dead or has left. WHY: a reader announces something only after it has
/// removed [`OWNER_HELD_BIT`].
pub fn is_slot_held<W: Word>(word: &W) -> bool {
    // Relaxed: the fence in `LaneWriter::claim_slot_unless_pinned`, which comes before the next
    // write, is the Acquire for the release in `try_hold_slot`: the reader has read its last
    // message.
    word.get() & OWNER_HELD_BIT != 0
}

/// Frees the reader slot of `owner`, which is a dead process or `me`. Calls `clear` first, to
/// withdraw what the owner has announced, such as a reader's cursors.
///
/// Returns false if another process was faster. If this process dies in this function, it leaves
/// the entry owned by `me`. As that owner is then dead, another process can free the entry.
pub fn try_free_slot<W: Word>(word: &W, owner: u64, me: u64, clear: impl FnOnce()) -> bool {
    if owner != me && !try_hold_slot(word, owner, me) {
        return false;
    }
    clear();
    release_entry(word);
    true
}

/// Calls `clear` to withdraw what the dead process `owner` has announced in a reader slot, except
/// its gate, and leaves the slot owned by a dead process, so that a successor can claim it. Returns
/// false if another process was faster.
pub fn try_clear_dead_slot<W: Word>(word: &W, owner: u64, me: u64, clear: impl FnOnce()) -> bool {
    if !try_hold_slot(word, owner, me) {
        return false;
    }
    clear();
    // WHY two: a writer may have abandoned the gate meanwhile.
    for mark in [owner & GATE_ABANDONED_BIT, GATE_ABANDONED_BIT] {
        // ORDERING(owner): pairs with the claim in `try_hold_slot`.
        if word.compare_exchange_ordered(
            held_owner_word(mark, me),
            owner | mark,
            edge::OWNER_RELEASE,
        ) {
            break;
        }
    }
    true
}

/// Frees the lane or reader slot whose owner word is `word`. It must belong to this process.
pub fn release_entry<W: Word>(word: &W) {
    // ORDERING(owner): pairs with the claim in `claim_first_free_entry`.
    word.store(0, edge::OWNER_RELEASE);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// A live process that frees the slot of a dead reader owns that slot for the duration of a few
    /// stores.
    #[test]
    fn an_entry_that_is_being_freed_is_awaited_and_claimed() {
        const REAPER: u64 = 7;
        let words = [AtomicU64::new(5), AtomicU64::new(REAPER)];
        let mut pauses = 0;
        let claimed = hold_first_free_slot(
            words.iter(),
            9,
            |_| false,
            || {
                pauses += 1;
                // The reaper frees the entry.
                release_entry(&words[1]);
                pauses < 3
            },
        );
        assert_eq!((claimed, pauses), (Some((1, 0)), 1));
        assert_eq!(words[1].get(), 9 | OWNER_HELD_BIT);
    }

    #[test]
    fn claiming_gives_up_when_all_entries_stay_taken() {
        let words = [AtomicU64::new(5)];
        let pauses = || {
            let mut pauses = 0;
            move || {
                pauses += 1;
                pauses < 3
            }
        };
        assert_eq!(
            hold_first_free_slot(words.iter(), 9, |_| false, pauses()),
            None
        );
        assert_eq!(
            hold_first_free_slot(words.iter(), 9, |owner| owner == 5, pauses()),
            Some((0, 5))
        );
    }

    /// A writer does not wait for a process that was stopped while it held the slot, and a reader
    /// does not continue at cursors for which no writer waits.
    #[test]
    fn an_abandoned_gate_is_never_continued() {
        let [dead, me, next] = [5, 7, 9];
        let word = AtomicU64::new(dead);
        assert_eq!(try_abandon_gate(&word), None, "nobody holds the slot");
        let abandoned = me | OWNER_HELD_BIT | GATE_ABANDONED_BIT;
        let cleared = try_clear_dead_slot(&word, dead, me, || {
            assert_eq!(try_abandon_gate(&word), Some(abandoned));
        });
        assert!(cleared);
        assert_eq!(word.get(), dead | GATE_ABANDONED_BIT);
        let found = try_abandon_gate(&word);
        assert_eq!(found, None, "the dead reader has its slot again");
        // The next reader dies before it has cleared the slot.
        for reader in [me, next] {
            let is_dead = |owner| process_bits_of_owner(owner) != next;
            let held = hold_first_free_slot([&word].into_iter(), reader, is_dead, || false);
            let (_, owner) = held.unwrap();
            assert!(!try_continue_gate(&word, owner, reader), "reader {reader}");
        }
        own_held_slot(&word);
        assert_eq!(word.get(), next);
    }

    #[test]
    fn a_gate_is_continued_or_abandoned() {
        let [dead, me] = [5, 7];
        for is_abandoned in [false, true] {
            let word = AtomicU64::new(dead);
            let held =
                hold_first_free_slot([&word].into_iter(), me, |owner| owner == dead, || false);
            assert_eq!(held, Some((0, dead)));
            if is_abandoned {
                assert!(try_abandon_gate(&word).is_some());
            }
            assert_eq!(try_continue_gate(&word, dead, me), !is_abandoned);
            assert_eq!(try_abandon_gate(&word).is_some(), is_abandoned);
        }
    }
}
