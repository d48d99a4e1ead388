//! The members of a group: the actors that have not ended, in the order in which they were spawned.

use std::collections::BTreeMap;

/// Number of actors in a chunk. The memory of a chunk is freed when all of its actors have ended.
const MEMBERS_PER_CHUNK: u64 = 512;

/// The actors of a group that have not ended, numbered in the order in which they were spawned.
///
/// WHY the numbers are divided into chunks: an actor takes only eight bytes, no number is used
/// twice, and the memory of a chunk is freed when the last of its actors ends.
#[derive(Debug)]
pub(crate) struct NumberedMembers<H> {
    chunks: BTreeMap<u64, MemberChunk<H>>,
    next: u64,
}

#[derive(Debug)]
struct MemberChunk<H> {
    handles: Box<[Option<H>]>,
    alive: u64,
}

impl<H> Default for NumberedMembers<H> {
    fn default() -> Self {
        Self {
            chunks: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<H> NumberedMembers<H> {
    /// Adds an actor by its handle. Returns the actor's number, which is never used again.
    pub(crate) fn add(&mut self, handle: H) -> u64 {
        let number = self.next;
        self.next += 1;
        let chunk = self
            .chunks
            .entry(number / MEMBERS_PER_CHUNK)
            .or_insert_with(|| MemberChunk {
                handles: (0..MEMBERS_PER_CHUNK).map(|_| None).collect(),
                alive: 0,
            });
        chunk.handles[(number % MEMBERS_PER_CHUNK) as usize] = Some(handle);
        chunk.alive += 1;
        number
    }

    /// Removes the actor with this number. Returns its handle, or `None` if there is no actor with
    /// this number.
    pub(crate) fn remove(&mut self, number: u64) -> Option<H> {
        let chunk = self.chunks.get_mut(&(number / MEMBERS_PER_CHUNK))?;
        let handle = chunk.handles[(number % MEMBERS_PER_CHUNK) as usize].take()?;
        chunk.alive -= 1;
        // WHY only then: the chunk that is being filled has room for the next actors.
        if chunk.alive == 0 && self.next / MEMBERS_PER_CHUNK > number / MEMBERS_PER_CHUNK {
            self.chunks.remove(&(number / MEMBERS_PER_CHUNK));
        }
        Some(handle)
    }

    /// Returns copies of the handles of all actors, in the reverse order of spawning.
    pub(crate) fn clone_all_reversed(&self) -> Vec<H>
    where
        H: Clone,
    {
        let chunks = self.chunks.values().rev();
        let handles = chunks.flat_map(|chunk| chunk.handles.iter().rev().flatten());
        handles.cloned().collect()
    }

    /// Removes all actors, and returns their handles in the reverse order of spawning.
    pub(crate) fn take_all_reversed(&mut self) -> impl Iterator<Item = H> + use<H> {
        let chunks = std::mem::take(&mut self.chunks).into_values().rev();
        chunks.flat_map(|chunk| chunk.handles.into_iter().rev().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_taken_in_reverse_order_of_their_spawning() {
        let mut members = NumberedMembers::default();
        let count = 3 * MEMBERS_PER_CHUNK + 7;
        for number in 0..count {
            assert_eq!(members.add(number), number);
        }
        for number in (0..count).filter(|number| number % 3 == 0 || *number < MEMBERS_PER_CHUNK) {
            assert_eq!(members.remove(number), Some(number));
            assert_eq!(members.remove(number), None);
        }
        assert_eq!(members.chunks.len(), 3, "the first chunk is free");
        assert_eq!(members.add(count), count);
        let left = (MEMBERS_PER_CHUNK..=count)
            .rev()
            .filter(|number| number % 3 != 0 || *number == count);
        assert!(members.clone_all_reversed().into_iter().eq(left.clone()));
        assert!(members.take_all_reversed().eq(left));
        assert_eq!(members.remove(count), None);
    }
}
