//! Makes numpy arrays from the data of a message, without a copy.

use std::ptr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::call::run_guarded;
use crate::message::framed::data::{
    array_layout, check_data_size, data_address_and_is_writeable, data_location_of,
    message_with_own_data,
};
use crate::message::framed::loan::{live_loan_view, record_loan_view};
use crate::message::instance;
use crate::message::kind::MessageKind;
use crate::numpy::{ArrayMemory, DIMENSIONS_MAX, NumpyModule, required_numpy};

/// Returns the data of a message as a numpy array, without a copy.
#[inline]
pub(crate) fn array_view<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    // WHY first: without numpy, `live_loan_view` returns an object that is no array.
    let numpy = required_numpy(py)?;
    if let Some(view) = live_loan_view(object)? {
        return Ok(view);
    }
    let (array, is_writeable) = match structured_layout(object, numpy)? {
        Some((dtype, dimensions)) => {
            let (shape, strides): (Vec<_>, Vec<_>) = dimensions.into_iter().unzip();
            // WHY only now: `structured_layout` runs Python code, which may publish a message on
            // loan.
            let (data, is_writeable) = data_address_and_is_writeable(object)?;
            let memory = ArrayMemory {
                data,
                shape: &shape,
                strides: &strides,
                is_writeable,
            };
            // SAFETY: `structured_layout` checked that the elements lie in the data, which the
            // object keeps alive, and that the type is one of numpy's.
            (
                unsafe { numpy.view_with_descr(dtype, memory, object)? },
                is_writeable,
            )
        }
        None => {
            let layout = array_layout(object)?;
            let mut shape = [0; DIMENSIONS_MAX];
            let mut strides = [0; DIMENSIONS_MAX];
            for (to, from) in shape.iter_mut().zip(layout.shape()) {
                *to = *from as isize;
            }
            for (to, from) in strides.iter_mut().zip(layout.strides()) {
                *to = *from as isize;
            }
            let rank = layout.shape().len();
            let (data, is_writeable) = data_address_and_is_writeable(object)?;
            let shape = &shape[..rank];
            let strides = &strides[..rank];
            let memory = ArrayMemory {
                data,
                shape,
                strides,
                is_writeable,
            };
            // SAFETY: `layout` checked that the elements lie in the data, which the object keeps
            // alive.
            (
                unsafe { numpy.view(layout.dtype(), memory, object)? },
                is_writeable,
            )
        }
    };
    record_loan_view(object, array, is_writeable)
}

/// Returns true if the elements of arrays in this kind of messages are structures.
pub(super) fn has_structured_elements(kind: &MessageKind) -> bool {
    // WHY: a program may declare a message of the same name.
    let is_standard = kind.counted_tail().is_none();
    is_standard
        && matches!(
            kind.schema.name,
            "PointCloud" | "SchedulerStatus" | "JointStateArray"
        )
}

type LengthsAndStrides = Vec<(isize, isize)>;

/// Returns the numpy type of structured elements, and for each dimension the number of elements and
/// the stride in bytes. Returns `None` if the elements are plain numbers. Checks that all elements
/// are within the data.
fn structured_layout<'py>(
    object: &Bound<'py, PyAny>,
    numpy: &NumpyModule,
) -> PyResult<Option<(Bound<'py, PyAny>, LengthsAndStrides)>> {
    let py = object.py();
    let kind = instance::kind_of(object);
    if !has_structured_elements(kind) {
        return Ok(None);
    }
    check_data_size(object)?;
    // WHY a copy: the call runs Python code, during which other threads may change the header.
    let header = message_with_own_data(py, kind, instance::message_bytes(object), 0)?;
    let helper = py.import("horus._framed")?;
    let found: (Bound<'py, PyAny>, LengthsAndStrides) =
        helper.call_method1("structure", (header,))?.extract()?;
    // WHY the result is checked: a debugger or tracer can change every Python object, the copy too.
    let (dtype, dimensions) = &found;
    let is_plain = dtype.is_instance(&numpy.module.bind(py).getattr("dtype")?)?
        && !dtype.getattr("hasobject")?.is_truthy()?
        && dimensions.len() <= DIMENSIONS_MAX;
    let itemsize = if is_plain {
        dtype.getattr("itemsize")?.extract()?
    } else {
        usize::MAX
    };
    let bytes = data_location_of(object).bytes;
    match array_span_bytes(itemsize, dimensions) {
        Some(extent) if extent <= bytes => Ok(Some(found)),
        _ => {
            let text = format!(
                "the array that the header of the {} describes is not in its {bytes} bytes of \
                 data: do not change the header meanwhile",
                kind.schema.name
            );
            Err(PyValueError::new_err(text))
        }
    }
}

/// Returns the number of bytes from the start of the first element to the end of the last one; 0 if
/// there are no elements. Returns `None` if the number overflows, or if a count or stride is
/// negative.
fn array_span_bytes(itemsize: usize, dimensions: &[(isize, isize)]) -> Option<usize> {
    let mut extent = itemsize;
    let mut is_empty = false;
    for (count, stride) in dimensions {
        let count = usize::try_from(*count).ok()?;
        let stride = usize::try_from(*stride).ok()?;
        is_empty |= count == 0;
        extent = extent.checked_add(count.saturating_sub(1).checked_mul(stride)?)?;
    }
    Some(if is_empty { 0 } else { extent })
}

pub(super) unsafe extern "C" fn to_numpy(
    this: *mut ffi::PyObject,
    _first: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    run_guarded(ptr::null_mut(), |py| {
        if count != 0 || !names.is_null() {
            return Err(PyTypeError::new_err("to_numpy() takes no arguments"));
        }
        // SAFETY: Python's descriptor checked that it is of the class.
        let this = unsafe { Bound::from_borrowed_ptr(py, this) };
        Ok(array_view(&this)?.into_ptr())
    })
}
