//! Makes numpy arrays by numpy's C API.
//!
//! WHY not its Python functions: a view costs three times as much through them. WHY not a crate:
//! three functions of a table that numpy keeps binary compatible are all that is needed.

use std::ffi::{c_int, c_void};
use std::ptr;

use horus_core::message::DType;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;

/// The most dimensions of an array, as in every version of numpy since 1.
pub(crate) const DIMENSIONS_MAX: usize = 32;

/// Places of the functions in numpy's table; `numpy/__multiarray_api.h` says what they are.
const PLACE_ARRAY_TYPE: usize = 2;
const PLACE_NEW: usize = 93;
const PLACE_NEW_FROM_DESCR: usize = 94;
const PLACE_SET_BASE: usize = 282;

const WRITEABLE: c_int = 0x0400;

type New = unsafe extern "C" fn(
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

type NewFromDescr = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

type SetBase = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

/// numpy, once it was imported.
#[derive(Debug)]
pub(crate) struct Numpy {
    pub(crate) module: Py<PyModule>,
    /// The class of numpy's single numbers.
    pub(crate) generic: Py<PyAny>,
    array_type: *mut ffi::PyTypeObject,
    new: New,
    new_from_descr: NewFromDescr,
    set_base: SetBase,
}

// SAFETY: the functions and the class live as long as the process; they are used under the GIL.
unsafe impl Send for Numpy {}
// SAFETY: as above.
unsafe impl Sync for Numpy {}

/// The memory in which the elements of an array lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) data: *mut u8,
    /// Elements along each dimension, at most [`DIMENSIONS_MAX`].
    pub(crate) shape: &'a [isize],
    /// From one to the next along each dimension: bytes.
    pub(crate) strides: &'a [isize],
    pub(crate) is_writeable: bool,
}

/// numpy, if it is installed.
#[inline]
pub(crate) fn numpy(py: Python<'_>) -> Option<&Numpy> {
    static NUMPY: PyOnceLock<Option<Numpy>> = PyOnceLock::new();
    NUMPY.get_or_init(py, || Numpy::load(py).ok()).as_ref()
}

impl Numpy {
    fn load(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("numpy")?;
        let core = py.import("numpy._core._multiarray_umath");
        let core = core.or_else(|_| py.import("numpy.core._multiarray_umath"))?;
        let capsule = core.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        // SAFETY: it is a capsule, and this one has no name.
        let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), ptr::null()) };
        if table.is_null() {
            return Err(PyErr::fetch(py));
        }
        let entry = |place: usize| {
            // SAFETY: numpy's table has more than 300 places.
            let entry = unsafe { table.cast::<*mut c_void>().add(place) };
            // SAFETY: as above.
            unsafe { entry.read() }
        };
        // SAFETY: numpy promises this function in this place.
        let new = unsafe { std::mem::transmute::<*mut c_void, New>(entry(PLACE_NEW)) };
        let new_from_descr = entry(PLACE_NEW_FROM_DESCR);
        // SAFETY: as above.
        let new_from_descr =
            unsafe { std::mem::transmute::<*mut c_void, NewFromDescr>(new_from_descr) };
        // SAFETY: as above.
        let set_base =
            unsafe { std::mem::transmute::<*mut c_void, SetBase>(entry(PLACE_SET_BASE)) };
        let generic = module.getattr("generic")?.unbind();
        let array_type = entry(PLACE_ARRAY_TYPE).cast();
        let module = module.unbind();
        Ok(Self { module, generic, array_type, new, new_from_descr, set_base })
    }

    /// A view of memory that lies in `owner`, which it keeps alive.
    ///
    /// # Safety
    ///
    /// All elements of the place lie in memory that is mapped for as long as `owner` lives, and may
    /// be written if the place says so.
    #[inline]
    pub(crate) unsafe fn view<'py>(
        &self,
        dtype: DType,
        place: Place<'_>,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let flags = if place.is_writeable { WRITEABLE } else { 0 };
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
        self.owned_by(array, owner)
    }

    /// [`Self::view`] of elements of any type that numpy can describe.
    ///
    /// # Safety
    ///
    /// As there; `dtype` is one of numpy's.
    pub(crate) unsafe fn view_of<'py>(
        &self,
        dtype: Bound<'py, PyAny>,
        place: Place<'_>,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let flags = if place.is_writeable { WRITEABLE } else { 0 };
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
        self.owned_by(array, owner)
    }

    #[inline]
    fn owned_by<'py>(
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

    /// A new array with a copy of these elements, which are as many as the shape asks for.
    pub(crate) fn copy<'py>(
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
        assert_eq!(elements * dtype.size(), bytes.len(), "the shape asks for other bytes");
        // SAFETY: an array is longer than the head of an object.
        let behind_head = unsafe { array.as_ptr().add(1) };
        // SAFETY: what every array has behind the head of an object is the address of its data.
        let data = unsafe { behind_head.cast::<*mut u8>().read() };
        // SAFETY: the array is new and has so many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
        Ok(array)
    }
}

/// numpy's number of a type. It has none for `BF16`, which is shown as its bits.
const fn type_number(dtype: DType) -> c_int {
    match dtype {
        DType::Bool => 0,
        DType::I8 => 1,
        DType::I16 => 3,
        DType::U16 | DType::BF16 => 4,
        DType::I32 => 5,
        DType::U32 => 6,
        // WHY: `long` where that has 64 bits, as numpy itself calls them.
        DType::I64 if cfg!(target_pointer_width = "64") => 7,
        DType::U64 if cfg!(target_pointer_width = "64") => 8,
        DType::I64 => 9,
        DType::U64 => 10,
        DType::F16 => 23,
        DType::F32 => 11,
        DType::F64 => 12,
        // WHY 2, bytes: `DType` may grow, and every number is at least bytes.
        _ => 2,
    }
}
