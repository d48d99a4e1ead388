//! A namespace with a planted file, whose bytes this library did not write, beside a topic that
//! works.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use core::mem::offset_of;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use horus_shm::internals::header::{self, ExtentBoundary, ExtentId, LaneHeader, Provenance};
use horus_shm::internals::layout::{HEADER_BYTES, Header, RETIRED_WORD_OFFSET, SCHEMA_OFFSET};
use horus_shm::internals::shape::TopicShape;
use horus_shm::{
    Consumer, FanoutShm, Namespace, OnStalled, OpenError, Producer, RawConsumer, RawProducer,
    ReadMode, Request, RingOptions, Segment, TopicName, TypeInfo,
};
use tempfile::TempDir;

use crate::spawn;

/// The topic whose file is planted.
pub const TOPIC: &str = "arm/joint";
/// The name of that file.
pub const FILE_NAME: &str = "arm+joint";
/// The random number in that file.
pub const TOPIC_ID: [u8; 16] = *b"a random number!";
/// The topic beside it.
const NEIGHBOUR: &str = "good";
/// The number of messages that are sent to show that a ring works.
const MESSAGES: u64 = 40;

/// Returns the rounds of a test: `usual`, or `torture` where the environment requests it.
pub fn rounds(usual: u64, torture: u64) -> u64 {
    if std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1") {
        torture
    } else {
        usual
    }
}

/// Returns the request of the planted topic's endpoints.
pub fn request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.capacity = Some(16);
    request.lane_limit = Some(2);
    request.reader_limit = Some(4);
    request
}

/// Returns the request of an opener: any limits, and this type only.
pub fn open_request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.strict = true;
    request
}

/// A field of the header: its name, offset and bytes.
pub type Field = (&'static str, usize, usize);

macro_rules! fields {
    ($($name:ident: $bytes:expr),* $(,)?) => {
        /// Every field of the header, in its order.
        pub const FIELDS: &[Field] = &[$((stringify!($name), offset_of!(Header, $name), $bytes)),*];
    };
}

fields! {
    magic: 8, layout_version: 4, endianness: 4, boot_id: 16, registry_id: 16, schema_hash: 16,
    file_bytes: 8, payload_bytes: 8, stride: 8, capacity: 8, created_ns: 8, payload_align: 4,
    reliability: 4, history: 4, persists: 4, pinnable: 4, sized: 4, wake_barrier: 4,
    topic_name_bytes: 4, type_name_bytes: 4, schema_bytes: 4, head_bytes: 4, reserved: 4,
    topic_id: 16, topic_name: 208, type_name: 128, generation: 8, base_position: 8, base_number: 8,
    topic_inode: 8, growth: 272, session_id: 8, lane: 4, crc: 4,
}

const _: () = assert!(offset_of!(Header, crc) + 4 == size_of::<Header>());

/// Returns the field called `name`.
pub fn field(name: &str) -> Field {
    *FIELDS.iter().find(|field| field.0 == name).unwrap()
}

/// The bytes of a file, up to the start of its lane area, and the file length that it claims.
#[derive(Debug, Clone)]
pub struct Image {
    pub bytes: Vec<u8>,
    pub file_bytes: u64,
}

impl Image {
    /// Returns the image that a creator in `namespace` would write.
    pub fn valid(namespace: &Namespace, request: &Request) -> Self {
        let registry_id = namespace.registry().id();
        let provenance = Provenance {
            boot_id: namespace.registry().boot_id(),
            registry_id,
        };
        let bytes = header::encode_topic_header(&request.type_info, TOPIC, TOPIC_ID, provenance, 1);
        Self {
            bytes,
            file_bytes: TopicShape::FILE.file_bytes(),
        }
    }

    /// Returns the image of a lane file that an owner of lane 1 would write.
    pub fn valid_lane(namespace: &Namespace, request: &Request) -> Self {
        let offer = request.offer().unwrap();
        let registry_id = namespace.registry().id();
        let provenance = Provenance {
            boot_id: namespace.registry().boot_id(),
            registry_id,
        };
        let lane = LaneHeader {
            topic_id: TOPIC_ID,
            topic_inode: 7,
            id: ExtentId {
                lane: 1,
                generation: 2,
            },
            base: ExtentBoundary {
                position: 4,
                number: 3,
                session_id: 5,
            },
        };
        let mut bytes = header::encode_lane_header(&offer, &lane, provenance);
        bytes.resize(HEADER_BYTES, 0);
        Self {
            bytes,
            file_bytes: offer.shape.file_bytes(),
        }
    }

    pub fn header(&self) -> Header {
        bytemuck::pod_read_unaligned(&self.bytes[..size_of::<Header>()])
    }

    /// Overwrites the field called `name` with `value`, little-endian, padded with zeros.
    pub fn set(&mut self, name: &str, value: u128) {
        let (_, offset, bytes) = field(name);
        self.bytes[offset..offset + bytes].fill(0);
        let used = bytes.min(16);
        self.bytes[offset..offset + used].copy_from_slice(&value.to_le_bytes()[..used]);
    }

    /// Returns the value of the field called `name`; of a long one, its first bytes.
    pub fn get(&self, name: &str) -> u128 {
        let (_, offset, bytes) = field(name);
        let mut value = [0; 16];
        let used = bytes.min(16);
        value[..used].copy_from_slice(&self.bytes[offset..offset + used]);
        u128::from_le_bytes(value)
    }

    /// Returns the right checksum for the rest of the image, if the schema text lies within it.
    pub fn checksum(&self) -> Option<u32> {
        let schema_bytes = self.header().schema_bytes as usize;
        let schema = self
            .bytes
            .get(SCHEMA_OFFSET..SCHEMA_OFFSET.checked_add(schema_bytes)?)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.bytes[..offset_of!(Header, crc)]);
        crc.update(schema);
        Some(crc.finalize())
    }

    /// Corrects the checksum, if there is a right one.
    pub fn fix_checksum(&mut self) {
        if let Some(crc) = self.checksum() {
            self.set("crc", crc.into());
        }
    }

    pub fn set_retired(&mut self) {
        self.bytes[RETIRED_WORD_OFFSET as usize] = 1;
    }
}

