//! Messages that are longer than a publisher's slots: the slots grow, and no setting is needed.

use horus_testing as _;

mod private;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use horus_core::message::{Bytes, BytesHeader, Encoding, Image, ImageHeader};
use horus_core::topic::{OnStalled, Publisher, Qos, Reliability, Subscriber};
use horus_core::{RecvError, SendError};
use private::Private;

/// Bytes of a message that fits the slots from the beginning, and of one that never does.
const SHORT: usize = 16;
const LONG: usize = 1 << 20;
/// Bytes of the latter with its header.
const LONG_MESSAGE: u64 = (LONG + size_of::<BytesHeader>()) as u64;

/// Returns an image of `width` × `height` pixels, all of them `shade`.
fn image(width: u32, height: u32, shade: u8) -> Image {
    let mut image = Image::zeroed(ImageHeader::new(width, height, Encoding::RGB8)).unwrap();
    image.data_mut().fill(shade);
    image
}

/// Returns a message of `bytes` bytes whose content is derived from `number`.
fn message(number: u64, bytes: usize) -> Bytes {
    let mut content = vec![number as u8; bytes];
    content[..8].copy_from_slice(&number.to_le_bytes());
    Bytes::new(BytesHeader::new(bytes as u64), &content).unwrap()
}

/// Returns the number of a message that is whole.
fn number(message: &Bytes) -> u64 {
    let bytes = message.data();
    let number = u64::from_le_bytes(*bytes.first_chunk().unwrap());
    assert!(bytes[8..].iter().all(|&byte| byte == number as u8), "torn");
    number
}

/// Returns the number of lane files of all topics.
fn lane_files(private: &Private) -> usize {
    let names = std::fs::read_dir(private.namespace().topics_path()).unwrap();
    names
        .filter(|name| {
            name.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with('.')
        })
        .count()
}

#[test]
fn a_long_image_needs_no_setting_in_either_order() {
    let private = Private::new();
    for first in ["publisher", "subscriber"] {
        let topic = format!("camera/{first}_first");
        let (mut publisher, mut subscriber): (Publisher<Image>, Subscriber<Image>);
        if first == "publisher" {
            publisher = private.publisher(&topic, Qos::new());
            subscriber = private.subscriber(&topic, Qos::new());
        } else {
            subscriber = private.subscriber(&topic, Qos::new());
            publisher = private.publisher(&topic, Qos::new());
        }
        let sizes = [(4, 4), (1920, 1080), (3840, 2160), (8, 8)];
        for (shade, (width, height)) in sizes.into_iter().enumerate() {
            let sent = image(width, height, shade as u8);
            publisher.send(&sent).unwrap();
            let received = subscriber.recv().expect("the message is there");
            assert_eq!(
                (received.width, received.height),
                (width, height),
                "{first}"
            );
            assert!(received.data() == sent.data());
        }
        let stats = subscriber.stats();
        let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(ledger, (4, 4, 0, 0));
    }
}

/// A loan has the length that its header announces.
#[test]
fn a_loan_of_a_long_image_needs_no_setting() {
    let private = Private::new();
    let mut publisher: Publisher<Image> = private.publisher("camera", Qos::new());
    let mut subscriber: Subscriber<Image> = private.subscriber("camera", Qos::new());
    let mut loan = publisher
        .loan(ImageHeader::new(1920, 1080, Encoding::RGB8))
        .unwrap();
    loan.data_mut().fill(7);
    loan.publish().unwrap();
    let sample = subscriber.borrow().unwrap().expect("the message is there");
    assert_eq!(sample.data().len(), 1920 * 1080 * 3);
    assert!(sample.data().iter().all(|&byte| byte == 7));
}

