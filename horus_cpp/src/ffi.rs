//! The boundary between C and Rust: catches panics and checks the arguments of C functions.

use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::callback::DelayedCancellationGuard;
use crate::handle::HandleGuard;
use crate::status::{
    Failure, HORUS_E_ARGUMENT, HORUS_E_HANDLE, HORUS_E_NULL, HORUS_E_PANIC,
    clear_error_text_and_return,
};

pub(crate) type StatusResult = Result<i32, Failure>;

/// Maximum length of a name or path that a C caller passes, in bytes. A longer one is an error.
pub(crate) const NAME_BYTES_MAX: usize = 4096;
/// Maximum length of a schema text that a C caller passes, in bytes. A longer one is an error.
pub(crate) const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Interval at which a blocking call checks whether another thread is closing the handle that the
/// call uses.
const CLOSE_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `call`, the body of a C function, and converts its error or panic to a status. A
/// `pthread_cancel` of this thread is delayed until the body has ended.
#[inline(always)]
pub(crate) fn run_guarded(call: impl FnOnce() -> StatusResult) -> i32 {
    let _delayed_cancel = DelayedCancellationGuard::begin();
    run_cancellable(call)
}

/// Does the same as [`run_guarded`], but does not delay a `pthread_cancel`. It is meant for calls
/// that make no system call, or that disable cancellation themselves before they make one. WHY:
/// disabling cancellation takes as long as some of these calls.
#[inline(always)]
pub(crate) fn run_cancellable(call: impl FnOnce() -> StatusResult) -> i32 {
    // WHY converted to a status inside: a result of `catch_unwind` passes through memory, and a
    // status that is stored as four bytes and loaded as more stalls for 6 ns.
    let call = || call().unwrap_or_else(Failure::store_as_last_error);
    // WHY unwind safe: the values are the core's, which stays consistent after a panic.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(report_panic)
}

#[cold]
fn report_panic(panic: Box<dyn Any + Send>) -> i32 {
    let text = panic.downcast::<String>().map(|text| *text);
    let text = text.or_else(|panic| panic.downcast::<&str>().map(|text| (*text).to_owned()));
    let said = text.unwrap_or_else(|panic| {
        // WHY forgotten: the drop of an unknown panic payload may panic again.
        std::mem::forget(panic);
        "a panic with no text".to_owned()
    });
    Failure::new(HORUS_E_PANIC, format!("a defect of the library: {said}")).store_as_last_error()
}

#[cold]
pub(crate) fn null_argument(name: &str) -> Failure {
    Failure::new(HORUS_E_NULL, format!("{name} is null"))
}

#[cold]
pub(crate) fn invalid_argument(text: impl Into<String>) -> Failure {
    Failure::new(HORUS_E_ARGUMENT, text)
}

/// A time of 0 ns, for settings in which the number 0 stands for the default.
pub const HORUS_TIME_ZERO: u64 = 1 << 63;

/// The number 0, for settings of 32 bits in which the number 0 stands for the default.
pub const HORUS_COUNT_ZERO: u32 = u32::MAX;

/// The number 0, for settings of 64 bits in which the number 0 stands for the default.
pub const HORUS_COUNT64_ZERO: u64 = u64::MAX;

/// The priority 0, which every call refuses. WHY: the number 0 stands for no priority.
pub const HORUS_PRIORITY_ZERO: i32 = i32::MIN;

/// Returns the number that a caller has set, or `None` if it is 0, which stands for the default.
pub(crate) const fn count_unless_default(number: u32) -> Option<u32> {
    match number {
        0 => None,
        HORUS_COUNT_ZERO => Some(0),
        number => Some(number),
    }
}

/// Does the same as [`count_unless_default`] for a setting of 64 bits.
pub(crate) const fn count64_unless_default(number: u64) -> Option<u64> {
    match number {
        0 => None,
        HORUS_COUNT64_ZERO => Some(0),
        number => Some(number),
    }
}

