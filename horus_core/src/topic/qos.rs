//! Quality of service: what a publisher offers, and what a subscriber requests.

use horus_shm::{FieldPrefixes, LatchKey, OnStalled, Reliability, Request, TypeInfo, WakeBarrier};

/// Quality of service: what a publisher offers, and what a subscriber requests. Start from a
/// preset, then change the settings that matter.
///
/// Each setting belongs to one endpoint and none to the topic, so the order in which programs start
/// does not matter. Each publisher has its own number of slots, its own history and its own
/// reliability. Of a subscriber's settings, only the reliability affects publishers: if it requests
/// [`Reliability::Reliable`], publishers that offer this wait for the subscriber. A subscriber gets
/// nothing from a publisher that offers less than it requests. If there are live publishers, but
/// none offers enough, the subscriber's `check` returns an error.
///
/// | preset | reliability | capacity | late joiners get | wake barrier |
/// |---|---|---|---|---|
/// | [`Qos::new`] | best effort | by size, 16 to 1024 (4 above 1 MiB) | nothing old | membarrier |
/// | [`Qos::sensor_data`] | best effort | 8 | nothing old | membarrier |
/// | [`Qos::reliable`] | reliable | by size, as of [`Qos::new`] | nothing old | membarrier |
/// | [`Qos::command`] | best effort | 16 | nothing old | fence |
/// | [`Qos::latched`] | best effort | 4 | the last one, also after exit | membarrier |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Qos {
    reliability: Option<Reliability>,
    capacity: Option<u64>,
    history: Option<u32>,
    persists: Option<bool>,
    latch_key: Option<LatchKey>,
    continues_history: bool,
    wake_barrier: Option<WakeBarrier>,
    pinnable: Option<bool>,
    publishers_max: Option<u32>,
    subscribers_max: Option<u32>,
    on_stalled: OnStalled,
    strict: bool,
    strict_schema: bool,
}

