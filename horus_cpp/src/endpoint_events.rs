//! The C functions that report events of the other endpoints of a topic: an endpoint joins, leaves
//! or dies.

use std::ffi::c_char;

use horus_core::topic::{EndpointChange, EndpointEvent, EndpointEvents, EndpointKind};
use horus_core::{EndpointWaitError, Mismatch};

use crate::ffi::{OutPointer, SizePrefixedStruct, run_guarded, wait_in_slices};
use crate::handle::Slab;
use crate::inspect::{PROCESS_NAME_BYTES, process_id_and_name_of};
use crate::publisher::{HorusPublisher, PUBLISHERS};
use crate::status::{HORUS_OK, HORUS_TIMEOUT};
use crate::subscriber::{HorusSubscriber, SUBSCRIBERS};

/// Value of the member `kind` of an endpoint event: the other endpoint is a publisher.
pub const HORUS_ENDPOINT_PUBLISHER: i32 = 1;
/// Value of the member `kind` of an endpoint event: the other endpoint is a subscriber.
pub const HORUS_ENDPOINT_SUBSCRIBER: i32 = 2;
/// Value of the member `change` of an endpoint event: the other endpoint was opened, or was already
/// open when this endpoint first looked at the topic.
pub const HORUS_CHANGE_JOINED: i32 = 1;
/// Value of the member `change` of an endpoint event: the other endpoint was closed.
pub const HORUS_CHANGE_LEFT: i32 = 2;
/// Value of the member `change` of an endpoint event: the process of the other endpoint ended
/// without closing the endpoint.
pub const HORUS_CHANGE_DIED: i32 = 3;
/// Value of the member `change` of an endpoint event: the other endpoint was closed, or its process
/// ended without closing it, and it is no longer known which.
pub const HORUS_CHANGE_GONE: i32 = 4;
/// Value of the member `mismatch` of an endpoint event: the two endpoints match, so messages pass
/// between them.
pub const HORUS_MISMATCH_NONE: i32 = 0;
/// Value of the member `mismatch` of an endpoint event: no messages pass between the two endpoints,
/// because their message types do not match.
pub const HORUS_MISMATCH_TYPE: i32 = 1;
/// Value of the member `mismatch` of an endpoint event: no messages pass between the two endpoints,
/// because the subscriber requests reliable delivery and the publisher offers best effort.
pub const HORUS_MISMATCH_QOS: i32 = 2;

/// The C struct `horus_endpoint_events_t`, as `horus.h` declares it: a handle of a stream of
/// endpoint events.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HorusEndpointEvents {
    /// The handle, as a number. 0 is the null handle.
    pub id: u64,
}

/// The C struct `horus_endpoint_event_t`, as `horus.h` declares it: one event of another endpoint.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusEndpointEvent {
    pub struct_bytes: u32,
    pub kind: i32,
    pub change: i32,
    pub mismatch: i32,
    pub process_id: u32,
    pub reserved: u32,
    pub process_name: [c_char; PROCESS_NAME_BYTES],
}

// SAFETY: the struct has only numbers, so zeros are valid, and the first member is a `u32`.
unsafe impl SizePrefixedStruct for HorusEndpointEvent {
    const FIRST_VERSION_BYTES: usize = 88;
}

static ENDPOINT_EVENTS: Slab<EndpointEvents> = Slab::new(7);

impl HorusEndpointEvent {
    fn new(event: &EndpointEvent) -> Self {
        let (process_id, process_name) = process_id_and_name_of(Some(&event.process));
        Self {
            struct_bytes: 0,
            kind: match event.kind {
                EndpointKind::Publisher => HORUS_ENDPOINT_PUBLISHER,
                EndpointKind::Subscriber => HORUS_ENDPOINT_SUBSCRIBER,
            },
            change: match event.change {
                EndpointChange::Joined => HORUS_CHANGE_JOINED,
                EndpointChange::Left => HORUS_CHANGE_LEFT,
                EndpointChange::Died => HORUS_CHANGE_DIED,
                EndpointChange::Gone => HORUS_CHANGE_GONE,
            },
            mismatch: match event.mismatch {
                None => HORUS_MISMATCH_NONE,
                Some(Mismatch::Type) => HORUS_MISMATCH_TYPE,
                Some(Mismatch::Reliability) => HORUS_MISMATCH_QOS,
            },
            process_id,
            reserved: 0,
            process_name,
        }
    }
}

/// The C function `horus_publisher_subscriber_events`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_publisher_subscriber_events(
    publisher: HorusPublisher,
    out: *mut HorusEndpointEvents,
) -> i32 {
    run_guarded(|| {
        let out = OutPointer::new(out, "out")?;
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let events = unsafe { PUBLISHERS.borrow_value(publisher.id) }?
            .end
            .subscriber_events();
        let id = ENDPOINT_EVENTS.open(events)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.write(HorusEndpointEvents { id }) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_subscriber_publisher_events`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_subscriber_publisher_events(
    subscriber: HorusSubscriber,
    out: *mut HorusEndpointEvents,
) -> i32 {
    run_guarded(|| {
        let out = OutPointer::new(out, "out")?;
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let events = unsafe { SUBSCRIBERS.borrow_value(subscriber.id) }?.publisher_events();
        let id = ENDPOINT_EVENTS.open(events)?;
        // SAFETY: the caller's contract: `out` is valid for writes.
        unsafe { out.write(HorusEndpointEvents { id }) };
        Ok(HORUS_OK)
    })
}

/// The C function `horus_endpoint_events_close`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_endpoint_events_close(events: HorusEndpointEvents) -> i32 {
    run_guarded(|| {
        drop(ENDPOINT_EVENTS.close(events.id)?);
        Ok(HORUS_OK)
    })
}

/// The C function `horus_endpoint_events_wait`: see `horus.h`.
///
/// # Safety
///
/// The arguments are as `horus.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horus_endpoint_events_wait(
    events: HorusEndpointEvents,
    timeout_ns: i64,
    out: *mut HorusEndpointEvent,
) -> i32 {
    run_guarded(|| {
        // WHY before the wait: an event that could not be written would be lost.
        // SAFETY: the caller's contract: `out` is null or readable for 4 bytes.
        unsafe { HorusEndpointEvent::check_output(out, "out") }?;
        // SAFETY: the caller's contract: no other thread is in a call with the handle.
        let mut events = unsafe { ENDPOINT_EVENTS.borrow_value(events.id) }?;
        wait_in_slices(
            timeout_ns,
            HORUS_TIMEOUT,
            &mut events,
            |events, slice, _| {
                let event = events.wait(slice).map_err(EndpointWaitError::from)?;
                let Some(event) = event else {
                    return Ok(HORUS_TIMEOUT);
                };
                // SAFETY: the caller's contract: `out` is writable for its `struct_bytes`.
                unsafe { SizePrefixedStruct::write(&HorusEndpointEvent::new(&event), out, "out") }?;
                Ok(HORUS_OK)
            },
        )
    })
}
