//! Headers of topic files and lane files: encodes a type or an offer as bytes, and decodes such
//! bytes without trusting them.

use bytemuck::Zeroable;

use crate::file::offer::Offer;
use crate::file::topic_type::{FieldPrefix, FieldPrefixes, Reliability, TypeInfo};
use crate::protocol::layout::{
    BYTE_ORDER_MARK, HEADER_BYTES, Header, LANE_CAPACITY_MIN, LANE_FILE_MAGIC, LAYOUT_VERSION,
    PARTICIPANTS_MAX, PLAUSIBLE_POSITION_MAX, POSITION_MAX, SCHEMA_BYTES_MAX, SCHEMA_OFFSET,
    STRIDE_MAX, TOPIC_FILE_MAGIC, TOPIC_NAME_BYTES_MAX, TYPE_NAME_BYTES_MAX,
};
use crate::protocol::shape::{LaneShape, ShapeRequest, TopicShape};
use crate::wait::WakeBarrier;

/// The origin of a file: the boot of the machine during which it was created, and the process
/// registry to which its owner words refer. A file is used only if both are the current ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provenance {
    /// The kernel's random id of the boot of the machine in which the file was created.
    pub boot_id: [u8; 16],
    /// The id of the process registry to which the owner words in the file (the numbers that
    /// identify processes) refer.
    pub registry_id: [u8; 16],
}

/// The reason why the header of a topic file or lane file is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderError {
    /// The file does not begin with the magic number of a topic file or lane file.
    Magic,
    /// The file has the given layout version, which differs from that of this library.
    Version(u32),
    /// The file was created before the machine was last booted, so its content is out of date.
    Boot,
    /// The file was created with a different process registry, so it is not known which processes
    /// the owner words in the file identify.
    Registry,
    /// The file begins like a topic file or a lane file, but a field of its header is invalid.
    Damaged {
        /// The name of the invalid field.
        field: &'static str,
        /// The value found in the field.
        found: String,
        /// The value, or the range of values, that is valid for the field.
        wanted: String,
    },
}

/// The identity of an extent (file of slots): its lane, and its number within the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtentId {
    /// The index of the lane in its topic.
    pub lane: u32,
    /// The number of the extent within its lane. Extents are numbered from 1, and no number is used
    /// twice.
    pub generation: u64,
}

/// A boundary between two extents (files of slots) of a lane: the position and the message number
/// at which the later extent begins, and the publisher that created that extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtentBoundary {
    /// The position in the lane at which the extent after this boundary begins: that of its first
    /// slot.
    pub position: u64,
    /// The number of messages that were sent in the lane before this boundary.
    pub number: u64,
    /// The random number that identifies the publisher that created the extent after this boundary.
    pub session_id: u64,
}

impl ExtentBoundary {
    /// Returns the number of messages that were sent in the lane before `position`, if no slot was
    /// skipped since this boundary; `None` if `position` is before the boundary.
    #[must_use]
    pub(crate) const fn messages_before(self, position: u64) -> Option<u64> {
        match position.checked_sub(self.position) {
            Some(sent) => Some(self.number.saturating_add(sent)),
            None => None,
        }
    }
}

/// The part of a lane file's header that says to which topic and lane the file belongs, and where
/// its extent begins. The other part is the offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneHeader {
    /// The random id of the topic file to which the lane file belongs.
    pub topic_id: [u8; 16],
    /// The inode number of the topic file.
    pub topic_inode: u64,
    /// The identity of the extent that the lane file contains.
    pub id: ExtentId,
    /// The position and the message number at which the extent begins, and the publisher that
    /// created the extent.
    pub base: ExtentBoundary,
}

/// Encodes the header area of a new topic file: the header, the schema text, and zeros. `now_ns` is
/// the present time in nanoseconds since 1970.
#[must_use]
pub fn encode_topic_header(
    type_info: &TypeInfo,
    topic: &str,
    topic_id: [u8; 16],
    provenance: Provenance,
    now_ns: u64,
) -> Vec<u8> {
    let mut header = Header {
        file_bytes: TopicShape::FILE.file_bytes(),
        created_ns: now_ns,
        topic_id,
        topic_name_bytes: topic.len() as u32,
        ..header_with_common_fields(TOPIC_FILE_MAGIC, type_info, provenance)
    };
    header.topic_name[..topic.len()].copy_from_slice(topic.as_bytes());
    let mut bytes = encode_header(header, type_info);
    bytes.resize(HEADER_BYTES, 0);
    bytes
}

