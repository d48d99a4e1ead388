//! The carriers of messages (a ring, topic, channel, socket or pipe), and the sizes of messages.
//!
//! ```text
//!              near                                       far
//! spsc_shm     1 producer  ── there (gated) ──▶           1 consumer     and the same back
//! mpsc_shm     2 producers ── there (gated) ──▶           1 consumer     they send in turn
//! spmc_shm     1 producer  ── there (open) ──▶            2 consumers    both get each message
//! fanout_shm   1 producer  ── there (open) ──▶            1 consumer
//! …_2p2s       2 producers ── there (open) ──▶            2 consumers    in turn; both get each
//! pod_shm      1 producer  ── there (latest value) ──▶    1 consumer     `latest`
//! topic        1 publisher ── there (open) ──▶            1 subscriber
//! spsc … fanout    the same between threads, through channels of the process
//! …_duplex     1 producer, 1 consumer ◀── one ring ──▶ 1 producer, 1 consumer    both get all
//! ```
//!
//! A lane holds the messages of one producer. A gated lane has a consumer for which its producer
//! waits; an open lane is overwritten when it is full. One thread uses all endpoints of a side, so
//! that two CPUs are enough. A round trip uses two carriers of the same kind, one for each
//! direction, except on a duplex carrier, where one ring serves both.

use horus_core::message::{CmdVel, Imu, JointCommand, LaserScan};
use serde::{Deserialize, Serialize};

use crate::measure::payload::size_label;

/// Number of messages that every lane and every channel can hold, except for the ring of the latest
/// value. It is a power of two, as some channels require.
pub const CARRIER_CAPACITY: u64 = 256;

/// Number of messages of 4 KiB and more that a lane or channel can hold.
pub const CAPACITY_FOR_LARGE_MESSAGES: u64 = 32;

/// Maximum length of the payload of a UDP datagram, in bytes.
const UDP_PAYLOAD_BYTES_MAX: usize = 65_507;

/// Texts for the report that describe how the benchmarks call some carriers.
const DATAGRAM_CALLS: &str = "connected, not blocking, polled, 4 MiB of buffer requested; send; \
recv, streams received by recvmmsg of up to 64";

const RTRB_CALLS: &str = "push, pop, above 64 B push_entire_slice, pop_entire_slice; streams \
received by read_chunk of all there is";
const DISRUPTOR_CALLS: &str = "BusySpin; try_publish, EventPoller::poll of all there is";
const KANAL_CALLS: &str = "bounded; try_send, try_recv; streams received by drain_into";
const FLUME_CALLS: &str = "bounded; try_send, try_recv; streams received by drain";
const WAKEUP_CALLS: &str = "TSC of both CPUs; asleep for 50 us before each send";

/// Flags of a carrier, for each of which [`Carrier`] has a function.
const HORUS_FLAG: u8 = 1;
const LOSSLESS_FLAG: u8 = 2;
const TWO_SENDERS_FLAG: u8 = 4;
const DUPLEX_FLAG: u8 = 8;

