//! Owner words. A process stores its id in such a word to claim an *entry*: a lane or a reader
//! slot.

use crate::protocol::sync::{Word, edge};

/// Claims for this process the first entry in `owners` that is free or whose owner is dead.
///
/// Returns the index of the claimed entry, and the word that the claim replaced (0 if the entry was
/// free). Returns `None` if all entries have live owners.
pub fn claim_first_free<'a, W: Word + 'a>(
    owners: impl Iterator<Item = &'a W>,
    me: u64,
    is_dead: impl Fn(u64) -> bool,
) -> Option<(u32, u64)> {
    for (index, word) in owners.enumerate() {
        // Relaxed: the exchange below decides.
        let owner = word.get();
        // ORDERING(owner): pairs with the release in `release_entry` and `free_entry`.
        if (owner == 0 || is_dead(owner)) && word.compare_exchange_at(owner, me, edge::OWNER_CLAIM)
        {
            return Some((index as u32, owner));
        }
    }
    None
}

/// Calls [`claim_first_free`]. While it finds no entry, calls `pause` and tries again, for as long
/// as `pause` returns true.
///
/// WHY: a process that frees the entry of a dead owner owns that entry for the duration of a few
/// stores. The entry looks taken during that time.
pub fn claim_with_retries<'a, W: Word + 'a>(
    owners: impl Iterator<Item = &'a W> + Clone,
    me: u64,
    is_dead: impl Fn(u64) -> bool,
    mut pause: impl FnMut() -> bool,
) -> Option<(u32, u64)> {
    loop {
        let claimed = claim_first_free(owners.clone(), me, &is_dead);
        if claimed.is_some() || !pause() {
            return claimed;
        }
    }
}

/// Frees the lane or reader slot of `owner`, which is a dead process or `me`. Calls `clear` first,
/// to withdraw what the owner has announced, such as a reader's cursors.
///
/// Returns false if another process was faster. If this process dies in this function, it leaves
/// the entry owned by `me`. As that owner is then dead, another process can free the entry.
pub fn free_entry<W: Word>(word: &W, owner: u64, me: u64, clear: impl FnOnce()) -> bool {
    // ORDERING(owner): pairs with the release below.
    if owner != me && !word.compare_exchange_at(owner, me, edge::OWNER_CLAIM) {
        return false;
    }
    clear();
    release_entry(word);
    true
}

/// Calls `clear` to withdraw what the dead process `owner` has announced in an entry, and leaves
/// the entry owned by a dead process, so that a successor can claim it. Returns false if another
/// process was faster.
pub fn clear_dead_entry<W: Word>(word: &W, owner: u64, me: u64, clear: impl FnOnce()) -> bool {
    // ORDERING(owner): pairs with the release below.
    if !word.compare_exchange_at(owner, me, edge::OWNER_CLAIM) {
        return false;
    }
    clear();
    // ORDERING(owner): pairs with the claim in `claim_first_free`.
    word.store(owner, edge::OWNER_RELEASE);
    true
}

/// Frees the lane or reader slot whose owner word is `word`. It must belong to this process.
pub fn release_entry<W: Word>(word: &W) {
    // ORDERING(owner): pairs with the claim in `claim_first_free`.
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
        let claimed = claim_with_retries(
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
        assert_eq!(words[1].get(), 9);
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
            claim_with_retries(words.iter(), 9, |_| false, pauses()),
            None
        );
        assert_eq!(
            claim_with_retries(words.iter(), 9, |owner| owner == 5, pauses()),
            Some((0, 5))
        );
    }
}