/// Messages from before the slots grew are received from the former slots.
#[test]
fn a_slow_subscriber_receives_all_across_growth() {
    let private = Private::new();
    for qos in [Qos::new(), Qos::reliable().capacity(16)] {
        let mut publisher: Publisher<Bytes> = private.publisher("blob", qos);
        let mut subscriber: Subscriber<Bytes> = private.subscriber("blob", qos);
        let lengths = [SHORT, SHORT, LONG, SHORT, 2 * LONG, SHORT, 4 * LONG];
        for (index, bytes) in lengths.into_iter().enumerate() {
            publisher.send(message(index as u64, bytes)).unwrap();
        }
        let received: Vec<_> = std::iter::from_fn(|| subscriber.recv()).collect();
        let numbers: Vec<_> = received.iter().map(number).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
        let lengths_received: Vec<_> = received.iter().map(|bytes| bytes.data().len()).collect();
        assert_eq!(lengths_received, lengths);
        let stats = subscriber.stats();
        let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(ledger, (7, 7, 0, 0));
    }
}

/// The newest message is the newest of all extents.
#[test]
fn the_newest_message_is_behind_the_growth() {
    let private = Private::new();
    let mut publisher: Publisher<Bytes> = private.publisher("blob", Qos::new());
    let mut subscriber: Subscriber<Bytes> = private.subscriber("blob", Qos::new());
    publisher.send(message(0, SHORT)).unwrap();
    publisher.send(message(1, LONG)).unwrap();
    publisher.send(message(2, SHORT)).unwrap();
    assert_eq!(subscriber.latest().as_ref().map(number), Some(2));
    let stats = subscriber.stats();
    let ledger = (stats.sent, stats.received, stats.skipped, stats.waiting);
    assert_eq!(ledger, (3, 1, 2, 0));
    assert!(subscriber.latest().is_none());
}

/// A message that is held stays as it is while the slots grow and are overwritten.
#[test]
fn a_borrowed_message_outlives_its_extent() {
    let private = Private::new();
    let mut publisher: Publisher<Image> = private.publisher("camera", Qos::new());
    let mut subscriber: Subscriber<Image> = private.subscriber("camera", Qos::new());
    publisher.send(image(4, 4, 1)).unwrap();
    let held = subscriber.borrow().unwrap().unwrap();
    for shade in 2..100 {
        let side = if shade % 2 == 0 { 600 } else { 4 };
        publisher.send(image(side, side, shade)).unwrap();
        while subscriber.recv().is_some() {}
    }
    assert!(held.data().iter().all(|&byte| byte == 1));
}

/// Former slots are given back once their messages would have been overwritten.
#[test]
fn former_slots_are_given_back() {
    let private = Private::new();
    let mut publisher: Publisher<Bytes> = private.publisher("blob", Qos::new().capacity(8));
    let mut subscriber: Subscriber<Bytes> = private.subscriber("blob", Qos::new());
    publisher.send(message(0, SHORT)).unwrap();
    assert_eq!(lane_files(&private), 1);
    publisher.send(message(1, LONG)).unwrap();
    assert_eq!(lane_files(&private), 2);
    (2..20).for_each(|number| publisher.send(message(number, SHORT)).unwrap());
    assert_eq!(lane_files(&private), 1);
    while subscriber.recv().is_some() {}
    let stats = subscriber.stats();
    assert_eq!((stats.sent, stats.waiting), (20, 0));
    assert_eq!(stats.received + stats.lost, 20, "{stats:?}");
    drop((publisher, subscriber));
    assert_eq!(lane_files(&private), 0);
}

/// A reliable subscriber that reads nothing keeps the former slots, and nothing is lost.
#[test]
fn a_reliable_subscriber_keeps_former_slots() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(4);
    let mut publisher: Publisher<Bytes> = private.publisher("blob", qos);
    let mut subscriber: Subscriber<Bytes> = private.subscriber("blob", qos);
    let mut sent = 0;
    for bytes in [SHORT, LONG, 2 * LONG, 4 * LONG] {
        for _ in 0..3 {
            publisher.send(message(sent, bytes)).unwrap();
            sent += 1;
        }
    }
    assert_eq!(lane_files(&private), 4);
    publisher.send(message(sent, SHORT)).unwrap();
    sent += 1;
    let error = publisher.send(message(sent, SHORT)).unwrap_err();
    assert!(error.is_full(), "{error}");
    let received: Vec<_> = std::iter::from_fn(|| subscriber.recv()).collect();
    let numbers: Vec<_> = received.iter().map(number).collect();
    assert_eq!(numbers, (0..sent).collect::<Vec<_>>());
    assert_eq!(subscriber.lost(), 0);
}

