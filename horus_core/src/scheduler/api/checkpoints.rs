//! Checks the order of the checkpoints in a tick, and the shortest allowed time from one tick to
//! the next.
//!
//! WHY: a watchdog with only a time limit finds few faults. IEC 61508-2, table A.10, rates its
//! diagnostic coverage as low. With a time window (a tick may be neither too late nor too early) or
//! a check of the sequence, the coverage is medium, and with both it is high.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use horus_shm::internals::sync::Word;

use crate::scheduler::api::policy::saturating_nanos;

/// A fault in the checkpoints of a tick, or in the time from the previous tick to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CheckpointFault {
    /// The tick passed a checkpoint although it had not passed an earlier one.
    #[error("checkpoint {found} after {last}: {} was skipped", last + 1)]
    Skipped {
        /// The number of the last checkpoint that the tick had passed before the faulty one.
        last: u64,
        /// The number of the checkpoint that the tick passed, although an earlier one was still
        /// missing.
        found: u64,
    },
    /// The tick passed a checkpoint more than once.
    #[error("checkpoint {found} after {last}: it was passed before")]
    Repeated {
        /// The number of the last checkpoint that the tick had passed before the repeated one.
        last: u64,
        /// The number of the checkpoint that was passed again.
        found: u64,
    },
    /// The tick passed a checkpoint that the node has not declared.
    #[error(
        "checkpoint {found} was not declared: this node has {wanted}, counted from 1; \
         declare more with checkpoints({found})"
    )]
    Unknown {
        /// The number of the undeclared checkpoint that the tick passed.
        found: u64,
        /// The number of checkpoints that the node has declared, which is also the number of the
        /// last one.
        wanted: u64,
    },
    /// The tick ended before the last checkpoint.
    #[error("the tick ended after checkpoint {last} of {wanted}: {} was not reached", last + 1)]
    Missing {
        /// The number of the last checkpoint that the tick passed; 0 if it passed none.
        last: u64,
        /// The number of checkpoints that the node has declared.
        wanted: u64,
    },
    /// The tick began too soon after the previous one.
    #[error("the tick began {found:?} after the previous one, wanted at least {wanted:?}")]
    Early {
        /// The time from the start of the previous tick to the start of this one.
        found: Duration,
        /// The shortest allowed time from the start of one tick to the start of the next.
        wanted: Duration,
    },
}

/// The number of the last checkpoint that a node has passed. Other threads can read it during a
/// tick of the node.
#[derive(Debug, Default)]
pub(crate) struct LastCheckpoint(AtomicU64);

impl LastCheckpoint {
    /// Returns the number of the last checkpoint that the present tick has passed; 0 if it has
    /// passed none. Between two ticks, returns the last checkpoint of the previous tick. Costs an
    /// atomic load.
    #[must_use]
    pub(crate) fn last_passed_number(&self) -> u64 {
        // Relaxed: a counter, which the supervisor polls.
        self.0.get()
    }
}

/// Shows where a node that does not return is stuck, for example `stuck after checkpoint 1`.
impl std::fmt::Display for LastCheckpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.last_passed_number() {
            0 => f.write_str("stuck before checkpoint 1"),
            last => write!(f, "stuck after checkpoint {last}"),
        }
    }
}

/// Checks that each tick of one node passes all of its checkpoints, each once and in order.
#[derive(Debug)]
pub(crate) struct CheckpointChecker {
    wanted: u64,
    miss_if_sooner_than_ns: u64,
    /// The number of the last checkpoint that the present tick has passed; 0 if it has passed none.
    last: u64,
    began_ns: Option<u64>,
    /// The first fault of the present tick. Later faults are ignored, because they follow from it.
    fault: Option<CheckpointFault>,
    position: Arc<LastCheckpoint>,
}

impl CheckpointChecker {
    /// Creates the checker of a node. Each tick of the node has to pass `checkpoint_count`
    /// checkpoints, and at least `miss_if_sooner_than` has to pass from the start of one tick to
    /// the start of the next.
    #[must_use]
    pub(crate) fn new(checkpoint_count: u64, miss_if_sooner_than: Duration) -> Self {
        Self {
            wanted: checkpoint_count,
            miss_if_sooner_than_ns: saturating_nanos(miss_if_sooner_than),
            last: 0,
            began_ns: None,
            fault: None,
            position: Arc::default(),
        }
    }

