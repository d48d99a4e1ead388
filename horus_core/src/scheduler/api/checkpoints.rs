//! The way that a tick has to take, and how soon the next one may begin: a watchdog's other half.
//!
//! WHY: a limit of time alone finds few faults. IEC 61508-2, table A.10, rates a watchdog with a
//! limit only as low, one with a window of time (too early counts too) or with a logical sequence
//! as medium, and both together as high.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use horus_shm::internals::sync::Word;

use crate::scheduler::api::policy::nanos;

/// What was wrong with the way a tick took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CheckpointFault {
    /// One was left out.
    #[error("checkpoint {found} after {last}: {} was skipped", last + 1)]
    Skipped {
        /// The one before.
        last: u64,
        /// The one that was passed too soon.
        found: u64,
    },
    /// One was passed again.
    #[error("checkpoint {found} after {last}: it was passed before")]
    Repeated {
        /// The one before.
        last: u64,
        /// The one that was passed again.
        found: u64,
    },
    /// One that was not declared.
    #[error(
        "checkpoint {found} is none of this node's {wanted}, which count from 1: \
         declare more with checkpoints({found})"
    )]
    Unknown {
        /// The one that was passed.
        found: u64,
        /// How many there are.
        wanted: u64,
    },
    /// The tick was over before the last one.
    #[error("the tick ended after checkpoint {last} of {wanted}: {} was not reached", last + 1)]
    Missing {
        /// The last that was passed; 0 if none was.
        last: u64,
        /// How many there are.
        wanted: u64,
    },
    /// The tick began too soon after the one before.
    #[error("the tick began {found:?} after the one before, and not before {wanted:?} was wanted")]
    Early {
        /// From begin to begin.
        found: Duration,
        /// What it had to be at least.
        wanted: Duration,
    },
}

/// The last checkpoint that a node has passed, for others to read while it is in a tick.
#[derive(Debug, Default)]
pub(crate) struct CheckpointPosition(AtomicU64);

impl CheckpointPosition {
    /// The last checkpoint of the present tick, or of the one before between two; 0 before the
    /// first. A load.
    #[must_use]
    pub(crate) fn last(&self) -> u64 {
        // Relaxed: a figure, and one that whoever watches asks for again and again.
        self.0.get()
    }
}

/// Where a node that does not return has got to: `stuck after checkpoint 1`.
impl std::fmt::Display for CheckpointPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.last() {
            0 => f.write_str("stuck before checkpoint 1"),
            last => write!(f, "stuck after checkpoint {last}"),
        }
    }
}

/// The checkpoints of one node: in each tick they are passed in order, each once, all of them.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    wanted: u64,
    not_before_ns: u64,
    /// In the present tick.
    last: u64,
    began_ns: Option<u64>,
    /// The first of this tick: what comes after it follows from it.
    fault: Option<CheckpointFault>,
    place: Arc<CheckpointPosition>,
}

impl Checkpoints {
    /// So many a tick, and ticks that begin at least so long after one another.
    #[must_use]
    pub(crate) fn new(wanted: u64, not_before: Duration) -> Self {
        Self {
            wanted,
            not_before_ns: nanos(not_before),
            last: 0,
            began_ns: None,
            fault: None,
            place: Arc::default(),
        }
    }

    /// Where the node is, for another thread.
    #[must_use]
    pub(crate) const fn place(&self) -> &Arc<CheckpointPosition> {
        &self.place
    }

    /// A tick begins, at `begin_ns` of a clock that should only go forwards: one that goes back
    /// makes a tick early, which is what it is if the time is right.
    #[inline]
    pub(crate) fn begin(&mut self, begin_ns: u64) {
        self.last = 0;
        self.fault = None;
        // Relaxed: see `CheckpointPosition::last`.
        self.place.0.set(0);
        if let Some(before_ns) = self.began_ns.replace(begin_ns) {
            let since_ns = begin_ns.saturating_sub(before_ns);
            if since_ns < self.not_before_ns {
                self.blame(CheckpointFault::Early {
                    found: Duration::from_nanos(since_ns),
                    wanted: Duration::from_nanos(self.not_before_ns),
                });
            }
        }
    }

    /// The node passes a checkpoint, 1 for the first. Costs two comparisons and a relaxed
    /// store.
    #[inline]
    pub(crate) fn pass(&mut self, checkpoint: u64) {
        if checkpoint != self.last.wrapping_add(1) || checkpoint > self.wanted {
            self.stray(checkpoint);
        }
        self.last = checkpoint;
        // Relaxed: see `CheckpointPosition::last`.
        self.place.0.set(checkpoint);
    }

