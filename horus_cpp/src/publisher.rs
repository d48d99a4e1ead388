//! The publishing endpoint of a topic, as C sees it.

use std::ffi::{c_char, c_void};

use horus_core::SendError;
use horus_core::topic::UntypedPublisher;

use crate::ffi::{Call, Out, Sized32, guard, guard_quick, input, wait_in_slices};
use crate::handle::{Guard, Slab};
use crate::info::HorusTopicInfo;
use crate::status::{Failure, HORUS_E_LOAN, HORUS_FULL, HORUS_OK};
use crate::topic::{HorusTopicOptions, builder};

/// `horus_publisher_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusPublisher {
    /// The handle.
    pub id: u64,
}

/// A publisher, and a flag that says whether a slot of it is lent.
#[derive(Debug)]
struct Publisher {
    end: UntypedPublisher,
    is_lent: bool,
}

impl Publisher {
    /// WHY: a send would use the lent slot, and publish it while the caller is still writing.
    #[inline(always)]
    fn expect_nothing_lent(&self) -> Result<(), Failure> {
        if self.is_lent { Err(Self::is_on_loan()) } else { Ok(()) }
    }

    #[cold]
    fn is_on_loan() -> Failure {
        Failure::new(HORUS_E_LOAN, "a slot is lent: publish or discard it first")
    }
}

static PUBLISHERS: Slab<Publisher> = Slab::new(2);

/// Turns the result of a send into a status: a full topic is an outcome, not an error.
#[inline(always)]
fn outcome(sent: Result<(), SendError<()>>) -> Call {
    match sent {
        Ok(()) => Ok(HORUS_OK),
        Err(SendError::Full { .. }) => Ok(HORUS_FULL),
        Err(error) => Err(error.into()),
    }
}

/// Runs a call with the publisher of a handle; its errors name the topic.
#[inline(always)]
fn named(
    mut publisher: Guard<'_, Publisher>,
    call: impl FnOnce(&mut Guard<'_, Publisher>) -> Call,
) -> Call {
    call(&mut publisher).map_err(|failure| failure.of_topic(publisher.end.name()))
}

/// Returns the outcome of a send that timed out, with a text that names the slowest reader.
#[cold]
fn still_full(end: &UntypedPublisher) -> Failure {
    let reader = end.slowest_reader().and_then(|reader| reader.process);
    let reader = reader.map_or_else(|| "a process".to_owned(), |process| process.to_string());
    let text = format!("{reader} reads reliably and is a whole lane behind: try again");
    Failure::new(HORUS_FULL, text)
}

/// `horus_publisher_open`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_open(
    topic: *const c_char,
    options: *const HorusTopicOptions,
    out: *mut HorusPublisher,
) -> i32 {
    guard(|| {
        let out = Out::new(out, "out")?;
        // SAFETY: the caller's contract: `topic` and `options` are as the header says of this
        // function.
        let end = unsafe { builder(topic, options) }?.publisher()?;
        let id = PUBLISHERS.open(Publisher { end, is_lent: false })?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.set(HorusPublisher { id }) };
        Ok(HORUS_OK)
    })
}

/// `horus_publisher_close`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_publisher_close(publisher: HorusPublisher) -> i32 {
    guard(|| {
        drop(PUBLISHERS.close(publisher.id)?);
        Ok(HORUS_OK)
    })
}

/// `horus_publisher_send`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_send(
    publisher: HorusPublisher,
    data: *const c_void,
    bytes: usize,
) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.enter(publisher.id) }?;
        named(publisher, |publisher| {
            // SAFETY: the caller's contract: `data` is null or readable for `bytes` bytes.
            let message = unsafe { input(data, bytes) }?;
            publisher.expect_nothing_lent()?;
            let sent = publisher.end.send_bytes(message);
            outcome(sent)
        })
    })
}

/// `horus_publisher_send_timeout`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_send_timeout(
    publisher: HorusPublisher,
    data: *const c_void,
    bytes: usize,
    timeout_ns: i64,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.enter(publisher.id) }?;
        named(publisher, |publisher| {
            // SAFETY: the caller's contract: `data` is null or readable for `bytes` bytes.
            let message = unsafe { input(data, bytes) }?;
            publisher.expect_nothing_lent()?;
            let sent = wait_in_slices(timeout_ns, HORUS_FULL, publisher, |publisher, slice| {
                let sent = publisher.end.send_bytes_timeout(message, slice);
                outcome(sent)
            });
            if matches!(sent, Ok(HORUS_FULL)) { Err(still_full(&publisher.end)) } else { sent }
        })
    })
}

/// `horus_publisher_loan`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_loan(
    publisher: HorusPublisher,
    out_data: *mut *mut c_void,
    out_bytes: *mut usize,
) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.enter(publisher.id) }?;
        named(publisher, |publisher| {
            let out_data = Out::new(out_data, "out_data")?;
            publisher.expect_nothing_lent()?;
            let slot = match publisher.end.lend() {
                Ok(slot) => slot,
                Err(horus_core::LoanError::Full { .. }) => return Ok(HORUS_FULL),
                Err(error) => return Err(error.into()),
            };
            publisher.is_lent = true;
            // SAFETY: the caller's contract: `out_data` is valid for writes.
            unsafe { out_data.set(slot.as_ptr().cast()) };
            // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
            unsafe { crate::ffi::set_if_wanted(out_bytes, slot.len()) };
            Ok(HORUS_OK)
        })
    })
}

/// `horus_publisher_publish`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_publish(publisher: HorusPublisher, bytes: usize) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.enter(publisher.id) }?;
        named(publisher, |publisher| {
            let published = publisher.end.publish_lent(bytes);
            let published = published.map_err(Failure::from);
            // WHY: after a wrong length the caller keeps the slot.
            let keeps =
                matches!(&published, Err(failure) if failure.status == crate::HORUS_E_MESSAGE);
            publisher.is_lent &= keeps;
            published.map(|()| HORUS_OK)
        })
    })
}

/// `horus_publisher_discard`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_discard(publisher: HorusPublisher) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.enter(publisher.id) }?;
        named(publisher, |publisher| {
            publisher.is_lent = false;
            let topic = publisher.end.label();
            match publisher.end.discard_lent() {
                true => Ok(HORUS_OK),
                false => Err(horus_core::LoanError::Ended { topic }.into()),
            }
        })
    })
}

/// `horus_publisher_info`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_info(
    publisher: HorusPublisher,
    out: *mut HorusTopicInfo,
) -> i32 {
    guard(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.enter(publisher.id) }?;
        named(publisher, |publisher| {
            let end = &publisher.end;
            if end.is_forked() {
                return Err(SendError::Forked { topic: end.label(), message: () }.into());
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