/// Encodes the header of a new lane file, and the schema text after it. The zeros that fill the
/// header area are left out.
#[must_use]
pub fn encode_lane_header(offer: &Offer, lane: &LaneHeader, provenance: Provenance) -> Vec<u8> {
    let request = offer.shape.request();
    let header = Header {
        file_bytes: offer.shape.file_bytes(),
        stride: offer.shape.stride(),
        capacity: request.capacity,
        reliability: u32::from(offer.reliability == Reliability::Reliable),
        history: offer.history,
        persists: offer.persists.into(),
        pinnable: request.pinnable.into(),
        wake_barrier: u32::from(offer.wake_barrier == WakeBarrier::Fence),
        topic_id: lane.topic_id,
        generation: lane.id.generation,
        base_position: lane.base.position,
        base_number: lane.base.number,
        session_id: lane.base.session_id,
        topic_inode: lane.topic_inode,
        lane: lane.id.lane,
        ..header_with_common_fields(LANE_FILE_MAGIC, &offer.type_info, provenance)
    };
    encode_header(header, &offer.type_info)
}

/// Returns a header in which only the common fields of topic files and lane files are set.
fn header_with_common_fields(
    magic: [u8; 8],
    type_info: &TypeInfo,
    provenance: Provenance,
) -> Header {
    let mut header = Header {
        magic,
        layout_version: LAYOUT_VERSION,
        endianness: BYTE_ORDER_MARK,
        boot_id: provenance.boot_id,
        registry_id: provenance.registry_id,
        schema_hash: type_info.hash,
        payload_bytes: type_info.bytes,
        payload_align: type_info.align,
        sized: type_info.sized.into(),
        head_bytes: type_info.growth.head_bytes(),
        type_name_bytes: type_info.name.len() as u32,
        schema_bytes: type_info.schema.len() as u32,
        ..Header::zeroed()
    };
    header.type_name[..type_info.name.len()].copy_from_slice(type_info.name.as_bytes());
    for (entry, FieldPrefix { hash, bytes }) in
        header.growth.iter_mut().zip(type_info.growth.prefixes())
    {
        *entry = [*hash, *bytes];
    }
    header
}

/// Sets the checksum of `header`, and returns the bytes of the file from the header to the end of
/// the schema text.
fn encode_header(mut header: Header, type_info: &TypeInfo) -> Vec<u8> {
    header.crc = checksum(&header, type_info.schema.as_bytes());
    let mut bytes = vec![0; SCHEMA_OFFSET];
    bytes[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
    bytes.extend_from_slice(type_info.schema.as_bytes());
    bytes
}

/// Computes the CRC-32 of the header without its last field (the checksum), and the schema text.
fn checksum(header: &Header, schema: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytemuck::bytes_of(header)[..core::mem::offset_of!(Header, crc)]);
    crc.update(schema);
    crc.finalize()
}

fn damaged_field_error(
    field: &'static str,
    found: impl ToString,
    wanted: impl ToString,
) -> HeaderError {
    HeaderError::Damaged {
        field,
        found: found.to_string(),
        wanted: wanted.to_string(),
    }
}

/// The decoded header of a topic file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicHeader {
    /// The message type of the topic.
    pub type_info: TypeInfo,
    /// The random id of the topic file. The names of its lane files contain this id.
    pub topic_id: [u8; 16],
}

/// Decodes the header area of a topic file. `bytes` is a private copy of the area, `file_bytes` the
/// size of the file, and `topic` the name that the header should contain.
///
/// Whatever the bytes are, returns a header or an error, in bounded time, and never reads out of
/// bounds.
///
/// # Errors
///
/// The first error found. The fields that identify the file are checked first, then the others.
pub fn decode_topic_header(
    bytes: &[u8],
    file_bytes: u64,
    topic: &str,
    provenance: Provenance,
) -> Result<TopicHeader, HeaderError> {
    let (header, type_info) = decode_and_check(bytes, file_bytes, TOPIC_FILE_MAGIC, provenance)?;
    check_file_bytes(&header, file_bytes, TopicShape::FILE.file_bytes())?;
    let name = decode_text("topic name", &header.topic_name, header.topic_name_bytes)?;
    if name != topic {
        return Err(damaged_field_error(
            "topic name",
            format!("'{name}'"),
            format!("'{topic}'"),
        ));
    }
    Ok(TopicHeader {
        type_info,
        topic_id: header.topic_id,
    })
}

