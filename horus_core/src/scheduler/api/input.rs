//! Inputs with a timeout: subscribers that know the age of their last message, which the scheduler
//! compares with the timeout.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use horus_shm::internals::sync::Word;

use crate::message::Text;
use crate::scheduler::api::policy::saturating_nanos;
use crate::topic::{Payload, Subscriber};

/// Receives messages of type `T`, and knows the age of the last message.
///
/// Created by
/// [`NodeBuilder::subscribe_with_timeout`](crate::scheduler::NodeBuilder::subscribe_with_timeout).
/// Use an input only in the methods of its node. The age of a message is measured up to the start
/// of the node's present tick, so that no method has to read the clock. This is also true in
/// simulated runs.
///
/// A message counts as having arrived at the start of the tick that received it. Therefore, receive
/// in every tick, and choose a timeout that is longer than the node's period.
///
/// After a pause, an emergency stop or another gap between two ticks that is longer than the
/// timeout (and, if the node has a rate, than three periods), nobody knows for how long the waiting
/// messages have waited. The first tick after the gap assumes the worst: its messages count as
/// having arrived at the start of the tick before the gap, so [`Self::fresh`] does not return them.
/// A node without a rate assumes this only after a pause or an emergency stop that ended less than
/// the timeout ago. In the first tick of a node, the messages count as having just arrived, even
/// those that the topic has kept for late joiners.
#[derive(Debug)]
pub struct Input<T: Payload> {
    subscriber: Subscriber<T>,
    watch: Arc<InputWatch>,
    /// The newest message, if [`Self::fresh`] received it last; `None` if another method received
    /// since, or if there is no message yet.
    newest: Option<T>,
    /// The time at which the last message counts as having arrived, in nanoseconds; `None` before
    /// the first message.
    arrived_ns: Option<u64>,
}

impl<T: Payload> Input<T> {
    pub(crate) const fn new(subscriber: Subscriber<T>, watch: Arc<InputWatch>) -> Self {
        Self {
            subscriber,
            watch,
            newest: None,
            arrived_ns: None,
        }
    }

    /// Returns the newest message, even if an earlier call returned it. Returns `None` if it is
    /// older than the timeout, or if there is no message yet. Receives all waiting messages and
    /// keeps only the newest. Never blocks.
    #[inline]
    pub fn fresh(&mut self) -> Option<&T> {
        if let Some(message) = self.subscriber.latest() {
            self.record_arrival();
            self.newest = Some(message);
        }
        if self.is_stale() {
            None
        } else {
            self.newest.as_ref()
        }
    }

    /// Returns the next message, however old it is, as [`Subscriber::recv`] does. Returns each
    /// message only once, and `None` if there is no message right now. Afterwards, [`Self::fresh`]
    /// returns `None` until another message arrives.
    #[inline]
    pub fn recv(&mut self) -> Option<T> {
        let message = self.subscriber.recv()?;
        self.record_arrival();
        self.newest = None;
        Some(message)
    }

    /// Returns the newest waiting message, as [`Subscriber::latest`] does. Afterwards,
    /// [`Self::fresh`] returns `None` until another message arrives.
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        let message = self.subscriber.latest()?;
        self.record_arrival();
        self.newest = None;
        Some(message)
    }

    /// Returns an iterator that receives the waiting messages one after the other with
    /// [`Self::recv`].
    pub fn try_iter(&mut self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv())
    }

    /// Returns the time from the arrival of the last message to the start of the present tick.
    /// Before the first message, returns the time since the node was initialised, or since the end
    /// of a later pause or emergency stop. Reads no clock.
    #[must_use]
    pub fn age(&self) -> Duration {
        let since_ns = self.arrived_ns.unwrap_or_else(|| self.watch.last_ns.get());
        Duration::from_nanos(self.watch.now_ns.get().saturating_sub(since_ns))
    }

    /// Returns true if [`Self::age`] is longer than the input's timeout.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        saturating_nanos(self.age()) > self.watch.timeout_ns
    }

    /// Returns the subscriber, to read its counters or to pass it to
    /// [`NodeBuilder::on`](crate::scheduler::NodeBuilder::on).
    #[must_use]
    pub const fn subscriber(&self) -> &Subscriber<T> {
        &self.subscriber
    }

    fn record_arrival(&mut self) {
        self.arrived_ns = Some(self.watch.record_and_return_arrival_ns());
    }
}

/// Value of a time in [`InputWatch`] whose event (a tick, the end of a pause) has not happened.
const NEVER_HAPPENED_NS: u64 = u64::MAX;

