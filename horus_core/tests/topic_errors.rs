//! Errors of a topic's endpoints name the topic once, also when `?` passes them on.

use horus_testing as _;

mod private;

use std::fmt::Display;
use std::fs;
use std::time::Duration;

use horus_core::Error;
use horus_core::OpenError;
use horus_core::actor::AskError;
use horus_core::log::LogError;
use horus_core::message::import::Importer;
use horus_core::message::{Encoding, Image, ImageHeader};
use horus_core::namespace::{Namespace, NamespaceConfig, NamespaceError, NamespaceName};
use horus_core::prelude::*;
use horus_core::scheduler::Rate;
use horus_core::topic::{DynamicBuilder, DynamicPublisher, DynamicSubscriber, DynamicType};
use private::Private;

/// The topic of each test. Its file has another name: `arm+joint.cmd`.
const NAME: &str = "arm/joint.cmd";

/// The size of a message for a lane of a few MiB.
const BLOCK_BYTES: usize = 4096;

horus_core::message! {
    /// A block of data.
    pub struct Block {
        /// Bytes of any value.
        pub data: [u8; BLOCK_BYTES],
    }
}

/// Returns the text of an error, which [`Error`] shows as well, also if `main` returns it.
fn text<E: Display + Into<Error>>(error: E) -> String {
    let text = error.to_string();
    let error: Error = error.into();
    assert_eq!(error.to_string(), text);
    assert_eq!(format!("{error:?}"), text);
    text
}

/// The errors of the system alone do not say what to do.
#[test]
fn errors_of_the_system_come_with_advice() {
    let texts_of = |number: i32| {
        let source = || std::io::Error::from_raw_os_error(number);
        let (doing, operation) = ("open", "sizing");
        let path = || "/a/b".into();
        let (directory, file) = (path(), path());
        [
            text(NamespaceError::Io {
                doing,
                path: directory,
                source: source(),
            }),
            OpenError::Io {
                operation,
                path: file,
                source: source(),
            }
            .to_string(),
        ]
    };
    for (number, advice) in [
        (libc::EMFILE, ": raise the limit of open files (ulimit -n)"),
        (libc::EFBIG, ": raise the limit of file sizes (ulimit -f)"),
    ] {
        for text in texts_of(number) {
            assert!(text.ends_with(advice), "{text}");
        }
    }
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let missing = dir.path().join("none");
    let config = NamespaceConfig::new(missing.join("horus"), NamespaceName::default());
    let text = text(Namespace::open(&config).unwrap_err());
    let advice = ": make it first (mkdir -p), or set HORUS_SHM_DIR to another";
    assert!(text.ends_with(advice), "{text}");
    assert!(text.contains(missing.to_str().unwrap()), "{text}");
}

/// Returns the text by which `main` shows the error that it returns.
fn text_of_main<E: std::fmt::Debug + Display + Into<Error>>(error: E) -> String {
    let text = format!("{error:?}");
    assert_eq!(text, error.to_string());
    assert_eq!(format!("{:?}", error.into()), text);
    text
}

#[test]
fn an_error_that_main_returns_is_a_sentence() {
    let imported = Importer::new().bound("Leg.b", 4).parse("Leg", "int32 a\n");
    let texts = [
        text_of_main(LogError::AlreadyOpen),
        text_of_main(Rate::hz(-1.0).check().unwrap_err()),
        text_of_main(Scheduler::new().run().unwrap_err()),
        text_of_main(Error::from(NamespaceError::from(
            NamespaceName::new("a/b").unwrap_err(),
        ))),
        text_of_main(AskError::NoAnswer),
        text_of_main(imported.unwrap_err()),
    ];
    for text in texts {
        assert!(text.split(' ').count() > 4, "{text}");
    }
}

/// Checks that each text begins with the topic, names it once, and contains its part of `wanted`.
fn expect(texts: &[String], wanted: &[&str]) {
    assert_eq!(texts.len(), wanted.len(), "{texts:#?}");
    for (text, wanted) in texts.iter().zip(wanted) {
        assert_eq!(text.matches("topic 'arm/joint.cmd'").count(), 1, "{text}");
        assert!(text.starts_with("topic 'arm/joint.cmd': "), "{text}");
        assert!(text.contains(wanted), "no '{wanted}' in: {text}");
        assert!(!text.ends_with('.'), "{text}");
    }
}

