//! A lane of the oracle: all of its positions, and the extents (files of slots) that they are in.

/// Number of extents that a lane can have while a reliable reader has to read the oldest one.
const EXTENTS_MAX: usize = 4;
/// The lengths of slots that grow are multiples of this number of bytes.
const GROWTH_STEP_BYTES: usize = 4096;

/// A range of positions in one extent from which a reader can read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readable {
    pub(super) extent: usize,
    pub(super) from: usize,
    pub(super) end: usize,
    /// Number of messages before it that may count as if they could still be read.
    pub(super) uncertain: u64,
}

/// An extent: its first position, and the length of its slots.
#[derive(Debug)]
struct ModelExtent {
    base: usize,
    slot_bytes: usize,
    /// True if the publisher has begun to use the slot of the position at its end, so that the
    /// message in that slot is gone.
    is_claimed: bool,
}

#[derive(Debug, Default)]
pub(in super::super) struct ModelLane {
    capacity: usize,
    /// By position: the tag of the message, or `None` if the position was skipped.
    pub(super) log: Vec<Option<u64>>,
    /// By position: the number of messages before it.
    numbers: Vec<u64>,
    extents: Vec<ModelExtent>,
    /// The number of the oldest extent that is still there.
    oldest_extent: usize,
    /// The position from which on the oldest extent may be removed.
    removal_due: usize,
    pub(super) has_publisher: bool,
    pub(super) session_start: usize,
    /// The first position before which the publisher does not look at the readers.
    pub(super) limit: usize,
    /// The position of the open loan.
    pub(super) lent: Option<usize>,
    /// The position of the last loan, also if it is over.
    pub(super) last_lent: Option<usize>,
    pub(in super::super) refused: u64,
}

