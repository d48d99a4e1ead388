//! The version of the library.

use std::ffi::c_char;

/// `HORUS_ABI_VERSION`: grows when a program that was compiled with an older header must be
/// compiled again.
pub const HORUS_ABI_VERSION: u32 = 0;

/// `horus_abi_version`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_abi_version() -> u32 {
    HORUS_ABI_VERSION
}

/// `horus_version_string`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
