//! Introspection for C: the list of topics, and the counters of one topic.

use std::ffi::c_char;

use horus_core::introspect::{Inspector, LaneCounters, Participant, ReaderCounters, topics};
use horus_core::topic::Reliability;

use crate::ffi::{self, Call, NAME_BYTES_MAX, Sized32, guard, output, set_if_wanted};
use crate::namespace::{HorusNamespace, namespace_of};
use crate::qos::{HORUS_BEST_EFFORT, HORUS_RELIABLE};
use crate::report::copy;
use crate::status::{Failure, HORUS_EMPTY, HORUS_OK, HORUS_TRUNCATED};

/// Size of the buffer for a message's name, with the 0 at its end.
const TYPE_BYTES: usize = 128;
/// Size of the buffer for a process's name, with the 0 at its end.
const PROCESS_BYTES: usize = 64;

/// `horus_topic_counters_t`.
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
    pub message_type: [c_char; TYPE_BYTES],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl Sized32 for HorusTopicCounters {
    const BYTES_MIN: usize = 160;
}

/// `horus_lane_counters_t`.
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
    pub process_name: [c_char; PROCESS_BYTES],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl Sized32 for HorusLaneCounters {
    const BYTES_MIN: usize = 112;
}

/// `horus_reader_counters_t`.
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
    pub process_name: [c_char; PROCESS_BYTES],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl Sized32 for HorusReaderCounters {
    const BYTES_MIN: usize = 104;
}

/// Returns the id and the name of a process; zeros if they are not known.
fn process(participant: Option<&Participant>) -> (u32, [c_char; PROCESS_BYTES]) {
    let mut name = [0; PROCESS_BYTES];
    let Some(process) = participant.and_then(|participant| participant.process.as_ref()) else {
        return (0, name);
    };
    copy(&process.name, &mut name);
    (process.pid, name)
}

impl HorusLaneCounters {
    fn of(found: &LaneCounters) -> Self {
        let (process_id, process_name) = process(found.publisher.as_ref());
        let LaneCounters { lane, sent, refused, skips, aborted, .. } = *found;
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
    fn of(found: &ReaderCounters) -> Self {
        let (process_id, process_name) = process(Some(&found.subscriber));
        let ReaderCounters { received, lost, skipped, borrowed, asleep, .. } = *found;
        let (struct_bytes, is_asleep) = (0, asleep.into());
        Self {
            struct_bytes,
            process_id,
            received,
            lost,
            skipped,
            borrowed,
            is_asleep,
            process_name,
        }
    }
}

/// # Safety
///
/// `topic` is null or a terminated text, and no other thread is in a call with the namespace.
unsafe fn inspector(
    name_space: HorusNamespace,
    topic: *const c_char,
) -> Result<Inspector, Failure> {
    // SAFETY: the caller's contract: `topic` is null or a terminated text.
    let topic = unsafe { ffi::text(topic, "topic", NAME_BYTES_MAX) }?;
    // SAFETY: the caller's contract: no other thread is in a call with the namespace.
    let namespace = unsafe { namespace_of(name_space) }?;
    Ok(Inspector::open_in(&namespace, topic)?)
}

/// Stores a text with a 0 at its end, truncated to the buffer, and the length of the whole.
///
/// # Safety
///
/// `out` is null or writable for `room` bytes; `out_bytes` is null or valid for writes.
unsafe fn store(text: &str, out: *mut c_char, room: usize, out_bytes: *mut usize) -> Call {
    // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
    let out = unsafe { output(out.cast(), room) }?;
    // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
    unsafe { set_if_wanted(out_bytes, text.len()) };
    let mut end = text.len().min(out.len().saturating_sub(1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if let Some(zero) = out.get_mut(end) {
        *zero = 0;
        out[..end].copy_from_slice(&text.as_bytes()[..end]);
    }
    Ok(if text.len() < room { HORUS_OK } else { HORUS_TRUNCATED })
}

/// `horus_topics`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topics(
    name_space: HorusNamespace,
    out: *mut c_char,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    guard(|| {
        if out.is_null() && room > 0 {
            return Err(ffi::null("out"));
        }
        // SAFETY: the caller's contract: no other thread is in a call with the namespace.
        let namespace = unsafe { namespace_of(name_space) }?;
        let lines: String = topics(&namespace)?.into_iter().map(|name| name + "\n").collect();
        // SAFETY: the caller's contract: `out` is null or writable for `room` bytes, and
        // `out_bytes` null or valid for writes.
        unsafe { store(&lines, out, room, out_bytes) }
    })
}

/// `horus_topic_schema`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_schema(
    name_space: HorusNamespace,
    topic: *const c_char,
    out: *mut c_char,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    guard(|| {
        if out.is_null() && room > 0 {
            return Err(ffi::null("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let inspector = unsafe { inspector(name_space, topic) }?;
        // SAFETY: the caller's contract: `out` is null or writable for `room` bytes, and
        // `out_bytes` null or valid for writes.
        unsafe { store(inspector.schema(), out, room, out_bytes) }
    })
}

/// `horus_topic_inspect`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_inspect(
    name_space: HorusNamespace,
    topic: *const c_char,
    out: *mut HorusTopicCounters,
) -> i32 {
    guard(|| {
        if out.is_null() {
            return Err(ffi::null("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let inspector = unsafe { inspector(name_space, topic) }?;
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
            message_type: [0; TYPE_BYTES],
        };
        copy(inspector.message_type(), &mut found.message_type);
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { Sized32::write(&found, out, "out") }?;
        Ok(HORUS_OK)
    })
}

/// `horus_topic_lane_counters`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_lane_counters(
    name_space: HorusNamespace,
    topic: *const c_char,
    index: usize,
    out: *mut HorusLaneCounters,
) -> i32 {
    guard(|| {
        if out.is_null() {
            return Err(ffi::null("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let lanes = unsafe { inspector(name_space, topic) }?.publishers();
        let Some(found) = lanes.get(index) else { return Ok(HORUS_EMPTY) };
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { Sized32::write(&HorusLaneCounters::of(found), out, "out") }?;
        Ok(HORUS_OK)
    })
}

/// `horus_topic_reader_counters`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_topic_reader_counters(
    name_space: HorusNamespace,
    topic: *const c_char,
    index: usize,
    out: *mut HorusReaderCounters,
) -> i32 {
    guard(|| {
        if out.is_null() {
            return Err(ffi::null("out"));
        }
        // SAFETY: the caller's contract: `topic` is null or a terminated text; no other call uses
        // the namespace.
        let readers = unsafe { inspector(name_space, topic) }?.subscribers();
        let Some(found) = readers.get(index) else { return Ok(HORUS_EMPTY) };
        // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
        unsafe { Sized32::write(&HorusReaderCounters::of(found), out, "out") }?;
        Ok(HORUS_OK)
    })
}
