//! Lanes in place as lists of positions: what each call must do, without stamps, cursors, pins and
//! limits in shared memory.

#[path = "oracle_lane.rs"]
mod lane;

use horus_shm::ReadStats;

use lane::{ModelLane, Readable};

/// Number of messages that one reader may borrow at the same time.
const BORROWS_PER_READER_MAX: usize = 7;

/// The settings of a topic.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) capacity: usize,
    pub(super) lanes: usize,
    /// Number of reader slots.
    pub(super) readers: usize,
    pub(super) reliable: bool,
    pub(super) history: usize,
    /// The length of the first slots. Messages are longer or shorter if `sized` is true.
    pub(super) slot_bytes: usize,
    pub(super) sized: bool,
}

impl Rules {
    /// Returns how many messages all readers together may hold: half of the slots, or three of
    /// four.
    fn holds_max(&self) -> usize {
        (self.capacity / 2).max(self.capacity.min(4) - 1)
    }
}

/// A message that is held, and keeps its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) place: usize,
    lane: usize,
    extent: usize,
    slot: usize,
}

/// The state of a reader in one lane.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    start: usize,
    position: usize,
    received: u64,
    lost: u64,
    skipped: u64,
    /// Number of messages that may have been counted as skipped although they were lost, because a
    /// reader that was overtaken took skipped positions for messages.
    uncertain: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    KeepLast,
    Gated,
    Observer,
}

#[derive(Debug)]
pub(super) struct ModelReader {
    /// The number of its reader slot, which messages that it holds keep.
    pub(super) place: usize,
    pub(super) reading: Reading,
    lanes: Vec<Progress>,
    /// The lanes that it knows, in the order in which it polls them.
    order: Vec<usize>,
    next: usize,
    pub(super) sequence: u64,
}

/// A message that a call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) tag: u64,
    /// Its number in its lane, from 1 on.
    pub(super) sequence: u64,
    lane: usize,
    extent: usize,
    position: usize,
}

/// The result of a call that borrows: a message, none, or a refusal.
pub(super) type Borrowed = Result<Option<(Found, Hold)>, ()>;

#[derive(Debug)]
pub(super) struct Oracle {
    pub(super) rules: Rules,
    pub(super) lanes: Vec<ModelLane>,
    pub(super) readers: Vec<ModelReader>,
    pub(super) holds: Vec<Hold>,
    /// The slots that are being copied: reader slot, lane and slot.
    pub(super) copies: Vec<Hold>,
}

