//! Contracts: the settings that the creator of a topic file fixed, and requests of processes that
//! open it.

use std::path::Path;

use crate::file::error::OpenError;
use crate::file::topic_type::{Reliability, TypeInfo};
use crate::protocol::layout::{SCHEMA_BYTES_MAX, TYPE_NAME_BYTES_MAX};
use crate::protocol::shape::{Shape, ShapeError, ShapeRequest, default_capacity, stride_for};
use crate::wait::WakeEdge;

/// Messages of at least this size, in bytes, are pinnable by default. WHY: to copy them costs more
/// than to write and read them in place.
pub const PINNABLE_BYTES: u64 = 4096;

/// The settings that the creator of a topic file fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    /// The message type.
    pub type_info: TypeInfo,
    /// Sizes and offsets.
    pub shape: Shape,
    /// The effect of a full lane on publishers.
    pub reliability: Reliability,
    /// Number of messages from before it joined that a new reader still gets.
    pub history: u32,
    /// True if the history stays after its publishers have left, and the file stays when no process
    /// uses it.
    pub persists: bool,
    /// The side that pays for the order between a message's publication and the check for sleeping
    /// readers.
    pub wake_edge: WakeEdge,
}

/// The request of a process that opens a topic. For a field that is `None`, the process takes the
/// value in the file; if this call creates the file, the field gets its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The message type.
    pub type_info: TypeInfo,
    /// Number of slots of a lane; rounded up to a power of two.
    pub capacity: Option<u64>,
    /// True for a reader. A reader also accepts a larger capacity than requested. `reliability`
    /// matters only if this call creates the topic, because each reader chooses how it reads
    /// itself.
    pub reader: bool,
    /// Number of lanes: the maximum number of publishers at a time. Default 16.
    pub lane_limit: Option<u32>,
    /// Maximum number of announced readers at a time. Default 64.
    pub reader_limit: Option<u32>,
    /// The effect of a full lane. Default best effort.
    pub reliability: Option<Reliability>,
    /// Number of messages from before it joined that a new reader still gets. Default 0.
    pub history: Option<u32>,
    /// True if the file outlives its processes. Default false.
    pub persists: Option<bool>,
    /// The side that pays for the order between a message's publication and the check for sleeping
    /// readers. Default membarrier.
    pub wake_edge: Option<WakeEdge>,
    /// True if messages can be written and read in place. Default: true for those of 4 KiB and
    /// more.
    pub pinnable: Option<bool>,
    /// Length of the longest message in bytes, for types whose messages have lengths of their own.
    /// A reader accepts any length, and a publisher a longer one than it requested. Default: the
    /// length in `type_info`.
    pub max_message_bytes: Option<u64>,
}

impl Request {
    /// Creates a request in which only the type is set.
    #[must_use]
    pub const fn new(type_info: TypeInfo) -> Self {
        Self {
            type_info,
            capacity: None,
            reader: false,
            lane_limit: None,
            reader_limit: None,
            reliability: None,
            history: None,
            persists: None,
            wake_edge: None,
            pinnable: None,
            max_message_bytes: None,
        }
    }

    /// Returns the contract of a file that this request creates.
    ///
    /// # Errors
    ///
    /// [`OpenError::Shape`] or [`OpenError::TypeTooLong`] if no such file can be made.
    pub fn contract(&self) -> Result<Contract, OpenError> {
        let info = &self.created_type();
        for (field, bytes, max) in [
            ("type name", info.name.len(), TYPE_NAME_BYTES_MAX),
            ("schema text", info.schema.len(), SCHEMA_BYTES_MAX),
        ] {
            if bytes > max {
                return Err(OpenError::TypeTooLong { field, bytes, max });
            }
        }
        let pinnable = self.is_created_pinnable()?;
        let stride = stride_for(info.bytes.min(1 << 30), info.sized, pinnable);
        let shape = Shape::new(ShapeRequest {
            payload_bytes: info.bytes,
            payload_align: info.align,
            capacity: self
                .capacity
                .map_or_else(|| default_capacity(stride), rounded_capacity),
            lane_limit: self.lane_limit.unwrap_or(16),
            reader_limit: self.reader_limit.unwrap_or(64),
            sized: info.sized,
            pinnable,
        })
        .map_err(|error| self.with_requested_capacity(error))?;
        Ok(Contract {
            type_info: info.clone(),
            shape,
            reliability: self.reliability.unwrap_or_default(),
            history: self.history.unwrap_or(0),
            persists: self.persists.unwrap_or(false),
            wake_edge: self.wake_edge.unwrap_or_default(),
        })
    }

