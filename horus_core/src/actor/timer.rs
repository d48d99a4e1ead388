//! Timers: messages that an actor sends to itself later.

use std::any::Any;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use horus_shm::internals::sync::Word;

/// A handle of a timer. Dropping the handle does not stop the timer, which continues until its
/// actor ends or restarts, or a swap that replaces the actor is final. The timer is then cancelled.
#[derive(Clone)]
pub struct Timer(Arc<TimerState>);

/// The value of [`TimerState::cancelled`] for a timer whose message nobody wants.
const TIMER_CANCELLED: u64 = 1;

/// The value of [`TimerState::cancelled`] for a timer that was cancelled because its actor ends. A
/// message of it that waits counts as undelivered.
const TIMER_ENDED_WITH_ACTOR: u64 = 2;

/// The state that a timer shares with its handles and with the messages that it has sent.
#[derive(Default)]
struct TimerState {
    /// [`TIMER_CANCELLED`] if the timer was cancelled, [`TIMER_ENDED_WITH_ACTOR`] if it has ended
    /// with its actor, else 0.
    cancelled: AtomicU64,
    /// 1 while a message of the timer waits in the actor's mailbox, otherwise 0.
    waiting: AtomicU64,
    /// The function that sends the messages of the timer, which also keeps the actor alive. `None`
    /// while a worker calls it, and once the timer was cancelled or has sent its last message.
    send: Mutex<Option<SendTimerMessage>>,
}

impl TimerState {
    fn lock(&self) -> MutexGuard<'_, Option<SendTimerMessage>> {
        self.send.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the function that sends the messages. The caller drops or calls it without the lock,
    /// because both run user code.
    fn take_send_function(&self) -> Option<SendTimerMessage> {
        self.lock().take()
    }

    /// Puts the function back after a call, unless the timer was cancelled meanwhile.
    fn put_send_function_back(&self, send: SendTimerMessage) {
        let mut place = self.lock();
        // Relaxed: stored under the lock.
        if self.cancelled.get() == 0 {
            *place = Some(send);
        }
    }
}

impl Timer {
    /// Cancels the timer: it sends no more messages, and a message of it that already waits is not
    /// handled. The timer no longer keeps the actor alive. What it would have sent is dropped on
    /// the calling thread, or, if its function is just being called, after that call.
    pub fn cancel(&self) {
        self.cancel_for(TIMER_CANCELLED);
    }

    /// Cancels the timer because its actor ends.
    pub(super) fn cancel_at_actor_end(&self) {
        self.cancel_for(TIMER_ENDED_WITH_ACTOR);
    }

    fn cancel_for(&self, reason: u64) {
        let mut place = self.0.lock();
        // Relaxed: for the actor itself it takes effect at once, for other threads soon.
        // WHY under the lock: who sees it and takes the lock finds that the function is gone.
        if self.0.cancelled.get() == 0 {
            self.0.cancelled.set(reason);
        }
        let send = place.take();
        drop(place);
        drop(send);
    }

