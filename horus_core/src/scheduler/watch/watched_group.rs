//! Watches a group of actors. Checks that handlers return, and that, in an emergency stop, all
//! actors enter their safe state.

use std::sync::Arc;

use horus_shm::clock::Clock;

use crate::actor::emergency_stop::SafeStateReport;
use crate::actor::group::ActorGroup;
use crate::actor::worker_activity::LongActivation;
use crate::message::NodeEvent;
use crate::scheduler::run::event_limit::text_with_left_out_count;
use crate::scheduler::watch::stuck_events::StuckEventRateLimiter;

/// The time, in nanoseconds, after which nodes and actors that have not entered their safe state
/// are reported.
pub(super) const SAFE_STATE_ENTRY_NS_MAX: u64 = 100_000_000;

/// Largest number of nodes or actors whose names one event contains.
pub(super) const NAMES_PER_EVENT_MAX: usize = 4;

/// A group of actors, as the supervisor watches it.
pub(crate) struct WatchedGroup {
    group: Arc<ActorGroup>,
    /// The time, in nanoseconds, at which the present emergency stop began, as long as some actors
    /// are not in their safe state; `None` otherwise.
    entering_safe_state_since_ns: Option<u64>,
    is_reported: bool,
    /// The activations (runs of an actor) that had lasted too long at the last check.
    stuck: Vec<LongActivation>,
    /// The limit of the events about stuck handlers, of each worker by its index.
    stuck_events: Vec<StuckEventRateLimiter>,
}

impl WatchedGroup {
    pub(crate) fn new(group: &Arc<ActorGroup>) -> Self {
        Self {
            group: Arc::clone(group),
            entering_safe_state_since_ns: None,
            is_reported: false,
            stuck: Vec::new(),
            stuck_events: Vec::new(),
        }
    }

    /// Records that an emergency stop has begun at the time `now_ns`. If `now_ns` is `None`,
    /// records that the emergency stop is over.
    pub(crate) fn set_emergency_stop_begin(&mut self, now_ns: Option<u64>) {
        let has_members = self.group.emergency_stop.safe_state_report().all > 0;
        self.entering_safe_state_since_ns = now_ns.filter(|_| has_members);
        self.is_reported = false;
    }

    /// Returns true during an emergency stop, as long as some actors are not in their safe state.
    pub(crate) const fn is_entering_safe_state(&self) -> bool {
        self.entering_safe_state_since_ns.is_some()
    }

    /// Returns an event for each actor whose handler has become stuck since the last check, and for
    /// each stuck handler that has returned since; of each worker, at most ten in a second.
    pub(crate) fn check_activations(&mut self, now_ns: u64) -> Vec<NodeEvent> {
        let limit_ns = self.group.watchdog_timeout_ns();
        let long = self.group.long_activations(now_ns.saturating_sub(limit_ns));
        let before = std::mem::replace(&mut self.stuck, long.clone());
        let mut events = Vec::new();
        for turn in before.iter().filter(|turn| !long.contains(turn)) {
            if self.stuck_events[turn.index].end_stuck_tick_and_must_record() {
                events.push(self.activation_event(NodeEvent::RECOVERED, turn, now_ns, 0));
            }
        }
        for turn in &long {
            if self.stuck_events.len() <= turn.index {
                let count = turn.index + 1;
                self.stuck_events
                    .resize_with(count, StuckEventRateLimiter::default);
            }
            if let Some(left_out) = self.stuck_events[turn.index].take_left_out_count_if_due(now_ns)
            {
                events.push(self.activation_event(NodeEvent::STUCK, turn, now_ns, left_out));
            }
        }
        events
    }

    /// Returns an event about an activation that lasts, or has lasted, too long. `left_out_count`
    /// is the number of events of its kind that were left out before.
    fn activation_event(
        &self,
        kind: u8,
        activation: &LongActivation,
        now_ns: u64,
        left_out_count: u64,
    ) -> NodeEvent {
        let lasted_ns = now_ns.saturating_sub(activation.began_ns);
        let text = format!(
            "{} on thread {}",
            self.group.describe_actor(activation.actor),
            activation.index
        );
        let text = text_with_left_out_count(&text, left_out_count);
        self.new_event(kind, lasted_ns, text.as_str())
    }

    /// During an emergency stop, returns an event when all actors are in their safe state. If some
    /// are not there after [`SAFE_STATE_ENTRY_NS_MAX`] nanoseconds, returns one event that reports
    /// them. Returns `None` in all other cases.
    pub(crate) fn check_safe_states(&mut self, now_ns: u64) -> Option<NodeEvent> {
        let lasted_ns = now_ns.saturating_sub(self.entering_safe_state_since_ns?);
        let SafeStateReport { all, missing } = self.group.emergency_stop.safe_state_report();
        if missing.is_empty() {
            self.entering_safe_state_since_ns = None;
            let text = format!("{all} actors are in their safe state");
            return Some(self.new_event(NodeEvent::SAFE_STATE_ENTERED, lasted_ns, &text));
        }
        if lasted_ns < SAFE_STATE_ENTRY_NS_MAX || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        let count = missing.len();
        let name = |(id, label): (usize, Option<String>)| {
            label.or_else(|| self.group.registry.name_of_actor(id))
        };
        let names: Vec<_> = missing
            .into_iter()
            .filter_map(name)
            .take(NAMES_PER_EVENT_MAX)
            .collect();
        let names = names.join(", ");
        let text = format!("{count} of {all} actors are not in their safe state: {names}");
        let text = text.trim_end_matches(": ");
        Some(self.new_event(NodeEvent::FAILED, lasted_ns, text))
    }

    fn new_event(&self, kind: u8, value_ns: u64, text: &str) -> NodeEvent {
        let event = NodeEvent::new(kind, self.group.name(), Clock::kernel().now_ns());
        event.with_value_ns(value_ns).with_text(text)
    }
}
