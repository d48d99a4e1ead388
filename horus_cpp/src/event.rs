//! Passes the events of a scheduler's nodes to a C callback.

use std::ffi::{CString, c_char, c_void};

use horus_core::message::NodeEvent;

use crate::callback::InCallback;

/// The C struct `horus_event_t`, as `scheduler.h` declares it: one event of a node.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the header documents each member")]
pub struct HorusEvent {
    pub struct_bytes: u32,
    pub process_id: u32,
    pub kind: i32,
    pub level: i32,
    pub timestamp_ns: u64,
    pub monotonic_ns: u64,
    pub tick: u64,
    pub value_ns: u64,
    pub node: *const c_char,
    pub text: *const c_char,
    pub line: *const c_char,
}

pub(crate) type EventCallback = unsafe extern "C" fn(*mut c_void, *const HorusEvent);

/// The C callback that receives the events of a scheduler, and the argument that is passed to it.
pub(crate) struct EventListener {
    callback: EventCallback,
    user: *mut c_void,
    scheduler: u64,
}

// SAFETY: the header says that the callback runs on another thread.
unsafe impl Send for EventListener {}

impl EventListener {
    pub(crate) const fn new(callback: EventCallback, user: *mut c_void, scheduler: u64) -> Self {
        Self {
            callback,
            user,
            scheduler,
        }
    }

    pub(crate) fn report(&self, event: &NodeEvent) {
        let text = |text: &str| CString::new(text.replace('\0', "?")).unwrap_or_default();
        let node = text(event.node.as_str());
        let event_text = text(event.text.as_str());
        let line = text(&event.to_string());
        let c_event = HorusEvent {
            struct_bytes: size_of::<HorusEvent>() as u32,
            process_id: event.process_id,
            kind: event.kind.into(),
            level: event.level.into(),
            timestamp_ns: event.timestamp_ns,
            monotonic_ns: event.monotonic_ns,
            tick: event.tick,
            value_ns: event.value_ns,
            node: node.as_ptr(),
            text: event_text.as_ptr(),
            line: line.as_ptr(),
        };
        let _in_callback = InCallback::enter(self.scheduler);
        // SAFETY: the header's contract: the callback accepts any event; the texts live during the
        // call.
        unsafe { (self.callback)(self.user, &raw const c_event) };
    }
}
