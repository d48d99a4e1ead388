//! Messages with lengths of their own, through topics: values, types of serde, headers with data.

use horus_testing as _;

mod private;

use std::time::{Duration, Instant};

use horus_core::introspect::Inspector;
use horus_core::message::{
    Encoding, Framed, FramedSample, Header, HeaderError, Image, ImageHeader, Message, Primitive,
    Tail, timestamp_now_ns,
};
use horus_core::prelude::*;
use horus_core::value::TypedArray;
use horus_core::{BorrowError, LoanError};
use private::Private;

horus_core::message! {
    /// The fixed part of the echoes of one ping.
    #[derive(Default)]
    pub struct SonarHeader {
        /// The time of sending, CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// The number of echoes that follow: count.
        pub echoes: u64,
        /// Zeros: no unit.
        pub _reserved: [u64; 6],
    }
}

impl SonarHeader {
    fn new(echoes: u64) -> Self {
        Self {
            timestamp_ns: timestamp_now_ns(),
            echoes,
            _reserved: [0; 6],
        }
    }
}

impl Header for SonarHeader {
    const NAME: &str = "Sonar";
    const TRAILING_DATA: Tail = Tail {
        name: "echoes_m",
        primitive: Primitive::F32,
    };
    const MAX_MESSAGE_BYTES: u64 = 4096;

    fn data_bytes(&self) -> u64 {
        self.echoes.saturating_mul(4)
    }

    fn validate(&self) -> Result<(), String> {
        match self._reserved {
            [0, 0, 0, 0, 0, 0] => Ok(()),
            _ => Err("reserved bytes are not 0".into()),
        }
    }
}

type Sonar = Framed<SonarHeader>;

fn sonar(echoes: &[f32]) -> Sonar {
    Sonar::new(
        SonarHeader::new(echoes.len() as u64),
        bytemuck::cast_slice(echoes),
    )
    .unwrap()
}

fn command(speed: f64) -> Value {
    Value::from([("speed", Value::from(speed)), ("gear", Value::from("low"))])
}

#[test]
fn values_arrive_as_they_were_sent() {
    let private = Private::new();
    let mut topic = private.builder::<Value>("anything").topic().unwrap();
    let values = [
        Value::Nil,
        true.into(),
        (-7).into(),
        u64::MAX.into(),
        1.5.into(),
        "text".into(),
        Value::Bytes(vec![0, 255]),
        vec![Value::from(1), Value::from("two")].into(),
        command(0.5),
        TypedArray::from_slice(&[1.5_f32, f32::INFINITY]).into(),
    ];
    for value in &values {
        topic.send(value).unwrap();
        assert_eq!(topic.recv().as_ref(), Some(value));
    }
    assert_eq!(topic.recv(), None);
    let stats = topic.stats();
    assert_eq!(
        (stats.received, stats.sent),
        (values.len() as u64, values.len() as u64)
    );
}

/// Topics of serde types, which need the feature `serde`.
#[cfg(feature = "serde")]
mod serde_types {
    use super::*;

