//! Messages of another version: their publisher's type has fewer or more fields than the reader's
//! type. If fields were not sent, the reader completes the message with its defaults for these
//! fields.

use std::sync::Arc;

use super::{FollowedLane, RawConsumer};
use crate::endpoint::reader_slot::BORROWS_MAX;
use crate::file::offer::Request;
use crate::file::topic_type::TypeInfo;
use crate::os::region::Region;
use crate::protocol::copy::CACHE_LINE_BYTES;

/// Private memory for copies of borrowed messages, used if a message cannot be read in its slot
/// because fields have to be added to it. Only the reader that has claimed the pin of a message
/// writes the message there. It writes before it creates the sample, through which other threads
/// read the message, and not again before that sample is dropped.
#[derive(Debug)]
pub(crate) struct PrivateCopies {
    memory: Region,
    /// Number of bytes that are reserved for each message copy: whole cache lines.
    stride: usize,
    messages: u32,
}

impl PrivateCopies {
    /// Allocates memory for copies of `messages` messages, each of `bytes` bytes.
    fn new(bytes: usize, messages: u32) -> Self {
        let stride = bytes.next_multiple_of(CACHE_LINE_BYTES);
        Self {
            memory: Region::heap(stride * messages as usize),
            stride,
            messages,
        }
    }

    /// Returns the address of the memory for copy number `index`; `None` if `index` is too large.
    fn address(&self, index: u32) -> Option<*mut u8> {
        // SAFETY: the copy with this index lies in the memory.
        let address = || unsafe { self.memory.address().add(index as usize * self.stride) };
        (index < self.messages).then(address)
    }
}

/// Completes the messages of a lane whose type is a different version of the reader's type.
/// Contains the lengths of both versions, and the reader's defaults. Created when the lane is
/// mapped.
#[derive(Debug)]
pub(super) struct VersionConverter {
    /// The reader's default message, from which missing fields are filled in. If data of variable
    /// length follows the fields, it contains only the fields.
    defaults: Box<[u8]>,
    /// The lengths of the fixed parts of messages; `None` if no data of variable length follows the
    /// fields.
    head: Option<HeadLengths>,
    /// Memory for private copies of borrowed messages, one for each pin of this reader. Used if
    /// messages have a fixed size.
    copies: Arc<PrivateCopies>,
    /// For each pin, the buffer of its last private copy, which is used again if it is free and
    /// large enough. Used if messages vary in length.
    kept: [Option<Arc<PrivateCopies>>; BORROWS_MAX as usize],
}

/// The lengths of two heads: that of the publisher's messages, and that of the reader's messages. A
/// head consists of all fields before the data of variable length.
#[derive(Debug, Clone, Copy)]
struct HeadLengths {
    /// Length of the head (fields before the data of variable length) in the publisher's messages,
    /// in bytes.
    sent: usize,
    /// Length of the head (fields before the data of variable length) in the reader's messages, in
    /// bytes.
    own: usize,
    /// Number of bytes at the beginning that the publisher's head and the reader's head have in
    /// common.
    shared: usize,
}

impl VersionConverter {
    fn new(request: &Request, head: Option<HeadLengths>) -> Self {
        let (bytes, copied) = match head {
            Some(head) => (head.own, 0),
            None => (request.type_info.bytes as usize, BORROWS_MAX),
        };
        let mut defaults = request.defaults.clone().unwrap_or_default().into_vec();
        defaults.resize(bytes, 0);
        Self {
            defaults: defaults.into(),
            head,
            copies: Arc::new(PrivateCopies::new(bytes, copied)),
            kept: Default::default(),
        }
    }

    /// Converts the `came` bytes that were received at `dst` to a message of the reader's version.
    /// Returns the length of the message; for messages of a fixed size, defaults at the end are not
    /// included. Returns 0 if the received message was shorter than its head.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `room` bytes, and `room` is at least `came`.
    pub(super) unsafe fn convert(&self, dst: *mut u8, room: usize, came: usize) -> usize {
        let Some(head) = self.head else {
            // SAFETY: the contract is the same.
            unsafe { self.fill_defaults(dst, came, room) };
            return came;
        };
        let Some(data) = came.checked_sub(head.sent) else {
            return 0;
        };
        let own = head.own.min(room);
        let data = data.min(room - own);
        // SAFETY: the head and some data came, so it ends in the message.
        let from = unsafe { dst.add(head.sent) };
        // SAFETY: `own` is at most `room`.
        let to = unsafe { dst.add(own) };
        // SAFETY: as many bytes came behind the former head, and there is room behind the new one.
        unsafe { to.copy_from(from, data) };
        // SAFETY: `own` is at most `room`.
        unsafe { self.fill_defaults(dst, head.shared.min(own), own) };
        own + data
    }

