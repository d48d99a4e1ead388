//! Lanes in place as lists of positions: what each call must do, without stamps, cursors, pins and
//! limits in shared memory.

use horus_shm::ReadStats;

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
}

impl Rules {
    /// Returns how many messages all readers together may hold: half of the slots, or three of
    /// four.
    fn holds_max(&self) -> usize {
        (self.capacity / 2).max(self.capacity.min(4) - 1)
    }

    /// Returns how many of the newest positions a reader still gets after it was overtaken.
    fn kept_after_lap(&self) -> usize {
        let margin = (self.capacity / 8).max(2);
        self.capacity.saturating_sub(margin).max(1)
    }
}

/// A lane: all of its positions from 0 on.
#[derive(Debug, Default)]
pub(super) struct ModelLane {
    /// By position: the tag of the message, or `None` if the position was skipped.
    log: Vec<Option<u64>>,
    /// By position: the number of messages before it.
    numbers: Vec<u64>,
    pub(super) has_publisher: bool,
    is_known: bool,
    session_start: usize,
    /// The first position before which the publisher does not look at the readers.
    limit: usize,
    /// True if the publisher has begun to use the slot of the next position, so that the message
    /// in it is gone.
    is_claimed: bool,
    /// The position of the open loan.
    lent: Option<usize>,
    /// The position of the last loan, also if it is over.
    last_lent: Option<usize>,
    pub(super) refused: u64,
}

impl ModelLane {
    fn head(&self) -> usize {
        self.log.len()
    }

    /// Returns the number of messages before position `position`.
    fn number(&self, position: usize) -> u64 {
        self.numbers.get(position).copied().unwrap_or_else(|| {
            let last = self.log.last().is_some_and(Option::is_some);
            self.numbers
                .last()
                .map_or(0, |before| before + u64::from(last))
        })
    }

    /// Returns the number of all messages.
    pub(super) fn message_count(&self) -> u64 {
        self.number(self.head())
    }

    fn push(&mut self, entry: Option<u64>) {
        self.numbers.push(self.message_count());
        self.log.push(entry);
        self.is_claimed = false;
    }

    /// Returns the first position from `position` on, before `end`, that has a message.
    fn message_from(&self, position: usize, end: usize) -> Option<usize> {
        (position..end).find(|&position| self.log[position].is_some())
    }

    /// Returns the number of skipped positions from `position` on.
    fn skips_from(&self, position: usize) -> u64 {
        (self.head() - position) as u64 - (self.message_count() - self.number(position))
    }
}

