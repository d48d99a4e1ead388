//! Messages that a reader borrows as private copies, because their publisher has an older version
//! of the type: they need pins of the reader, but protect no slot.

use std::sync::Arc;

use crate::spawn;
use horus_shm::{
    BorrowError, FieldPrefix, FieldPrefixes, Namespace, OnStalled, RawConsumer, RawProducer,
    RawSample, ReadMode, Request, Segment, TopicName, TypeInfo,
};

/// Length in bytes of the messages of the older version, and of the present one.
const BYTES: [u64; 2] = [16, 24];
const SLOTS: u64 = 4;

/// Opens the topic with one of the two versions of the type. It has a hash for each list of fields.
fn opened(namespace: &Arc<Namespace>, version: usize) -> Arc<Segment> {
    let bytes = BYTES[version];
    let ends = BYTES[..=version].iter().rev();
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&(bytes << 32).to_le_bytes());
    hash[8..].copy_from_slice(&(bytes << 32).to_le_bytes());
    let type_info = TypeInfo {
        name: "versions/Sample".into(),
        schema: "anything".into(),
        hash,
        bytes,
        align: 1,
        sized: false,
        growth: FieldPrefixes::new(ends.map(|&bytes| FieldPrefix { hash: bytes, bytes })),
    };
    let name = TopicName::new("versions").unwrap();
    let mut request = Request::new(type_info);
    request.defaults = Some(vec![0; BYTES[1] as usize].into());
    (request.capacity, request.pinnable) = (Some(SLOTS), Some(true));
    Segment::open_or_create(namespace, &name, &request).unwrap()
}

fn borrow(reader: &mut RawConsumer) -> RawSample {
    reader.borrow().unwrap().expect("a message")
}

/// A reader that holds as many copies as it may hold messages, and fails to borrow one more, has
/// nothing left that another reader has taken from it.
#[test]
fn a_reader_that_holds_private_copies_takes_no_slot_from_a_publisher() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let publisher =
        |version| RawProducer::new(opened(&namespace, version), OnStalled::Full).unwrap();
    let reader = || RawConsumer::new(opened(&namespace, 1), ReadMode::KeepLast).unwrap();
    let send = |publisher: &mut RawProducer, version: usize, messages: usize| {
        (0..messages).for_each(|_| {
            publisher
                .send_bytes(&[7; 24][..BYTES[version] as usize])
                .unwrap()
        });
    };
    let (mut older, mut present) = (publisher(0), publisher(1));
    let (mut first, mut second) = (reader(), reader());
    second.ignore(older.lane());

    send(&mut older, 0, 3);
    let copies = [(); 3].map(|()| borrow(&mut first));
    send(&mut present, 1, 3);
    let held = [(); 3].map(|()| borrow(&mut second));
    send(&mut older, 0, 1);
    let is_refused = |reader: &mut RawConsumer| {
        let refused = reader.borrow();
        assert!(
            matches!(refused, Err(BorrowError::NoPins { .. })),
            "{refused:?}"
        );
    };
    is_refused(&mut first);
    drop(copies);
    let mut message = [0; BYTES[1] as usize];
    while first.recv_bytes(&mut message).is_some() {}
    send(&mut present, 1, 1);
    is_refused(&mut first);
    send(&mut present, 1, 10);
    drop(held);
    assert_eq!(borrow(&mut first).bytes(), [7; 24]);
}