/// The times of an input, with which the scheduler checks the input's timeout. They are read from
/// the clock of the thread that runs the node.
#[derive(Debug)]
pub(crate) struct InputWatch {
    topic: Arc<str>,
    timeout_ns: u64,
    /// The start of the node's present tick, in nanoseconds. The thread that runs the node writes
    /// it.
    now_ns: AtomicU64,
    /// The arrival time, in nanoseconds, that is recorded for messages received in the present
    /// tick. Usually the start of this tick. But if they may have waited for longer than the
    /// timeout, because the node did not tick meanwhile, it is the start of the previous tick.
    /// Written by the node's thread.
    arrival_ns: AtomicU64,
    /// The start of the last tick, in nanoseconds; [`NEVER_HAPPENED_NS`] before the first one.
    /// Written by the node's thread.
    ticked_ns: AtomicU64,
    /// The end of the last pause or emergency stop since the last tick, in nanoseconds;
    /// [`NEVER_HAPPENED_NS`] if there was none. Written by the node's thread.
    released_ns: AtomicU64,
    /// The arrival time of the last message, in nanoseconds. If the node was initialised or allowed
    /// to tick again after that, the time at which that happened. Written by the node's thread.
    last_ns: AtomicU64,
}

impl InputWatch {
    pub(crate) fn new(topic: &str, timeout: Duration) -> Self {
        Self {
            topic: topic.into(),
            timeout_ns: saturating_nanos(timeout),
            now_ns: AtomicU64::new(0),
            arrival_ns: AtomicU64::new(0),
            ticked_ns: AtomicU64::new(NEVER_HAPPENED_NS),
            released_ns: AtomicU64::new(NEVER_HAPPENED_NS),
            last_ns: AtomicU64::new(0),
        }
    }

    /// Returns an error text that says for how long the input has had no message.
    pub(crate) fn describe_stale_input(&self, now_ns: u64) -> Text<128> {
        let [age, timeout] = [self.age_ns(now_ns), self.timeout_ns].map(Duration::from_nanos);
        let topic = &self.topic;
        let what = format_args!("no message on '{topic}' for {age:?}: the timeout is {timeout:?}");
        Text::format(what)
    }

    /// Starts the input's timeout again at `now_ns`, because the node is being initialised or is
    /// allowed to tick again after a pause or an emergency stop.
    pub(crate) fn restart_timeout(&self, now_ns: u64) {
        // Relaxed, here and below: only the node's thread writes and reads these words.
        self.now_ns.set(now_ns);
        self.released_ns.set(now_ns);
        self.last_ns.set(now_ns);
    }

    /// Begins a tick of the node at `now_ns`. `period_ns` is the period of the node; 0 if it has no
    /// rate.
    #[inline]
    pub(crate) fn begin_tick(&self, now_ns: u64, period_ns: u64) {
        self.now_ns.set(now_ns);
        let ticked_ns = self.ticked_ns.get();
        let may_have_waited = self.may_messages_be_stale(now_ns, ticked_ns, period_ns);
        self.arrival_ns
            .set(if may_have_waited { ticked_ns } else { now_ns });
        self.ticked_ns.set(now_ns);
        self.released_ns.set(NEVER_HAPPENED_NS);
    }

    /// Returns true if messages that the tick at `tick_ns` finds may have waited for longer than
    /// the timeout, because the node did not tick meanwhile. The tick before began at
    /// `previous_tick_ns`; [`NEVER_HAPPENED_NS`] if there was none.
    fn may_messages_be_stale(&self, tick_ns: u64, previous_tick_ns: u64, period_ns: u64) -> bool {
        let since_previous_ns = tick_ns.saturating_sub(previous_tick_ns);
        if previous_tick_ns == NEVER_HAPPENED_NS || since_previous_ns <= self.timeout_ns {
            return false;
        }
        if period_ns > 0 {
            // WHY three periods: a timeout may be shorter than one, a node at half its rate ticks
            // at every second due time, and no tick begins exactly when it is due.
            return since_previous_ns > period_ns.saturating_mul(3);
        }
        // WHY: a node that waits for messages receives them at once, except those that came while
        // it was not allowed to tick.
        let released_ns = self.released_ns.get();
        released_ns != NEVER_HAPPENED_NS && tick_ns.saturating_sub(released_ns) <= self.timeout_ns
    }

    /// Records that a message was received in the present tick. Returns the time as which its
    /// arrival counts, in nanoseconds.
    fn record_and_return_arrival_ns(&self) -> u64 {
        let arrival_ns = self.arrival_ns.get();
        // WHY a maximum: after a gap the timeout runs from the end of the pause.
        self.last_ns.set(self.last_ns.get().max(arrival_ns));
        arrival_ns
    }

