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
//! spsc … fanout    the same between threads, through channels of the process
//! …_duplex     1 producer, 1 consumer ◀── one ring ──▶ 1 producer, 1 consumer    all get all
//! ```
//!
//! Each side has one thread for all of its ends, so that two CPUs are enough. A round trip goes
//! there and back over rings of the same kind, so half of it is one way of that kind; on a duplex
//! ring both directions are one ring.

use serde::{Deserialize, Serialize};

use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan};

use crate::measure::payload::size_label;

/// Slots of every lane but the latest-value ring's, and those for large messages.
pub const CAPACITY: u64 = 256;

/// Slots of a lane for messages of 4 KiB and more.
pub const CAPACITY_LARGE: u64 = 32;

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
    /// A best-effort topic, 1:1, with as many slots as one has by default.
    TopicDefault,
    /// A best-effort topic, 1:1, whose messages are lent and borrowed.
    TopicLoan,
    /// A channel within one thread.
    Direct,
    /// A channel 1:1 between threads.
    Spsc,
    /// A channel 1:N with two receivers.
    Spmc,
    /// A channel N:1 with two senders.
    Mpsc,
    /// A channel N:N with two of each.
    Fanout,
    /// N:N on one ring: each side publishes and subscribes; open lanes.
    FanoutShmDuplex,
    /// The same as a best-effort topic.
    TopicDuplex,
    /// A service of iceoryx2, 1:1.
    #[cfg(feature = "iceoryx2")]
    Iceoryx2,
    /// The same within a process.
    #[cfg(feature = "iceoryx2")]
    Iceoryx2Local,
    /// The same with room for a stream, and nothing lost.
    #[cfg(feature = "iceoryx2")]
    Iceoryx2Stream,
    /// A service of iceoryx2, N:N: each side publishes and subscribes.
    #[cfg(feature = "iceoryx2")]
    Iceoryx2Duplex,
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
            Ring::TopicDefault => "topic_default",
            Ring::TopicLoan => "topic_loan",
            Ring::Direct => "direct",
            Ring::Spsc => "spsc",
            Ring::Spmc => "spmc",
            Ring::Mpsc => "mpsc",
            Ring::Fanout => "fanout",
            Ring::FanoutShmDuplex => "fanout_shm_duplex",
            Ring::TopicDuplex => "topic_duplex",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2 => "iceoryx2",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Local => "iceoryx2_local",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Stream => "iceoryx2_stream",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Duplex => "iceoryx2_duplex",
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
            Ring::TopicReliable => "1:1, reliable topic, streams received by drain",
            Ring::TopicDefault => "1:1, best-effort topic, default capacity; send, recv_into",
            Ring::TopicLoan => "1:1, best-effort topic, default capacity; loan, publish, borrow",
            Ring::Direct => "1:1, channel of one thread",
            Ring::Spsc => "1:1, channel",
            Ring::Spmc => "1:2, channel, both receive",
            Ring::Mpsc => "2:1, channel, senders in turn",
            Ring::Fanout => "2:2, channel, senders in turn, both receive",
            Ring::FanoutShmDuplex => "2:2 on one ring, both sides publish and subscribe",
            Ring::TopicDuplex => "2:2 on one best-effort topic, both sides publish and subscribe",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2 => "1:1, ipc service, buffer of 1 that overflows, loaned ahead",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Local => "1:1, local service, buffer of 1 that overflows, loaned ahead",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Stream => "1:1, ipc service, buffer of 256, RetryUntilDelivered",
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Duplex => "2:2, ipc service, both sides publish and subscribe",
        }
    }

    /// Producing ends of each direction.
    pub fn producers(self) -> u64 {
        match self {
            Ring::MpscShm | Ring::FanoutShm2p2s | Ring::Mpsc | Ring::Fanout => 2,
            _ => 1,
        }
    }

    /// Nothing is overwritten unread: a lost message is an error.
    pub fn is_lossless(self) -> bool {
        match self {
            Ring::SpscShm | Ring::MpscShm | Ring::TopicReliable => true,
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Stream => true,
            _ => self.is_channel(),
        }
    }

    /// Both directions are one ring: what it carries is an exchange, not a stream.
    pub fn is_duplex(self) -> bool {
        match self {
            Ring::FanoutShmDuplex | Ring::TopicDuplex => true,
            #[cfg(feature = "iceoryx2")]
            Ring::Iceoryx2Duplex => true,
            _ => false,
        }
    }

    /// A channel: its ends are handed over between threads, and have no name to be opened by.
    pub fn is_channel(self) -> bool {
        use Ring::{Direct, Fanout, Mpsc, Spmc, Spsc};
        matches!(self, Direct | Spsc | Spmc | Mpsc | Fanout)
    }
}

