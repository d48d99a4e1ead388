//! Requests and offers. A request is what a process asks for when it opens a topic; an offer is the
//! settings of a publisher's lane.

use std::path::Path;

use crate::file::error::OpenError;
use crate::file::latch_key::LatchKey;
use crate::file::match_settings::{MatchSettings, Mismatch};
use crate::file::topic_type::{Reliability, TypeInfo};
use crate::protocol::layout::{
    PARTICIPANTS_MAX, SCHEMA_BYTES_MAX, STRIDE_MAX, TYPE_NAME_BYTES_MAX,
};
use crate::protocol::shape::{
    LaneShape, ShapeError, ShapeRequest, default_capacity, slot_stride_bytes,
};
use crate::wait::WakeBarrier;

/// Minimum size in bytes of a message whose slots are pinnable by default, so that it can be
/// written and read in place (loaned and borrowed). WHY a minimum: it costs less to copy a shorter
/// message than to pin its slot.
pub const PINNABLE_BYTES_MIN: u64 = 4096;

/// Length in bytes of the longest message for which a slot can be made.
pub(crate) const MESSAGE_BYTES_MAX: u64 = STRIDE_MAX - 64;

/// The lengths of slots that grow (because messages vary in length) are multiples of this number of
/// bytes.
const SLOT_GROWTH_STEP_BYTES: u64 = 4096;

/// The offer of a publisher: the settings of its lane. They are stored in the header of each of the
/// lane's extents and never change there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The message type. If messages vary in length, its `bytes` is the length of the longest
    /// message that fits in a slot.
    pub type_info: TypeInfo,
    /// Sizes and offsets of the lane's slots.
    pub shape: LaneShape,
    /// The effect of a send into a full lane: it overwrites, or is refused.
    pub reliability: Reliability,
    /// Number of messages sent before a reader joined that the reader still gets.
    pub history: u32,
    /// True if the history stays after the publisher has left. The topic file is then also kept
    /// while no process uses it.
    pub persists: bool,
    /// The side that bears the cost of the memory fence between the publication of a message and
    /// the check for sleeping readers: the sender, or a reader before it sleeps.
    pub wake_barrier: WakeBarrier,
}

impl Offer {
    /// Returns the settings that decide which readers the publisher matches.
    #[must_use]
    pub fn match_settings(&self) -> MatchSettings {
        MatchSettings {
            type_identity: self.type_info.identity(),
            reliability: self.reliability,
        }
    }

    /// Returns the reason why a reader with the settings `reader` must not read the messages of the
    /// publisher; `None` if it may. `is_variable_length` is true if the messages that the reader
    /// reads differ in length.
    pub(crate) fn mismatch_with(
        &self,
        reader: &MatchSettings,
        is_variable_length: bool,
    ) -> Option<Mismatch> {
        // WHY: the identity comes from another process, and fields of a fixed size cannot be read
        // from messages of any length.
        let is_alike = self.type_info.sized == is_variable_length;
        let mismatch = self.match_settings().mismatch(reader);
        mismatch.or((!is_alike).then_some(Mismatch::Type))
    }

    /// Returns the number of messages that stay available to new readers after the publisher has
    /// left; 0 if its history is not kept.
    pub(crate) const fn latched_message_count(&self) -> u32 {
        if self.persists { self.history } else { 0 }
    }
}

