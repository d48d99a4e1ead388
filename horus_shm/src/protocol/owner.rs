//! Owner words, by which a process claims an *entry*: a lane or a reader's slot.

use crate::protocol::sync::{Word, edge};

/// Claims the first of `owners` that is free or whose owner is dead.
///
/// Returns its index and the word it replaced (0 if it was free), or `None` if all owners are
/// alive.
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

/// Calls [`claim_first_free`], and again after each `pause` for as long as `pause` returns true.
///
/// WHY: a process that frees the entry of a dead owner owns it for a few stores, and the entry
/// looks taken meanwhile.
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

/// Frees an entry of `owner`, which died or is `me`: `clear` withdraws what the owner announced.
///
/// Returns false if another process was faster. A process that dies in this function leaves the
/// entry owned by `me`, which is dead, so that another process frees it.
pub fn free_entry<W: Word>(word: &W, owner: u64, me: u64, clear: impl FnOnce()) -> bool {
    // ORDERING(owner): pairs with the release below.
    if owner != me && !word.compare_exchange_at(owner, me, edge::OWNER_CLAIM) {
        return false;
    }
    clear();
    release_entry(word);
    true
}

/// Calls `clear` for an entry of `owner`, which is dead, and leaves the entry to a successor, who
/// finds it owned by a dead process. Returns false if another process was faster.
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

/// Frees an entry of which this process is the owner.
pub fn release_entry<W: Word>(word: &W) {
    // ORDERING(owner): pairs with the claim in `claim_first_free`.
    word.store(0, edge::OWNER_RELEASE);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// The slot of a dead reader belongs to the live process that frees it for a few stores.
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
