//! Latched history: who finds it again, and when it ends.

use horus_testing as _;

mod private;

use std::iter;

use horus_core::message::CmdVel;
use horus_core::topic::{Publisher, Qos, Subscriber};
use private::Private;

const KEEPS_TWO: Qos = Qos::latched().history(2);

fn send(publisher: &mut Publisher<CmdVel>, number: u64) {
    let message = CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    };
    publisher.send(message).unwrap();
}

/// Returns what a subscriber gets that joins now, in ascending order.
fn late_joiner_gets(private: &Private) -> Vec<u64> {
    let mut subscriber: Subscriber<CmdVel> = private.subscriber("map", Qos::new());
    let messages = iter::from_fn(|| subscriber.recv());
    let mut numbers: Vec<_> = messages.map(|message| message.timestamp_ns).collect();
    numbers.sort_unstable();
    numbers
}

/// The messages of both stay, whichever left first, and whichever comes back first.
#[test]
fn each_publisher_replaces_the_messages_of_its_own_key() {
    for (first_to_leave, first_to_return) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let private = Private::new();
        let keys = ["map server", "costmap"];
        let open = |key: usize| -> Publisher<CmdVel> {
            private.publisher("map", Qos::latched().latch_key(keys[key]))
        };
        let mut publishers = [0, 1].map(|key| Some(open(key)));
        for (publisher, number) in publishers.iter_mut().flatten().zip([10, 20]) {
            send(publisher, number);
        }
        publishers[first_to_leave] = None;
        publishers[1 - first_to_leave] = None;
        assert_eq!(late_joiner_gets(&private), [10, 20]);

        publishers[first_to_return] = Some(open(first_to_return));
        publishers[1 - first_to_return] = Some(open(1 - first_to_return));
        assert_eq!(late_joiner_gets(&private), [10, 20]);
        send(publishers[0].as_mut().unwrap(), 11);
        assert_eq!(late_joiner_gets(&private), [11, 20]);
        send(publishers[1].as_mut().unwrap(), 21);
        assert_eq!(late_joiner_gets(&private), [11, 21]);
    }
}

#[test]
fn the_first_message_ends_the_history_of_the_predecessor() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("map", KEEPS_TWO);
    (1..=3).for_each(|number| send(&mut publisher, number));
    drop(publisher);
    let mut publisher: Publisher<CmdVel> = private.publisher("map", KEEPS_TWO);
    assert_eq!(late_joiner_gets(&private), [2, 3]);
    send(&mut publisher, 4);
    assert_eq!(late_joiner_gets(&private), [4], "not 3 and 4");
    drop(publisher);
    assert_eq!(late_joiner_gets(&private), [4]);
    // A publisher that sends nothing changes nothing.
    for _ in 0..2 {
        drop::<Publisher<CmdVel>>(private.publisher("map", KEEPS_TWO));
        assert_eq!(late_joiner_gets(&private), [4], "not 3 and 4");
    }
}

/// A publisher of another message needs slots of another shape.
#[test]
fn history_stays_until_the_first_message_also_if_the_lane_grows() {
    let private = Private::new();
    let mut publisher: Publisher<CmdVel> = private.publisher("map", KEEPS_TWO);
    send(&mut publisher, 1);
    drop(publisher);
    let mut publisher: Publisher<CmdVel> = private.publisher("map", KEEPS_TWO.capacity(64));
    assert_eq!(late_joiner_gets(&private), [1]);
    send(&mut publisher, 2);
    assert_eq!(late_joiner_gets(&private), [2]);
}

/// The oldest history ends when no other place is left.
#[test]
fn the_oldest_history_goes_when_a_publisher_has_no_other_place() {
    let private = Private::new();
    let open = |key: &str| -> Publisher<CmdVel> {
        private.publisher("map", Qos::latched().latch_key(key).publishers_max(2))
    };
    let [mut first, mut second] = ["first", "second"].map(open);
    send(&mut first, 1);
    send(&mut second, 2);
    drop(first);
    // The claim of the first is the younger one then.
    first = open("first");
    drop((first, second));
    let third = open("third");
    assert_eq!(late_joiner_gets(&private), [1], "the second was older");
    drop(third);
    let mut plain: Publisher<CmdVel> = private.publisher("map", Qos::new());
    assert_eq!(late_joiner_gets(&private), [1], "another lane is free");
    send(&mut plain, 4);
    assert_eq!(late_joiner_gets(&private), [1], "not latched");
}
