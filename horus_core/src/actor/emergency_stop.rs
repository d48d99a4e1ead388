//! The safe states of a group's actors. In an emergency stop, the actors that have a safe state
//! enter it, and all messages wait.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use horus_shm::internals::heap::{ControlHandle, Envelope};
use horus_shm::internals::sync::Word;

use crate::actor::group::{ActorGroup, ControlMessage, Task};

/// The progress of one actor towards its safe state. The actor's thread and the group share this
/// object.
#[derive(Debug, Default)]
pub(crate) struct SafeStateProgress {
    /// The number of the last emergency stop for which the actor was asked to enter its safe state.
    wanted: AtomicU64,
    /// The number of the last emergency stop in which the actor has confirmed its safe state.
    confirmed: AtomicU64,
}

impl SafeStateProgress {
    // Relaxed, all: the thread that visits the actor has taken the lock of `GroupEmergencyStop`
    // since the stop began, and others only report.
    pub(super) fn is_safe_state_confirmed(&self) -> bool {
        self.confirmed.get() == self.wanted.get()
    }

    /// Returns the number of the last emergency stop for which the actor was asked to enter its
    /// safe state.
    pub(super) fn requested_stop_number(&self) -> u64 {
        self.wanted.get()
    }

    pub(super) fn confirm_safe_state(&self) {
        self.confirmed.set(self.wanted.get());
    }
}

/// An actor of the group that has a safe state.
#[derive(Debug)]
struct ActorWithSafeState {
    handle: ControlHandle<ActorGroup>,
    state: Arc<SafeStateProgress>,
    /// The name under which reports mention the actor; `None` if they use the name under which the
    /// actor is registered.
    label: Option<String>,
    /// The control message that wakes the actor; `None` once it was sent. WHY allocated in advance:
    /// an emergency stop must work even if no memory is free.
    visit: Option<Envelope<ControlMessage>>,
}

impl ActorWithSafeState {
    fn begin_stop(&mut self, stop_number: u64) {
        // Relaxed: as in `SafeStateProgress`.
        self.state.wanted.set(stop_number);
        if let Some(visit) = self.visit.take() {
            // WHY ignored: it has ended.
            drop(self.handle.send_envelope(visit));
        }
    }
}

/// Coordinates the emergency stops of one group: it knows the actors that have a safe state, and
/// holds back other actors until the stop ends.
#[derive(Debug, Default)]
pub(crate) struct GroupEmergencyStop {
    /// 1 during an emergency stop, 0 otherwise.
    engaged: AtomicU64,
    /// 0 unless a node has failed. After a failure, actors enter their safe state before they are
    /// shut down, and this is the number of the present emergency stop, or of the next one if there
    /// is none.
    failing: AtomicU64,
    state: Mutex<EmergencyStopState>,
}

#[derive(Debug, Default)]
struct EmergencyStopState {
    is_engaged: bool,
    /// The number of emergency stops that have begun so far.
    number: u64,
    /// True once the run has failed. WHY kept: a command that is applied afterwards must not let
    /// actors end without their safe state.
    has_run_failed: bool,
    members: Vec<ActorWithSafeState>,
    /// The actors that have mail but must not run until the emergency stop ends. There is room for
    /// all actors that have a safe state, as in `revisited`.
    held: Vec<Task>,
    /// The actors that are not in their safe state yet. A worker has to run each of them again.
    revisited: VecDeque<Task>,
    /// Number of requests to visit the held actors again.
    revisits: u64,
    /// The value of `revisits` when the held actors were taken last.
    taken_revisits: u64,
}

/// The number of actors of a group that have a safe state, and those of them that have not
/// confirmed it yet.
#[derive(Debug, Default)]
pub(crate) struct SafeStateReport {
    /// Number of actors of the group that have a safe state.
    pub(crate) all: usize,
    /// The actors that have not confirmed that they are in their safe state. For each, its id and,
    /// if it has one, its name for reports.
    pub(crate) missing: Vec<(usize, Option<String>)>,
}

