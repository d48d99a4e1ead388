//! The C functions for wait sets. A wait set lets one thread wait for several subscribers and
//! timers.

use std::collections::VecDeque;

use horus_core::topic::{Key, Ready, Reason, WaitSet};

use crate::ffi::{
    OutPointer, duration_unless_default, invalid_argument, run_guarded, wait_in_slices,
    write_if_not_null,
};
use crate::handle::Slab;
use crate::status::{Failure, HORUS_OK, HORUS_TIMEOUT};
use crate::subscriber::{HorusSubscriber, SUBSCRIBERS};

/// Reason why an entry of a wait set is ready: the subscriber has messages.
pub const HORUS_READY_MESSAGE: i32 = 1;
/// Reason why an entry of a wait set is ready: the subscriber's deadline has passed without a new
/// message. The call that added the subscriber to the set has stated the deadline.
pub const HORUS_READY_DEADLINE_MISSED: i32 = 2;
/// Reason why an entry of a wait set is ready: the timer expired.
pub const HORUS_READY_TIMER: i32 = 3;
/// Reason why an entry of a wait set is ready: the subscriber was closed. It is no longer in the
/// set.
pub const HORUS_READY_CLOSED: i32 = 4;

/// The C struct `horus_wait_set_t`, as `horus.h` declares it: a handle of a wait set.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusWaitSet {
    /// The handle, as a number. 0 is the null handle.
    pub id: u64,
}

/// The C struct `horus_ready_t`, as `horus.h` declares it: a ready entry of a wait set.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusReady {
    pub key: u64,
    pub reason: i32,
    pub reserved: u32,
    pub silent_ns: u64,
    pub missed: u64,
}

impl HorusReady {
    fn new(ready: Ready) -> Self {
        let key = ready.key.to_u64();
        let (reason, silent_ns, missed) = match ready.reason {
            Reason::Message => (HORUS_READY_MESSAGE, 0, 0),
            Reason::DeadlineMissed { silent } => {
                let silent = u64::try_from(silent.as_nanos()).unwrap_or(u64::MAX);
                (HORUS_READY_DEADLINE_MISSED, silent, 0)
            }
            Reason::Timer { missed } => (HORUS_READY_TIMER, 0, missed),
            _ => (HORUS_READY_CLOSED, 0, 0),
        };
        Self {
            key,
            reason,
            reserved: 0,
            silent_ns,
            missed,
        }
    }
}

/// A wait set, together with the ready entries that did not fit into the caller's array at the last
/// wait.
#[derive(Debug, Default)]
struct WaitSetState {
    set: WaitSet,
    leftover: VecDeque<HorusReady>,
}

static WAIT_SETS: Slab<WaitSetState> = Slab::new(5);

/// The C function `horus_wait_set_open`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_wait_set_open(out: *mut HorusWaitSet) -> i32 {
    run_guarded(|| {
        let out = OutPointer::new(out, "out")?;
        let id = WAIT_SETS.open(WaitSetState::default())?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.write(HorusWaitSet { id }) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_wait_set_close`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_wait_set_close(wait_set: HorusWaitSet) -> i32 {
    run_guarded(|| {
        drop(WAIT_SETS.close(wait_set.id)?);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_wait_set_add`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_wait_set_add(
    wait_set: HorusWaitSet,
    subscriber: HorusSubscriber,
    silent_max_ns: u64,
    out_key: *mut u64,
) -> i32 {
    run_guarded(|| {
        let out_key = OutPointer::new(out_key, "out_key")?;
        let silent_max = duration_unless_default("silent_max_ns", silent_max_ns)?;
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let mut wait_set = unsafe { WAIT_SETS.borrow_value(wait_set.id) }?;
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let subscriber = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?;
        let key = match silent_max {
            None => wait_set.set.add(&*subscriber),
            Some(allowed) => wait_set.set.add_with_deadline(&*subscriber, allowed),
        };
        let key = key.map_err(|error| Failure::from(error).add_topic_name(subscriber.name()))?;
        // SAFETY: the caller's contract: `out_key` is valid for writes.
        unsafe { out_key.write(key.to_u64()) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_wait_set_add_interval`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_wait_set_add_interval(
    wait_set: HorusWaitSet,
    period_ns: u64,
    out_key: *mut u64,
) -> i32 {
    run_guarded(|| {
        let out_key = OutPointer::new(out_key, "out_key")?;
        let period =
            duration_unless_default("period_ns", period_ns)?.filter(|period| !period.is_zero());
        let no_period = || invalid_argument("period_ns is 0: wanted a positive period");
        let period = period.ok_or_else(no_period)?;
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let mut wait_set = unsafe { WAIT_SETS.borrow_value(wait_set.id) }?;
        let key = wait_set.set.add_interval(period)?;
        // SAFETY: the caller's contract: `out_key` is valid for writes.
        unsafe { out_key.write(key.to_u64()) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_wait_set_remove`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_wait_set_remove(wait_set: HorusWaitSet, key: u64) -> i32 {
    run_guarded(|| {
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let mut wait_set = unsafe { WAIT_SETS.borrow_value(wait_set.id) }?;
        wait_set.leftover.retain(|ready| ready.key != key);
        match wait_set.set.remove(Key::from_u64(key)) {
            true => Ok(HORUS_OK),
            false => Err(invalid_argument(format!(
                "the set has no entry with key {key}"
            ))),
        }
    })
}

/// The C function `horus_wait_set_wait`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_wait_set_wait(
    wait_set: HorusWaitSet,
    timeout_ns: i64,
    out: *mut HorusReady,
    room: usize,
    out_count: *mut usize,
) -> i32 {
    run_guarded(|| {
        let first = OutPointer::new(out, "out")?;
        let out_count = OutPointer::new(out_count, "out_count")?;
        if room == 0 {
            return Err(invalid_argument(
                "room is 0: wanted room for at least one entry",
            ));
        }
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let mut wait_set = unsafe { WAIT_SETS.borrow_value(wait_set.id) }?;
        if timeout_ns < 0 && wait_set.set.is_empty() && wait_set.leftover.is_empty() {
            return Err(horus_core::WaitError::Empty.into());
        }
        // SAFETY: the caller's contract: `out_count` is valid for writes.
        unsafe { out_count.write(0) };
        if wait_set.leftover.is_empty() {
            let waited =
                wait_in_slices(timeout_ns, HORUS_TIMEOUT, &mut wait_set, |set, slice, _| {
                    let ready = set.set.wait(slice)?;
                    let is_over = ready.is_empty();
                    set.leftover
                        .extend(ready.iter().copied().map(HorusReady::new));
                    Ok(if is_over { HORUS_TIMEOUT } else { HORUS_OK })
                })?;
            if waited != HORUS_OK {
                return Ok(waited);
            }
        }
        let count = wait_set.leftover.len().min(room);
        for (index, ready) in wait_set.leftover.drain(..count).enumerate() {
            // SAFETY: the caller's contract: `out` has room for `room` entries, and `count` is at
            // most that.
            unsafe { write_if_not_null(out.wrapping_add(index), ready) };
        }
        let _ = first;
        // SAFETY: the caller's contract: `out_count` is valid for writes.
        unsafe { out_count.write(count) };
        Ok(HORUS_OK)
    })
}
