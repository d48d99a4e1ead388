//! Owner words: how a process claims a lane, a gate or a reader block, and from whom.

use crate::sync::{Word, edge};

/// Claims the first of `owners` that is free or whose owner is dead.
///
/// Returns its index and the word it replaced (0 if it was free), or `None` if all are alive.
pub fn claim_first<'a, W: Word + 'a>(
    owners: impl Iterator<Item = &'a W>,
    me: u64,
    is_dead: impl Fn(u64) -> bool,
) -> Option<(u32, u64)> {
    for (index, word) in owners.enumerate() {
        // Relaxed: the exchange below decides.
        let owner = word.get();
        // ORDERING(owner): pairs with the release in `release` and `gate::free`.
        if (owner == 0 || is_dead(owner)) && word.claim(owner, me, edge::OWNER_CLAIM) {
            return Some((index as u32, owner));
        }
    }
    None
}

/// Frees what its owner claimed.
pub fn release<W: Word>(word: &W) {
    // ORDERING(owner): pairs with the claim in `claim_first`.
    word.store(0, edge::OWNER_RELEASE);
}