    /// Replaces the rounded capacity in an error by the one that was requested.
    fn with_requested_capacity(&self, error: ShapeError) -> ShapeError {
        match self.capacity {
            Some(found) if error.field == "capacity" => {
                let wanted = "2 to 1048576 (it is rounded up to a power of two)";
                ShapeError {
                    found,
                    wanted,
                    ..error
                }
            }
            _ => error,
        }
    }

    /// Returns the message type of the file if this request creates it: with the requested maximum
    /// length.
    fn created_type(&self) -> TypeInfo {
        let mut info = self.type_info.clone();
        if info.sized {
            info.bytes = self.max_message_bytes.unwrap_or(info.bytes);
        }
        info
    }

    /// Returns true if the slots of a new file can be pinned.
    fn is_created_pinnable(&self) -> Result<bool, ShapeError> {
        let in_place = self.type_info.sized || self.type_info.bytes >= PINNABLE_BYTES;
        let pinnable = self.pinnable.unwrap_or(in_place);
        if self.type_info.sized && !pinnable {
            return Err(ShapeError {
                field: "pinnable",
                found: 0,
                wanted: "1 where messages have lengths of their own",
            });
        }
        Ok(pinnable)
    }

    /// Checks that `contract`, of the topic at `path`, satisfies this request.
    ///
    /// # Errors
    ///
    /// [`OpenError::SchemaMismatch`] or [`OpenError::QosMismatch`] with the first field that
    /// differs.
    pub fn check(&self, contract: &Contract, path: &Path) -> Result<(), OpenError> {
        let wanted = &self.type_info;
        let found = &contract.type_info;
        let same_size = wanted.sized || wanted.bytes == found.bytes;
        let same_size = same_size && wanted.align == found.align;
        if wanted.hash != found.hash || !same_size || wanted.sized != found.sized {
            return Err(OpenError::SchemaMismatch {
                path: path.to_owned(),
                wanted: Box::new(wanted.clone()),
                found: Box::new(found.clone()),
            });
        }
        let setting = SettingCheck { path };
        let shape = contract.shape.request();
        match self.capacity.map(rounded_capacity) {
            Some(c) if self.reader && c <= shape.capacity => {}
            None => {}
            Some(c) if c == shape.capacity => {}
            Some(c) => {
                let asked = self.capacity.filter(|&asked| asked != c);
                let rounded = asked.map(|asked| format!(" ({asked}, rounded up)"));
                return Err(OpenError::QosMismatch {
                    path: path.to_owned(),
                    field: "capacity",
                    found: shape.capacity.to_string(),
                    wanted: format!("{c}{}", rounded.unwrap_or_default()),
                });
            }
        }
        match self.max_message_bytes {
            Some(bytes) if !wanted.sized || self.reader || bytes <= found.bytes => {}
            bytes => setting.check("max_message_bytes", &found.bytes, bytes.as_ref())?,
        }
        setting.check("pinnable", &shape.pinnable, self.pinnable.as_ref())?;
        setting.check("lane_limit", &shape.lane_limit, self.lane_limit.as_ref())?;
        setting.check(
            "reader_limit",
            &shape.reader_limit,
            self.reader_limit.as_ref(),
        )?;
        if !self.reader {
            setting.check(
                "reliability",
                &contract.reliability,
                self.reliability.as_ref(),
            )?;
        }
        setting.check("history", &contract.history, self.history.as_ref())?;
        setting.check("persists", &contract.persists, self.persists.as_ref())?;
        setting.check("wake_edge", &contract.wake_edge, self.wake_edge.as_ref())
    }
}

/// Returns the next power of two. If there is none, returns a value that the shape refuses.
fn rounded_capacity(capacity: u64) -> u64 {
    capacity.checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// Compares requested settings with those of the topic at `path`.
struct SettingCheck<'a> {
    path: &'a Path,
}

impl SettingCheck<'_> {
    fn check<V: PartialEq + std::fmt::Debug>(
        &self,
        field: &'static str,
        found: &V,
        wanted: Option<&V>,
    ) -> Result<(), OpenError> {
        match wanted {
            Some(wanted) if wanted != found => Err(OpenError::QosMismatch {
                path: self.path.to_owned(),
                field,
                found: format!("{found:?}"),
                wanted: format!("{wanted:?}"),
            }),
            _ => Ok(()),
        }
    }
}
