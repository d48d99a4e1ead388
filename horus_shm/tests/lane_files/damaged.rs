//! Lane files that are damaged or replaced: a publisher makes the next one, and a subscriber that
//! misses messages gets an error.

use std::fs::{self, OpenOptions};
use std::mem::offset_of;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::{HEADER_BYTES, Header, SCHEMA_OFFSET};
use horus_shm::{Access, Namespace, OpenError, RecvError};

use super::{consumer, open, producer};
use crate::common::eventually;
use crate::spawn;

type Field = (&'static str, usize, usize);

macro_rules! fields {
    ($($name:ident),* $(,)?) => {
        [$((stringify!($name), offset_of!(Header, $name), 4)),*]
    };
}

/// The fields that an opener examines: a flipped bit in one of them is damage even with the right
/// checksum.
const EXAMINED: [Field; 20] = fields![
    magic,
    layout_version,
    endianness,
    boot_id,
    registry_id,
    file_bytes,
    payload_bytes,
    stride,
    capacity,
    payload_align,
    sized,
    type_name_bytes,
    topic_id,
    generation,
    topic_inode,
    lane,
    reliability,
    pinnable,
    persists,
    base_number,
];

/// The field that says which type the messages have. A flipped bit with the right checksum is
/// another type.
const TYPE: [Field; 1] = fields![schema_hash];

/// The fields that mean nothing in a lane file.
const UNUSED: [Field; 3] = fields![created_ns, topic_name_bytes, topic_name];

/// The fields in which each value may be right: only the checksum protects them.
const PLAIN: [Field; 3] = fields![history, type_name, session_id];

/// A persistent topic whose only lane file can be damaged, while no process uses it.
struct Scene {
    namespace: Arc<Namespace>,
    _dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let segment = open(&namespace, "kept");
        let mut producer = producer(&segment).unwrap();
        (1..=3).for_each(|message| producer.send(message).unwrap());
        Self {
            namespace,
            _dir: dir,
        }
    }

    /// Returns the path of the lane file.
    fn path(&self) -> PathBuf {
        let [name] = &spawn::lane_files(&self.namespace)[..] else {
            panic!("one lane file")
        };
        self.namespace.topics_path().join(name)
    }

    /// Writes the header that `change` makes of the present one.
    fn rewrite(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let file = OpenOptions::new().read(true).write(true).open(self.path());
        let file = file.unwrap();
        let mut bytes = vec![0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0).unwrap();
        change(&mut bytes);
        file.write_all_at(&bytes, 0).unwrap();
    }

    /// Expects the file to be refused by a subscriber, and replaced by the next publisher.
    #[track_caller]
    fn expect_refused(&self, what: &str) {
        let segment = open(&self.namespace, "kept");
        expect_not_mapped(&consumer(&segment).unwrap_err(), what);
        let mut producer = producer(&segment).unwrap_or_else(|error| panic!("{what}: {error}"));
        let block = segment.lane_block(0, Access::Read).unwrap();
        assert_eq!(block.generation.load(Relaxed), 2, "{what}");
        let mut reader = consumer(&segment).unwrap();
        producer.send(4).unwrap();
        eventually("a message arrives", || reader.recv() == Some(4));
        for message in 5..=40 {
            producer.send(message).unwrap();
            assert_eq!(reader.recv(), Some(message), "{what}");
        }
        let stats = reader.stats();
        // A reader that joins after the replacement is owed nothing of what was damaged.
        assert_eq!((stats.received, stats.lost), (37, 0), "{what}");
        assert_eq!(reader.check(), Ok(()), "{what}");
    }

    /// Expects the file to be that of a publisher of another type: a subscriber receives nothing
    /// from it, and the next publisher makes its own.
    #[track_caller]
    fn expect_another_type(&self, what: &str) {
        let segment = open(&self.namespace, "kept");
        let mut reader = consumer(&segment).unwrap();
        assert_eq!(reader.recv(), None, "{what}");
        assert_eq!(reader.check(), Ok(()), "{what}: no publisher is there");
        let mut producer = producer(&segment).unwrap();
        producer.send(4).unwrap();
        assert_eq!(reader.recv(), Some(4), "{what}");
        let stats = reader.stats();
        assert_eq!((stats.sent, stats.received, stats.lost), (1, 1, 0));
        assert_eq!(spawn::lane_files(&self.namespace).len(), 2, "{what}");
    }

    /// Expects the file to be read, and used by the next publisher.
    #[track_caller]
    fn expect_accepted(&self, what: &str) {
        let segment = open(&self.namespace, "kept");
        let mut reader = consumer(&segment).unwrap();
        let mut producer = producer(&segment).unwrap();
        producer.send(4).unwrap();
        let received: Vec<_> = (0..4).filter_map(|_| reader.recv()).collect();
        assert_eq!(received, [1, 2, 3, 4], "{what}");
        assert_eq!(spawn::lane_files(&self.namespace).len(), 1, "{what}");
    }
}

/// Expects the error of a lane file that is damaged or missing.
#[track_caller]
pub(crate) fn expect_not_mapped(error: &OpenError, what: &str) {
    let OpenError::LaneNotMapped { cause, .. } = error else {
        panic!("{what}: {error:?}")
    };
    assert_eq!((cause.lane, cause.errno), (0, libc::EUCLEAN), "{what}");
    let text = error.to_string();
    assert!(text.contains("its lane file was removed"), "{what}: {text}");
}