/// Opens a topic whose slots cannot grow until the subscriber has read: the subscriber has a
/// message to read in each of the publisher's extents. Returns the number of messages sent, too.
fn grown_to_the_limit(private: &Private, qos: Qos) -> (Publisher<Bytes>, Subscriber<Bytes>, u64) {
    let mut publisher: Publisher<Bytes> = private.publisher("blob", qos);
    let subscriber: Subscriber<Bytes> = private.subscriber("blob", Qos::reliable());
    let lengths = [SHORT, LONG, 2 * LONG, 4 * LONG];
    for (number, bytes) in lengths.into_iter().enumerate() {
        publisher.send(message(number as u64, bytes)).unwrap();
    }
    (publisher, subscriber, lengths.len() as u64)
}

/// A publisher whose slots cannot grow yet waits as one whose slots are full does.
#[test]
fn a_send_waits_until_the_slots_may_grow() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(4);
    let (mut publisher, mut subscriber, sent) = grown_to_the_limit(&private, qos);
    let longest = message(sent, 8 * LONG);
    let error = publisher.send(&longest).unwrap_err();
    assert!(error.is_full(), "{error}");
    let error = publisher.send_timeout(&longest, Duration::from_millis(1));
    assert!(error.unwrap_err().is_full());
    let received = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let next = || subscriber.recv_timeout(Duration::from_secs(60));
            let received: Vec<_> = std::iter::repeat_with(next)
                .take(sent as usize + 1)
                .collect();
            (received, subscriber)
        });
        publisher
            .send_timeout(&longest, Duration::from_secs(60))
            .unwrap();
        reader.join().unwrap().0
    });
    let numbers: Vec<_> = received
        .into_iter()
        .map(|message| number(&message.unwrap()))
        .collect();
    assert_eq!(numbers, (0..=sent).collect::<Vec<_>>());
}

/// A reader that stalls keeps the slots from growing no longer than it keeps them full.
#[test]
fn slots_grow_without_a_subscriber_that_stalls() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(4).on_stalled(OnStalled::Detach {
        after: Duration::from_millis(1),
    });
    let (mut publisher, mut subscriber, sent) = grown_to_the_limit(&private, qos);
    let longest = message(sent, 8 * LONG);
    publisher
        .send_timeout(&longest, Duration::from_secs(60))
        .unwrap();
    assert_eq!(subscriber.detach_count(), 1);
    let received = std::iter::from_fn(|| subscriber.recv()).count() as u64;
    let stats = subscriber.stats();
    assert_eq!(stats.sent, sent + 1);
    assert_eq!(received + stats.lost, stats.sent, "{stats:?}");
    assert!(received > 0);
}

/// A publisher's own limit is a limit; nothing else is.
#[test]
fn a_publisher_may_limit_its_own_messages() {
    let private = Private::new();
    let mut limited = private
        .builder::<Bytes>("blob")
        .max_message_bytes(LONG_MESSAGE)
        .publisher()
        .unwrap();
    let mut free: Publisher<Bytes> = private.publisher("blob", Qos::new());
    let mut subscriber: Subscriber<Bytes> = private.subscriber("blob", Qos::new());
    limited.send(message(0, LONG)).unwrap();
    let error = limited.send(message(1, LONG + 1)).unwrap_err();
    assert!(
        matches!(error, SendError::TooLong { max, .. } if max == LONG_MESSAGE),
        "{error}"
    );
    free.send(message(2, LONG + 1)).unwrap();
    let mut numbers: Vec<_> = std::iter::from_fn(|| subscriber.recv())
        .map(|m| number(&m))
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 2]);
}

