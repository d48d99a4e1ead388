//! The C functions of the context, an object that is passed to the callbacks of a node.

use std::ffi::{c_char, c_void};

use horus_core::scheduler::Context;

use crate::ffi::{StatusResult, null_argument, run_cancellable};
use crate::status::{Failure, HORUS_E_STATE, HORUS_OK};

/// Maximum length of an error text that a callback sets, in bytes. A longer text is truncated.
const ERROR_TEXT_BYTES_MAX: usize = 4096;

/// The C struct `horus_context_t`, which is valid during one callback.
#[repr(C)]
#[derive(Debug)]
pub struct HorusContext {
    context: *mut c_void,
    error_text: *mut String,
}

impl HorusContext {
    /// Creates the context for a callback in which `context` is valid. Clears `error_text`, so that
    /// the text of an earlier callback, which succeeded, is not reported for this one.
    #[inline(always)]
    pub(crate) fn new(context: &mut Context<'_>, error_text: &mut String) -> Self {
        error_text.clear();
        Self {
            context: std::ptr::from_mut(context).cast(),
            error_text,
        }
    }

    /// Creates the context for a callback that is not a tick. The callback can use the context only
    /// to set an error. Clears `error_text`, as [`Self::new`] does.
    pub(crate) fn new_outside_tick(error_text: &mut String) -> Self {
        error_text.clear();
        Self {
            context: std::ptr::null_mut(),
            error_text,
        }
    }
}

/// Returns the context of the running tick. Returns an error if `given` belongs to a callback that
/// is not a tick.
///
/// # Safety
///
/// `given` is null, or the library passed it to a callback that runs on this thread and has not
/// returned.
#[inline(always)]
unsafe fn tick_context<'a>(given: *mut HorusContext) -> Result<&'a mut Context<'a>, Failure> {
    if given.is_null() {
        return Err(null_argument("context"));
    }
    // SAFETY: the caller's contract: `given` was given to a running callback, and is not null here.
    let context = unsafe { (*given).context }.cast::<Context<'a>>();
    // SAFETY: the pointer is null, or `new` made it from a context that lives as long as the
    // callback.
    unsafe { context.as_mut() }.ok_or_else(outside_tick_failure)
}

#[cold]
fn outside_tick_failure() -> Failure {
    Failure::new(
        HORUS_E_STATE,
        "the callback is not a tick: its context can only set an error",
    )
}

/// Calls `read` with the context of the running tick and returns its result. Returns 0 if `given`
/// is not the context of a running tick.
///
/// # Safety
///
/// `given` is null, or the library passed it to a callback that runs on this thread and has not
/// returned.
#[inline(always)]
unsafe fn read_tick_context(
    given: *mut HorusContext,
    read: impl FnOnce(&mut Context<'_>) -> u64,
) -> u64 {
    let mut found = 0;
    run_cancellable(|| -> StatusResult {
        // SAFETY: the caller's contract: `given` is null or was given to a running callback, on its
        // thread.
        found = read(unsafe { tick_context(given) }?);
        Ok(HORUS_OK)
    });
    found
}

fn saturating_ns(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The C function `horus_context_tick`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_tick(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { read_tick_context(context, |context| context.tick()) }
}

/// The C function `horus_context_scheduled_ns`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_scheduled_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { read_tick_context(context, |context| context.scheduled_ns()) }
}

/// The C function `horus_context_started_ns`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_started_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { read_tick_context(context, |context| context.started_ns()) }
}

/// The C function `horus_context_period_ns`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_period_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { read_tick_context(context, |context| saturating_ns(context.period())) }
}

/// The C function `horus_context_budget_left_ns`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_budget_left_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { read_tick_context(context, |context| saturating_ns(context.budget_left())) }
}

/// The C function `horus_context_in_safe_state`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_in_safe_state(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { read_tick_context(context, |context| u64::from(context.is_in_safe_state())) }
}

/// The C function `horus_context_random`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_random(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { read_tick_context(context, |context| context.random()) }
}

/// The C function `horus_context_random_double`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_random_double(context: *mut HorusContext) -> f64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    f64::from_bits(unsafe { read_tick_context(context, |context| context.random_f64().to_bits()) })
}

/// The C function `horus_context_checkpoint`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_checkpoint(
    context: *mut HorusContext,
    checkpoint: u64,
) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: `context` is null or was given to a running callback, on
        // its thread.
        unsafe { tick_context(context) }?.checkpoint(checkpoint);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_context_stop`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_stop(context: *mut HorusContext) -> i32 {
    run_cancellable(|| {
        // SAFETY: the caller's contract: `context` is null or was given to a running callback, on
        // its thread.
        unsafe { tick_context(context) }?.stop();
        Ok(HORUS_OK)
    })
}

/// The C function `horus_context_set_error`: see `scheduler.h`.
///
/// # Safety
///
/// The arguments are as `scheduler.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_set_error(
    context: *mut HorusContext,
    error: *const c_char,
) -> i32 {
    run_cancellable(|| {
        if context.is_null() || error.is_null() {
            return Err(null_argument(if context.is_null() {
                "context"
            } else {
                "error"
            }));
        }
        // SAFETY: the caller's contract: `context` was given to a running callback, on its thread.
        let error_text = unsafe { (*context).error_text };
        // SAFETY: the node lends its text for the callback.
        let error_text = unsafe { &mut *error_text };
        // SAFETY: the caller's contract: `error` is a terminated text.
        *error_text = unsafe { copy_error_text(error) };
        Ok(HORUS_OK)
    })
}

/// Copies an error text of the caller, truncated to [`ERROR_TEXT_BYTES_MAX`]. Never fails. WHY: the
/// text explains an error, and must not cause another one.
///
/// # Safety
///
/// `text` is readable up to its terminating 0, or for `ERROR_TEXT_BYTES_MAX` bytes.
unsafe fn copy_error_text(text: *const c_char) -> String {
    let bytes = (0..ERROR_TEXT_BYTES_MAX).map_while(|index| {
        let at = text.wrapping_add(index);
        // SAFETY: the caller's contract: `text` is readable up to its first 0, and no byte before
        // was 0.
        let byte = unsafe { at.read() };
        (byte != 0).then_some(byte as u8)
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}
