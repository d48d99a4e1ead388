//! The context of an actor's handler, through which the handler uses the services of its group.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::heap::{Activation, ControlHandle};

use crate::actor::address::Address;
use crate::actor::behaviour::Actor;
use crate::actor::children::Child;
use crate::actor::group::{ActorGroup, ControlMessage};
use crate::actor::timer::{PendingTimer, Timer, TimerMessage};
use crate::actor::watch::{ActorId, ActorWatch, ChildEnd, Down, Watcher, WatchingActor};
use crate::actor::worker_context::WorkerContext;
use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::run::catch_panic::{catch_panic, drop_and_catch_panic};

/// The services of a group of actors for the actor whose handler runs at present: for example its
/// address and its timers.
pub struct Context<'a, A: Actor> {
    services: &'a mut dyn ActivationServices<A::Message>,
    extras: &'a mut dyn ContextExtras<A::Message>,
    /// The generation of the actor: 0 at first, and another number after each restart and swap.
    /// Timers and children belong to the generation that started them.
    generation: u32,
    /// True once the actor has asked to end. WHY in the actor: it remains if a handler panics.
    is_stopping: &'a mut bool,
}

/// The part of an activation (one run of an actor) that the context uses. WHY a trait: the type of
/// an activation has a lifetime parameter, which would otherwise appear in the type that users see.
pub(super) trait ActivationServices<M> {
    fn address(&mut self) -> Address<M>;

    fn worker(&mut self) -> &mut WorkerContext;

    fn group(&self) -> &ActorGroup;

    fn control_handle(&self) -> ControlHandle<ActorGroup>;

    fn group_handle(&self) -> Arc<ActorGroup>;

    /// Makes the mailbox go on counting the present message after its handler returns, because the
    /// actor puts it aside. Returns false if the message was not counted before.
    fn keep_counting_if_counted(&mut self) -> bool;
}

/// The parts of an actor that its context can change: the stash, which holds the messages that were
/// put aside, the children, and the list of the timers.
pub(super) trait ContextExtras<M> {
    fn stash(&mut self, message: M, is_counted: bool);

    fn unstash_all(&mut self);

    /// Adds a child, and returns the number that identifies it among the children.
    fn add_child(&mut self, child: Child) -> u64;

    /// Removes the child with this number.
    fn remove_child(&mut self, number: u64);

    /// Adds a timer that the actor has started in this generation.
    fn add_timer(&mut self, generation: u32, timer: Timer);
}

impl<M: Send + 'static> ActivationServices<M> for Activation<'_, M, ActorGroup> {
    fn address(&mut self) -> Address<M> {
        self.worker().has_given_address = true;
        Address::from_heap(Activation::address(self))
    }

    fn worker(&mut self) -> &mut WorkerContext {
        Activation::worker(self)
    }

    fn group(&self) -> &ActorGroup {
        Activation::group(self)
    }

    fn control_handle(&self) -> ControlHandle<ActorGroup> {
        Activation::control_handle(self)
    }

    fn group_handle(&self) -> Arc<ActorGroup> {
        Activation::group_handle(self)
    }

    fn keep_counting_if_counted(&mut self) -> bool {
        Activation::keep_counting_if_counted(self)
    }
}

/// The handle of an actor that watches another one, and the function that makes the control message
/// with the report.
struct WatchingActorHandle<F> {
    handle: ControlHandle<ActorGroup>,
    report: F,
}

impl<F: Fn(Down) -> ControlMessage + Send> WatchingActor for WatchingActorHandle<F> {
    fn report(&self, down: Down) {
        // WHY ignored: the one that watches has ended itself.
        let _ = self.handle.send((self.report)(down));
    }

    fn has_ended(&self) -> bool {
        self.handle.is_disconnected()
    }
}

/// The sender of the messages of one timer, and the function that makes them.
struct TimerSender<M: Send + 'static, F> {
    /// The function that makes the messages; `None` once it was dropped.
    make: Option<F>,
    handle: ControlHandle<ActorGroup>,
    group: Arc<ActorGroup>,
    /// The generation of the actor that started the timer.
    generation: u32,
    /// An address of the actor, which keeps the actor alive.
    _actor_address: Address<M>,
}

impl<M: Send + 'static, F: FnMut() -> Option<M>> TimerSender<M, F> {
    /// Sends the next message. If the function of the timer panics, reports that to the actor
    /// instead. Returns false if there is no message, or if the actor has ended.
    fn send(&mut self, timer: Timer) -> bool {
        let due = match catch_panic(|| self.make.as_mut().and_then(|make| make())) {
            Ok(Some(message)) => TimerMessage::new(timer, self.generation, message),
            Ok(None) => return false,
            Err(panic) => TimerMessage::from_panic(timer, self.generation, panic),
        };
        self.handle.send(ControlMessage::Timer(due)).is_ok()
    }
}

impl<M: Send + 'static, F> Drop for TimerSender<M, F> {
    /// Drops the function of the timer, and records a panic of that drop. WHY caught: the handler
    /// that cancels a timer does not fail by what the timer has.
    fn drop(&mut self) {
        if let Some(panic) = drop_and_catch_panic(self.make.take()) {
            self.group.record_failure(true, &panic);
        }
    }
}

impl<'a, A: Actor> Context<'a, A> {
    pub(super) fn new(
        services: &'a mut dyn ActivationServices<A::Message>,
        extras: &'a mut dyn ContextExtras<A::Message>,
        generation: u32,
        is_stopping: &'a mut bool,
    ) -> Self {
        Self {
            services,
            extras,
            generation,
            is_stopping,
        }
    }

    /// Returns an address of this actor. The address keeps the actor alive.
    #[must_use]
    pub fn address(&mut self) -> Address<A::Message> {
        self.services.address()
    }

