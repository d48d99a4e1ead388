//! Quality of service: what the creator of a topic fixes and what a joiner insists on.

use horus_shm::{OnStalled, Reliability, Request, TypeInfo, WakeEdge};

/// Quality of service. Start from a preset, change what matters.
///
/// Sizes and service belong to whoever creates the topic. Whatever is left open is adopted from
/// the topic; what is set and differs is an error of the constructor, with two exceptions: to a
/// subscriber a larger capacity is as good, and its reliability says how *it* reads.
///
/// | preset | reliability | capacity | late joiners get | wake edge |
/// |---|---|---|---|---|
/// | [`Qos::new`] | best effort | by size, 16 to 1024 | nothing old | membarrier |
/// | [`Qos::sensor_data`] | best effort | 8 | nothing old | membarrier |
/// | [`Qos::reliable`] | reliable | 1024 | nothing old | membarrier |
/// | [`Qos::command`] | best effort | 16 | nothing old | fence |
/// | [`Qos::latched`] | best effort | 4 | the last one, also after exit | membarrier |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Qos {
    reliability: Option<Reliability>,
    capacity: Option<u64>,
    history: Option<u32>,
    persists: Option<bool>,
    wake_edge: Option<WakeEdge>,
    pinnable: Option<bool>,
    publishers_max: Option<u32>,
    subscribers_max: Option<u32>,
    reliable_subscribers_max: Option<u32>,
    on_stalled: OnStalled,
}

impl Qos {
    /// Everything left open: adopts what the topic has, or creates it with the defaults.
    pub const fn new() -> Self {
        Self {
            reliability: None,
            capacity: None,
            history: None,
            persists: None,
            wake_edge: None,
            pinnable: None,
            publishers_max: None,
            subscribers_max: None,
            reliable_subscribers_max: None,
            on_stalled: OnStalled::Full,
        }
    }

    /// Fresh data matters, old data does not: 8 slots, best effort.
    pub const fn sensor_data() -> Self {
        Self::new().reliability(Reliability::BestEffort).capacity(8).history(0)
    }

    /// Nothing is overwritten unread: a send is refused while a reliable subscriber is behind.
    pub const fn reliable() -> Self {
        Self::new().reliability(Reliability::Reliable).capacity(1024).history(0)
    }

    /// Commands to actuators: 16 slots, and waking a reader costs it no system call.
    pub const fn command() -> Self {
        let qos = Self::new().reliability(Reliability::BestEffort).capacity(16).history(0);
        qos.wake_edge(WakeEdge::Fence)
    }

    /// The last message stays for those who join later, even after its publisher left.
    pub const fn latched() -> Self {
        let qos = Self::new().reliability(Reliability::BestEffort).capacity(4).history(1);
        qos.persist_after_exit(true)
    }

    /// What a full lane means to a publisher; for a subscriber, how it reads.
    pub const fn reliability(mut self, reliability: Reliability) -> Self {
        self.reliability = Some(reliability);
        self
    }

    /// Slots of each publisher's lane, in messages; rounded up to a power of two.
    pub const fn capacity(mut self, messages: u64) -> Self {
        self.capacity = Some(messages);
        self
    }

    /// How many of the last messages of each live publisher a late joiner still gets.
    pub const fn history(mut self, messages: u32) -> Self {
        self.history = Some(messages);
        self
    }

    /// Keeps the topic and its history when all its processes are gone.
    pub const fn persist_after_exit(mut self, persist: bool) -> Self {
        self.persists = Some(persist);
        self
    }

    /// Who pays for waking a sleeping reader.
    pub const fn wake_edge(mut self, edge: WakeEdge) -> Self {
        self.wake_edge = Some(edge);
        self
    }

    /// Whether messages can be written and read in place. Default: those of 4 KiB and more.
    pub const fn pinnable(mut self, pinnable: bool) -> Self {
        self.pinnable = Some(pinnable);
        self
    }

    /// Publishers at a time, at most 64. Default 16.
    pub const fn publishers_max(mut self, publishers: u32) -> Self {
        self.publishers_max = Some(publishers);
        self
    }

    /// Subscribers at a time, at most 64. Default 64.
    pub const fn subscribers_max(mut self, subscribers: u32) -> Self {
        self.subscribers_max = Some(subscribers);
        self
    }

    /// Reliable subscribers at a time, at most 64. Default 16 on a reliable topic.
    pub const fn reliable_subscribers_max(mut self, subscribers: u32) -> Self {
        self.reliable_subscribers_max = Some(subscribers);
        self
    }

    /// What this publisher does about a reliable subscriber that does not get on.
    pub const fn on_stalled(mut self, on_stalled: OnStalled) -> Self {
        self.on_stalled = on_stalled;
        self
    }

    pub(crate) const fn stall_policy(&self) -> OnStalled {
        self.on_stalled
    }

    pub(crate) const fn reads_reliably(&self) -> Option<bool> {
        match self.reliability {
            Some(reliability) => Some(matches!(reliability, Reliability::Reliable)),
            None => None,
        }
    }

    pub(crate) fn request(&self, type_info: TypeInfo, reader: bool) -> Request {
        let mut request = Request::new(type_info);
        request.reader = reader;
        request.capacity = self.capacity;
        request.reliability = self.reliability;
        request.history = self.history;
        request.persists = self.persists;
        request.wake_edge = self.wake_edge;
        request.pinnable = self.pinnable;
        request.lane_limit = self.publishers_max;
        request.reader_limit = self.subscribers_max;
        request.gate_limit = self.reliable_subscribers_max;
        request
    }
}
