//! Quality of service: the settings that a topic's creator fixes and that a joiner may require.

use horus_shm::{OnStalled, Reliability, Request, TypeInfo, WakeEdge};

/// Quality of service. Start from a preset, then change the settings that matter.
///
/// The process that creates the topic fixes its sizes and service. A setting left open is adopted
/// from the topic. A setting that differs from the topic's is an error of the constructor, with two
/// exceptions for subscribers: a larger capacity of the topic is accepted, and their reliability
/// sets only how *they* read.
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
    on_stalled: OnStalled,
}

impl Qos {
    /// Leaves everything open: adopts the topic's settings, or creates the topic with the defaults.
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
            on_stalled: OnStalled::Full,
        }
    }

    /// Returns the preset for fresh data, where old data does not matter: 8 slots, best effort.
    pub const fn sensor_data() -> Self {
        Self::new()
            .reliability(Reliability::BestEffort)
            .capacity(8)
            .history(0)
    }

    /// Returns the preset for messages that must not be lost: a send is refused while a reliable
    /// subscriber is a whole lane behind.
    pub const fn reliable() -> Self {
        Self::new()
            .reliability(Reliability::Reliable)
            .capacity(1024)
            .history(0)
    }

    /// Returns the preset for commands to actuators: 16 slots, and a fence in every send instead of
    /// a `membarrier` call of a reader before it sleeps.
    pub const fn command() -> Self {
        let qos = Self::new()
            .reliability(Reliability::BestEffort)
            .capacity(16)
            .history(0);
        qos.wake_edge(WakeEdge::Fence)
    }

    /// Returns the preset for late joiners: they get the last message, even after its publisher
    /// left.
    pub const fn latched() -> Self {
        let qos = Self::new()
            .reliability(Reliability::BestEffort)
            .capacity(4)
            .history(1);
        qos.persist_after_exit(true)
    }

    /// Sets what a publisher does when its lane is full; for a subscriber, sets how it reads.
    pub const fn reliability(mut self, reliability: Reliability) -> Self {
        self.reliability = Some(reliability);
        self
    }

    /// Sets the number of slots of each publisher's lane, in messages; rounded up to a power of
    /// two.
    pub const fn capacity(mut self, messages: u64) -> Self {
        self.capacity = Some(messages);
        self
    }

    /// Sets how many of the last messages of each live publisher a late joiner still gets.
    pub const fn history(mut self, messages: u32) -> Self {
        self.history = Some(messages);
        self
    }

    /// Keeps the topic and its history when all its processes are gone.
    pub const fn persist_after_exit(mut self, persist: bool) -> Self {
        self.persists = Some(persist);
        self
    }

    /// Sets which side pays the cost of waking a sleeping reader.
    pub const fn wake_edge(mut self, edge: WakeEdge) -> Self {
        self.wake_edge = Some(edge);
        self
    }

    /// Sets whether messages can be written and read in place. Default: only those of 4 KiB and
    /// more.
    pub const fn pinnable(mut self, pinnable: bool) -> Self {
        self.pinnable = Some(pinnable);
        self
    }

    /// Sets the most publishers at a time, up to 64. Default 16.
    pub const fn publishers_max(mut self, publishers: u32) -> Self {
        self.publishers_max = Some(publishers);
        self
    }

    /// Sets the most subscribers at a time, up to 64. Default 64.
    pub const fn subscribers_max(mut self, subscribers: u32) -> Self {
        self.subscribers_max = Some(subscribers);
        self
    }

    /// Sets what this publisher does about a reliable subscriber that stops reading.
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
        request
    }
}