impl EmergencyStopState {
    /// Makes room in both lists for all actors that have a safe state. WHY in advance: as `visit`
    /// of [`ActorWithSafeState`].
    fn reserve_list_capacity(&mut self) {
        let Self {
            members,
            held,
            revisited,
            ..
        } = self;
        held.reserve(members.len().saturating_sub(held.len()));
        revisited.reserve(members.len().saturating_sub(revisited.len()));
    }
}

impl GroupEmergencyStop {
    fn lock(&self) -> MutexGuard<'_, EmergencyStopState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true during an emergency stop. Costs a load.
    pub(crate) fn is_engaged(&self) -> bool {
        // Relaxed: `hold` decides under the lock.
        self.engaged.get() != 0
    }

    /// Adds an actor that has a safe state, so that emergency stops reach the actor.
    pub(crate) fn add_actor(
        &self,
        handle: ControlHandle<ActorGroup>,
        state: Arc<SafeStateProgress>,
        label: Option<String>,
    ) {
        let mut all = self.lock();
        // WHY only then: the time for each actor stays the same, whatever their number.
        if all.members.len() == all.members.capacity() {
            all.members
                .retain(|member| !member.handle.is_disconnected());
        }
        let visit = Some(Envelope::new(ControlMessage::Visit));
        let mut member = ActorWithSafeState {
            handle,
            state,
            label,
            visit,
        };
        if all.is_engaged {
            member.begin_stop(all.number);
        }
        all.members.push(member);
        all.reserve_list_capacity();
    }

    /// Begins an emergency stop: wakes each actor that has a safe state, so that the actor enters
    /// that state.
    pub(crate) fn engage(&self) {
        let mut all = self.lock();
        if std::mem::replace(&mut all.is_engaged, true) {
            return;
        }
        self.engaged.set(1);
        all.number += 1;
        let number = all.number;
        all.members
            .iter_mut()
            .for_each(|member| member.begin_stop(number));
    }

    /// Ends an emergency stop. Returns the actors that were held, which the caller has to schedule.
    pub(crate) fn release_held_tasks(&self) -> Vec<Task> {
        let mut all = self.lock();
        self.engaged.set(0);
        if std::mem::take(&mut all.is_engaged) {
            for member in &mut all.members {
                member
                    .visit
                    .get_or_insert_with(|| Envelope::new(ControlMessage::Visit));
            }
        }
        let mut tasks = std::mem::take(&mut all.held);
        tasks.extend(all.revisited.drain(..));
        all.reserve_list_capacity();
        tasks
    }

    /// Returns the number of requests to visit the held actors again. Call this before the visit of
    /// an actor, and pass the number to [`Self::hold_task`].
    pub(crate) fn revisit_request_count(&self) -> u64 {
        self.lock().revisits
    }

    /// Requests that workers visit all held actors again, because one of them has got a command.
    /// Does nothing without an emergency stop. Takes a lock.
    pub(crate) fn revisit_held_actors(&self) {
        let mut all = self.lock();
        if all.is_engaged {
            all.revisits += 1;
        }
    }

    /// Holds an actor until the emergency stop ends, or, if the actor is not safe yet, until it is
    /// visited again. If there is no emergency stop, returns the actor. `revisit_request_count` is
    /// the result of [`Self::revisit_request_count`] before the visit.
    pub(crate) fn hold_task(
        &self,
        task: Task,
        is_safe: bool,
        revisit_request_count: u64,
    ) -> Option<Task> {
        let mut all = self.lock();
        if !all.is_engaged {
            return Some(task);
        }
        // WHY also the number: the command may have come after the visit.
        if is_safe && revisit_request_count == all.revisits {
            all.held.push(task);
        } else {
            all.revisited.push_back(task);
        }
        None
    }

