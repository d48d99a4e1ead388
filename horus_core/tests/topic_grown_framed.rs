//! Messages whose data have any length, in versions with more and fewer fields in front of them.

use horus_testing as _;

mod heap;
mod private;

use heap::allocator_calls;
use horus_core::message::{Framed, Header, Message, Primitive, Tail, Zeroable as _};
use horus_core::topic::{DynamicType, Publisher, Qos, Subscriber};
use private::Private;

/// Declares a version of the message `Sonar`.
macro_rules! version {
    ($module:ident { $($fields:tt)* }) => {
        mod $module {
            horus_core::message! {
                /// The fields in front of the strengths.
                pub struct SonarHeader {
                    pub timestamp_ns: u64,
                    pub echoes: u32,
                    $($fields)*
                }
            }
        }

        impl Header for $module::SonarHeader {
            const NAME: &str = "Sonar";
            const TRAILING_DATA: Tail = Tail {
                name: "strengths",
                primitive: Primitive::F32,
            };
            const MAX_MESSAGE_BYTES: u64 = 1024;

            fn data_bytes(&self) -> u64 {
                u64::from(self.echoes) * 4
            }
        }
    };
}

version! { v1 { pub gain: f32, pub _reserved: [u8; 48], } }
// A field in place of padding.
version! { v2 { pub gain: f32, pub speed: f32 = 343.0, pub _reserved: [u8; 44], } }
// Another one, which needs a longer header.
version! { v3 { pub gain: f32, pub speed: f32 = 343.0, pub matrix: [f32; 27], } }

type Sonar<H> = Framed<H>;

fn data(count: u32) -> Vec<f32> {
    (0..count).map(|index| index as f32 + 0.5).collect()
}

fn sonar<H: Header>(header: H, count: u32) -> Sonar<H> {
    Sonar::from_elements(header, &data(count)).unwrap()
}

fn v1(number: u64, echoes: u32) -> Sonar<v1::SonarHeader> {
    let header = v1::SonarHeader {
        timestamp_ns: number,
        echoes,
        gain: 2.0,
        ..v1::SonarHeader::zeroed()
    };
    sonar(header, echoes)
}

fn v2(number: u64, echoes: u32) -> Sonar<v2::SonarHeader> {
    let header = v2::SonarHeader {
        timestamp_ns: number,
        echoes,
        gain: 4.0,
        speed: 1500.0,
        ..v2::SonarHeader::zeroed()
    };
    sonar(header, echoes)
}

fn v3(number: u64, echoes: u32) -> Sonar<v3::SonarHeader> {
    let header = v3::SonarHeader {
        timestamp_ns: number,
        echoes,
        gain: 8.0,
        speed: 1600.0,
        matrix: [1.0; 27],
    };
    sonar(header, echoes)
}

/// Lengths of messages: empty, short, as long as the first slots, longer than these.
const ECHOES: [u32; 5] = [0, 1, 17, 240, 5000];

/// Sends one message of each length, and returns those that are received.
fn received<S: Header, R: Header>(
    private: &Private,
    topic: &str,
    send: impl Fn(u64, u32) -> Sonar<S>,
) -> Vec<(R, Vec<f32>, usize)> {
    let mut subscriber: Subscriber<Sonar<R>> = private.subscriber(topic, Qos::new());
    let mut publisher: Publisher<Sonar<S>> = private.publisher(topic, Qos::new());
    let mut all = Vec::new();
    for (number, echoes) in (1..).zip(ECHOES) {
        // Received in turn by a copy, in place, and as the newest one.
        publisher.send(send(number, echoes)).unwrap();
        let copy = subscriber.recv().expect("a copy");
        let head = copy.header();
        let strengths = copy.data_as::<f32>().unwrap().to_vec();
        all.push((*head, strengths, subscriber.received_bytes()));
        publisher.send(send(number, echoes)).unwrap();
        let sample = subscriber.borrow().unwrap().expect("a sample");
        assert_eq!(bytes(sample.header()), bytes(copy.header()));
        assert_eq!(sample.data().to_vec(), copy.data());
        publisher.send(send(number, echoes)).unwrap();
        let latest = subscriber.latest().expect("the newest");
        assert_eq!(latest, copy);
        publisher.send(send(number, echoes)).unwrap();
        let newest = subscriber.borrow_latest().unwrap();
        assert_eq!(newest.expect("the newest").data().to_vec(), copy.data());
    }
    let stats = subscriber.stats();
    assert_eq!((stats.received, stats.lost, stats.malformed), (20, 0, 0));
    all
}

