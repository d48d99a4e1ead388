//! Makes numpy arrays through numpy's C API.
//!
//! WHY not the Python functions of numpy: with them, it takes three times as long to make a view.
//! WHY not a crate: only three functions are needed, and they are in a table that numpy keeps
//! binary compatible.

use std::ffi::{c_int, c_void};
use std::ptr;

use horus_core::message::DType;
use pyo3::exceptions::{PyImportError, PyModuleNotFoundError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyString};

/// Maximum number of dimensions of an array. This is the limit of numpy 1; numpy 2 has raised it to
/// 64.
pub(crate) const DIMENSIONS_MAX: usize = 32;

/// Index of the class `numpy.ndarray` in the table of numpy's C API, which
/// `numpy/__multiarray_api.h` defines.
const ARRAY_TYPE_INDEX: usize = 2;
/// Index of the function `PyArray_New` in the table of numpy's C API.
const NEW_ARRAY_INDEX: usize = 93;
/// Index of the function `PyArray_NewFromDescr` in the table of numpy's C API.
const NEW_ARRAY_FROM_DESCR_INDEX: usize = 94;
/// Index of the function `PyArray_SetBaseObject` in the table of numpy's C API.
const SET_BASE_OBJECT_INDEX: usize = 282;

const FLAG_WRITEABLE: c_int = 0x0400;

type NewArrayFn = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    c_int,
    *const isize,
    c_int,
    *const isize,
    *mut c_void,
    c_int,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

type NewArrayFromDescrFn = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

type SetBaseObjectFn = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

/// The Python module `numpy`, which has been imported, and the functions of its C API that are used
/// here.
#[derive(Debug)]
pub(crate) struct NumpyModule {
    pub(crate) module: Py<PyModule>,
    /// The class `numpy.generic`, which is the base class of numpy's scalars.
    pub(crate) generic: Py<PyAny>,
    /// The classes `numpy.datetime64` and `numpy.timedelta64`.
    time_classes: [Py<PyAny>; 2],
    array_type: *mut ffi::PyTypeObject,
    new: NewArrayFn,
    new_from_descr: NewArrayFromDescrFn,
    set_base: SetBaseObjectFn,
}

// SAFETY: the functions and the class live as long as the process; they are used under the GIL.
unsafe impl Send for NumpyModule {}
// SAFETY: as above.
unsafe impl Sync for NumpyModule {}

/// Describes the memory of an array's elements: its address, shape and strides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayMemory<'a> {
    pub(crate) data: *mut u8,
    /// Number of elements along each dimension, for at most [`DIMENSIONS_MAX`] dimensions.
    pub(crate) shape: &'a [isize],
    /// Distance between two successive elements along each dimension, in bytes.
    pub(crate) strides: &'a [isize],
    pub(crate) is_writeable: bool,
}

/// Numpy, once it was imported by [`numpy`]; `None` if it is not installed.
static NUMPY: PyOnceLock<Option<NumpyModule>> = PyOnceLock::new();

/// Returns numpy, which the first call imports; `None` if it is not installed. If the import fails,
/// returns its exception, and the next call imports numpy again.
#[inline]
pub(crate) fn numpy(py: Python<'_>) -> PyResult<Option<&NumpyModule>> {
    let found = NUMPY.get_or_try_init(py, || NumpyModule::load_if_installed(py))?;
    Ok(found.as_ref())
}

/// Returns numpy, as [`numpy`] does. If it is not installed, returns an error that says so.
pub(crate) fn required_numpy(py: Python<'_>) -> PyResult<&NumpyModule> {
    let missing = || PyImportError::new_err("this needs numpy: pip install numpy");
    numpy(py)?.ok_or_else(missing)
}

/// Returns true if `object` is a boolean scalar of numpy. Does not import numpy.
#[cold]
pub(crate) fn is_bool_scalar(object: &Bound<'_, PyAny>) -> bool {
    let class = object.get_type();
    let is = |name: PyResult<Bound<'_, PyString>>, texts: &[&str]| {
        name.is_ok_and(|name| texts.iter().any(|text| name == *text))
    };
    // The second name is that of numpy 1.
    is(class.module(), &["numpy"]) && is(class.name(), &["bool", "bool_"])
}

