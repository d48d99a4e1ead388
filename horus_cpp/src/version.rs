//! The C function that returns the version of the ABI.

use std::ffi::c_char;

/// Version of the C ABI. It increases when programs that were compiled with an older header must be
/// compiled again.
pub const HORUS_ABI_VERSION: u32 = 0;

/// The C function `horus_abi_version`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_abi_version() -> u32 {
    HORUS_ABI_VERSION
}

/// The C function `horus_version_string`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