    /// Appends the defaults to the first `came` bytes of a message at `dst`, so that it has `bytes`
    /// bytes.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes.
    unsafe fn fill_defaults(&self, dst: *mut u8, came: usize, bytes: usize) {
        let end = bytes.min(self.defaults.len());
        if let Some(defaults) = self.defaults.get(came..end) {
            // SAFETY: `came` is at most `bytes`, for which `dst` is writable by the contract.
            let behind = unsafe { dst.add(came) };
            // SAFETY: the range ends at `bytes` or before it.
            unsafe { behind.copy_from_nonoverlapping(defaults.as_ptr(), defaults.len()) };
        }
    }

    /// Returns private memory for the copy of a message that is borrowed under the pin with index
    /// `pin`. If messages vary in length, the memory has `room` bytes. It is allocated when the pin
    /// is first used, and used again when its sample has been dropped. WHY not in advance: such
    /// messages may be long, and most readers borrow one or two at a time.
    pub(super) fn private_copy(
        &mut self,
        pin: u32,
        room: usize,
    ) -> Option<(*mut u8, Arc<PrivateCopies>)> {
        if self.head.is_none() {
            return Some((self.copies.address(pin)?, Arc::clone(&self.copies)));
        }
        let kept = self.kept.get_mut(pin as usize)?;
        // WHY the count is checked although the pin is free: a thread that drops a sample frees the
        // pin first, and then the memory.
        let is_free = |copies: &mut Arc<_>| {
            Arc::get_mut(copies).is_some_and(|copies: &mut PrivateCopies| copies.stride >= room)
        };
        if !kept.as_mut().is_some_and(is_free) {
            *kept = Some(Arc::new(PrivateCopies::new(room, 1)));
        }
        let copies = kept.as_ref()?;
        Some((copies.address(0)?, Arc::clone(copies)))
    }

    /// Returns the length of a message in the reader's version, after `came` bytes were received.
    /// The result is the same as that of [`Self::convert`].
    pub(super) fn converted_length(&self, came: usize) -> usize {
        self.head.map_or(came, |head| {
            came.checked_sub(head.sent)
                .map_or(0, |data| head.own + data)
        })
    }
}

impl RawConsumer {
    /// Compares the publisher's type `sent` with this reader's type. Returns the number of bytes
    /// that this reader copies of each message (the maximum number if messages vary in length), and
    /// the converter if messages have to be converted.
    pub(super) fn converter_for(&self, sent: &TypeInfo) -> (usize, Option<Box<VersionConverter>>) {
        let request = self.segment.request();
        let own = &request.type_info;
        let shared = own.shared_bytes(sent) as usize;
        let other = |head| Box::new(VersionConverter::new(request, head));
        if !own.sized {
            let is_shorter = (shared as u64) < own.bytes;
            return (shared, is_shorter.then(|| other(None)));
        }
        let head = HeadLengths {
            sent: sent.growth.head_bytes() as usize,
            own: own.growth.head_bytes() as usize,
            shared,
        };
        // WHY not also to clear the padding behind the last field: images are borrowed in place.
        let is_whole = own.fields_end().is_none_or(|end| end <= shared as u64);
        let is_as_is = own.is_same_as(sent) || head.sent == head.own && is_whole;
        (sent.bytes as usize, (!is_as_is).then(|| other(Some(head))))
    }

    /// Returns the length in bytes of the longest message that this reader can get from the given
    /// lane, after its conversion to the reader's version.
    pub(super) fn max_message_bytes_of(
        &self,
        FollowedLane { other, shared, .. }: &FollowedLane,
    ) -> usize {
        let longest = other
            .as_ref()
            .map_or(0, |other| other.converted_length(*shared));
        longest.max(*shared)
    }

    /// Returns the number of bytes of the last message that its publisher sent; 0 before the first
    /// message. If the publisher's type is a shorter version of this reader's type, the number is
    /// less than the length of the message: the other bytes are defaults. Fields that only the
    /// publisher knows are not counted.
    ///
    /// The value is valid until the next receive call.
    #[must_use]
    pub fn received_bytes(&self) -> usize {
        let lane = self.lanes.get(self.last_lane);
        let head = lane.and_then(|lane| lane.other.as_ref()?.head);
        let defaults = head.map_or(0, |head| head.own.saturating_sub(head.shared));
        self.last.bytes.saturating_sub(defaults)
    }

    /// Returns the number of bytes of the last message that were copied or borrowed; 0 before the
    /// first message. For messages of a fixed size, defaults at the end are not included.
    #[must_use]
    pub const fn message_bytes(&self) -> usize {
        self.last.bytes
    }

    /// Returns the number of bytes that the last message occupies in a buffer of `buffer_bytes`
    /// bytes, which are at most [`Self::max_bytes`].
    #[inline(always)]
    pub(super) const fn occupied_bytes(&self, buffer_bytes: usize) -> usize {
        if self.sized {
            self.last.bytes
        } else {
            buffer_bytes
        }
    }
}
