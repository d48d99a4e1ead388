//! A ring as queues: the behaviour that every ring must have, without stamps and cursors.

#![allow(unreachable_pub, reason = "a module of a test")]

use std::collections::VecDeque;

use fastrand::Rng;
use horus_shm::internals::telemetry::MESSAGES_PER_SAMPLE;
use horus_shm::{OpenError, ReadMode, ReadStats, RingOptions};

/// The number of lanes that a reader looks at before that of the last message.
const LOOKS_BEFORE_LAST: usize = 2;

/// The settings of a ring.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The capacity that its creator requested.
    pub asked: Option<u64>,
    pub capacity: u64,
    pub lanes: u32,
    pub readers: u32,
    pub reliable: bool,
    /// Its only reader is gated, and no producer gives it up.
    pub one_gated: bool,
    pub history: u32,
    pub persists: bool,
    pub pinnable: bool,
}

impl Rules {
    /// Makes the rules of a best-effort ring of random capacity for messages of type `T`.
    pub fn random<T>(rng: &mut Rng, lanes: u32, readers: u32) -> Self {
        let asked = [Some(2 + rng.u64(..7)), Some(2 + rng.u64(..60)), None]
            [rng.usize(..3).min(rng.usize(..3))];
        // WHY: a burst fills a lane, and the interpreter takes a minute for a thousand messages.
        let asked = if cfg!(miri) {
            Some(asked.map_or(16, |asked| asked.min(16)))
        } else {
            asked
        };
        let stride = (size_of::<T>().next_multiple_of(8) + 8).next_multiple_of(64) as u64;
        let default = (256 * 1024 / stride).clamp(16, 1024).next_power_of_two();
        Self {
            asked,
            capacity: asked.map_or(default, u64::next_power_of_two),
            lanes,
            readers,
            reliable: false,
            one_gated: false,
            history: 0,
            persists: false,
            pinnable: false,
        }
    }

    /// Returns the rules of a ring with one reader, which is gated.
    pub fn one_gated(self) -> Self {
        Self {
            reliable: true,
            one_gated: true,
            readers: 1,
            ..self
        }
    }

    pub fn options(&self) -> RingOptions {
        let producers = Some(self.lanes);
        let consumers = Some(self.readers);
        RingOptions {
            capacity: self.asked,
            producers,
            consumers,
            ..RingOptions::default()
        }
    }

    /// Returns how many of the newest messages a lapped reader still gets.
    pub fn kept_by_resync(&self) -> usize {
        let margin = (self.capacity / 8).max(2);
        self.capacity.saturating_sub(margin).max(1) as usize
    }

    /// Returns how many of `pending` messages a reader does not get any more.
    pub fn overwritten(&self, pending: usize) -> usize {
        if pending > self.capacity as usize {
            pending - self.kept_by_resync()
        } else {
            0
        }
    }
}

/// A lane in the oracle.
#[derive(Debug, Default)]
pub struct ModelLane {
    /// The tags of all messages that were ever sent, by position.
    pub log: Vec<u64>,
    pub producer: bool,
    pub detaches: bool,
    /// A producer has claimed it at least once.
    pub ready: bool,
    pub epoch_start: usize,
    /// The start of the last session before the present one that sent messages.
    pub history_start: usize,
    /// The producer does not read the cursors of gated readers before this position.
    pub limit: usize,
}

/// A reader in the oracle.
#[derive(Debug)]
pub struct ModelReader {
    pub reading: ReadMode,
    pub starts: Vec<usize>,
    /// By lane: the messages that were sent since it joined and that it has not passed.
    pub pending: Vec<VecDeque<u64>>,
    /// By lane: the position of its first pending message when the producer gave this reader up.
    pub given_up: Vec<Option<usize>>,
    /// The lanes that it knows of, in the order in which it polls them.
    pub order: Vec<usize>,
    pub next: usize,
    /// The lane of the last message received.
    pub last: Option<usize>,
    /// A lane that it ignores.
    pub ignored: Option<usize>,
    /// The number of the last message received, in its lane.
    pub sequence: u64,
    pub stats: ReadStats,
    pub detached: u64,
}

/// The expected state of the ring.
#[derive(Debug)]
pub struct Oracle {
    pub rules: Rules,
    /// The position of the first message of every log.
    pub origin: u64,
    pub lanes: Vec<ModelLane>,
    pub readers: Vec<ModelReader>,
}

/// The refusal of a constructor.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    Publishers,
    Subscribers,
}

pub fn refusal<E>(result: Result<E, OpenError>) -> Result<E, Refusal> {
    result.map_err(|error| match error {
        OpenError::TooManyPublishers { .. } => Refusal::Publishers,
        OpenError::TooManySubscribers { .. } => Refusal::Subscribers,
        other => panic!("{other}"),
    })
}

