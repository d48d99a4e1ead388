//! Meters: count the messages of a topic between two moments, even if the topic is removed and
//! re-created in between.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use horus_core::TopicError;
use horus_core::introspect::{Inspector, LaneCounters, LivenessCache, Participant, ReaderCounters};
use horus_core::namespace::Namespace;

/// Maximum number of lanes of former files that a meter remembers. The oldest ones are forgotten.
const FORMER_LANES_MAX: usize = 256;

/// An object that counts the messages of a topic.
///
/// It opens the topic once and reads only counters, so it costs the topic's processes nothing, at
/// any rate of messages. If the topic is removed and re-created, the meter continues with the new
/// topic.
#[derive(Debug)]
pub(crate) struct Meter {
    namespace: Arc<Namespace>,
    name: String,
    inspector: Option<Inspector>,
    /// The creation time of the topic to which `last_counters` belongs. If the topic now has
    /// another creation time, it was re-created.
    created_at: Option<SystemTime>,
    last_counters: Counters,
    /// The last counters of the lanes in the file that had the name of the topic before. A
    /// publisher that moves to the present file continues its count there.
    former_lanes: Vec<LaneCounters>,
}

/// The counters of a topic at one moment, with the time at which they were read.
#[derive(Debug)]
pub(crate) struct Counters {
    read_at: Instant,
    pub(crate) lanes: Vec<LaneCounters>,
    pub(crate) readers: Vec<ReaderCounters>,
}

/// The number of messages of a topic between two moments, and the time between the two.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) took: Duration,
    /// Number of messages that all publishers sent.
    pub(crate) sent: u64,
    /// Number of sends that failed because the topic was full.
    pub(crate) refused: u64,
    /// Number of messages that subscribers lost. It is the sum over all subscribers that are there
    /// at the later moment.
    pub(crate) lost: u64,
    /// The counts for each lane that has a publisher or in which messages were sent. Each publisher
    /// has one lane.
    pub(crate) lanes: Vec<LaneReading>,
}

/// The number of messages in one lane between two moments.
#[derive(Debug)]
pub(crate) struct LaneReading {
    pub(crate) lane: u32,
    pub(crate) publisher: Option<Participant>,
    pub(crate) sent: u64,
}

impl Counters {
    /// Returns the counters for a topic that does not exist, which are all 0. `read_at` is the
    /// current time.
    fn all_zero(read_at: Instant) -> Self {
        Self {
            read_at,
            lanes: Vec::new(),
            readers: Vec::new(),
        }
    }

    /// Reads the counters of a topic. WHY all topics that are shown together share one cache:
    /// system calls are needed to find out whether a participant is alive, and the cache avoids
    /// repeating them.
    pub(crate) fn read(inspector: &Inspector, cache: &mut LivenessCache) -> Self {
        let lanes = inspector.publishers_with(cache);
        Self {
            read_at: Instant::now(),
            readers: inspector.subscribers_with(cache),
            lanes,
        }
    }

    /// Returns the live participants of the topic in all processes: first the publishers, then the
    /// subscribers.
    pub(crate) fn participants(&self) -> impl Iterator<Item = &Participant> {
        let publishers = self.lanes.iter();
        let publishers = publishers.filter_map(|lane| lane.publisher.as_ref());
        publishers.chain(self.readers.iter().map(|reader| &reader.subscriber))
    }

    /// Returns the number of live publishers of the topic.
    pub(crate) fn publishers(&self) -> usize {
        let lanes = self.lanes.iter();
        lanes.filter(|lane| lane.publisher.is_some()).count()
    }

