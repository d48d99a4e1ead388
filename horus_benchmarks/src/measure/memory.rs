//! The memory that this process uses, as the kernel counts it.

use std::fs;

/// Returns the resident memory of this process in bytes, without the pages of files. Returns 0 if
/// the kernel does not report it.
///
/// WHY without the pages of files: the kernel maps pages of the program's file when code runs for
/// the first time.
pub fn resident_bytes() -> u64 {
    status_bytes("RssAnon:")
}

/// Returns the maximum of the resident memory of this process so far, in bytes. Returns 0 if the
/// kernel does not report it.
pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