/// Returns the time of `ns` nanoseconds, or `None` if `ns` is 0, which stands for the default. A
/// number above `i64::MAX` is an error that contains `name`: a caller converted a negative number.
pub(crate) fn duration_unless_default(name: &str, ns: u64) -> Result<Option<Duration>, Failure> {
    match i64::try_from(ns) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(Duration::from_nanos(ns))),
        Err(_) if ns == HORUS_TIME_ZERO => Ok(Some(Duration::ZERO)),
        Err(_) => Err(invalid_argument(format!(
            "{name} is {} ns: wanted a time that is not negative, of at most {} ns",
            ns.cast_signed(),
            i64::MAX
        ))),
    }
}

/// A pointer from a C caller, not null, to which a function writes its result.
#[derive(Debug)]
pub(crate) struct OutPointer<T>(*mut T);

impl<T> OutPointer<T> {
    /// Wraps the pointer `place`. Returns an error that contains `name` if the pointer is null.
    #[inline(always)]
    pub(crate) fn new(place: *mut T, name: &str) -> Result<Self, Failure> {
        if place.is_null() {
            Err(null_argument(name))
        } else {
            Ok(Self(place))
        }
    }

    /// Writes the result through the pointer. The pointer may have any alignment.
    ///
    /// # Safety
    ///
    /// The pointer given to [`Self::new`] is valid for writes.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, value: T) {
        // SAFETY: the caller's contract: the pointer is valid for writes; no alignment is needed.
        unsafe { self.0.write_unaligned(value) };
    }
}

/// Writes a result that the caller may not need: does nothing if `place` is null.
///
/// # Safety
///
/// `place` is null or valid for writes.
#[inline(always)]
pub(crate) unsafe fn write_if_not_null<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's contract: `place` is valid for writes if not null; no alignment is
        // needed.
        unsafe { place.write_unaligned(value) };
    }
}

/// A C struct whose first member is the size that the struct had when the caller was compiled, in
/// bytes. The size shows which members the caller knows, so newer versions of the library can add
/// members at the end.
///
/// # Safety
///
/// A value of the struct in which all bytes are 0 is valid, and the first member is a `u32`.
pub(crate) unsafe trait SizePrefixedStruct: Copy {
    /// Size in bytes of the struct in the first version of the library: the smallest size that a
    /// caller can state.
    const FIRST_VERSION_BYTES: usize;

    /// Reads those members that the caller's struct has, and sets the others to 0. Returns `None`
    /// if `from` is null.
    ///
    /// # Safety
    ///
    /// `from` is null, or readable for 4 bytes and for the number of bytes that its first member
    /// states.
    unsafe fn read(from: *const Self, name: &str) -> Result<Option<Self>, Failure> {
        if from.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's contract: `from` is readable for 4 bytes.
        let bytes = unsafe { read_stated_size::<Self>(from, name) }?;
        // SAFETY: the contract of this trait: all bytes zero is a valid value.
        let mut known: Self = unsafe { std::mem::zeroed() };
        let to = (&raw mut known).cast::<u8>();
        // SAFETY: the caller's contract: `from` is readable for `bytes` bytes; at most the size of
        // `known` is copied.
        unsafe {
            from.cast::<u8>()
                .copy_to_nonoverlapping(to, bytes.min(size_of::<Self>()))
        };
        Ok(Some(known))
    }

    /// Checks that [`Self::write`] can write to the caller's struct. A call that removes a value
    /// from a queue needs this check before it does so.
    ///
    /// # Safety
    ///
    /// `to` is null or readable for 4 bytes.
    unsafe fn check_output(to: *const Self, name: &str) -> Result<(), Failure> {
        if to.is_null() {
            return Err(null_argument(name));
        }
        // SAFETY: the caller's contract: `to` is readable for 4 bytes.
        unsafe { read_stated_size::<Self>(to, name) }?;
        Ok(())
    }