/// A message: so many bytes, or what robots send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// [`Packet8`](crate::transport::packet::Packet8): no room for a stamp.
    Word,
    /// [`Packet16`](crate::transport::packet::Packet16).
    Small,
    /// [`Packet304`](crate::transport::packet::Packet304).
    Medium,
    /// [`Packet1480`](crate::transport::packet::Packet1480).
    Large,
    /// [`Packet4096`](crate::transport::packet::Packet4096).
    Page,
    /// [`Packet16384`](crate::transport::packet::Packet16384).
    Pages,
    /// [`Packet65536`](crate::transport::packet::Packet65536).
    Huge,
    /// The message of that name.
    CmdVel,
    /// The message of that name.
    Imu,
    /// The message of that name.
    JointCommand,
    /// The message of that name.
    LaserScan,
}

impl Size {
    /// Those of the usual messages, from small to large.
    pub const ALL: [Size; 3] = [Size::Small, Size::Medium, Size::Large];

    /// From 8 bytes to 64 KiB.
    pub const RANGE: [Size; 7] =
        [Size::Word, Size::Small, Size::Medium, Size::Large, Size::Page, Size::Pages, Size::Huge];

    /// What robots send.
    pub const ROBOT: [Size; 4] = [Size::CmdVel, Size::Imu, Size::JointCommand, Size::LaserScan];

    /// Bytes of a message.
    pub fn bytes(self) -> usize {
        match self {
            Size::Word => 8,
            Size::Small => 16,
            Size::Medium => 304,
            Size::Large => 1480,
            Size::Page => 4096,
            Size::Pages => 16_384,
            Size::Huge => 65_536,
            Size::CmdVel => size_of::<CmdVel>(),
            Size::Imu => size_of::<Imu>(),
            Size::JointCommand => size_of::<JointCommand>(),
            Size::LaserScan => size_of::<LaserScan>(),
        }
    }

    /// As it is written in ids: `16B`, `64KB`, `CmdVel`.
    pub fn id(self) -> String {
        match self {
            Size::CmdVel | Size::Imu | Size::JointCommand | Size::LaserScan => format!("{self:?}"),
            _ => size_label(self.bytes()),
        }
    }

    /// Whether a message has room for the time it was sent.
    pub fn has_stamp(self) -> bool {
        self != Size::Word
    }

    /// Slots of a lane for such messages.
    pub fn capacity(self) -> u64 {
        if self.bytes() < 4096 { CAPACITY } else { CAPACITY_LARGE }
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
    /// All of `sizes` over each of `rings`, as the rows are ordered.
    pub fn over(rings: &[Ring], sizes: &[Size]) -> Vec<Path> {
        let of = |&ring| sizes.iter().map(move |&size| Path { ring, size });
        rings.iter().flat_map(of).collect()
    }

    /// As it is written in ids: `spsc_shm/16B`.
    pub fn id(self) -> String {
        format!("{}/{}", self.ring.id(), self.size.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_rows() {
        let paths = Path::over(&[Ring::SpscShm, Ring::Topic], &Size::ALL);
        let ids: Vec<String> = paths.into_iter().map(Path::id).collect();
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
        let sizes = [Size::Word, Size::Huge, Size::JointCommand].map(Size::id);
        assert_eq!(sizes, ["8B", "64KB", "JointCommand"]);
    }
}
