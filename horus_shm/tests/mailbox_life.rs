//! The end of actors whose last address leaves at any moment of an activation: no message that was
//! accepted before is dropped.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use horus_shm::internals::heap::{
    Activation, ActivationOutcome, Address, Behaviour, Event, Flow, Group, MailLimit,
    MailboxRoomEventcounts, Panic, Runnable, spawn,
};
use horus_testing as _;

/// A group whose worker does something after a look at a mailbox that was empty, just before the
/// actor is put to sleep: what another thread may do then.
#[derive(Default)]
struct Interleaved {
    runnable: Mutex<VecDeque<Runnable<Interleaved>>>,
    mailbox_room_eventcounts: MailboxRoomEventcounts,
    /// The address that the handler has last given away.
    given: Mutex<Option<Address<u64, Interleaved>>>,
    /// The messages that are sent by that address, one after each look; the address leaves then.
    late: Mutex<VecDeque<u64>>,
}

impl Group for Interleaved {
    type Control = ();
    type Worker = ();

    fn schedule(&self, runnable: Runnable<Self>) {
        self.runnable.lock().unwrap().push_back(runnable);
    }

    fn mailbox_room_eventcounts(&self) -> &MailboxRoomEventcounts {
        &self.mailbox_room_eventcounts
    }

    fn should_check_mailbox_again(&self, (): &mut ()) -> bool {
        let given = self.given.lock().unwrap().take();
        if let Some(address) = given
            && let Some(message) = self.late.lock().unwrap().pop_front()
        {
            address.send(message).unwrap();
        }
        false
    }
}

/// An actor that gives its own address away at each message.
struct Giving {
    handled: Arc<AtomicU64>,
}

impl Behaviour<Interleaved> for Giving {
    type Message = u64;

    fn handle(
        &mut self,
        event: Event<u64, ()>,
        turn: &mut Activation<'_, u64, Interleaved>,
    ) -> Flow {
        if let Event::Message(_) = event {
            self.handled.fetch_add(1, Ordering::Relaxed);
            *turn.group().given.lock().unwrap() = Some(turn.address());
        }
        Flow::Continue
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, u64, Interleaved>) -> Flow {
        Flow::Stop
    }
}

#[test]
fn a_message_sent_by_an_address_that_then_leaves_is_handled() {
    for late in 0..5 {
        let (group, handled) = (
            Arc::new(Interleaved::default()),
            Arc::new(AtomicU64::new(0)),
        );
        let giving = Giving {
            handled: Arc::clone(&handled),
        };
        let address = spawn(Arc::clone(&group), giving, MailLimit::Unbounded);
        group.late.lock().unwrap().extend(0..late);
        address.send(0).unwrap();
        drop(address);
        let mut has_ended = false;
        loop {
            let runnable = group.runnable.lock().unwrap().pop_front();
            let Some(runnable) = runnable else { break };
            match runnable.run(&group, &mut (), 256) {
                ActivationOutcome::Slept => {}
                ActivationOutcome::More(runnable) | ActivationOutcome::Suspended(runnable) => {
                    group.schedule(runnable)
                }
                ActivationOutcome::Ended => has_ended = true,
            }
        }
        assert_eq!(handled.load(Ordering::Relaxed), 1 + late, "of {}", 1 + late);
        assert!(has_ended, "it has no address");
    }
}

/// The behaviour of an actor at a message, at the end of a batch, and after a panic.
#[derive(Default)]
struct Script {
    /// Keeps the first message, and panics at the next one.
    panics: bool,
    /// The flow after each message.
    flow: Option<Flow>,
    /// The number of calls of `end_batch` that panic.
    batch_panics: u64,
    /// Takes the message back that was kept, and counts it, in `end_batch`.
    takes_back_in_batch: bool,
    /// Gives an address away in this call of `end_batch`.
    gives_in_batch: u64,
}

#[derive(Default)]
struct Seen {
    handled: AtomicU64,
    batches: AtomicU64,
}

struct Scripted {
    script: Script,
    has_kept: bool,
    seen: Arc<Seen>,
}

