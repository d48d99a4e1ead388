//! The random number generator of a node. With the same seed, it gives the same numbers in every
//! run.

/// The generator SplitMix64 (Steele, Lea and Flood 2014): it passes BigCrush, and every seed is
/// equally good.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the generator of the node called `node_name`. The same seed and name always give the
    /// same numbers, whichever other nodes there are.
    pub(crate) fn new(seed: u64, node_name: &str) -> Self {
        // FNV-1a, the hash that schemas use.
        let hash = crate::message::fnv1a_128(node_name.as_bytes());
        Self(seed ^ hash as u64 ^ (hash >> 64) as u64)
    }

    /// Returns the next 64 random bits.
    pub(crate) const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