/// Runs `child` in a forked child, and returns the lines that it returns.
fn texts_of_child(private: &Private, child: impl FnOnce() -> Vec<String>) -> Vec<String> {
    let file = private.namespace().path().join("texts");
    // SAFETY: the child leaves by `_exit`, and only runs code that may run in a forked child.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        let run = std::panic::AssertUnwindSafe(|| fs::write(&file, child().join("\n")).unwrap());
        let is_well = std::panic::catch_unwind(run).is_ok();
        // SAFETY: the call ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(i32::from(!is_well)) };
    }
    let mut status = 0;
    // SAFETY: `pid` is a child of this process, and `status` is valid for the write.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "the child failed");
    fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Returns a publisher of bytes, as bindings use it.
fn bytes_publisher(private: &Private) -> DynamicPublisher {
    let builder = DynamicType::of::<Value>()
        .builder(NAME)
        .namespace(private.namespace());
    builder.publisher().unwrap()
}

/// Returns the builder of endpoints that take the type of the topic.
fn adopting(private: &Private) -> DynamicBuilder {
    DynamicBuilder::for_existing_topic(NAME).namespace(private.namespace())
}

#[test]
fn a_full_topic_is_named_by_every_way_to_send() {
    let private = Private::new();
    let qos = Qos::reliable().capacity(4).pinnable(true);
    let mut publisher: Publisher<CmdVel> = private.publisher(NAME, qos);
    let mut untyped = adopting(&private).qos(qos).publisher().unwrap();
    let _subscriber: Subscriber<CmdVel> = private.subscriber(NAME, qos);
    let message = CmdVel::default();
    let timeout = Duration::from_millis(2);
    while publisher.send(message).is_ok() {}
    while untyped.send_bytes(bytemuck::bytes_of(&message)).is_ok() {}
    let bytes = bytemuck::bytes_of(&message);
    let texts = [
        text(publisher.send(message).unwrap_err()),
        text(publisher.send(&message).unwrap_err()),
        text(publisher.send_timeout(message, timeout).unwrap_err()),
        text(publisher.loan().unwrap_err()),
        text(untyped.send_bytes(bytes).unwrap_err()),
        text(untyped.send_bytes_timeout(bytes, timeout).unwrap_err()),
        text(untyped.lend().unwrap_err()),
    ];
    expect(
        &texts,
        &["all slots of this publisher contain messages that a reliable subscriber has not read";
            7],
    );
}

#[test]
fn a_message_that_does_not_fit_names_the_topic() {
    let private = Private::new();
    let mut values: Publisher<Value> = private
        .builder(NAME)
        .max_message_bytes(64)
        .publisher()
        .unwrap();
    let builder = DynamicType::of::<Value>().builder(NAME);
    let builder = builder.namespace(private.namespace()).max_message_bytes(64);
    let mut bytes = builder.publisher().unwrap();
    let mut untyped = adopting(&private)
        .max_message_bytes(64)
        .publisher()
        .unwrap();
    let long = Value::from("x".repeat(100));
    bytes.lend().unwrap();
    untyped.lend().unwrap();
    let texts = [
        text(bytes.publish_lent(65).unwrap_err()),
        text(bytes.send_bytes(&[0; 65]).unwrap_err()),
        text(
            bytes
                .send_bytes_timeout(&[0; 65], Duration::ZERO)
                .unwrap_err(),
        ),
        text(values.send(&long).unwrap_err()),
        text(untyped.publish_lent(65).unwrap_err()),
        text(untyped.send_bytes(&[0; 65]).unwrap_err()),
    ];
    expect(
        &texts,
        &["bytes, and this publisher may send 64 at most"; 6],
    );
}

#[test]
fn a_frame_that_does_not_fit_names_the_topic() {
    let private = Private::new();
    let mut frames: Publisher<Image> = private
        .builder(NAME)
        .max_message_bytes(1024)
        .publisher()
        .unwrap();
    let header = ImageHeader::new(100, 100, Encoding::MONO8);
    let image = Image::new(header, &[0; 100 * 100]).unwrap();
    let texts = [
        text(frames.loan(header).unwrap_err()),
        text(frames.send(&image).unwrap_err()),
    ];
    expect(&texts, &["and this publisher may send 1024 at most"; 2]);
}