/// A namespace of its own, a topic in it that works, and room for a planted file.
pub struct Scene {
    pub namespace: Arc<Namespace>,
    producer: Producer<u64>,
    consumer: Consumer<u64>,
    sent: u64,
    _neighbour: FanoutShm<u64>,
    _dir: TempDir,
}

impl Scene {
    pub fn new() -> Self {
        let dir = spawn::shm_dir();
        Self::in_namespace(spawn::namespace(dir.path()), dir)
    }

    /// Makes a scene in `namespace`, which is in `dir`.
    pub fn in_namespace(namespace: Arc<Namespace>, dir: TempDir) -> Self {
        let options = RingOptions {
            producers: Some(2),
            ..RingOptions::capacity(16)
        };
        let neighbour = FanoutShm::create(&namespace, NEIGHBOUR, &options).unwrap();
        let producer = neighbour.producer().unwrap();
        let consumer = neighbour.consumer().unwrap();
        Self {
            namespace,
            producer,
            consumer,
            sent: 0,
            _neighbour: neighbour,
            _dir: dir,
        }
    }

    /// Returns the path of the planted file.
    pub fn path(&self) -> PathBuf {
        self.namespace.topics_path().join(FILE_NAME)
    }

    /// Returns a valid image.
    pub fn image(&self) -> Image {
        Image::valid(&self.namespace, &request())
    }

    /// Writes `image` as the file of the topic.
    pub fn plant(&self, image: &Image) {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(self.path()).unwrap();
        file.set_len(image.file_bytes).unwrap();
        let bytes = (image.bytes.len() as u64).min(image.file_bytes) as usize;
        file.write_all_at(&image.bytes[..bytes], 0).unwrap();
    }

    /// Removes the file under the topic's name, if there is one, and the lane files of a planted
    /// topic that persists.
    pub fn clear(&self) {
        let prefix = format!(".{:032x}.", u128::from_be_bytes(TOPIC_ID));
        let names = spawn::lane_files(&self.namespace).into_iter();
        for name in names.filter(|name| name.starts_with(&prefix)) {
            fs::remove_file(self.namespace.topics_path().join(name)).unwrap();
        }
        let path = self.path();
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => fs::remove_dir(path).unwrap(),
            Ok(_) => fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    }