impl Qos {
    /// Returns the default settings: best effort, no history, and a capacity that depends on the
    /// message size.
    pub const fn new() -> Self {
        Self {
            reliability: None,
            capacity: None,
            history: None,
            persists: None,
            latch_key: None,
            continues_history: false,
            wake_barrier: None,
            pinnable: None,
            publishers_max: None,
            subscribers_max: None,
            on_stalled: OnStalled::Full,
            strict: false,
            strict_schema: false,
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
    /// subscriber still has to read all messages in the publisher's lane.
    pub const fn reliable() -> Self {
        Self::new().reliability(Reliability::Reliable).history(0)
    }

    /// Returns the preset for commands to actuators: 16 slots, and every send executes a memory
    /// fence, so that a subscriber need not call `membarrier` before it sleeps.
    pub const fn command() -> Self {
        let qos = Self::new()
            .reliability(Reliability::BestEffort)
            .capacity(16)
            .history(0);
        qos.wake_barrier(WakeBarrier::Fence)
    }

    /// Returns the preset for subscribers that join late: they get the last message, even after its
    /// publisher has left.
    pub const fn latched() -> Self {
        let qos = Self::new()
            .reliability(Reliability::BestEffort)
            .capacity(4)
            .history(1);
        qos.persist_after_exit(true)
    }

    /// Sets the reliability. For a publisher, it says what happens when the lane is full. For a
    /// subscriber, it says whether publishers wait for this subscriber. Default:
    /// [`Reliability::BestEffort`].
    pub const fn reliability(mut self, reliability: Reliability) -> Self {
        self.reliability = Some(reliability);
        self
    }

    /// Sets the number of slots of this publisher's lane, from 2 to 2^20. It is rounded up to a
    /// power of two. Default: 16 to 1024, by message size, and 4 above 1 MiB.
    pub const fn capacity(mut self, messages: u64) -> Self {
        self.capacity = Some(messages);
        self
    }

    /// Sets how many of its last messages a publisher keeps for subscribers that join later.
    /// Default: 0, or 1 with [`Self::persist_after_exit`]. A subscriber gets at most seven eighths
    /// of the slots: from 4 slots three messages.
    pub const fn history(mut self, messages: u32) -> Self {
        self.history = Some(messages);
        self
    }

    /// Sets whether the history of a publisher stays after the publisher has left. In this case,
    /// the topic stays, too.
    pub const fn persist_after_exit(mut self, persist: bool) -> Self {
        self.persists = Some(persist);
        self
    }

    /// Sets the key that identifies a history that outlives its publisher. The first message of a
    /// new publisher replaces the history with the same key. Histories with other keys stay.
    /// Default: the name of the program; in Python that of the script or module, or the text of the
    /// command after `-c`.
    pub const fn latch_key(mut self, key: &str) -> Self {
        self.latch_key = Some(LatchKey::new(key));
        self
    }

    /// Makes a publisher keep the latched messages of its predecessor with the same key, instead of
    /// replacing them. Subscribers that join later get the last messages of both publishers. This
    /// is for logs of several runs.
    pub(crate) const fn continue_history(mut self) -> Self {
        self.continues_history = true;
        self
    }

    /// Sets who executes the memory barrier that prevents lost wakes: this publisher in every send,
    /// or a subscriber before each sleep. Default: [`WakeBarrier::Membarrier`], the subscriber.
    pub const fn wake_barrier(mut self, barrier: WakeBarrier) -> Self {
        self.wake_barrier = Some(barrier);
        self
    }

    /// Sets whether messages can be written and read in place, in their slots. Default: only
    /// messages of 4 KiB and more.
    pub const fn pinnable(mut self, pinnable: bool) -> Self {
        self.pinnable = Some(pinnable);
        self
    }

    /// Limits the number of publishers that are open with this setting at a time. A topic has 64
    /// places for publishers, and this publisher takes one of the first `publishers` places.
    /// Default: 64.
    pub const fn publishers_max(mut self, publishers: u32) -> Self {
        self.publishers_max = Some(publishers);
        self
    }

    /// Limits the number of subscribers that are open with this setting at a time. A topic has 64
    /// places for subscribers, and this subscriber takes one of the first `subscribers` places.
    /// Default: 64.
    ///
    /// With 1, a subscriber declares that the topic has no other subscriber. On some CPUs it then
    /// maps the slots writable if they take at most 16 KiB, because that makes streams faster
    /// (`docs/performance.md`). It never stores to them. But if a bug in its process overwrites a
    /// slot, others may receive the damaged message: a subscriber without this setting, an
    /// observer, or a later subscriber.
    pub const fn subscribers_max(mut self, subscribers: u32) -> Self {
        self.subscribers_max = Some(subscribers);
        self
    }

    /// Sets what this publisher does about a reliable subscriber that stops reading. Default:
    /// [`OnStalled::Full`].
    pub const fn on_stalled(mut self, on_stalled: OnStalled) -> Self {
        self.on_stalled = on_stalled;
        self
    }

    /// Sets whether opening fails with [`SchemaMismatch`](crate::TopicError::SchemaMismatch) if the
    /// topic was created with a different message type, or a different version of it. Default:
    /// false, so that a topic may carry several types, and each subscriber gets the messages of its
    /// type.
    ///
    /// With `true`, it depends on the order in which programs start whether opening fails. To find
    /// out whether the types of running programs match, in any order, call
    /// [`Subscriber::check`](crate::topic::Subscriber::check).
    pub const fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Sets whether this endpoint matches only endpoints with exactly its message type. Default:
    /// false, so that it also matches endpoints whose message has fewer or more fields at the end.
    pub const fn strict_schema(mut self, strict: bool) -> Self {
        self.strict_schema = strict;
        self
    }

    pub(crate) const fn stall_policy(&self) -> OnStalled {
        self.on_stalled
    }

    pub(crate) const fn is_strict(&self) -> bool {
        self.strict
    }

    pub(crate) const fn is_schema_strict(&self) -> bool {
        self.strict_schema
    }

    pub(crate) const fn requests_reliable(&self) -> bool {
        matches!(self.reliability, Some(Reliability::Reliable))
    }

    pub(crate) fn request(&self, mut type_info: TypeInfo) -> Request {
        if self.strict_schema {
            type_info.growth = FieldPrefixes::default();
        }
        let mut request = Request::new(type_info);
        request.capacity = self.capacity;
        request.reliability = self.reliability;
        request.history = self.history;
        request.persists = self.persists;
        request.latch_key = self.latch_key;
        request.continues_history = self.continues_history;
        request.wake_barrier = self.wake_barrier;
        request.pinnable = self.pinnable;
        request.lane_limit = self.publishers_max;
        request.reader_limit = self.subscribers_max;
        request.strict = self.strict;
        request
    }
}
