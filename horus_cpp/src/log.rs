//! The C functions that write log lines.

use std::ffi::c_char;

use horus_core::log::{self, Level, LogEntry, LogError, LogFilter, LogSettings};
use horus_core::message::LogLineHeader;

use crate::ffi::{self, NAME_BYTES_MAX, TEXT_BYTES_MAX, invalid_argument, run_guarded};
use crate::namespace::{HorusNamespace, resolve_namespace};
use crate::status::{Failure, HORUS_E_STATE, HORUS_OK};

/// Log level of a line that reports a failure.
pub const HORUS_LOG_ERROR: u32 = LogLineHeader::ERROR as u32;
/// Log level of a line that reports a problem which does not stop the program.
pub const HORUS_LOG_WARN: u32 = LogLineHeader::WARN as u32;
/// Log level of a line that is of interest to a user.
pub const HORUS_LOG_INFO: u32 = LogLineHeader::INFO as u32;
/// Log level of a line that is of interest only to a developer.
pub const HORUS_LOG_DEBUG: u32 = LogLineHeader::DEBUG as u32;
/// Log level of a line that reports a single step of the program. There are many such lines.
pub const HORUS_LOG_TRACE: u32 = LogLineHeader::TRACE as u32;

/// The C function `horus_log_open`: see `log.h`.
///
/// # Safety
///
/// The arguments are as `log.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_log_open(
    name_space: HorusNamespace,
    node: *const c_char,
    filter: *const c_char,
) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the namespace.
        let namespace = unsafe { resolve_namespace(name_space) }?;
        // SAFETY: the caller's contract: `node` is null or a terminated text.
        let node = unsafe { ffi::optional_text(node, "node", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: `filter` is null or a terminated text.
        let filter = unsafe { ffi::optional_text(filter, "filter", TEXT_BYTES_MAX) }?;
        let filter = LogFilter::parse(filter.unwrap_or_default());
        let filter = filter.map_err(|error| invalid_argument(error.to_string()))?;
        let settings = LogSettings::new().namespace(&namespace).filter(filter);
        settings.node(node.unwrap_or_default()).open()?;
        Ok(HORUS_OK)
    })
}

/// The C function `horus_log`: see `log.h`.
///
/// # Safety
///
/// The arguments are as `log.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_log(level: u32, text: *const c_char, bytes: usize) -> i32 {
    let null = std::ptr::null();
    // SAFETY: the caller's contract is the same; a null node and file are allowed.
    unsafe { horus_log_from(null, level, null, 0, text, bytes) }
}

/// The C function `horus_log_from`: see `log.h`.
///
/// # Safety
///
/// The arguments are as `log.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_log_from(
    node: *const c_char,
    level: u32,
    file: *const c_char,
    line: u32,
    text: *const c_char,
    bytes: usize,
) -> i32 {
    // SAFETY: the caller's contract is the same.
    unsafe { horus_log_prefix(node, level, file, line, text, bytes, 0) }
}

/// The C function `horus_log_prefix`: see `log.h`.
///
/// # Safety
///
/// The arguments are as `log.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_log_prefix(
    node: *const c_char,
    level: u32,
    file: *const c_char,
    line: u32,
    text: *const c_char,
    bytes: usize,
    left_out: usize,
) -> i32 {
    // WHY `run_guarded`: printing to stderr is a cancellation point.
    run_guarded(|| {
        // SAFETY: the caller's contract: `text` is null, or readable for `bytes` bytes and not
        // changed during the call.
        let text = unsafe { ffi::input_slice(text.cast(), bytes, "text") }?;
        if !log::is_open() {
            let text = "the log is not open: call horus_log_open first";
            return Err(Failure::new(HORUS_E_STATE, text));
        }
        // SAFETY: the caller's contract: `node` is null or a terminated text.
        let node = unsafe { ffi::optional_text(node, "node", NAME_BYTES_MAX) }?;
        // SAFETY: the caller's contract: `file` is null or a terminated text.
        let file = unsafe { ffi::optional_text(file, "file", NAME_BYTES_MAX) }?;
        let entry = LogEntry {
            node: node.unwrap_or_default(),
            source: file.map(|file| (file, line)),
            ..LogEntry::new(parse_level(level)?)
        };
        log::write_prefix(&entry, text, left_out as u64);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_log_level`: see `log.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_log_level() -> u32 {
    log::max_level() as u32
}

fn parse_level(level: u32) -> Result<Level, Failure> {
    let known = Level::iter().find(|known| *known as u32 == level);
    known.ok_or_else(|| {
        invalid_argument(format!(
            "level is {level}: HORUS_LOG_ERROR ({HORUS_LOG_ERROR}) to HORUS_LOG_TRACE \
             ({HORUS_LOG_TRACE}) are wanted"
        ))
    })
}

impl From<LogError> for Failure {
    #[cold]
    fn from(error: LogError) -> Self {
        match error {
            LogError::Namespace(error) => error.into(),
            LogError::Topic(error) => error.into(),
            error => Self::new(HORUS_E_STATE, error.to_string()),
        }
    }
}
