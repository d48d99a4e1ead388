//! The timers that an actor has started, so that they end with the version of the actor that has
//! started them.

use crate::actor::timer::Timer;

/// The length of a list at which timers that are over are removed for the first time.
const TIMERS_BEFORE_FIRST_REMOVAL: usize = 4;

/// The timers of one actor that may still send a message, each with the generation of the actor
/// that has started it.
#[derive(Debug)]
pub(super) struct StartedTimers {
    list: Vec<(u32, Timer)>,
    /// The length of the list at which timers that are over are removed.
    removal_len: usize,
}

impl Default for StartedTimers {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            removal_len: TIMERS_BEFORE_FIRST_REMOVAL,
        }
    }
}

impl StartedTimers {
    /// Adds a timer that the actor has started in this generation. At most half of the entries, or
    /// [`TIMERS_BEFORE_FIRST_REMOVAL`], are timers that were over at the last removal.
    pub(super) fn add(&mut self, generation: u32, timer: Timer) {
        // WHY only then: the time for each added timer stays the same, whatever their number.
        if self.list.len() >= self.removal_len {
            self.list.retain(|(_, timer)| !timer.has_no_more_messages());
            self.removal_len = (2 * self.list.len()).max(TIMERS_BEFORE_FIRST_REMOVAL);
        }
        self.list.push((generation, timer));
    }

    /// Cancels the timers that the actor has started in this generation.
    pub(super) fn cancel_generation(&mut self, generation: u32) {
        let cancelled = self.list.extract_if(.., |(of, _)| *of == generation);
        cancelled.for_each(|(_, timer)| timer.cancel());
    }

    /// Cancels all timers of the actor.
    pub(super) fn cancel_all(&mut self) {
        let all = std::mem::take(self).list;
        all.into_iter().for_each(|(_, timer)| timer.cancel());
    }

    /// Cancels all timers because the actor ends: their messages that wait count as undelivered.
    pub(super) fn cancel_all_at_actor_end(&mut self) {
        let all = std::mem::take(self).list;
        all.into_iter()
            .for_each(|(_, timer)| timer.cancel_at_actor_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::timer::PendingTimer;

    fn pending() -> PendingTimer {
        PendingTimer::new((1, 1), Box::new(|_| true))
    }

    /// Timers that were cancelled or have sent their last message are removed, unless somebody has
    /// a handle of them.
    #[test]
    fn timers_that_are_over_do_not_pile_up() {
        let mut started = StartedTimers::default();
        let lasting: Vec<_> = (0..TIMERS_BEFORE_FIRST_REMOVAL)
            .map(|_| pending())
            .collect();
        lasting
            .iter()
            .for_each(|pending| started.add(0, pending.timer()));
        for round in 0..1000 {
            let pending = pending();
            started.add(0, pending.timer());
            if round % 2 == 0 {
                pending.timer().cancel();
            }
            drop(pending);
            assert!(started.list.len() <= 2 * TIMERS_BEFORE_FIRST_REMOVAL);
        }
        started.cancel_all();
        assert!(lasting.iter().all(PendingTimer::is_cancelled));
    }

    #[test]
    fn only_the_timers_of_one_generation_are_cancelled() {
        let mut started = StartedTimers::default();
        let timers: Vec<_> = (0..9).map(|_| pending()).collect();
        for (number, pending) in (0..).zip(&timers) {
            started.add(number % 3, pending.timer());
        }
        started.cancel_generation(1);
        let is_meant = |number: usize| number % 3 == 1;
        let is_right =
            |(number, pending): (usize, &PendingTimer)| pending.is_cancelled() == is_meant(number);
        assert!(timers.iter().enumerate().all(is_right));
        assert_eq!(started.list.len(), 6);
    }
}