    /// Watches another actor: when that actor ends, [`Actor::on_down`] of this actor is called,
    /// after the messages that wait in the mailbox by then. If the other actor has already ended,
    /// the call follows soon. A restart or swap of this actor keeps the watch. If its `init` then
    /// watches the same actor again, there is still only one watch.
    pub fn watch<M: Send + 'static>(&mut self, other: &Address<M>) {
        let id = ActorId(self.services.control_handle().id());
        let watcher = if self.generation > 0 {
            Watcher::Renewed(id)
        } else {
            Watcher::First(id)
        };
        self.watch_with_report(other, watcher, |down| ControlMessage::Down(Box::new(down)));
    }

    /// Watches another actor. When that actor ends, this one gets the control message that `report`
    /// creates.
    fn watch_with_report<M: Send + 'static>(
        &mut self,
        other: &Address<M>,
        watcher: Watcher,
        report: impl Fn(Down) -> ControlMessage + Send + 'static,
    ) {
        let watch = self.make_watch(other, watcher, report);
        // WHY ignored: the watch comes back, and is dropped, which reports the end.
        let _ = other.control_handle().send(ControlMessage::Watch(watch));
    }

    fn make_watch<M: Send + 'static>(
        &mut self,
        other: &Address<M>,
        watcher: Watcher,
        report: impl Fn(Down) -> ControlMessage + Send + 'static,
    ) -> ActorWatch {
        // WHY: the report of the end may come at once, and is for the workers to handle.
        self.services.worker().has_given_address = true;
        let handle = self.services.control_handle();
        let to = Box::new(WatchingActorHandle { handle, report });
        ActorWatch::new(other.id(), watcher, to)
    }

    /// Returns a handle of the group to which the actor belongs.
    pub(super) fn group_handle(&self) -> Arc<ActorGroup> {
        self.services.group_handle()
    }

    /// Makes an actor a child of this one, so that it ends when this actor ends. Returns the number
    /// of the child, and the watch of this actor, which the child has to get.
    pub(super) fn adopt_child<M: Send + 'static>(
        &mut self,
        child: Address<M>,
    ) -> (u64, ActorWatch) {
        let watched = child.clone();
        let added = Child::new(child.control_handle(), self.generation, child);
        let number = self.extras.add_child(added);
        let watch = self.make_watch(&watched, Watcher::Parent, move |down| {
            ControlMessage::ChildDown(Box::new(ChildEnd { number, down }))
        });
        (number, watch)
    }

    /// Removes a child that could not be initialised.
    pub(super) fn forget_child(&mut self, number: u64) {
        self.extras.remove_child(number);
    }

    /// Puts a message aside until [`Self::unstash_all`] is called. If it is the message that is
    /// being handled, it still takes up room in a bounded mailbox. A message that is still put
    /// aside when the actor ends counts as undelivered.
    pub fn stash(&mut self, message: A::Message) {
        let is_counted = self.services.keep_counting_if_counted();
        self.extras.stash(message, is_counted);
    }

    /// Makes this actor handle all messages that it has put aside. They are handled after the
    /// present handler, in their order, before all other messages. A restart of the actor does the
    /// same.
    pub fn unstash_all(&mut self) {
        self.extras.unstash_all();
    }

    /// Sends `message` to this actor after `delay`, even if the mailbox is then full. The timer
    /// keeps the actor alive until the message was sent. A restart of the actor cancels the timer,
    /// and so does a swap of the actor once the swap is final.
    pub fn tell_after(&mut self, delay: Duration, message: A::Message) -> Timer {
        let mut message = Some(message);
        self.start_timer(saturating_nanos(delay), 0, move || message.take())
    }

    /// Calls `make` every `period`, and sends the returned message to this actor, even if the
    /// mailbox is full. A message is skipped if the previous one still waits in the mailbox. If
    /// `make` panics, the actor has failed, as if a handler had. The timer keeps the actor alive. A
    /// restart of the actor cancels the timer, and so does a swap of the actor once the swap is
    /// final.
    pub fn tell_every(
        &mut self,
        period: Duration,
        mut make: impl FnMut() -> A::Message + Send + 'static,
    ) -> Timer {
        let period_ns = saturating_nanos(period).max(1);
        self.start_timer(period_ns, period_ns, move || Some(make()))
    }

    fn start_timer(
        &mut self,
        delay_ns: u64,
        period_ns: u64,
        make: impl FnMut() -> Option<A::Message> + Send + 'static,
    ) -> Timer {
        let mut sender = TimerSender {
            make: Some(make),
            handle: self.services.control_handle(),
            group: self.services.group_handle(),
            generation: self.generation,
            _actor_address: self.address(),
        };
        let id = sender.handle.id();
        let send = Box::new(move |timer| sender.send(timer));
        let pending = PendingTimer::new((delay_ns, period_ns), send).with_actor_id(id);
        let timer = pending.timer();
        self.extras.add_timer(self.generation, timer.clone());
        let due_ns = self.now_ns().saturating_add(delay_ns);
        self.services.group().start_timer(due_ns, pending);
        timer
    }

    /// Ends the actor after this handler, even if the handler then fails. Messages that wait in its
    /// mailbox are dropped, and later sends return an error.
    pub const fn stop(&mut self) {
        *self.is_stopping = true;
    }

    /// Returns the present time, in nanoseconds of CLOCK_MONOTONIC.
    #[must_use]
    pub fn now_ns(&mut self) -> u64 {
        self.services.worker().clock.now_ns()
    }
}

impl<A: Actor> fmt::Debug for Context<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("is_stopping", &self.is_stopping)
            .finish_non_exhaustive()
    }
}