    #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Command {
        speed: f64,
        gear: Gear,
    }

    #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Gear {
        Low,
        High,
    }

    #[test]
    fn messages_of_another_type_are_dropped_and_counted() {
        let private = Private::new();
        let mut anything = private.builder::<Value>("command").publisher().unwrap();
        let mut commands = private
            .builder::<Serde<Command>>("command")
            .subscriber()
            .unwrap();
        let mut lone = private
            .builder::<Serde<Command>>("command")
            .subscriber()
            .unwrap();
        anything.send(command(1.0)).unwrap();
        for nonsense in [
            Value::Nil,
            "speed".into(),
            command(f64::NAN),
            Value::from([("speed", 1)]),
        ] {
            anything.send(nonsense).unwrap();
        }
        let high = [
            ("gear", Value::from("high")),
            ("speed", 2.0.into()),
            ("more", 1.into()),
        ];
        anything.send(Value::from(high)).unwrap();

        assert_eq!(
            commands.recv().unwrap().0,
            Command {
                speed: 1.0,
                gear: Gear::Low
            }
        );
        assert!(commands.recv().unwrap().speed.is_nan());
        assert_eq!(commands.recv().unwrap().gear, Gear::High);
        assert!(commands.recv().is_none());
        let stats = commands.stats();
        assert_eq!(
            (stats.received, stats.malformed, stats.lost, stats.sent),
            (3, 3, 0, 6),
            "{stats:?}"
        );

        assert_eq!(
            lone.recv_timeout(Duration::from_secs(9)).unwrap().speed,
            1.0
        );
        assert_eq!(lone.latest().unwrap().gear, Gear::High);
        let stats = lone.stats();
        assert_eq!(
            (stats.received, stats.skipped, stats.sent),
            (2, 4, 6),
            "{stats:?}"
        );
    }

    #[test]
    fn a_flood_of_nonsense_does_not_keep_a_receive_busy() {
        let private = Private::new();
        let builder = private.builder::<Value>("command").capacity(128);
        let mut anything = builder.publisher().unwrap();
        let mut commands = private
            .builder::<Serde<Command>>("command")
            .subscriber()
            .unwrap();
        for _ in 0..100 {
            anything.send(Value::Nil).unwrap();
        }
        assert!(commands.recv().is_none());
        let seen = commands.stats();
        assert!((1..100).contains(&seen.malformed), "{seen:?}");
        anything.send(command(1.0)).unwrap();
        // A waiting receive continues until it gets a message of its type.
        assert_eq!(commands.recv_blocking().unwrap().speed, 1.0);
        assert_eq!(commands.stats().malformed, 100);
        for _ in 0..50 {
            anything.send(Value::Nil).unwrap();
        }
        anything.send(command(2.0)).unwrap();
        let received = commands.recv_timeout(Duration::from_secs(60));
        assert_eq!(received.unwrap().speed, 2.0);
        // So does one that ends without such a message, and ends in time.
        for _ in 0..50 {
            anything.send(Value::Nil).unwrap();
        }
        let received = commands.recv_timeout(Duration::from_millis(1));
        assert!(received.is_err());
    }
}

#[test]
fn a_message_that_is_too_long_is_returned_with_the_sizes() {
    let private = Private::new();
    let builder = || private.builder::<Value>("short").max_message_bytes(100);
    let mut topic = builder().topic().unwrap();
    assert_eq!(topic.publisher().max_message_bytes(), 100);
    let long = Value::from("x".repeat(200));
    let error = topic.send(long.clone()).unwrap_err();
    let text = "topic 'short': a message of 202 bytes, and this publisher may send 100 at most: \
                open it with a larger max_message_bytes";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.into_inner(), long);
    // A refused message leaves no trace.
    topic.send(Value::from("short")).unwrap();
    assert_eq!(topic.recv().unwrap().as_str(), Some("short"));
    assert_eq!((topic.stats().sent, topic.publisher().sequence()), (1, 1));

    // The limit is that of one publisher, and the subscriber has none.
    let mut longer = builder().max_message_bytes(202).publisher().unwrap();
    longer.send(&long).unwrap();
    assert_eq!(topic.recv(), Some(long));
    let longest = Value::from("x".repeat(100_000));
    let error = longer.send(&longest).unwrap_err();
    assert!(
        matches!(error, SendError::TooLong { max: 202, .. }),
        "{error}"
    );
    let mut free: Publisher<Value> = private.publisher("short", Qos::new());
    free.send(&longest).unwrap();
    assert_eq!(topic.recv(), Some(longest));
}

/// A larger limit would be refused.
#[test]
fn a_message_that_no_publisher_could_send_is_to_be_sent_in_parts() {
    let private = Private::new();
    let mut images: Publisher<Image> = private.publisher("image", Qos::new());
    let header = ImageHeader::new(10_000, 10_000, Encoding::RGB8);
    let error = images.loan(header).unwrap_err();
    let text = "topic 'image': a message of 300000128 bytes, and this publisher may send 67108800 \
                at most: no message can be longer: send it in parts";
    assert_eq!(error.to_string(), text);
    let mut values: Publisher<Value> = private.publisher("values", Qos::new());
    let error = values.send(Value::from("x".repeat(70 << 20))).unwrap_err();
    assert!(error.to_string().ends_with(": send it in parts"), "{error}");
}

