//! Helpers for functions that Python calls directly through its C API, without PyO3's wrappers.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};

/// Runs `call`, the body of a function that Python called. If `call` returns an error or panics,
/// sets a Python exception (`RuntimeError` for a panic) and returns `value_if_failed`.
///
/// It is meant for functions that are called often. WHY: it skips PyO3's own wrapper. So PyO3 does
/// not know that the interpreter is attached, and defers the release of every Python object that
/// `call` drops. If `call` drops Python objects and succeeds (for example after it caught an
/// exception), it must call [`release_deferred_objects`], or be run by [`run_guarded_attached`].
#[inline]
pub(crate) fn run_guarded<T>(
    value_if_failed: T,
    call: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> T {
    // SAFETY: Python calls the functions of a class with the interpreter attached.
    let py = unsafe { Python::assume_attached() };
    let error = match catch_unwind(AssertUnwindSafe(|| call(py))) {
        Ok(Ok(result)) => return result,
        Ok(Err(error)) => error,
        Err(_) => panic_error(),
    };
    release_deferred_objects();
    error.restore(py);
    value_if_failed
}

/// Does the same as [`run_guarded`], but tells PyO3 that the interpreter is attached. This costs
/// about 20 ns more.
pub(crate) fn run_guarded_attached<T: Copy>(
    value_if_failed: T,
    call: impl FnOnce(Python<'_>) -> PyResult<T>,
) -> T {
    let mut call = Some(call);
    let mut run = |py: Python<'_>| call.take().map_or(Ok(value_if_failed), |call| call(py));
    // WHY not `attach`: it panics while the interpreter is shutting down; `try_attach` returns an
    // error.
    Python::try_attach(|_| run_guarded(value_if_failed, &mut run))
        .unwrap_or_else(|| run_guarded(value_if_failed, &mut run))
}

#[cold]
fn panic_error() -> PyErr {
    PyRuntimeError::new_err("horus panicked: report this as a bug")
}

/// Makes PyO3 release the Python objects that were dropped while it did not know that the
/// interpreter was attached.
#[cold]
pub(crate) fn release_deferred_objects() {
    // WHY not `attach`: as above. Objects that are not released here are lost with the process.
    let _ = Python::try_attach(|_| ());
}

/// The Python classes of coroutines, generators and asynchronous generators. They are looked up
/// once and then kept.
static COROUTINE_AND_GENERATOR_CLASSES: PyOnceLock<[Py<PyType>; 3]> = PyOnceLock::new();

/// Checks the result of a user's function, which the caller drops. Costs one comparison if the
/// result is `None`.
///
/// # Errors
///
/// `TypeError` if the result is a coroutine or generator: nothing of the function's body has run,
/// and nothing of it would ever run.
#[inline]
pub(crate) fn check_no_coroutine_or_generator(result: &Bound<'_, PyAny>) -> PyResult<()> {
    if result.is_none() {
        return Ok(());
    }
    check_class_of_result(result)
}

fn check_class_of_result(result: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = result.py();
    let suspended = COROUTINE_AND_GENERATOR_CLASSES.get_or_try_init(py, || {
        let types = py.import("types")?;
        let class = |name| PyResult::Ok(types.getattr(name)?.cast_into::<PyType>()?.unbind());
        PyResult::Ok([
            class("CoroutineType")?,
            class("GeneratorType")?,
            class("AsyncGeneratorType")?,
        ])
    })?;
    let class = result.get_type();
    if !suspended.iter().any(|suspended| class.is(suspended)) {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "the result is a {}, whose body never runs: {}: give a plain function; only the tick of a \
         node may be an async def",
        class.name()?,
        result.repr()?
    )))
}

/// The arguments of a call, in the form in which Python passes them: an array with the positional
/// arguments followed by the keyword arguments, and the names of the keyword arguments.
pub(crate) struct Arguments<'py> {
    first: *const *mut ffi::PyObject,
    positional: usize,
    names: *mut ffi::PyObject,
    py: Python<'py>,
}

