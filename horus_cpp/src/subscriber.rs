//! The C functions that open subscribers and receive messages.

use std::ffi::{c_char, c_void};
use std::time::{Duration, Instant};

use horus_core::topic::{DynamicSchema, DynamicSubscriber, RawSample};
use horus_core::{BorrowError, RecvError, RecvTimeoutError};

use crate::endpoint_wait::wait_for_endpoints;
use crate::ffi::{
    OutPointer, SizePrefixedStruct, StatusResult, invalid_argument, output_slice, run_cancellable,
    run_guarded, wait_in_slices, write_if_not_null,
};
use crate::handle::{HandleGuard, Slab, TransferTable};
use crate::info::{HorusStats, HorusTopicInfo, topic_info};
use crate::status::{Failure, HORUS_EMPTY, HORUS_OK, HORUS_TIMEOUT, HORUS_TRUNCATED};
use crate::topic::{HorusTopicOptions, endpoint_builder};

/// Number of consecutive messages that are shorter than their header after which a borrow gives up
/// and returns `HORUS_EMPTY`.
const CONSECUTIVE_MALFORMED_MAX: u32 = 16;

/// The C struct `horus_subscriber_t`, as `horus.h` declares it: a handle of a subscriber.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusSubscriber {
    /// The handle, as a number. 0 is the null handle.
    pub id: u64,
}

/// The C struct `horus_sample_t`, as `horus.h` declares it: a borrowed message.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusSample {
    pub id: u64,
    pub data: *const c_void,
    pub bytes: usize,
    pub sequence: u64,
}

pub(crate) static SUBSCRIBERS: Slab<DynamicSubscriber> = Slab::new(3);
static SAMPLES: TransferTable<RawSample> = TransferTable::new(4);

