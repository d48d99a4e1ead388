//! The members of a group: the actors that have not ended, in the order in which they were spawned.

use std::collections::BTreeMap;

use horus_shm::internals::heap::ControlHandle;

use crate::actor::group::ActorGroup;

/// Number of actors in a chunk.
const CHUNK: u64 = 512;

type Handle = ControlHandle<ActorGroup>;

/// The actors of a group that have not ended, by the number of their spawning.
///
/// WHY in chunks: eight bytes for each actor, no number is used twice, and the memory of a chunk is
/// freed with the last of its actors.
#[derive(Debug, Default)]
pub(crate) struct Members {
    chunks: BTreeMap<u64, Chunk>,
    next: u64,
}

#[derive(Debug)]
struct Chunk {
    handles: Box<[Option<Handle>]>,
    alive: u64,
}

impl Members {
    /// Adds an actor; returns its number.
    pub(crate) fn add(&mut self, handle: Handle) -> u64 {
        let number = self.next;
        self.next += 1;
        let chunk = self.chunks.entry(number / CHUNK).or_insert_with(|| Chunk {
            handles: (0..CHUNK).map(|_| None).collect(),
            alive: 0,
        });
        chunk.handles[(number % CHUNK) as usize] = Some(handle);
        chunk.alive += 1;
        number
    }

    /// Removes an actor; returns its handle if it was there.
    pub(crate) fn remove(&mut self, number: u64) -> Option<Handle> {
        let chunk = self.chunks.get_mut(&(number / CHUNK))?;
        let handle = chunk.handles[(number % CHUNK) as usize].take()?;
        chunk.alive -= 1;
        // WHY only then: the chunk that is being filled has room for the next actors.
        if chunk.alive == 0 && self.next / CHUNK > number / CHUNK {
            self.chunks.remove(&(number / CHUNK));
        }
        Some(handle)
    }

    /// Takes all actors, those that were spawned last first.
    pub(crate) fn take_last_first(&mut self) -> impl Iterator<Item = Handle> + use<> {
        let chunks = std::mem::take(&mut self.chunks).into_values().rev();
        chunks.flat_map(|chunk| chunk.handles.into_iter().rev().flatten())
    }
}