impl Behaviour<Interleaved> for Scripted {
    type Message = u64;

    fn handle(
        &mut self,
        event: Event<u64, ()>,
        turn: &mut Activation<'_, u64, Interleaved>,
    ) -> Flow {
        assert!(matches!(event, Event::Message(_)));
        self.seen.handled.fetch_add(1, Ordering::Relaxed);
        if self.script.panics || self.script.takes_back_in_batch {
            assert!(!self.has_kept, "on purpose");
            self.has_kept = turn.keep_counting_if_counted();
        }
        self.script.flow.unwrap_or(Flow::Continue)
    }

    fn end_batch(&mut self, turn: &mut Activation<'_, u64, Interleaved>) -> Flow {
        let call = self.seen.batches.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(call > self.script.batch_panics, "on purpose");
        if self.script.takes_back_in_batch && std::mem::take(&mut self.has_kept) {
            turn.begin_kept_message();
        }
        if call == self.script.gives_in_batch {
            turn.address().send(9).unwrap();
        }
        Flow::Continue
    }

    fn handle_panic(&mut self, _: Panic, turn: &mut Activation<'_, u64, Interleaved>) -> Flow {
        if std::mem::take(&mut self.has_kept) {
            turn.begin_kept_message();
        }
        Flow::Continue
    }
}

/// Runs an actor that gets `messages` in a mailbox of two, and keeps its address if `is_kept`.
/// Returns the address, what was seen, and the result of the last activation.
fn run_script(
    script: Script,
    messages: u64,
    is_kept: bool,
) -> (
    Option<Address<u64, Interleaved>>,
    Arc<Seen>,
    ActivationOutcome<Interleaved>,
) {
    let (group, seen) = (Arc::new(Interleaved::default()), Arc::<Seen>::default());
    let scripted = Scripted {
        script,
        has_kept: false,
        seen: Arc::clone(&seen),
    };
    let address = spawn(Arc::clone(&group), scripted, MailLimit::Bounded(2));
    (0..messages).for_each(|message| address.send(message).map(drop).unwrap());
    let address = is_kept.then_some(address);
    let runnable = group.runnable.lock().unwrap().pop_front().unwrap();
    let ran = runnable.run(&group, &mut (), 256);
    (address, seen, ran)
}

/// A message that was kept and is taken back outside of `handle` leaves the depth.
#[test]
fn a_message_that_is_taken_back_leaves_the_mailbox() {
    let panics = Script {
        panics: true,
        ..Script::default()
    };
    let batches = Script {
        takes_back_in_batch: true,
        ..Script::default()
    };
    for (script, messages) in [(panics, 2), (batches, 1)] {
        let (address, _, ran) = run_script(script, messages, true);
        assert!(matches!(ran, ActivationOutcome::Slept));
        assert_eq!(address.unwrap().waiting_messages(), 0, "of {messages}");
    }
}

#[test]
fn a_panic_at_the_end_of_a_batch_does_not_undo_the_end_of_the_actor() {
    let script = Script {
        flow: Some(Flow::Stop),
        batch_panics: 1,
        ..Script::default()
    };
    let (_address, seen, ran) = run_script(script, 1, true);
    assert!(matches!(ran, ActivationOutcome::Ended));
    assert_eq!(seen.batches.load(Ordering::Relaxed), 1);
}

#[test]
fn an_actor_that_pauses_handles_no_batch() {
    let script = Script {
        flow: Some(Flow::Suspend),
        ..Script::default()
    };
    let (_address, seen, ran) = run_script(script, 1, true);
    assert!(matches!(ran, ActivationOutcome::Suspended(_)));
    assert_eq!(seen.batches.load(Ordering::Relaxed), 0);
}

/// The second batch is the one after the last address has left.
#[test]
fn a_message_sent_by_an_address_of_the_last_batch_is_handled() {
    let script = Script {
        gives_in_batch: 2,
        ..Script::default()
    };
    let (_, seen, ran) = run_script(script, 1, false);
    assert!(matches!(ran, ActivationOutcome::Ended));
    assert_eq!(seen.handled.load(Ordering::Relaxed), 2);
}