/// Defines [`Carrier`]. For each carrier: its name in the ids of rows, its flags, and a description
/// of its endpoints and timed calls for the report.
macro_rules! carriers {
    ($($(#[$doc:meta])* $name:ident: $id:literal, $flags:expr, $description:expr;)+) => {
        /// A carrier of messages with a certain number of endpoints.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "the texts of their rows say it")]
        pub enum Carrier {
            Wakeup(WakeupMechanism),
            Channel(ChannelProvider, ChannelShape),
            $($(#[$doc])* $name,)+
        }

        impl Carrier {
            /// Returns the name of the carrier, its flags, and its description.
            const fn properties(self) -> (&'static str, u8, &'static str) {
                match self {
                    Carrier::Wakeup(mechanism) => (mechanism.id(), HORUS_FLAG, WAKEUP_CALLS),
                    Carrier::Channel(maker, shape) => maker.properties(shape),
                    $(Carrier::$name => ($id, $flags, $description),)+
                }
            }
        }
    };
}

carriers! {
    SpscShm: "spsc_shm", HORUS_FLAG | LOSSLESS_FLAG, "1:1, gated ring";
    MpscShm: "mpsc_shm", HORUS_FLAG | LOSSLESS_FLAG | TWO_SENDERS_FLAG,
        "2:1, gated ring, producers in turn";
    SpmcShm: "spmc_shm", HORUS_FLAG, "1:2, open lane, both receive";
    FanoutShm: "fanout_shm", HORUS_FLAG, "1:1, open lane";
    FanoutShm2p2s: "fanout_shm_2p2s", HORUS_FLAG | TWO_SENDERS_FLAG,
        "2:2, open lanes, producers in turn, both receive";
    PodShm: "pod_shm", HORUS_FLAG, "1:1, latest()";
    Topic: "topic", HORUS_FLAG,
        "1:1, best-effort topic (open lane); send; recv_into, streams received by drain";
    TopicReliable: "topic_reliable", HORUS_FLAG | LOSSLESS_FLAG,
        "1:1, reliable topic; send; recv_into, streams received by drain";
    TopicReliableSole: "topic_reliable_sole", HORUS_FLAG | LOSSLESS_FLAG,
        "1:1, reliable topic, subscribers_max(1); send; recv_into, streams received by drain";
    TopicDefault: "topic_default", HORUS_FLAG,
        "1:1, best-effort topic, default capacity; send, recv_into";
    TopicLoan: "topic_loan", HORUS_FLAG,
        "1:1, best-effort topic, default capacity; loan, publish, borrow";
    FanoutShmDuplex: "fanout_shm_duplex", HORUS_FLAG | DUPLEX_FLAG,
        "2:2 on one ring, both sides publish and subscribe";
    TopicDuplex: "topic_duplex", HORUS_FLAG | DUPLEX_FLAG,
        "2:2 on one best-effort topic, both sides publish and subscribe";
    LargeCopy: "copy", HORUS_FLAG, "send, recv, answer of 16 bytes";
    LargeLoan: "loan", HORUS_FLAG, "publish of a filled loan, borrow, answer of 16 bytes";
    HeadTailRing: "head_tail_ring", LOSSLESS_FLAG,
        "head and tail in lines of their own, each endpoint caches the other; streams received in \
         rendezvous, all there is at once";
    Udp: "udp", 0, DATAGRAM_CALLS;
    UnixDatagram: "unix_datagram", LOSSLESS_FLAG, DATAGRAM_CALLS;
    UnixStream: "unix_stream", LOSSLESS_FLAG,
        "not blocking, polled, 4 MiB of buffer requested; write; read, streams received by reads \
         of up to 256 KiB";
    Pipe: "pipe", LOSSLESS_FLAG,
        "not blocking, polled, 1 MiB of buffer requested; write; read, streams received by reads \
         of up to 256 KiB";
    Iceoryx2: "iceoryx2", 0, "1:1, ipc service, buffer of 1 that overflows, loaned ahead";
    /// The same service in the comparison with our loans. WHY another variant: each comparison
    /// measures both of its candidates again, so each candidate has separate rows.
    Iceoryx2Loan: "iceoryx2_loan", 0,
        "1:1, ipc service, buffer of 1 that overflows, loaned ahead";
    Iceoryx2Local: "iceoryx2_local", 0,
        "1:1, local service, buffer of 1 that overflows, loaned ahead";
    Iceoryx2Stream: "iceoryx2_stream", LOSSLESS_FLAG,
        "1:1, ipc service, buffer of 256, RetryUntilDelivered";
    Iceoryx2Duplex: "iceoryx2_duplex", DUPLEX_FLAG,
        "2:2, ipc service, both sides publish and subscribe";
}

/// A mechanism by which a process blocks until another process sends something to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the texts of their rows say it")]
pub enum WakeupMechanism {
    /// A futex word in shared memory, and nothing else. Every other mechanism is built on it.
    Futex,
    Pipe,
    /// `recv_timeout` on a topic whose waiting readers execute a barrier for all processes
    /// (`membarrier`), so that sends need no fence.
    Topic,
    /// `recv_timeout` on a topic whose publishers execute a fence for each message instead.
    TopicFence,
    /// A wait set, with which a thread waits for messages of several topics.
    WaitSet,
    /// A node of a scheduler that a topic wakes, until the node's tick begins.
    EventNode,
    Iceoryx2,
}

impl WakeupMechanism {
    /// All mechanisms, in the order of their rows. The others are compared with the first one.
    pub const ALL: &'static [WakeupMechanism] = &[
        WakeupMechanism::Futex,
        WakeupMechanism::Pipe,
        WakeupMechanism::Topic,
        WakeupMechanism::TopicFence,
        WakeupMechanism::WaitSet,
        #[cfg(feature = "iceoryx2")]
        WakeupMechanism::Iceoryx2,
    ];

    /// Returns the name of the mechanism in the ids of rows.
    pub const fn id(self) -> &'static str {
        match self {
            WakeupMechanism::Futex => "wakeup/futex",
            WakeupMechanism::Pipe => "wakeup/pipe",
            WakeupMechanism::Topic => "wakeup/topic/16B",
            WakeupMechanism::TopicFence => "wakeup/topic_fence/16B",
            WakeupMechanism::WaitSet => "wakeup/wait_set/16B",
            WakeupMechanism::EventNode => "event/wake/16B",
            WakeupMechanism::Iceoryx2 => "wakeup/iceoryx2",
        }
    }
}

/// The module of our library, or the crate, that provides a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "modules of ours, and crates")]
pub enum ChannelProvider {
    Direct,
    Spsc,
    Spmc,
    Mpsc,
    Fanout,
    Rtrb,
    Disruptor,
    Crossbeam,
    Std,
    Kanal,
    Flume,
}

/// The number of senders and the number of receivers of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelShape {
    /// One sender and one receiver.
    OneToOne,
    /// Two senders, which take turns, and one receiver.
    TwoToOne,
    /// One sender, and two receivers that both get every message. For channels that cannot
    /// broadcast, the sender has a separate channel to each receiver.
    OneToTwo,
    /// Two senders, which take turns, and two receivers that both get every message.
    TwoToTwo,
}

impl ChannelProvider {
    /// The providers whose channels are compared with both endpoints in one thread.
    pub const ONE_THREAD_PROVIDERS: [ChannelProvider; 8] = {
        use ChannelProvider::{Crossbeam, Direct, Disruptor, Flume, Kanal, Rtrb, Spsc, Std};
        [Direct, Spsc, Rtrb, Disruptor, Crossbeam, Std, Kanal, Flume]
    };

    /// Returns the name, the flags and the description of the carrier with the channels of this
    /// provider.
    const fn properties(self, shape: ChannelShape) -> (&'static str, u8, &'static str) {
        const HORUS_CHANNEL_CALLS: &str =
            "try_send_ref, try_recv_into; streams received by drain_in_place";
        let (id, owner, calls) = match self {
            ChannelProvider::Direct => ("direct", HORUS_FLAG, "try_send, try_recv"),
            ChannelProvider::Spsc => ("spsc", HORUS_FLAG, HORUS_CHANNEL_CALLS),
            ChannelProvider::Spmc => ("spmc", HORUS_FLAG, HORUS_CHANNEL_CALLS),
            ChannelProvider::Mpsc => ("mpsc", HORUS_FLAG, HORUS_CHANNEL_CALLS),
            // WHY another name: our SPSC channel is compared in two shapes.
            ChannelProvider::Fanout if matches!(shape, ChannelShape::OneToTwo) => {
                ("fanout_broadcast", HORUS_FLAG, HORUS_CHANNEL_CALLS)
            }
            ChannelProvider::Fanout => ("fanout", HORUS_FLAG, HORUS_CHANNEL_CALLS),
            ChannelProvider::Rtrb => ("rtrb", 0, RTRB_CALLS),
            ChannelProvider::Disruptor => ("disruptor", 0, DISRUPTOR_CALLS),
            ChannelProvider::Crossbeam => ("crossbeam", 0, "bounded; try_send, try_recv"),
            ChannelProvider::Std => ("std", 0, "sync_channel; try_send, try_recv"),
            ChannelProvider::Kanal => ("kanal", 0, KANAL_CALLS),
            ChannelProvider::Flume => ("flume", 0, FLUME_CALLS),
        };
        let senders = match shape {
            ChannelShape::TwoToOne | ChannelShape::TwoToTwo => TWO_SENDERS_FLAG,
            ChannelShape::OneToOne | ChannelShape::OneToTwo => 0,
        };
        (id, owner | LOSSLESS_FLAG | senders, calls)
    }
}

impl ChannelShape {
    /// The shapes in which channels are compared.
    pub const COMPARED_SHAPES: [ChannelShape; 3] = [
        ChannelShape::OneToOne,
        ChannelShape::TwoToOne,
        ChannelShape::OneToTwo,
    ];

    /// Returns the name of the shape in the ids of carriers.
    pub const fn id(self) -> &'static str {
        match self {
            ChannelShape::OneToOne => "cross_thread",
            ChannelShape::TwoToOne => "cross_thread_2p1s",
            ChannelShape::OneToTwo => "cross_thread_1p2s",
            ChannelShape::TwoToTwo => "cross_thread_2p2s",
        }
    }

    /// Returns the channels of all providers that are compared in this shape.
    pub fn compared_carriers(self) -> Vec<Carrier> {
        use ChannelProvider::*;
        let makers: &[ChannelProvider] = match self {
            ChannelShape::OneToOne => &[Spsc, Rtrb, Disruptor, Crossbeam, Std, Kanal, Flume],
            ChannelShape::TwoToOne => &[Mpsc, Fanout, Disruptor, Crossbeam, Std, Kanal, Flume],
            ChannelShape::OneToTwo => &[Spmc, Fanout, Disruptor, Crossbeam],
            ChannelShape::TwoToTwo => &[Fanout],
        };
        let carriers = makers.iter().map(|&maker| Carrier::Channel(maker, self));
        carriers.collect()
    }

    const fn endpoints_text(self) -> &'static str {
        match self {
            ChannelShape::OneToOne => "1:1",
            ChannelShape::TwoToOne => "2:1, senders in turn",
            ChannelShape::OneToTwo => "1:2, both receive",
            ChannelShape::TwoToTwo => "2:2, senders in turn, both receive",
        }
    }
}

