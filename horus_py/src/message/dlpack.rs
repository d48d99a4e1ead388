//! Exports arrays to other libraries through DLPack, without a copy. Supports the structures of
//! `dlpack.h` 1.0, and the older ones without a version.

use std::ffi::{CStr, c_void};
use std::ptr;

use horus_core::message::TENSOR_DIMENSIONS_MAX;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::call::{add_method, run_guarded};
use crate::message::framed::data;
use crate::message::framed::keepalive::make_keepalive;

const VERSIONED_CAPSULE_NAME: &CStr = c"dltensor_versioned";
const UNVERSIONED_CAPSULE_NAME: &CStr = c"dltensor";

const FLAG_READ_ONLY: u64 = 1;
const FLAG_COPIED: u64 = 2;
const CPU_DEVICE: (i32, i32) = (1, 0);

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: (i32, i32),
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// The memory of one exported array: a `DLManagedTensor`, followed by the shape and the strides to
/// which it points.
#[repr(C)]
struct UnversionedExport {
    tensor: Tensor,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    dimensions: ShapeAndStrides,
}

/// The memory of one exported array: a `DLManagedTensorVersioned`, followed by the shape and the
/// strides to which it points.
#[repr(C)]
struct VersionedExport {
    major: u32,
    minor: u32,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Tensor,
    dimensions: ShapeAndStrides,
}

#[repr(C)]
struct ShapeAndStrides {
    shape: [i64; TENSOR_DIMENSIONS_MAX],
    strides: [i64; TENSOR_DIMENSIONS_MAX],
}

const _: () = {
    assert!(size_of::<Tensor>() == 48);
    assert!(std::mem::offset_of!(UnversionedExport, owner) == 48);
    assert!(std::mem::offset_of!(VersionedExport, flags) == 24);
    assert!(std::mem::offset_of!(VersionedExport, tensor) == 32);
};

/// The arguments of a call of the Python method `__dlpack__`.
#[derive(Default)]
struct DlpackArguments {
    is_versioned: bool,
    copy: Option<bool>,
}

impl DlpackArguments {
    /// Reads the keyword arguments. `names` has their names, and `first` points to their values.
    fn read(
        py: Python<'_>,
        first: *const *mut ffi::PyObject,
        names: *mut ffi::PyObject,
    ) -> PyResult<Self> {
        let mut wanted = Self::default();
        // SAFETY: Python gives a tuple of names, or null.
        let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
        let Some(names) = names else {
            return Ok(wanted);
        };
        for (index, name) in names.cast::<PyTuple>()?.iter_borrowed().enumerate() {
            // SAFETY: there are as many values as names.
            let value = unsafe { first.add(index) };
            // SAFETY: as above.
            let value = unsafe { value.read() };
            // SAFETY: Python keeps it for the time of the call.
            let value = unsafe { Bound::from_borrowed_ptr(py, value) };
            let name = name.cast::<PyString>()?;
            let name = name.to_str()?;
            if !matches!(name, "max_version" | "copy" | "dl_device" | "stream") {
                let text = format!("__dlpack__() has no argument '{name}'");
                return Err(PyTypeError::new_err(text));
            }
            if value.is_none() {
                continue;
            }
            match name {
                "max_version" => {
                    let major = value.cast::<PyTuple>()?.get_borrowed_item(0)?;
                    wanted.is_versioned = major.extract::<u32>()? >= 1;
                }
                "copy" => wanted.copy = Some(value.is_truthy()?),
                "dl_device" if value.extract::<(i32, i32)>()? == CPU_DEVICE => {}
                _ => {
                    let text = "the data are in the memory of the CPU, which has no streams";
                    return Err(PyBufferError::new_err(text));
                }
            }
        }
        Ok(wanted)
    }
}

unsafe extern "C" fn dlpack_method(
    this: *mut ffi::PyObject,
    first: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    run_guarded(ptr::null_mut(), |py| {
        if count != 0 {
            return Err(PyTypeError::new_err("__dlpack__() takes keywords only"));
        }
        let wanted = DlpackArguments::read(py, first, names)?;
        // SAFETY: Python's descriptor checked that it is of the class.
        let this = unsafe { Bound::from_borrowed_ptr(py, this) };
        match wanted.copy {
            Some(true) => export_array(&data::copy_message(&this)?, &wanted, FLAG_COPIED),
            _ => export_array(&this, &wanted, 0),
        }
    })
}

