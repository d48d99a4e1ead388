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
pub(crate) struct PrivateMessageCopies {
    memory: Region,
    /// Number of bytes that are reserved for each message copy: whole cache lines.
    stride: usize,
    messages: u32,
}

impl PrivateMessageCopies {
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
    head: Option<MessageHeadLengths>,
    /// Memory for private copies of borrowed messages, one for each pin of this reader. Used if
    /// messages have a fixed size.
    copies: Arc<PrivateMessageCopies>,
    /// For each pin, the buffer of its last private copy, which is used again if it is free and
    /// large enough. Used if messages vary in length.
    kept: [Option<Arc<PrivateMessageCopies>>; BORROWS_MAX as usize],
}

/// The lengths of two heads: that of the publisher's messages, and that of the reader's messages. A
/// head consists of all fields before the data of variable length.
#[derive(Debug, Clone, Copy)]
struct MessageHeadLengths {
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
    fn new(request: &Request, head: Option<MessageHeadLengths>) -> Self {
        let (bytes, copied) = match head {
            Some(head) => (head.own, 0),
            None => (request.type_info.bytes as usize, BORROWS_MAX),
        };
        let mut defaults = request.defaults.clone().unwrap_or_default().into_vec();
        defaults.resize(bytes, 0);
        Self {
            defaults: defaults.into(),
            head,
            copies: Arc::new(PrivateMessageCopies::new(bytes, copied)),
            kept: Default::default(),
        }
    }

    /// Converts the `received_bytes` bytes that were received at `dst` to a message of the reader's
    /// version. Returns the length of the message; for messages of a fixed size, defaults at the
    /// end are not included. Returns 0 if the received message was shorter than its head.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `room_bytes` bytes, and `room_bytes` is at least `received_bytes`.
    pub(super) unsafe fn convert_in_place(
        &self,
        dst: *mut u8,
        room_bytes: usize,
        received_bytes: usize,
    ) -> usize {
        let Some(head) = self.head else {
            // SAFETY: the contract is the same.
            unsafe { self.fill_with_defaults(dst, received_bytes, room_bytes) };
            return received_bytes;
        };
        let Some(data) = received_bytes.checked_sub(head.sent) else {
            return 0;
        };
        let own = head.own.min(room_bytes);
        let data = data.min(room_bytes - own);
        // SAFETY: the head and some data came, so it ends in the message.
        let from = unsafe { dst.add(head.sent) };
        // SAFETY: `own` is at most `room_bytes`.
        let to = unsafe { dst.add(own) };
        // SAFETY: as many bytes came behind the former head, and there is room behind the new one.
        unsafe { to.copy_from(from, data) };
        // SAFETY: `own` is at most `room_bytes`.
        unsafe { self.fill_with_defaults(dst, head.shared.min(own), own) };
        own + data
    }

    /// Appends the defaults to the first `received_bytes` bytes of a message at `dst`, so that it
    /// has `message_bytes` bytes.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `message_bytes` bytes.
    unsafe fn fill_with_defaults(&self, dst: *mut u8, received_bytes: usize, message_bytes: usize) {
        let end = message_bytes.min(self.defaults.len());
        if let Some(defaults) = self.defaults.get(received_bytes..end) {
            // SAFETY: `received_bytes` is at most `message_bytes`, for which `dst` is writable by
            // the contract.
            let behind = unsafe { dst.add(received_bytes) };
            // SAFETY: the range ends at `message_bytes` or before it.
            unsafe { behind.copy_from_nonoverlapping(defaults.as_ptr(), defaults.len()) };
        }
    }

    /// Returns private memory for the copy of a message that is borrowed under the pin with index
    /// `pin_index`. If messages vary in length, the memory has `message_bytes` bytes. It is
    /// allocated when the pin is first used, and used again when its sample has been dropped. WHY
    /// not in advance: such messages may be long, and most readers borrow one or two at a time.
    pub(super) fn memory_for_private_copy(
        &mut self,
        pin_index: u32,
        message_bytes: usize,
    ) -> Option<(*mut u8, Arc<PrivateMessageCopies>)> {
        if self.head.is_none() {
            return Some((self.copies.address(pin_index)?, Arc::clone(&self.copies)));
        }
        let kept = self.kept.get_mut(pin_index as usize)?;
        // WHY the count is checked although the pin is free: a thread that drops a sample frees the
        // pin first, and then the memory.
        let is_free = |copies: &mut Arc<_>| {
            Arc::get_mut(copies)
                .is_some_and(|copies: &mut PrivateMessageCopies| copies.stride >= message_bytes)
        };
        if !kept.as_mut().is_some_and(is_free) {
            *kept = Some(Arc::new(PrivateMessageCopies::new(message_bytes, 1)));
        }
        let copies = kept.as_ref()?;
        Some((copies.address(0)?, Arc::clone(copies)))
    }

    /// Returns the length of a message in the reader's version, after `received_bytes` bytes were
    /// received. The result is the same as that of [`Self::convert_in_place`].
    pub(super) fn converted_length(&self, received_bytes: usize) -> usize {
        self.head.map_or(received_bytes, |head| {
            received_bytes
                .checked_sub(head.sent)
                .map_or(0, |data| head.own + data)
        })
    }
}

impl RawConsumer {
    /// Compares the publisher's type `sent` with this reader's type. Returns the number of bytes
    /// that this reader copies of each message (the maximum number if messages vary in length), and
    /// the converter if messages have to be converted.
    pub(super) fn copied_bytes_and_converter(
        &self,
        sent: &TypeInfo,
    ) -> (usize, Option<Box<VersionConverter>>) {
        let request = self.segment.request();
        let own = &request.type_info;
        let shared = own.shared_bytes(sent) as usize;
        let other = |head| Box::new(VersionConverter::new(request, head));
        if !own.sized {
            let is_shorter = (shared as u64) < own.bytes;
            return (shared, is_shorter.then(|| other(None)));
        }
        let head = MessageHeadLengths {
            sent: sent.growth.head_bytes() as usize,
            own: own.growth.head_bytes() as usize,
            shared,
        };
        // WHY not also to clear the padding behind the last field: images are borrowed in place.
        let is_whole = own
            .fields_end_bytes()
            .is_none_or(|end| end <= shared as u64);
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
    pub(super) const fn last_message_bytes_in_buffer(&self, buffer_bytes: usize) -> usize {
        if self.sized {
            self.last.bytes
        } else {
            buffer_bytes
        }
    }
}