fn bytes<H: Message>(header: &H) -> &[u8] {
    bytemuck::bytes_of(header)
}

#[test]
fn fields_in_place_of_padding_have_defaults() {
    let private = Private::new();
    for (number, (header, strengths, came)) in
        (1..).zip(received::<_, v2::SonarHeader>(&private, "t", v1))
    {
        let echoes = ECHOES[number as usize - 1];
        assert_eq!((header.timestamp_ns, header.echoes), (number, echoes));
        assert_eq!((header.gain, header.speed), (2.0, 343.0));
        assert_eq!(header._reserved, [0; 44]);
        assert_eq!(strengths, data(echoes));
        assert_eq!(came, 16 + 4 * echoes as usize);
    }
    for (header, strengths, came) in received::<_, v1::SonarHeader>(&private, "u", v2) {
        assert_eq!(
            (header.gain, strengths.len()),
            (4.0, header.echoes as usize)
        );
        assert_eq!(strengths, data(header.echoes));
        assert_eq!(came, 64 + 4 * strengths.len(), "read in place");
    }
}

#[test]
fn data_follow_a_longer_or_shorter_header() {
    let private = Private::new();
    for (header, strengths, came) in received::<_, v3::SonarHeader>(&private, "t", v1) {
        assert_eq!((header.gain, header.speed), (2.0, 343.0));
        assert_eq!(header.matrix, [0.0; 27]);
        assert_eq!(strengths, data(header.echoes));
        assert_eq!(came, 16 + 4 * strengths.len());
    }
    for (header, strengths, _) in received::<_, v3::SonarHeader>(&private, "u", v2) {
        assert_eq!((header.gain, header.speed), (4.0, 1500.0));
        assert_eq!(strengths, data(header.echoes));
    }
    for (header, strengths, came) in received::<_, v1::SonarHeader>(&private, "v", v3) {
        assert_eq!(header.gain, 8.0);
        assert_eq!(header._reserved, [0; 48]);
        assert_eq!(strengths, data(header.echoes));
        assert_eq!(came, 16 + 4 * strengths.len());
    }
    for (header, strengths, came) in received::<_, v2::SonarHeader>(&private, "w", v3) {
        assert_eq!((header.gain, header.speed), (8.0, 1600.0));
        assert_eq!(strengths, data(header.echoes));
        assert_eq!(came, 20 + 4 * strengths.len());
    }
}

/// A borrowed message of another version outlives its slot and its subscriber.
#[test]
fn a_borrowed_message_of_another_version_is_a_copy() {
    let private = Private::new();
    let mut subscriber: Subscriber<Sonar<v3::SonarHeader>> = private.subscriber("t", Qos::new());
    let qos = Qos::new().capacity(4);
    let mut publisher: Publisher<Sonar<v1::SonarHeader>> = private.publisher("t", qos);
    publisher.send(v1(1, 20)).unwrap();
    let sample = subscriber.borrow().unwrap().expect("a message");
    for number in 2..30 {
        publisher.send(v1(number, 20)).unwrap();
    }
    drop((subscriber, publisher));
    assert_eq!((sample.timestamp_ns, sample.speed), (1, 343.0));
    assert_eq!(sample.data().len(), 80);
}

/// Subscribers whose type is known only at run time get the same bytes; buffers may be short.
#[test]
fn bytes_of_another_version_are_cut_like_others() {
    let private = Private::new();
    let kind = DynamicType::of::<Sonar<v3::SonarHeader>>();
    let parsed = DynamicType::parse(kind.schema_text()).unwrap();
    let mut publisher: Publisher<Sonar<v1::SonarHeader>> = private.publisher("t", Qos::new());
    let builder = parsed.builder("t").namespace(private.namespace());
    let mut subscriber = builder.subscriber().unwrap();
    let mut whole = Vec::new();
    let full = 128 + 4 * 30;
    for room in [0, 8, 64, 100, 128, 130, full - 1, full, full + 9] {
        publisher.send(v1(1, 30)).unwrap();
        publisher.send(v1(1, 30)).unwrap();
        whole.clear();
        whole.extend(subscriber.recv_bytes().expect("a message"));
        assert_eq!(whole.len(), full);
        let mut buffer = vec![0; room];
        let length = subscriber.recv_into(&mut buffer).expect("a message");
        // WHY not more: a message that was cut before its head was replaced has less data.
        assert!(length <= room.min(full), "{length} bytes in {room}");
        assert_eq!(buffer[..length], whole[..length], "{room}");
        if room >= full {
            assert_eq!(length, full);
        }
    }
    publisher.send(v1(1, 30)).unwrap();
    assert_eq!(subscriber.recv_length(), Some(full));
    assert!(subscriber.max_message_bytes() >= 1024 + 64);
}