/// The request of a process that opens a topic. All fields except the type concern only the
/// endpoints that this process opens with the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The message type that the publisher sends, or that the reader requests.
    pub type_info: TypeInfo,
    /// For a publisher: number of slots of its lane, rounded up to a power of two.
    pub capacity: Option<u64>,
    /// For a publisher: number of lanes of the topic, counted from the first, among which it claims
    /// a free one. Default: 64.
    pub lane_limit: Option<u32>,
    /// For a reader: number of reader slots of the topic, counted from the first, among which it
    /// claims a free one. Default: 64.
    pub reader_limit: Option<u32>,
    /// For a publisher: the effect of a send into a full lane. Default: best effort (overwrite).
    pub reliability: Option<Reliability>,
    /// For a publisher: number of messages sent earlier that a reader still gets when it joins.
    /// Default: 0, or 1 if the history stays after the publisher has left.
    pub history: Option<u32>,
    /// For a publisher: true if its history stays available to new readers after it has left.
    /// Default: false.
    pub persists: Option<bool>,
    /// For a publisher whose history stays: the key by which a later publisher finds the history.
    /// Default: [`LatchKey::of_program`].
    pub latch_key: Option<LatchKey>,
    /// For a publisher whose history stays: true if its messages are added to the history of the
    /// previous publisher with the same key, false if its first message replaces that history.
    /// Default: false.
    pub continues_history: bool,
    /// For a publisher: the side that bears the cost of the memory fence between the publication of
    /// a message and the check for sleeping readers. Default: the reader, with `membarrier` before
    /// it sleeps.
    pub wake_barrier: Option<WakeBarrier>,
    /// For a publisher: true if readers may pin slots, so that messages are written and read in
    /// place. Default: true for messages of 4 KiB and more.
    pub pinnable: Option<bool>,
    /// For a reader: the bytes of a message of its type. They complete messages whose type is a
    /// shorter version. Default: zeros.
    pub defaults: Option<Box<[u8]>>,
    /// True if opening the topic fails when the topic was created with a different type. Default:
    /// false. A topic may carry several types; each reader then gets only messages that match its
    /// type.
    pub strict: bool,
    /// For a publisher whose messages vary in length: length of its longest message in bytes. The
    /// slots have this length from the start. Default: the slots begin with the length in
    /// `type_info`, and grow when messages are longer.
    pub max_message_bytes: Option<u64>,
}

impl Request {
    /// Creates a request that sets only the message type. All other settings keep their defaults.
    #[must_use]
    pub const fn new(type_info: TypeInfo) -> Self {
        Self {
            type_info,
            capacity: None,
            lane_limit: None,
            reader_limit: None,
            reliability: None,
            history: None,
            persists: None,
            latch_key: None,
            continues_history: false,
            wake_barrier: None,
            pinnable: None,
            defaults: None,
            strict: false,
            max_message_bytes: None,
        }
    }

    /// Returns the offer of a publisher that opens the topic with this request.
    ///
    /// # Errors
    ///
    /// [`OpenError::Shape`] or [`OpenError::TypeTooLong`] if no lane can have these settings.
    pub fn offer(&self) -> Result<Offer, OpenError> {
        self.check_type_fits_header()?;
        let first_bytes = match self.max_message_bytes {
            Some(bytes) if self.type_info.sized => bytes,
            _ => self.type_info.bytes,
        };
        Ok(self.offer_for_payload(first_bytes)?)
    }

    /// Returns `offer` with longer slots, in which a message of `bytes` bytes fits; `None` if this
    /// publisher may not send messages of that length.
    pub(crate) fn offer_for_longer_messages(&self, offer: &Offer, bytes: u64) -> Option<Offer> {
        if bytes > self.longest_bytes() || !offer.shape.request().sized {
            return None;
        }
        // WHY half as much again: messages that become a little longer each time must not cause an
        // extent each.
        let present = offer.shape.request().payload_bytes;
        let wanted = bytes.max(present + present / 2);
        let wanted = wanted.next_multiple_of(SLOT_GROWTH_STEP_BYTES);
        self.offer_for_payload(wanted.min(self.longest_bytes()))
            .ok()
    }

    /// Returns `offer` with at least `capacity` slots, a number that is rounded up to a power of
    /// two; `None` if no lane can have so many.
    pub(crate) fn offer_for_more_slots(&self, offer: Offer, capacity: u64) -> Option<Offer> {
        if capacity <= offer.shape.capacity() {
            return Some(offer);
        }
        let request = Self {
            capacity: Some(capacity),
            ..self.clone()
        };
        request
            .offer_for_payload(offer.shape.request().payload_bytes)
            .ok()
    }

    /// Returns true if a publisher with this request, whose own offer is `own_offer`, may continue
    /// in an existing extent with the offer `found`. It may if it could have created that extent
    /// itself.
    pub(crate) fn may_continue_extent(&self, found: &Offer, own_offer: &Offer) -> bool {
        let bytes = found.shape.request().payload_bytes;
        let fits =
            (own_offer.shape.request().payload_bytes..=self.longest_bytes()).contains(&bytes);
        fits && self.offer_for_payload(bytes).is_ok_and(|own| own == *found)
    }

    /// Returns the maximum length in bytes of a message from a publisher that is opened with this
    /// request.
    #[must_use]
    pub fn longest_bytes(&self) -> u64 {
        if self.type_info.sized {
            self.max_message_bytes.unwrap_or(MESSAGE_BYTES_MAX)
        } else {
            self.type_info.bytes
        }
    }