    /// Writes `value` to the caller's struct, except for the first member, in which the caller has
    /// stated the size of its struct, and for members beyond that size. `name` is the name of `to`
    /// in errors.
    ///
    /// # Safety
    ///
    /// `to` is null, or readable and writable as in [`Self::read`].
    unsafe fn write(value: &Self, to: *mut Self, name: &str) -> Result<(), Failure> {
        if to.is_null() {
            return Err(null_argument(name));
        }
        // SAFETY: the caller's contract: `to` is readable for 4 bytes.
        let bytes = unsafe { read_stated_size::<Self>(to, name) }?.min(size_of::<Self>());
        let first = size_of::<u32>();
        let from = std::ptr::from_ref(value).cast::<u8>().wrapping_add(first);
        let to = to.cast::<u8>().wrapping_add(first);
        // SAFETY: the caller's contract: `to` is writable for `bytes` bytes; at most the size of
        // `value` is copied.
        unsafe { from.copy_to_nonoverlapping(to, bytes - first) };
        Ok(())
    }
}

/// Returns the size in bytes that the caller's struct at `at` states in its first member. Returns
/// an error if no version of the struct has that size.
///
/// # Safety
///
/// `at` is readable for 4 bytes.
unsafe fn read_stated_size<T: SizePrefixedStruct>(
    at: *const T,
    name: &str,
) -> Result<usize, Failure> {
    // SAFETY: the caller's contract: the first member is readable; no alignment is needed.
    let bytes = unsafe { at.cast::<u32>().read_unaligned() } as usize;
    if (T::FIRST_VERSION_BYTES..=4096).contains(&bytes) {
        return Ok(bytes);
    }
    let found = bytes;
    let least = T::FIRST_VERSION_BYTES;
    Err(invalid_argument(format!(
        "{name}->struct_bytes is {found}: set it to sizeof *{name} ({least})"
    )))
}

/// Returns the text to which `text` points, without copying it. Returns an error if `text` is null,
/// is longer than `max` bytes or is not UTF-8.
///
/// # Safety
///
/// `text` is null, or readable up to its first 0 or for `max + 1` bytes, for as long as the text is
/// used.
pub(crate) unsafe fn required_text<'a>(
    text: *const c_char,
    name: &str,
    max: usize,
) -> Result<&'a str, Failure> {
    // SAFETY: the caller's contract is the same.
    unsafe { optional_text(text, name, max) }?.ok_or_else(|| null_argument(name))
}

/// Returns the text to which `text` points, without copying it; `None` if `text` is null.
///
/// # Safety
///
/// `text` is null, or readable up to its first 0 or for `max + 1` bytes, for as long as the text is
/// used.
pub(crate) unsafe fn optional_text<'a>(
    text: *const c_char,
    name: &str,
    max: usize,
) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    let mut bytes = 0;
    // SAFETY: the caller's contract: `text` is readable up to its first 0, and no byte before was
    // 0.
    while unsafe { text.wrapping_add(bytes).read() } != 0 {
        bytes += 1;
        if bytes > max {
            return Err(invalid_argument(format!(
                "{name} is too long: at most {max} bytes"
            )));
        }
    }
    // SAFETY: the loop found the 0 at its end, and the caller keeps the text during the call.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text
        .to_str()
        .map_err(|error| invalid_argument(format!("{name} is not UTF-8: {error}")))?;
    Ok(Some(text))
}

/// Returns the buffer of the caller, the argument `name`, which holds `bytes` bytes of input, as a
/// slice.
///
/// # Safety
///
/// `data` is null or readable for `bytes` bytes for as long as the slice is used.
#[inline(always)]
pub(crate) unsafe fn input_slice<'a>(
    data: *const c_void,
    bytes: usize,
    name: &str,
) -> Result<&'a [u8], Failure> {
    if data.is_null() || bytes > isize::MAX as usize {
        return if bytes == 0 {
            Ok(&[])
        } else {
            Err(invalid_buffer(name, data, bytes))
        };
    }
    // SAFETY: the caller's contract: `data` is readable for `bytes` bytes, and is not null here.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes) })
}