impl Oracle {
    pub fn new(rules: &Rules) -> Self {
        let lanes = (0..rules.lanes).map(|_| ModelLane::default()).collect();
        Self {
            rules: rules.clone(),
            origin: 0,
            lanes,
            readers: Vec::new(),
        }
    }

    /// Gives every lane a former owner, whose last lap began at position `origin`.
    pub fn begin_at(&mut self, origin: u64) {
        self.origin = origin;
        for (lane, tags) in self.lanes.iter_mut().zip(1..) {
            let first = (tags - 1) * self.rules.capacity + 1;
            lane.log = (first..first + self.rules.capacity).collect();
            lane.ready = true;
        }
    }

    /// Returns the next position of lane `index`.
    pub fn position(&self, index: usize) -> u64 {
        self.origin + self.lanes[index].log.len() as u64
    }

    pub fn join_producer(&mut self, detaches: bool) -> Result<usize, Refusal> {
        let free = self.lanes.iter().position(|lane| !lane.producer);
        let index = free.ok_or(Refusal::Publishers)?;
        let lane = &mut self.lanes[index];
        (lane.producer, lane.ready, lane.detaches) = (true, true, detaches);
        if lane.log.len() > lane.epoch_start {
            lane.history_start = lane.epoch_start;
        }
        (lane.epoch_start, lane.limit) = (lane.log.len(), lane.log.len());
        for reader in &mut self.readers {
            reader.given_up[index] = None;
        }
        Ok(index)
    }

    /// Returns the reason why a reader cannot join, if there is one.
    pub fn refusal_of(&self, reading: ReadMode) -> Option<Refusal> {
        let count = |kind: fn(ReadMode) -> bool| {
            self.readers
                .iter()
                .filter(|reader| kind(reader.reading))
                .count() as u32
        };
        let is_full = count(|kind| kind != ReadMode::Observer) == self.rules.readers;
        (reading != ReadMode::Observer && is_full).then_some(Refusal::Subscribers)
    }

    pub fn join_reader(&mut self, reading: ReadMode) -> Result<(), Refusal> {
        self.refusal_of(reading).map_or(Ok(()), Err)?;
        let starts: Vec<usize> = self.lanes.iter().map(|lane| self.start(lane)).collect();
        let tail = |(lane, &start): (&ModelLane, &usize)| lane.log[start..].to_vec().into();
        let pending = self.lanes.iter().zip(&starts).map(tail).collect();
        let mut reader = ModelReader {
            reading,
            given_up: vec![None; starts.len()],
            starts,
            pending,
            order: Vec::new(),
            next: 0,
            last: None,
            ignored: None,
            sequence: 0,
            stats: ReadStats::default(),
            detached: 0,
        };
        reader.discover(&self.lanes);
        self.readers.push(reader);
        Ok(())
    }

    /// Returns the start of a new reader: its history is no more than a lapped reader still gets.
    pub fn start(&self, lane: &ModelLane) -> usize {
        let Rules {
            history,
            persists,
            capacity,
            ..
        } = self.rules;
        let session = if persists && lane.log.len() == lane.epoch_start {
            lane.history_start
        } else {
            lane.epoch_start
        };
        if !lane.producer && !persists {
            return lane.log.len();
        }
        let history = (capacity * 7 / 8).min(history.into()) as usize;
        lane.log.len().saturating_sub(history).max(session)
    }

    /// Sends a message; returns false if the lane is full. A producer that detaches first gives up
    /// the readers that the full lane waits for.
    pub fn send(&mut self, index: usize, tag: u64) -> bool {
        let capacity = self.rules.capacity as usize;
        let lane = &mut self.lanes[index];
        let head = lane.log.len();
        let gated = self
            .readers
            .iter_mut()
            .filter(|reader| reader.reading == ReadMode::Gated);
        let mut counted: Vec<_> = gated
            .filter(|reader| reader.holds_back(index, head))
            .collect();
        let is_behind = |reader: &&mut ModelReader| reader.pending[index].len() >= capacity;
        if head >= lane.limit {
            if counted.iter().any(is_behind) && !lane.detaches {
                return false;
            }
            for reader in counted.extract_if(.., |reader| is_behind(reader)) {
                reader.given_up[index] = Some(head - reader.pending[index].len());
                reader.detached += 1;
            }
            let most = counted
                .iter()
                .map(|reader| reader.pending[index].len())
                .max();
            lane.limit = head + capacity - most.unwrap_or(0);
        } else if self.rules.history == 0 && !lane.detaches {
            assert!(
                !counted.iter().any(is_behind),
                "the oracle contradicts itself"
            );
        }
        lane.log.push(tag);
        for reader in self
            .readers
            .iter_mut()
            .filter(|reader| reader.ignored != Some(index))
        {
            reader.pending[index].push_back(tag);
        }
        true
    }

