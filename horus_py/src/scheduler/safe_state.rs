//! Enters the safe state of a node while its tick hangs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use horus_core::scheduler::NodeBuilder;
use pyo3::prelude::*;

use crate::scheduler::python_calls::{SafeState, attached};

/// Has `enter` called once each time that the node hangs.
///
/// A function of a C library is called by the supervisor itself, without the GIL. Everything else
/// is called by a thread of its own, as soon as that has the GIL, which a node that hangs in C may
/// never give back.
pub(crate) fn safe_state<'a>(
    builder: NodeBuilder<'a>,
    enter: &Bound<'_, PyAny>,
) -> PyResult<NodeBuilder<'a>> {
    let c_function = c_function(enter)?;
    let enter = Arc::new(enter.clone().unbind());
    Ok(match c_function {
        Some(function) => builder.safe_state(move || {
            // WHY named: the closure keeps the library loaded.
            let _library = &enter;
            // SAFETY: the address of a function of C, which the user says takes no arguments.
            unsafe { function() };
        }),
        None => builder.safe_state_elsewhere(move || hand_over(&enter)),
    })
}

/// Calls from a thread of its own, which says how that ended.
fn hand_over(enter: &Arc<Py<PyAny>>) -> Receiver<Result<(), String>> {
    let (done, outcome) = sync_channel(1);
    let own = Arc::clone(enter);
    let under_way = SafeState::begin();
    let call = move || {
        let _under_way = under_way;
        let entered = attached(|py| {
            let entered = own.call0(py).map(drop).map_err(|error| {
                let text = error.to_string();
                error.write_unraisable(py, Some(own.bind(py)));
                text
            });
            drop(own);
            entered
        });
        let ends = || Err("the interpreter ends".to_owned());
        // There is room for one, and nobody else sends.
        let _ = done.try_send(entered.unwrap_or_else(ends));
    };
    let begun = thread::Builder::new().name("horus-safe".to_owned()).spawn(call);
    // A panic is what the supervisor records as a failure of the safe state.
    drop(begun.unwrap_or_else(|error| panic!("no thread to call it: {error}")));
    outcome
}

/// The function of a C library that `object` is to `ctypes`, if it is one.
fn c_function(object: &Bound<'_, PyAny>) -> PyResult<Option<unsafe extern "C" fn()>> {
    let py = object.py();
    let modules = py.import("sys")?.getattr("modules")?;
    // Nobody has made one as long as nobody has imported it.
    let Ok(ctypes) = modules.get_item("ctypes") else { return Ok(None) };
    if !object.is_instance(&ctypes.getattr("_CFuncPtr")?)? {
        return Ok(None);
    }
    // The supervisor neither has the GIL nor waits for it.
    let helper = py.import("horus._node")?.getattr("_needs_gil")?;
    if helper.call1((object,))?.is_truthy()? {
        return Ok(None);
    }
    let pointer = ctypes.call_method1("cast", (object, ctypes.getattr("c_void_p")?))?;
    let address: usize = pointer.getattr("value")?.extract()?;
    // SAFETY: not null, for `ctypes` has no value for that; a function of C.
    Ok(Some(unsafe { std::mem::transmute::<usize, unsafe extern "C" fn()>(address) }))
}