impl<'py> Arguments<'py> {
    /// Wraps the arguments of a [`FastCall`].
    ///
    /// # Safety
    ///
    /// Python passed them to a call that has not returned.
    #[inline]
    pub(crate) unsafe fn new(
        py: Python<'py>,
        first: *const *mut ffi::PyObject,
        count: ffi::Py_ssize_t,
        names: *mut ffi::PyObject,
    ) -> Self {
        Self {
            first,
            positional: count.unsigned_abs(),
            names,
            py,
        }
    }

    /// Returns the argument at position `index`. If there is none, and `name` is not empty, returns
    /// the keyword argument with this name. Returns `None` if there is neither.
    #[inline]
    pub(crate) fn get(&self, index: usize, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        if index < self.positional {
            return Ok(Some(self.at(index)));
        }
        if self.names.is_null() {
            return Ok(None);
        }
        self.find_keyword_argument(name)
    }

    /// Returns the argument at position `index`. The caller must have checked that it exists.
    pub(crate) fn at(&self, index: usize) -> Bound<'py, PyAny> {
        // SAFETY: the caller's index is that of an argument.
        let argument = unsafe { self.first.add(index) };
        // SAFETY: as above.
        let argument = unsafe { argument.read() };
        // SAFETY: Python keeps the arguments for the time of the call.
        unsafe { Bound::from_borrowed_ptr(self.py, argument) }
    }

    /// Returns the keyword argument with the name `wanted`; `None` if the caller did not pass it.
    #[cold]
    fn find_keyword_argument(&self, wanted: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        // SAFETY: Python gives a tuple of names.
        let names = unsafe { Bound::from_borrowed_ptr(self.py, self.names) };
        for (index, name) in names.cast::<PyTuple>()?.iter().enumerate() {
            if name.cast::<PyString>()?.to_str()? == wanted {
                return Ok(Some(self.at(self.positional + index)));
            }
        }
        Ok(None)
    }

    /// Returns an error if the function `call` got unexpected arguments: more than `max` positional
    /// ones, or keyword arguments whose names are not in `known`. `known` must have the names of
    /// the last arguments.
    #[inline]
    pub(crate) fn check_no_unexpected_arguments(
        &self,
        call: &str,
        max: usize,
        known: &[&str],
    ) -> PyResult<()> {
        if self.positional <= max && self.names.is_null() {
            return Ok(());
        }
        self.check_argument_names_and_count(call, max, known)
    }

    #[cold]
    fn check_argument_names_and_count(
        &self,
        call: &str,
        max: usize,
        known: &[&str],
    ) -> PyResult<()> {
        if self.positional > max {
            let found = self.positional;
            let text = format!("{call}() takes at most {max} arguments, {found} were given");
            return Err(PyTypeError::new_err(text));
        }
        // SAFETY: Python gives a tuple of names, or null.
        let names = unsafe { Bound::from_borrowed_ptr_or_opt(self.py, self.names) };
        let Some(names) = names else { return Ok(()) };
        for name in names.cast::<PyTuple>()?.iter() {
            let name: String = name.extract()?;
            match known.iter().position(|known| *known == name) {
                None => {
                    let text = format!("{call}() has no argument '{name}'");
                    return Err(PyTypeError::new_err(text));
                }
                // The names belong to the last arguments.
                Some(at) if max - known.len() + at < self.positional => {
                    let text = format!("{call}() got '{name}' twice");
                    return Err(PyTypeError::new_err(text));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// A function with Python's calling convention `METH_FASTCALL | METH_KEYWORDS`. Its arguments are
/// `self`, the array of values, the number of positional values in that array, and the names of the
/// other values, or null.
pub(crate) type FastCall = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// Adds a method, which is a C function, to a Python class.
pub(crate) fn add_method(
    class: &Bound<'_, PyType>,
    name: &'static CStr,
    call: FastCall,
    doc: &CStr,
) -> PyResult<()> {
    let definition = ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: call,
        },
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
