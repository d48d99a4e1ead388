//! Growth that a subscriber in another process sees only later.

use horus_testing as _;

mod actors;

use actors::{Child, hear, namespace_in, private_dir, role, say};
use horus_core::message::{Bytes, BytesHeader};
use horus_core::topic::{Publisher, Subscriber, Topic};

/// Bytes of the messages that are sent one after another: each needs longer slots than the one
/// before, and there are more than a lane keeps the slots of.
const LENGTHS: [usize; 7] = [16, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23];

/// Plays the publisher: sends a message of each length that it hears.
#[test]
fn child_role() {
    let Some((_, dir)) = role() else { return };
    let namespace = namespace_in(&dir);
    let topic = Topic::<Bytes>::builder("blob").namespace(&namespace);
    let mut publisher: Publisher<Bytes> = topic.publisher().unwrap();
    say("open");
    while let Some(order) = hear() {
        let bytes: usize = order.parse().unwrap();
        let message = Bytes::new(BytesHeader::new(bytes as u64), &vec![7; bytes]);
        publisher.send(message.unwrap()).unwrap();
        say(format!("sent {bytes}."));
    }
}

/// A subscriber that is behind by several growths goes on with the oldest message that is left, in
/// the first call: it does not wait for messages in slots that are gone.
#[test]
fn a_subscriber_goes_on_behind_slots_that_are_gone() {
    let dir = private_dir();
    let namespace = namespace_in(dir.path());
    let mut child = Child::spawn("publisher", dir.path());
    child.await_word("open");
    let topic = Topic::<Bytes>::builder("blob").namespace(&namespace);
    let mut subscriber: Subscriber<Bytes> = topic.subscriber().unwrap();
    let mut send = |bytes: usize| {
        child.tell(&bytes.to_string());
        child.await_word(&format!("sent {bytes}."));
    };
    send(LENGTHS[0]);
    assert_eq!(subscriber.recv().unwrap().data().len(), LENGTHS[0]);
    LENGTHS[1..].iter().copied().for_each(&mut send);
    let received: Vec<_> = std::iter::from_fn(|| subscriber.recv())
        .map(|message| message.data().len())
        .collect();
    let lost = LENGTHS.len() - 1 - received.len();
    assert!(lost > 0, "{received:?}");
    assert_eq!(received, LENGTHS[1 + lost..]);
    let stats = subscriber.stats();
    let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
    let [sent, lost] = [LENGTHS.len(), lost].map(|count| count as u64);
    assert_eq!(ledger, (sent, sent - lost, lost, 0));
}
