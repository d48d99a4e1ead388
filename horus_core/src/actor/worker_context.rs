//! The part of a worker that handlers use: the clock, the length of an activation, and what a
//! handler leaves for the worker.

use std::any::Any;

use horus_shm::clock::Clock;
use horus_shm::internals::heap::Flow;

use crate::scheduler::api::node::NodeError;

/// Time after which an activation ends, so that other actors have their turns.
const ACTIVATION_NS: u64 = 100_000;

/// Mean duration of a handler from which the clock is read after each message.
const SLOW_HANDLER_NS: u64 = 5_000;

/// Largest number of messages between two readings of the clock.
const STRIDE_MAX: u32 = 16;

/// The part of a worker that handlers use.
#[derive(Debug)]
pub(crate) struct WorkerContext {
    pub(crate) clock: Clock,
    begin_ns: u64,
    last_ns: u64,
    /// Number of messages in this activation.
    handled: u32,
    /// Number of messages until the clock is read.
    until_clock: u32,
    stride: u32,
    /// True if the address of an actor was given out in its `init`.
    pub(crate) has_given_address: bool,
    /// True if the group took no more actors.
    pub(crate) is_refused: bool,
    /// The error of an actor's first `init`.
    pub(crate) init_error: Option<NodeError>,
    /// The time until which the actor that returned [`Flow::Suspend`] pauses.
    pub(crate) resume_ns: u64,
    /// The error that stops the scheduler.
    pub(crate) fatal_error: Option<String>,
    /// The place where an inbox puts its messages, which no worker runs.
    pub(crate) taken: Option<Box<dyn Any + Send>>,
}

impl WorkerContext {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            begin_ns: 0,
            last_ns: 0,
            handled: 0,
            until_clock: 1,
            stride: 1,
            has_given_address: false,
            is_refused: false,
            init_error: None,
            resume_ns: 0,
            fatal_error: None,
            taken: None,
        }
    }

    /// Begins an activation.
    #[inline]
    pub(crate) const fn begin(&mut self, now_ns: u64) {
        self.begin_ns = now_ns;
        self.handled = 0;
        self.until_clock = 1;
        self.stride = 1;
    }

    /// Counts a message that was handled; says if the activation goes on.
    #[inline]
    pub(crate) fn count_message(&mut self) -> Flow {
        self.handled += 1;
        self.until_clock -= 1;
        if self.until_clock > 0 {
            return Flow::Continue;
        }
        self.last_ns = self.clock.now_ns();
        let lasted_ns = self.last_ns.saturating_sub(self.begin_ns);
        // WHY doubled: the first messages say whether the handler is slow.
        self.stride = if lasted_ns > u64::from(self.handled) * SLOW_HANDLER_NS {
            1
        } else {
            (self.stride * 2).min(STRIDE_MAX)
        };
        self.until_clock = self.stride;
        if lasted_ns >= ACTIVATION_NS {
            Flow::Yield
        } else {
            Flow::Continue
        }
    }

    /// Ends an activation. Returns the present time, and the number of messages that were handled.
    #[inline]
    pub(crate) fn end(&mut self) -> (u64, u32) {
        // WHY not always: the clock was read after the last message, if there were few.
        if self.handled == 0 || self.until_clock != self.stride {
            self.last_ns = self.clock.now_ns();
        }
        (self.last_ns, self.handled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of messages until an activation ends whose handlers take this long.
    fn messages(handler_ns: u64) -> u32 {
        let mut context = WorkerContext::new(&Clock::simulated(0));
        context.begin(0);
        for message in 1.. {
            context.clock.set(u64::from(message) * handler_ns);
            if context.count_message() == Flow::Yield {
                return message;
            }
        }
        unreachable!("an activation ends")
    }

    #[test]
    fn an_activation_ends_after_its_time() {
        // Slow handlers: the first message that ends after 100 µs.
        for (handler_ns, wanted) in [(1_000_000, 1), (60_000, 2), (10_000, 10), (6_000, 17)] {
            assert_eq!(messages(handler_ns), wanted, "{handler_ns} ns");
        }
        // Fast handlers: up to 16 messages later.
        for handler_ns in [100, 1_000, 4_000] {
            let earliest = (ACTIVATION_NS / handler_ns) as u32;
            let range = earliest..earliest + STRIDE_MAX;
            assert!(range.contains(&messages(handler_ns)), "{handler_ns} ns");
        }
    }

    #[test]
    fn an_activation_ends_at_the_present_time() {
        let mut context = WorkerContext::new(&Clock::simulated(0));
        context.begin(0);
        context.clock.set(70);
        assert_eq!(context.end(), (70, 0));
        context.begin(70);
        for (now_ns, handled) in [(80, 1), (90, 2), (95, 3)] {
            context.clock.set(now_ns);
            assert_eq!(context.count_message(), Flow::Continue);
            assert_eq!(context.end(), (now_ns, handled));
        }
    }
}