    /// Returns the actors that are not in their safe state yet, and, if a command has come since
    /// the last call, all that were held. The caller has to visit them again. Each is removed when
    /// the iterator comes to it. Those that are added meanwhile are left for the next call.
    pub(crate) fn tasks_to_revisit(&self) -> impl Iterator<Item = Task> {
        let mut all = self.lock();
        let number = all.revisits;
        if std::mem::replace(&mut all.taken_revisits, number) != number {
            let EmergencyStopState {
                held, revisited, ..
            } = &mut *all;
            revisited.extend(held.drain(..));
        }
        let count = all.revisited.len();
        drop(all);
        (0..count).map_while(|_| self.lock().revisited.pop_front())
    }

    /// Returns how many actors have a safe state, and which of them have not confirmed it.
    pub(crate) fn safe_state_report(&self) -> SafeStateReport {
        let all = self.lock();
        let mut report = SafeStateReport::default();
        for member in &all.members {
            if member.handle.is_disconnected() {
                continue;
            }
            report.all += 1;
            if !member.state.is_safe_state_confirmed() {
                report
                    .missing
                    .push((member.handle.id(), member.label.clone()));
            }
        }
        report
    }

    /// Returns true if all actors that have a safe state have confirmed it. Allocates nothing.
    pub(crate) fn are_all_safe(&self) -> bool {
        self.lock()
            .members
            .iter()
            .all(|member| member.state.is_safe_state_confirmed() || member.handle.is_disconnected())
    }

    /// Returns the name that reports use for an actor with this id; `None` if the actor was spawned
    /// without such a name.
    pub(crate) fn label_of_actor(&self, actor_id: usize) -> Option<String> {
        let all = self.lock();
        let mut of_it = all
            .members
            .iter()
            .filter(|member| member.handle.id() == actor_id && !member.handle.is_disconnected());
        of_it.next()?.label.clone()
    }

    /// Records that the run has failed: from now on, actors enter their safe state before they are
    /// shut down.
    pub(crate) fn set_run_failed(&self) {
        self.lock().has_run_failed = true;
        self.set_node_failing(true);
    }

    /// Returns true if the run has failed.
    pub(crate) fn has_run_failed(&self) -> bool {
        self.lock().has_run_failed
    }

    /// Records whether the node of the group has failed. If so, actors enter their safe state
    /// before they are shut down. The end of an emergency stop resets this to false, unless the run
    /// has failed.
    pub(crate) fn set_node_failing(&self, is_failing: bool) {
        let all = self.lock();
        let is_failing = is_failing || all.has_run_failed;
        let number = all.number + u64::from(!all.is_engaged);
        // Relaxed: the actors are shut down by the caller.
        self.failing.set(if is_failing { number } else { 0 });
    }

    /// Returns true if the actors have to be in their safe state when their group ends: there is an
    /// emergency stop, or a node has failed.
    pub(crate) fn is_safe_state_wanted(&self) -> bool {
        self.is_engaged() || self.failure_stop_number() != 0
    }

    /// Returns a number other than 0 if the actors have to enter their safe state before they are
    /// shut down, else 0. The number is that of the emergency stop, if there is one.
    pub(super) fn failure_stop_number(&self) -> u64 {
        // Relaxed: as above.
        self.failing.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command, such as the end of an emergency stop, does not make a failed run a good one.
    #[test]
    fn a_failed_run_stays_failed() {
        let emergency_stop = GroupEmergencyStop::default();
        emergency_stop.set_node_failing(true);
        emergency_stop.set_node_failing(false);
        assert_eq!(emergency_stop.failure_stop_number(), 0);
        emergency_stop.set_run_failed();
        assert_eq!(emergency_stop.failure_stop_number(), 1);
        emergency_stop.engage();
        assert!(emergency_stop.release_held_tasks().is_empty());
        emergency_stop.set_node_failing(false);
        assert_eq!(
            emergency_stop.failure_stop_number(),
            2,
            "the next emergency stop"
        );
    }
}