#[test]
fn a_message_that_cannot_be_encoded_names_the_topic() {
    let private = Private::new();
    let _publisher: Publisher<CmdVel> = private.publisher(NAME, Qos::new());
    let mut untyped = DynamicPublisher::open(private.namespace(), NAME).unwrap();
    let unknown = Value::from_iter([("speed", 1.0)]);
    let texts = [
        text(untyped.send(&unknown).unwrap_err()),
        text(untyped.send_bytes(&[0; 3]).unwrap_err()),
    ];
    expect(
        &texts,
        &["speed", "3 bytes, and messages of the topic have"],
    );
}

#[test]
fn a_topic_whose_messages_are_copied_is_named_by_loans_and_borrows() {
    let private = Private::new();
    let mut topic: Topic<CmdVel> = private.builder(NAME).topic().unwrap();
    let mut untyped = DynamicPublisher::open(private.namespace(), NAME).unwrap();
    let texts = [
        text(topic.loan().unwrap_err()),
        text(topic.borrow().unwrap_err()),
        text(topic.borrow_latest().unwrap_err()),
        text(untyped.lend().unwrap_err()),
    ];
    expect(&texts, &["publisher are copied: open"; 4]);
}

#[test]
fn a_loan_that_has_ended_names_the_topic() {
    let private = Private::new();
    let mut bytes = bytes_publisher(&private);
    expect(
        &[text(bytes.publish_lent(1).unwrap_err())],
        &["nothing is on loan"],
    );
}

#[test]
fn borrows_that_are_refused_name_the_topic() {
    let private = Private::new();
    let qos = Qos::new().capacity(4).pinnable(true);
    let mut publisher: Publisher<CmdVel> = private.publisher(NAME, qos);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber(NAME, qos);
    let mut observer: Subscriber<CmdVel> = private.builder(NAME).observer().unwrap();
    let mut kept = Vec::new();
    let refused = loop {
        publisher.send(CmdVel::default()).unwrap();
        match subscriber.borrow() {
            Ok(message) => kept.push(message.unwrap()),
            Err(refused) => break refused,
        }
    };
    let texts = [text(refused), text(observer.borrow().unwrap_err())];
    expect(
        &texts,
        &[
            "this subscriber holds 3 messages",
            "an observer cannot hold messages",
        ],
    );
}

#[test]
fn a_receive_that_times_out_names_the_topic() {
    let private = Private::new();
    let mut subscriber: Subscriber<CmdVel> = private.subscriber(NAME, Qos::new());
    let mut topic: Topic<CmdVel> = private.builder(NAME).topic().unwrap();
    let mut untyped = DynamicSubscriber::open(private.namespace(), NAME).unwrap();
    let timeout = Duration::from_millis(1);
    let texts = [
        text(subscriber.recv_timeout(timeout).unwrap_err()),
        text(topic.recv_timeout(timeout).unwrap_err()),
        text(
            untyped
                .recv_into_timeout(&mut [0; 64], timeout)
                .unwrap_err(),
        ),
    ];
    expect(&texts, &["no message came in time"; 3]);
    assert!(
        texts.iter().all(|text| text.ends_with(" in time")),
        "{texts:?}"
    );
    // Otherwise a misspelt name looks like a slow publisher.
    drop(topic);
    let texts = [
        text(subscriber.recv_timeout(timeout).unwrap_err()),
        text(
            untyped
                .recv_into_timeout(&mut [0; 64], timeout)
                .unwrap_err(),
        ),
    ];
    let silent = "no message came in time, and the topic has no publisher: start it, or compare \
                  the names";
    expect(&texts, &[silent; 2]);
}

#[test]
fn a_topic_that_was_inherited_through_fork_is_named() {
    let private = Private::new();
    let qos = Qos::new().pinnable(true);
    let mut publisher: Publisher<CmdVel> = private.publisher(NAME, qos);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber(NAME, qos);
    let untyped = DynamicSubscriber::open(private.namespace(), NAME).unwrap();
    let message = CmdVel::default();
    let texts = texts_of_child(&private, || {
        vec![
            text(publisher.send(message).unwrap_err()),
            text(publisher.send_timeout(message, Duration::ZERO).unwrap_err()),
            text(publisher.loan().unwrap_err()),
            text(subscriber.check().unwrap_err()),
            text(subscriber.recv_timeout(Duration::ZERO).unwrap_err()),
            text(subscriber.recv_blocking().unwrap_err()),
            text(untyped.check().unwrap_err()),
        ]
    });
    expect(&texts, &["the handle belongs to the parent process"; 7]);
}