impl Carrier {
    /// Our channel whose two ends are in one thread.
    pub const DIRECT: Carrier = Carrier::Channel(ChannelProvider::Direct, ChannelShape::OneToOne);
    /// Our channel with one sender and one receiver.
    pub const SPSC: Carrier = Carrier::Channel(ChannelProvider::Spsc, ChannelShape::OneToOne);
    /// Our channel with one sender and two receivers.
    pub const SPMC: Carrier = Carrier::Channel(ChannelProvider::Spmc, ChannelShape::OneToTwo);
    /// Our channel with two senders and one receiver.
    pub const MPSC: Carrier = Carrier::Channel(ChannelProvider::Mpsc, ChannelShape::TwoToOne);
    /// Our channel with two senders and two receivers.
    pub const FANOUT: Carrier = Carrier::Channel(ChannelProvider::Fanout, ChannelShape::TwoToTwo);

    /// The carriers that are compared between two processes, in the order of their rows.
    pub const CARRIERS_BETWEEN_PROCESSES: [Carrier; 7] = [
        Carrier::Topic,
        Carrier::TopicReliable,
        Carrier::HeadTailRing,
        Carrier::Udp,
        Carrier::UnixDatagram,
        Carrier::UnixStream,
        Carrier::Pipe,
    ];

