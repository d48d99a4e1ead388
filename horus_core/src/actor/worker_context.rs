//! The state of a worker that handlers use: the clock, the limit of an activation, and what a
//! handler reports to its worker.

use std::any::Any;

use horus_shm::clock::Clock;
use horus_shm::internals::heap::Flow;
use horus_shm::internals::wait::Backoff;

use crate::scheduler::api::node::NodeError;

/// The maximum duration of an activation (one run of an actor), in nanoseconds. After this time,
/// the worker runs other actors.
const ACTIVATION_NS_MAX: u64 = 100_000;

/// If handlers take longer than this on average, in nanoseconds, the worker reads the clock after
/// every message.
const SLOW_HANDLER_NS: u64 = 5_000;

/// The maximum number of messages that a worker handles between two readings of the clock.
const MESSAGES_PER_CLOCK_READ_MAX: u32 = 16;

/// The time for which a worker waits for another message before it puts an actor without mail to
/// sleep, if it has nothing else to do.
///
/// WHY: a message that arrives in this time needs no system call to wake the actor, and messages
/// that follow each other closely are handled as one batch.
const MAIL_WAIT_NS: u64 = 2_000;

/// The maximum number of times in a row that a worker skips the short wait for another message. It
/// skips the wait because earlier waits were in vain.
const MAIL_WAIT_SKIPS_MAX: u32 = 1023;

/// The state of the short wait for another message, which a worker makes before it puts an actor
/// without mail to sleep.
#[derive(Debug, Default)]
struct MailWait {
    /// The time at which the present wait ends, in nanoseconds; 0 if the worker does not wait.
    end_ns: u64,
    /// The value of `WorkerContext::handled` when the present wait began. If it has changed, a
    /// message has arrived during the wait.
    handled: u64,
    /// Decides when the worker waits: after each wait in vain, it skips the wait more often.
    occasions: Backoff<MAIL_WAIT_SKIPS_MAX>,
}

/// The state of a worker that handlers of its actors use: the clock, the limit of an activation,
/// and results that they report.
#[derive(Debug)]
pub(crate) struct WorkerContext {
    pub(crate) clock: Clock,
    begin_ns: u64,
    last_ns: u64,
    /// Number of messages that this worker has handled so far.
    ///
    /// WHY a single counter: if two counters changed together, the compiler would read both by one
    /// load, which has to wait for the last store to either of them.
    handled: u64,
    /// The value of `handled` at the beginning of the present activation (run of an actor).
    handled_before: u64,
    /// The value of `handled` (the number of handled messages) at which the worker reads the clock
    /// next.
    clock_at: u64,
    messages_per_clock_read: u32,
    wait: MailWait,
    /// True if an actor that is being spawned has given out its own address in `init`.
    pub(crate) has_given_address: bool,
    /// True if an actor could not be spawned because its group has already ended.
    pub(crate) is_refused: bool,
    /// The error that the `init` of an actor returned when the actor was spawned; `None` if there
    /// was no error.
    pub(crate) init_error: Option<NodeError>,
    /// The time at which an actor that returned [`Flow::Suspend`] is resumed, in nanoseconds.
    pub(crate) resume_ns: u64,
    /// The error of an actor whose failure stops the scheduler; `None` if there is no such failure.
    pub(crate) fatal_error: Option<String>,
    /// True if the actor has not reached its safe state yet in an emergency stop. The worker then
    /// runs it again.
    pub(crate) awaits_safe_state: bool,
    /// The object into which the messages are put that are taken out of an inbox, while this worker
    /// runs the inbox for that; `None` while other actors run.
    pub(crate) taken: Option<Box<dyn Any + Send>>,
}

