//! The end of actors whose last address leaves at any moment of an activation: no message that was
//! accepted before is dropped.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use horus_shm::internals::heap::{
    Address, Behaviour, Event, Flow, Group, Mail, Panic, Ran, Rooms, Runnable, Turn, spawn,
};
use horus_testing as _;

/// A group whose worker does something after a look at a mailbox that was empty, just before the
/// actor is put to sleep: what another thread may do then.
#[derive(Default)]
struct Interleaved {
    runnable: Mutex<VecDeque<Runnable<Interleaved>>>,
    rooms: Rooms,
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

    fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    fn looks_again(&self, (): &mut ()) -> bool {
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

    fn handle(&mut self, event: Event<u64, ()>, turn: &mut Turn<'_, u64, Interleaved>) -> Flow {
        if let Event::Message(_) = event {
            self.handled.fetch_add(1, Ordering::Relaxed);
            *turn.group().given.lock().unwrap() = Some(turn.address());
        }
        Flow::Continue
    }

    fn failed(&mut self, _: Panic, _: &mut Turn<'_, u64, Interleaved>) -> Flow {
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
        let address = spawn(Arc::clone(&group), giving, Mail::Unbounded);
        group.late.lock().unwrap().extend(0..late);
        address.send(0).unwrap();
        drop(address);
        let mut has_ended = false;
        loop {
            let runnable = group.runnable.lock().unwrap().pop_front();
            let Some(runnable) = runnable else { break };
            match runnable.run(&group, &mut (), 256) {
                Ran::Slept => {}
                Ran::More(runnable) | Ran::Suspended(runnable) => group.schedule(runnable),
                Ran::Ended => has_ended = true,
            }
        }
        assert_eq!(handled.load(Ordering::Relaxed), 1 + late, "of {}", 1 + late);
        assert!(has_ended, "it has no address");
    }
}