/// A message that is held, and keeps its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) place: usize,
    lane: usize,
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
            lanes: (0..rules.lanes).map(|_| ModelLane::default()).collect(),
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
        holds
            .iter()
            .any(|hold| (hold.lane, hold.slot) == (lane, slot))
    }

    /// Returns the first position that the reliable readers do not permit to write.
    fn room_end(&self, lane: usize) -> usize {
        if !self.rules.reliable {
            return usize::MAX;
        }
        let gated = self
            .readers
            .iter()
            .filter(|reader| reader.reading == Reading::Gated);
        let least = gated.map(|reader| reader.lanes[lane].position).min();
        let head = self.lanes[lane].head();
        least.unwrap_or(head).min(head) + self.rules.capacity
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
        self.lanes[lane].is_claimed = true;
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
        self.lanes[lane].is_claimed = true;
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

    pub(super) fn send(&mut self, lane: usize, tag: u64) -> bool {
        let is_sent = self.claim_or_refuse(lane);
        if is_sent {
            self.lanes[lane].push(Some(tag));
        }
        is_sent
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
            self.lanes[lane].push(Some(tag));
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
        let lane = &mut self.lanes[index];
        (lane.has_publisher, lane.is_known) = (true, true);
        (lane.session_start, lane.limit) = (lane.head(), lane.head());
        (lane.lent, lane.last_lent) = (None, None);
        Some(index)
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
        let mut reader = ModelReader {
            place,
            reading,
            lanes: (0..self.lanes.len()).map(progress).collect(),
            order: Vec::new(),
            next: 0,
            sequence: 0,
        };
        reader.discover(&self.lanes);
        self.readers.push(reader);
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
        if !lane.has_publisher {
            return head;
        }
        let first = lane.session_start.max(self.oldest(index));
        let messages = (first..head)
            .rev()
            .filter(|&position| lane.log[position].is_some());
        messages
            .take(history.min(capacity * 7 / 8))
            .last()
            .unwrap_or(head)
    }

    /// Returns the first position of a lane whose slot was not used again.
    fn oldest(&self, lane: usize) -> usize {
        let next = self.lanes[lane].head() + usize::from(self.lanes[lane].is_claimed);
        next.saturating_sub(self.rules.capacity)
    }

    /// Returns the first position from which a reader can read, and moves it there, counting what
    /// it lost; then moves it past skipped positions.
    fn move_to_next(&mut self, reader: usize, lane: usize) -> Option<usize> {
        let from = self.readable_from(reader, lane);
        let lane_log = &self.lanes[lane];
        let progress = &mut self.readers[reader].lanes[lane];
        progress.lost += lane_log.number(from) - lane_log.number(progress.position);
        let found = lane_log.message_from(from, lane_log.head());
        progress.position = found.unwrap_or(lane_log.head());
        found
    }

    /// Returns the first position from which a reader can read a message, if there is one.
    fn readable_from(&self, reader: usize, lane: usize) -> usize {
        let position = self.readers[reader].lanes[lane].position;
        let lane = &self.lanes[lane];
        let unread = lane.head() - position;
        if unread > self.rules.capacity {
            lane.head() - self.rules.kept_after_lap()
        } else {
            position + usize::from(unread == self.rules.capacity && lane.is_claimed)
        }
    }

    /// Returns how many lost messages of a lane may count as waiting, or as skipped by the next
    /// call for the latest message: a reader that was overtaken does not distinguish skipped
    /// positions from messages, and a loan that is not published is not seen until a call comes to
    /// its slot.
    fn uncertain(&self, reader: usize, lane: usize) -> u64 {
        let position = self.readers[reader].lanes[lane].position;
        let from = self.readable_from(reader, lane);
        match from - position {
            0 => 0,
            1 if self.lanes[lane].head() - position == self.rules.capacity => 1,
            _ => self.lanes[lane].skips_from(from),
        }
    }

    fn deliver(&mut self, reader: usize, lane: usize, position: usize) -> Found {
        let sequence = self.lanes[lane].number(position) + 1;
        let reader = &mut self.readers[reader];
        let progress = &mut reader.lanes[lane];
        (progress.position, reader.sequence) = (position + 1, sequence);
        progress.received += 1;
        Found {
            tag: self.lanes[lane].log[position].unwrap(),
            sequence,
            lane,
            position,
        }
    }

    pub(super) fn recv(&mut self, reader: usize) -> Option<Found> {
        self.readers[reader].discover(&self.lanes);
        for _ in 0..self.readers[reader].order.len() {
            let lane = self.readers[reader].take_turn();
            if let Some(position) = self.move_to_next(reader, lane) {
                return Some(self.deliver(reader, lane, position));
            }
        }
        None
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
            slot: found.position % self.rules.capacity,
        }
    }

    /// Moves a reader to the next message of each lane without a publisher.
    fn leave_ended_lanes(&mut self, reader: usize) {
        for lane in self.readers[reader].order.clone() {
            if !self.lanes[lane].has_publisher {
                self.move_to_next(reader, lane);
            }
        }
    }

    pub(super) fn borrow(&mut self, reader: usize) -> Borrowed {
        self.readers[reader].discover(&self.lanes);
        if !self.may_hold(reader, 0) {
            let mut known = self.readers[reader].order.iter();
            if known
                .any(|&lane| self.lanes[lane].head() > self.readers[reader].lanes[lane].position)
            {
                self.leave_ended_lanes(reader);
            }
            let mut lanes = self.readers[reader].order.clone().into_iter();
            let is_waiting = lanes.any(|lane| self.move_to_next(reader, lane).is_some());
            return if is_waiting { Err(()) } else { Ok(None) };
        }
        let found = self.recv(reader);
        Ok(found.map(|found| (found, self.hold(reader, found))))
    }

    /// Moves to the newest message of a lane, and receives it. The older ones count as skipped, or
    /// as lost.
    fn latest_in(&mut self, reader: usize, lane: usize) -> Option<Found> {
        let uncertain = self.uncertain(reader, lane);
        let from = self.readable_from(reader, lane);
        let lane_log = &self.lanes[lane];
        let first = self.readers[reader].lanes[lane].position;
        let mut present = (first.max(self.oldest(lane))..lane_log.head()).rev();
        let Some(newest) = present.find(|&position| lane_log.log[position].is_some()) else {
            self.move_to_next(reader, lane);
            return None;
        };
        let kept = from.min(newest);
        let progress = &mut self.readers[reader].lanes[lane];
        progress.lost += lane_log.number(kept) - lane_log.number(first);
        progress.skipped += lane_log.number(newest) - lane_log.number(kept);
        progress.uncertain += uncertain;
        Some(self.deliver(reader, lane, newest))
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
        self.readers[reader].discover(&self.lanes);
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
            let from = self.readable_from(reader, index);
            stats.received += progress.received;
            stats.skipped += progress.skipped;
            stats.lost += progress.lost + lane.number(from) - lane.number(progress.position);
            stats.waiting += lane.message_count() - lane.number(from);
            stats.sent += lane.message_count() - lane.number(progress.start);
            uncertain += progress.uncertain + self.uncertain(reader, index);
        }
        (stats, uncertain)
    }

    pub(super) fn add_copy(&mut self, place: usize, lane: usize, slot: usize) {
        self.copies.retain(|copy| copy.place != place);
        self.copies.push(Hold { place, lane, slot });
    }
}

impl ModelReader {
    fn discover(&mut self, lanes: &[ModelLane]) {
        for (index, lane) in lanes.iter().enumerate() {
            if lane.is_known && !self.order.contains(&index) {
                self.order.push(index);
            }
        }
    }

    fn take_turn(&mut self) -> usize {
        let lane = self.order[self.next];
        self.next = (self.next + 1) % self.order.len();
        lane
    }
}