impl WorkerContext {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            begin_ns: 0,
            last_ns: 0,
            handled: 0,
            handled_before: 0,
            clock_at: 1,
            messages_per_clock_read: 1,
            wait: MailWait::default(),
            has_given_address: false,
            is_refused: false,
            init_error: None,
            resume_ns: 0,
            fatal_error: None,
            awaits_safe_state: false,
            taken: None,
        }
    }

    /// Creates the context for a thread that puts an actor without mail to sleep at once, without a
    /// short wait for another message.
    pub(crate) fn without_mail_wait(clock: &Clock) -> Self {
        let mut context = Self::new(clock);
        context.wait.occasions = Backoff::never_due();
        context
    }

    /// Begins an activation at `now_ns`. In an activation, a worker runs one actor until its mail
    /// is handled or [`ACTIVATION_NS_MAX`] nanoseconds have passed.
    #[inline]
    pub(crate) const fn begin_activation(&mut self, now_ns: u64) {
        self.begin_ns = now_ns;
        self.handled_before = self.handled;
        self.wait.end_ns = 0;
        if now_ns > self.last_ns {
            self.last_ns = now_ns;
        }
    }

    /// Makes the worker read the clock after the next message, not only after several messages.
    #[inline]
    pub(crate) const fn read_clock_soon(&mut self) {
        self.clock_at = self.handled + 1;
        self.messages_per_clock_read = 1;
    }

    /// Counts a handled message. Returns whether the activation continues or has to yield to other
    /// actors.
    ///
    /// WHY the clock is not read each time: reading it takes a sixth of the time of a message.
    #[inline]
    pub(crate) fn count_message_and_check_limit(&mut self) -> Flow {
        self.handled += 1;
        if self.handled < self.clock_at {
            return Flow::Continue;
        }
        self.read_clock_and_check_limit()
    }

    fn read_clock_and_check_limit(&mut self) -> Flow {
        // WHY: a thread that always finds messages does nothing else that synchronises the clock.
        let now_ns = self.clock.resync_if_due_and_read_ns();
        let lasted_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = now_ns;
        // WHY doubled: the first messages say whether the handlers are slow.
        self.messages_per_clock_read =
            if lasted_ns > u64::from(self.messages_per_clock_read) * SLOW_HANDLER_NS {
                1
            } else {
                (self.messages_per_clock_read * 2).min(MESSAGES_PER_CLOCK_READ_MAX)
            };
        self.clock_at = self.handled + u64::from(self.messages_per_clock_read);
        if now_ns.saturating_sub(self.begin_ns) >= ACTIVATION_NS_MAX {
            Flow::Yield
        } else {
            Flow::Continue
        }
    }

    /// Returns true if the worker has to check an actor without mail once more before it puts the
    /// actor to sleep. `has_work` returns true if the worker has another actor to run.
    #[inline]
    pub(crate) fn should_check_mail_again(&mut self, has_work: impl FnOnce() -> bool) -> bool {
        self.wait.occasions.is_due() && self.keeps_waiting_for_mail(has_work)
    }

    #[cold]
    fn keeps_waiting_for_mail(&mut self, has_work: impl FnOnce() -> bool) -> bool {
        let now_ns = self.clock.now_ns();
        let wait = &mut self.wait;
        let has_begun = wait.end_ns != 0;
        if has_begun && wait.handled != self.handled {
            wait.occasions.record_success();
        }
        let is_in_vain = has_begun && wait.handled == self.handled && now_ns >= wait.end_ns;
        if is_in_vain || has_work() {
            wait.occasions.record_failure();
            wait.end_ns = 0;
            return false;
        }
        if !has_begun || wait.handled != self.handled {
            wait.handled = self.handled;
            wait.end_ns = now_ns.saturating_add(MAIL_WAIT_NS);
        }
        true
    }

    /// Ends an activation. Returns the time at which the clock was last read, which was at most
    /// [`MESSAGES_PER_CLOCK_READ_MAX`] messages ago, and the number of messages that were handled
    /// in the activation.
    #[inline]
    pub(crate) fn end_activation_ns_and_messages(&mut self) -> (u64, u64) {
        let handled = self.handled - self.handled_before;
        // WHY: anything else than a message may take long.
        if handled == 0 {
            self.last_ns = self.clock.now_ns();
        }
        (self.last_ns, handled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of messages in one activation if each handler takes `handler_ns`.
    fn messages(handler_ns: u64) -> u32 {
        let mut context = WorkerContext::new(&Clock::simulated(0));
        context.begin_activation(0);
        for message in 1.. {
            context.clock.set(u64::from(message) * handler_ns);
            if context.count_message_and_check_limit() == Flow::Yield {
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
            let earliest = (ACTIVATION_NS_MAX / handler_ns) as u32;
            let range = earliest..earliest + MESSAGES_PER_CLOCK_READ_MAX;
            assert!(range.contains(&messages(handler_ns)), "{handler_ns} ns");
        }
    }

    #[test]
    fn a_worker_waits_for_mail_ever_more_seldom_unless_that_pays_off() {
        let mut context = WorkerContext::new(&Clock::simulated(1));
        let mut now_ns = 1;
        // Returns true if the worker waits for mail; a message comes meanwhile, or none.
        let mut activation = |context: &mut WorkerContext, comes: bool| {
            context.begin_activation(now_ns);
            context.count_message_and_check_limit();
            let waits = context.should_check_mail_again(|| false);
            if waits && comes {
                context.count_message_and_check_limit();
                assert!(
                    context.should_check_mail_again(|| false),
                    "the next one is waited for, too"
                );
            }
            if waits {
                assert!(
                    context.should_check_mail_again(|| false),
                    "the time is not over"
                );
                now_ns += MAIL_WAIT_NS;
                context.clock.set(now_ns);
                assert!(
                    !context.should_check_mail_again(|| false),
                    "the time is over"
                );
            }
            waits
        };
        let mut waited = Vec::new();
        for index in 0..12 {
            if activation(&mut context, false) {
                waited.push(index);
            }
        }
        assert_eq!(waited, [0, 2, 6]);
        while !activation(&mut context, true) {}
        assert!(!activation(&mut context, true), "the last one was in vain");
        assert!(activation(&mut context, false));
        context.wait = MailWait::default();
        context.begin_activation(now_ns);
        assert!(
            !context.should_check_mail_again(|| true),
            "there is another actor to run"
        );
    }

    #[test]
    fn the_clock_is_read_once_for_some_fast_messages() {
        let mut context = WorkerContext::new(&Clock::simulated(0));
        context.begin_activation(0);
        context.clock.set(70);
        assert_eq!(context.end_activation_ns_and_messages(), (70, 0));
        // Each message is an activation of its own.
        let mut readings = 0;
        for message in 1..=100 {
            let before = context.last_ns;
            context.begin_activation(before);
            context.clock.set(70 + message * 100);
            assert_eq!(context.count_message_and_check_limit(), Flow::Continue);
            assert_eq!(context.end_activation_ns_and_messages().1, 1);
            readings += u64::from(context.last_ns != before);
        }
        assert_eq!(
            readings,
            4 + u64::from((100 - 15) / MESSAGES_PER_CLOCK_READ_MAX)
        );
        // A slow one is noticed by the next reading, and the clock is read each time from then on.
        for message in 1..=u64::from(2 * MESSAGES_PER_CLOCK_READ_MAX) {
            context.clock.set(1_000_000 * message);
            context.count_message_and_check_limit();
        }
        assert_eq!(
            context.last_ns,
            1_000_000 * u64::from(2 * MESSAGES_PER_CLOCK_READ_MAX)
        );
        context.begin_activation(u64::MAX);
        context.read_clock_soon();
        assert_eq!(context.clock_at, context.handled + 1);
    }
}