/// Decodes the header area of a lane file. `bytes` is a private copy of the area, and `file_bytes`
/// the size of the file.
///
/// # Errors
///
/// The same as for [`decode_topic_header`].
pub fn decode_lane_header(
    bytes: &[u8],
    file_bytes: u64,
    provenance: Provenance,
) -> Result<(Offer, LaneHeader), HeaderError> {
    let (header, type_info) = decode_and_check(bytes, file_bytes, LANE_FILE_MAGIC, provenance)?;
    let offer = decode_offer(&header, type_info)?;
    check_file_bytes(&header, file_bytes, offer.shape.file_bytes())?;
    if header.lane >= PARTICIPANTS_MAX {
        return Err(damaged_field_error("lane", header.lane, "0 to 63"));
    }
    // WHY not any number: those of later extents must not overflow.
    if header.generation > POSITION_MAX {
        return Err(damaged_field_error(
            "generation",
            header.generation,
            format!("0 to {POSITION_MAX}"),
        ));
    }
    let base = ExtentBoundary {
        position: header.base_position,
        number: header.base_number,
        session_id: header.session_id,
    };
    if base.position > PLAUSIBLE_POSITION_MAX || base.number > base.position {
        return Err(damaged_field_error(
            "base position",
            base.position,
            format!("{} to {PLAUSIBLE_POSITION_MAX}", base.number),
        ));
    }
    let lane = LaneHeader {
        topic_id: header.topic_id,
        topic_inode: header.topic_inode,
        id: ExtentId {
            lane: header.lane,
            generation: header.generation,
        },
        base,
    };
    Ok((offer, lane))
}

/// Checks and decodes the fields that topic files and lane files have in common.
fn decode_and_check(
    bytes: &[u8],
    file_bytes: u64,
    wanted_magic: [u8; 8],
    provenance: Provenance,
) -> Result<(Header, TypeInfo), HeaderError> {
    let Some(fixed) = bytes.get(..size_of::<Header>()) else {
        let magic = bytes.starts_with(&wanted_magic);
        let truncated = damaged_field_error("file size", bytes.len(), HEADER_BYTES);
        return Err(if magic { truncated } else { HeaderError::Magic });
    };
    let header: Header = bytemuck::pod_read_unaligned(fixed);
    if header.magic != wanted_magic {
        return Err(HeaderError::Magic);
    }
    if header.layout_version != LAYOUT_VERSION {
        return Err(HeaderError::Version(header.layout_version));
    }
    if bytes.len() < HEADER_BYTES {
        return Err(damaged_field_error(
            "file size",
            file_bytes,
            format!("at least {HEADER_BYTES}"),
        ));
    }
    if header.endianness != BYTE_ORDER_MARK {
        return Err(damaged_field_error(
            "byte order",
            format!("{:#x}", header.endianness),
            "little-endian",
        ));
    }
    if header.boot_id != provenance.boot_id {
        return Err(HeaderError::Boot);
    }
    let schema = usize::try_from(header.schema_bytes)
        .ok()
        .filter(|&n| n <= SCHEMA_BYTES_MAX);
    let schema = schema.and_then(|n| bytes.get(SCHEMA_OFFSET..SCHEMA_OFFSET + n));
    let Some(schema) = schema else {
        return Err(damaged_field_error(
            "schema text length",
            header.schema_bytes,
            SCHEMA_BYTES_MAX,
        ));
    };
    let crc = checksum(&header, schema);
    if crc != header.crc {
        return Err(damaged_field_error(
            "checksum",
            format!("{:#010x}", header.crc),
            format!("{crc:#010x}"),
        ));
    }
    if header.registry_id != provenance.registry_id {
        return Err(HeaderError::Registry);
    }
    let type_info = decode_type(&header, schema)?;
    Ok((header, type_info))
}