    /// Expects no files except the topic beside, and perhaps the planted file.
    #[track_caller]
    pub fn expect_clean(&self, what: &str) {
        for name in spawn::topic_files(&self.namespace) {
            assert!(
                [NEIGHBOUR, FILE_NAME].contains(&name.as_str()),
                "{what}: '{name}' was left"
            );
        }
    }

    /// Expects the topic beside the planted file to carry messages without a loss.
    #[track_caller]
    pub fn expect_neighbour(&mut self, what: &str) {
        for _ in 0..MESSAGES {
            self.sent += 1;
            self.producer.send(self.sent).unwrap();
            assert_eq!(self.consumer.recv(), Some(self.sent), "{what}");
        }
        assert_eq!(self.consumer.stats().lost, 0, "{what}");
    }

    pub fn open(&self) -> Result<Arc<Segment>, OpenError> {
        Segment::open(&self.namespace, &topic(), &open_request())
    }

    pub fn open_or_create(&self) -> Result<Arc<Segment>, OpenError> {
        Segment::open_or_create(&self.namespace, &topic(), &open_request())
    }

    pub fn create(&self) -> Result<Arc<Segment>, OpenError> {
        Segment::create(&self.namespace, &topic(), &open_request())
    }

    pub fn inspect(&self) -> Result<Arc<Segment>, OpenError> {
        Segment::inspect(&self.namespace, &topic())
    }

    pub fn open_ring(&self) -> Result<Arc<Segment>, OpenError> {
        let ring = FanoutShm::<u64>::open(&self.namespace, TOPIC, &RingOptions::default())?;
        Ok(Arc::clone(ring.segment()))
    }
}

pub fn topic() -> TopicName {
    TopicName::new(TOPIC).unwrap()
}

pub fn producer(segment: &Arc<Segment>) -> Result<Producer<u64>, OpenError> {
    Ok(Producer::new(RawProducer::new(
        Arc::clone(segment),
        OnStalled::Full,
    )?))
}

pub fn consumer(segment: &Arc<Segment>, reading: ReadMode) -> Result<Consumer<u64>, OpenError> {
    Ok(Consumer::new(RawConsumer::new(
        Arc::clone(segment),
        reading,
    )?))
}

/// Expects a topic of `u64` to carry messages, whatever the rest of its contract is.
#[track_caller]
pub fn expect_usable(segment: &Arc<Segment>, what: &str) {
    let mut consumer = consumer(segment, ReadMode::KeepLast).unwrap();
    let mut producer = producer(segment).unwrap();
    while consumer.recv().is_some() {}
    for message in 0..MESSAGES {
        producer.send(message).unwrap();
        assert_eq!(consumer.recv(), Some(message), "{what}");
    }
}

/// Expects the file that a segment has open to be the file under the topic's name.
#[track_caller]
pub fn expect_linked(segment: &Segment, what: &str) {
    use std::os::unix::fs::MetadataExt;
    let open = fs::File::from(segment.fd().unwrap().try_clone_to_owned().unwrap());
    let open = open.metadata().unwrap();
    let named = fs::metadata(segment.path());
    let named = named.unwrap_or_else(|error| panic!("{what}: the name is gone: {error}"));
    assert_eq!(
        (open.dev(), open.ino()),
        (named.dev(), named.ino()),
        "{what}: another file"
    );
}

/// Expects an error that a user can act on: where, what was found, and what was wanted.
#[track_caller]
pub fn expect_actionable(error: &OpenError, path: &std::path::Path, what: &str) {
    let message = error.to_string();
    let tells = |part: &str| assert!(message.contains(part), "{what}: no '{part}' in: {message}");
    tells(&path.display().to_string());
    match error {
        OpenError::Damaged {
            field,
            found,
            wanted,
            ..
        } => {
            assert!(!found.is_empty() && !wanted.is_empty(), "{what}: {message}");
            [field, found.as_str(), wanted.as_str()]
                .into_iter()
                .for_each(tells);
        }
        OpenError::NotATopic { found, .. } => {
            [found.as_str(), "topic file"].into_iter().for_each(tells);
        }
        OpenError::LayoutVersion { found, wanted, .. } => {
            [found, wanted]
                .into_iter()
                .for_each(|version| tells(&version.to_string()));
        }
        OpenError::RegistryReplaced { .. } | OpenError::NotFound { .. } => {}
        other => panic!("{what}: {other}"),
    }
}
