//! Messages that are dropped: they are counted, and a panic in a drop fails nobody else.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use horus_core::actor::{Context, MailboxKind};

use super::{Calls, Order, Puppet, block, call, group, stop, until_handled};
use crate::executors::{LONG, until};
use crate::private::Private;

/// A value that panics in its drop.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "a bomb");
    }
}

fn bomb() -> Order {
    Order::Hold(Box::new(Bomb))
}

#[test]
fn a_replaced_message_that_panics_in_its_drop_does_not_fail_the_next_sender() {
    let (mut scheduler, _private) = Private::alone();
    let group = scheduler.actors("fleet").mailbox(MailboxKind::latest());
    let actors = group.build().unwrap();
    let address = actors
        .spawn(Puppet::new("actor", &Calls::default()))
        .unwrap();
    address.tell(bomb()).unwrap();
    address.tell(call(|_| Ok(()))).unwrap();
    let counters = actors.counters();
    assert_eq!((counters.failures, counters.panics), (1, 1));
    let running = scheduler.start().unwrap();
    until("the other one is handled", || {
        actors.counters().handled == 1
    });
    running.finish().unwrap();
}

#[test]
fn a_message_of_a_cancelled_timer_that_panics_in_its_drop_does_not_fail_its_actor() {
    let (scheduler, actors, _private) = group(0);
    let (gives_timer, timer) = mpsc::channel();
    let actor = Puppet::new("actor", &Calls::default()).with_init(move |context| {
        gives_timer.send(context.tell_after(Duration::ZERO, bomb()))?;
        Ok(())
    });
    let address = actors.spawn(actor).unwrap();
    let timer = timer.recv().unwrap();
    let cancel = move |_: &mut Context<'_, Puppet>| {
        timer.cancel();
        Ok(())
    };
    // The first tick sends the message of the timer before it runs the actor.
    address.tell(call(cancel)).unwrap();
    let mut running = scheduler.start().unwrap();
    running.tick_once().unwrap();
    until_handled(&address);
    let counters = actors.counters();
    assert_eq!((counters.failures, counters.panics), (1, 1));
    assert_eq!((counters.alive, counters.undelivered), (1, 0));
    running.finish().unwrap();
}

/// The message comes after the request to end, and is dropped while a child has not ended yet.
#[test]
fn a_timer_message_that_panics_in_its_drop_does_not_fail_an_actor_that_ends() {
    let (scheduler, actors, _private) = group(3);
    let calls = Calls::default();
    let (gives, given) = mpsc::channel();
    let its_calls = calls.clone();
    let eldest = Puppet::new("eldest", &calls).with_init(move |context| {
        let its_gives = gives.clone();
        let parent = context.spawn_with(move || {
            let (gives, calls) = (its_gives.clone(), its_calls.clone());
            Puppet::new("parent", &its_calls).with_init(move |context| {
                gives.send(context.spawn(Puppet::new("child", &calls))?)?;
                Ok(())
            })
        });
        gives.send(parent?)?;
        Ok(())
    });
    let eldest = actors.spawn(eldest).unwrap();
    let (child, parent) = (given.recv().unwrap(), given.recv().unwrap());
    let running = scheduler.start().unwrap();
    let (releases_child, _) = block(&child);
    let (releases_parent, _) = block(&parent);
    let start_timer = move |context: &mut Context<'_, Puppet>| {
        let (calls_it, called) = mpsc::channel();
        context.tell_every(Duration::from_millis(1), move || {
            // WHY ignored: the actor waits only for the first message.
            let _ = calls_it.send(());
            bomb()
        });
        called.recv_timeout(LONG)?;
        thread::sleep(Duration::from_millis(20));
        Ok(())
    };
    parent.tell(call(start_timer)).unwrap();
    eldest.tell(call(stop)).unwrap();
    until("the eldest waits for the parent", || {
        eldest.tell(call(|_| Ok(()))).unwrap();
        actors.counters().undelivered > 0
    });
    drop(releases_parent);
    until("the bomb is dropped", || actors.counters().panics == 1);
    drop(releases_child);
    until("all have ended", || actors.counters().alive == 0);
    running.finish().unwrap();
    assert_eq!(calls.of("init").len(), 3, "nobody is made again");
    assert_eq!(actors.counters().failures, 1);
}

/// The message of a timer waits when its actor stops: at once, or after the end of a child.
#[test]
fn messages_of_timers_that_nobody_handles_are_counted() {
    for (has_child, is_cancelled) in [(false, false), (true, false), (false, true), (true, true)] {
        let (scheduler, actors, _private) = group(0);
        let calls = Calls::default();
        let its_calls = calls.clone();
        let (gives_timer, timer) = mpsc::channel();
        let actor = Puppet::new("actor", &calls).with_init(move |context| {
            if has_child {
                context.spawn(Puppet::new("child", &its_calls))?;
            }
            let message = call(|_| Ok(()));
            gives_timer.send(context.tell_after(Duration::ZERO, message))?;
            Ok(())
        });
        let address = actors.spawn(actor).unwrap();
        let timer = timer.recv().unwrap();
        let stop = move |context: &mut Context<'_, Puppet>| {
            context.stop();
            if is_cancelled {
                timer.cancel();
            }
            Ok(())
        };
        address.tell(call(stop)).unwrap();
        let mut running = scheduler.start().unwrap();
        until("it has ended", || {
            running.tick_once().unwrap();
            actors.counters().alive == 0
        });
        running.finish().unwrap();
        let counters = actors.counters();
        assert_eq!(
            (counters.handled, counters.undelivered),
            (1, u64::from(!is_cancelled)),
            "child: {has_child}, cancelled: {is_cancelled}"
        );
    }
}
