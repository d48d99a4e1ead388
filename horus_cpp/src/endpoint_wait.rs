//! Implements the C functions that wait until a topic has enough publishers or subscribers.

use std::time::Duration;

use horus_core::EndpointWaitError;

use crate::ffi::{StatusResult, wait_in_slices, write_if_not_null};
use crate::handle::HandleGuard;
use crate::status::{HORUS_OK, HORUS_TIMEOUT};

/// Calls `wait` repeatedly, each time with a part of the timeout, until it finds enough endpoints.
/// Writes their number to `out_count`, unless that is null. After the timeout, returns a failure
/// with the status `HORUS_TIMEOUT`, whose text says how many endpoints were found.
///
/// # Safety
///
/// `out_count` is null or valid for writes.
pub(crate) unsafe fn wait_for_endpoints<T: Send>(
    end: &mut HandleGuard<'_, T>,
    timeout_ns: i64,
    out_count: *mut usize,
    wait: impl Fn(&T, Duration) -> Result<usize, EndpointWaitError>,
) -> StatusResult {
    let mut missing = None;
    let status = wait_in_slices(timeout_ns, HORUS_TIMEOUT, end, |end, slice, _| {
        match wait(end, slice) {
            Ok(found) => {
                // SAFETY: the caller's contract: `out_count` is null or valid for writes.
                unsafe { write_if_not_null(out_count, found) };
                Ok(HORUS_OK)
            }
            Err(error @ EndpointWaitError::Timeout { .. }) => {
                missing = Some(error);
                Ok(HORUS_TIMEOUT)
            }
            Err(error) => Err(error.into()),
        }
    })?;
    match missing {
        Some(error) if status == HORUS_TIMEOUT => Err(error.into()),
        _ => Ok(status),
    }
}
