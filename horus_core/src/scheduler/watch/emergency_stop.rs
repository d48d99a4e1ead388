//! The part of the supervisor that handles emergency stops.

use horus_shm::clock::Clock;

use crate::message::{EmergencyStop, NodeEvent, Text};
use crate::scheduler::watch::emergency_text::emergency_stop_text;
use crate::scheduler::watch::supervisor::Supervisor;

impl Supervisor {
    /// Applies the last message about an emergency stop, if there is a new one. If the scheduler
    /// may miss messages about it, applies an emergency stop, too.
    pub(super) fn poll_emergency_stop(&mut self, now_ns: u64) {
        let topic = self.endpoints.emergency_stop();
        // WHY only the last message: only the present state of the emergency stop matters.
        let (stop, obstacle) = (topic.latest(), topic.reason_for_missed_messages());
        let obstacle = obstacle.as_ref().map(Text::as_str);
        let stop = stop.filter(|stop| !self.refuse_if_late_release(stop));
        if let Some(stop) = &stop {
            // WHY at most the present time: a wrong stamp must not keep later messages from
            // applying.
            let sent_ns = stop.monotonic_ns.min(Clock::kernel().now_ns());
            self.emergency_stop_ns = self.emergency_stop_ns.max(sent_ns);
        }
        let sender = stop.as_ref().map(emergency_stop_text);
        let is_sent = |last: Option<EmergencyStop>| last.is_some_and(|stop| stop.is_engaged());
        let was_sent = is_sent(self.last_stop_message);
        self.last_stop_message = stop.or(self.last_stop_message);
        let is_sent = is_sent(self.last_stop_message);
        let is_newly_sent = is_sent && !was_sent;
        let is_engaged = is_sent || obstacle.is_some();
        let is_changed = std::mem::replace(&mut self.is_emergency, is_engaged) != is_engaged;
        if let (Some(sender), Some(_), false) = (&sender, obstacle, is_sent) {
            let text = format!("emergency release, while the topic cannot be read: {sender}");
            self.record_event(NodeEvent::COMMAND, "", 0, &text);
        }
        match (sender, obstacle) {
            (Some(sender), _) if is_newly_sent => {
                self.record_event(NodeEvent::EMERGENCY_STOP, "", 0, &sender);
            }
            (_, Some(obstacle)) if is_changed => {
                self.record_event(NodeEvent::EMERGENCY_STOP, "", 0, obstacle);
            }
            (sender, None) if is_changed => {
                let text = sender.unwrap_or_else(|| "its topic can be read again".to_owned());
                self.record_event(NodeEvent::EMERGENCY_OVER, "", 0, &text);
            }
            _ => {}
        }
        if is_changed {
            self.set_emergency_stop(is_engaged, now_ns);
        }
    }

    /// Prepares new files of the topics of commands and emergency stops, see
    /// [`SchedulerEndpoints::prepare_new_topic_files`].
    pub(super) fn prepare_new_topic_files(&mut self) {
        let texts = self
            .endpoints
            .prepare_new_topic_files(self.last_stop_message);
        texts.for_each(|text| self.record_event(NodeEvent::FAILED, "", 0, text.as_str()));
    }

    /// Returns true if the message is a release that is older than the last message that was
    /// applied, and records an event for it.
    ///
    /// WHY: a sender may be delayed between the creation of its message and `send`. WHY only
    /// releases: a stop that comes late is still wanted.
    fn refuse_if_late_release(&self, stop: &EmergencyStop) -> bool {
        // 0 is a message without this time.
        let is_late = (1..self.emergency_stop_ns).contains(&stop.monotonic_ns);
        let is_refused = is_late && !stop.is_engaged();
        if is_refused {
            let sender = emergency_stop_text(stop);
            let text = format!("emergency release, older than the last message: {sender}");
            self.record_event(NodeEvent::COMMAND, "", 0, &text);
        }
        is_refused
    }

    /// Begins or ends the emergency stop of all nodes.
    fn set_emergency_stop(&mut self, is_engaged: bool, now_ns: u64) {
        for entry in self.shared.node_entries().iter() {
            entry
                .commands
                .change_wanted_state(|wanted| wanted.is_emergency = is_engaged);
        }
        self.unchecked_stop_ns = is_engaged.then_some(now_ns);
        for group in &mut self.groups {
            group.set_emergency_stop_begin(is_engaged.then_some(now_ns));
        }
        self.publish_status(now_ns);
    }
}