    /// Returns the number of the last checkpoint that the node has passed, shared with the threads
    /// that show it.
    #[must_use]
    pub(crate) const fn last_checkpoint(&self) -> &Arc<LastCheckpoint> {
        &self.position
    }

    /// Begins the check of a tick that starts at `begin_ns`. The time comes from a clock that
    /// should only go forwards. If the clock has gone back, the tick counts as too early.
    #[inline]
    pub(crate) fn begin_tick(&mut self, begin_ns: u64) {
        self.last = 0;
        self.fault = None;
        // Relaxed: see `LastCheckpoint::last_passed_number`.
        self.position.0.set(0);
        if let Some(before_ns) = self.began_ns.replace(begin_ns) {
            let since_ns = begin_ns.saturating_sub(before_ns);
            if since_ns < self.miss_if_sooner_than_ns {
                self.record_fault(CheckpointFault::Early {
                    found: Duration::from_nanos(since_ns),
                    wanted: Duration::from_nanos(self.miss_if_sooner_than_ns),
                });
            }
        }
    }

    /// Records that the node has passed the checkpoint with this number; the first one has number
    /// 1. Costs two comparisons and a relaxed store.
    #[inline]
    pub(crate) fn pass_checkpoint(&mut self, checkpoint_number: u64) {
        if checkpoint_number != self.last.wrapping_add(1) || checkpoint_number > self.wanted {
            self.record_wrong_order(checkpoint_number);
        }
        self.last = checkpoint_number;
        // Relaxed: see `LastCheckpoint::last_passed_number`.
        self.position.0.set(checkpoint_number);
    }

    /// Ends the tick, and checks that it has passed all checkpoints.
    ///
    /// # Errors
    ///
    /// Returns the first fault of the tick.
    #[inline]
    pub(crate) fn end_tick(&mut self) -> Result<(), CheckpointFault> {
        match self.fault.take() {
            Some(fault) => Err(fault),
            None if self.last == self.wanted => Ok(()),
            None => Err(CheckpointFault::Missing {
                last: self.last,
                wanted: self.wanted,
            }),
        }
    }

    /// Records the fault that the tick passed checkpoint `found_number`, which was not the next
    /// checkpoint.
    #[cold]
    fn record_wrong_order(&mut self, found_number: u64) {
        let (found, last) = (found_number, self.last);
        let wanted = self.wanted;
        self.record_fault(match found {
            _ if found == 0 || found > wanted => CheckpointFault::Unknown { found, wanted },
            _ if found <= last => CheckpointFault::Repeated { last, found },
            _ => CheckpointFault::Skipped { last, found },
        });
    }