/// Other data, or data called otherwise, are another message.
#[test]
fn the_data_belong_to_the_message() {
    let text = DynamicType::of::<Sonar<v1::SonarHeader>>();
    let longer = DynamicType::of::<Sonar<v2::SonarHeader>>();
    let longer = longer.schema_text();
    for (changed, matches) in [
        (longer.to_owned(), true),
        (
            longer.replace("tail strengths f32", "tail strengths i32"),
            false,
        ),
        (longer.replace("tail strengths", "tail echo"), false),
    ] {
        let private = Private::new();
        let kind = DynamicType::parse(&changed).unwrap();
        let builder = kind.builder("t").namespace(private.namespace());
        let mut subscriber = builder.subscriber().unwrap();
        let mut publisher: Publisher<Sonar<v1::SonarHeader>> = private.publisher("t", Qos::new());
        publisher.send(v1(1, 3)).unwrap();
        assert_eq!(subscriber.recv_bytes().is_some(), matches, "{changed}");
        assert_eq!(subscriber.check().is_ok(), matches);
        assert_ne!(text.schema_text(), changed);
    }
}

/// The memory of a copy is used again when its sample was dropped, and by polls without a message.
#[test]
fn borrowed_copies_use_their_memory_again() {
    let private = Private::new();
    let mut subscriber: Subscriber<Sonar<v3::SonarHeader>> = private.subscriber("t", Qos::new());
    let mut publisher: Publisher<Sonar<v1::SonarHeader>> = private.publisher("t", Qos::new());
    // The first message needs new memory.
    publisher.send(v1(0, 20)).unwrap();
    assert!(subscriber.borrow().unwrap().is_some());
    for number in 1..100 {
        publisher.send(v1(number, 20)).unwrap();
        let before = allocator_calls();
        let sample = subscriber.borrow().unwrap().expect("a message");
        assert_eq!((sample.timestamp_ns, sample.speed), (number, 343.0));
        drop(sample);
        assert!(subscriber.borrow().unwrap().is_none());
        assert!(subscriber.borrow_latest().unwrap().is_none());
        assert_eq!(allocator_calls(), before, "message {number}");
    }
    // Samples that are kept have memory of their own, also after the next ones.
    (1..20).for_each(|number| publisher.send(v1(number, number as u32)).unwrap());
    let mut kept = Vec::new();
    for number in 1..20 {
        let sample = subscriber.borrow().unwrap().expect("a message");
        kept.push((number, sample));
        if kept.len() > 3 {
            kept.swap_remove(number as usize % 3);
        }
        for (number, sample) in &kept {
            assert_eq!(sample.timestamp_ns, *number);
            assert_eq!(sample.data().len(), *number as usize * 4);
        }
    }
}

/// Another publisher whose slots have grown far does not make the copies longer.
#[test]
fn a_borrowed_copy_is_as_long_as_the_slots_of_its_lane() {
    let private = Private::new();
    let mut subscriber: Subscriber<Sonar<v3::SonarHeader>> = private.subscriber("t", Qos::new());
    let mut publisher: Publisher<Sonar<v1::SonarHeader>> = private.publisher("t", Qos::new());
    let mut grown: Publisher<Sonar<v3::SonarHeader>> = private.publisher("t", Qos::new());
    grown.send(v3(1, 1 << 20)).unwrap();
    assert!(subscriber.recv().is_some());
    publisher.send(v1(2, 20)).unwrap();
    let (sample, bytes) = heap::peak(|| subscriber.borrow().unwrap().expect("a message"));
    assert_eq!((sample.timestamp_ns, sample.data().len()), (2, 80));
    assert!(bytes < 1 << 16, "{bytes} bytes were allocated");
}