/// Checks that a file has the length `wanted`, both according to its header and according to the
/// file system (`found`).
fn check_file_bytes(header: &Header, found: u64, wanted: u64) -> Result<(), HeaderError> {
    if header.file_bytes != wanted {
        return Err(damaged_field_error(
            "recorded file size",
            header.file_bytes,
            wanted,
        ));
    }
    if found != wanted {
        return Err(damaged_field_error("file size", found, wanted));
    }
    Ok(())
}

fn decode_type(header: &Header, schema: &[u8]) -> Result<TypeInfo, HeaderError> {
    let schema = str::from_utf8(schema)
        .map_err(|_| damaged_field_error("schema text", "not UTF-8", "text"))?;
    let sized = decode_flag("sized", header.sized)?;
    // WHY: messages of this type must fit the shortest lane.
    LaneShape::new(ShapeRequest {
        payload_bytes: header.payload_bytes,
        payload_align: header.payload_align,
        capacity: LANE_CAPACITY_MIN,
        sized,
        pinnable: sized,
    })
    .map_err(|error| damaged_field_error(error.field, error.found, error.wanted))?;
    Ok(TypeInfo {
        name: decode_text("type name", &header.type_name, header.type_name_bytes)?.into(),
        schema: schema.to_owned().into(),
        hash: header.schema_hash,
        bytes: header.payload_bytes,
        align: header.payload_align,
        sized,
        growth: decode_field_prefixes(header)?,
    })
}

/// Maximum length in bytes of a message's head: the fields that precede data of variable length.
const MESSAGE_HEAD_BYTES_MAX: u32 = STRIDE_MAX as u32;

fn decode_field_prefixes(header: &Header) -> Result<FieldPrefixes, HeaderError> {
    let entries = header.growth.iter();
    let growth = FieldPrefixes::new(entries.map(|&[hash, bytes]| FieldPrefix { hash, bytes }));
    let growth = growth.with_head(header.head_bytes);
    let (used, unused) = header.growth.split_at(growth.prefixes().len());
    let longest = match header.sized {
        0 => header.payload_bytes,
        _ => header.head_bytes.into(),
    };
    let mut ends = used.iter().map(|[_, end]| *end);
    let is_valid = unused.iter().all(|entry| *entry == [0; 2])
        && ends.all(|end| (1..=longest).contains(&end))
        && header.head_bytes <= MESSAGE_HEAD_BYTES_MAX
        && (header.sized == 1 || header.head_bytes == 0);
    if is_valid {
        return Ok(growth);
    }
    let wanted = "prefixes that end in the message, then zeros";
    Err(damaged_field_error(
        "growth",
        format!("{:?}", header.growth),
        wanted,
    ))
}

fn decode_offer(header: &Header, type_info: TypeInfo) -> Result<Offer, HeaderError> {
    let pinnable = decode_flag("pinnable", header.pinnable)?;
    if type_info.sized && !pinnable {
        let wanted = "1 where messages have lengths of their own";
        return Err(damaged_field_error("pinnable", 0, wanted));
    }
    let shape = LaneShape::new(ShapeRequest {
        payload_bytes: header.payload_bytes,
        payload_align: header.payload_align,
        capacity: header.capacity,
        sized: type_info.sized,
        pinnable,
    })
    .map_err(|error| damaged_field_error(error.field, error.found, error.wanted))?;
    if header.stride != shape.stride() {
        return Err(damaged_field_error("stride", header.stride, shape.stride()));
    }
    Ok(Offer {
        type_info,
        shape,
        reliability: if decode_flag("reliability", header.reliability)? {
            Reliability::Reliable
        } else {
            Reliability::BestEffort
        },
        history: header.history,
        persists: decode_flag("persists", header.persists)?,
        wake_barrier: if decode_flag("wake_barrier", header.wake_barrier)? {
            WakeBarrier::Fence
        } else {
            WakeBarrier::Membarrier
        },
    })
}

fn decode_flag(field: &'static str, value: u32) -> Result<bool, HeaderError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(damaged_field_error(field, value, "0 or 1")),
    }
}

fn decode_text(field: &'static str, bytes: &[u8], length: u32) -> Result<String, HeaderError> {
    let used = bytes
        .get(..length as usize)
        .and_then(|used| str::from_utf8(used).ok());
    used.map(str::to_owned)
        .ok_or_else(|| damaged_field_error(field, "not text of its length", "text"))
}

const _: () = assert!(TOPIC_NAME_BYTES_MAX <= 208 && TYPE_NAME_BYTES_MAX == 128);