#[test]
fn a_strict_endpoint_refuses_another_type_by_name() {
    let private = Private::new();
    let _commands = private.builder::<CmdVel>("cmd_vel").publisher().unwrap();
    let strict = Qos::new().strict(true);
    let error = private
        .builder::<Value>("cmd_vel")
        .qos(strict)
        .subscriber()
        .unwrap_err();
    let text = "topic 'cmd_vel' carries another message: message 'MessagePack' here, 'CmdVel' in \
                the topic";
    assert_eq!(error.to_string(), text);
    let error = private
        .builder::<Sonar>("cmd_vel")
        .qos(strict)
        .subscriber()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("message 'Sonar' here, 'CmdVel' in the topic"),
        "{error}"
    );
}

#[test]
fn a_header_and_its_data_are_written_and_read_in_place() {
    let private = Private::new();
    let mut pings = private.builder::<Sonar>("sonar").publisher().unwrap();
    let mut listeners = [0, 1].map(|_| private.builder::<Sonar>("sonar").subscriber().unwrap());
    let mut distances = Vec::new();
    for echoes in [0, 1, 1000, 1008] {
        let mut ping = pings.loan(SonarHeader::new(echoes)).unwrap();
        ping.data_as_mut::<f32>().unwrap().fill(echoes as f32);
        let written = ping.data().as_ptr().addr();
        ping.publish().unwrap();
        let read = listeners
            .each_mut()
            .map(|listener| listener.borrow().unwrap().unwrap());
        for ping in &read {
            assert_eq!(
                ping.data_as::<f32>().unwrap(),
                vec![echoes as f32; echoes as usize]
            );
            assert_eq!((ping.echoes, ping.copied() == *ping), (echoes, true));
            distances.push(ping.data().as_ptr().addr().wrapping_sub(written));
        }
        assert_eq!(
            read[0].data().as_ptr(),
            read[1].data().as_ptr(),
            "both read the same bytes"
        );
    }
    assert!(distances.iter().all(|&distance| distance == distances[0]));
    let mut limited = private
        .builder::<Sonar>("sonar")
        .max_message_bytes(4096)
        .publisher()
        .unwrap();
    let too_long = limited.loan(SonarHeader::new(1009)).unwrap_err();
    let topic = too_long.topic();
    assert_eq!(
        too_long,
        LoanError::TooLong {
            topic,
            bytes: 64 + 4 * 1009,
            max: 4096
        }
    );
    assert_eq!(topic.name(), Some("sonar"));
    // A publisher without a limit of its own makes its slots longer.
    assert_eq!(
        pings.loan(SonarHeader::new(1009)).unwrap().data().len(),
        4036
    );
}

#[test]
fn a_loan_may_become_shorter_but_not_longer() {
    let private = Private::new();
    let mut topic = private.builder::<Sonar>("sonar").topic().unwrap();
    let mut ping = topic.loan(SonarHeader::new(100)).unwrap();
    ping.data_as_mut::<f32>().unwrap().fill(0.5);
    ping.header_mut().echoes = 3;
    ping.publish().unwrap();
    assert_eq!(topic.recv().unwrap().data_as::<f32>().unwrap(), [0.5; 3]);

    let mut ping = topic.loan(SonarHeader::new(3)).unwrap();
    ping.header_mut().echoes = 4;
    let error = ping.publish().unwrap_err().to_string();
    let text = "topic 'sonar': the message cannot be encoded: the header of the Sonar announces 16 \
                bytes of data, but there are 12";
    assert_eq!(error, text);
    let mut ping = sonar(&[1.0]);
    ping.header_mut()._reserved[0] = 1;
    let error = topic.send(&ping).unwrap_err().to_string();
    assert!(
        error.ends_with("contradicts itself: reserved bytes are not 0"),
        "{error}"
    );
    assert_eq!(topic.recv(), None);
    assert!(matches!(
        Sonar::new(SonarHeader::new(2), &[0; 7]),
        Err(HeaderError::Length { .. })
    ));
    assert!(matches!(
        Sonar::zeroed(SonarHeader::new(u64::MAX)),
        Err(HeaderError::TooLong { .. })
    ));
}