/// Makes the DLPack capsule that exports the array of a message.
fn export_array(
    object: &Bound<'_, PyAny>,
    wanted: &DlpackArguments,
    flags: u64,
) -> PyResult<*mut ffi::PyObject> {
    // WHY not the message itself: a message on loan must not be published while the export lives,
    // because the export can write it.
    let owner = if data::is_on_loan(object) {
        make_keepalive(object)?
    } else {
        object.clone()
    };
    let layout = data::array_layout(object)?;
    let (address, is_writeable) = data::data_address_and_is_writeable(object)?;
    let mut dimensions = ShapeAndStrides {
        shape: [0; TENSOR_DIMENSIONS_MAX],
        strides: [0; TENSOR_DIMENSIONS_MAX],
    };
    let size = layout.dtype().size() as u64;
    for (index, (count, stride)) in layout.shape().iter().zip(layout.strides()).enumerate() {
        if !stride.is_multiple_of(size) {
            let text = "elements that are no whole number of elements apart: use to_numpy()";
            return Err(PyBufferError::new_err(text));
        }
        // WHY: a tensor without elements may have any number here.
        let signed = |number: u64| {
            i64::try_from(number).map_err(|_| {
                let text = format!("{number} in the shape or the strides: at most 2^63 - 1 fit");
                PyBufferError::new_err(text)
            })
        };
        dimensions.shape[index] = signed(*count)?;
        dimensions.strides[index] = signed(stride / size)?;
    }
    if !is_writeable && !wanted.is_versioned {
        return Err(PyBufferError::new_err(
            "what was received is read-only, which the caller cannot be told by the DLPack that it \
             asks for: give it a copy(), or to_numpy()",
        ));
    }
    let (code, bits) = layout.dtype().dlpack();
    let tensor = Tensor {
        data: address.cast(),
        device: CPU_DEVICE,
        dimensions: layout.shape().len() as i32,
        code,
        bits,
        lanes: 1,
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let owner = owner.into_ptr().cast();
    if wanted.is_versioned {
        let flags = if is_writeable {
            flags
        } else {
            flags | FLAG_READ_ONLY
        };
        let major = 1;
        let minor = 0;
        let deleter = Some(VersionedExport::delete as _);
        let export = VersionedExport {
            major,
            minor,
            owner,
            deleter,
            flags,
            tensor,
            dimensions,
        };
        let export = Box::into_raw(Box::new(export));
        // SAFETY: just made, and nobody else knows it.
        let made = unsafe { &mut *export };
        made.tensor.shape = made.dimensions.shape.as_mut_ptr();
        made.tensor.strides = made.dimensions.strides.as_mut_ptr();
        return make_capsule(
            object.py(),
            export.cast(),
            VERSIONED_CAPSULE_NAME,
            VersionedExport::drop_capsule,
        );
    }
    let deleter = Some(UnversionedExport::delete as _);
    let export = Box::into_raw(Box::new(UnversionedExport {
        tensor,
        owner,
        deleter,
        dimensions,
    }));
    // SAFETY: just made, and nobody else knows it.
    let made = unsafe { &mut *export };
    made.tensor.shape = made.dimensions.shape.as_mut_ptr();
    made.tensor.strides = made.dimensions.strides.as_mut_ptr();
    make_capsule(
        object.py(),
        export.cast(),
        UNVERSIONED_CAPSULE_NAME,
        UnversionedExport::drop_capsule,
    )
}

fn make_capsule(
    py: Python<'_>,
    export: *mut c_void,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut ffi::PyObject),
) -> PyResult<*mut ffi::PyObject> {
    // SAFETY: the name lives forever, the export until somebody deletes it.
    let capsule = unsafe { ffi::PyCapsule_New(export, name.as_ptr(), Some(destructor)) };
    if capsule.is_null() {
        Err(PyErr::fetch(py))
    } else {
        Ok(capsule)
    }
}

/// Releases the object that an export kept alive.
///
/// # Safety
///
/// `owner` is the reference that an export held, and the export is no longer used.
unsafe fn release_owner(owner: *mut c_void) {
    // WHY `try_attach`: consumers call the deleter on any thread, and even after the interpreter is
    // gone; then the memory is freed with the process.
    Python::try_attach(|_| {
        // SAFETY: the caller's contract.
        unsafe { ffi::Py_DECREF(owner.cast()) };
    });
}

macro_rules! impl_deleters {
    ($export:ident $name:ident) => {
        impl $export {
            /// Deletes the export. The consumer of the array calls this function when it no longer
            /// needs the data.
            unsafe extern "C" fn delete(this: *mut Self) {
                if this.is_null() {
                    return;
                }
                // SAFETY: made by `Box::into_raw`, and deleted once.
                let this = unsafe { Box::from_raw(this) };
                // SAFETY: the reference that the export had.
                unsafe { release_owner(this.owner) };
            }

            /// Destroys a capsule. If no consumer has taken over the export, the capsule still has
            /// its original name; then this function deletes the export as well.
            unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
                // SAFETY: Python gives a capsule.
                if unsafe { ffi::PyCapsule_IsValid(capsule, $name.as_ptr()) } != 0 {
                    // SAFETY: as above, and it has this name.
                    let export = unsafe { ffi::PyCapsule_GetPointer(capsule, $name.as_ptr()) };
                    // SAFETY: nobody took it, so nobody deletes it.
                    unsafe { Self::delete(export.cast()) };
                }
            }
        }
    };
}
impl_deleters! { VersionedExport VERSIONED_CAPSULE_NAME }
impl_deleters! { UnversionedExport UNVERSIONED_CAPSULE_NAME }

/// Adds the method `__dlpack__` to the base class of messages.
pub(crate) fn register(class: &Bound<'_, PyType>) -> PyResult<()> {
    const DLPACK_DOC: &CStr =
        c"__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)
--

The array for another library, without a copy: `numpy.from_dlpack(message)`.";
    add_method(class, c"__dlpack__", dlpack_method, DLPACK_DOC)
}
