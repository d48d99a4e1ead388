//! The C functions that open publishers and send messages.

use std::ffi::{c_char, c_void};

use horus_core::SendError;
use horus_core::topic::DynamicPublisher;

use crate::endpoint_wait::wait_for_endpoints;
use crate::ffi::{
    OutPointer, SizePrefixedStruct, StatusResult, input_slice, run_cancellable, run_guarded,
    wait_in_slices,
};
use crate::handle::{HandleGuard, Slab};
use crate::info::{HorusTopicInfo, topic_info};
use crate::status::{Failure, HORUS_E_LOAN, HORUS_FULL, HORUS_OK, clear_error_text_and_return};
use crate::topic::{HorusTopicOptions, endpoint_builder};

/// The C struct `horus_publisher_t`, as `horus.h` declares it: a handle of a publisher.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusPublisher {
    /// The handle, as a number. 0 is the null handle.
    pub id: u64,
}

/// The value to which the handle of a publisher refers.
#[derive(Debug)]
pub(crate) struct Publisher {
    pub(crate) end: DynamicPublisher,
    is_on_loan: bool,
}

impl Publisher {
    /// Returns an error if the publisher has loaned a slot to the caller. WHY: a send would use the
    /// same slot, and would publish it while the caller is still writing to it.
    #[inline(always)]
    fn check_no_loan(&self) -> Result<(), Failure> {
        if self.is_on_loan {
            Err(Self::unfinished_loan_failure())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn unfinished_loan_failure() -> Failure {
        Failure::new(HORUS_E_LOAN, "a slot is lent: publish or discard it first")
    }
}

pub(crate) static PUBLISHERS: Slab<Publisher> = Slab::new(2);

/// Converts the result of a send to a status. If the topic is full, returns the status
/// `HORUS_FULL`, which is not an error.
#[inline(always)]
fn send_status(sent: Result<(), SendError<()>>) -> StatusResult {
    match sent {
        Ok(()) => Ok(HORUS_OK),
        Err(SendError::Full { .. }) => Ok(clear_error_text_and_return(HORUS_FULL)),
        Err(error) => Err(error.into()),
    }
}

/// Calls `call` with the publisher and returns its result. If the result is an error, adds the name
/// of the topic to its text.
#[inline(always)]
fn call_and_name_topic_in_failure(
    mut publisher: HandleGuard<'_, Publisher>,
    call: impl FnOnce(&mut HandleGuard<'_, Publisher>) -> StatusResult,
) -> StatusResult {
    call(&mut publisher).map_err(|failure| failure.add_topic_name(publisher.end.name()))
}

/// Returns a failure with the status `HORUS_FULL` for a send that timed out. Its text names the
/// process of the slowest subscriber.
#[cold]
fn send_timeout_failure(end: &DynamicPublisher) -> Failure {
    let reader = end.slowest_subscriber().and_then(|reader| reader.process);
    let reader = reader.map_or_else(|| "a process".to_owned(), |process| process.to_string());
    let text = format!(
        "{reader} reads reliably and is a whole lane behind: try again, or set detach_after of the \
         publisher"
    );
    Failure::new(HORUS_FULL, text)
}

/// The C function `horus_publisher_open`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_open(
    topic: *const c_char,
    options: *const HorusTopicOptions,
    out: *mut HorusPublisher,
) -> i32 {
    run_guarded(|| {
        let out = OutPointer::new(out, "out")?;
        // SAFETY: the caller's contract: `topic` and `options` are as the header says of this
        // function.
        let end = unsafe { endpoint_builder(topic, options) }?.publisher()?;
        let id = PUBLISHERS.open(Publisher {
            end,
            is_on_loan: false,
        })?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.write(HorusPublisher { id }) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_publisher_close`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_publisher_close(publisher: HorusPublisher) -> i32 {
    run_guarded(|| {
        drop(PUBLISHERS.close(publisher.id)?);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_publisher_send`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_send(
    publisher: HorusPublisher,
    data: *const c_void,
    bytes: usize,
) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            // SAFETY: the caller's contract: `data` is null or readable for `bytes` bytes.
            let message = unsafe { input_slice(data, bytes, "data") }?;
            publisher.check_no_loan()?;
            let sent = publisher.end.send_bytes(message);
            send_status(sent)
        })
    })
}