/// Every message of a hostile publisher is either received or counted, and no view exceeds it.
#[test]
fn a_message_with_a_wrong_header_is_dropped_and_counted() {
    let private = Private::new();
    let mut honest = private.builder::<Sonar>("sonar").publisher().unwrap();
    let mut borrowing = private.builder::<Sonar>("sonar").subscriber().unwrap();
    let mut copying = private.builder::<Sonar>("sonar").subscriber().unwrap();
    let mut liar = private.raw_producer::<Sonar>("sonar");
    let mut lie = |header: SonarHeader, bytes: usize| {
        let mut loan = liar.loan().unwrap();
        loan.bytes_mut()[..64].copy_from_slice(bytemuck::bytes_of(&header));
        loan.publish(bytes).unwrap();
    };
    lie(SonarHeader::new(5), 64 + 19);
    lie(SonarHeader::new(u64::MAX / 2), 4096);
    lie(
        SonarHeader {
            _reserved: [9; 6],
            ..SonarHeader::new(0)
        },
        64,
    );
    lie(SonarHeader::new(0), 63);
    lie(SonarHeader::new(0), 0);
    // Bytes beyond the header's length are ignored.
    lie(SonarHeader::new(1), 100);
    honest.send(&sonar(&[1.0, 2.0])).unwrap();
    let mut lengths: Vec<_> = std::iter::from_fn(|| copying.recv())
        .map(|s| s.data().len())
        .collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [4, 8]);
    let mut lengths = Vec::new();
    while let Some(ping) = borrowing.borrow().unwrap() {
        lengths.push(ping.data().len());
    }
    lengths.sort_unstable();
    assert_eq!(lengths, [4, 8]);
    for stats in [copying.stats(), borrowing.stats()] {
        assert_eq!(
            (stats.received, stats.malformed, stats.sent),
            (2, 5, 7),
            "{stats:?}"
        );
    }
}

#[test]
fn the_newest_message_is_borrowed_and_older_ones_are_skipped() {
    let private = Private::new();
    let mut pings = [0, 1].map(|_| private.builder::<Sonar>("sonar").publisher().unwrap());
    let mut listener = private.builder::<Sonar>("sonar").subscriber().unwrap();
    for time in 1..=10 {
        let header = SonarHeader {
            timestamp_ns: time,
            ..SonarHeader::new(0)
        };
        pings[time as usize % 2]
            .send(&Sonar::new(header, &[]).unwrap())
            .unwrap();
    }
    let newest: FramedSample<_> = listener.borrow_latest().unwrap().unwrap();
    assert_eq!((newest.timestamp_ns, newest.sequence()), (10, 5));
    assert!(listener.borrow_latest().unwrap().is_none());
    let stats = listener.stats();
    assert_eq!(
        (stats.received, stats.skipped, stats.sent),
        (1, 9, 10),
        "{stats:?}"
    );

    let mut observer = private.builder::<Sonar>("sonar").observer().unwrap();
    assert!(matches!(
        observer.borrow(),
        Err(BorrowError::Observer { .. })
    ));
    pings[0].send(&sonar(&[7.0])).unwrap();
    assert_eq!(observer.recv().unwrap().data_as::<f32>().unwrap(), [7.0]);
}

/// A received message keeps its memory when the next one comes.
#[test]
fn a_received_message_keeps_its_memory() {
    let private = Private::new();
    let mut topic = private.builder::<Sonar>("sonar").topic().unwrap();
    let mut received = Vec::new();
    for number in 0..100_u16 {
        topic
            .send(&sonar(&vec![f32::from(number); usize::from(number)]))
            .unwrap();
        received.extend(topic.recv());
    }
    for (number, ping) in received.iter().enumerate() {
        assert_eq!(ping.data_as::<f32>().unwrap(), vec![number as f32; number]);
    }
}

