//! Shorter messages: those of publishers whose type is a shorter version of the reader's type. The
//! reader puts its defaults behind what came.

use std::cell::UnsafeCell;
use std::sync::Arc;

use super::RawConsumer;
use crate::endpoint::reader_slot::BORROWS_MAX;
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
    fn new(bytes: usize) -> Self {
        let stride = bytes.div_ceil(CACHE_LINE_BYTES);
        let line = || Line(UnsafeCell::new([0; CACHE_LINE_BYTES]));
        let lines = std::iter::repeat_with(line).take(stride * BORROWS_MAX as usize);
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

/// The default message of a reader, and memory for shorter messages that are borrowed. Allocated
/// when the first lane with such messages is mapped.
#[derive(Debug)]
pub(super) struct Grown {
    defaults: Box<[u8]>,
    copies: Arc<Copies>,
}

impl RawConsumer {
    /// Returns the number of bytes of this reader's messages that come from a publisher of the type
    /// `sent`.
    pub(super) fn shared_bytes(&self, sent: &crate::TypeInfo) -> usize {
        self.segment.request().type_info.shared_bytes(sent) as usize
    }

    /// Prepares for shorter messages if a lane has them. Returns true if one does.
    pub(super) fn note_shorter(&mut self) -> bool {
        let is_shorter = self.lanes.iter().any(|lane| lane.shared < self.fixed);
        if is_shorter && self.grown.is_none() {
            let request = self.segment.request();
            let mut defaults = request.defaults.clone().unwrap_or_default().into_vec();
            defaults.resize(self.fixed, 0);
            self.grown = Some(Box::new(Grown {
                defaults: defaults.into(),
                copies: Arc::new(Copies::new(self.fixed)),
            }));
        }
        is_shorter
    }

    /// Puts the defaults behind the first `came` bytes of a message at `dst`, up to `bytes`.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes.
    pub(super) unsafe fn fill(&self, dst: *mut u8, came: usize, bytes: usize) {
        let Some(grown) = &self.grown else { return };
        if let Some(defaults) = grown.defaults.get(came..bytes.min(self.fixed)) {
            // SAFETY: `came` is at most `bytes`, for which `dst` is writable by the contract.
            let behind = unsafe { dst.add(came) };
            // SAFETY: the range ends at `bytes` or before it.
            unsafe { behind.copy_from_nonoverlapping(defaults.as_ptr(), defaults.len()) };
        }
    }

    /// Returns the memory for a shorter message of a lane that is borrowed under a pin; `None` if
    /// messages of that lane can be borrowed in their slots.
    pub(super) fn private_copy(&self, lane: usize, pin: u32) -> Option<(*mut u8, Arc<Copies>)> {
        let grown = self.grown.as_ref()?;
        if self.lanes[lane].shared >= self.fixed {
            return None;
        }
        Some((grown.copies.address(pin)?, Arc::clone(&grown.copies)))
    }

    /// Returns the number of bytes of the last message that came from its publisher; 0 before the
    /// first. It is less than the length of the message if the type of the publisher is a shorter
    /// version of this reader's type: the others are defaults.
    #[must_use]
    pub const fn received_bytes(&self) -> usize {
        self.last.bytes
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