/// The C function `horus_publisher_send_timeout`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_send_timeout(
    publisher: HorusPublisher,
    data: *const c_void,
    bytes: usize,
    timeout_ns: i64,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            // SAFETY: the caller's contract: `data` is null or readable for `bytes` bytes.
            let message = unsafe { input_slice(data, bytes, "data") }?;
            publisher.check_no_loan()?;
            let sent = wait_in_slices(timeout_ns, HORUS_FULL, publisher, |publisher, slice, _| {
                let sent = publisher.end.send_bytes_uncounted(message, slice);
                send_status(sent)
            });
            if matches!(sent, Ok(HORUS_FULL)) {
                publisher.end.count_refused_send();
                Err(send_timeout_failure(&publisher.end))
            } else {
                sent
            }
        })
    })
}

/// The C function `horus_publisher_reserve`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_reserve(publisher: HorusPublisher, bytes: usize) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            publisher.check_no_loan()?;
            send_status(publisher.end.reserve(bytes))
        })
    })
}

/// The C function `horus_publisher_loan`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_loan(
    publisher: HorusPublisher,
    out_data: *mut *mut c_void,
    out_bytes: *mut usize,
) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            let out_data = OutPointer::new(out_data, "out_data")?;
            publisher.check_no_loan()?;
            let slot = match publisher.end.lend() {
                Ok(slot) => slot,
                Err(horus_core::LoanError::Full { .. }) => {
                    return Ok(clear_error_text_and_return(HORUS_FULL));
                }
                Err(error) => return Err(error.into()),
            };
            publisher.is_on_loan = true;
            // SAFETY: the caller's contract: `out_data` is valid for writes.
            unsafe { out_data.write(slot.as_ptr().cast()) };
            // SAFETY: the caller's contract: `out_bytes` is null or valid for writes.
            unsafe { crate::ffi::write_if_not_null(out_bytes, slot.len()) };
            Ok(HORUS_OK)
        })
    })
}

/// The C function `horus_publisher_publish`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_publish(publisher: HorusPublisher, bytes: usize) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            let published = publisher.end.publish_lent(bytes);
            let published = published.map_err(Failure::from);
            // WHY: after a wrong length, the slot stays on loan, so that the caller can try again.
            let keeps =
                matches!(&published, Err(failure) if failure.status == crate::HORUS_E_MESSAGE);
            publisher.is_on_loan &= keeps;
            published.map(|()| HORUS_OK)
        })
    })
}

/// The C function `horus_publisher_discard`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_discard(publisher: HorusPublisher) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            publisher.is_on_loan = false;
            let topic = publisher.end.label();
            match publisher.end.discard_lent() {
                true => Ok(HORUS_OK),
                false => Err(horus_core::LoanError::Ended { topic }.into()),
            }
        })
    })
}

/// The C function `horus_publisher_wait_for_subscribers`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_wait_for_subscribers(
    publisher: HorusPublisher,
    count: usize,
    timeout_ns: i64,
    out_count: *mut usize,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            let wait =
                |publisher: &Publisher, slice| publisher.end.wait_for_subscribers(count, slice);
            // SAFETY: the caller's contract: `out_count` is null or valid for writes.
            unsafe { wait_for_endpoints(publisher, timeout_ns, out_count, wait) }
        })
    })
}

/// The C function `horus_publisher_info`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_info(
    publisher: HorusPublisher,
    out: *mut HorusTopicInfo,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let publisher = unsafe { PUBLISHERS.borrow_value(publisher.id) }?;
        call_and_name_topic_in_failure(publisher, |publisher| {
            let info = topic_info!(publisher.end, 0)?;
            // SAFETY: the caller's contract: `out` is null or writable for its `struct_bytes`.
            unsafe { HorusTopicInfo::write(&info, out, "out") }?;
            Ok(HORUS_OK)
        })
    })
}
