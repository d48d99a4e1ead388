//! Passes the events of a scheduler's nodes to a C callback.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use horus_core::message::NodeEvent;

use crate::callback::CallbackGuard;

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

/// The gate through which the thread of a scheduler calls the event callback. After it is closed,
/// no call begins.
///
/// WHY: the end of a run leaves that thread behind if it hangs in a callback, and the caller may
/// free what the event callback uses.
#[derive(Debug, Default)]
pub(crate) struct EventGate {
    is_closed: AtomicBool,
    /// Locked during each call of the event callback.
    call: Mutex<()>,
}

impl EventGate {
    /// Calls `call`, unless the gate is closed.
    fn call_if_open(&self, call: impl FnOnce()) {
        let _calling = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: see `close`.
        if !self.is_closed.load(Ordering::Relaxed) {
            call();
        }
    }

    /// Closes the gate. Returns true if no call is in progress. Never blocks.
    pub(crate) fn close(&self) -> bool {
        // Relaxed: a call that begins after `try_lock` has succeeded locks the same mutex, and so
        // sees the change.
        self.is_closed.store(true, Ordering::Relaxed);
        !matches!(self.call.try_lock(), Err(TryLockError::WouldBlock))
    }
}

/// The C callback that receives the events of a scheduler, and the argument that is passed to it.
pub(crate) struct EventListener {
    callback: EventCallback,
    user: *mut c_void,
    scheduler: u64,
    gate: Arc<EventGate>,
}

// SAFETY: the header says that the callback runs on another thread.
unsafe impl Send for EventListener {}

impl EventListener {
    pub(crate) const fn new(
        callback: EventCallback,
        user: *mut c_void,
        scheduler: u64,
        gate: Arc<EventGate>,
    ) -> Self {
        Self {
            callback,
            user,
            scheduler,
            gate,
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
        self.gate.call_if_open(|| {
            let _in_callback = CallbackGuard::enter(self.scheduler);
            // SAFETY: the header's contract: the callback accepts any event, and `user` lives until
            // the gate is closed and no call is in progress; the texts live during the call.
            unsafe { (self.callback)(self.user, &raw const c_event) };
        });
    }
}
