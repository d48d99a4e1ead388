//! A node's own random numbers: the same in every run that is given the same seed.

/// SplitMix64 (Steele, Lea and Flood 2014): passes BigCrush, and any seed is as good as another.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// For a node of this name: it depends on no other node.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a, as for schemas.
        let hash = crate::message::fnv1a_128(name.as_bytes());
        Self(seed ^ hash as u64 ^ (hash >> 64) as u64)
    }

    /// 64 random bits.
    pub(crate) const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
