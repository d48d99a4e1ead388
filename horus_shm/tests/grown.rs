//! Versions of a type: what a reader takes of the messages of a publisher whose header says
//! anything about its fields.

use horus_testing as _;

mod spawn;

use std::sync::Arc;

use horus_shm::internals::layout::TYPE_PREFIXES_MAX;
use horus_shm::{
    Consumer, FieldPrefix, FieldPrefixes, Mismatch, Namespace, OnStalled, RawConsumer, RawProducer,
    ReadMode, RecvError, Request, Segment, TopicName, TypeIdentity, TypeInfo,
};

/// A message of the reader, and the bytes that it puts behind shorter ones.
type Message = [u8; 24];
const DEFAULTS: Message = [0xdd; 24];

/// Returns a type of `bytes` bytes with these prefixes: hashes and ends, longest first.
fn type_info(bytes: u64, longest_first: &[(u64, u64)]) -> TypeInfo {
    let prefixes = longest_first.iter();
    let prefixes = prefixes.map(|&(hash, bytes)| FieldPrefix { hash, bytes });
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&(bytes << 32).to_le_bytes());
    let fields = longest_first.first().map_or(0, |(hash, _)| *hash);
    hash[8..].copy_from_slice(&(fields << 32).to_le_bytes());
    TypeInfo {
        name: "versions/Sample".into(),
        schema: "anything".into(),
        hash,
        bytes,
        align: 1,
        sized: false,
        growth: FieldPrefixes::new(prefixes),
    }
}

fn open(namespace: &Arc<Namespace>, type_info: TypeInfo) -> Arc<Segment> {
    let name = TopicName::new("versions").unwrap();
    let mut request = Request::new(type_info);
    request.defaults = Some(DEFAULTS.into());
    request.capacity = Some(8);
    Segment::open_or_create(namespace, &name, &request).unwrap()
}

/// Sends a message of ones as this type, and returns what a reader of fields that end at 8, 16 and
/// 24 gets, and its verdict.
fn received(sent: TypeInfo) -> (Option<(Message, usize)>, Result<(), RecvError>) {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let own = type_info(24, &[(3, 24), (2, 16), (1, 8)]);
    let consumer = RawConsumer::new(open(&namespace, own), ReadMode::KeepLast).unwrap();
    let mut consumer = Consumer::<Message>::new(consumer);
    let message = vec![1; sent.bytes as usize];
    let segment = open(&namespace, sent);
    let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    producer.send_bytes(&message).unwrap();
    let message = consumer.recv();
    let came = consumer.raw().received_bytes();
    (message.map(|message| (message, came)), consumer.check())
}

/// Returns a message of which `came` bytes came.
fn filled(came: usize) -> Option<(Message, usize)> {
    let mut message = DEFAULTS;
    message[..came].fill(1);
    Some((message, came))
}

#[test]
fn a_reader_takes_the_common_beginning() {
    for (sent, came) in [
        (type_info(8, &[(1, 8)]), 8),
        (type_info(16, &[(2, 16), (1, 8)]), 16),
        (type_info(24, &[(3, 24), (2, 16), (1, 8)]), 24),
        (type_info(40, &[(4, 40), (3, 24)]), 24),
    ] {
        assert_eq!(received(sent.clone()), (filled(came), Ok(())), "{sent:?}");
    }
}

#[test]
fn other_fields_do_not_match() {
    for sent in [
        type_info(8, &[(9, 8)]),
        type_info(24, &[(9, 24), (2, 16), (1, 8)]),
        type_info(8, &[]),
    ] {
        let (message, verdict) = received(sent.clone());
        assert_eq!(message, None, "{sent:?}");
        let Err(RecvError::Incompatible { cause, .. }) = verdict else {
            panic!("{sent:?}: {verdict:?}")
        };
        assert_eq!(cause, Mismatch::Type);
    }
}

/// The ends in a header are input: a reader takes its own, and never more than a slot has.
#[test]
fn a_reader_believes_no_ends_of_others() {
    assert_eq!(received(type_info(16, &[(2, 3)])).0, filled(16));
    assert_eq!(received(type_info(5, &[(2, 5)])).0, filled(5));
    assert_eq!(received(type_info(5, &[(3, 5)])).0, filled(5));
    assert_eq!(received(type_info(40, &[(4, 40), (3, 39)])).0, filled(24));
}

/// Messages of any length are none of a fixed size, whatever their hashes are: a short one would
/// leave bytes of a message unwritten.
#[test]
fn messages_of_any_length_match_none_of_a_fixed_size() {
    let mut sent = type_info(24, &[(3, 24), (2, 16), (1, 8)]);
    sent.growth = sent.growth.with_head(24);
    sent.sized = true;
    let (message, verdict) = received(sent);
    assert_eq!(message, None);
    assert!(verdict.is_err());
}

/// The rule is symmetric, and none of the words of a type without versions matches anything.
#[test]
fn identities_match_in_both_directions() {
    let long: Vec<_> = (1..=TYPE_PREFIXES_MAX as u64 + 2)
        .rev()
        .map(|hash| (hash, hash))
        .collect();
    let all = [
        type_info(24, &long),
        type_info(2, &[(2, 2), (1, 1)]),
        type_info(1, &[(1, 1)]),
        type_info(24, &[(77, 3), (1, 1)]),
        type_info(5, &[]),
        type_info(6, &[]),
    ];
    let matches = |a: &TypeInfo, b: &TypeInfo| {
        let [a, b] = [a.identity(), b.identity()];
        assert_eq!(a.matches(&b), b.matches(&a));
        a.matches(&b)
    };
    let found: Vec<Vec<bool>> = all
        .iter()
        .map(|a| all.iter().map(|b| matches(a, b)).collect())
        .collect();
    let [yes, no] = [true, false];
    assert_eq!(
        found,
        [
            // Seventeen fields less are too many.
            [yes, yes, no, no, no, no],
            [yes, yes, yes, no, no, no],
            [no, yes, yes, yes, no, no],
            [no, no, yes, yes, no, no],
            [no, no, no, no, yes, no],
            [no, no, no, no, no, yes],
        ]
    );
    assert!(TypeIdentity::NONE.is_none());
    assert!(all.iter().all(|info| !info.identity().is_none()));
}