    #[cold]
    fn record_fault(&mut self, fault: CheckpointFault) {
        self.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a tick that passes the checkpoints `passed`, on a node with `wanted` checkpoints.
    /// Returns the fault of the tick.
    fn tick(wanted: u64, passed: &[u64]) -> Result<(), String> {
        let mut checkpoints = CheckpointChecker::new(wanted, Duration::ZERO);
        checkpoints.begin_tick(0);
        passed
            .iter()
            .for_each(|checkpoint| checkpoints.pass_checkpoint(*checkpoint));
        checkpoints.end_tick().map_err(|fault| fault.to_string())
    }

    #[test]
    fn only_all_of_them_in_order_are_right() {
        for (wanted, passed, fault) in [
            (0, &[][..], None),
            (1, &[1], None),
            (3, &[1, 2, 3], None),
            (3, &[1, 3], Some("checkpoint 3 after 1: 2 was skipped")),
            (3, &[3, 2, 1], Some("checkpoint 3 after 0: 1 was skipped")),
            (
                3,
                &[1, 2, 2, 3],
                Some("checkpoint 2 after 2: it was passed before"),
            ),
            (
                3,
                &[1, 2, 3, 1],
                Some("checkpoint 1 after 3: it was passed before"),
            ),
            (
                3,
                &[],
                Some("the tick ended after checkpoint 0 of 3: 1 was not reached"),
            ),
            (
                3,
                &[1, 2],
                Some("the tick ended after checkpoint 2 of 3: 3 was not reached"),
            ),
            (
                3,
                &[1, 2, 3, 4],
                Some("checkpoint 4 was not declared: this node has 3,"),
            ),
            (
                3,
                &[0],
                Some("0 was not declared: this node has 3, counted from 1"),
            ),
            (0, &[1], Some("declare more with checkpoints(1)")),
            (1, &[u64::MAX, 0], Some("not declared: this node has 1")),
        ] {
            match (tick(wanted, passed), fault) {
                (Ok(()), None) => {}
                (Err(found), Some(fault)) if found.contains(fault) => {}
                (found, _) => panic!("{passed:?} of {wanted}: {found:?}, not {fault:?}"),
            }
        }
    }

    /// Of all sequences of up to four checkpoints, only the declared one is accepted.
    #[test]
    fn no_other_sequence_is_accepted() {
        for wanted in 0..4_u64 {
            for way in 0..5_u64.pow(4) {
                let steps: Vec<_> = (0..4).map(|step| way / 5_u64.pow(step) % 5).collect();
                let steps: Vec<_> = steps.into_iter().take_while(|step| *step != 4).collect();
                let is_right = steps.iter().copied().eq(1..=wanted);
                assert_eq!(
                    tick(wanted, &steps).is_ok(),
                    is_right,
                    "{steps:?} of {wanted}"
                );
            }
        }
    }

    #[test]
    fn a_tick_that_begins_too_soon_is_a_fault_and_one_in_time_is_not() {
        let mut checkpoints = CheckpointChecker::new(0, Duration::from_nanos(100));
        // (begin, found if it is early); the clock goes back once.
        for (begin_ns, early) in [
            (50, None),
            (150, None),
            (249, Some(99)),
            (349, None),
            (300, Some(0)),
            (400, None),
            (u64::MAX, None),
        ] {
            checkpoints.begin_tick(begin_ns);
            let wanted = Duration::from_nanos(100);
            let fault = early.map(|ns| CheckpointFault::Early {
                found: Duration::from_nanos(ns),
                wanted,
            });
            assert_eq!(checkpoints.end_tick().err(), fault, "at {begin_ns}");
        }
        let fault = CheckpointFault::Early {
            found: Duration::from_micros(20),
            wanted: Duration::from_millis(1),
        };
        let text = "the tick began 20µs after the previous one, wanted at least 1ms";
        assert_eq!(fault.to_string(), text);
    }

    #[test]
    fn a_fault_is_returned_once_and_the_first_of_a_tick_counts() {
        let mut checkpoints = CheckpointChecker::new(2, Duration::from_secs(1));
        checkpoints.begin_tick(0);
        (1..=2).for_each(|checkpoint| checkpoints.pass_checkpoint(checkpoint));
        assert_eq!(checkpoints.end_tick(), Ok(()));
        checkpoints.begin_tick(1);
        checkpoints.pass_checkpoint(2);
        assert!(matches!(
            checkpoints.end_tick(),
            Err(CheckpointFault::Early { .. })
        ));
        checkpoints.begin_tick(2_000_000_000);
        (1..=2).for_each(|checkpoint| checkpoints.pass_checkpoint(checkpoint));
        assert_eq!(checkpoints.end_tick(), Ok(()));
    }

    #[test]
    fn another_thread_sees_the_last_checkpoint() {
        let mut checkpoints = CheckpointChecker::new(2, Duration::ZERO);
        let place = Arc::clone(checkpoints.last_checkpoint());
        let mut seen = vec![place.to_string()];
        checkpoints.begin_tick(0);
        for checkpoint in 1..=2 {
            checkpoints.pass_checkpoint(checkpoint);
            seen.push(place.to_string());
        }
        checkpoints.end_tick().unwrap();
        checkpoints.begin_tick(1);
        seen.push(place.to_string());
        let wanted = [
            "before checkpoint 1",
            "after checkpoint 1",
            "after checkpoint 2",
        ];
        let wanted = [wanted[0], wanted[1], wanted[2], wanted[0]];
        assert_eq!(seen, wanted.map(|place| format!("stuck {place}")));
    }
}
