//! Shorter messages: those of publishers whose type is a shorter version of the reader's type. The
//! reader puts its defaults behind what came.

use std::cell::UnsafeCell;
use std::sync::Arc;

use super::{Followed, RawConsumer};
use crate::endpoint::reader_slot::BORROWS_MAX;
use crate::file::topic_type::TypeInfo;
use crate::protocol::copy::CACHE_LINE_BYTES;

/// A cache line of a private copy.
#[derive(Debug)]
#[repr(C, align(64))]
struct Line(UnsafeCell<[u8; CACHE_LINE_BYTES]>);

/// Memory for messages that cannot be borrowed in their slots: a message of this reader's type for
/// each of its pins.
#[derive(Debug)]
pub(crate) struct Copies {
    lines: Box<[Line]>,
    /// Number of lines of a message.
    stride: usize,
}

// SAFETY: a message is written only by the reader that has taken its pin, before the sample is
// made through which others read it, and not again until that gives the pin back.
unsafe impl Sync for Copies {}

impl Copies {
    /// Creates memory for `messages` messages of `bytes` bytes.
    fn new(bytes: usize, messages: u32) -> Self {
        let stride = bytes.div_ceil(CACHE_LINE_BYTES);
        let line = || Line(UnsafeCell::new([0; CACHE_LINE_BYTES]));
        let lines = std::iter::repeat_with(line).take(stride * messages as usize);
        Self {
            lines: lines.collect(),
            stride,
        }
    }

    /// Returns the address of the message of a pin.
    fn address(&self, pin: u32) -> Option<*mut u8> {
        let first = pin as usize * self.stride;
        let lines = self.lines.get(first..first + self.stride)?;
        Some(lines.as_ptr().cast_mut().cast())
    }
}

/// The heads of messages whose data have any length: that of a lane's messages, and that of this
/// reader's version of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// Length of the head in the lane, in bytes.
    sent: usize,
    /// Length of the reader's head, in bytes.
    own: usize,
    /// Number of bytes at the beginning that both have.
    shared: usize,
}

impl Head {
    /// Returns the length that a message of `came` bytes has in the reader's version; 0 if it was
    /// shorter than its head.
    pub(super) fn length(self, came: usize) -> usize {
        came.checked_sub(self.sent)
            .map_or(0, |data| self.own + data)
    }
}

/// The default message of a reader, and memory for shorter messages that are borrowed. Allocated
/// when the first lane with such messages is mapped.
#[derive(Debug)]
pub(super) struct Grown {
    defaults: Box<[u8]>,
    copies: Arc<Copies>,
}

impl RawConsumer {
    /// Returns the number of bytes of a message of the type `sent` that this reader takes, and the
    /// head of such messages if that has to be replaced.
    pub(super) fn fit(&self, sent: &TypeInfo) -> (usize, Option<Head>) {
        let own = &self.segment.request().type_info;
        let shared = own.shared_bytes(sent) as usize;
        if !own.sized {
            return (shared, None);
        }
        let head = Head {
            sent: sent.growth.head_bytes() as usize,
            own: own.growth.head_bytes() as usize,
            shared,
        };
        // WHY not also to clear the padding behind the last field: images are borrowed in place.
        let is_whole = own.fields_end().is_none_or(|end| end <= shared as u64);
        let is_as_is = own.is_same_as(sent) || head.sent == head.own && is_whole;
        (sent.bytes as usize, (!is_as_is).then_some(head))
    }

    /// Returns the length of the longest message that this reader gets from a lane.
    pub(super) fn longest_of(&self, Followed { head, shared, .. }: &Followed) -> usize {
        *shared + head.map_or(0, |head| head.own.saturating_sub(head.sent))
    }

    /// Prepares for messages of other versions if a lane has them. Returns true if one does.
    pub(super) fn note_shorter(&mut self) -> bool {
        let is_other = |lane: &Followed| lane.shared < self.fixed || lane.head.is_some();
        let is_other = self.lanes.iter().any(is_other);
        if is_other && self.grown.is_none() {
            let request = self.segment.request();
            let mut defaults = request.defaults.clone().unwrap_or_default().into_vec();
            let head = request.type_info.growth.head_bytes() as usize;
            defaults.resize(self.fixed.max(head), 0);
            self.grown = Some(Box::new(Grown {
                defaults: defaults.into(),
                copies: Arc::new(Copies::new(self.fixed, BORROWS_MAX)),
            }));
        }
        is_other
    }

    /// Puts the defaults behind the first `came` bytes of a message at `dst`, up to `bytes`.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes.
    pub(super) unsafe fn fill(&self, dst: *mut u8, came: usize, bytes: usize) {
        let Some(grown) = &self.grown else { return };
        let end = bytes.min(grown.defaults.len());
        if let Some(defaults) = grown.defaults.get(came..end) {
            // SAFETY: `came` is at most `bytes`, for which `dst` is writable by the contract.
            let behind = unsafe { dst.add(came) };
            // SAFETY: the range ends at `bytes` or before it.
            unsafe { behind.copy_from_nonoverlapping(defaults.as_ptr(), defaults.len()) };
        }
    }

    /// Replaces the head of a message of `came` bytes at `dst` by that of this reader's version.
    /// Returns the length of the message; 0 if it was shorter than its head.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `room` bytes, which are at least `came`.
    pub(super) unsafe fn replace_head(
        &self,
        head: Head,
        (dst, room): (*mut u8, usize),
        came: usize,
    ) -> usize {
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
        unsafe { self.fill(dst, head.shared.min(own), own) };
        own + data
    }

    /// Returns the memory for a message of a lane that is borrowed under a pin; `None` if messages
    /// of that lane can be borrowed in their slots. WHY new memory where messages have lengths of
    /// their own: they may be long, and few are borrowed from publishers of another version.
    pub(super) fn private_copy(&self, lane: usize, pin: u32) -> Option<(*mut u8, Arc<Copies>)> {
        let grown = self.grown.as_ref()?;
        if self.lanes[lane].head.is_some() {
            let copies = Arc::new(Copies::new(self.longest, 1));
            return Some((copies.address(0)?, copies));
        }
        if self.lanes[lane].shared >= self.fixed {
            return None;
        }
        Some((grown.copies.address(pin)?, Arc::clone(&grown.copies)))
    }

    /// Returns the number of bytes of the last message that came from its publisher; 0 before the
    /// first. It is less than the length of the message if the type of the publisher is a shorter
    /// version of this reader's type: the others are defaults.
    ///
    /// To be asked before the next receive.
    #[must_use]
    pub fn received_bytes(&self) -> usize {
        let head = self.lanes.get(self.last_lane).and_then(|lane| lane.head);
        let defaults = head.map_or(0, |head| head.own.saturating_sub(head.shared));
        self.last.bytes.saturating_sub(defaults)
    }

    /// Returns the length of the last message received, in bytes; 0 before the first.
    #[must_use]
    pub const fn message_bytes(&self) -> usize {
        self.length(self.fixed)
    }

    /// Returns the length of the last message in a buffer of `bytes` bytes.
    pub(super) const fn length(&self, bytes: usize) -> usize {
        let filled = if bytes < self.fixed {
            bytes
        } else {
            self.fixed
        };
        if self.last.bytes > filled || self.last.number == 0 {
            self.last.bytes
        } else {
            filled
        }
    }
}
