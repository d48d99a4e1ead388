//! Topics take the memory that the table of docs/shared-memory.md lists.

use horus_testing as _;

mod private;

use std::fs;
use std::path::Path;

use horus_core::introspect::Inspector;
use horus_core::message::Image;
use horus_core::prelude::*;
use horus_core::topic::{Payload, TopicBuilder};
use private::Private;

/// Bytes of the longest 1080p image in RGB, with room for its header.
const IMAGE_1080P: u64 = 1920 * 1080 * 3 + 1024;

/// Returns the memory that the files of the topics take, in KiB.
fn taken_kib(private: &Private) -> u64 {
    private.taken_bytes() / 1024
}

/// Returns the row of the table for a publisher, from the memory of its files. `bytes` is the
/// length of its longest message, for which it has reserved memory.
fn row<T: Payload>(
    what: &str,
    bytes: u64,
    qos: Qos,
    build: impl Fn(TopicBuilder<T>) -> TopicBuilder<T>,
) -> String {
    let private = Private::new();
    let mut publisher = build(private.builder::<T>("measured").qos(qos))
        .publisher()
        .unwrap();
    publisher.reserve(bytes).unwrap();
    let kib = taken_kib(&private);
    let memory = match kib {
        kib if kib < 10 * 1024 => format!("{kib} KiB"),
        kib => format!("{:.1} MiB", kib as f64 / 1024.0),
    };
    let capacity = Inspector::open_in(private.namespace(), "measured")
        .unwrap()
        .capacity();
    format!("| {what} | {bytes} | {capacity} | {memory} |")
}

#[test]
fn publishers_take_the_memory_that_the_documentation_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let documentation = fs::read_to_string(root.join("docs/shared-memory.md")).unwrap();
    let rows = [
        row::<CmdVel>("`CmdVel`", 16, Qos::new(), |b| b),
        row::<LaserScan>("`LaserScan`", 1480, Qos::new(), |b| b),
        row::<Value>("a value (a dict)", 65_536, Qos::new(), |b| b),
        row::<Image>("`Image`", 1 << 20, Qos::new(), |b| b),
        row::<Image>("`Image`, 1080p", IMAGE_1080P, Qos::new(), |b| {
            b.max_message_bytes(IMAGE_1080P)
        }),
        row::<Image>(
            "`Image`, 1080p, `capacity(16)`",
            IMAGE_1080P,
            Qos::new().capacity(16),
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
    let alone = taken_kib(&private);
    let _two = private.subscriber::<Image>("camera", Qos::new());
    assert_eq!(taken_kib(&private), alone);
    assert!(
        alone < 1024,
        "a topic without a publisher takes {alone} KiB"
    );
}