    /// Returns true if the timer was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Relaxed: as above.
        self.0.cancelled.get() != 0
    }

    /// Returns true if the timer was cancelled, or if this is its only handle and it sends no more
    /// messages.
    pub(super) fn has_no_more_messages(&self) -> bool {
        self.is_cancelled() || Arc::strong_count(&self.0) == 1
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// A function that sends the next message of a timer to its actor. It returns false if there is no
/// further message, or if the actor has ended.
type SendTimerMessage = Box<dyn FnMut(Timer) -> bool + std::marker::Send>;

/// A timer that is stored in its group until its next message is due.
pub(crate) struct PendingTimer {
    timer: Timer,
    /// The id of the actor that started the timer; 0 if it is not known.
    actor_id: usize,
    /// The time between two messages of the timer, in nanoseconds; 0 if the timer sends only one
    /// message.
    period_ns: u64,
    /// The time from the start of the timer to its first message, in nanoseconds.
    delay_ns: u64,
}

/// A message that a timer has sent, while it waits in the mailbox of the timer's actor.
pub(crate) struct TimerMessage {
    timer: Timer,
    /// The generation of the actor when it started the timer; it changes at each restart and swap.
    /// A message of an earlier generation is discarded.
    generation: u32,
    /// The message, or the text of the panic of the timer's function; `None` once it was taken out.
    message: Option<Result<Box<dyn Any + std::marker::Send>, String>>,
}

impl PendingTimer {
    pub(crate) fn new((delay_ns, period_ns): (u64, u64), send: SendTimerMessage) -> Self {
        Self {
            delay_ns,
            actor_id: 0,
            timer: Timer(Arc::new(TimerState {
                send: Mutex::new(Some(send)),
                ..TimerState::default()
            })),
            period_ns,
        }
    }

    /// Records which actor has started the timer. `actor_id` is its id.
    pub(crate) const fn with_actor_id(mut self, actor_id: usize) -> Self {
        self.actor_id = actor_id;
        self
    }

    /// Returns the id of the actor that started the timer; 0 if it is not known.
    pub(crate) const fn actor_id(&self) -> usize {
        self.actor_id
    }

    /// Returns the time from the start of the timer to its first message, in nanoseconds.
    pub(crate) const fn delay_ns(&self) -> u64 {
        self.delay_ns
    }

    /// Returns true if the timer was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.timer.is_cancelled()
    }

    /// Returns a new handle of the timer, with which the timer can be cancelled.
    pub(crate) fn timer(&self) -> Timer {
        self.timer.clone()
    }

    /// Sends the message that was due at `due_ns`, unless the previous one still waits in the
    /// mailbox. Returns the time at which the next message is due; `None` if there is none.
    pub(crate) fn send_and_find_next_due_ns(&mut self, due_ns: u64, now_ns: u64) -> Option<u64> {
        if self.timer.is_cancelled() {
            return None;
        }
        // Relaxed: one thread at a time has the pending timer, and the mailbox orders the messages.
        if self.timer.0.waiting.get() == 0 {
            // `None` if the timer was cancelled just now.
            let mut send = self.timer.0.take_send_function()?;
            self.timer.0.waiting.set(1);
            if !send(self.timer.clone()) {
                return None;
            }
            self.timer.0.put_send_function_back(send);
        }
        let late_ns = now_ns.saturating_sub(due_ns);
        let periods = late_ns.checked_div(self.period_ns)?.saturating_add(1);
        Some(due_ns.saturating_add(periods.saturating_mul(self.period_ns)))
    }
}

impl Drop for PendingTimer {
    /// Ends the timer. WHY here: handles of the timer may outlive it, and must not keep the actor.
    fn drop(&mut self) {
        drop(self.timer.0.take_send_function());
    }
}

impl fmt::Debug for PendingTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingTimer")
            .field("timer", &self.timer)
            .field("period_ns", &self.period_ns)
            .finish_non_exhaustive()
    }
}

impl TimerMessage {
    pub(crate) fn new<M: std::marker::Send + 'static>(
        timer: Timer,
        generation: u32,
        message: M,
    ) -> Self {
        Self {
            timer,
            generation,
            message: Some(Ok(Box::new(message))),
        }
    }

    /// Reports to the actor that the function of its timer has panicked. `panic` is the text of the
    /// panic.
    pub(crate) const fn from_panic(timer: Timer, generation: u32, panic: String) -> Self {
        Self {
            timer,
            generation,
            message: Some(Err(panic)),
        }
    }

    /// Returns true if this is a message that the actor would have handled if it had not ended.
    pub(super) fn is_undelivered(&self) -> bool {
        // Relaxed: as in `Timer::cancel`.
        matches!(self.message, Some(Ok(_))) && self.timer.0.cancelled.get() != TIMER_CANCELLED
    }

    /// Returns the generation of the actor that started the timer.
    pub(super) const fn generation(&self) -> u32 {
        self.generation
    }

    /// Takes out the message, or the text of the panic of the timer's function as an error; `None`
    /// if the timer is cancelled, whose message stays in this value. `generation` is the present
    /// generation of the actor. If it has restarted or was replaced since it started the timer, the
    /// timer is cancelled.
    pub(crate) fn take_message<M: 'static>(
        &mut self,
        generation: u32,
    ) -> Option<Result<M, String>> {
        if self.generation != generation {
            self.timer.cancel();
        }
        if self.timer.is_cancelled() {
            return None;
        }
        match self.message.take()? {
            Ok(message) => message.downcast::<M>().ok().map(|message| Ok(*message)),
            Err(panic) => Some(Err(panic)),
        }
    }
}

