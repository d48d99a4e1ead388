//! The subscribing endpoint of a topic, as C sees it.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use horus_core::topic::{RawSample, UntypedSubscriber};
use horus_core::{BorrowError, RecvError, RecvTimeoutError};

use crate::ffi::{
    Call, Out, Sized32, guard, guard_quick, output, set_if_wanted, wait_in_slices, wrong,
};
use crate::handle::{Guard, Slab, Vault};
use crate::info::{HorusStats, HorusTopicInfo};
use crate::status::{Failure, HORUS_EMPTY, HORUS_OK, HORUS_TIMEOUT, HORUS_TRUNCATED};
use crate::topic::{HorusTopicOptions, builder};

/// `horus_subscriber_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusSubscriber {
    /// The handle.
    pub id: u64,
}

/// `horus_sample_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusSample {
    pub id: u64,
    pub data: *const c_void,
    pub bytes: usize,
    pub sequence: u64,
}

pub(crate) static SUBSCRIBERS: Slab<UntypedSubscriber> = Slab::new(3);
static SAMPLES: Vault<RawSample> = Vault::new(4);

/// Runs a call with the subscriber of a handle; its errors name the topic.
#[inline(always)]
fn named(
    mut subscriber: Guard<'_, UntypedSubscriber>,
    call: impl FnOnce(&mut Guard<'_, UntypedSubscriber>) -> Call,
) -> Call {
    call(&mut subscriber).map_err(|failure| failure.of_topic(&subscriber.name()))
}

/// Returns the status when there is no message: empty, or an error if none can come.
#[cold]
fn nothing(subscriber: &UntypedSubscriber) -> Call {
    subscriber.check()?;
    Ok(HORUS_EMPTY)
}

/// Returns true if `room` bytes are enough for every message of the topic; an error if they are
/// enough for none.
#[inline(always)]
fn has_room(subscriber: &UntypedSubscriber, room: usize) -> Result<bool, Failure> {
    let has_room = room as u64 >= subscriber.max_message_bytes();
    if has_room || subscriber.is_sized() { Ok(has_room) } else { Err(no_room(subscriber, room)) }
}

#[cold]
fn no_room(subscriber: &UntypedSubscriber, bytes: usize) -> Failure {
    let wanted = subscriber.max_message_bytes();
    wrong(format!(
        "out has {bytes} bytes, and messages of the topic have {wanted}: use a larger buffer"
    ))
}

/// Copies a message, truncated to the buffer, and stores its length.
///
/// # Safety
///
/// `out_bytes` is null or valid for writes.
unsafe fn copy(message: &[u8], buffer: &mut [u8], out_bytes: *mut usize) -> i32 {
    let copied = message.len().min(buffer.len());
    buffer[..copied].copy_from_slice(&message[..copied]);
    // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
    unsafe { set_if_wanted(out_bytes, message.len()) };
    if copied < message.len() { HORUS_TRUNCATED } else { HORUS_OK }
}

/// `horus_subscriber_open`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_open(
    topic: *const c_char,
    options: *const HorusTopicOptions,
    out: *mut HorusSubscriber,
) -> i32 {
    guard(|| {
        let out = Out::new(out, "out")?;
        // SAFETY: the caller's contract: `topic` and `options` are as the header says of this
        // function.
        let end = unsafe { builder(topic, options) }?.subscriber()?;
        let id = SUBSCRIBERS.open(end)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.set(HorusSubscriber { id }) };
        Ok(HORUS_OK)
    })
}

/// `horus_subscriber_close`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_subscriber_close(subscriber: HorusSubscriber) -> i32 {
    guard(|| {
        drop(SUBSCRIBERS.close(subscriber.id)?);
        Ok(HORUS_OK)
    })
}

/// `horus_subscriber_recv`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_recv(
    subscriber: HorusSubscriber,
    out: *mut c_void,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
        named(subscriber, |subscriber| {
            // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
            let buffer = unsafe { output(out, room) }?;
            if !has_room(subscriber, room)? {
                return match subscriber.recv_bytes() {
                    // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
                    Some(message) => Ok(unsafe { copy(message, buffer, out_bytes) }),
                    None => nothing(subscriber),
                };
            }
            let Some(bytes) = subscriber.recv_into(buffer) else { return nothing(subscriber) };
            // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
            unsafe { set_if_wanted(out_bytes, bytes) };
            Ok(HORUS_OK)
        })
    })
}

