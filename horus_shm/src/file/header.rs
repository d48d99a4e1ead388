//! Headers of topic files: encodes a contract to bytes, and decodes untrusted bytes to a contract.

use bytemuck::Zeroable;

use crate::file::contract::Contract;
use crate::file::topic_type::{Reliability, TypeInfo};
use crate::protocol::layout::{
    ENDIANNESS, HEADER_BYTES, Header, LAYOUT_VERSION, MAGIC, SCHEMA_BYTES_MAX, SCHEMA_OFFSET,
    TOPIC_NAME_BYTES_MAX, TYPE_NAME_BYTES_MAX,
};
use crate::protocol::shape::{Shape, ShapeRequest};
use crate::wait::WakeEdge;

/// The origin of a file: the boot and the process registry in which it was made. Both must match
/// before the file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provenance {
    /// The kernel's id of the boot in which the file was made.
    pub boot_id: [u8; 16],
    /// The id of the process registry that decides which of the file's processes are alive.
    pub registry_id: [u8; 16],
}

/// The reason why a header is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderError {
    /// The file does not begin with the magic number of topic files.
    Magic,
    /// The file has this other layout version.
    Version(u32),
    /// The file was made in another boot of the machine.
    Boot,
    /// The file was made under another process registry.
    Registry,
    /// The file is a topic file, but a field of its header is not valid.
    Damaged {
        /// The field.
        field: &'static str,
        /// The field's value.
        found: String,
        /// The value or range that is valid.
        wanted: String,
    },
}

/// Encodes the header area of a new file. `now_ns` is the time since 1970.
#[must_use]
pub fn encode(contract: &Contract, topic: &str, provenance: Provenance, now_ns: u64) -> Vec<u8> {
    let Contract {
        type_info, shape, ..
    } = contract;
    let request = shape.request();
    let mut header = Header {
        magic: MAGIC,
        layout_version: LAYOUT_VERSION,
        endianness: ENDIANNESS,
        boot_id: provenance.boot_id,
        registry_id: provenance.registry_id,
        schema_hash: type_info.hash,
        file_bytes: shape.file_bytes(),
        payload_bytes: request.payload_bytes,
        stride: shape.stride(),
        capacity: request.capacity,
        created_ns: now_ns,
        payload_align: request.payload_align,
        lane_limit: request.lane_limit,
        reader_limit: request.reader_limit,
        reliability: u32::from(contract.reliability == Reliability::Reliable),
        history: contract.history,
        persists: contract.persists.into(),
        pinnable: request.pinnable.into(),
        sized: request.sized.into(),
        wake_edge: u32::from(contract.wake_edge == WakeEdge::Fence),
        topic_name_bytes: topic.len() as u32,
        type_name_bytes: type_info.name.len() as u32,
        schema_bytes: type_info.schema.len() as u32,
        ..Header::zeroed()
    };
    header.topic_name[..topic.len()].copy_from_slice(topic.as_bytes());
    header.type_name[..type_info.name.len()].copy_from_slice(type_info.name.as_bytes());
    header.crc = checksum(&header, type_info.schema.as_bytes());
    let mut bytes = vec![0; HEADER_BYTES];
    bytes[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
    let end = SCHEMA_OFFSET + type_info.schema.len();
    bytes[SCHEMA_OFFSET..end].copy_from_slice(type_info.schema.as_bytes());
    bytes
}

/// Computes the CRC-32 of the header up to its last field, then of the schema text.
fn checksum(header: &Header, schema: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytemuck::bytes_of(header)[..core::mem::offset_of!(Header, crc)]);
    crc.update(schema);
    crc.finalize()
}

fn damaged(field: &'static str, found: impl ToString, wanted: impl ToString) -> HeaderError {
    HeaderError::Damaged {
        field,
        found: found.to_string(),
        wanted: wanted.to_string(),
    }
}