    pub(crate) fn sent(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.sent).sum()
    }

    pub(crate) fn refused(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.refused).sum()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.readers.iter().map(|reader| reader.lost).sum()
    }

    /// Returns the number of messages in the lane of `later` that were sent before `self` was read.
    /// If the lane is new, its publisher may have moved here from a lane in `former_lanes`, which
    /// is then removed from there.
    fn take_earlier_sent_count(
        &self,
        later: &LaneCounters,
        former_lanes: &mut Vec<LaneCounters>,
    ) -> u64 {
        let mut lanes = self.lanes.iter();
        if let Some(known) = lanes.find(|counters| counters.lane == later.lane) {
            return known.sent;
        }
        // WHY by this number: another publisher of the process may have opened the lane.
        let is_same = |former: &LaneCounters| former.publisher_id == later.publisher_id;
        match former_lanes.iter().position(is_same) {
            Some(index) if later.publisher_id != 0 => former_lanes.swap_remove(index).sent,
            _ => 0,
        }
    }

    /// Returns the number of messages that the subscribers in `later` have lost since `self` was
    /// read. WHY for each of them: the counter of a subscriber that has left is missing in the
    /// later sum, and would hide what the others have lost.
    ///
    /// Counts too few if a process closes a subscriber and opens one with the same slot meanwhile
    /// that loses more than the former one had lost.
    fn lost_until(&self, later: &Self) -> u64 {
        let lost_before = |reader: &ReaderCounters| {
            let same = self.readers.iter().find(|other| {
                let is_same_process = other.subscriber.owner_id == reader.subscriber.owner_id;
                other.slot == reader.slot && is_same_process
            });
            same.map_or(0, |reader| reader.lost)
        };
        let readers = later.readers.iter();
        let lost = readers.map(|reader| match lost_before(reader) {
            before if before <= reader.lost => reader.lost - before,
            // A later subscriber of the process has the slot of an earlier one.
            _ => reader.lost,
        });
        lost.sum()
    }

    fn reading_until(&self, later: &Self, former_lanes: &mut Vec<LaneCounters>) -> Reading {
        let lanes = later.lanes.iter().map(|counters| LaneReading {
            lane: counters.lane,
            publisher: counters.publisher.clone(),
            sent: counters
                .sent
                .saturating_sub(self.take_earlier_sent_count(counters, former_lanes)),
        });
        let lanes: Vec<_> = lanes
            .filter(|lane| lane.publisher.is_some() || lane.sent > 0)
            .collect();
        Reading {
            took: later.read_at.saturating_duration_since(self.read_at),
            sent: lanes.iter().map(|lane| lane.sent).sum(),
            refused: later.refused().saturating_sub(self.refused()),
            lost: self.lost_until(later),
            lanes,
        }
    }
}