    fn offer_for_payload(&self, payload_bytes: u64) -> Result<Offer, ShapeError> {
        let persists = self.persists.unwrap_or(false);
        let type_info = TypeInfo {
            bytes: payload_bytes,
            ..self.type_info.clone()
        };
        let pinnable = self.has_pinnable_slots()?;
        let stride = slot_stride_bytes(payload_bytes.min(1 << 30), type_info.sized, pinnable);
        let shape = LaneShape::new(ShapeRequest {
            payload_bytes,
            payload_align: type_info.align,
            capacity: self
                .capacity
                .map_or_else(|| default_capacity(stride), rounded_capacity),
            sized: type_info.sized,
            pinnable,
        })
        .map_err(|error| self.restore_requested_capacity(error))?;
        Ok(Offer {
            type_info,
            shape,
            reliability: self.reliability.unwrap_or_default(),
            history: self.history.unwrap_or(persists.into()),
            persists,
            wake_barrier: self.wake_barrier.unwrap_or_default(),
        })
    }

    /// Checks that the header of a topic file has room for the description of the type.
    ///
    /// # Errors
    ///
    /// [`OpenError::TypeTooLong`] if there is not enough room.
    pub(crate) fn check_type_fits_header(&self) -> Result<(), OpenError> {
        let info = &self.type_info;
        for (field, bytes, max) in [
            ("type name", info.name.len(), TYPE_NAME_BYTES_MAX),
            ("schema text", info.schema.len(), SCHEMA_BYTES_MAX),
        ] {
            if bytes > max {
                return Err(OpenError::TypeTooLong { field, bytes, max });
            }
        }
        Ok(())
    }

    /// Checks that a topic can have as many lanes and reader slots as are requested.
    ///
    /// # Errors
    ///
    /// [`OpenError::Shape`] if it cannot.
    pub(crate) fn check_participant_limits(&self) -> Result<(), OpenError> {
        for (field, limit) in [
            ("lane_limit", self.lane_limit),
            ("reader_limit", self.reader_limit),
        ] {
            if let Some(limit) = limit
                && !(1..=PARTICIPANTS_MAX).contains(&limit)
            {
                return Err(OpenError::Shape(ShapeError {
                    field,
                    found: limit.into(),
                    wanted: "1 to 64",
                }));
            }
        }
        Ok(())
    }

    /// Replaces the rounded capacity in `error` by the capacity that the caller requested, so that
    /// the error text is understandable.
    fn restore_requested_capacity(&self, error: ShapeError) -> ShapeError {
        match self.capacity {
            Some(found) if error.field == "capacity" => {
                let wanted = "2 to 1048576 (it is rounded up to a power of two)";
                ShapeError {
                    found,
                    wanted,
                    ..error
                }
            }
            _ => error,
        }
    }

    /// Returns true if the slots of this publisher can be pinned. Returns an error if the request
    /// forbids this but the messages vary in length, because the slots of such messages must be
    /// pinnable.
    fn has_pinnable_slots(&self) -> Result<bool, ShapeError> {
        let in_place = self.type_info.sized || self.type_info.bytes >= PINNABLE_BYTES_MIN;
        let pinnable = self.pinnable.unwrap_or(in_place);
        if self.type_info.sized && !pinnable {
            return Err(ShapeError {
                field: "pinnable",
                found: 0,
                wanted: "1 where messages have lengths of their own",
            });
        }
        Ok(pinnable)
    }

    /// Checks that `found`, the type of the topic at `path`, is the type of this request.
    ///
    /// # Errors
    ///
    /// [`OpenError::SchemaMismatch`] if it is not.
    pub fn check_type(&self, found: &TypeInfo, path: &Path) -> Result<(), OpenError> {
        let wanted = &self.type_info;
        if wanted.is_same_as(found) {
            return Ok(());
        }
        Err(OpenError::SchemaMismatch {
            path: path.to_owned(),
            wanted: Box::new(wanted.clone()),
            found: Box::new(found.clone()),
        })
    }
}

/// Returns the smallest power of two that is not less than `capacity`. If there is none, returns a
/// value that a later check refuses.
fn rounded_capacity(capacity: u64) -> u64 {
    capacity.checked_next_power_of_two().unwrap_or(u64::MAX)
}
