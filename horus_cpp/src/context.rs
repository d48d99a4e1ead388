//! The context of a tick, as C sees it.

use std::ffi::{c_char, c_void};

use horus_core::scheduler::Context;

use crate::ffi::{Call, guard_quick, null};
use crate::status::{Failure, HORUS_E_STATE, HORUS_OK};

/// The most bytes of an error text that are read.
const ERROR_BYTES_MAX: usize = 4096;

/// `horus_context_t`: valid during one callback.
#[repr(C)]
#[derive(Debug)]
pub struct HorusContext {
    context: *mut c_void,
    said: *mut String,
}

impl HorusContext {
    #[inline(always)]
    pub(crate) fn new(context: &mut Context<'_>, said: &mut String) -> Self {
        Self { context: std::ptr::from_mut(context).cast(), said }
    }

    /// Makes the context of a callback that is not a tick: it can only set an error.
    pub(crate) fn without_tick(said: &mut String) -> Self {
        Self { context: std::ptr::null_mut(), said }
    }
}

/// Returns the context of a running callback.
///
/// # Safety
///
/// `given` is null, or the library gave it to a callback that has not returned, on its thread.
#[inline(always)]
unsafe fn of<'a>(given: *mut HorusContext) -> Result<&'a mut Context<'a>, Failure> {
    if given.is_null() {
        return Err(null("context"));
    }
    // SAFETY: the caller's contract: `given` was given to a running callback, and is not null here.
    let context = unsafe { (*given).context }.cast::<Context<'a>>();
    // SAFETY: the pointer is null, or `new` made it from a context that lives as long as the
    // callback.
    unsafe { context.as_mut() }.ok_or_else(no_tick)
}

#[cold]
fn no_tick() -> Failure {
    Failure::new(HORUS_E_STATE, "the callback is not a tick: its context can only set an error")
}

/// Reads a number from the context; returns 0 without one.
///
/// # Safety
///
/// As [`of`].
#[inline(always)]
unsafe fn number(given: *mut HorusContext, read: impl FnOnce(&mut Context<'_>) -> u64) -> u64 {
    let mut found = 0;
    guard_quick(|| -> Call {
        // SAFETY: the caller's contract: `given` is null or was given to a running callback, on its
        // thread.
        found = read(unsafe { of(given) }?);
        Ok(HORUS_OK)
    });
    found
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `horus_context_tick`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_tick(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { number(context, |context| context.tick()) }
}

/// `horus_context_scheduled_ns`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_scheduled_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { number(context, |context| context.scheduled_ns()) }
}

/// `horus_context_started_ns`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_started_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { number(context, |context| context.started_ns()) }
}

/// `horus_context_period_ns`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_period_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { number(context, |context| nanos(context.period())) }
}

/// `horus_context_budget_left_ns`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_budget_left_ns(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { number(context, |context| nanos(context.budget_left())) }
}

/// `horus_context_random`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_random(context: *mut HorusContext) -> u64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    unsafe { number(context, |context| context.random()) }
}

/// `horus_context_random_double`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_random_double(context: *mut HorusContext) -> f64 {
    // SAFETY: the caller's contract: `context` is null or was given to a running callback, on its
    // thread.
    f64::from_bits(unsafe { number(context, |context| context.random_f64().to_bits()) })
}

/// `horus_context_checkpoint`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_checkpoint(
    context: *mut HorusContext,
    checkpoint: u64,
) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: `context` is null or was given to a running callback, on
        // its thread.
        unsafe { of(context) }?.checkpoint(checkpoint);
        Ok(HORUS_OK)
    })
}

/// `horus_context_stop`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_stop(context: *mut HorusContext) -> i32 {
    guard_quick(|| {
        // SAFETY: the caller's contract: `context` is null or was given to a running callback, on
        // its thread.
        unsafe { of(context) }?.stop();
        Ok(HORUS_OK)
    })
}

/// `horus_context_set_error`.
///
/// # Safety
///
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_context_set_error(
    context: *mut HorusContext,
    error: *const c_char,
) -> i32 {
    guard_quick(|| {
        if context.is_null() || error.is_null() {
            return Err(null(if context.is_null() { "context" } else { "error" }));
        }
        // SAFETY: the caller's contract: `context` was given to a running callback, on its thread.
        let said = unsafe { (*context).said };
        // SAFETY: the node lends its text for the callback.
        let said = unsafe { &mut *said };
        // SAFETY: the caller's contract: `error` is a terminated text.
        *said = unsafe { cut(error) };
        Ok(HORUS_OK)
    })
}

/// Copies a text, truncated. WHY it never fails: the text explains an error, and must not cause
/// one.
///
/// # Safety
///
/// `text` is readable up to its first 0, or for `ERROR_BYTES_MAX` bytes.
unsafe fn cut(text: *const c_char) -> String {
    let bytes = (0..ERROR_BYTES_MAX).map_while(|index| {
        let at = text.wrapping_add(index);
        // SAFETY: the caller's contract: `text` is readable up to its first 0, and no byte before
        // was 0.
        let byte = unsafe { at.read() };
        (byte != 0).then_some(byte as u8)
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}
