//! Topics take the memory that the table of docs/shared-memory.md lists.

use horus_testing as _;

mod private;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use horus_core::introspect::Inspector;
use horus_core::message::Image;
use horus_core::prelude::*;
use horus_core::topic::{Payload, TopicBuilder};
use private::Private;

/// Bytes of the longest 1080p image in RGB, with room for its header.
const IMAGE_1080P: u64 = 1920 * 1080 * 3 + 1024;

/// Returns the memory that the file of `topic` takes, in KiB.
fn taken_kib(private: &Private, topic: &str) -> u64 {
    let file = private.namespace().topics_path().join(topic);
    fs::metadata(file).unwrap().blocks() * 512 / 1024
}

/// Returns the row of the table for a publisher, from the memory of its file.
fn row<T: Payload>(
    what: &str,
    qos: Qos,
    build: impl Fn(TopicBuilder<T>) -> TopicBuilder<T>,
) -> String {
    let private = Private::new();
    let publisher = build(private.builder::<T>("measured").qos(qos))
        .publisher()
        .unwrap();
    let kib = taken_kib(&private, "measured");
    let memory = match kib {
        kib if kib < 10 * 1024 => format!("{kib} KiB"),
        kib => format!("{:.1} MiB", kib as f64 / 1024.0),
    };
    let capacity = Inspector::open_in(private.namespace(), "measured")
        .unwrap()
        .capacity();
    format!(
        "| {what} | {} | {} | {memory} |",
        publisher.max_message_bytes(),
        capacity
    )
}

#[test]
fn publishers_take_the_memory_that_the_documentation_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let documentation = fs::read_to_string(root.join("docs/shared-memory.md")).unwrap();
    let rows = [
        row::<CmdVel>("`CmdVel`", Qos::new(), |b| b),
        row::<LaserScan>("`LaserScan`", Qos::new(), |b| b),
        row::<Value>("a value (a dict)", Qos::new(), |b| b),
        row::<Image>("`Image`", Qos::new(), |b| b),
        row::<Image>("`Image`, 1080p", Qos::new(), |b| {
            b.max_message_bytes(IMAGE_1080P)
        }),
        row::<Image>(
            "`Image`, 1080p, `capacity(4)`",
            Qos::new().capacity(4),
            |b| b.max_message_bytes(IMAGE_1080P),
        ),
    ];
    let missing: Vec<_> = rows
        .iter()
        .filter(|row| !documentation.contains(*row))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/shared-memory.md lacks these rows: {missing:#?}"
    );
}

#[test]
fn subscribers_take_no_lane() {
    let private = Private::new();
    let _one = private.subscriber::<Image>("camera", Qos::new());
    let alone = taken_kib(&private, "camera");
    let _two = private.subscriber::<Image>("camera", Qos::new());
    assert_eq!(taken_kib(&private, "camera"), alone);
    assert!(
        alone < 1024,
        "a topic without a publisher takes {alone} KiB"
    );
}