/// Returns the buffer of the caller, which has space for `bytes` bytes of output, as a slice.
///
/// # Safety
///
/// `data` is null or writable for `bytes` bytes for as long as the slice is used, and nothing else
/// accesses them during that time.
#[inline(always)]
pub(crate) unsafe fn output_slice<'a>(
    data: *mut c_void,
    bytes: usize,
) -> Result<&'a mut [u8], Failure> {
    if data.is_null() || bytes > isize::MAX as usize {
        return if bytes == 0 {
            Ok(&mut [])
        } else {
            Err(invalid_buffer("out", data, bytes))
        };
    }
    // SAFETY: the caller's contract: `data` is writable for `bytes` bytes, exclusively. Bytes that
    // C never set are accepted as values.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), bytes) })
}

#[cold]
fn invalid_buffer(name: &str, data: *const c_void, bytes: usize) -> Failure {
    if data.is_null() {
        null_argument(name)
    } else {
        invalid_argument(format!(
            "{name} is too long: {bytes} bytes are more than an object can have"
        ))
    }
}

/// Calls `attempt` repeatedly with a short timeout, and with the time that has passed before. Stops
/// when `attempt` returns a status other than `timeout_status`, when `timeout_ns` has passed, or
/// when another thread closes the handle of `value`. A negative timeout never passes.
pub(crate) fn wait_in_slices<T: Send>(
    timeout_ns: i64,
    timeout_status: i32,
    value: &mut HandleGuard<'_, T>,
    mut attempt: impl FnMut(&mut T, Duration, Duration) -> StatusResult,
) -> StatusResult {
    let timeout = u64::try_from(timeout_ns).ok().map(Duration::from_nanos);
    let began = Instant::now();
    let mut waited = Duration::ZERO;
    loop {
        let left = timeout.map(|timeout| timeout.saturating_sub(waited));
        let slice = left.map_or(CLOSE_CHECK_INTERVAL, |left| left.min(CLOSE_CHECK_INTERVAL));
        let status = attempt(value, slice, waited)?;
        if status != timeout_status {
            return Ok(status);
        }
        if left.is_some_and(|left| left <= slice) {
            return Ok(clear_error_text_and_return(timeout_status));
        }
        if value.is_closing() {
            let text = "the handle was closed by another thread during the call";
            return Err(Failure::new(HORUS_E_HANDLE, text));
        }
        waited = began.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::status::{HORUS_OK, horus_last_error_message};

    fn said() -> String {
        // SAFETY: the text ends in a 0, and this thread causes no error meanwhile.
        unsafe { CStr::from_ptr(horus_last_error_message()) }
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// A value that panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the bomb");
        }
    }

    #[test]
    fn a_panic_is_a_number_and_a_text() {
        assert_eq!(run_guarded(|| Ok(HORUS_OK)), HORUS_OK);
        assert_eq!(run_guarded(|| panic!("a {}", "reason")), HORUS_E_PANIC);
        assert!(said().contains("a reason"), "{}", said());
        assert_eq!(run_guarded(|| panic!("plain")), HORUS_E_PANIC);
        assert!(said().contains("plain"));
        assert_eq!(run_guarded(|| std::panic::panic_any(Bomb)), HORUS_E_PANIC);
        assert!(said().contains("no text"));
        assert_eq!(
            run_guarded(|| Err(invalid_argument("nul \0 and end"))),
            HORUS_E_ARGUMENT
        );
        assert_eq!(said(), "nul ? and end");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(
            run_guarded(|| Err(invalid_argument("ä".repeat(2000)))),
            HORUS_E_ARGUMENT
        );
        assert_eq!(said(), "ä".repeat(511));
    }
}