/// `reserve` makes the memory before the first message.
#[test]
fn memory_can_be_reserved_before_the_first_message() {
    let private = Private::new();
    let mut publisher: Publisher<Bytes> = private.publisher("blob", Qos::new());
    publisher.reserve(LONG_MESSAGE).unwrap();
    let files = || {
        let topics = std::fs::read_dir(private.namespace().topics_path()).unwrap();
        let inode = |name: std::io::Result<std::fs::DirEntry>| {
            File::open(name.unwrap().path())
                .unwrap()
                .metadata()
                .unwrap()
                .ino()
        };
        let mut inodes: Vec<_> = topics.map(inode).collect();
        inodes.sort_unstable();
        inodes
    };
    let before = files();
    publisher.send(message(0, LONG)).unwrap();
    assert_eq!(files(), before);
}

/// The successor of a publisher goes on in the slots that have grown.
#[test]
fn a_successor_goes_on_behind_the_growth() {
    let private = Private::new();
    let mut subscriber: Subscriber<Bytes> = private.subscriber("blob", Qos::new());
    for round in 0..6 {
        let mut publisher: Publisher<Bytes> = private.publisher("blob", Qos::new());
        publisher.send(message(2 * round, SHORT)).unwrap();
        publisher.send(message(2 * round + 1, LONG)).unwrap();
        assert_eq!(subscriber.recv().as_ref().map(number), Some(2 * round));
        assert_eq!(subscriber.recv().as_ref().map(number), Some(2 * round + 1));
    }
    let stats = subscriber.stats();
    assert_eq!((stats.sent, stats.received, stats.lost), (12, 12, 0));
    assert!(lane_files(&private) <= 2);
}

/// A late subscriber gets the history of a publisher whose slots have grown since.
#[test]
fn history_reaches_back_across_growth() {
    let private = Private::new();
    let mut publisher: Publisher<Bytes> = private.publisher("map", Qos::latched().history(2));
    publisher.send(message(0, SHORT)).unwrap();
    publisher.send(message(1, LONG)).unwrap();
    let mut late: Subscriber<Bytes> = private.subscriber("map", Qos::new());
    let numbers: Vec<_> = std::iter::from_fn(|| late.recv())
        .map(|m| number(&m))
        .collect();
    assert_eq!(numbers, [0, 1]);
    drop(publisher);
    let mut later: Subscriber<Bytes> = private.subscriber("map", Qos::new());
    let numbers: Vec<_> = std::iter::from_fn(|| later.recv())
        .map(|m| number(&m))
        .collect();
    assert_eq!(numbers, [0, 1]);
}

/// A subscriber that asks for more than a publisher offers is told so, and gets its messages from
/// those who do offer it.
#[test]
fn a_publisher_that_offers_too_little_is_reported() {
    let private = Private::new();
    let mut subscriber: Subscriber<Bytes> = private.subscriber("blob", Qos::reliable());
    assert_eq!(subscriber.check(), Ok(()), "nobody is there yet");
    let mut careless: Publisher<Bytes> = private.publisher("blob", Qos::new());
    careless.send(message(0, SHORT)).unwrap();
    assert!(subscriber.recv().is_none());
    let error = subscriber.check().unwrap_err();
    assert!(matches!(error, RecvError::Incompatible { .. }), "{error}");
    assert!(error.to_string().contains("request best effort"), "{error}");
    let mut careful: Publisher<Bytes> =
        private.publisher("blob", Qos::new().reliability(Reliability::Reliable));
    careful.send(message(1, SHORT)).unwrap();
    assert_eq!(subscriber.recv().as_ref().map(number), Some(1));
    assert_eq!(subscriber.check(), Ok(()));
    let stats = subscriber.stats();
    assert_eq!(
        (stats.sent, stats.received, stats.waiting),
        (1, 1, 0),
        "{stats:?}"
    );
}