/// Checks that `object` is no array of numpy with masked elements. Costs one comparison for other
/// arrays of numpy.
///
/// # Errors
///
/// `ValueError` if elements are masked. WHY: messages have no mask, and the receiver would take the
/// invalid values below the mask for valid ones.
#[inline]
pub(crate) fn check_not_masked(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let numpy = NUMPY.get(object.py()).and_then(Option::as_ref);
    if numpy.is_some_and(|numpy| object.get_type_ptr() == numpy.array_type) {
        return Ok(());
    }
    check_has_no_masked_elements(object)
}

fn check_has_no_masked_elements(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let modules = py
        .import("sys")?
        .getattr("modules")?
        .cast_into::<PyDict>()?;
    // WHY not imported: without this module there are no masked arrays.
    let Some(module) = modules.get_item(intern!(py, "numpy.ma"))? else {
        return Ok(());
    };
    let Some(class) = module.getattr_opt(intern!(py, "MaskedArray"))? else {
        return Ok(());
    };
    if !object.is_instance(&class)? || !module.call_method1("is_masked", (object,))?.is_truthy()? {
        return Ok(());
    }
    Err(PyValueError::new_err(
        "elements of the array are masked, and messages have no mask: replace them by \
         filled(value)",
    ))
}

/// Returns true if `error` says that there is no module `name`.
fn is_missing_module(py: Python<'_>, error: &PyErr, name: &str) -> bool {
    let has_name = |error: &PyErr| error.value(py).getattr("name")?.extract::<String>();
    error.is_instance_of::<PyModuleNotFoundError>(py)
        && has_name(error).is_ok_and(|found| found == name)
}

