//! Introspection for C: the list of topics, and the counters of one topic.

use std::ffi::c_char;

use horus_core::introspect::{Inspector, LaneCounters, Participant, ReaderCounters, topics};
use horus_core::topic::Reliability;

use crate::ffi::{
    self, NAME_BYTES_MAX, SizePrefixedStruct, StatusResult, output_slice, run_guarded,
    write_if_not_null,
};
use crate::namespace::{HorusNamespace, resolve_namespace};
use crate::qos::{HORUS_BEST_EFFORT, HORUS_RELIABLE};
use crate::report::copy_text;
use crate::status::{Failure, HORUS_EMPTY, HORUS_OK, HORUS_TRUNCATED};

/// Size of the buffer for the name of a message type, in bytes. It includes the terminating 0.
const TYPE_NAME_BYTES: usize = 128;
/// Size of the buffer for the name of a process, in bytes. It includes the terminating 0.
pub(crate) const PROCESS_NAME_BYTES: usize = 64;

/// The C struct `horus_topic_counters_t`, as `horus.h` declares it: the counters of a topic.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusTopicCounters {
    pub struct_bytes: u32,
    pub reliability: i32,
    pub message_bytes: u64,
    pub capacity: u64,
    pub lanes: u32,
    pub subscribers: u32,
    pub message_type: [c_char; TYPE_NAME_BYTES],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusTopicCounters {
    const FIRST_VERSION_BYTES: usize = 160;
}

/// The C struct `horus_lane_counters_t`, as `horus.h` declares it: the counters of a lane, which
/// holds the messages of one publisher.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusLaneCounters {
    pub struct_bytes: u32,
    pub lane: u32,
    pub is_alive: i32,
    pub process_id: u32,
    pub sent: u64,
    pub refused: u64,
    pub skips: u64,
    pub aborted: u64,
    pub process_name: [c_char; PROCESS_NAME_BYTES],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusLaneCounters {
    const FIRST_VERSION_BYTES: usize = 112;
}

/// The C struct `horus_reader_counters_t`, as `horus.h` declares it: the counters of one subscriber
/// of a lane.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusReaderCounters {
    pub struct_bytes: u32,
    pub process_id: u32,
    pub received: u64,
    pub lost: u64,
    pub skipped: u64,
    pub borrowed: u32,
    pub is_asleep: i32,
    pub process_name: [c_char; PROCESS_NAME_BYTES],
    pub waiting: u64,
    pub malformed: u64,
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusReaderCounters {
    const FIRST_VERSION_BYTES: usize = 104;
}

/// Returns the process id and the process name of a participant. Returns 0 and an empty name if
/// `participant` is `None`.
pub(crate) fn process_id_and_name_of(
    participant: Option<&Participant>,
) -> (u32, [c_char; PROCESS_NAME_BYTES]) {
    let mut name = [0; PROCESS_NAME_BYTES];
    let Some(process) = participant.and_then(|participant| participant.process.as_ref()) else {
        return (0, name);
    };
    copy_text(&process.name, &mut name);
    (process.pid, name)
}

impl HorusLaneCounters {
    fn new(found: &LaneCounters) -> Self {
        let (process_id, process_name) = process_id_and_name_of(found.publisher.as_ref());
        let LaneCounters {
            lane,
            sent,
            refused,
            skips,
            aborted,
            ..
        } = *found;
        let is_alive = found.publisher.is_some().into();
        let struct_bytes = 0;
        Self {
            struct_bytes,
            lane,
            is_alive,
            process_id,
            sent,
            refused,
            skips,
            aborted,
            process_name,
        }
    }
}

impl HorusReaderCounters {
    fn new(found: &ReaderCounters) -> Self {
        let (process_id, process_name) = process_id_and_name_of(Some(&found.subscriber));
        let ReaderCounters {
            received,
            lost,
            skipped,
            waiting,
            malformed,
            borrowed,
            asleep,
            ..
        } = *found;
        let struct_bytes = 0;
        let is_asleep = asleep.into();
        Self {
            struct_bytes,
            process_id,
            received,
            lost,
            skipped,
            borrowed,
            is_asleep,
            process_name,
            waiting,
            malformed,
        }
    }
}

/// Opens the topic `topic` of the namespace, to read the counters of the topic.
///
/// # Safety
///
/// `topic` is null or a text that ends in 0, and no other thread is in a call with the namespace.
unsafe fn open_inspector(
    name_space: HorusNamespace,
    topic: *const c_char,
) -> Result<Inspector, Failure> {
    // SAFETY: the caller's contract: `topic` is null or a terminated text.
    let topic = unsafe { ffi::required_text(topic, "topic", NAME_BYTES_MAX) }?;
    // SAFETY: the caller's contract: no other thread is in a call with the namespace.
    let namespace = unsafe { resolve_namespace(name_space) }?;
    Ok(Inspector::open_in(&namespace, topic)?)
}