/// Calls `call` with the subscriber and returns its result. If the result is an error, adds the
/// name of the topic to its text.
#[inline(always)]
fn call_and_name_topic_in_failure(
    mut subscriber: HandleGuard<'_, DynamicSubscriber>,
    call: impl FnOnce(&mut HandleGuard<'_, DynamicSubscriber>) -> StatusResult,
) -> StatusResult {
    call(&mut subscriber).map_err(|failure| failure.add_topic_name(subscriber.name()))
}

/// Returns the status of a call that found no message: `HORUS_EMPTY`, or an error if the subscriber
/// cannot receive any messages.
#[cold]
fn no_message_status(subscriber: &DynamicSubscriber) -> StatusResult {
    check_receives_from_all_publishers(subscriber)?;
    Ok(HORUS_EMPTY)
}

/// Checks that the subscriber can receive from all of its publishers.
///
/// # Errors
///
/// A failure that says why the subscriber receives no messages, or not all messages.
fn check_receives_from_all_publishers(subscriber: &DynamicSubscriber) -> Result<(), Failure> {
    let checked = subscriber.check();
    checked.map_err(|error| add_type_difference(subscriber, error.into()))
}

/// If the publishers use a different message type from that of the subscriber, adds the first
/// difference between the two types to `failure`, unless its text contains that. Returns `failure`.
#[cold]
fn add_type_difference(subscriber: &DynamicSubscriber, mut failure: Failure) -> Failure {
    if let Some(difference) = subscriber.schema_difference() {
        let text = format!("({difference})");
        if !failure.text.contains(&text) {
            failure.text = format!("{} {text}", failure.text);
        }
    }
    failure
}

/// Returns true if every message that the publishers can currently send fits into `room` bytes.
/// Returns an error if all messages have the same length and that length is larger than `room`.
#[inline(always)]
fn all_messages_fit(subscriber: &DynamicSubscriber, room: usize) -> Result<bool, Failure> {
    let all_messages_fit = room >= subscriber.max_message_bytes();
    if all_messages_fit || subscriber.message_type().has_variable_size() {
        Ok(all_messages_fit)
    } else {
        Err(buffer_too_small_failure(subscriber, room))
    }
}

#[cold]
fn buffer_too_small_failure(subscriber: &DynamicSubscriber, bytes: usize) -> Failure {
    let wanted = subscriber.max_message_bytes();
    invalid_argument(format!(
        "out has {bytes} bytes, and messages of the topic have {wanted}: use a larger buffer"
    ))
}

/// Copies `message` to `buffer`, truncated to the size of the buffer. Writes the length of the
/// whole message to `out_bytes`. Returns `HORUS_OK`, or `HORUS_TRUNCATED` if the message was
/// truncated.
///
/// # Safety
///
/// `out_bytes` is null or valid for writes.
unsafe fn copy_truncated_message(message: &[u8], buffer: &mut [u8], out_bytes: *mut usize) -> i32 {
    let copied = message.len().min(buffer.len());
    buffer[..copied].copy_from_slice(&message[..copied]);
    // SAFETY: `out_bytes` is null or valid for writes, by the contract.
    unsafe { write_if_not_null(out_bytes, message.len()) };
    if copied < message.len() {
        HORUS_TRUNCATED
    } else {
        HORUS_OK
    }
}

/// Waits up to `timeout` for the next message, and copies it as [`copy_truncated_message`] does.
///
/// # Safety
///
/// `out_bytes` is null or valid for writes.
unsafe fn recv_within(
    subscriber: &mut DynamicSubscriber,
    timeout: Duration,
    buffer: &mut [u8],
    out_bytes: *mut usize,
) -> Result<Result<i32, RecvTimeoutError>, Failure> {
    let began = Instant::now();
    if all_messages_fit(subscriber, buffer.len())? {
        let received = subscriber.recv_into_timeout(buffer, timeout).map(|bytes| {
            // SAFETY: `out_bytes` is null or valid for writes, by the contract.
            unsafe { write_if_not_null(out_bytes, bytes) };
            HORUS_OK
        });
        if received.is_ok() || all_messages_fit(subscriber, buffer.len())? {
            return Ok(received);
        }
    }
    // WHY less: a publisher that began to send longer messages may have ended the first wait.
    let left = timeout.saturating_sub(began.elapsed());
    Ok(subscriber.recv_bytes_timeout(left).map(|message| {
        // SAFETY: `out_bytes` is null or valid for writes, by the contract.
        unsafe { copy_truncated_message(message, buffer, out_bytes) }
    }))
}

/// The C function `horus_subscriber_open`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_open(
    topic: *const c_char,
    options: *const HorusTopicOptions,
    out: *mut HorusSubscriber,
) -> i32 {
    run_guarded(|| {
        let out = OutPointer::new(out, "out")?;
        // SAFETY: the caller's contract: `topic` and `options` are as the header says of this
        // function.
        let mut end = unsafe { endpoint_builder(topic, options) }?.subscriber()?;
        // WHY: publishers may begin to send longer messages between `all_messages_fit` and the
        // copy.
        end.never_truncate();
        let id = SUBSCRIBERS.open(end)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.write(HorusSubscriber { id }) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_subscriber_close`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_subscriber_close(subscriber: HorusSubscriber) -> i32 {
    run_guarded(|| {
        drop(SUBSCRIBERS.close(subscriber.id)?);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_subscriber_recv`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_recv(
    subscriber: HorusSubscriber,
    out: *mut c_void,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(subscriber, |subscriber| {
            // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
            let buffer = unsafe { output_slice(out, room) }?;
            if all_messages_fit(subscriber, room)? {
                if let Some(bytes) = subscriber.recv_into(buffer) {
                    // SAFETY: `out_bytes` is null or valid for writes, by the contract.
                    unsafe { write_if_not_null(out_bytes, bytes) };
                    return Ok(HORUS_OK);
                }
                if all_messages_fit(subscriber, room)? {
                    return no_message_status(subscriber);
                }
            }
            match subscriber.recv_bytes() {
                // SAFETY: `out_bytes` is null or valid for writes, by the contract.
                Some(message) => Ok(unsafe { copy_truncated_message(message, buffer, out_bytes) }),
                None => no_message_status(subscriber),
            }
        })
    })
}

/// The C function `horus_subscriber_recv_timeout`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_recv_timeout(
    subscriber: HorusSubscriber,
    out: *mut c_void,
    room: usize,
    timeout_ns: i64,
    out_bytes: *mut usize,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(subscriber, |subscriber| {
            // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
            let buffer = unsafe { output_slice(out, room) }?;
            let spin = subscriber.spin();
            let status = wait_in_slices(
                timeout_ns,
                HORUS_TIMEOUT,
                subscriber,
                |subscriber, slice, waited| {
                    // WHY less: the whole wait spins once, and not each of its slices.
                    subscriber.set_spin(spin.saturating_sub(waited));
                    // SAFETY: `out_bytes` is null or valid for writes, by the contract.
                    let received = unsafe { recv_within(subscriber, slice, buffer, out_bytes) };
                    match received? {
                        Err(RecvTimeoutError::Timeout { .. }) => Ok(HORUS_TIMEOUT),
                        Err(error) => Err(add_type_difference(subscriber, error.into())),
                        Ok(status) => Ok(status),
                    }
                },
            );
            subscriber.set_spin(spin);
            status
        })
    })
}

/// The C function `horus_subscriber_latest`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_latest(
    subscriber: HorusSubscriber,
    out: *mut c_void,
    room: usize,
    out_bytes: *mut usize,
) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(subscriber, |subscriber| {
            // SAFETY: the caller's contract: `out` is null or writable for `room` bytes.
            let buffer = unsafe { output_slice(out, room) }?;
            all_messages_fit(subscriber, room)?;
            let Some(message) = subscriber.latest_bytes() else {
                return no_message_status(subscriber);
            };
            // SAFETY: `out_bytes` is null or valid for writes, by the contract.
            Ok(unsafe { copy_truncated_message(message, buffer, out_bytes) })
        })
    })
}

