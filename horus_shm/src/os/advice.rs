//! Advice to users about errors of the system.

use std::io;

/// Returns what a user can do about a system error, with a colon before it; an empty text for most
/// errors.
pub(crate) fn advice_for_error(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => ": raise the limit of open files (ulimit -n)",
        Some(libc::ENFILE) => ": raise the system's limit of open files (sysctl fs.file-max)",
        Some(libc::EFBIG) => ": raise the limit of file sizes (ulimit -f)",
        Some(libc::EROFS) => ": set HORUS_SHM_DIR to a directory that can be written",
        _ => "",
    }
}
