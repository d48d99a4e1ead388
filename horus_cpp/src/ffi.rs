//! The doorway: panics stop here, and what comes from C is checked here.

use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use horus_core::handle::Guard;

use crate::callback::Uncancelled;
use crate::status::{Failure, HORUS_E_ARGUMENT, HORUS_E_HANDLE, HORUS_E_NULL, HORUS_E_PANIC};

pub(crate) type Call = Result<i32, Failure>;

/// Bytes of the longest name or path that is looked at.
pub(crate) const NAME_BYTES_MAX: usize = 4096;
/// Bytes of the longest schema text that is looked at.
pub(crate) const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Longest wait between two looks whether the handle is being closed.
const SLICE: Duration = Duration::from_millis(50);

/// Runs a call; an error, and a panic, becomes a number. A `pthread_cancel` waits until it is over.
#[inline(always)]
pub(crate) fn guard(call: impl FnOnce() -> Call) -> i32 {
    let _uncancelled = Uncancelled::begin();
    guard_quick(call)
}

/// The same for calls that make no system call, or only on paths that see to that by themselves.
/// WHY: to forbid that a thread is cancelled costs as much as some of them.
#[inline(always)]
pub(crate) fn guard_quick(call: impl FnOnce() -> Call) -> i32 {
    // WHY the number is made inside: what passes through `catch_unwind` passes through memory, and
    // a status that is stored as four bytes and loaded as more stalls for 6 ns.
    let call = || call().unwrap_or_else(Failure::report);
    // WHY unwind safe: values are the core's, which says of itself that a panic leaves it whole.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(report_panic)
}

#[cold]
fn report_panic(panic: Box<dyn Any + Send>) -> i32 {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    let said = said.unwrap_or_else(|| "something that is no text".to_owned());
    // WHY forgotten: what was thrown may throw again when it is dropped.
    std::mem::forget(panic);
    Failure::new(HORUS_E_PANIC, format!("a defect of the library: {said}")).report()
}

#[cold]
pub(crate) fn null(name: &str) -> Failure {
    Failure::new(HORUS_E_NULL, format!("{name} is null"))
}

#[cold]
pub(crate) fn wrong(text: impl Into<String>) -> Failure {
    Failure::new(HORUS_E_ARGUMENT, text)
}

/// A place for a result.
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// A place that must be there.
    #[inline(always)]
    pub(crate) fn new(place: *mut T, name: &str) -> Result<Self, Failure> {
        if place.is_null() { Err(null(name)) } else { Ok(Self(place)) }
    }

    /// Stores the result, at any address.
    ///
    /// # Safety
    ///
    /// The place that this was made of is valid for writes.
    #[inline(always)]
    pub(crate) unsafe fn set(&self, value: T) {
        // SAFETY: the caller's contract; no alignment is needed.
        unsafe { self.0.write_unaligned(value) };
    }
}

/// Stores a result that the caller may not want.
///
/// # Safety
///
/// `place` is null or valid for writes.
#[inline(always)]
pub(crate) unsafe fn set_if_wanted<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's contract; no alignment is needed.
        unsafe { place.write_unaligned(value) };
    }
}

/// A struct whose first member says how many bytes of it the caller knows.
///
/// # Safety
///
/// Zeros are a value of it, and its first member is a `u32`.
pub(crate) unsafe trait Sized32: Copy {
    /// Bytes of the first version of it.
    const BYTES_MIN: usize;

    /// What the caller knows of it; the rest is zeros. `None` if there is no struct.
    ///
    /// # Safety
    ///
    /// `from` is null or readable for as many bytes as its first member says, and those.
    unsafe fn read(from: *const Self, name: &str) -> Result<Option<Self>, Failure> {
        if from.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's contract.
        let bytes = unsafe { struct_bytes::<Self>(from, name) }?;
        // SAFETY: the contract of this trait.
        let mut known: Self = unsafe { std::mem::zeroed() };
        let to = (&raw mut known).cast::<u8>();
        // SAFETY: the caller's contract, and no more than there is of `known`.
        unsafe { from.cast::<u8>().copy_to_nonoverlapping(to, bytes.min(size_of::<Self>())) };
        Ok(Some(known))
    }

    /// Writes as much of `value` as the caller knows, but for the first member.
    ///
    /// # Safety
    ///
    /// `to` is null, or readable and writable as in [`Self::read`].
    unsafe fn write(value: &Self, to: *mut Self, name: &str) -> Result<(), Failure> {
        if to.is_null() {
            return Err(null(name));
        }
        // SAFETY: the caller's contract.
        let bytes = unsafe { struct_bytes::<Self>(to, name) }?.min(size_of::<Self>());
        let first = size_of::<u32>();
        let from = std::ptr::from_ref(value).cast::<u8>().wrapping_add(first);
        let to = to.cast::<u8>().wrapping_add(first);
        // SAFETY: the caller's contract, and no more than there is of `value`.
        unsafe { from.copy_to_nonoverlapping(to, bytes - first) };
        Ok(())
    }
}