/// Decodes `bytes`, a private copy of the header area of a file that has `file_bytes` bytes and
/// should be that of `topic`.
///
/// Any bytes give a contract or an error, in bounded time, without a read out of bounds.
///
/// # Errors
///
/// The first error found. What identifies the file is checked first, then the other fields.
pub fn decode(
    bytes: &[u8],
    file_bytes: u64,
    topic: &str,
    provenance: Provenance,
) -> Result<Contract, HeaderError> {
    let Some(fixed) = bytes.get(..size_of::<Header>()) else {
        let magic = bytes.len() >= MAGIC.len() && bytes[..MAGIC.len()] == MAGIC;
        let truncated = damaged("file size", bytes.len(), HEADER_BYTES);
        return Err(if magic { truncated } else { HeaderError::Magic });
    };
    let header: Header = bytemuck::pod_read_unaligned(fixed);
    if header.magic != MAGIC {
        return Err(HeaderError::Magic);
    }
    if header.layout_version != LAYOUT_VERSION {
        return Err(HeaderError::Version(header.layout_version));
    }
    if bytes.len() < HEADER_BYTES {
        return Err(damaged(
            "file size",
            file_bytes,
            format!("at least {HEADER_BYTES}"),
        ));
    }
    if header.endianness != ENDIANNESS {
        return Err(damaged(
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
        return Err(damaged(
            "schema text length",
            header.schema_bytes,
            SCHEMA_BYTES_MAX,
        ));
    };
    let crc = checksum(&header, schema);
    if crc != header.crc {
        return Err(damaged(
            "checksum",
            format!("{:#010x}", header.crc),
            format!("{crc:#010x}"),
        ));
    }
    if header.registry_id != provenance.registry_id {
        return Err(HeaderError::Registry);
    }
    let shape = decode_shape(&header, file_bytes)?;
    let contract = decode_contract(&header, schema, shape)?;
    let name = decode_text("topic name", &header.topic_name, header.topic_name_bytes)?;
    if name != topic {
        return Err(damaged(
            "topic name",
            format!("'{name}'"),
            format!("'{topic}'"),
        ));
    }
    Ok(contract)
}

fn decode_shape(header: &Header, file_bytes: u64) -> Result<Shape, HeaderError> {
    let shape = Shape::new(ShapeRequest {
        payload_bytes: header.payload_bytes,
        payload_align: header.payload_align,
        capacity: header.capacity,
        lane_limit: header.lane_limit,
        reader_limit: header.reader_limit,
        sized: decode_flag("sized", header.sized)?,
        pinnable: decode_flag("pinnable", header.pinnable)?,
    })
    .map_err(|error| damaged(error.field, error.found, error.wanted))?;
    if header.stride != shape.stride() {
        return Err(damaged("stride", header.stride, shape.stride()));
    }
    if header.file_bytes != shape.file_bytes() {
        return Err(damaged(
            "recorded file size",
            header.file_bytes,
            shape.file_bytes(),
        ));
    }
    if file_bytes != shape.file_bytes() {
        return Err(damaged("file size", file_bytes, shape.file_bytes()));
    }
    Ok(shape)
}

fn decode_contract(header: &Header, schema: &[u8], shape: Shape) -> Result<Contract, HeaderError> {
    let schema = str::from_utf8(schema).map_err(|_| damaged("schema text", "not UTF-8", "text"))?;
    let request = shape.request();
    if request.sized && !request.pinnable {
        return Err(damaged(
            "pinnable",
            0,
            "1 where messages have lengths of their own",
        ));
    }
    Ok(Contract {
        type_info: TypeInfo {
            name: decode_text("type name", &header.type_name, header.type_name_bytes)?.into(),
            schema: schema.to_owned().into(),
            hash: header.schema_hash,
            bytes: request.payload_bytes,
            align: request.payload_align,
            sized: request.sized,
        },
        shape,
        reliability: if decode_flag("reliability", header.reliability)? {
            Reliability::Reliable
        } else {
            Reliability::BestEffort
        },
        history: header.history,
        persists: decode_flag("persists", header.persists)?,
        wake_edge: if decode_flag("wake_edge", header.wake_edge)? {
            WakeEdge::Fence
        } else {
            WakeEdge::Membarrier
        },
    })
}

fn decode_flag(field: &'static str, value: u32) -> Result<bool, HeaderError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(damaged(field, value, "0 or 1")),
    }
}

fn decode_text(field: &'static str, bytes: &[u8], length: u32) -> Result<String, HeaderError> {
    let used = bytes
        .get(..length as usize)
        .and_then(|used| str::from_utf8(used).ok());
    used.map(str::to_owned)
        .ok_or_else(|| damaged(field, "not text of its length", "text"))
}

const _: () = assert!(TOPIC_NAME_BYTES_MAX <= 208 && TYPE_NAME_BYTES_MAX == 128);
