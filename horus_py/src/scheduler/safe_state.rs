//! Calls the user's function that brings a node into its safe state while a tick of the node hangs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use horus_core::scheduler::NodeBuilder;
use pyo3::prelude::*;

use crate::call::check_no_coroutine_or_generator;
use crate::scheduler::held::GcVisitedObject;
use crate::scheduler::python_calls::{SafeStateCallGuard, try_with_python};

/// Makes the scheduler call `enter` once each time a tick of the node hangs.
///
/// A function of a C library (`ctypes`) is called on the supervisor's thread, without the GIL.
/// Every other callable is called on a new thread, as soon as that thread gets the GIL. If the node
/// hangs in C code, it may never release the GIL.
///
/// Appends `enter` to `held`.
pub(crate) fn add_safe_state<'a>(
    builder: NodeBuilder<'a>,
    enter: &Bound<'_, PyAny>,
    held: &mut Vec<GcVisitedObject>,
) -> PyResult<NodeBuilder<'a>> {
    let ctypes_function = ctypes_function(enter)?;
    let enter = Arc::new(enter.clone().unbind());
    held.push(GcVisitedObject::Object(Arc::clone(&enter)));
    Ok(match ctypes_function {
        Some(function) => builder.safe_state(move || {
            // WHY named: the closure must capture it, to keep the library loaded.
            let _library = &enter;
            // SAFETY: the address of a C function, which takes no arguments by the user's promise.
            unsafe { function() };
        }),
        None => builder.safe_state_on_other_thread(move || call_on_new_thread(&enter)),
    })
}

/// Starts a thread that calls `enter`. Returns a receiver for the result of the call: `Ok`, or the
/// text of the exception that `enter` raised.
fn call_on_new_thread(enter: &Arc<Py<PyAny>>) -> Receiver<Result<(), String>> {
    let (done, outcome) = sync_channel(1);
    let own = Arc::clone(enter);
    let under_way = SafeStateCallGuard::begin();
    let call = move || {
        let _under_way = under_way;
        let entered = try_with_python(|py| {
            let result = own.bind(py).call0();
            let entered = result.and_then(|result| check_no_coroutine_or_generator(&result));
            let entered = entered.map_err(|error| {
                let text = error.to_string();
                error.write_unraisable(py, Some(own.bind(py)));
                text
            });
            drop(own);
            entered
        });
        let ends = || Err("the interpreter ends".to_owned());
        // The channel has room for one outcome, and only this thread sends.
        let _ = done.try_send(entered.unwrap_or_else(ends));
    };
    let begun = thread::Builder::new()
        .name("horus-safe".to_owned())
        .spawn(call);
    // WHY a panic: the supervisor records it as a failure of the safe state.
    drop(begun.unwrap_or_else(|error| panic!("no thread to call it: {error}")));
    outcome
}

/// Returns the C function of `object`, if `object` is a function pointer of `ctypes` that may run
/// without the GIL; otherwise `None`.
fn ctypes_function(object: &Bound<'_, PyAny>) -> PyResult<Option<unsafe extern "C" fn()>> {
    let py = object.py();
    let modules = py.import("sys")?.getattr("modules")?;
    // There is no such object before `ctypes` was imported.
    let Ok(ctypes) = modules.get_item("ctypes") else {
        return Ok(None);
    };
    if !object.is_instance(&ctypes.getattr("_CFuncPtr")?)? {
        return Ok(None);
    }
    // The supervisor does not hold the GIL and must not wait for it.
    let helper = py.import("horus._node")?.getattr("_needs_gil")?;
    if helper.call1((object,))?.is_truthy()? {
        return Ok(None);
    }
    let pointer = ctypes.call_method1("cast", (object, ctypes.getattr("c_void_p")?))?;
    let address: usize = pointer.getattr("value")?.extract()?;
    // SAFETY: not null, for `ctypes` has no value for that; a function of C.
    Ok(Some(unsafe {
        std::mem::transmute::<usize, unsafe extern "C" fn()>(address)
    }))
}