/// `horus_subscriber_recv_timeout`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_recv_timeout(
    subscriber: HorusSubscriber,
    out: *mut c_void,
    room: usize,
    timeout_ns: i64,
    out_bytes: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
        named(subscriber, |subscriber| {
            // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
            let buffer = unsafe { output(out, room) }?;
            let has_room = has_room(subscriber, room)?;
            wait_in_slices(timeout_ns, HORUS_TIMEOUT, subscriber, |subscriber, slice| {
                if !has_room {
                    if let Some(message) = subscriber.recv_bytes_timeout(slice) {
                        // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
                        return Ok(unsafe { copy(message, buffer, out_bytes) });
                    }
                    subscriber.check()?;
                    return Ok(HORUS_TIMEOUT);
                }
                match subscriber.recv_into_timeout(buffer, slice) {
                    Ok(bytes) => {
                        // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
                        unsafe { set_if_wanted(out_bytes, bytes) };
                        Ok(HORUS_OK)
                    }
                    Err(RecvTimeoutError::Timeout { .. }) => Ok(HORUS_TIMEOUT),
                    Err(error) => Err(error.into()),
                }
            })
        })
    })
}

/// `horus_subscriber_latest`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_latest(
    subscriber: HorusSubscriber,
    out: *mut c_void,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
        named(subscriber, |subscriber| {
            // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
            let buffer = unsafe { output(out, room) }?;
            has_room(subscriber, room)?;
            let Some(message) = subscriber.latest_bytes() else { return nothing(subscriber) };
            // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
            Ok(unsafe { copy(message, buffer, out_bytes) })
        })
    })
}

/// # Safety
///
/// As the header says of `horus_subscriber_borrow`.
unsafe fn borrow_with(
    subscriber: HorusSubscriber,
    out: *mut HorusSample,
    borrow: impl FnOnce(&mut UntypedSubscriber) -> Result<Option<RawSample>, BorrowError>,
) -> Call {
    // SAFETY: the caller's contract: no other thread is in a call with the handle.
    let subscriber = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
    named(subscriber, |subscriber| {
        let out = Out::new(out, "out")?;
        let Some(sample) = borrow(subscriber)? else { return nothing(subscriber) };
        let (message, sequence) = (sample.bytes(), sample.sequence());
        let (data, bytes) = (message.as_ptr().cast(), message.len());
        let id = SAMPLES.put(sample)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.set(HorusSample { id, data, bytes, sequence }) };
        Ok(HORUS_OK)
    })
}

/// `horus_subscriber_borrow`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_borrow(
    subscriber: HorusSubscriber,
    out: *mut HorusSample,
) -> i32 {
    // SAFETY: the caller's contract: `out` is valid for writes, and no other call uses the handle.
    guard_quick(|| unsafe { borrow_with(subscriber, out, UntypedSubscriber::borrow) })
}

/// `horus_subscriber_borrow_latest`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_borrow_latest(
    subscriber: HorusSubscriber,
    out: *mut HorusSample,
) -> i32 {
    // SAFETY: the caller's contract: `out` is valid for writes, and no other call uses the handle.
    guard_quick(|| unsafe { borrow_with(subscriber, out, UntypedSubscriber::borrow_latest) })
}

/// `horus_sample_release`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_sample_release(sample_id: u64) -> i32 {
    guard_quick(|| {
        drop(SAMPLES.take(sample_id)?);
        Ok(HORUS_OK)
    })
}

/// `horus_subscriber_check`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_check(subscriber: HorusSubscriber) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
        named(subscriber, |subscriber| {
            subscriber.check()?;
            Ok(HORUS_OK)
        })
    })
}

/// `horus_subscriber_set_spin`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_set_spin(
    subscriber: HorusSubscriber,
    spin_ns: u64,
) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
        named(subscriber, |subscriber| {
            subscriber.set_spin(Duration::from_nanos(spin_ns));
            Ok(HORUS_OK)
        })
    })
}

/// `horus_subscriber_stats`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_stats(
    subscriber: HorusSubscriber,
    out: *mut HorusStats,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let end = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
        named(end, |end| {
            if end.is_forked() {
                return Err(RecvError::Forked { topic: end.label() }.into());
            }
            let stats = end.stats();
            let stats = HorusStats {
                struct_bytes: 0,
                unmapped: stats.unmapped as u32,
                received: stats.received,
                malformed: stats.malformed,
                lost: stats.lost,
                skipped: stats.skipped,
                waiting: stats.waiting,
                sent: stats.sent,
                busy: stats.busy,
            };
            // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
            unsafe { HorusStats::write(&stats, out, "out") }?;
            Ok(HORUS_OK)
        })
    })
}

/// `horus_subscriber_info`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_info(
    subscriber: HorusSubscriber,
    out: *mut HorusTopicInfo,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let end = unsafe { SUBSCRIBERS.enter(subscriber.id) }?;
        named(end, |end| {
            if end.is_forked() {
                return Err(RecvError::Forked { topic: end.label() }.into());
            }
            let info = HorusTopicInfo {
                struct_bytes: 0,
                is_sized: end.is_sized().into(),
                max_message_bytes: end.max_message_bytes(),
                sequence: end.sequence(),
                publishers: end.publisher_count() as u32,
                subscribers: end.subscriber_count() as u32,
            };
            // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
            unsafe { HorusTopicInfo::write(&info, out, "out") }?;
            Ok(HORUS_OK)
        })
    })
}
