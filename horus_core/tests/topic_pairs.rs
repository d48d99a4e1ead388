//! The first pairs of endpoints that a newcomer opens, in both orders: they meet without any other
//! setting.

use horus_testing as _;

mod private;

use horus_core::message::{CmdVel, Encoding, Image, ImageHeader};
use horus_core::topic::{Payload, Publisher, Qos, Subscriber};
use private::Private;

/// Opens a publisher and a plain subscriber, and passes them to `meet`: once with the publisher
/// first, and once with the subscriber first.
fn in_both_orders<T: Payload>(
    topic: &str,
    qos: Qos,
    meet: impl Fn(Publisher<T>, Subscriber<T>, &str),
) {
    let private = Private::new();
    let publisher = private.publisher(topic, qos);
    let subscriber = private.subscriber(topic, Qos::new());
    meet(publisher, subscriber, "publisher first");
    assert!(private.topic_files().is_empty());
    let subscriber = private.subscriber(topic, Qos::new());
    let publisher = private.publisher(topic, qos);
    meet(publisher, subscriber, "subscriber first");
    assert!(private.topic_files().is_empty());
}

fn numbered(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    }
}

fn numbers(subscriber: &mut Subscriber<CmdVel>) -> Vec<u64> {
    std::iter::from_fn(|| subscriber.recv())
        .map(|message| message.timestamp_ns)
        .collect()
}

/// Checks that the subscriber receives each message of a publisher that sends one at a time, more
/// than any preset has slots.
fn expect_all(mut publisher: Publisher<CmdVel>, mut subscriber: Subscriber<CmdVel>, order: &str) {
    for number in 1..=3000 {
        publisher.send(numbered(number)).unwrap();
        assert_eq!(numbers(&mut subscriber), [number], "{order}");
    }
    assert_eq!(subscriber.check(), Ok(()), "{order}");
    let stats = subscriber.stats();
    let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
    assert_eq!(ledger, (3000, 3000, 0, 0), "{order}");
}

#[test]
fn a_publisher_of_commands_meets_a_plain_subscriber() {
    in_both_orders("cmd_vel", Qos::command(), expect_all);
}

#[test]
fn a_reliable_publisher_meets_a_plain_subscriber() {
    in_both_orders("cmd_vel", Qos::reliable(), expect_all);
}

#[test]
fn a_publisher_of_any_preset_meets_a_plain_subscriber() {
    for qos in [Qos::new(), Qos::sensor_data()] {
        in_both_orders("cmd_vel", qos, expect_all);
    }
    let private = Private::new();
    let publisher = private.publisher("cmd_vel", Qos::latched());
    let subscriber = private.subscriber("cmd_vel", Qos::new());
    expect_all(publisher, subscriber, "publisher first");
    assert_eq!(
        private.topic_files(),
        ["cmd_vel"],
        "the last message is kept"
    );
    let subscriber = private.subscriber("other", Qos::new());
    let publisher = private.publisher("other", Qos::latched());
    expect_all(publisher, subscriber, "subscriber first");
}

/// A subscriber that never reads is not waited for, although the publisher is reliable.
#[test]
fn a_plain_subscriber_that_never_reads_holds_nobody_back() {
    let meet =
        |mut publisher: Publisher<CmdVel>, mut subscriber: Subscriber<CmdVel>, order: &str| {
            for number in 1..=10_000 {
                publisher.send(numbered(number)).unwrap();
            }
            assert_eq!(publisher.slowest_subscriber(), None, "{order}");
            assert_eq!(subscriber.stats().waiting + subscriber.lost(), 10_000);
            let got = numbers(&mut subscriber);
            assert_eq!(got.last(), Some(&10_000), "{order}");
            let lost = subscriber.lost();
            assert_eq!(got, (lost + 1..=10_000).collect::<Vec<_>>(), "{order}");
            assert_eq!(
                (subscriber.stats().sent, subscriber.detach_count()),
                (10_000, 0)
            );
        };
    in_both_orders("cmd_vel", Qos::reliable(), meet);
    in_both_orders("cmd_vel", Qos::reliable().capacity(4), meet);
}

/// Images of any size need no setting, sent and lent.
#[test]
fn a_plain_subscriber_meets_a_camera_of_1080p_and_of_4k() {
    for (width, height) in [(1920, 1080), (3840, 2160)] {
        for qos in [Qos::new(), Qos::sensor_data(), Qos::reliable().capacity(4)] {
            let meet =
                |mut camera: Publisher<Image>, mut screen: Subscriber<Image>, order: &str| {
                    let header = ImageHeader::new(width, height, Encoding::RGB8);
                    let mut sent = Image::zeroed(header).unwrap();
                    sent.data_mut().fill(1);
                    camera.send(&sent).unwrap();
                    let received = screen.recv().expect(order);
                    assert_eq!((received.width, received.height), (width, height));
                    assert!(received.data().iter().all(|&byte| byte == 1), "{order}");
                    let mut lent = camera.loan(header).unwrap();
                    lent.data_mut().fill(2);
                    lent.publish().unwrap();
                    let received = screen.borrow().unwrap().expect(order);
                    assert_eq!(received.data().len() as u32, 3 * width * height);
                    assert!(received.data().iter().all(|&byte| byte == 2), "{order}");
                    drop(received);
                    let stats = screen.stats();
                    assert_eq!((stats.sent, stats.received, stats.lost), (2, 2, 0));
                };
            in_both_orders("camera/rgb", qos, meet);
        }
    }
}