/// Writes `text` with a terminating 0 to `out`, truncated to the buffer. Writes the length of the
/// whole text to `out_bytes`.
///
/// # Safety
///
/// `out` is null or writable for `room` bytes; `out_bytes` is null or valid for writes.
unsafe fn write_text(
    text: &str,
    out: *mut c_char,
    room: usize,
    out_bytes: *mut usize,
) -> StatusResult {
    // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
    let out = unsafe { output_slice(out.cast(), room) }?;
    // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
    unsafe { write_if_not_null(out_bytes, text.len()) };
    let mut end = text.len().min(out.len().saturating_sub(1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if let Some(zero) = out.get_mut(end) {
        *zero = 0;
        out[..end].copy_from_slice(&text.as_bytes()[..end]);
    }
    Ok(if text.len() < room {
        HORUS_OK
    } else {
        HORUS_TRUNCATED
    })
}

/// The C function `horus_topics`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topics(
    name_space: HorusNamespace,
    out: *mut c_char,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    run_guarded(|| {
        if out.is_null() && room > 0 {
            return Err(ffi::null_argument("out"));
        }
        // SAFETY: the caller's contract: no other thread is in a call with the namespace.
        let namespace = unsafe { resolve_namespace(name_space) }?;
        let lines: String = topics(&namespace)?
            .into_iter()
            .map(|name| name + "\n")
            .collect();
        // SAFETY: the caller's contract: `out` is null or writable for `room` bytes, and
        // `out_bytes` null or valid for writes.
        unsafe { write_text(&lines, out, room, out_bytes) }
    })
}

/// The C function `horus_topic_schema`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_schema(
    name_space: HorusNamespace,
    topic: *const c_char,
    out: *mut c_char,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    run_guarded(|| {
        if out.is_null() && room > 0 {
            return Err(ffi::null_argument("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let inspector = unsafe { open_inspector(name_space, topic) }?;
        // SAFETY: the caller's contract: `out` is null or writable for `room` bytes, and
        // `out_bytes` null or valid for writes.
        unsafe { write_text(inspector.schema(), out, room, out_bytes) }
    })
}

/// The C function `horus_topic_inspect`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_inspect(
    name_space: HorusNamespace,
    topic: *const c_char,
    out: *mut HorusTopicCounters,
) -> i32 {
    run_guarded(|| {
        if out.is_null() {
            return Err(ffi::null_argument("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let inspector = unsafe { open_inspector(name_space, topic) }?;
        let mut found = HorusTopicCounters {
            struct_bytes: 0,
            reliability: match inspector.reliability() {
                Reliability::Reliable => HORUS_RELIABLE,
                Reliability::BestEffort => HORUS_BEST_EFFORT,
            },
            message_bytes: inspector.message_bytes(),
            capacity: inspector.capacity(),
            lanes: inspector.publishers().len() as u32,
            subscribers: inspector.subscribers().len() as u32,
            message_type: [0; TYPE_NAME_BYTES],
        };
        copy_text(inspector.message_type(), &mut found.message_type);
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { SizePrefixedStruct::write(&found, out, "out") }?;
        Ok(HORUS_OK)
    })
}

/// The C function `horus_topic_lane_counters`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_lane_counters(
    name_space: HorusNamespace,
    topic: *const c_char,
    index: usize,
    out: *mut HorusLaneCounters,
) -> i32 {
    run_guarded(|| {
        if out.is_null() {
            return Err(ffi::null_argument("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let lanes = unsafe { open_inspector(name_space, topic) }?.publishers();
        let Some(found) = lanes.get(index) else {
            return Ok(HORUS_EMPTY);
        };
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { SizePrefixedStruct::write(&HorusLaneCounters::new(found), out, "out") }?;
        Ok(HORUS_OK)
    })
}

/// The C function `horus_topic_reader_counters`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_reader_counters(
    name_space: HorusNamespace,
    topic: *const c_char,
    index: usize,
    out: *mut HorusReaderCounters,
) -> i32 {
    run_guarded(|| {
        if out.is_null() {
            return Err(ffi::null_argument("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let readers = unsafe { open_inspector(name_space, topic) }?.subscribers();
        let Some(found) = readers.get(index) else {
            return Ok(HORUS_EMPTY);
        };
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { SizePrefixedStruct::write(&HorusReaderCounters::new(found), out, "out") }?;
        Ok(HORUS_OK)
    })
}