/// # Safety
///
/// The first member of `at` is readable.
unsafe fn struct_bytes<T: Sized32>(at: *const T, name: &str) -> Result<usize, Failure> {
    // SAFETY: the caller's contract.
    let bytes = unsafe { at.cast::<u32>().read_unaligned() } as usize;
    if (T::BYTES_MIN..=4096).contains(&bytes) {
        return Ok(bytes);
    }
    let (found, least) = (bytes, T::BYTES_MIN);
    Err(wrong(format!("{name}->struct_bytes is {found}, set it to sizeof *{name} ({least})")))
}

/// A text that must be there.
///
/// # Safety
///
/// `text` is null or readable up to its first 0 or for `max + 1` bytes.
pub(crate) unsafe fn text<'a>(
    text: *const c_char,
    name: &str,
    max: usize,
) -> Result<&'a str, Failure> {
    // SAFETY: the caller's contract.
    unsafe { text_if_any(text, name, max) }?.ok_or_else(|| null(name))
}

/// A text that may be null.
///
/// # Safety
///
/// As [`text`].
pub(crate) unsafe fn text_if_any<'a>(
    text: *const c_char,
    name: &str,
    max: usize,
) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    let mut bytes = 0;
    // SAFETY: the caller's contract: nothing before here was 0.
    while unsafe { text.wrapping_add(bytes).read() } != 0 {
        bytes += 1;
        if bytes > max {
            return Err(wrong(format!("{name} is longer than {max} bytes")));
        }
    }
    // SAFETY: it ends in a 0, and the caller keeps it for the call.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str().map_err(|error| wrong(format!("{name} is no UTF-8: {error}")))?;
    Ok(Some(text))
}

/// Bytes to be read.
///
/// # Safety
///
/// `data` is null or readable for `bytes` bytes for as long as the slice is used.
#[inline(always)]
pub(crate) unsafe fn input<'a>(data: *const c_void, bytes: usize) -> Result<&'a [u8], Failure> {
    if data.is_null() || bytes > isize::MAX as usize {
        return if bytes == 0 { Ok(&[]) } else { Err(no_memory("data", data, bytes)) };
    }
    // SAFETY: the caller's contract.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes) })
}

/// Bytes to be written.
///
/// # Safety
///
/// `data` is null or writable for `bytes` bytes for as long as the slice is used, by nobody else.
#[inline(always)]
pub(crate) unsafe fn output<'a>(data: *mut c_void, bytes: usize) -> Result<&'a mut [u8], Failure> {
    if data.is_null() || bytes > isize::MAX as usize {
        return if bytes == 0 { Ok(&mut []) } else { Err(no_memory("out", data, bytes)) };
    }
    // SAFETY: the caller's contract; any bytes are a value, also those that C never set.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), bytes) })
}

#[cold]
fn no_memory(name: &str, data: *const c_void, bytes: usize) -> Failure {
    if data.is_null() { null(name) } else { wrong(format!("{name} cannot have {bytes} bytes")) }
}

/// Waits in slices, until an attempt says something else than `over`, the timeout is over, or
/// another thread closes the handle. Negative timeouts never end.
pub(crate) fn wait_in_slices<T: Send>(
    timeout_ns: i64,
    over: i32,
    value: &mut Guard<'_, T>,
    mut attempt: impl FnMut(&mut T, Duration) -> Call,
) -> Call {
    let timeout = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
    let began = Instant::now();
    loop {
        let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        let slice = left.map_or(SLICE, |left| left.min(SLICE));
        let status = attempt(value, slice)?;
        if status != over || left.is_some_and(|left| left <= slice) {
            return Ok(status);
        }
        if value.is_closing() {
            let text = "the handle was closed by another thread during the call";
            return Err(Failure::new(HORUS_E_HANDLE, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::status::{HORUS_OK, horus_last_error_message};

    fn said() -> String {
        // SAFETY: the text ends in a 0, and this thread makes no error meanwhile.
        unsafe { CStr::from_ptr(horus_last_error_message()) }.to_str().unwrap().to_owned()
    }

    /// Throws when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the bomb");
        }
    }

    #[test]
    fn a_panic_is_a_number_and_a_text() {
        assert_eq!(guard(|| Ok(HORUS_OK)), HORUS_OK);
        assert_eq!(guard(|| panic!("a {}", "reason")), HORUS_E_PANIC);
        assert!(said().contains("a reason"), "{}", said());
        assert_eq!(guard(|| panic!("plain")), HORUS_E_PANIC);
        assert!(said().contains("plain"));
        assert_eq!(guard(|| std::panic::panic_any(Bomb)), HORUS_E_PANIC);
        assert!(said().contains("no text"));
        assert_eq!(guard(|| Err(wrong("nul \0 and end"))), HORUS_E_ARGUMENT);
        assert_eq!(said(), "nul ? and end");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(guard(|| Err(wrong("ä".repeat(2000)))), HORUS_E_ARGUMENT);
        assert_eq!(said(), "ä".repeat(511));
    }
}
