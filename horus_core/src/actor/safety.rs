//! Safe states: the actors of a group that have one, and an emergency stop, in which these enter it
//! while all mail waits.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use horus_shm::internals::heap::{ControlHandle, Envelope};
use horus_shm::internals::sync::Word;

use crate::actor::group::{ActorGroup, ControlMessage, Task};

/// The safe state of one actor, as its group sees it.
#[derive(Debug, Default)]
pub(crate) struct SafeState {
    /// The number of the last emergency stop that the actor was told of.
    wanted: AtomicU64,
    /// The number of the last emergency stop in which the actor has confirmed its safe state.
    confirmed: AtomicU64,
}

impl SafeState {
    // Relaxed, all: the thread that visits the actor has taken the lock of `Safety` since the stop
    // began, and others only report.
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed.get() == self.wanted.get()
    }

    /// Returns the number of the last emergency stop that the actor was told of.
    pub(super) fn wanted_stop(&self) -> u64 {
        self.wanted.get()
    }

    pub(super) fn confirm(&self) {
        self.confirmed.set(self.wanted.get());
    }
}

/// An actor with a safe state.
#[derive(Debug)]
struct SafetyMember {
    handle: ControlHandle<ActorGroup>,
    state: Arc<SafeState>,
    /// The name under which the actor is reported; `None` to use its registered name.
    label: Option<String>,
    /// The control that wakes the actor; `None` once it was sent. WHY allocated before: an
    /// emergency stop must not depend on free memory.
    visit: Option<Envelope<ControlMessage>>,
}

impl SafetyMember {
    fn begin_stop(&mut self, number: u64) {
        // Relaxed: as in `SafeState`.
        self.state.wanted.set(number);
        if let Some(visit) = self.visit.take() {
            // WHY ignored: it has ended.
            drop(self.handle.send_envelope(visit));
        }
    }
}

/// The actors of a group that have a safe state, and the actors that wait for the end of an
/// emergency stop.
#[derive(Debug, Default)]
pub(crate) struct Safety {
    /// 1 during an emergency stop.
    engaged: AtomicU64,
    /// If the actors have to enter their safe state before they are shut down, the number of the
    /// emergency stop that this is a part of, or of the next one; 0 otherwise.
    failing: AtomicU64,
    state: Mutex<SafetyState>,
}

#[derive(Debug, Default)]
struct SafetyState {
    is_engaged: bool,
    /// The number of emergency stops so far.
    number: u64,
    members: Vec<SafetyMember>,
    /// The actors whose mail waits for the end of the emergency stop.
    held: Vec<Task>,
    /// The actors that are not in their safe state yet, and have to be visited again.
    revisited: Vec<Task>,
}

/// The progress of a group in an emergency stop.
#[derive(Debug, Default)]
pub(crate) struct SafetyReport {
    /// Number of actors that have a safe state.
    pub(crate) all: usize,
    /// The actors that have not confirmed that they are in their safe state: the id and the label
    /// of each.
    pub(crate) missing: Vec<(usize, Option<String>)>,
}

impl Safety {
    fn lock(&self) -> MutexGuard<'_, SafetyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true during an emergency stop. Costs a load.
    pub(crate) fn is_engaged(&self) -> bool {
        // Relaxed: `hold` decides under the lock.
        self.engaged.get() != 0
    }

    /// Adds an actor that has a safe state.
    pub(crate) fn add(
        &self,
        handle: ControlHandle<ActorGroup>,
        state: Arc<SafeState>,
        label: Option<String>,
    ) {
        let mut all = self.lock();
        // WHY only then: the time for each actor stays the same, whatever their number.
        if all.members.len() == all.members.capacity() {
            all.members
                .retain(|member| !member.handle.is_disconnected());
        }
        let visit = Some(Envelope::new(ControlMessage::Visit));
        let mut member = SafetyMember {
            handle,
            state,
            label,
            visit,
        };
        if all.is_engaged {
            member.begin_stop(all.number);
        }
        all.members.push(member);
    }

    /// Begins an emergency stop: wakes each actor that has a safe state.
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

    /// Ends an emergency stop. Returns the actors that were kept, which the caller schedules.
    pub(crate) fn release(&self) -> Vec<Task> {
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
        tasks.append(&mut all.revisited);
        tasks
    }

    /// Keeps an actor until the end of the emergency stop, or until the next visit if it is not
    /// safe yet. Returns the actor if there is no emergency stop.
    pub(crate) fn hold_task(&self, task: Task, is_safe: bool) -> Option<Task> {
        let mut all = self.lock();
        if !all.is_engaged {
            return Some(task);
        }
        let list = if is_safe {
            &mut all.held
        } else {
            &mut all.revisited
        };
        list.push(task);
        None
    }

    /// Takes the actors that have to be visited again.
    pub(crate) fn take_tasks_to_revisit(&self) -> Vec<Task> {
        std::mem::take(&mut self.lock().revisited)
    }

    /// Returns the actors that have not confirmed their safe state.
    pub(crate) fn report(&self) -> SafetyReport {
        let all = self.lock();
        let mut report = SafetyReport::default();
        for member in &all.members {
            if member.handle.is_disconnected() {
                continue;
            }
            report.all += 1;
            if !member.state.is_confirmed() {
                report
                    .missing
                    .push((member.handle.id(), member.label.clone()));
            }
        }
        report
    }

    /// Returns the name of an actor that was spawned with one.
    pub(crate) fn label_of(&self, actor: usize) -> Option<String> {
        let all = self.lock();
        let mut of_it = all
            .members
            .iter()
            .filter(|member| member.handle.id() == actor && !member.handle.is_disconnected());
        of_it.next()?.label.clone()
    }

    /// Sets whether a node has failed, so that actors enter their safe state before they are shut
    /// down. It is false again if that was an emergency stop, which is over.
    pub(crate) fn set_failing(&self, is_failing: bool) {
        let all = self.lock();
        let number = all.number + u64::from(!all.is_engaged);
        // Relaxed: the actors are shut down by the caller.
        self.failing.set(if is_failing { number } else { 0 });
    }

    /// Returns a number if the actors have to enter their safe state before they are shut down, and
    /// 0 otherwise. It is that of the emergency stop, if there is one.
    pub(super) fn failing_stop(&self) -> u64 {
        // Relaxed: as above.
        self.failing.get()
    }
}