fn flip(bytes: &mut [u8], (_, offset, length): Field) {
    bytes[offset + length - 1] ^= 0x10;
}

fn fix_checksum(bytes: &mut [u8]) {
    let crc = offset_of!(Header, crc);
    let schema_bytes = offset_of!(Header, schema_bytes);
    let schema_bytes = u32::from_le_bytes(bytes[schema_bytes..][..4].try_into().unwrap());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..crc]);
    hasher.update(&bytes[SCHEMA_OFFSET..][..schema_bytes as usize]);
    bytes[crc..][..4].copy_from_slice(&hasher.finalize().to_le_bytes());
}

#[test]
fn an_intact_file_is_used_again() {
    Scene::new().expect_accepted("intact");
}

#[test]
fn a_flipped_bit_in_any_field_is_damage() {
    let fields = EXAMINED.into_iter().chain(TYPE);
    for field in fields.chain(UNUSED).chain(PLAIN) {
        let scene = Scene::new();
        scene.rewrite(|bytes| flip(bytes, field));
        scene.expect_refused(field.0);
    }
}

#[test]
fn a_field_with_another_value_and_its_checksum_is_damage_if_an_opener_needs_it() {
    for field in EXAMINED {
        let scene = Scene::new();
        scene.rewrite(|bytes| {
            flip(bytes, field);
            fix_checksum(bytes);
        });
        scene.expect_refused(field.0);
    }
    for field in TYPE {
        let scene = Scene::new();
        scene.rewrite(|bytes| {
            flip(bytes, field);
            fix_checksum(bytes);
        });
        scene.expect_another_type(field.0);
    }
    for field in UNUSED {
        let scene = Scene::new();
        scene.rewrite(|bytes| {
            flip(bytes, field);
            fix_checksum(bytes);
        });
        scene.expect_accepted(field.0);
    }
}

#[test]
fn a_file_of_another_length_is_damage() {
    let whole = fs::metadata(Scene::new().path()).unwrap().len();
    for bytes in [
        0,
        1,
        8,
        551,
        552,
        1024,
        16_384,
        65_536,
        whole - 1,
        whole + 1,
    ] {
        let scene = Scene::new();
        let file = OpenOptions::new().write(true).open(scene.path()).unwrap();
        file.set_len(bytes).unwrap();
        scene.expect_refused(&format!("{bytes} bytes"));
    }
}

/// Puts something in the place of a file.
type Plant = fn(&Path);

#[test]
fn anything_else_under_the_name_is_no_lane_file() {
    let plants: [(&str, Plant); 6] = [
        ("nothing", |_| {}),
        ("a symbolic link", |path| {
            symlink("/dev/null", path).unwrap()
        }),
        ("a link to itself", |path| symlink(path, path).unwrap()),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a FIFO", |path| {
            let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: the path is a C string.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        }),
        ("a foreign file", |path| {
            fs::write(path, [0x5a; 200_000]).unwrap()
        }),
    ];
    for (what, plant) in plants {
        let scene = Scene::new();
        let path = scene.path();
        fs::remove_file(&path).unwrap();
        plant(&path);
        scene.expect_refused(what);
    }
}

#[test]
fn a_file_open_to_others_is_refused() {
    let scene = Scene::new();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(scene.path(), mode).unwrap();
    scene.expect_refused("open to others");
}

/// The file has a valid header, which is that of another lane or topic.
#[test]
fn the_file_of_another_lane_or_topic_is_damage() {
    for topic in ["kept", "kept too"] {
        let topic = topic.replace(' ', ".");
        let scene = Scene::new();
        let path = scene.path();
        {
            let segment = open(&scene.namespace, &topic);
            let producers = [(); 2].map(|()| producer(&segment).unwrap());
            let other = format!(".{}.1", u32::from(topic == "kept"));
            let is_other = |name: &&String| !path.ends_with(name) && name.ends_with(&other);
            let names = spawn::lane_files(&scene.namespace);
            let other = names.iter().find(is_other).unwrap();
            drop(producers);
            fs::rename(scene.namespace.topics_path().join(other), &path).unwrap();
        }
        scene.expect_refused(&topic);
    }
}

#[test]
fn a_lane_file_that_is_replaced_before_a_subscriber_maps_it_is_an_error_of_that_lane_only() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    let mut reader = consumer(&segment).unwrap();
    let mut first = producer(&segment).unwrap();
    let path = namespace
        .topics_path()
        .join(&spawn::lane_files(&namespace)[0]);
    fs::remove_file(&path).unwrap();
    symlink("/dev/null", &path).unwrap();
    let mut second = producer(&segment).unwrap();
    first.send(1).unwrap();
    for message in 2..20 {
        second.send(message).unwrap();
        assert_eq!(reader.recv(), Some(message));
    }
    let Err(RecvError::LaneNotMapped { cause, .. }) = reader.check() else {
        panic!("{:?}", reader.check())
    };
    assert_eq!((cause.lane, cause.errno), (0, libc::EUCLEAN));
}