impl Meter {
    /// Opens the topic `name` and starts to count its messages. Returns an error if the topic does
    /// not exist.
    pub(crate) fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        let inspector = Inspector::open_in(namespace, name)?;
        Ok(Self {
            namespace: Arc::clone(namespace),
            name: name.to_owned(),
            created_at: creation_time(&inspector),
            last_counters: Counters::read(&inspector, &mut LivenessCache::default()),
            former_lanes: Vec::new(),
            inspector: Some(inspector),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the inspector of the topic; `None` if the topic is not open at the moment.
    pub(crate) const fn inspector(&self) -> Option<&Inspector> {
        self.inspector.as_ref()
    }

    /// Returns the counters that the last call of a read method has read.
    pub(crate) const fn counters(&self) -> &Counters {
        &self.last_counters
    }

    /// Returns the number of messages since the last call, or since the meter was opened.
    pub(crate) fn read(&mut self) -> Reading {
        self.read_with(&mut LivenessCache::default())
    }

    /// Returns the number of messages since the last call, as [`Self::read`] does. Uses a cache
    /// that the meters of other topics share.
    pub(crate) fn read_with(&mut self, cache: &mut LivenessCache) -> Reading {
        if self.inspector.as_ref().is_none_or(Inspector::is_retired) {
            self.inspector = Inspector::open_in(&self.namespace, &self.name).ok();
            let created_at = self.inspector.as_ref().and_then(creation_time);
            // WHY not if it is the same one: it was only closed while no process used it.
            if created_at.is_none() || created_at != self.created_at {
                // A new topic begins to count at 0, except for the publishers that move to it.
                let read_at = self.last_counters.read_at;
                let former = mem::replace(&mut self.last_counters, Counters::all_zero(read_at));
                let lanes = former.lanes.into_iter();
                self.former_lanes
                    .extend(lanes.filter(|lane| lane.publisher.is_some()));
                let excess = self.former_lanes.len().saturating_sub(FORMER_LANES_MAX);
                self.former_lanes.drain(..excess);
            }
            self.created_at = created_at;
        }
        let now = match &self.inspector {
            Some(inspector) => Counters::read(inspector, cache),
            None => Counters::all_zero(Instant::now()),
        };
        let reading = self
            .last_counters
            .reading_until(&now, &mut self.former_lanes);
        self.last_counters = now;
        reading
    }

    /// Closes the topic if no other process uses it. WHY: a topic exists as long as a process has
    /// it open, and a program that only reads must not keep it.
    pub(crate) fn close_if_unused(&mut self) {
        let is_used = |inspector: &Inspector| {
            let counters = &self.last_counters;
            inspector.persists() || counters.publishers() > 0 || !counters.readers.is_empty()
        };
        if !self.inspector.as_ref().is_some_and(is_used) {
            self.inspector = None;
        }
    }
}

impl Reading {
    /// Returns the number of messages sent per second between the two moments.
    pub(crate) fn rate_hz(&self) -> f64 {
        per_second(self.sent, self.took)
    }

    /// Adds the counts of `later`, which is the next reading of the same topic.
    pub(crate) fn add(&mut self, later: &Self) {
        self.took += later.took;
        self.sent += later.sent;
        self.refused += later.refused;
        self.lost += later.lost;
    }
}

fn creation_time(topic: &Inspector) -> Option<SystemTime> {
    topic.file().ok()?.created
}

/// Returns the rate, per second, of `count` events that occurred in the duration `time`.
pub(crate) fn per_second(count: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use horus_core::message::CmdVel;
    use horus_core::topic::{Publisher, Qos, Subscriber, Topic};

    use super::*;
    use crate::testing::private_namespace;

    /// Number of slots of the topic: what comes after them without being read is lost.
    const SLOTS: u64 = 16;

    fn send(publisher: &mut Publisher<CmdVel>, count: u64) {
        for _ in 0..count {
            publisher.send(CmdVel::new(0.5, 0.25)).unwrap();
        }
    }

    /// The publisher sends its history again in the new file, and continues its count.
    #[test]
    fn a_publisher_that_moves_counts_each_message_once() {
        let (_dir, namespace) = private_namespace();
        let topic = Topic::<CmdVel>::builder("cmd_vel").namespace(&namespace);
        let mut publisher = topic.qos(Qos::new().history(4)).publisher().unwrap();
        let mut meter = Meter::open(&namespace, "cmd_vel").unwrap();
        send(&mut publisher, 100);
        assert_eq!(meter.read().sent, 100);
        let path = namespace.topics_path().join("cmd_vel");
        fs::remove_file(&path).unwrap();
        // WHY a pause: this process notices after 0.1 s at most that the name is lost, and the
        // publisher then moves with its next message.
        let mut unseen = 0;
        while !path.exists() {
            thread::sleep(Duration::from_millis(200));
            send(&mut publisher, 1);
            unseen += 1;
        }
        assert_eq!(meter.read().sent, unseen);
        send(&mut publisher, 3);
        assert_eq!(meter.read().sent, 3);
    }

    /// The process is the same, and the new publisher may have sent more than the former one.
    #[test]
    fn a_publisher_that_is_opened_again_begins_to_count_anew() {
        let (_dir, namespace) = private_namespace();
        let publisher = || {
            let topic = Topic::<CmdVel>::builder("cmd_vel").namespace(&namespace);
            topic.publisher().unwrap()
        };
        let mut former = publisher();
        send(&mut former, 100);
        let mut meter = Meter::open(&namespace, "cmd_vel").unwrap();
        fs::remove_file(namespace.topics_path().join("cmd_vel")).unwrap();
        drop(former);
        // Publishers of other names share the process, too.
        send(&mut publisher(), 300);
        let mut present = publisher();
        send(&mut present, 150);
        assert_eq!(meter.read().sent, 150);
        send(&mut present, 7);
        assert_eq!(meter.read().sent, 7);
    }

    /// Otherwise each end of a subscriber would hide what the others lose.
    #[test]
    fn the_end_of_a_subscriber_hides_no_loss_of_another() {
        let (_dir, namespace) = private_namespace();
        let topic = || {
            let topic = Topic::<CmdVel>::builder("cmd_vel").namespace(&namespace);
            topic.qos(Qos::new().capacity(SLOTS))
        };
        let subscribe = || -> Subscriber<CmdVel> { topic().subscriber().unwrap() };
        let mut publisher = topic().publisher().unwrap();
        let first = subscribe();
        let lossy = subscribe();
        send(&mut publisher, 5_000 + SLOTS);
        // WHY: the next subscriber gets the first free slot, and this one must have it before.
        drop(first);
        let lasting = subscribe();
        let mut meter = Meter::open(&namespace, "cmd_vel").unwrap();
        drop(lossy);
        send(&mut publisher, 300 + SLOTS);
        let lost = meter.read().lost;
        assert!(lost >= 300, "{lost}");
        assert_eq!(lost, meter.counters().lost());
        send(&mut publisher, 7);
        assert_eq!(meter.read().lost, 7);
        // The next one gets the slot of the last one, and begins to count at 0.
        drop(lasting);
        let next = subscribe();
        send(&mut publisher, 20 + SLOTS);
        let lost = meter.read().lost;
        assert!((20..300).contains(&lost), "{lost}");
        assert_eq!(lost, meter.counters().lost());
        drop(next);
        assert_eq!(meter.read().lost, 0);
    }
}