    /// Returns the name of the carrier in the ids of rows.
    pub const fn id(self) -> &'static str {
        self.properties().0
    }

    /// Returns a text for the report: the numbers of endpoints, and the timed calls.
    pub fn description(self) -> String {
        let description = self.properties().2;
        match self {
            Carrier::Channel(_, shape) => {
                format!("channel, {}; {description}", shape.endpoints_text())
            }
            _ => description.to_owned(),
        }
    }

    const fn has_flag(self, flag: u8) -> bool {
        self.properties().1 & flag != 0
    }

    /// Returns true if this is a carrier of our library.
    pub const fn is_of_horus(self) -> bool {
        self.has_flag(HORUS_FLAG)
    }

    /// Returns the number of endpoints that send a stream: 1, or 2 that are on one side and send in
    /// turn, or 2 of which each side has one.
    pub const fn producer_count(self) -> u64 {
        1 + self.has_flag(TWO_SENDERS_FLAG | DUPLEX_FLAG) as u64
    }

    /// Returns true if the carrier neither overwrites nor drops unread messages, so that a lost
    /// message is an error.
    pub const fn is_lossless(self) -> bool {
        self.has_flag(LOSSLESS_FLAG)
    }

    /// Returns true if one ring serves both directions. In a stream benchmark of such a carrier,
    /// both sides send at the same time, and each receives the messages of both.
    pub const fn is_duplex(self) -> bool {
        self.has_flag(DUPLEX_FLAG)
    }

    /// Returns the reason why the carrier cannot transport messages of `message_bytes` bytes, if
    /// any.
    pub fn unsupported_reason(self, message_bytes: usize) -> Option<String> {
        let is_too_large = self == Carrier::Udp && message_bytes > UDP_PAYLOAD_BYTES_MAX;
        is_too_large.then(|| format!("a datagram holds {UDP_PAYLOAD_BYTES_MAX} bytes"))
    }
}

