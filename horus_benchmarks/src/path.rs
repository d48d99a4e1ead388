//! The paths a message can take: which ring or topic, how many ends, which payload.
//!
//! ```text
//!              near                                       far
//! spsc_shm     1 producer  ── there (gated-only) ──▶      1 consumer     and the same back
//! mpsc_shm     2 producers ── there (gated-only) ──▶      1 consumer     in turn
//! spmc_shm     1 producer  ── there (open) ──▶            2 consumers    both, then the echo
//! fanout_shm   1 producer  ── there (open) ──▶            1 consumer
//! …_2p2s       2 producers ── there (open) ──▶            2 consumers    in turn; both
//! pod_shm      1 producer  ── there (latest value) ──▶    1 consumer     `latest`
//! topic        1 publisher ── there (open) ──▶            1 subscriber
//! ```
//!
//! Each side has one thread for all of its ends, so that two CPUs are enough. A round trip goes
//! there and back over rings of the same kind, so half of it is one way of that kind.

use serde::{Deserialize, Serialize};

use crate::packet::{Packet16, Packet304, Packet1480};
use crate::payload::{Payload, size_label};

/// Slots of every lane but the latest-value ring's.
pub const CAPACITY: u64 = 256;

/// A ring or a topic, and how many ends it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ring {
    /// 1:1, gated-only.
    SpscShm,
    /// N:1 with two producers, gated-only.
    MpscShm,
    /// 1:N with two consumers, open lane.
    SpmcShm,
    /// 1:1, open lane.
    FanoutShm,
    /// N:N with two of each, open lanes.
    FanoutShm2p2s,
    /// Latest value.
    PodShm,
    /// A best-effort topic, 1:1.
    Topic,
    /// A reliable topic, 1:1.
    TopicReliable,
}

impl Ring {
    /// As it is written in ids.
    pub fn id(self) -> &'static str {
        match self {
            Ring::SpscShm => "spsc_shm",
            Ring::MpscShm => "mpsc_shm",
            Ring::SpmcShm => "spmc_shm",
            Ring::FanoutShm => "fanout_shm",
            Ring::FanoutShm2p2s => "fanout_shm_2p2s",
            Ring::PodShm => "pod_shm",
            Ring::Topic => "topic",
            Ring::TopicReliable => "topic_reliable",
        }
    }

    /// How the ends are arranged, for people.
    pub fn arrangement(self) -> &'static str {
        match self {
            Ring::SpscShm => "1:1, gated-only",
            Ring::MpscShm => "2:1, gated-only, producers in turn",
            Ring::SpmcShm => "1:2, open lane, both receive",
            Ring::FanoutShm => "1:1, open lane",
            Ring::FanoutShm2p2s => "2:2, open lanes, producers in turn, both receive",
            Ring::PodShm => "1:1, latest()",
            Ring::Topic => "1:1, best-effort topic (open lane)",
            Ring::TopicReliable => "1:1, reliable topic",
        }
    }

    /// Producing ends of each direction.
    pub fn producers(self) -> u64 {
        match self {
            Ring::MpscShm | Ring::FanoutShm2p2s => 2,
            _ => 1,
        }
    }

    /// Nothing is overwritten unread: a lost message is an error.
    pub fn is_lossless(self) -> bool {
        matches!(self, Ring::SpscShm | Ring::MpscShm | Ring::TopicReliable)
    }
}

/// The size of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// [`Packet16`].
    Small,
    /// [`Packet304`].
    Medium,
    /// [`Packet1480`].
    Large,
}

impl Size {
    /// From small to large.
    pub const ALL: [Size; 3] = [Size::Small, Size::Medium, Size::Large];

    /// Bytes of a message.
    pub fn bytes(self) -> usize {
        match self {
            Size::Small => Packet16::BYTES,
            Size::Medium => Packet304::BYTES,
            Size::Large => Packet1480::BYTES,
        }
    }
}

/// A path: what carries the messages, and how large they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// What carries them.
    pub ring: Ring,
    /// How large they are.
    pub size: Size,
}

impl Path {
    /// All sizes over each of `rings`, as the rows are ordered.
    pub fn over(rings: &[Ring]) -> impl Iterator<Item = Path> + use<'_> {
        rings.iter().flat_map(|&ring| Size::ALL.map(|size| Path { ring, size }))
    }

    /// As it is written in ids: `spsc_shm/16B`.
    pub fn id(self) -> String {
        format!("{}/{}", self.ring.id(), size_label(self.size.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_rows() {
        let ids: Vec<String> = Path::over(&[Ring::SpscShm, Ring::Topic]).map(Path::id).collect();
        assert_eq!(
            ids,
            [
                "spsc_shm/16B",
                "spsc_shm/304B",
                "spsc_shm/1480B",
                "topic/16B",
                "topic/304B",
                "topic/1480B"
            ]
        );
    }
}