#[test]
fn waits_and_tasks_work_with_sized_messages() {
    let private = Private::new();
    let mut publisher = private.builder::<Value>("late").publisher().unwrap();
    let mut subscriber = private.builder::<Value>("late").subscriber().unwrap();
    let mut set = WaitSet::new();
    set.add(&subscriber).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..3 {
                std::thread::sleep(Duration::from_millis(20));
                publisher.send(Value::from(number)).unwrap();
            }
        });
        assert_eq!(set.wait_blocking().unwrap().len(), 1);
        assert_eq!(subscriber.recv().unwrap().as_i64(), Some(0));
        #[cfg(feature = "async")]
        let second = pollster::block_on(subscriber.recv_async()).unwrap();
        #[cfg(not(feature = "async"))]
        let second = subscriber.recv_blocking().unwrap();
        assert_eq!(second.as_i64(), Some(1));
        assert_eq!(subscriber.iter().next().unwrap().as_i64(), Some(2));
    });
}

#[test]
fn a_send_waits_for_room_on_a_reliable_topic() {
    let private = Private::new();
    let builder = || {
        private
            .builder::<Value>("reliable")
            .qos(Qos::reliable().capacity(4))
    };
    let mut publisher = builder().publisher().unwrap();
    let mut subscriber = builder().subscriber().unwrap();
    let mut sent = 0_i64;
    while publisher.send(Value::from(sent)).is_ok() {
        sent += 1;
        assert!(sent < 100, "never full");
    }
    let refused = publisher.send_timeout(Value::from(sent), Duration::from_millis(5));
    assert!(refused.unwrap_err().is_full());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(subscriber.recv().unwrap().as_i64(), Some(0));
        });
        publisher
            .send_timeout(Value::from(sent), Duration::from_secs(30))
            .unwrap();
    });
    let rest: Vec<_> = subscriber
        .try_iter()
        .map(|value| value.as_i64().unwrap())
        .collect();
    assert_eq!(rest, (1..=sent).collect::<Vec<_>>());
}

/// A loan is lent, published and borrowed at the same cost for every size: nothing is copied.
#[test]
fn eight_mebibytes_cost_no_more_than_four_kibibytes() {
    const ROUNDS: usize = 2000;
    let private = Private::new();
    let topics = [("small", 4096), ("large", 8 << 20)].map(|(name, bytes)| {
        let builder = private.builder::<Sonar>(name).max_message_bytes(bytes);
        (builder.capacity(4).topic().unwrap(), (bytes - 64) / 4)
    });
    let mut times = [const { Vec::new() }; 2];
    let mut topics = topics;
    for _ in 0..ROUNDS {
        for ((topic, echoes), times) in topics.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            topic
                .loan(SonarHeader::new(*echoes))
                .unwrap()
                .publish()
                .unwrap();
            let sample = topic.borrow().unwrap().unwrap();
            assert_eq!(sample.echoes, *echoes);
            drop(sample);
            times.push(begin.elapsed());
        }
    }
    let [small, large] = times.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2]
    });
    println!("RESULT big-payloads: 4 KiB {small:?}, 8 MiB {large:?}, medians of {ROUNDS}");
    assert!(
        large < 2 * small,
        "4 KiB took {small:?}, 8 MiB took {large:?}"
    );
}

#[test]
fn the_schema_is_stored_with_the_tail() {
    let schema = horus_core::message::Schema::parse(&Sonar::SCHEMA.text()).unwrap();
    assert_eq!(
        (schema.name.as_str(), schema.size),
        ("Sonar", size_of::<SonarHeader>())
    );
    assert_eq!(schema.tail.unwrap().name, "echoes_m");
    assert_ne!(Sonar::SCHEMA.hash(), SonarHeader::HASH);
    let private = Private::new();
    let _topic = private.builder::<Sonar>("sonar").publisher().unwrap();
    let view = Inspector::open_in(private.namespace(), "sonar").unwrap();
    assert_eq!(view.schema(), Sonar::SCHEMA.text());
}