    /// Returns how long the node has been without a message at `now_ns`, in nanoseconds: the time
    /// since the last message, or since the node was last allowed to tick again, if that was later.
    fn age_ns(&self, now_ns: u64) -> u64 {
        // Relaxed: a counter.
        now_ns.saturating_sub(self.last_ns.get())
    }
}

/// Returns the input that exceeds its timeout by the longest time. If several inputs exceed it by
/// the same time, returns the first of them. Returns `None` if no input exceeds its timeout.
#[inline]
pub(crate) fn stalest_input(inputs: &[Arc<InputWatch>], now_ns: u64) -> Option<&InputWatch> {
    let over = |input: &InputWatch| input.age_ns(now_ns).saturating_sub(input.timeout_ns);
    let stale = inputs
        .iter()
        .map(AsRef::as_ref)
        .filter(|input| over(input) > 0);
    stale.reduce(|one, other| if over(other) > over(one) { other } else { one })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_stale_after_its_timeout_from_the_start_or_the_last_message() {
        let input = InputWatch::new("imu", Duration::from_nanos(100));
        input.restart_timeout(1000);
        let inputs = [Arc::new(input)];
        assert!(stalest_input(&inputs, 1100).is_none());
        let text = stalest_input(&inputs, 1101)
            .unwrap()
            .describe_stale_input(1101);
        assert_eq!(
            text.as_str(),
            "no message on 'imu' for 101ns: the timeout is 100ns"
        );
        inputs[0].last_ns.set(1101);
        assert!(stalest_input(&inputs, 1201).is_none() && stalest_input(&inputs, 1202).is_some());
        // A clock that went back a little makes no input stale.
        assert!(stalest_input(&inputs, 0).is_none());
        inputs[0].restart_timeout(5000);
        assert!(stalest_input(&inputs, 5100).is_none());
    }

    #[test]
    fn the_input_that_exceeds_its_timeout_by_most_is_named() {
        let with = |topic, timeout_ns| {
            let input = InputWatch::new(topic, Duration::from_nanos(timeout_ns));
            input.restart_timeout(0);
            Arc::new(input)
        };
        let inputs = [with("slow", 500), with("fast", 10), with("as fast", 10)];
        let name = |now_ns| stalest_input(&inputs, now_ns).map(|input| &*input.topic);
        assert_eq!(
            (name(10), name(11), name(600)),
            (None, Some("fast"), Some("fast"))
        );
        inputs[1].last_ns.set(590);
        inputs[2].last_ns.set(595);
        assert_eq!(name(600), Some("slow"));
        assert!(stalest_input(&[], u64::MAX).is_none());
    }

    /// Returns the time as which an input counts the arrival of messages in a tick at `now_ns`. The
    /// timeout is 100 ns.
    fn arrival_ns(ticks_ns: &[u64], released_ns: Option<u64>, now_ns: u64, period_ns: u64) -> u64 {
        let input = InputWatch::new("imu", Duration::from_nanos(100));
        input.restart_timeout(0);
        ticks_ns
            .iter()
            .for_each(|&at_ns| input.begin_tick(at_ns, period_ns));
        released_ns
            .into_iter()
            .for_each(|at_ns| input.restart_timeout(at_ns));
        input.begin_tick(now_ns, period_ns);
        input.record_and_return_arrival_ns()
    }

    #[test]
    fn after_a_gap_messages_count_as_old_as_they_may_be() {
        // With a rate: the first tick, no gap, a gap with and without a pause.
        assert_eq!(arrival_ns(&[], None, 500, 10), 500);
        assert_eq!(arrival_ns(&[0, 10], None, 110, 10), 110);
        assert_eq!(arrival_ns(&[0, 10], None, 111, 10), 10);
        assert_eq!(arrival_ns(&[0, 10], Some(500), 505, 10), 10);
        // The period is longer than the timeout.
        assert_eq!(arrival_ns(&[0, 200], None, 800, 200), 800);
        assert_eq!(arrival_ns(&[0, 200], None, 801, 200), 200);
        // Without a rate: silence, a pause with messages, and a pause without.
        assert_eq!(arrival_ns(&[0, 10], None, 500, 0), 500);
        assert_eq!(arrival_ns(&[0, 10], Some(500), 600, 0), 10);
        assert_eq!(arrival_ns(&[0, 10], Some(500), 601, 0), 601);
        assert_eq!(arrival_ns(&[], Some(500), 501, 0), 501);
        assert_eq!(arrival_ns(&[0, 450], Some(500), 501, 0), 501);
    }

    #[test]
    fn an_infinite_timeout_never_ends() {
        let input = InputWatch::new("map", Duration::MAX);
        input.restart_timeout(0);
        assert!(stalest_input(&[Arc::new(input)], u64::MAX).is_none());
    }
}