/// Calls `borrow` until it returns a message that is not shorter than its header, and counts the
/// shorter ones as malformed. Returns `None` if there is no message, or after
/// [`CONSECUTIVE_MALFORMED_MAX`] malformed ones.
///
/// WHY: any process may send fewer bytes. Callers of the C and C++ functions read the header where
/// the message is, without a check.
fn borrow_unless_shorter_than_header(
    subscriber: &mut DynamicSubscriber,
    mut borrow: impl FnMut(&mut DynamicSubscriber) -> Result<Option<RawSample>, BorrowError>,
) -> Result<Option<RawSample>, BorrowError> {
    for _ in 0..CONSECUTIVE_MALFORMED_MAX {
        let Some(sample) = borrow(subscriber)? else {
            return Ok(None);
        };
        let header_bytes = match subscriber.message_type().schema() {
            DynamicSchema::Plain { schema, .. } => schema.size,
            _ => 0,
        };
        if sample.bytes().len() >= header_bytes {
            return Ok(Some(sample));
        }
        subscriber.count_malformed();
    }
    Ok(None)
}

/// Borrows a message by calling `borrow`, and writes the borrowed sample to `out`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires for `horus_subscriber_borrow`.
unsafe fn borrow_sample_with(
    subscriber: HorusSubscriber,
    out: *mut HorusSample,
    borrow: impl FnMut(&mut DynamicSubscriber) -> Result<Option<RawSample>, BorrowError>,
) -> StatusResult {
    // SAFETY: the caller's contract: no other thread is in a call with the handle.
    let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
    call_and_name_topic_in_failure(subscriber, |subscriber| {
        let out = OutPointer::new(out, "out")?;
        let Some(sample) = borrow_unless_shorter_than_header(subscriber, borrow)? else {
            return no_message_status(subscriber);
        };
        let message = sample.bytes();
        let sequence = sample.sequence();
        let data = message.as_ptr().cast();
        let bytes = message.len();
        let id = SAMPLES.put(sample)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe {
            out.write(HorusSample {
                id,
                data,
                bytes,
                sequence,
            })
        };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_subscriber_borrow`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_borrow(
    subscriber: HorusSubscriber,
    out: *mut HorusSample,
) -> i32 {
    // SAFETY: the caller's contract: `out` is valid for writes, and no other call uses the handle.
    run_cancellable(|| unsafe { borrow_sample_with(subscriber, out, DynamicSubscriber::borrow) })
}

/// The C function `horus_subscriber_borrow_latest`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_borrow_latest(
    subscriber: HorusSubscriber,
    out: *mut HorusSample,
) -> i32 {
    // SAFETY: the caller's contract: `out` is valid for writes, and no other call uses the handle.
    run_cancellable(|| unsafe {
        borrow_sample_with(subscriber, out, DynamicSubscriber::borrow_latest)
    })
}

/// The C function `horus_sample_release`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_sample_release(sample_id: u64) -> i32 {
    run_cancellable(|| {
        drop(SAMPLES.take(sample_id)?);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_subscriber_wait_for_publishers`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_wait_for_publishers(
    subscriber: HorusSubscriber,
    count: usize,
    timeout_ns: i64,
    out_count: *mut usize,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(subscriber, |subscriber| {
            let wait = |subscriber: &DynamicSubscriber, slice| {
                subscriber.wait_for_publishers(count, slice)
            };
            // SAFETY: the caller's contract: `out_count` is null or valid for writes.
            unsafe { wait_for_endpoints(subscriber, timeout_ns, out_count, wait) }
        })
    })
}

/// The C function `horus_subscriber_check`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_check(subscriber: HorusSubscriber) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(subscriber, |subscriber| {
            check_receives_from_all_publishers(subscriber)?;
            Ok(HORUS_OK)
        })
    })
}

/// The C function `horus_subscriber_set_spin`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_set_spin(
    subscriber: HorusSubscriber,
    spin_ns: u64,
) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(subscriber, |subscriber| {
            subscriber.set_spin(Duration::from_nanos(spin_ns));
            Ok(HORUS_OK)
        })
    })
}

/// The C function `horus_subscriber_stats`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_stats(
    subscriber: HorusSubscriber,
    out: *mut HorusStats,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let end = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(end, |end| {
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

/// The C function `horus_subscriber_info`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_info(
    subscriber: HorusSubscriber,
    out: *mut HorusTopicInfo,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let end = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        call_and_name_topic_in_failure(end, |end| {
            let info = topic_info!(end, end.received_bytes() as u64)?;
            // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
            unsafe { HorusTopicInfo::write(&info, out, "out") }?;
            Ok(HORUS_OK)
        })
    })
}
