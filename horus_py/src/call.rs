//! Functions that Python calls by its C API, without PyO3's wrappers.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// Runs what Python called. A panic becomes an exception; without a result, `failed` is returned.
///
/// For what is called often. PyO3 does not know that the interpreter is attached, which spares its
/// guard, and keeps what is dropped meanwhile (exceptions, for one) until it is told: so what drops
/// some and does not fail has to call [`release`], or to use [`guard_known`].
#[inline]
pub(crate) fn guard<T>(failed: T, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    // SAFETY: Python calls the functions of a class with the interpreter attached.
    let py = unsafe { Python::assume_attached() };
    let error = match catch_unwind(AssertUnwindSafe(|| call(py))) {
        Ok(Ok(result)) => return result,
        Ok(Err(error)) => error,
        Err(_) => panicked(),
    };
    release();
    error.restore(py);
    failed
}

/// [`guard`], but PyO3 knows: some 20 ns more.
pub(crate) fn guard_known<T: Copy>(failed: T, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    let mut call = Some(call);
    let mut run = |py: Python<'_>| call.take().map_or(Ok(failed), |call| call(py));
    // WHY not `attach`: while the interpreter ends, that panics where this says no.
    Python::try_attach(|_| guard(failed, &mut run)).unwrap_or_else(|| guard(failed, &mut run))
}

#[cold]
fn panicked() -> PyErr {
    PyRuntimeError::new_err("horus panicked: report this as a bug")
}

/// Has PyO3 release what was dropped while it did not know that the interpreter is attached.
#[cold]
pub(crate) fn release() {
    // WHY not `attach`: as above; what is left then goes with the process.
    let _ = Python::try_attach(|_| ());
}

/// A function that Python calls with an object, its arguments by position, and the names of those
/// that follow.
pub(crate) type Call = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// Adds a method to a class.
pub(crate) fn add_method(
    class: &Bound<'_, PyType>,
    name: &'static CStr,
    call: Call,
    doc: &CStr,
) -> PyResult<()> {
    let definition = ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.as_ptr(),
    };
    // WHY leaked: Python keeps the address for as long as the class lives, which is forever.
    let definition = Box::leak(Box::new(definition));
    // SAFETY: the definition and its strings live forever.
    let method = unsafe { ffi::PyDescr_NewMethod(class.as_type_ptr(), definition) };
    // SAFETY: a new reference, or null and an exception.
    let method = unsafe { Bound::from_owned_ptr_or_err(class.py(), method)? };
    class.setattr(PyString::from_bytes(class.py(), name.to_bytes())?, method)
}