    pub fn recv(&mut self, reader: usize) -> Option<u64> {
        let reader = &mut self.readers[reader];
        reader.discover(&self.lanes);
        let lanes = reader.order.len();
        for look in 0..lanes + usize::from(lanes > LOOKS_BEFORE_LAST) {
            let lane = reader.lane_to_look_at(look);
            let lost = self.rules.overwritten(reader.pending[lane].len());
            assert!(
                lost == 0 || !self.rules.one_gated,
                "a ring overruns its only reader"
            );
            let queue = &mut reader.pending[lane];
            reader.stats.lost += lost as u64;
            queue.drain(..lost);
            if let Some(tag) = queue.pop_front() {
                reader.last = Some(lane);
                reader.stats.received += 1;
                let number = self.lanes[lane].log.len() - queue.len();
                reader.sequence = self.origin + number as u64;
                return Some(tag);
            }
        }
        None
    }

    /// Receives up to a lane's worth of messages. After a single message follows a run of up to an
    /// eighth of the lane, which ends with the message whose latency is sampled, if the consumer
    /// has `runs`.
    pub fn drain(&mut self, index: usize, runs: bool) -> Vec<u64> {
        let mut drained = Vec::new();
        while drained.len() < self.rules.capacity as usize {
            let Some(tag) = self.recv(index) else { break };
            drained.push(tag);
            let reader = &mut self.readers[index];
            let lane = reader.last.unwrap();
            let to_sample =
                reader.sequence.next_multiple_of(MESSAGES_PER_SAMPLE) - reader.sequence + 1;
            let run = to_sample
                .min(self.rules.capacity / 8)
                .min(reader.pending[lane].len() as u64);
            if runs {
                drained.extend(reader.pending[lane].drain(..run as usize));
                reader.stats.received += run;
                reader.sequence += run;
            }
        }
        drained
    }

    /// Returns the newest message of all lanes. All other pending messages count as skipped, or as
    /// lost if they are overwritten.
    pub fn latest(&mut self, reader: usize) -> Option<u64> {
        let reader = &mut self.readers[reader];
        reader.discover(&self.lanes);
        let passed: u64 = reader.pending.iter().map(|queue| queue.len() as u64).sum();
        let lost = reader.overwritten(&self.rules);
        let newest = reader.pending.iter().zip(&self.lanes).enumerate();
        let newest = newest
            .filter_map(|(index, (queue, lane))| Some((*queue.back()?, lane.log.len(), index)));
        let (newest, number, lane) = newest.max()?;
        reader.last = Some(lane);
        reader.sequence = self.origin + number as u64;
        reader.pending.iter_mut().for_each(VecDeque::clear);
        reader.stats.received += 1;
        reader.stats.lost += lost;
        reader.stats.skipped += passed - lost - 1;
        Some(newest)
    }

    pub fn stats(&self, reader: usize) -> ReadStats {
        let reader = &self.readers[reader];
        let pending: u64 = reader.pending.iter().map(|queue| queue.len() as u64).sum();
        let lost = reader.overwritten(&self.rules);
        let counted = (0..self.lanes.len()).filter(|lane| reader.ignored != Some(*lane));
        let sent = counted.map(|lane| (self.lanes[lane].log.len() - reader.starts[lane]) as u64);
        let sent = sent.sum();
        ReadStats {
            waiting: pending - lost,
            lost: reader.stats.lost + lost,
            sent,
            ..reader.stats
        }
    }
}

impl ModelReader {
    /// Returns the lane that it looks at: that whose turn it is, or after some of these, that of
    /// the last message.
    fn lane_to_look_at(&mut self, look: usize) -> usize {
        match self.last {
            Some(last) if look == LOOKS_BEFORE_LAST => last,
            _ => {
                let lane = self.order[self.next];
                self.next = (self.next + 1) % self.order.len();
                lane
            }
        }
    }

    pub fn discover(&mut self, lanes: &[ModelLane]) {
        for (index, lane) in lanes.iter().enumerate() {
            if lane.ready && self.ignored != Some(index) && !self.order.contains(&index) {
                self.order.push(index);
            }
        }
    }

    /// Returns how many pending messages it does not get any more.
    pub fn overwritten(&self, rules: &Rules) -> u64 {
        let lost = |queue: &VecDeque<u64>| rules.overwritten(queue.len()) as u64;
        self.pending.iter().map(lost).sum()
    }

    pub fn ignore(&mut self, lane: usize) {
        self.ignored = Some(lane);
        self.last = self.last.filter(|last| *last != lane);
        self.pending[lane].clear();
        self.order.retain(|known| *known != lane);
    }

    /// Returns true unless a producer gave this reader up, and it has not moved since.
    pub fn holds_back(&self, lane: usize, head: usize) -> bool {
        self.given_up[lane] != Some(head - self.pending[lane].len())
    }
}