#[test]
fn a_topic_that_lost_its_memory_is_named() {
    let private = Private::new();
    let qos = Qos::new().pinnable(true);
    let mut publisher: Publisher<CmdVel> = private.publisher(NAME, qos);
    let mut subscriber: Subscriber<CmdVel> = private.subscriber(NAME, qos);
    let message = CmdVel::default();
    publisher.send(message).unwrap();
    let file = private.namespace().topics_path().join("arm+joint.cmd");
    fs::File::options()
        .write(true)
        .truncate(true)
        .open(file)
        .unwrap();
    let texts = [
        text(publisher.send(message).unwrap_err()),
        text(publisher.send_timeout(message, Duration::ZERO).unwrap_err()),
        text(publisher.loan().unwrap_err()),
        text(subscriber.check().unwrap_err()),
        text(subscriber.recv_timeout(Duration::ZERO).unwrap_err()),
        text(subscriber.recv_blocking().unwrap_err()),
    ];
    expect(&texts, &["memory is lost"; 6]);
}

/// Limits the address space of this process to 1 MiB more than it uses.
fn limit_addresses() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:"))
        .unwrap();
    let used_kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let limit = (used_kib + 1024) * 1024;
    let raw = libc::rlimit {
        rlim_cur: limit,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: `raw` is a limit that outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw) }, 0);
}

#[test]
fn a_lane_that_cannot_be_mapped_names_the_topic() {
    let private = Private::new();
    let texts = texts_of_child(&private, || {
        // In a namespace of the child's own, because the parent's cannot be used here.
        let private = Private::new();
        let qos = Qos::new().capacity(1024);
        let mut subscriber: Subscriber<Block> = private.subscriber(NAME, qos);
        // Writers and readers of one process map a lane separately.
        let mut publisher: Publisher<Block> = private.publisher(NAME, qos);
        limit_addresses();
        publisher
            .send(&Block {
                data: [7; BLOCK_BYTES],
            })
            .unwrap();
        assert!(subscriber.recv().is_none());
        vec![
            text(subscriber.check().unwrap_err()),
            text(subscriber.recv_timeout(Duration::ZERO).unwrap_err()),
            text(subscriber.recv_blocking().unwrap_err()),
            text(private.builder::<Block>(NAME).subscriber().unwrap_err()),
        ]
    });
    expect(&texts, &["bytes of publisher lane 0 cannot be mapped"; 4]);
    // There is no handle whose calls could try again if none was opened.
    let tries_again = texts.iter().map(|text| text.contains("tries again"));
    assert_eq!(tries_again.collect::<Vec<_>>(), [true, true, true, false]);
}

#[test]
fn a_message_length_that_no_publisher_can_have_names_the_setting() {
    let private = Private::new();
    let builder = private.builder::<Value>(NAME).max_message_bytes(1 << 30);
    let error = text(builder.publisher().unwrap_err());
    let wanted = "the length of a message (max_message_bytes) is 1073741824, and must be 1 byte to \
                  64 MiB less 64 bytes";
    expect(&[error], &[wanted]);
}

/// Memory is not what is missing.
#[test]
fn a_publisher_that_cannot_grow_in_a_removed_namespace_says_so() {
    let private = Private::new();
    let mut values: Publisher<Value> = private.publisher(NAME, Qos::new());
    let mut images: Publisher<Image> = private.publisher("images", Qos::new());
    fs::remove_dir_all(private.namespace().path()).unwrap();
    let long = Value::from("x".repeat(100_000));
    let texts = [
        text(values.send(&long).unwrap_err()),
        images.reserve(2 << 20).unwrap_err().to_string(),
    ];
    for text in texts {
        let wanted = "the directory of the topics was removed: drop all handles, and open the \
                      namespace again";
        assert!(text.contains(wanted), "{text}");
        assert!(!text.contains("memory"), "{text}");
    }
}
