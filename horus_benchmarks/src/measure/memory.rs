//! The memory of this process, as the kernel counts it.

use std::fs;

/// Returns the resident memory except the pages of files, in bytes; 0 if the kernel does not tell.
///
/// WHY except: the kernel maps pages of the program's file when code runs for the first time.
pub fn resident_bytes() -> u64 {
    status_bytes("RssAnon:")
}

/// Returns the maximum of the resident memory so far, in bytes; 0 if the kernel does not tell.
pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
