//! The data of a message as a numpy array, where they lie.

use std::ptr;

use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::loan::Loan;
use super::{Memory, check, data_mut, data_of, layout, place};
use crate::message::{self, guard};
use crate::numpy::{DIMENSIONS_MAX, Place, numpy};

/// The data as a numpy array, in place.
#[inline]
pub(super) fn view<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if let Memory::Loan(Loan { view: Some(view), .. }) = &data_of(object).memory {
        let view = view.bind(py).call0()?;
        if !view.is_none() {
            return Ok(view);
        }
    }
    let missing = || PyImportError::new_err("this needs numpy: pip install numpy");
    let numpy = numpy(py).ok_or_else(missing)?;
    let (data, is_writeable) = place(object);
    let array = match structure(object)? {
        Some((dtype, dimensions)) => {
            let (shape, strides): (Vec<_>, Vec<_>) = dimensions.into_iter().unzip();
            let place = Place { data, shape: &shape, strides: &strides, is_writeable };
            // SAFETY: `structure` checked that they lie in the data, which the object keeps.
            unsafe { numpy.view_of(dtype, place, object)? }
        }
        None => {
            let layout = layout(object)?;
            let (mut shape, mut strides) = ([0; DIMENSIONS_MAX], [0; DIMENSIONS_MAX]);
            for (to, from) in shape.iter_mut().zip(layout.shape()) {
                *to = *from as isize;
            }
            for (to, from) in strides.iter_mut().zip(layout.strides()) {
                *to = *from as isize;
            }
            let rank = layout.shape().len();
            let (shape, strides) = (&shape[..rank], &strides[..rank]);
            // SAFETY: `layout` checked that they lie in the data, which the object keeps.
            unsafe {
                numpy.view(layout.dtype(), Place { data, shape, strides, is_writeable }, object)?
            }
        }
    };
    // SAFETY: nobody looks meanwhile.
    if let Memory::Loan(loan) = &mut unsafe { data_mut(object) }.memory
        && loan.publisher.is_some()
    {
        loan.view = Some(py.import("weakref")?.getattr("ref")?.call1((&array,))?.unbind());
    }
    Ok(array)
}

type Dimensions = Vec<(isize, isize)>;

/// The type of elements that are more than numbers, and for each dimension how many and how far
/// apart.
fn structure<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyAny>, Dimensions)>> {
    let name = message::kind_of(object).schema.name;
    if !matches!(name, "PointCloud" | "SchedulerStatus") {
        return Ok(None);
    }
    check(object)?;
    let helper = object.py().import("horus._framed")?;
    helper.call_method1("structure", (object,))?.extract().map(Some)
}

pub(super) unsafe extern "C" fn to_numpy(
    this: *mut ffi::PyObject,
    _first: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    guard(ptr::null_mut(), |py| {
        if count != 0 || !names.is_null() {
            return Err(PyTypeError::new_err("to_numpy() takes no arguments"));
        }
        // SAFETY: Python's descriptor checked that it is of the class.
        let this = unsafe { Bound::from_borrowed_ptr(py, this) };
        Ok(view(&this)?.into_ptr())
    })
}