/// The size of a message: a number of bytes, or the size of a standard message of robots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum MessageSize {
    Bytes(usize),
    CmdVel,
    Imu,
    JointCommand,
    LaserScan,
}

impl MessageSize {
    /// The usual message sizes, in ascending order.
    pub const USUAL_SIZES: [MessageSize; 3] = [
        MessageSize::Bytes(16),
        MessageSize::Bytes(304),
        MessageSize::Bytes(1480),
    ];

    /// The standard messages of robots that are measured.
    pub const ROBOT_MESSAGES: [MessageSize; 4] = [
        MessageSize::CmdVel,
        MessageSize::Imu,
        MessageSize::JointCommand,
        MessageSize::LaserScan,
    ];

    /// Returns the size of the message in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            MessageSize::Bytes(bytes) => bytes,
            MessageSize::CmdVel => size_of::<CmdVel>(),
            MessageSize::Imu => size_of::<Imu>(),
            MessageSize::JointCommand => size_of::<JointCommand>(),
            MessageSize::LaserScan => size_of::<LaserScan>(),
        }
    }

    /// Returns the name of the size in the ids of rows, such as `16B`, `64KB` or `CmdVel`.
    pub fn id(self) -> String {
        match self {
            MessageSize::Bytes(bytes) => size_label(bytes),
            _ => format!("{self:?}"),
        }
    }

    /// Returns true if a message is large enough to hold a stamp, the time at which it was sent.
    pub const fn has_stamp(self) -> bool {
        self.bytes() > size_of::<u64>()
    }

    /// Returns the number of messages of this size that a carrier can hold.
    pub const fn capacity(self) -> u64 {
        match self.bytes() {
            ..4096 => CARRIER_CAPACITY,
            _ => CAPACITY_FOR_LARGE_MESSAGES,
        }
    }
}

/// The carrier of each of the two directions, and the size of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Transport {
    pub carrier: Carrier,
    pub size: MessageSize,
}

impl Transport {
    /// Returns every combination of `carriers` and `sizes`, in the order of the rows.
    pub fn combinations(carriers: &[Carrier], sizes: &[MessageSize]) -> Vec<Transport> {
        let of = |&carrier| sizes.iter().map(move |&size| Transport { carrier, size });
        carriers.iter().flat_map(of).collect()
    }

    /// Returns the name of the transport in the ids of rows, such as `spsc_shm/16B`.
    pub fn id(self) -> String {
        format!("{}/{}", self.carrier.id(), self.size.id())
    }
}
