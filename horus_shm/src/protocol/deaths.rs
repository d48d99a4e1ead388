//! Deaths: which endpoints died in their lane or reader slot, although another endpoint has the
//! place by now.
//!
//! The place itself shows how its last endpoint ended: one that leaves clears the word by which it
//! had joined. The endpoint that takes the place over stores its own word there, so it records the
//! death of its predecessor before.

use crate::protocol::sync::Word;

/// Number of deaths that a log keeps.
pub const DEATHS_KEPT: usize = 11;

/// Number of bits of a recorded death that hold the owner word. The other bits hold the place.
///
/// WHY one less than an owner word has: its highest bit is set only for the entry number 1024, and
/// its other bits are then those of the entry number 0, which no process has.
const OWNER_BITS: u32 = 58;

/// The last deaths of publishers, or of readers, whose places other endpoints have taken over. A
/// part of [`layout`](crate::protocol::layout).
#[repr(C)]
#[derive(Debug, Default)]
pub struct DeathLog<W> {
    /// Number of deaths that were recorded.
    pub count: W,
    /// The recorded deaths: `place << 58`, and the low 58 bits of the owner word; 0 if unused.
    pub recent: [W; DEATHS_KEPT],
}

impl<W: Word> DeathLog<W> {
    /// Records that the endpoint of the process with the owner word `owner_word` died in the
    /// lane or reader slot `index`. Overwrites the oldest death that it keeps.
    ///
    /// The caller owns the place, and publishes afterwards that it has joined, or that it has left:
    /// a thread that sees the one or the other sees the death.
    pub fn record_death(&self, index: u32, owner_word: u64) {
        if self.contains_death(index, owner_word) {
            // The process that recorded it died before it joined.
            return;
        }
        let number = self.take_death_number();
        self.store_death(number, encode_death(index, owner_word));
    }

    /// Returns the number of a new death, which determines its entry.
    fn take_death_number(&self) -> u64 {
        loop {
            // Relaxed, both: the counter only gives each death an entry of its own.
            let count = self.count.get();
            if self
                .count
                .compare_exchange_relaxed(count, count.wrapping_add(1))
            {
                return count;
            }
        }
    }

    /// Stores death number `number` in its entry, unless a later death has this entry: the process
    /// may have been stopped since it took the number.
    fn store_death(&self, number: u64, death: u64) {
        let entry = &self.recent[(number % DEATHS_KEPT as u64) as usize];
        loop {
            // Relaxed, all: the caller publishes the entry. The load of the count comes after that
            // of the entry: a later death has increased the count before it is stored.
            let seen = entry.get();
            let is_late = self.death_count().wrapping_sub(number) > DEATHS_KEPT as u64;
            if is_late || entry.compare_exchange_relaxed(seen, death) {
                return;
            }
        }
    }

    /// Returns the number of deaths that were recorded so far.
    pub fn death_count(&self) -> u64 {
        // Relaxed: see `may_have_dropped_deaths_since`.
        self.count.get()
    }

    /// Returns true if this log may have had a death that it no longer keeps, of an endpoint that
    /// was alive when [`Self::death_count`] had returned `before`.
    pub fn may_have_dropped_deaths_since(&self, before: u64) -> bool {
        // Relaxed: the caller has not found the death in the log before. The process that overwrote
        // it had increased the count; on a weakly ordered CPU this load may miss the last one, if
        // it is being recorded just now.
        self.death_count().wrapping_sub(before) > DEATHS_KEPT as u64
    }

    /// Returns true if this log has the death of the endpoint of process `owner_word` in place
    /// `index`.
    pub fn contains_death(&self, index: u32, owner_word: u64) -> bool {
        let wanted = encode_death(index, owner_word);
        // Relaxed: the load of the word by which the next endpoint joined or left ordered it.
        self.recent.iter().any(|death| death.get() == wanted)
    }
}

const fn encode_death(index: u32, owner_word: u64) -> u64 {
    (index as u64) << OWNER_BITS | owner_word & ((1 << OWNER_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    const fn owner_word(entry: u64, generation: u64) -> u64 {
        (entry + 1) << 48 | generation
    }

    #[test]
    fn the_last_deaths_are_kept_and_each_is_recorded_once() {
        let log = DeathLog::<AtomicU64>::default();
        assert!(!log.contains_death(0, owner_word(0, 1)), "nothing happened");
        for generation in 1..=DEATHS_KEPT as u64 + 2 {
            log.record_death(3, owner_word(5, generation));
            log.record_death(3, owner_word(5, generation));
        }
        for generation in 1..=DEATHS_KEPT as u64 + 2 {
            let is_kept = log.contains_death(3, owner_word(5, generation));
            assert_eq!(is_kept, generation > 2, "death {generation}");
            // It was alive before its own death was recorded.
            assert_eq!(log.may_have_dropped_deaths_since(generation - 1), !is_kept);
        }
    }

    #[test]
    fn a_death_that_is_stored_late_displaces_no_later_one() {
        let log = DeathLog::<AtomicU64>::default();
        let late = log.take_death_number();
        for generation in 1..=DEATHS_KEPT as u64 {
            log.record_death(3, owner_word(5, generation));
        }
        log.store_death(late, encode_death(4, owner_word(6, 1)));
        for generation in 1..=DEATHS_KEPT as u64 {
            assert!(
                log.contains_death(3, owner_word(5, generation)),
                "{generation}"
            );
        }
        assert!(!log.contains_death(4, owner_word(6, 1)));
        assert!(log.may_have_dropped_deaths_since(late));
    }

    #[test]
    fn deaths_in_other_places_and_of_other_processes_differ() {
        let log = DeathLog::<AtomicU64>::default();
        log.record_death(63, owner_word(1023, 9));
        assert!(log.contains_death(63, owner_word(1023, 9)));
        assert!(!log.contains_death(62, owner_word(1023, 9)));
        for entry in 0..1023 {
            assert!(
                !log.contains_death(63, owner_word(entry, 9)),
                "entry {entry}"
            );
        }
        assert!(!log.contains_death(63, owner_word(1023, 8)));
    }
}