    /// The tick is over.
    ///
    /// # Errors
    ///
    /// The first thing that was wrong with it.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), CheckpointFault> {
        match self.fault.take() {
            Some(fault) => Err(fault),
            None if self.last == self.wanted => Ok(()),
            None => Err(CheckpointFault::Missing { last: self.last, wanted: self.wanted }),
        }
    }

    /// One was passed that was not due.
    #[cold]
    fn stray(&mut self, found: u64) {
        let (last, wanted) = (self.last, self.wanted);
        self.blame(match found {
            _ if found == 0 || found > wanted => CheckpointFault::Unknown { found, wanted },
            _ if found <= last => CheckpointFault::Repeated { last, found },
            _ => CheckpointFault::Skipped { last, found },
        });
    }

    #[cold]
    fn blame(&mut self, fault: CheckpointFault) {
        self.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a tick comes to that passes these of `wanted` checkpoints.
    fn tick(wanted: u64, passed: &[u64]) -> Result<(), String> {
        let mut checkpoints = Checkpoints::new(wanted, Duration::ZERO);
        checkpoints.begin(0);
        passed.iter().for_each(|checkpoint| checkpoints.pass(*checkpoint));
        checkpoints.end().map_err(|fault| fault.to_string())
    }

    #[test]
    fn only_all_of_them_in_order_are_right() {
        for (wanted, passed, fault) in [
            (0, &[][..], None),
            (1, &[1], None),
            (3, &[1, 2, 3], None),
            (3, &[1, 3], Some("checkpoint 3 after 1: 2 was skipped")),
            (3, &[3, 2, 1], Some("checkpoint 3 after 0: 1 was skipped")),
            (3, &[1, 2, 2, 3], Some("checkpoint 2 after 2: it was passed before")),
            (3, &[1, 2, 3, 1], Some("checkpoint 1 after 3: it was passed before")),
            (3, &[], Some("the tick ended after checkpoint 0 of 3: 1 was not reached")),
            (3, &[1, 2], Some("the tick ended after checkpoint 2 of 3: 3 was not reached")),
            (3, &[1, 2, 3, 4], Some("checkpoint 4 is none of this node's 3, which")),
            (3, &[0], Some("checkpoint 0 is none of this node's 3, which count from 1")),
            (0, &[1], Some("declare more with checkpoints(1)")),
            (1, &[u64::MAX, 0], Some("none of this node's 1")),
        ] {
            match (tick(wanted, passed), fault) {
                (Ok(()), None) => {}
                (Err(found), Some(fault)) if found.contains(fault) => {}
                (found, _) => panic!("{passed:?} of {wanted}: {found:?}, not {fault:?}"),
            }
        }
    }

    /// Of all ways of up to four steps, exactly the declared one is right.
    #[test]
    fn no_other_way_is_right() {
        for wanted in 0..4_u64 {
            for way in 0..5_u64.pow(4) {
                let steps: Vec<_> = (0..4).map(|step| way / 5_u64.pow(step) % 5).collect();
                let steps: Vec<_> = steps.into_iter().take_while(|step| *step != 4).collect();
                let is_right = steps.iter().copied().eq(1..=wanted);
                assert_eq!(tick(wanted, &steps).is_ok(), is_right, "{steps:?} of {wanted}");
            }
        }
    }

    #[test]
    fn a_tick_that_begins_too_soon_is_a_fault_and_one_in_time_is_none() {
        let mut checkpoints = Checkpoints::new(0, Duration::from_nanos(100));
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
            checkpoints.begin(begin_ns);
            let wanted = Duration::from_nanos(100);
            let fault =
                early.map(|ns| CheckpointFault::Early { found: Duration::from_nanos(ns), wanted });
            assert_eq!(checkpoints.end().err(), fault, "at {begin_ns}");
        }
        let fault = CheckpointFault::Early {
            found: Duration::from_micros(20),
            wanted: Duration::from_millis(1),
        };
        let text = "the tick began 20µs after the one before, and not before 1ms was wanted";
        assert_eq!(fault.to_string(), text);
    }

    #[test]
    fn a_fault_is_told_once_and_the_first_of_a_tick_counts() {
        let mut checkpoints = Checkpoints::new(2, Duration::from_secs(1));
        checkpoints.begin(0);
        (1..=2).for_each(|checkpoint| checkpoints.pass(checkpoint));
        assert_eq!(checkpoints.end(), Ok(()));
        checkpoints.begin(1);
        checkpoints.pass(2);
        assert!(matches!(checkpoints.end(), Err(CheckpointFault::Early { .. })));
        checkpoints.begin(2_000_000_000);
        (1..=2).for_each(|checkpoint| checkpoints.pass(checkpoint));
        assert_eq!(checkpoints.end(), Ok(()));
    }

    #[test]
    fn others_see_where_a_node_is() {
        let mut checkpoints = Checkpoints::new(2, Duration::ZERO);
        let place = Arc::clone(checkpoints.place());
        let mut seen = vec![place.to_string()];
        checkpoints.begin(0);
        for checkpoint in 1..=2 {
            checkpoints.pass(checkpoint);
            seen.push(place.to_string());
        }
        checkpoints.end().unwrap();
        checkpoints.begin(1);
        seen.push(place.to_string());
        let wanted = ["before checkpoint 1", "after checkpoint 1", "after checkpoint 2"];
        let wanted = [wanted[0], wanted[1], wanted[2], wanted[0]];
        assert_eq!(seen, wanted.map(|place| format!("stuck {place}")));
    }
}