impl Oracle {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            rules: rules.clone(),
            lanes: (0..rules.lanes)
                .map(|_| ModelLane::new(rules.capacity))
                .collect(),
            readers: Vec::new(),
            holds: Vec::new(),
            copies: Vec::new(),
        }
    }

    fn is_held(&self, lane: usize, position: usize) -> bool {
        self.is_in(&self.holds, lane, position)
    }

    fn is_in(&self, holds: &[Hold], lane: usize, position: usize) -> bool {
        let slot = position % self.rules.capacity;
        let extent = self.lanes[lane].newest_extent();
        let wanted = (lane, extent, slot);
        holds
            .iter()
            .any(|hold| (hold.lane, hold.extent, hold.slot) == wanted)
    }

    /// Returns the first position that a reliable reader has not read.
    fn first_unread(&self, lane: usize) -> Option<usize> {
        let readers = self.readers.iter();
        let gated = readers.filter(|reader| reader.reading == Reading::Gated);
        gated.map(|reader| reader.lanes[lane].position).min()
    }

    /// Returns the first position that the reliable readers do not permit to write.
    fn room_end(&self, lane: usize) -> usize {
        if !self.rules.reliable {
            return usize::MAX;
        }
        let lane_log = &self.lanes[lane];
        let head = lane_log.head();
        let least = self
            .first_unread(lane)
            .map_or(head, |first| first.min(head));
        least.max(lane_log.base()) + self.rules.capacity
    }

    /// Finds the position of the next message, and skips the positions before it. Returns false if
    /// the lane is full.
    ///
    /// The promise: there is room if one of the next positions, up to a lap behind the oldest
    /// unread position of a reliable reader, has a slot that nobody holds or copies. A slot that
    /// is only being copied may be used if that applies to none of a whole lap.
    fn claim(&mut self, lane: usize) -> bool {
        let head = self.lanes[lane].head();
        let present = self.room_end(lane);
        if head >= self.lanes[lane].limit {
            self.lanes[lane].limit = present;
        }
        if head >= self.lanes[lane].limit {
            return false;
        }
        self.lanes[lane].set_claimed(true);
        // A slot that was lent is lent again until a message is sent.
        if self.lanes[lane].last_lent == Some(head) {
            return true;
        }
        let lap = head + self.rules.capacity;
        let is_free = |this: &Self, position: &usize| {
            !this.is_held(lane, *position) && !this.is_in(&this.copies, lane, *position)
        };
        if !is_free(self, &head) && self.lanes[lane].limit < lap {
            self.lanes[lane].limit = present;
        }
        let end = self.lanes[lane].limit.min(lap);
        let free = (head..end)
            .find(|position| is_free(self, position))
            .or_else(|| {
                let mut whole_lap = (head..end).filter(|_| end == lap);
                whole_lap.find(|&position| !self.is_held(lane, position))
            });
        let Some(free) = free else {
            return false;
        };
        for _ in head..free {
            self.skip(lane);
        }
        self.lanes[lane].set_claimed(true);
        true
    }

    fn skip(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        // A session that has sent nothing begins behind what it skips.
        if lane.session_start == lane.head() {
            lane.session_start += 1;
        }
        lane.push(None);
    }

    /// Claims a slot as [`Self::claim`] does, and counts a refusal.
    fn claim_or_refuse(&mut self, lane: usize) -> bool {
        let is_claimed = self.claim(lane);
        self.lanes[lane].refused += u64::from(!is_claimed);
        is_claimed
    }

    /// Makes slots for messages of `bytes` bytes; returns false if that is refused.
    pub(super) fn reserve(&mut self, lane: usize, bytes: usize) -> bool {
        let first_unread = self.first_unread(lane);
        let is_reserved = self.lanes[lane].grow(bytes, first_unread);
        self.lanes[lane].refused += u64::from(!is_reserved);
        is_reserved
    }

    /// Sends a message of `bytes` bytes; returns false if the lane is full.
    pub(super) fn send(&mut self, lane: usize, tag: u64, bytes: usize) -> bool {
        let is_sent = self.reserve(lane, bytes) && self.claim_or_refuse(lane);
        if is_sent {
            self.push(lane, tag);
        }
        is_sent
    }

    fn push(&mut self, lane: usize, tag: u64) {
        let first_unread = self.first_unread(lane);
        self.lanes[lane].push(Some(tag));
        self.lanes[lane].remove_extents_if_due(first_unread);
    }

    /// Lends the next slot; returns false if the lane is full.
    pub(super) fn lend(&mut self, lane: usize) -> bool {
        let is_lent = self.claim_or_refuse(lane);
        if is_lent {
            let head = self.lanes[lane].head();
            let lane = &mut self.lanes[lane];
            (lane.lent, lane.last_lent) = (Some(head), Some(head));
        }
        is_lent
    }

    /// Returns true if a slot is on loan, and no message was sent since.
    pub(super) fn is_lent(&self, lane: usize) -> bool {
        self.lanes[lane].lent == Some(self.lanes[lane].head())
    }

    /// Publishes the open loan; returns false if there is none.
    pub(super) fn publish(&mut self, lane: usize, tag: u64) -> bool {
        let is_lent = self.is_lent(lane);
        if is_lent {
            self.push(lane, tag);
        }
        self.lanes[lane].lent = None;
        is_lent
    }

    /// Ends the loan; returns false if there was none.
    pub(super) fn discard(&mut self, lane: usize) -> bool {
        self.lanes[lane].lent.take().is_some()
    }

    pub(super) fn join_publisher(&mut self) -> Option<usize> {
        let index = self.lanes.iter().position(|lane| !lane.has_publisher)?;
        let first_unread = self.first_unread(index);
        self.lanes[index].claim(self.rules.slot_bytes, first_unread);
        Some(index)
    }

    pub(super) fn leave(&mut self, lane: usize) {
        self.lanes[lane].has_publisher = false;
    }

    /// Returns the first reader slot that no reader has and no held message keeps.
    fn free_place(&self) -> Option<usize> {
        let readers = self.readers.iter();
        let readers = readers.filter(|reader| reader.reading != Reading::Observer);
        let taken: Vec<_> = readers
            .map(|reader| reader.place)
            .chain(self.holds.iter().map(|hold| hold.place))
            .collect();
        (0..self.rules.readers).find(|place| !taken.contains(place))
    }

    /// Returns true if a reader slot is free.
    pub(super) fn has_place(&self) -> bool {
        self.free_place().is_some()
    }

    pub(super) fn join_reader(&mut self, reading: Reading) -> bool {
        let place = match reading {
            Reading::Observer => Some(usize::MAX),
            _ => self.free_place(),
        };
        let Some(place) = place else {
            return false;
        };
        let progress = |lane: usize| {
            let start = self.start(lane);
            Progress {
                start,
                position: start,
                ..Progress::default()
            }
        };
        let reader = ModelReader {
            place,
            reading,
            lanes: (0..self.lanes.len()).map(progress).collect(),
            order: Vec::new(),
            next: 0,
            sequence: 0,
        };
        self.readers.push(reader);
        self.discover(self.readers.len() - 1);
        true
    }

    /// Returns the position at which a new reader begins: that of the oldest message of the history
    /// that is still in its slot.
    fn start(&self, index: usize) -> usize {
        let Rules {
            history, capacity, ..
        } = self.rules;
        let lane = &self.lanes[index];
        let head = lane.head();
        // Without history it begins at the head, in whichever extent that is.
        if !lane.has_publisher || history == 0 {
            return head;
        }
        let first = lane.session_start.max(lane.oldest_in(lane.newest_extent()));
        let messages = (first..head)
            .rev()
            .filter(|&position| lane.log[position].is_some());
        messages
            .take(history.min(capacity * 7 / 8))
            .last()
            .unwrap_or(head)
    }

    /// Makes a reader find new lanes.
    pub(super) fn discover(&mut self, reader: usize) {
        let order = &mut self.readers[reader].order;
        for (index, lane) in self.lanes.iter().enumerate() {
            if lane.is_known() && !order.contains(&index) {
                order.push(index);
            }
        }
    }

    /// Returns what a reader can read in a lane. It has mapped all extents.
    fn readable(&self, reader: usize, lane: usize) -> Vec<Readable> {
        self.lanes[lane].readable(self.readers[reader].lanes[lane].position)
    }

    /// Moves a reader to its next message in the extent that it reads, past skipped positions and
    /// lost messages. If there is none, moves it to the end of the extent.
    fn move_to_next(&mut self, reader: usize, lane: usize) -> Option<(usize, usize)> {
        let lane_log = &self.lanes[lane];
        let first = self.readers[reader].lanes[lane].position;
        let extent = lane_log.extent_of(first);
        let readable = self.readable(reader, lane).into_iter();
        let mut positions = readable
            .filter(|readable| readable.extent == extent)
            .flat_map(|readable| readable.from..readable.end);
        let next = positions.find(|&position| lane_log.log[position].is_some());
        let position = next.unwrap_or_else(|| lane_log.end_of(extent));
        let progress = &mut self.readers[reader].lanes[lane];
        progress.lost += lane_log.number(position) - lane_log.number(first);
        progress.position = position;
        next.map(|position| (position, extent))
    }

    /// Returns true if a reader has not come to the end of each lane.
    fn is_behind(&self, reader: usize) -> bool {
        let reader = &self.readers[reader];
        let mut lanes = reader.order.iter();
        lanes.any(|&lane| reader.lanes[lane].position < self.lanes[lane].head())
    }

    /// Returns how many lost messages of a lane may count as waiting, or as skipped by the next
    /// call for the latest message: a reader that was overtaken does not distinguish skipped
    /// positions from messages, and a loan that is not published is not seen until a call comes to
    /// its slot.
    fn uncertain(&self, reader: usize, lane: usize) -> u64 {
        let readable = self.readable(reader, lane);
        readable.iter().map(|readable| readable.uncertain).sum()
    }

    /// Returns the number of messages of a lane that a reader can read before position `end`.
    fn waiting_before(&self, reader: usize, lane: usize, end: usize) -> u64 {
        let lane_log = &self.lanes[lane];
        let waiting = |readable: &Readable| {
            let end = readable.end.min(end);
            lane_log.number(end.max(readable.from)) - lane_log.number(readable.from)
        };
        self.readable(reader, lane).iter().map(waiting).sum()
    }

    fn deliver(&mut self, reader: usize, lane: usize, (position, extent): (usize, usize)) -> Found {
        let sequence = self.lanes[lane].number(position) + 1;
        let reader = &mut self.readers[reader];
        let progress = &mut reader.lanes[lane];
        progress.position = position + 1;
        progress.received += 1;
        reader.sequence = sequence;
        Found {
            tag: self.lanes[lane].log[position].unwrap(),
            sequence,
            lane,
            extent,
            position,
        }
    }

    pub(super) fn recv(&mut self, reader: usize) -> Option<Found> {
        self.discover(reader);
        loop {
            for _ in 0..self.readers[reader].order.len() {
                let lane = self.readers[reader].take_turn();
                if let Some(next) = self.move_to_next(reader, lane) {
                    return Some(self.deliver(reader, lane, next));
                }
            }
            if !self.is_behind(reader) {
                return None;
            }
        }
    }

    /// Returns true if a reader may hold one more message than it does, besides `more`.
    fn may_hold(&self, reader: usize, more: usize) -> bool {
        let place = self.readers[reader].place;
        let own = self.holds.iter().filter(|hold| hold.place == place).count();
        own + more < BORROWS_PER_READER_MAX && self.holds.len() + more < self.rules.holds_max()
    }

    fn hold(&self, reader: usize, found: Found) -> Hold {
        Hold {
            place: self.readers[reader].place,
            lane: found.lane,
            extent: found.extent,
            slot: found.position % self.rules.capacity,
        }
    }

    /// Moves a reader to the next message of each lane without a publisher whose last extent it
    /// reads.
    fn leave_ended_lanes(&mut self, reader: usize) {
        for lane in self.readers[reader].order.clone() {
            let position = self.readers[reader].lanes[lane].position;
            if !self.lanes[lane].has_publisher && self.lanes[lane].base() <= position {
                self.move_to_next(reader, lane);
            }
        }
    }

    pub(super) fn borrow(&mut self, reader: usize) -> Borrowed {
        self.discover(reader);
        if !self.may_hold(reader, 0) {
            while self.is_behind(reader) {
                self.leave_ended_lanes(reader);
                let mut lanes = self.readers[reader].order.clone().into_iter();
                if lanes.any(|lane| self.move_to_next(reader, lane).is_some()) {
                    return Err(());
                }
            }
            return Ok(None);
        }
        let found = self.recv(reader);
        Ok(found.map(|found| (found, self.hold(reader, found))))
    }

    /// Moves a reader to position `stop`. The messages before that count as skipped,
    /// or as lost.
    fn skip_to(&mut self, reader: usize, lane: usize, stop: usize) {
        let lane_log = &self.lanes[lane];
        let readable = self.readable(reader, lane).into_iter();
        let passed = readable.filter(|readable| lane_log.base_of(readable.extent) < stop);
        let uncertain: u64 = passed.map(|readable| readable.uncertain).sum();
        let skipped = self.waiting_before(reader, lane, stop);
        let progress = &mut self.readers[reader].lanes[lane];
        let passed = lane_log.number(stop) - lane_log.number(progress.position);
        progress.lost += passed - skipped;
        progress.skipped += skipped;
        progress.uncertain += uncertain;
        progress.position = stop;
    }

    /// Moves to the newest message of a lane, and receives it.
    fn latest_in(&mut self, reader: usize, lane: usize) -> Option<Found> {
        let lane_log = &self.lanes[lane];
        let extent = lane_log.last_extent_in_use();
        let first = self.readers[reader].lanes[lane].position;
        let mut present = (first.max(lane_log.oldest_in(extent))..lane_log.end_of(extent)).rev();
        let Some(newest) = present.find(|&position| lane_log.log[position].is_some()) else {
            self.move_to_next(reader, lane);
            return None;
        };
        self.skip_to(reader, lane, newest);
        Some(self.deliver(reader, lane, (newest, extent)))
    }

    pub(super) fn latest(&mut self, reader: usize) -> Option<Found> {
        self.latest_where(reader, |_, _| true).0
    }

    /// Returns the newest message of all lanes of which `may_read` permits it; the argument says
    /// whether another one was found before. The second result is true if one was not permitted.
    fn latest_where(
        &mut self,
        reader: usize,
        may_read: impl Fn(&Self, bool) -> bool,
    ) -> (Option<Found>, bool) {
        self.discover(reader);
        // What is left in the extents before the last one with positions is not looked for.
        for lane in self.readers[reader].order.clone() {
            let extent = self.lanes[lane].last_extent_in_use();
            let base = self.lanes[lane].base_of(extent);
            if self.readers[reader].lanes[lane].position < base {
                self.skip_to(reader, lane, base);
            }
        }
        let mut best: Option<Found> = None;
        let mut is_refused = false;
        let sequence = self.readers[reader].sequence;
        for lane in self.readers[reader].order.clone() {
            if !may_read(self, best.is_some()) {
                if self.lanes[lane].head() > self.readers[reader].lanes[lane].position {
                    self.leave_ended_lanes(reader);
                }
                is_refused |= self.move_to_next(reader, lane).is_some();
                continue;
            }
            let Some(found) = self.latest_in(reader, lane) else {
                continue;
            };
            let passed = match best {
                Some(best) if best.tag > found.tag => Some(found),
                _ => best.replace(found),
            };
            if let Some(passed) = passed {
                let progress = &mut self.readers[reader].lanes[passed.lane];
                progress.received -= 1;
                progress.skipped += 1;
            }
        }
        self.readers[reader].sequence = best.map_or(sequence, |best| best.sequence);
        (best, is_refused)
    }

    pub(super) fn borrow_latest(&mut self, reader: usize) -> Borrowed {
        let may_read = |this: &Self, has_found: bool| this.may_hold(reader, usize::from(has_found));
        match self.latest_where(reader, may_read) {
            (None, true) => Err(()),
            (found, _) => Ok(found.map(|found| (found, self.hold(reader, found)))),
        }
    }

    /// Returns the ledger of a reader, and how many of its lost messages may count as waiting or
    /// skipped.
    pub(super) fn stats(&self, reader: usize) -> (ReadStats, u64) {
        let mut stats = ReadStats::default();
        let mut uncertain = 0;
        for (index, lane) in self.lanes.iter().enumerate() {
            let progress = &self.readers[reader].lanes[index];
            let waiting = self.waiting_before(reader, index, lane.head());
            let unread = lane.message_count() - lane.number(progress.position);
            stats.received += progress.received;
            stats.skipped += progress.skipped;
            stats.lost += progress.lost + unread - waiting;
            stats.waiting += waiting;
            stats.sent += lane.message_count() - lane.number(progress.start);
            uncertain += progress.uncertain + self.uncertain(reader, index);
        }
        (stats, uncertain)
    }

    /// Adds the copy of a reader from a slot of the newest extent of a lane, and returns the number
    /// of that extent.
    pub(super) fn add_copy(&mut self, place: usize, lane: usize, slot: usize) -> usize {
        let extent = self.lanes[lane].newest_extent();
        self.copies.retain(|copy| copy.place != place);
        self.copies.push(Hold {
            place,
            lane,
            extent,
            slot,
        });
        extent
    }
}

impl ModelReader {
    fn take_turn(&mut self) -> usize {
        let lane = self.order[self.next];
        self.next = (self.next + 1) % self.order.len();
        lane
    }
}