impl ModelLane {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            ..Self::default()
        }
    }

    pub(super) const fn head(&self) -> usize {
        self.log.len()
    }

    /// Returns true if a publisher has claimed the lane at least once.
    pub(super) const fn is_known(&self) -> bool {
        !self.extents.is_empty()
    }

    /// Returns the number of the newest extent.
    pub(super) const fn newest_extent(&self) -> usize {
        self.extents.len().saturating_sub(1)
    }

    pub(in super::super) fn slot_bytes(&self) -> usize {
        self.extents.last().map_or(0, |extent| extent.slot_bytes)
    }

    /// Returns the first position of the newest extent.
    pub(super) fn base(&self) -> usize {
        self.base_of(self.newest_extent())
    }

    pub(super) fn base_of(&self, extent: usize) -> usize {
        self.extents.get(extent).map_or(0, |extent| extent.base)
    }

    /// Returns the last extent that has positions, or the oldest one.
    pub(super) fn last_extent_in_use(&self) -> usize {
        let mut extents = (0..self.extents.len()).rev();
        let in_use = extents.find(|&extent| self.end_of(extent) > self.base_of(extent));
        in_use.unwrap_or(0)
    }

    /// Returns the extent in which a reader looks for the message at `position`, or for a later
    /// one.
    pub(super) fn extent_of(&self, position: usize) -> usize {
        let mut extents = 0..self.extents.len();
        let first = extents.find(|&extent| self.end_of(extent) > position);
        first.unwrap_or(self.newest_extent())
    }

    /// Returns the position behind the last one of an extent.
    pub(super) fn end_of(&self, extent: usize) -> usize {
        let next = self.extents.get(extent + 1);
        next.map_or(self.head(), |next| next.base)
    }

    /// Returns the number of messages before position `position`.
    pub(super) fn number(&self, position: usize) -> u64 {
        self.numbers.get(position).copied().unwrap_or_else(|| {
            let last = self.log.last().is_some_and(Option::is_some);
            let before = self.numbers.last();
            before.map_or(0, |before| before + u64::from(last))
        })
    }

    /// Returns the number of all messages.
    pub(in super::super) fn message_count(&self) -> u64 {
        self.number(self.head())
    }

    pub(super) fn set_claimed(&mut self, is_claimed: bool) {
        if let Some(newest) = self.extents.last_mut() {
            newest.is_claimed = is_claimed;
        }
    }

    pub(super) fn push(&mut self, entry: Option<u64>) {
        self.numbers.push(self.message_count());
        self.log.push(entry);
        self.set_claimed(false);
    }

    /// Returns how many of the newest positions a reader still gets after it was overtaken.
    fn kept_after_lap(&self) -> usize {
        let margin = (self.capacity / 8).max(2);
        self.capacity.saturating_sub(margin).max(1)
    }

    /// Returns the first position of an extent whose slot was not used again.
    pub(super) fn oldest_in(&self, extent: usize) -> usize {
        let ModelExtent {
            base, is_claimed, ..
        } = self.extents[extent];
        let used = self.end_of(extent) + usize::from(is_claimed);
        base.max(used.saturating_sub(self.capacity))
    }

    /// Returns what a reader at `position` can read.
    pub(super) fn readable(&self, position: usize) -> Vec<Readable> {
        let extents = self.extents.iter().enumerate();
        let readable = extents.filter_map(
            |(
                extent,
                ModelExtent {
                    base, is_claimed, ..
                },
            )| {
                let end = self.end_of(extent);
                let first = position.max(*base);
                let unread = end.checked_sub(first)?;
                let (from, uncertain) = if unread > self.capacity {
                    let from = end - self.kept_after_lap();
                    let messages = self.number(end) - self.number(from);
                    (from, (end - from) as u64 - messages)
                } else if unread == self.capacity && *is_claimed {
                    (first + 1, 1)
                } else {
                    (first, 0)
                };
                (from < end).then_some(Readable {
                    extent,
                    from,
                    end,
                    uncertain,
                })
            },
        );
        readable.collect()
    }

    /// Begins the lane, or a session in it, for slots of `slot_bytes` bytes. `first_unread` is as
    /// in [`Self::grow`].
    pub(super) fn claim(&mut self, slot_bytes: usize, first_unread: Option<usize>) {
        let head = self.head();
        if !self.is_known() {
            self.extents.push(ModelExtent {
                base: head,
                slot_bytes,
                is_claimed: false,
            });
        }
        self.has_publisher = true;
        (self.session_start, self.limit) = (head, head);
        (self.lent, self.last_lent) = (None, None);
        self.remove_obsolete_extents(first_unread);
        self.remove_excess_extents(first_unread);
    }

    /// Makes slots for messages of `bytes` bytes. `first_unread` is the first position that a
    /// reliable reader has not read. Returns false if the reader has to read the oldest extent
    /// first.
    pub(super) fn grow(&mut self, bytes: usize, first_unread: Option<usize>) -> bool {
        let present = self.slot_bytes();
        if bytes <= present {
            return true;
        }
        self.remove_obsolete_extents(first_unread);
        let former = self.newest_extent() - self.oldest_extent;
        if former + 1 >= EXTENTS_MAX && self.is_oldest_unread(first_unread) {
            return false;
        }
        let wanted = bytes.max(present + present / 2);
        let head = self.head();
        self.extents.push(ModelExtent {
            base: head,
            slot_bytes: wanted.next_multiple_of(GROWTH_STEP_BYTES),
            is_claimed: false,
        });
        self.limit = head;
        self.removal_due = self.removal_due.min(head + self.capacity);
        self.remove_excess_extents(first_unread);
        (self.lent, self.last_lent) = (None, None);
        true
    }

    /// Returns true if a reliable reader has to read the oldest extent, which is a former one.
    fn is_oldest_unread(&self, first_unread: Option<usize>) -> bool {
        self.oldest_extent < self.newest_extent()
            && first_unread.is_some_and(|first| first < self.end_of(self.oldest_extent))
    }

    /// Removes the extents whose messages would have been overwritten without growth.
    fn remove_obsolete_extents(&mut self, first_unread: Option<usize>) {
        while self.oldest_extent < self.newest_extent()
            && self.head() >= self.end_of(self.oldest_extent) + self.capacity
            && !self.is_oldest_unread(first_unread)
        {
            self.oldest_extent += 1;
        }
        self.removal_due = if self.oldest_extent < self.newest_extent() {
            (self.end_of(self.oldest_extent) + self.capacity).max(self.head() + self.capacity)
        } else {
            usize::MAX
        };
    }

    fn remove_excess_extents(&mut self, first_unread: Option<usize>) {
        while self.newest_extent() - self.oldest_extent >= EXTENTS_MAX
            && !self.is_oldest_unread(first_unread)
        {
            self.oldest_extent += 1;
        }
    }

    /// Removes former extents after a message if the time for it has come.
    pub(super) fn remove_extents_if_due(&mut self, first_unread: Option<usize>) {
        if self.head() >= self.removal_due {
            self.remove_obsolete_extents(first_unread);
        }
    }
}
