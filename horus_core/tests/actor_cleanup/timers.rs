//! Timers: they hold nothing once their actor cannot handle their messages, and their functions
//! must not wait.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use horus_core::actor::{Actors, AskError, Context};
use horus_core::scheduler::{FailurePolicy, Running, SwapState};

use super::{Calls, HOUR, Order, Puppet, block, call, group, stop, until_handled};
use crate::executors::{LONG, until};
use crate::private::Private;

/// Starts timers that hold `held` until they are cancelled.
fn start_timers(context: &mut Context<'_, Puppet>, held: &Arc<()>) {
    let kept = Arc::clone(held);
    context.tell_after(HOUR, Order::Hold(Box::new(Arc::clone(held))));
    context.tell_every(HOUR, move || Order::Hold(Box::new(Arc::clone(&kept))));
}

/// An actor with a version that starts timers.
struct Timed {
    actors: Actors,
    running: Running,
    calls: Calls,
    /// The value that the timers hold.
    held: Arc<()>,
    _private: Private,
}

impl Timed {
    fn new() -> Self {
        let (scheduler, actors, private) = group(2);
        Self {
            actors,
            running: scheduler.start().unwrap(),
            calls: Calls::default(),
            held: Arc::new(()),
            _private: private,
        }
    }

    /// Returns a version of the actor that starts timers in `init`.
    fn version(&self, name: &str) -> Puppet {
        let held = Arc::clone(&self.held);
        Puppet::new(name, &self.calls).with_init(move |context| {
            start_timers(context, &held);
            Ok(())
        })
    }

    fn is_held(&self) -> bool {
        Arc::strong_count(&self.held) > 1
    }
}

#[test]
fn timers_of_an_actor_that_has_ended_hold_nothing() {
    let site = Timed::new();
    let address = site.actors.spawn(site.version("actor")).unwrap();
    assert!(site.is_held());
    address.tell(call(stop)).unwrap();
    until("it has ended", || site.actors.counters().alive == 0);
    assert!(!site.is_held());
    site.running.finish().unwrap();
}

/// An actor that waits for the end of its children handles no messages, so it needs no timers.
#[test]
fn timers_of_an_actor_that_waits_for_its_children_hold_nothing() {
    let site = Timed::new();
    let address = site.actors.spawn(site.version("parent")).unwrap();
    let (gives_child, child) = mpsc::channel();
    let its_calls = site.calls.clone();
    let spawn = move |context: &mut Context<'_, Puppet>| {
        gives_child.send(context.spawn(Puppet::new("child", &its_calls))?)?;
        Ok(())
    };
    address.tell(call(spawn)).unwrap();
    let (release, _) = block(&child.recv_timeout(LONG).unwrap());
    address.tell(call(stop)).unwrap();
    until("it waits for its child", || {
        address.tell(call(|_| Ok(()))).unwrap();
        site.actors.counters().undelivered > 0
    });
    assert!(!site.is_held());
    drop(release);
    until("it has ended", || site.actors.counters().alive == 0);
    site.running.finish().unwrap();
}

#[test]
fn timers_from_before_a_restart_hold_nothing() {
    let site = Timed::new();
    let (calls, mut first) = (site.calls.clone(), Some(site.version("first")));
    let make = move || {
        first
            .take()
            .unwrap_or_else(|| Puppet::new("second", &calls))
    };
    let backoff = Duration::from_millis(1);
    let policy = FailurePolicy::Restart { max: 9, backoff };
    let options = site.actors.options().on_failure(policy);
    let address = options.spawn_with(make).unwrap();
    assert!(site.is_held());
    address.tell(call(|_| Err("on purpose".into()))).unwrap();
    until("it is made again", || site.calls.has("init second"));
    assert!(!site.is_held());
    drop(address);
    until("it has ended", || site.actors.counters().alive == 0);
    site.running.finish().unwrap();
}

#[test]
fn timers_from_before_a_swap_hold_nothing_once_it_is_final() {
    let site = Timed::new();
    let address = site.actors.spawn(site.version("old")).unwrap();
    let swap = address.swap(Puppet::new("new", &site.calls)).unwrap();
    (0..9).for_each(|_| until_handled(&address));
    assert!(site.is_held(), "on trial");
    until_handled(&address);
    assert_eq!(swap.wait(LONG), SwapState::Done);
    until_handled(&address);
    assert!(!site.is_held());
    drop(address);
    until("it has ended", || site.actors.counters().alive == 0);
    site.running.finish().unwrap();
}

#[test]
fn timers_of_a_version_that_was_rolled_back_hold_nothing() {
    let site = Timed::new();
    let old = Puppet::new("old", &site.calls);
    let address = site.actors.spawn(old).unwrap();
    for fails_in_init in [true, false] {
        let held = Arc::clone(&site.held);
        let new = Puppet::new("new", &site.calls).with_init(move |context| {
            start_timers(context, &held);
            if fails_in_init {
                return Err("on purpose".into());
            }
            Ok(())
        });
        let swap = address.swap(new).unwrap();
        if !fails_in_init {
            until_handled(&address);
            assert!(site.is_held(), "on trial");
            address.tell(call(|_| Err("on purpose".into()))).unwrap();
        }
        assert!(matches!(swap.wait(LONG), SwapState::RolledBack(_)));
        until_handled(&address);
        assert!(!site.is_held(), "fails in init: {fails_in_init}");
    }
    site.running.finish().unwrap();
}

#[test]
fn the_function_of_a_timer_does_not_wait_for_another_actor() {
    for threads in [0, 1] {
        let (scheduler, actors, _private) = group(threads);
        let calls = Calls::default();
        let store = actors.spawn(Puppet::new("store", &calls)).unwrap();
        let (tells, told) = mpsc::channel();
        let unit = Puppet::new("unit", &calls).with_init(move |context| {
            context.tell_every(Duration::from_millis(1), move || {
                let answer = store.ask(Order::Ask).unwrap();
                let answer = answer.wait(Duration::from_millis(100));
                // WHY ignored: the test needs only the first one.
                let _ = tells.send(answer);
                call(|_| Ok(()))
            });
            Ok(())
        });
        let unit = actors.spawn(unit).unwrap();
        let mut running = scheduler.start().unwrap();
        let mut answer = None;
        until("the timer is due", || {
            running.tick_once().unwrap();
            answer = told.try_recv().ok();
            answer.is_some()
        });
        assert!(
            matches!(answer, Some(Err(AskError::InHandler))),
            "{answer:?}"
        );
        running.finish().unwrap();
        drop(unit);
    }
}
