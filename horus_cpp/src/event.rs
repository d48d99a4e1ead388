//! Events of nodes, reported to a C callback.

use std::ffi::{CString, c_char, c_void};

use horus_core::message::NodeEvent;

use crate::callback::Inside;

/// `horus_event_t`.
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

pub(crate) type OnEvent = unsafe extern "C" fn(*mut c_void, *const HorusEvent);

/// The C callback that receives events, and its argument.
pub(crate) struct Listener {
    tell: OnEvent,
    user: *mut c_void,
    scheduler: u64,
}

// SAFETY: the header says that the callback runs on another thread.
unsafe impl Send for Listener {}

impl Listener {
    pub(crate) const fn new(tell: OnEvent, user: *mut c_void, scheduler: u64) -> Self {
        Self { tell, user, scheduler }
    }

    pub(crate) fn hear(&self, event: &NodeEvent) {
        let text = |text: &str| CString::new(text.replace('\0', "?")).unwrap_or_default();
        let node = text(event.node.as_str());
        let (said, line) = (text(event.text.as_str()), text(&event.to_string()));
        let given = HorusEvent {
            struct_bytes: size_of::<HorusEvent>() as u32,
            process_id: event.process_id,
            kind: event.kind.into(),
            level: event.level.into(),
            timestamp_ns: event.timestamp_ns,
            monotonic_ns: event.monotonic_ns,
            tick: event.tick,
            value_ns: event.value_ns,
            node: node.as_ptr(),
            text: said.as_ptr(),
            line: line.as_ptr(),
        };
        let _inside = Inside::enter(self.scheduler);
        // SAFETY: the header's contract: the callback accepts any event; the texts live during the
        // call.
        unsafe { (self.tell)(self.user, &raw const given) };
    }
}