impl Drop for TimerMessage {
    /// Lets the timer send its next message. WHY also if the actor has ended: the timer only
    /// notices that when it sends a message.
    fn drop(&mut self) {
        // Relaxed: as in `ring`.
        self.timer.0.waiting.set(0);
    }
}

impl fmt::Debug for TimerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerMessage")
            .field("timer", &self.timer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_timer_goes_on_at_its_next_due_time() {
        let mut pending = PendingTimer::new((10, 10), Box::new(|_| true));
        assert_eq!(pending.send_and_find_next_due_ns(100, 100), Some(110));
        assert_eq!(pending.send_and_find_next_due_ns(110, 139), Some(140));
        assert_eq!(pending.send_and_find_next_due_ns(140, 150), Some(160));
        pending.timer().cancel();
        assert_eq!(pending.send_and_find_next_due_ns(160, 160), None);
    }

    /// A timer that is cancelled while its function runs drops the function after the call.
    #[test]
    fn a_timer_may_be_cancelled_by_its_own_function() {
        let held = Arc::new(());
        let kept = Arc::clone(&held);
        let send = move |timer: Timer| {
            timer.cancel();
            Arc::strong_count(&kept) > 0
        };
        let mut pending = PendingTimer::new((10, 10), Box::new(send));
        let handle = pending.timer();
        pending.send_and_find_next_due_ns(0, 0);
        assert!(handle.is_cancelled());
        assert_eq!(Arc::strong_count(&held), 1, "the function was dropped");
        drop(TimerMessage::new(handle, 0, ()));
        assert_eq!(pending.send_and_find_next_due_ns(10, 10), None);
    }

    #[test]
    fn a_timer_has_one_message_at_a_time() {
        let (count, sent) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let counter = Arc::clone(&sent);
        let send = move |_| {
            counter.fetch_add_one();
            true
        };
        let mut pending = PendingTimer::new((10, 10), Box::new(send));
        assert_eq!(
            (
                pending.send_and_find_next_due_ns(0, 0),
                pending.send_and_find_next_due_ns(10, 10)
            ),
            (Some(10), Some(20))
        );
        assert_eq!(sent.get(), 1);
        let mut due = TimerMessage::new(pending.timer(), 3, count);
        assert!(due.take_message::<Arc<AtomicU64>>(3).is_some());
        drop(due);
        assert_eq!(
            (pending.send_and_find_next_due_ns(20, 20), sent.get()),
            (Some(30), 2)
        );
        let mut due = TimerMessage::new(pending.timer(), 3, 7_u64);
        assert_eq!(
            due.take_message::<u64>(4),
            None,
            "of an earlier version of the actor"
        );
        assert!(pending.timer().is_cancelled());
        let mut other = PendingTimer::new((10, 10), Box::new(|_| true));
        assert_eq!(other.send_and_find_next_due_ns(0, 0), Some(10));
        drop(TimerMessage::new(other.timer(), 3, 7_u64));
        assert_eq!(other.timer.0.waiting.get(), 0, "the mailbox was dropped");
        let mut once = PendingTimer::new((0, 0), Box::new(|_| true));
        assert_eq!(once.send_and_find_next_due_ns(0, 0), None);
    }
}