impl NumpyModule {
    #[cold]
    fn load_if_installed(py: Python<'_>) -> PyResult<Option<Self>> {
        match Self::load(py) {
            Ok(numpy) => Ok(Some(numpy)),
            Err(error) if is_missing_module(py, &error, "numpy") => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn load(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("numpy")?;
        let core = match py.import("numpy._core._multiarray_umath") {
            Err(error) if is_missing_module(py, &error, "numpy._core") => {
                py.import("numpy.core._multiarray_umath")?
            }
            core => core?,
        };
        let capsule = core.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        // SAFETY: it is a capsule, and this one has no name.
        let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), ptr::null()) };
        if table.is_null() {
            return Err(PyErr::fetch(py));
        }
        let entry = |index: usize| {
            // SAFETY: numpy's table has more than 300 places.
            let entry = unsafe { table.cast::<*mut c_void>().add(index) };
            // SAFETY: as above.
            unsafe { entry.read() }
        };
        // SAFETY: numpy promises this function in this place.
        let new = unsafe { std::mem::transmute::<*mut c_void, NewArrayFn>(entry(NEW_ARRAY_INDEX)) };
        let new_from_descr = entry(NEW_ARRAY_FROM_DESCR_INDEX);
        // SAFETY: as above.
        let new_from_descr =
            unsafe { std::mem::transmute::<*mut c_void, NewArrayFromDescrFn>(new_from_descr) };
        // SAFETY: as above.
        let set_base = unsafe {
            std::mem::transmute::<*mut c_void, SetBaseObjectFn>(entry(SET_BASE_OBJECT_INDEX))
        };
        let generic = module.getattr("generic")?.unbind();
        let time_classes = [
            module.getattr("datetime64")?.unbind(),
            module.getattr("timedelta64")?.unbind(),
        ];
        let array_type = entry(ARRAY_TYPE_INDEX).cast();
        let module = module.unbind();
        Ok(Self {
            module,
            generic,
            time_classes,
            array_type,
            new,
            new_from_descr,
            set_base,
        })
    }

    /// Returns true if `scalar` is a date or a duration.
    pub(crate) fn is_time_scalar(&self, scalar: &Bound<'_, PyAny>) -> bool {
        let class = scalar.get_type();
        self.time_classes.iter().any(|time| class.is(time))
    }

    /// Makes an array that uses the memory without a copy, and that keeps `owner` alive.
    ///
    /// # Safety
    ///
    /// All elements lie in memory that is mapped for as long as `owner` lives. It may be written if
    /// `is_writeable` is set.
    #[inline]
    pub(crate) unsafe fn view<'py>(
        &self,
        dtype: DType,
        place: ArrayMemory<'_>,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let flags = if place.is_writeable {
            FLAG_WRITEABLE
        } else {
            0
        };
        // SAFETY: shape and strides are as many as said; numpy copies them. The place is the
        // caller's promise.
        let array = unsafe {
            (self.new)(
                self.array_type,
                place.shape.len() as c_int,
                place.shape.as_ptr(),
                type_number(dtype),
                place.strides.as_ptr(),
                place.data.cast(),
                0,
                flags,
                ptr::null_mut(),
            )
        };
        // SAFETY: a new reference, or null and an exception.
        let array = unsafe { Bound::from_owned_ptr_or_err(owner.py(), array)? };
        self.with_owner(array, owner)
    }

    /// Does the same as [`Self::view`] for elements of any type that numpy can describe, such as
    /// structures.
    ///
    /// # Safety
    ///
    /// As for [`Self::view`]; in addition, `dtype` must be an instance of `numpy.dtype`.
    pub(crate) unsafe fn view_with_descr<'py>(
        &self,
        dtype: Bound<'py, PyAny>,
        place: ArrayMemory<'_>,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let flags = if place.is_writeable {
            FLAG_WRITEABLE
        } else {
            0
        };
        // SAFETY: as in `view`; takes the reference to the type.
        let array = unsafe {
            (self.new_from_descr)(
                self.array_type,
                dtype.into_ptr(),
                place.shape.len() as c_int,
                place.shape.as_ptr(),
                place.strides.as_ptr(),
                place.data.cast(),
                flags,
                ptr::null_mut(),
            )
        };
        // SAFETY: a new reference, or null and an exception.
        let array = unsafe { Bound::from_owned_ptr_or_err(owner.py(), array)? };
        self.with_owner(array, owner)
    }

    #[inline]
    fn with_owner<'py>(
        &self,
        array: Bound<'py, PyAny>,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: an array that is new; takes the reference to the owner, also if it fails.
        match unsafe { (self.set_base)(array.as_ptr(), owner.clone().into_ptr()) } {
            0 => Ok(array),
            _ => Err(PyErr::fetch(owner.py())),
        }
    }

    /// Makes an array with a copy of `bytes`, which must hold as many elements as the shape says.
    pub(crate) fn make_array_copy<'py>(
        &self,
        py: Python<'py>,
        dtype: DType,
        shape: &[isize],
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        assert!(shape.len() <= DIMENSIONS_MAX, "{} dimensions", shape.len());
        // SAFETY: the shape is as long as said; numpy allocates the memory.
        let array = unsafe {
            (self.new)(
                self.array_type,
                shape.len() as c_int,
                shape.as_ptr(),
                type_number(dtype),
                ptr::null(),
                ptr::null_mut(),
                0,
                0,
                ptr::null_mut(),
            )
        };
        // SAFETY: a new reference, or null and an exception.
        let array = unsafe { Bound::from_owned_ptr_or_err(py, array)? };
        if bytes.is_empty() {
            return Ok(array);
        }
        let elements = shape.iter().product::<isize>().unsigned_abs();
        assert_eq!(
            elements * dtype.size(),
            bytes.len(),
            "the shape asks for other bytes"
        );
        // SAFETY: an array is longer than the head of an object.
        let behind_head = unsafe { array.as_ptr().add(1) };
        // SAFETY: in every array, the address of the data follows the head of the object.
        let data = unsafe { behind_head.cast::<*mut u8>().read() };
        // SAFETY: the array is new and has so many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
        Ok(array)
    }
}

/// Returns numpy's number for the type. numpy has no `BF16`, so such elements are shown as their
/// bits (`u16`).
const fn type_number(dtype: DType) -> c_int {
    match dtype {
        DType::Bool => 0,
        DType::I8 => 1,
        DType::I16 => 3,
        DType::U16 | DType::BF16 => 4,
        DType::I32 => 5,
        DType::U32 => 6,
        // WHY: numpy itself calls such numbers `long` where that has 64 bits, and `long long`
        // elsewhere.
        DType::I64 if cfg!(target_pointer_width = "64") => 7,
        DType::U64 if cfg!(target_pointer_width = "64") => 8,
        DType::I64 => 9,
        DType::U64 => 10,
        DType::F16 => 23,
        DType::F32 => 11,
        DType::F64 => 12,
        // WHY 2 (`u8`): `DType` may get new variants, and elements of any type can be shown as
        // bytes.
        _ => 2,
    }
}
